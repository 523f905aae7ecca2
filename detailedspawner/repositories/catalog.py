"""What was chosen for servers, told from the profiles that there are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slugify import slugify

from ..choices import Hop, Selected, select
from ..models.profiles import PodMetadata
from ..models.servers import (
    UNKNOWN_IMAGE_CONFIG,
    UNKNOWN_POD_CONFIG,
    ChoiceInfo,
    ChosenOption,
    RedirectStep,
    ServerProfile,
)
from ..models.text import clean
from ..profilelists import (
    Entries,
    Entry,
    ProfileError,
    by_slug,
    choices_of,
    initialised,
    options_of,
)
from ..profiling import ProfilesMixin, UserKey, configured
from .profiles import labels, message, picture, pod_metadata

SHOWN_LENGTH = 200


class Catalog:
    """The profiles of all users, as far as they are known without calling anything."""

    def __init__(self, spawner_class: Any, config: Any) -> None:
        self._listed = configured(spawner_class, config, "profile_list")
        self._shared = None if callable(self._listed) else _initialised(self._listed)

    @property
    def default(self) -> str | None:
        """The slug of the profile that is started where none was chosen, if all have the same."""
        entries = self._shared or ()
        return next((entry["slug"] for entry in entries if entry.get("default")), None)

    def entries(self, user_key: UserKey, spawner: Any) -> Entries | None:
        """Return the profiles of a user; None where a function that was not called knows them."""
        listed = getattr(spawner, "profile_list", self._listed)
        if callable(listed):
            return ProfilesMixin.evaluated.get(user_key)
        # a hook may have given this spawner profiles of its own
        return self._shared if listed == self._listed else _initialised(listed)


class Chosen:
    """What a server's options stand for; never an error, whatever they hold."""

    def __init__(self, entries: Entries | None, user_options: Mapping[str, Any]) -> None:
        self._entries = entries
        self._selection = select(entries or (), user_options)

    @property
    def entry(self) -> Entry | None:
        """The entry of the chosen profile, if there is one."""
        profile = self._selection.profile
        return profile.entry if profile else None

    @property
    def id(self) -> str | None:
        """The slug of the chosen profile."""
        profile = self._selection.profile
        return profile.id if profile else None

    @property
    def profile_missing(self) -> bool:
        """Whether the chosen profile no longer exists."""
        profile = self._selection.profile
        return self._entries is not None and profile is not None and profile.missing

    def profile(self) -> ServerProfile | None:
        """Return the profile as lists of servers have it."""
        chosen = self._selection.profile
        if chosen is None:
            return None
        entry = chosen.entry or {}
        infos = by_slug(self._entries or ())
        return ServerProfile(
            id=_shown(chosen.id),
            display_name=str(entry.get("display_name") or _shown(chosen.id)),
            missing=None if self._entries is None else chosen.missing,
            icon=picture(entry.get("icon")),
            logo=picture(entry.get("logo")),
            redirect_chain=tuple(_step(hop, infos) for hop in chosen.hops),
        )

    def options(self) -> dict[str, ChosenOption]:
        """Return the choice of each option."""
        options = options_of(self.entry)
        return {
            _shown(name): ChosenOption(
                current=self._current(name, chosen),
                redirect_chain=tuple(
                    _step(hop, choices_of(options.get(name) or {})) for hop in chosen.hops
                ),
            )
            for name, chosen in self._selection.options.items()
        }

    def metadata(self) -> PodMetadata:
        """Return what the profile says of its pods."""
        return pod_metadata(self.entry) if self.entry else PodMetadata()

    def _current(self, name: str, chosen: Selected) -> ChoiceInfo:
        if chosen.entry is not None:
            return _info(chosen.id, chosen.entry)
        if chosen.unlisted:
            return ChoiceInfo(_shown(chosen.id), _shown(chosen.id))
        if self._entries is None:
            return ChoiceInfo(_shown(chosen.id), _shown(chosen.id), labels=None, missing=None)
        unknown = UNKNOWN_IMAGE_CONFIG if "image" in name.lower() else UNKNOWN_POD_CONFIG
        return ChoiceInfo(_shown(chosen.id), unknown, unknown, labels=None, missing=True)


def _initialised(listed: object) -> Entries:
    try:
        return initialised(listed or [], slugify)
    except ProfileError:
        # whoever starts one of them is told what is wrong
        return ()


def _shown(text: str) -> str:
    return clean(text, SHOWN_LENGTH)


def _info(key: str, item: Entry) -> ChoiceInfo:
    return ChoiceInfo(
        id=key,
        display_name=str(item.get("display_name") or key),
        description=str(item.get("description") or ""),
        labels=labels(item),
    )


def _step(hop: Hop, items: Mapping[str, Entry]) -> RedirectStep:
    return RedirectStep(hop.source, _info(hop.target, items[hop.target]), message(hop.message))
