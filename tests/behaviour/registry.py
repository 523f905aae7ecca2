"""Makes images in the registry of the test images: one takes a while to pull, others come late."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from typing import Any

import httpx

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
# random bytes compress to themselves: this many must be sent and unpacked
EXTRA_BYTES = 400_000_000


def push_slow_image(registry_of: str, base: str, target: str) -> None:
    """Push `target`: the image `base` under another name, with a large layer on top.

    The layer differs on every call, so no node has it yet.
    """
    push_image_with(registry_of, base, target, {"large": (os.urandom(EXTRA_BYTES), 0o644)})


def push_image_with(
    registry_of: str, base: str, target: str, files: dict[str, tuple[bytes, int]]
) -> None:
    """Push `target`: the image `base` under another name, with files of a mode on top."""
    host = registry_of.partition("/")[0]
    base_name, _, base_tag = base.partition("/")[2].partition(":")
    name, _, tag = target.partition("/")[2].partition(":")
    with httpx.Client(base_url=f"http://{host}/v2", timeout=300) as client:

        def put_blob(blob: bytes) -> str:
            digest = "sha256:" + hashlib.sha256(blob).hexdigest()
            location = client.post(f"/{name}/blobs/uploads/").headers["Location"]
            joiner = "&" if "?" in location else "?"
            client.put(f"{location}{joiner}digest={digest}", content=blob).raise_for_status()
            return digest

        accept = {"Accept": MANIFEST}
        answer = client.get(f"/{base_name}/manifests/{base_tag}", headers=accept)
        answer.raise_for_status()
        manifest: dict[str, Any] = answer.json()
        config = client.get(f"/{base_name}/blobs/{manifest['config']['digest']}").json()
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w") as layer:
            for path, (content, mode) in files.items():
                member = tarfile.TarInfo(path)
                member.size, member.mode = len(content), mode
                layer.addfile(member, io.BytesIO(content))
        packed = gzip.compress(plain.getvalue(), compresslevel=0, mtime=0)
        for layer_of_base in manifest["layers"]:
            digest = layer_of_base["digest"]
            client.post(f"/{name}/blobs/uploads/?mount={digest}&from={base_name}")
        config["rootfs"]["diff_ids"].append(
            "sha256:" + hashlib.sha256(plain.getvalue()).hexdigest()
        )
        body = httpx.Response(200, json=config).content
        manifest["config"].update(size=len(body), digest=put_blob(body))
        manifest["layers"].append(
            {
                "mediaType": manifest["layers"][0]["mediaType"],
                "size": len(packed),
                "digest": put_blob(packed),
            }
        )
        client.put(
            f"/{name}/manifests/{tag}", json=manifest, headers={"Content-Type": MANIFEST}
        ).raise_for_status()


def copy_image(source: str, target: str) -> None:
    """Push an image of the registry under another name."""
    name, _, tag = source.partition("/")[2].partition(":")
    new_name, _, new_tag = target.partition("/")[2].partition(":")
    with _client(source) as client:
        answer = client.get(f"/{name}/manifests/{tag}", headers={"Accept": MANIFEST})
        manifest: dict[str, Any] = answer.raise_for_status().json()
        for blob in (manifest["config"], *manifest["layers"]):
            client.post(f"/{new_name}/blobs/uploads/?mount={blob['digest']}&from={name}")
        client.put(
            f"/{new_name}/manifests/{new_tag}", json=manifest, headers={"Content-Type": MANIFEST}
        ).raise_for_status()


def remove_image(image: str) -> None:
    """Remove an image from the registry."""
    name, _, tag = image.partition("/")[2].partition(":")
    with _client(image) as client:
        answer = client.head(f"/{name}/manifests/{tag}", headers={"Accept": MANIFEST})
        digest = answer.headers.get("Docker-Content-Digest")
        if digest:
            client.delete(f"/{name}/manifests/{digest}").raise_for_status()


def _client(image: str) -> httpx.Client:
    return httpx.Client(base_url=f"http://{image.partition('/')[0]}/v2", timeout=60)
