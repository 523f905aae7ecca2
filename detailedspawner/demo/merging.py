"""Patches: RFC 7396 merge patches, and of strategic ones the merging of lists by a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import Object

STRATEGIC_KEYS = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "volumeMounts": "mountPath",
    "volumes": "name",
}


def merge(old: Any, patch: Any, keys: Mapping[str, str]) -> Any:
    """Return a value with a patch applied; lists named in `keys` are merged item by item."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, list) and name in keys:
            merged[name] = _merge_items(merged.get(name) or [], value, keys[name], keys)
        elif not name.startswith("$"):  # directives, which only say how lists are ordered
            merged[name] = merge(merged.get(name), value, keys)
    return merged


def _merge_items(
    old: list[Object], patch: list[Object], key: str, keys: Mapping[str, str]
) -> list[Object]:
    items = {item.get(key): item for item in old}
    for item in patch:
        if item.get("$patch") == "delete":
            items.pop(item.get(key), None)
        else:
            items[item.get(key)] = merge(items.get(item.get(key)), item, keys)
    return list(items.values())
