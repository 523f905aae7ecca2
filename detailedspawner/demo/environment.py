"""What a container finds around it: variables, volumes and paths.

A process has no mounts of its own. So a volume is a directory of this machine, and
where a mounted path (or `/tmp`, or the home directory) stands in the container's
command, arguments or variables, the directory's own path is put in its place.
`DEMO_VOLUME_<NAME>` names each directory too.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ApiError, Object

if TYPE_CHECKING:
    from .store import Store

HOME = "/home/jovyan"
_FILES = (("secrets", "secret", "secretName"), ("configmaps", "configMap", "name"))
_ANY_ADDRESS = re.compile(r"(?<=://)(0\.0\.0\.0|\[::\]|\*)?(?=[:/])")


class ConfigError(Exception):
    """A container or pod refers to what is not there; the text is the kubelet's."""


def variables(
    store: Store, pod: Object, spec: Object, image: Mapping[str, str], ip: str
) -> dict[str, str]:
    """Return the variables of a container; raise ConfigError if one has no source."""
    meta = pod["metadata"]
    fields: dict[str, str] = {
        "status.podIP": ip,
        "status.hostIP": "127.0.0.1",
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
    }
    fields |= {f"metadata.{key}": str(meta[key]) for key in ("name", "namespace", "uid")}
    for kind in ("labels", "annotations"):
        fields |= {f"metadata.{kind}['{k}']": v for k, v in (meta.get(kind) or {}).items()}
    env = {**image, "POD_IP": ip, "HOSTNAME": meta["name"]}
    for source in spec.get("envFrom") or []:
        for plural, key in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
            if ref := source.get(key):
                data = data_of(store, plural, meta["namespace"], ref)
                env |= {source.get("prefix", "") + k: v.decode() for k, v in data.items()}
    for variable in spec.get("env") or []:
        origin = variable.get("valueFrom") or {}
        value: str | None = expand(variable.get("value") or "", env)
        if ref := origin.get("fieldRef"):
            value = fields.get(ref["fieldPath"], "")
        for plural, key in (("configmaps", "configMapKeyRef"), ("secrets", "secretKeyRef")):
            if ref := origin.get(key):
                value = _key(store, plural, meta["namespace"], ref)
        if value is not None:
            env[variable["name"]] = value
    # Each pod has an address of its own, so all of them can listen on the same port.
    if url := env.get("JUPYTERHUB_SERVICE_URL"):
        env["JUPYTERHUB_SERVICE_URL"] = _ANY_ADDRESS.sub(ip, url, count=1)
    return env


def of_machine() -> dict[str, str]:
    """Return what a container needs to know of this machine, and no more."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    kept = ("LANG", "LC_ALL", "LD_LIBRARY_PATH")
    return {"PATH": path} | {key: os.environ[key] for key in kept if key in os.environ}


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value; `$$(NAME)` stands for itself."""

    def value(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        return env.get(match[1], match[0])

    return re.sub(r"\$?\$\(([^)]+)\)", value, text)


def localize(text: str, paths: Mapping[str, Path]) -> str:
    """Replace the container's paths in a text by those of this machine."""
    # In one pass, so that nothing is replaced in what has been put in.
    longest_first = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    pattern = rf"(?<![\w./-])({longest_first})(?![\w.-])"
    return re.sub(pattern, lambda match: str(paths[match[1]]), text)


def volume_of(store: Store, pod: Object, volume: Object, scratch: Path, claims: Path) -> Path:
    """Return a volume's directory with what is in it; raise ConfigError as a mount would fail."""
    namespace, name = pod["metadata"]["namespace"], volume["name"]
    directory: Path = scratch / "volumes" / name
    try:
        if claim := volume.get("persistentVolumeClaim"):
            directory = claims / _bound(store, namespace, claim["claimName"])
        directory.mkdir(parents=True, exist_ok=True)
        for plural, key, named in _FILES:
            if source := volume.get(key):
                ref = {"name": source[named], "optional": source.get("optional")}
                data = data_of(store, plural, namespace, ref)
                for item in source.get("items") or [{"key": k, "path": k} for k in data]:
                    if item["key"] not in data:
                        text = f"references non-existent {plural[:-1]} key: {item['key']}"
                        raise ConfigError(text)
                    file = directory / item["path"]
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data[item["key"]])
    except ConfigError as error:
        text = f'MountVolume.SetUp failed for volume "{name}" : {error}'
        raise ConfigError(text) from None
    return directory


def _bound(store: Store, namespace: str, claim: str) -> str:
    try:
        # Named after the volume: a new claim of the same name must not find old files.
        found = store.get("persistentvolumeclaims", namespace, claim)
        return str(found["spec"]["volumeName"])
    except (ApiError, KeyError):
        raise ConfigError(f'persistentvolumeclaim "{claim}" not found') from None


def data_of(store: Store, plural: str, namespace: str, ref: Object) -> dict[str, bytes]:
    """Return what a secret or config map holds; nothing if it may be missing."""
    try:
        found = store.get(plural, namespace, ref["name"])
    except ApiError:
        if ref.get("optional"):
            return {}
        raise ConfigError(f'{plural[:-1]} "{ref["name"]}" not found') from None
    data = found.get("data") or {}
    if plural == "secrets":
        return {key: base64.b64decode(value) for key, value in data.items()}
    return {key: value.encode() for key, value in data.items()}


def _key(store: Store, plural: str, namespace: str, ref: Object) -> str | None:
    data = data_of(store, plural, namespace, ref)
    if ref["key"] in data:
        return data[ref["key"]].decode()
    if ref.get("optional"):
        return None
    kind = {"secrets": "Secret", "configmaps": "ConfigMap"}[plural]
    raise ConfigError(f"couldn't find key {ref['key']} in {kind} {namespace}/{ref['name']}")
