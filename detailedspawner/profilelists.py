"""Lists of profiles as an admin writes them: checked, and completed as KubeSpawner does.

An entry of a `profile_list`, and a choice of one of its options, may have these keys beside
KubeSpawner's own: `deprecated`, `deprecation_message`, `hidden`, `icon`, `logo`, `labels` and
`redirect` ({"to", "message": {"text", "level"}}). A list without them works unchanged. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Entry = Mapping[str, Any]
Entries = Sequence[Entry]

LEVELS = ("info", "warning", "danger")


class ProfileError(ValueError):
    """A list of profiles that cannot be used; names the entry and what is wrong."""


def initialised(profile_list: object, slug_of: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return the entries with the slugs and defaults that KubeSpawner gives them.

    Raises ProfileError for what cannot be used: a wrong type, a redirect in a circle or to
    what is not there. What an entry sets on the spawner is passed on untouched.
    """
    if isinstance(profile_list, Mapping):
        profile_list = [profile_list[key] for key in sorted(profile_list)]
    if not isinstance(profile_list, list | tuple):
        raise ProfileError(f"profile_list must be a list, not {type(profile_list).__name__}")
    entries = [_entry(number, entry, slug_of) for number, entry in enumerate(profile_list)]
    _with_default(entries)
    _check_redirects("profile_list", by_slug(entries))
    return entries


def by_slug(entries: Entries) -> dict[str, Entry]:
    """Return the entries by their slugs, in their order; of several the first, as KubeSpawner."""
    found: dict[str, Entry] = {}
    for entry in entries:
        found.setdefault(entry["slug"], entry)
    return found


def entry_of(entries: Entries, slug: object) -> Entry | None:
    """Return the entry with this slug, or the default one when there is no slug."""
    for entry in entries:
        if entry["slug"] == slug if slug else entry.get("default"):
            return entry
    return None


def choices_of(option: Entry) -> Mapping[str, Entry]:
    """Return the choices of an option by their ids."""
    return option.get("choices") or {}


def options_of(entry: Entry | None) -> Mapping[str, Entry]:
    """Return the options of a profile by their names."""
    return (entry or {}).get("profile_options") or {}


def default_choice(option: Entry) -> str | None:
    """Return the id of the choice that is taken when none is made."""
    for key, choice in choices_of(option).items():
        if choice.get("default"):
            return key
    return None


def label_pairs(labels: object) -> list[tuple[str, str]]:
    """Return labels, written as an object or as a list of {"key", "value"}, in their order."""
    if isinstance(labels, Mapping):
        return [(str(key), str(value)) for key, value in labels.items()]
    return [(str(item["key"]), str(item["value"])) for item in labels or ()]  # type: ignore[attr-defined]


def _entry(number: int, entry: object, slug_of: Callable[[str], str]) -> dict[str, Any]:
    where = f"profile_list[{number}]"
    if not isinstance(entry, Mapping):
        raise ProfileError(f"{where} must be an object, not {type(entry).__name__}")
    if not isinstance(entry.get("display_name"), str):
        raise ProfileError(f"{where} needs a display_name")
    found = dict(entry)
    if "slug" not in found:
        found["slug"] = slug_of(found["display_name"])
    where = f"profile_list, {found['slug']!r}"
    _check_keys(where, found)
    if found.get("profile_options"):
        found["profile_options"] = {
            name: _option(f"{where}, option {name!r}", option)
            for name, option in found["profile_options"].items()
        }
    return found


def _option(where: str, option: object) -> dict[str, Any]:
    if not isinstance(option, Mapping):
        raise ProfileError(f"{where} must be an object, not {type(option).__name__}")
    found = dict(option)
    if not isinstance(found.get("choices") or {}, Mapping):
        raise ProfileError(f"{where}: choices must be an object")
    if found.get("choices"):
        for key, choice in found["choices"].items():
            if not isinstance(choice, Mapping):
                raise ProfileError(f"{where}, choice {key!r} must be an object")
            _check_keys(f"{where}, choice {key!r}", choice)
        found["choices"] = {str(key): dict(choice) for key, choice in found["choices"].items()}
        _with_default(list(found["choices"].values()))
        _check_redirects(where, found["choices"])
    return found


def _with_default(items: list[dict[str, Any]]) -> None:
    if items and not any(item.get("default") for item in items):
        items[0]["default"] = True


def _check_keys(where: str, item: Entry) -> None:
    """Check the types of the keys that are ours."""
    for key in ("hidden", "deprecated"):
        if not isinstance(item.get(key, False), bool):
            raise ProfileError(f"{where}: {key} must be true or false, not {item[key]!r}")
    if not isinstance(item.get("deprecation_message") or "", str):
        raise ProfileError(f"{where}: deprecation_message must be text")
    for key in ("icon", "logo"):
        picture = item.get(key)
        url = picture.get("url") if isinstance(picture, Mapping) else picture
        if picture is not None and not isinstance(url, str):
            raise ProfileError(f'{where}: {key} must be {{"url": text}}, not {picture!r}')
    try:
        label_pairs(item.get("labels"))
    except (TypeError, KeyError):
        raise ProfileError(f"{where}: labels must be an object, not {item['labels']!r}") from None
    redirect = item.get("redirect")
    if redirect is None:
        return
    if not isinstance(redirect, Mapping) or not isinstance(redirect.get("to"), str):
        raise ProfileError(f'{where}: redirect must be {{"to": text}}, not {redirect!r}')
    message = redirect.get("message")
    if message is None:
        return
    if not isinstance(message, Mapping) or not isinstance(message.get("text"), str):
        raise ProfileError(f'{where}: the message of a redirect must be {{"text": text}}')
    if message.get("level", LEVELS[0]) not in LEVELS:
        raise ProfileError(f"{where}: level must be one of {', '.join(LEVELS)}")


def _check_redirects(where: str, items: Mapping[str, Entry]) -> None:
    for start in items:
        chain = [start]
        while redirect := items[chain[-1]].get("redirect"):
            target = redirect["to"]
            if target not in items:
                raise ProfileError(
                    f"{where}: {chain[-1]!r} redirects to {target!r}, which is not there"
                )
            if target in chain:
                circle = " -> ".join([*chain, target])
                raise ProfileError(f"{where}: redirects go in a circle: {circle}")
            chain.append(target)
