"""The volumes of a server that outlive it, from a pod or from what is configured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..models.servers import UNKNOWN_HOME_MOUNT_PATH, Volume, Volumes

Item = Mapping[str, Any]


def claimed_volumes(volumes: object, mounts: object, home_claim: str | None = None) -> Volumes:
    """Return the volumes with a claim where they are mounted.

    Reads Kubernetes' names and KubeSpawner's, lists and dicts. The home is the one of
    `home_claim`, else the first. What still has a template in it is not known.
    """
    claims = {}
    for volume in _items(volumes):
        claim = _get(volume, "persistentVolumeClaim", "persistent_volume_claim")
        if isinstance(claim, Mapping):
            claims[volume.get("name")] = _get(claim, "claimName", "claim_name")
    found: dict[Any, Volume] = {}
    for mount in _items(mounts):
        name = mount.get("name")
        if name in claims and name not in found:
            path = _get(mount, "mountPath", "mount_path")
            read_only = bool(_get(mount, "readOnly", "read_only"))
            found[name] = Volume(_plain(claims[name]), _plain(path), read_only)
    every = list(found.values())
    home = next((item for item in every if home_claim and item.claim == home_claim), None)
    home = home or next(iter(every), None)
    if home is None:
        return Volumes()
    data = tuple(item for item in every if item is not home)
    return Volumes(Volume(home.claim or home_claim, home.mount_path, home.read_only), data)


def pod_volumes(pod: Item, main_container: str, home_claim: str | None) -> Volumes:
    """Return the same from a pod as the API has it."""
    spec = pod.get("spec") or {}
    for container in _items(spec.get("containers")):
        if container.get("name") == main_container:
            return claimed_volumes(spec.get("volumes"), container.get("volumeMounts"), home_claim)
    return Volumes()


def unknown_volumes(home_claim: str | None) -> Volumes:
    """Return what is said of the volumes of a profile that no longer exists."""
    return Volumes(Volume(home_claim, UNKNOWN_HOME_MOUNT_PATH))


def _items(value: object) -> Iterable[Item]:
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value)]
    if not isinstance(value, list | tuple):
        return []
    return [item for item in value if isinstance(item, Mapping)]


def _get(item: Item, *names: str) -> Any:
    return next((item[name] for name in names if name in item), None)


def _plain(text: object) -> str | None:
    return text if isinstance(text, str) and "{" not in text else None
