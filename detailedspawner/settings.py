"""The traits of DetailedKubeSpawner, apart from it so that they can be checked alone.

Values are checked where they are set, and a wrong one is refused with a message
that names the trait and the value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from traitlets import Any as AnyTrait
from traitlets import Dict, List, TraitError, Unicode, validate
from traitlets.config import Config

from .pages import PageTraits
from .pods import DEFAULT_GRACES, PodSettings, read_messages, read_rules
from .traits import MOST_SECONDS, HealthTraits, PreparationTraits, Seconds, wrong_value

# the steps that stand for no container of their own
OTHER_STEPS = ("preparation", "storage", "machine", "image", "session", "connection")


class DetailedTraits(HealthTraits, PageTraits, PreparationTraits):
    """What an admin can set, beside everything of KubeSpawner."""

    step_names = Dict(
        config=True,
        help="""
        Name the steps that users see.

        Maps the name of a container, or a glob such as `git-*`, to the name of its
        step. Containers with the same step name share one step. An exact name wins
        over a glob, and of several globs the first. The steps that are no
        containers are named by `step:preparation`, `step:storage`, `step:machine`, `step:image`,
        `step:session` and `step:connection`.
        """,
    )
    main_container = Unicode(
        "notebook",
        config=True,
        help="""
        Name the container that runs the server.

        KubeSpawner calls it `notebook`; set this only if `modify_pod_hook` renames it.
        """,
    )
    completing_containers: Any = List(
        config=True,
        help="""
        List the helper containers that may finish before the server is ready.

        Names or globs of containers beside the main one. Such a container is ready
        when it exited with 0; any other one that finishes keeps the pod from ever
        becoming ready, which is shown as a failure.
        """,
    )
    log_tail_containers = AnyTrait(
        None,
        allow_none=True,
        config=True,
        help="""
        List the containers whose log users may see, beside the main container.

        After a failure its last lines, and with `show_logs` while the server starts. Names or
        globs. By default (None) all init containers.
        """,
    )
    failure_graces = Dict(
        config=True,
        help="""
        Set after how many seconds a kind of failure ends the start.

        Maps a kind of failure to seconds: 0 ends the start at once, None never.
        Kinds that are not given keep their defaults.
        """,
    )
    progress_timeout = Seconds(
        None,
        allow_none=True,
        config=True,
        help="""
        End a start in which nothing has changed for that many seconds.

        By default (None, as with 0) only `start_timeout` and `failure_graces` do.
        """,
    )
    failure_messages = Dict(
        config=True,
        help="""
        Say in your own words what went wrong.

        Maps a reason to the message, or to a dict of `message`, `hint` and `help_url`,
        of which any may be missing. A reason is one of Kubernetes, such as
        `ErrImagePull`, or a more precise one, such as `pull.not_found`; docs/failures.md
        lists them, with the fields in braces that a text may have. A URL is shown
        behind the hint. Secrets are hidden in these texts like in ours.
        """,
    )

    failure_message_rules: Any = List(
        config=True,
        help="""
        Say in your own words what the cluster says in its own.

        A list of dicts of `match`, a regular expression that is looked for in the
        cluster's text, and of `message`, `hint` and `help_url` as in `failure_messages`.
        The first that matches wins, also over `failure_messages`.
        """,
    )

    @validate("step_names")
    def _check_step_names(self, proposal: Any) -> dict[str, str]:
        names: dict[str, str] = proposal["value"]
        for container, step in names.items():
            if not _is_name(container) or not _is_name(step):
                raise _wrong("step_names", {container: step}, "both must be text, not empty")
            if container.startswith("step:") and container[5:] not in OTHER_STEPS:
                known = ", ".join(f"step:{other}" for other in OTHER_STEPS)
                raise _wrong("step_names", container, f"the other steps are {known}")
        return names

    @validate("main_container")
    def _check_main_container(self, proposal: Any) -> str:
        name: str = proposal["value"]
        if not _is_name(name):
            raise _wrong("main_container", name, "it must not be empty")
        return name

    @validate("completing_containers", "log_tail_containers")
    def _check_container_list(self, proposal: Any) -> Any:
        trait, names = proposal["trait"].name, proposal["value"]
        if names is None and trait == "log_tail_containers":
            return names
        if not isinstance(names, (list, tuple)):
            raise _wrong(trait, names, "it must be a list of names")
        for name in names:
            if not _is_name(name):
                raise _wrong(trait, name, "each must be text, not empty")
        return list(names)

    @validate("failure_graces")
    def _check_failure_graces(self, proposal: Any) -> dict[str, float | None]:
        graces: dict[str, float | None] = proposal["value"]
        for kind, seconds in graces.items():
            if kind not in DEFAULT_GRACES:
                raise _wrong("failure_graces", kind, f"the kinds are {', '.join(DEFAULT_GRACES)}")
            number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
            # the comparison refuses NaN as well
            if seconds is not None and not (number and 0 <= seconds <= MOST_SECONDS):
                raise _wrong("failure_graces", {kind: seconds}, "seconds from 0 on, or None")
        return graces

    @validate("progress_timeout")
    def _check_progress_timeout(self, proposal: Any) -> float | None:
        seconds: float | None = proposal["value"]
        if seconds is not None and not 0 <= seconds <= MOST_SECONDS:
            raise _wrong("progress_timeout", seconds, "seconds from 0 on, or None")
        return seconds

    @validate("failure_messages")
    def _check_failure_messages(self, proposal: Any) -> dict[str, Any]:
        messages: dict[str, Any] = proposal["value"]
        try:
            read_messages(messages)
        except ValueError as error:
            raise _wrong("failure_messages", messages, str(error)) from None
        return messages

    @validate("failure_message_rules")
    def _check_failure_message_rules(self, proposal: Any) -> Any:
        rules = proposal["value"]
        try:
            read_rules(rules)
        except ValueError as error:
            raise _wrong("failure_message_rules", rules, str(error)) from None
        return rules

    def user_secrets(self) -> tuple[str, ...]:
        """Return what of the user's own must not be shown; none without a user."""
        return ()

    def pod_settings(self) -> PodSettings:
        """Return what the judgement of a pod depends on.

        Raises TraitError for a value that came in past validation, as a profile's
        merged dict does.
        """
        self._check_step_names({"value": self.step_names})
        self._check_failure_graces({"value": self.failure_graces})
        self._check_failure_messages({"value": self.failure_messages})
        self._check_failure_message_rules({"value": self.failure_message_rules})
        tails = self.log_tail_containers
        return PodSettings(
            main_container=self.main_container,
            completing_containers=tuple(self.completing_containers),
            log_tail_containers=None if tails is None else tuple(tails),
            step_names=dict(self.step_names),
            graces={**DEFAULT_GRACES, **self.failure_graces},
            texts=read_messages(self.failure_messages),
            message_rules=read_rules(self.failure_message_rules),
            secrets=self.user_secrets(),
        )


