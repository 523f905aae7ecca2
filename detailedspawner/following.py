"""What a spawner knows of its server, and what every reader gets of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, ClassVar
from weakref import WeakSet

from jupyterhub.utils import format_exception

from ._version import __version__
from .composing import START_ID_ANNOTATION, bare
from .durations import Durations, Sample
from .gate import readiness_probe
from .health import server_path
from .hub import HubKubeSpawner, NoticesHub, may_read_logs, save_state, spawn_failure
from .models import ServerState, ServerStatus
from .models.redaction import option_values
from .pods import PodSettings, Verdict, judge
from .pods.reading import mapping_of
from .profiling import ProfilesMixin
from .settings import DetailedTraits
from .starting import Start

# key of what a start leaves in the spawner's state
STATE_KEY = "detailedspawner"
FAILED_KEY = "failed"
DURATIONS_KEY = "detailedspawner_durations"


class FollowingSpawner(DetailedTraits, NoticesHub, ProfilesMixin, HubKubeSpawner):
    """A KubeSpawner whose pod is followed, and whose status can be read at any time."""

    # called once, with the log, by the first spawner of a Hub
    at_first_spawner: ClassVar[list[Callable[[Any], object]]] = []

    # told of each start that is over, and of the outcome of each health check
    at_record: ClassVar[list[Callable[[dict[str, Any]], object]]] = []
    at_check: ClassVar[list[Callable[[str], object]]] = []
    # the starts that go on; what is forgotten without an end goes by itself
    under_way: ClassVar[WeakSet[Start]] = WeakSet()

    # how long the starts of this Hub have taken, of all its users
    durations: ClassVar[Durations] = Durations()

    # for the page: its files are kept by browsers until the next version
    detailed_version = __version__

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._detailed_start: Start | None = None
        # why the last start failed, until the next one; the Hub keeps it with the state
        self._last_failure: ServerStatus | None = None
        # how long the last start took that ended well; the Hub keeps it with the state
        self._last_duration: Sample | None = None
        # False from the first moment of a start until all of it is done; None: not ours
        self._passed_gate: bool | None = None
        # the Hub has the pod deleted, so its end is none of its own
        self._asked_to_stop = False
        # a pod may exist though the watch has not shown it yet
        self._maybe_pod = False
        self._kube_task: asyncio.Future[Any] | None = None
        self._stop_following: Callable[[], None] | None = None
        while self.at_first_spawner:
            self.at_first_spawner.pop()(self.log)

    # --- what readers get ---------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether the server can be used: never before the gate of its start."""
        # the Hub takes a start that is being cancelled for a server that runs
        return bool(super().ready) and self._passed_gate is not False

    def detailed_status(self) -> ServerStatus:
        """Return the present status of this server, in whichever state it is."""
        start = self._current_start()
        if start is None:
            return self._last_failure or bare(ServerState.STOPPED)
        start.become(self._state(start))
        return start.status

    def detailed_snapshot(self, scopes: Any = None) -> dict[str, Any]:
        """Return the present status as the page and the REST API show it.

        `scopes`: what its reader may do, as the Hub has parsed it, which decides whether the
        ends of logs are in it; the spawner itself asks without.
        """
        status = self.detailed_status()
        known = scopes is None or may_read_logs(scopes, self.db, self.user.name, self.name)
        return (status if known else status.without_logs()).to_dict()

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the whole present status at once, then every change of it."""
        start = self._current_start()
        if start is not None:
            async for event in start.tracker.follow():
                yield event

    def _state(self, start: Start) -> ServerState:
        if start.failed:
            # a failed start stays one while it is cleaned up and afterwards
            return ServerState.FAILED
        pending = self.pending
        if start.cancelled:
            return ServerState.CANCELLING if pending or self.server else ServerState.STOPPED
        if pending == "spawn":
            return ServerState.STARTING
        if pending == "stop":
            return ServerState.STOPPING
        if pending == "check":
            return ServerState.CHECKING if start.ended else ServerState.STARTING
        if self.ready:
            return ServerState.RUNNING
        error = spawn_failure(self)
        if error is not None and start.ended:
            # in what the Hub does itself before or after our part
            # a timeout of the Hub's own has no text
            told = format_exception(error)[0] or f"The start ended: {type(error).__name__}."
            start.fail_late(told)
            self._last_failure = start.status
            with contextlib.suppress(Exception):
                # the Hub has written the state before; a reader must not break
                save_state(self)
            return ServerState.FAILED
        return start.state if not start.ended else ServerState.STOPPED

    def _current_start(self) -> Start | None:
        """The start that is going on or was the last; begun here when the Hub began one."""
        start = self._detailed_start
        if start is None and self.pending == "spawn":
            return self._begin()
        if start is None and (self.pending == "check" or self.ready):
            # after a restart of the Hub: the steps come from the pod
            start = self._begin()
            self._over(start)
            self._follow(start)
        return start

    def _begin(self, start_id: str | None = None, began: float | None = None) -> Start:
        start = Start(
            self._plan(),
            self._checked_settings(),
            log=self.log,
            start_id=start_id,
            began=began,
            connects=self.health_enabled,
        )
        self._detailed_start = start
        self._last_failure = None
        self.under_way.add(start)
        return start

    def _over(self, start: Start) -> None:
        start.end()
        self.under_way.discard(start)

    def user_secrets(self) -> tuple[str, ...]:
        """Return the values of the user's options that must not be shown."""
        return option_values(self.user_options, public=[self.user.name])

    def _profile_key(self) -> str:
        """What starts that take about as long have in common: no profiles, no difference."""
        options = self.user_options
        if not self.profile_list or not isinstance(options, dict):
            return ""
        return str(options.get("profile") or "")

    def _checked_settings(self) -> PodSettings:
        try:
            return self.pod_settings()
        except Exception as error:  # a start must tell of it, a reader must not break
            self.log.warning("Settings of %s are wrong, using defaults: %s", self.log_name, error)
            return PodSettings()

    def _plan(self) -> dict[str, Any]:
        try:
            return self.planned_pod()
        except Exception as error:  # KubeSpawner's own start tells what is wrong with it
            self.log.debug("Cannot tell the containers of %s yet: %r", self.log_name, error)
            return {"spec": {"containers": [{"name": self.main_container}]}}

    # --- what the pod says --------------------------------------------------------

    def _follow(self, start: Start) -> None:
        """Show a start its pod now and at every change, until the server is stopped."""
        self._unfollow()
        self._stop_following = self.notifier.subscribe(self.pod_key, lambda: self._observe(start))
        self._observe(start)

    def _unfollow(self) -> None:
        if self._stop_following is not None:
            self._stop_following()
            self._stop_following = None

    def _observe(self, start: Start) -> None:
        """Show a start its pod and the events about it, as the watch has them now."""
        pod = self.current_pod()
        if pod is None or not (start.ended or self.is_own_pod(pod)):
            start.observe(None)
            return
        start.observe(pod, self.events)

    def is_own_pod(self, pod: Any) -> bool:
        """Whether a pod is the one that the present start made: it carries its id."""
        annotations = mapping_of(mapping_of(mapping_of(pod).get("metadata")).get("annotations"))
        start = self._detailed_start
        return start is not None and annotations.get(START_ID_ANNOTATION) == start.id

    def pod_to_create(self, pod: Any) -> None:
        """Mark the pod as this start's, and have the end of its logs in its status.

        Raises RuntimeError when the server was stopped meanwhile: nobody would delete the pod.
        """
        if self._asked_to_stop:
            raise RuntimeError("The server was stopped while it was started.")
        self._maybe_pod = True
        start = self._detailed_start
        if start is None:
            return
        start.all_prepared()
        metadata, spec = pod.metadata, pod.spec
        metadata.annotations = {**(metadata.annotations or {}), START_ID_ANNOTATION: start.id}
        for container in [*(spec.init_containers or ()), *spec.containers]:
            # an admin's own choice stays
            if _get(container, "termination_message_policy", "terminationMessagePolicy") is None:
                _set(
                    container,
                    "termination_message_policy",
                    "terminationMessagePolicy",
                    "FallbackToLogsOnError",
                )
        if self.health_readiness_probe:
            self._add_readiness_probe(spec)
        start.plan(self.api.api_client.sanitize_for_serialization(pod))

    def _add_readiness_probe(self, spec: Any) -> None:
        # with internal SSL the server answers only those who have the Hub's certificate
        if self.internal_ssl:
            return
        base_url = self.server.base_url if self.server else self.user.url
        probe = readiness_probe(
            server_path(base_url, self.health_path), self.port, self.health_timeout
        )
        for container in spec.containers:
            is_main = _get(container, "name", "name") == self.main_container
            if is_main and _get(container, "readiness_probe", "readinessProbe") is None:
                _set(container, "readiness_probe", "readinessProbe", probe)

    def create_refused(self, status: dict[str, Any]) -> None:
        """Show the start what the API answered."""
        if self._detailed_start is not None:
            self._detailed_start.create_refused(status)

    def all_made(self) -> None:
        """Called when all that KubeSpawner makes beside the pod is made."""

    def is_pod_running(self, pod: Any) -> bool:
        """Whether a pod is ready: native sidecars count, completed helpers do not."""
        start, kube = self._detailed_start, self._kube_task
        # KubeSpawner asks this last, when all it does around the pod is done
        if start is not None and kube is not None and asyncio.current_task() is kube:
            start.all_else_done()
            self.all_made()
        view = judge(pod, settings=self._checked_settings(), now=time.time())
        has_address = isinstance(pod, dict) and bool((pod.get("status") or {}).get("podIP"))
        return view.verdict is Verdict.RUNNING and has_address


def kept_failure(state: object) -> ServerStatus | None:
    """Return what the saved state of a spawner tells of its last start, if that failed."""
    kept = state.get(STATE_KEY) if isinstance(state, Mapping) else None
    if not isinstance(kept, Mapping) or FAILED_KEY not in kept:
        return None
    try:
        return ServerStatus.from_dict(kept[FAILED_KEY])
    except ValueError:
        # of another version, perhaps: then it is forgotten
        return None


def _get(container: Any, attribute: str, key: str) -> Any:
    return container.get(key) if isinstance(container, dict) else getattr(container, attribute)


def _set(container: Any, attribute: str, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    else:
        setattr(container, attribute, value)
