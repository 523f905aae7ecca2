"""A cluster as the suite sees it: through `KUBECONFIG` and the plain REST API."""

from __future__ import annotations

import base64
import contextlib
import secrets
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml

from .hub import eventually


class Kubernetes:
    """An API server, and a namespace in it that is the suite's own."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        user = config["users"][0].get("user") or {}
        verify: ssl.SSLContext | bool = True
        if "certificate-authority-data" in cluster:
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            verify = ssl.create_default_context(cadata=ca)
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self.client = httpx.Client(
            base_url=cluster["server"], headers=headers, verify=verify, timeout=30
        )
        self.namespace = f"suite-{secrets.token_hex(3)}"

    def __enter__(self) -> Kubernetes:
        self._create_namespace(self.namespace)
        return self

    @contextlib.contextmanager
    def namespace_beside(
        self, suffix: str, labels: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """Have another namespace, whose name goes on with a suffix."""
        name = f"{self.namespace}-{suffix}"
        self._create_namespace(name, labels)
        try:
            yield
        finally:
            self.client.delete(f"/api/v1/namespaces/{name}")

    def _create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        body = {"metadata": {"name": name, "labels": dict(labels or {})}}
        self.client.post("/api/v1/namespaces", json=body).raise_for_status()
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        eventually(
            lambda: self.client.get(account).status_code == 200,
            "the namespace has its service account",
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.delete(f"/api/v1/namespaces/{self.namespace}")
        self.client.close()

    def path(self, kind: str, name: str = "") -> str:
        """Return the path of an object, or of all of a kind, in the suite's namespace."""
        path = f"/api/v1/namespaces/{self.namespace}/{kind}"
        return f"{path}/{name}" if name else path

    def create(self, kind: str, body: dict[str, Any], beside: str = "") -> httpx.Response:
        """Ask for an object in the suite's namespace, or in the one beside it."""
        path = self.path(kind)
        if beside:
            path = path.replace(self.namespace, f"{self.namespace}-{beside}", 1)
        return self.client.post(path, json=body)

    def account(self, role: dict[str, Any], file: Path) -> None:
        """Write the kubeconfig of an account that may do what a role says, and nothing else."""
        name = role["metadata"]["name"]
        self.create("serviceaccounts", {"metadata": {"name": name}}).raise_for_status()
        binding = {
            "metadata": {"name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}],
            "roleRef": {
                "apiGroup": role["apiVersion"].partition("/")[0],
                "kind": role["kind"],
                "name": name,
            },
        }
        self.grant(role, binding)
        token = self.client.post(f"{self.path('serviceaccounts', name)}/token", json={})
        token.raise_for_status()
        kubeconfig = yaml.safe_load(self.kubeconfig.read_text())
        kubeconfig["users"][0]["user"] = {"token": token.json()["status"]["token"]}
        file.write_text(yaml.safe_dump(kubeconfig))

    def grant(self, role: dict[str, Any], binding: dict[str, Any]) -> None:
        """Make a role, and what gives it to an account."""
        where = f"/apis/{role['apiVersion']}/namespaces/{self.namespace}"
        self.client.post(f"{where}/roles", json=role).raise_for_status()
        self.client.post(f"{where}/rolebindings", json=binding).raise_for_status()

    def label_node(self, label: str, value: str | None) -> None:
        """Give the first node a label; None takes it away."""
        name = self.client.get("/api/v1/nodes").json()["items"][0]["metadata"]["name"]
        self.client.patch(
            f"/api/v1/nodes/{name}",
            json={"metadata": {"labels": {label: value}}},
            headers={"Content-Type": "application/merge-patch+json"},
        ).raise_for_status()

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return an object, None when there is none."""
        answer = self.client.get(self.path(kind, name))
        return answer.json() if answer.status_code == 200 else None

    def list(self, kind: str) -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        answer = self.client.get(self.path(kind))
        answer.raise_for_status()
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def reachable_address(self) -> str:
        """Return the address of this machine that the cluster's node talks to."""
        nodes = self.client.get("/api/v1/nodes").json()["items"]
        addresses = nodes[0]["status"].get("addresses") or [] if nodes else []
        node = next((a["address"] for a in addresses if a["type"] == "InternalIP"), None)
        host = node or urlsplit(str(self.client.base_url)).hostname or "127.0.0.1"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # asks the routing table only; nothing is sent
            probe.connect((host, 9))
            return str(probe.getsockname()[0])
