"""What a user chose from profiles, what a form offers, and what cannot be started. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .models.text import clean
from .profilelists import Entries, Entry, by_slug, choices_of, default_choice, entry_of, options_of

UNLISTED = "--unlisted-choice"
SHOWN = 60

PROFILE = "profile"


def what_is_wrong(options: Any, profiles: Entries) -> str | None:
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
    entry = entry_of(profiles, slug)
    if entry is None:
        return f"There is no profile {_shown(slug)}. {_listed('profiles', _slugs(profiles))}"
    for name, option in options_of(entry).items():
        wrong = _wrong_choice(str(name), option, options)
        if wrong:
            return wrong
    return None


def _wrong_choice(name: str, option: Entry, options: Mapping[str, Any]) -> str | None:
    choices = choices_of(option)
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


def _slugs(profiles: Entries) -> list[str]:
    return [str(profile["slug"]) for profile in profiles]


def _listed(what: str, names: Iterable[Any]) -> str:
    listed = ", ".join(str(name) for name in names)
    return f"The {what} are: {listed}." if listed else f"There are no {what}."


def _shown(value: Any) -> str:
    return clean(repr(value), SHOWN)


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a redirect, between ids; the message is as it was written."""

    source: str
    target: str
    message: Any = None


@dataclass(frozen=True, slots=True)
class Selected:
    """A profile or a choice by its id, what the list says of it, and where it leads."""

    id: str
    entry: Entry | None
    hops: tuple[Hop, ...] = ()
    # typed in by the user, so it is not in any list
    unlisted: bool = False

    @property
    def missing(self) -> bool:
        """Whether it no longer exists."""
        return self.entry is None and not self.unlisted

    @property
    def target(self) -> str:
        """The id of what is started."""
        return self.hops[-1].target if self.hops else self.id


@dataclass(frozen=True, slots=True)
class Selection:
    """All that was chosen for a server, and the options that it is started with."""

    profile: Selected | None
    options: Mapping[str, Selected] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    # how the choices of what is started are redirected, by option
    option_hops: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)


def select(entries: Entries, user_options: object) -> Selection:
    """Return what a user's options stand for; whatever they hold, this never fails."""
    asked: Mapping[str, Any] = user_options if isinstance(user_options, Mapping) else {}
    slug = asked.get(PROFILE)
    slug = slug if isinstance(slug, str) else None
    entry = entry_of(entries, slug)
    if entry is None and not slug:
        return Selection(None, {}, dict(asked))
    own = slug or str(entry["slug"] if entry else "")
    hops = _hops(by_slug(entries), own)
    profile = Selected(own, entry, hops)
    started, option_hops = dict(asked), {}
    if profile.hops:
        started[PROFILE] = profile.target
    for name, option in options_of(entry_of(entries, profile.target)).items():
        choices, choice = choices_of(option), asked.get(name) or default_choice(option)
        if not isinstance(choice, str) or asked.get(name + UNLISTED):
            continue
        if profile.hops and choice not in choices:
            # the profile that is started in place of the chosen one has not all of its choices
            del started[name]
            choice = default_choice(option) or ""
        option_hops[name] = _hops(choices, choice)
        if option_hops[name]:
            started[name] = option_hops[name][-1].target
    return Selection(profile, _selected_options(entry, asked), started, option_hops)


def refusal(entries: Entries, user_options: object) -> str | None:
    """Return why a server cannot be started with these options, None if it can."""
    if not isinstance(user_options, Mapping):
        return what_is_wrong(user_options, entries)
    slug = user_options.get(PROFILE)
    if slug and entry_of(entries, slug) is None:
        # what it would lead to is not known
        return what_is_wrong(user_options, entries)
    return what_is_wrong(select(entries, user_options).started, entries)


def overrides(entries: Entries, user_options: object) -> list[Mapping[str, Any]]:
    """Return what the started profile and its choices set on the spawner, in their order."""
    started = select(entries, user_options).started
    entry = entry_of(entries, started.get(PROFILE))
    if entry is None:
        return []
    chosen = [entry]
    for name, option in options_of(entry).items():
        choice = choices_of(option).get(started.get(name) or default_choice(option) or "")
        chosen += [choice] if choice and not started.get(name + UNLISTED) else []
    found = (item.get("kubespawner_override") for item in chosen)
    return [item for item in found if isinstance(item, Mapping)]


def offered(entries: Entries) -> list[dict[str, Any]]:
    """Return the entries as a form shows them: nothing hidden, and what is deprecated says so."""
    shown = [_offered(entry) for entry in entries if not entry.get("hidden")]
    for entry in shown:
        options = {}
        for name, option in options_of(entry).items():
            choices = {
                key: _offered(choice)
                for key, choice in choices_of(option).items()
                if not choice.get("hidden")
            }
            # without anything to choose from there is only the default
            if choices or (option.get("unlisted_choice") or {}).get("enabled"):
                options[name] = {**option, "choices": choices}
        if "profile_options" in entry:
            entry["profile_options"] = options
    return shown


def still_offered(shown: Entries, started: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a server's options that a form can have chosen beforehand."""
    entry = entry_of(shown, started.get(PROFILE))
    if entry is None or not started.get(PROFILE):
        return {}
    options = options_of(entry)
    return {
        key: value
        for key, value in started.items()
        if key == PROFILE
        or key.endswith(UNLISTED)
        or (key in options and value in choices_of(options[key]))
    }


def _hops(items: Mapping[str, Entry], start: str) -> tuple[Hop, ...]:
    """Follow the redirects of what `_check_redirects` has passed."""
    hops: list[Hop] = []
    while start in items and (redirect := items[start].get("redirect")):
        hops.append(Hop(start, redirect["to"], redirect.get("message")))
        start = redirect["to"]
    return tuple(hops)


def _selected_options(entry: Entry | None, asked: Mapping[str, Any]) -> dict[str, Selected]:
    known, found = options_of(entry), {}
    for name, option in known.items():
        choices, choice = choices_of(option), asked.get(name)
        if asked.get(name + UNLISTED):
            found[name] = Selected(str(asked[name + UNLISTED]), None, unlisted=True)
            continue
        choice = choice if isinstance(choice, str) and choice else default_choice(option)
        if choice is not None:
            found[name] = Selected(choice, choices.get(choice), _hops(choices, choice))
    for key, value in asked.items():
        name = key.removesuffix(UNLISTED)
        if key != PROFILE and name not in known and isinstance(value, str) and value:
            found.setdefault(name, Selected(value, None))
    return found


def _offered(item: Entry) -> dict[str, Any]:
    shown = dict(item)
    if not item.get("deprecated"):
        return shown
    shown["display_name"] = f"{item.get('display_name', '')} (deprecated)"
    message = item.get("deprecation_message")
    if message:
        # the form is HTML, and the Hub takes it for a template; quotes stay for forms that escape
        text = html.escape(message, quote=False).replace("{", "&#123;").replace("}", "&#125;")
        shown["description"] = " ".join(filter(None, [item.get("description"), text]))
    return shown
