"""The profiles of one user's spawner: evaluated, chosen from, and redirected at a start."""

from __future__ import annotations

import html
import inspect
import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from slugify import slugify
from traitlets import TraitError
from traitlets.config import Config

from . import choices
from .choices import Hop, Selection
from .hub import spawn_error
from .models import StartWarning
from .models.text import clean
from .profilelists import ProfileError, choices_of, entry_of, initialised, options_of
from .settings import check_values, resolved

# users whose evaluated profiles are kept, so that lists of servers can name them
KEPT_USERS = 500
STATE_KEY = "stopped_at"

Entries = list[dict[str, Any]]
# a user's id, and when they were created
UserKey = tuple[int, datetime | None]


class YetToBeMade:
    """A spawner as a function sees it, under the name of a server that has none yet."""

    def __init__(self, spawner: Any, name: str) -> None:
        self.name = name
        self._spawner = spawner

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._spawner, attribute)


class ProfilesMixin:
    """A mixin for a KubeSpawner, before it in the order of bases.

    Knows the optional keys of `profile_list`, and keeps when the server stopped.
    """

    # what `profile_list` gave for each user, where it is a function
    evaluated: ClassVar[OrderedDict[UserKey, Entries]] = OrderedDict()

    # what the user is told about the choices of the present start
    choice_warnings: tuple[StartWarning, ...] = ()
    # seconds since the epoch; None while the server runs and if it never did
    stopped_at: float | None = None

    async def profiles(self: Any, server_name: str | None = None) -> Entries:
        """Return this user's profiles, with their slugs and defaults.

        `server_name`: that of a server which is yet to be made. Raises ProfileError for a list
        that cannot be used, and what a `profile_list` that is a function raises.
        """
        listed = self.profile_list
        if not callable(listed):
            return initialised(listed, slugify)
        listed = listed(self if server_name is None else YetToBeMade(self, server_name))
        if inspect.isawaitable(listed):
            listed = await listed
        entries = initialised(listed or [], slugify)
        # a database may give the id of a removed user to a new one
        key = (self.user.id, self.user.created)
        self.evaluated[key] = entries
        self.evaluated.move_to_end(key)
        while len(self.evaluated) > KEPT_USERS:
            self.evaluated.popitem(last=False)
        return entries

    async def why_refused(
        self: Any, user_options: object, server_name: str | None = None
    ) -> str | None:
        """Return why a server cannot start with these options, None if it can.

        `server_name`: that of a server which is yet to be made.
        """
        entries = await self.profiles(server_name)
        refused = choices.refusal(entries, user_options)
        if refused is not None:
            return refused
        try:
            for override in choices.overrides(entries, user_options):
                # what a function gives is known to the start alone
                check_values({key: v for key, v in override.items() if not callable(v)})
        except TraitError as error:
            return unusable(error)
        return None

    async def load_user_options(self: Any) -> None:
        """Apply the chosen profile, or what it and its choices redirect to.

        The profiles are evaluated once. The user's options stay as they were chosen.
        """
        entries = await self.profiles()
        self.choice_warnings = ()
        if not entries:
            await super().load_user_options()  # type: ignore[misc]
            return
        reason = choices.refusal(entries, self.user_options)
        if reason is not None:
            raise spawn_error(reason, html.escape(reason), "profile", users=True)
        selection = choices.select(entries, self.user_options)
        self.choice_warnings = warnings(entries, selection)
        chosen, listed = self.user_options, self.profile_list
        self.user_options, self.profile_list = dict(selection.started), entries
        try:
            await super().load_user_options()  # type: ignore[misc]
        finally:
            self.user_options, self.profile_list = chosen, listed

    async def offered_form(self: Any, _spawner: object = None) -> str:
        """Return the form with what is offered; raises what `profiles` does."""
        entries = await self.profiles()
        shown = choices.offered(entries)
        started = choices.select(entries, self.user_options or {}).started
        chosen = self.user_options
        # nothing is awaited meanwhile
        self.user_options = choices.still_offered(shown, started)
        try:
            return str(self.rendered_form(shown))
        finally:
            self.user_options = chosen

    # --- when it stopped ----------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the state with the time at which the server stopped."""
        state: dict[str, Any] = super().get_state()  # type: ignore[misc]
        if self.stopped_at is not None:
            state[STATE_KEY] = self.stopped_at
        return state

    def load_state(self, state: dict[str, Any]) -> None:
        """Take up the state of an earlier spawner object."""
        super().load_state(state)  # type: ignore[misc]
        self.stopped_at = stop_time(state)

    def clear_state(self: Any) -> None:
        """Forget the pod: a new start begins, or else the server has just stopped."""
        super().clear_state()  # type: ignore[misc]
        self.stopped_at = None if self.pending == "spawn" else time.time()


def unusable(error: TraitError) -> str:
    """Say that a profile sets what it must not."""
    return clean(f"The profile cannot be used: {error}", 500)


def stop_time(state: object) -> float | None:
    """Return when a server stopped, from its saved state; None if that is not known."""
    seconds = state.get(STATE_KEY) if isinstance(state, Mapping) else None
    return float(seconds) if isinstance(seconds, int | float) else None


def warnings(entries: Entries, selection: Selection) -> tuple[StartWarning, ...]:
    """Return what a user is told when something else is started than was chosen."""
    found = []
    profile = selection.profile
    if profile is not None:
        names = {entry["slug"]: entry.get("display_name") for entry in entries}
        found += [_warning(hop, names) for hop in profile.hops]
    target = options_of(entry_of(entries, selection.started.get(choices.PROFILE)))
    for name, hops in selection.option_hops.items():
        names = {key: item.get("display_name") for key, item in choices_of(target[name]).items()}
        found += [_warning(hop, names) for hop in hops]
    return tuple(found)


def _warning(hop: Hop, names: Mapping[str, str | None]) -> StartWarning:
    text = (hop.message or {}).get("text")
    source, target = names.get(hop.source) or hop.source, names.get(hop.target) or hop.target
    return StartWarning(step="", message=text or f"“{target}” is started in place of “{source}”.")


def configured(spawner_class: Any, config: Config, trait: str) -> Any:
    """Return a trait as a configuration sets it for all spawners, without making one."""
    if trait not in spawner_class.class_traits():
        return None
    found = spawner_class.class_traits()[trait].default()
    for section in spawner_class.section_names():
        # names that are not there would be created
        if section in config and trait in config[section]:
            found = resolved(config[section][trait], found)
    return found


def check_profiles(config: Config, spawner_class: Any) -> None:
    """Check the profiles of a configuration; raises TraitError that says what is wrong.

    A function cannot be checked before it is called.
    """
    listed = configured(spawner_class, config, "profile_list")
    if listed and not callable(listed):
        try:
            initialised(listed, slugify)
        except ProfileError as error:
            raise TraitError(str(error)) from None
