"""Which options a user may start a server with: those that the profiles offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .text import clean

UNLISTED = "--unlisted-choice"
SHOWN = 60


def what_is_wrong(options: Any, profiles: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with a user's options and what is valid; None if nothing is.

    `profiles` as KubeSpawner completes them: each with its slug, one the default.
    Options that no profile knows belong to hooks and are theirs to check.
    """
    if not options:
        return None
    if not isinstance(options, Mapping):
        return f"The options must be an object, not {_shown(options)}."
    if not profiles:
        return None
    slug = options.get("profile")
    if slug and not isinstance(slug, str):
        return (
            f"`profile` must be text, not {_shown(slug)}. {_listed('profiles', _slugs(profiles))}"
        )
    # as KubeSpawner does without one
    chosen = [item for item in profiles if (item["slug"] == slug if slug else item.get("default"))]
    if not chosen:
        return f"There is no profile {_shown(slug)}. {_listed('profiles', _slugs(profiles))}"
    for name, option in (chosen[0].get("profile_options") or {}).items():
        wrong = _wrong_choice(str(name), option, options)
        if wrong:
            return wrong
    return None


def _wrong_choice(name: str, option: Mapping[str, Any], options: Mapping[str, Any]) -> str | None:
    choices = option.get("choices") or {}
    free = option.get("unlisted_choice") or {}
    unlisted, choice = options.get(name + UNLISTED), options.get(name)
    valid = _listed("choices", choices)
    if free.get("enabled"):
        valid += f" Any other goes into `{name}{UNLISTED}`"
        pattern = free.get("validation_regex")
        valid += f" and must match {pattern}." if pattern else "."
    for key, value in ((name + UNLISTED, unlisted), (name, choice)):
        if value and not isinstance(value, str):
            return f"`{key}` must be text, not {_shown(value)}. {valid}"
    if unlisted:
        if not free.get("enabled"):
            return f"`{name}` takes none but the listed choices. {valid}"
        pattern = free.get("validation_regex")
        if pattern and not re.match(pattern, unlisted):
            return f"`{name}{UNLISTED}` may not be {_shown(unlisted)}. {valid}"
        return None
    if choice and choice not in choices:
        return f"`{name}` may not be {_shown(choice)}. {valid}"
    if not choice and not choices:
        return f"`{name}` has no default. {valid}"
    return None


def _slugs(profiles: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(profile["slug"]) for profile in profiles]


def _listed(what: str, names: Iterable[Any]) -> str:
    listed = ", ".join(str(name) for name in names)
    return f"The {what} are: {listed}." if listed else f"There are no {what}."


def _shown(value: Any) -> str:
    return clean(repr(value), SHOWN)
