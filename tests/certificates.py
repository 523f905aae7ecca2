"""Certificates for tests, from an authority that nobody knows."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def usage(authority: bool) -> x509.KeyUsage:
    """Return what a key may be used for."""
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


class Authority:
    """Signs certificates, which it writes into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"CA {folder.name}")])
        # the file of each certificate, by the name it is for
        self.issued: dict[str, str] = {}
        self.certificate = self._write("ca", self._sign(self._name, self._key, None))

    def server_context(self, host: str) -> ssl.SSLContext:
        """Return a context for a server that is known by this name or address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        file = self._write(host, self._sign(subject, key, host), key)
        self.issued[host] = file
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, host: str | None
    ) -> x509.Certificate:
        now = datetime.now(timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(host is None, None), critical=True)
            .add_extension(usage(host is None), critical=True)
            # from Python 3.13 on a certificate must say who has signed it
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
            )
        )
        if host is not None:
            known = x509.DNSName(host)
            name = x509.IPAddress(ip_address(host)) if host[0].isdigit() else known
            builder = builder.add_extension(x509.SubjectAlternativeName([name]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(
        self,
        name: str,
        certificate: x509.Certificate,
        key: ec.EllipticCurvePrivateKey | None = None,
    ) -> str:
        content = certificate.public_bytes(serialization.Encoding.PEM)
        if key is not None:
            content += key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        file = self._folder / f"{name}.pem"
        file.write_bytes(content)
        return str(file)