def check_config(config: Config) -> None:
    """Check what a configuration sets for this spawner, before any server is started.

    Raises TraitError that names the trait and the value.
    """
    for section in sections(config):
        try:
            check_values(config[section])
        except TraitError as error:
            raise TraitError(f"c.{section}.{error}") from None


def check_values(values: Mapping[str, Any]) -> None:
    """Check values of traits by their names, as far as these are known here.

    Raises TraitError that names the trait and the value.
    """
    traits = DetailedTraits.class_traits(config=True)
    for trait in sorted(set(traits) & set(values)):
        value = resolved(values[trait], traits[trait].default())
        try:
            DetailedTraits(**{trait: value})
        except TraitError as error:
            text = str(error)
            raise TraitError(text if trait in text else f"{trait} = {value!r}: {text}") from None


def resolved(value: Any, default: Any) -> Any:
    """Return a configured value, also of `c.DetailedKubeSpawner.step_names.update(...)`."""
    return value.get_value(default) if hasattr(value, "get_value") else value


def check_names(config: Config, known: set[str]) -> None:
    """Check that everything set on DetailedKubeSpawner exists.

    Raises TraitError with the nearest name that does.
    """
    if "DetailedKubeSpawner" not in config:
        return
    for name in config["DetailedKubeSpawner"]:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TraitError(f"c.DetailedKubeSpawner.{name} is not known{hint}")


def sections(config: Config) -> Iterator[str]:
    """Yield the sections that set traits of this spawner, the most particular one last."""
    for section in ("Spawner", "KubeSpawner", "DetailedKubeSpawner"):
        if section in config:
            yield section


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _wrong(trait: str, value: object, why: str) -> TraitError:
    return TraitError(wrong_value(trait, value, why))
