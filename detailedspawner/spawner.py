"""DetailedKubeSpawner: traits and wiring; what it decides is decided elsewhere."""

from __future__ import annotations

import asyncio
import html
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

from kubernetes_asyncio.client import ApiException

from ._version import __version__
from .claims import CLAIMS_INTERVAL, claim_names, read_claims
from .hub import START_ID_ANNOTATION, HubKubeSpawner, spawn_error, status_of
from .models import ServerState, ServerStatus
from .models.text import clean
from .pods import PodSettings, Verdict, judge
from .settings import DetailedTraits
from .starting import Start

# servers whose last status is kept after their spawner object is gone
KEPT_STATUSES = 2000
# seconds before the Hub's own timeout, so that the message names the step
DEADLINE_MARGIN = 1.0


class DetailedKubeSpawner(DetailedTraits, HubKubeSpawner):
    """A KubeSpawner whose starts are followed step by step."""

    # the last status of servers by (user, server), bounded; outlives the objects
    last_statuses: ClassVar[OrderedDict[tuple[str, str], ServerStatus]] = OrderedDict()
    # called once, with the log, by the first spawner of a Hub
    at_first_spawner: ClassVar[list[Callable[[Any], object]]] = []

    # for the page: its files are kept by browsers until the next version
    detailed_version = __version__

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._detailed_start: Start | None = None
        self._options_loaded = False
        # a pod may exist though the watch has not shown it yet
        self._maybe_pod = False
        self._kube_task: asyncio.Future[Any] | None = None
        while self.at_first_spawner:
            self.at_first_spawner.pop()(self.log)

    # --- what readers get ---------------------------------------------------------

    def detailed_status(self) -> ServerStatus:
        """Return the present status of this server, in whichever state it is."""
        start = self._current_start()
        if start is None:
            return self.last_statuses.get(self._status_key) or ServerStatus(
                start_id=None, revision="0.0", state=ServerState.STOPPED, progress=0,
                message="The server is stopped.",
            )  # fmt: skip
        start.become(self._state(start))
        if self.ready or self.pending == "check":
            # nobody follows the pod of a server that runs: it is looked at when asked
            self._observe(start)
        return start.status

    def detailed_snapshot(self) -> dict[str, Any]:
        """Return the present status as the page and the REST API show it."""
        return self.detailed_status().to_dict()

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the whole present status at once, then every change of it."""
        start = self._current_start()
        if start is not None:
            async for event in start.tracker.follow():
                yield event

    @property
    def _status_key(self) -> tuple[str, str]:
        return (self.user.name, self.name)

    def _state(self, start: Start) -> ServerState:
        if start.failed:
            # a failed start stays one while it is cleaned up and afterwards
            return ServerState.FAILED
        pending = self.pending
        if pending == "spawn":
            return ServerState.STARTING
        if pending == "stop":
            return ServerState.STOPPING
        if pending == "check":
            return ServerState.CHECKING
        if self.ready:
            return ServerState.RUNNING
        return start.state if not start.ended else ServerState.STOPPED

    def _current_start(self) -> Start | None:
        """The start that is going on or was the last; begun here when the Hub began one."""
        start = self._detailed_start
        if start is None and self.pending == "spawn":
            return self._begin()
        if start is None and (self.pending == "check" or self.ready):
            # after a restart of the Hub: the steps come from the pod
            start = self._begin()
            start.end()
        return start

    def _begin(self) -> Start:
        start = Start(self._plan(), self._checked_settings(), log=self.log)
        self._detailed_start = start
        self.last_statuses.pop(self._status_key, None)
        return start

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

    # --- the start ------------------------------------------------------------------

    def clear_state(self) -> None:
        """Forget an earlier start when the Hub begins a new one with the same object."""
        super().clear_state()
        start = self._detailed_start
        # the Hub also calls this at the end of stop(), where a failure stays readable
        if start is not None and start.ended and self.pending == "spawn":
            self._detailed_start = None

    async def run_pre_spawn_hook(self) -> None:
        """Run the hook, then load the user's options, so that both count from here on."""
        self._options_loaded = False
        hook = super().run_pre_spawn_hook()
        if hook is not None:
            await hook
        await self.load_user_options()
        if self._detailed_start is not None and not self._detailed_start.ended:
            self._detailed_start.plan(self._plan(), self.pod_settings())

    async def load_user_options(self) -> None:
        """Load the options once per start, however often KubeSpawner asks."""
        if not self._options_loaded:
            await super().load_user_options()
            self._options_loaded = True

    async def start(self) -> str:
        """Start the pod and return its URL once it is ready.

        Raises what the Hub shows the user: the cause, not a timeout.
        """
        start = self._detailed_start
        if start is None or start.ended:
            start = self._begin()
        unsubscribe: Callable[[], None] | None = None
        try:
            await self.load_user_options()
            start.plan(self._plan(), self.pod_settings())
            unsubscribe = self.notifier.subscribe(self.pod_key, lambda: self._observe(start))
            url = await self._start_watched(start)
            self._maybe_pod = False
            return url
        except Exception as error:
            raise self._failure(start, error) from error
        finally:
            if unsubscribe:
                unsubscribe()
            self._options_loaded = False
            start.end()
            if start.failed:
                self._remember(start.status)

    async def _start_watched(self, start: Start) -> str:
        """Run KubeSpawner's start beside our own watch; the first to know decides."""
        kube: asyncio.Future[str] = asyncio.ensure_future(super().start())
        self._kube_task = kube
        claims = asyncio.ensure_future(self._follow_claims(start))
        timeout = self.start_timeout - DEADLINE_MARGIN if self.start_timeout > 0 else None
        try:
            waited: set[asyncio.Future[Any]] = {kube, start.decided}
            await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            pod = self.current_pod()
            if start.failed:
                raise RuntimeError(start.status.message)
            if kube.done():
                return kube.result()
            if start.decided.done() and pod is not None:
                # what KubeSpawner does when it notices, up to 5 s later
                self.pod_id = pod["metadata"]["uid"]
                return self.pod_url(pod)
            raise TimeoutError
        finally:
            self._kube_task = None
            claims.cancel()
            if not kube.done():
                kube.cancel()
                # its own reaction is to let go at once: nothing of it may outlive the start
                await asyncio.wait({kube})
            elif not kube.cancelled():
                kube.exception()

    async def _follow_claims(self, start: Start) -> None:
        """Look at the claims of a pod for as long as it waits for its machine."""
        while True:
            await asyncio.sleep(CLAIMS_INTERVAL)
            names = [] if start.view.scheduled else claim_names(start.pod)
            if names:
                found = await read_claims(self.api, self.namespace, names, self.log)
                start.observe_claims(*found)

    def _failure(self, start: Start, error: Exception) -> Exception:
        """Turn what ended a start into the one sentence that every reader gets."""
        if isinstance(error, ApiException):
            status = status_of(error)
            start.create_refused(status)
            if not start.failed:
                # refused for something beside the pod, such as its service
                start.fail(clean(str(status.get("message")), 300))
        if not start.failed:
            if isinstance(error, TimeoutError | asyncio.TimeoutError):
                start.fail(self._timeout_message(start))
            else:
                start.fail(str(getattr(error, "jupyterhub_message", None) or error))
        problem, message = start.problem, start.status.message
        hint = problem.hint if problem else None
        text = f"{message} {hint}" if hint else message
        if start.problem is None and not isinstance(error, TimeoutError | asyncio.TimeoutError):
            # not about the pod: an error of a hook or a bug keeps its own kind
            return error
        self.log.warning(
            "Start %s of %s failed: %s (%s)",
            start.id, self.log_name, message, problem.detail if problem else repr(error),
        )  # fmt: skip
        reason = (problem.category if problem else None) or "timeout"
        users = reason in USERS_CATEGORIES
        return spawn_error(text, html.escape(text), reason, users=users)

    def _timeout_message(self, start: Start) -> str:
        step = start.unfinished_step()
        name = step.step if step else "Starting"
        message = f"“{name}” did not finish within {self.start_timeout} seconds."
        problem = start.problem
        return f"{message} {problem.message}" if problem else message

    def _remember(self, status: ServerStatus) -> None:
        self.last_statuses[self._status_key] = status
        self.last_statuses.move_to_end(self._status_key)
        while len(self.last_statuses) > KEPT_STATUSES:
            self.last_statuses.popitem(last=False)

    # --- what the pod says --------------------------------------------------------

    def _observe(self, start: Start) -> None:
        """Show a start its pod and the events about it, as the watch has them now."""
        pod = self.current_pod()
        if pod is None or not (start.ended or self.is_own_pod(pod)):
            start.observe(None)
            return
        start.observe(pod, self.events)

    def is_own_pod(self, pod: Any) -> bool:
        """Whether a pod is the one that the present start made: it carries its id."""
        metadata = pod.get("metadata") if isinstance(pod, dict) else None
        annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
        start_id = annotations.get(START_ID_ANNOTATION) if isinstance(annotations, dict) else None
        return self._detailed_start is not None and start_id == self._detailed_start.id

    def pod_to_create(self, pod: Any) -> None:
        """Mark the pod as this start's, and have the end of its logs in its status."""
        self._maybe_pod = True
        start = self._detailed_start
        if start is None:
            return
        metadata, spec = pod.metadata, pod.spec
        metadata.annotations = {**(metadata.annotations or {}), START_ID_ANNOTATION: start.id}
        for container in [*(spec.init_containers or ()), *spec.containers]:
            # an admin's own choice stays
            if _get(container, "termination_message_policy", "terminationMessagePolicy") is None:
                _set_termination_policy(container)
        start.plan(self.api.api_client.sanitize_for_serialization(pod))

    def create_refused(self, status: dict[str, Any]) -> None:
        """Show the start what the API answered."""
        if self._detailed_start is not None:
            self._detailed_start.create_refused(status)

    def is_pod_running(self, pod: Any) -> bool:
        """Whether a pod is ready: native sidecars count, completed helpers do not."""
        start, kube = self._detailed_start, self._kube_task
        # KubeSpawner asks this last, when all it does around the pod is done
        if start is not None and kube is not None and asyncio.current_task() is kube:
            start.all_else_done()
        view = judge(pod, settings=self._checked_settings(), now=time.time())
        has_address = isinstance(pod, dict) and bool((pod.get("status") or {}).get("podIP"))
        return view.verdict is Verdict.RUNNING and has_address

    # --- the end ------------------------------------------------------------------

    async def poll(self) -> int | None:
        """Return None while a pod runs or may exist, else its exit code."""
        if self._maybe_pod:
            # the watch may not have shown it yet; only stop() makes sure
            return None
        code: int | None = await super().poll()
        return code

    async def stop(self, now: bool = False) -> None:
        """Delete the pod, and return as soon as the watch shows that it is gone."""
        await self.watch_pods()
        key, was_there = self.pod_key, self.current_pod() is not None
        gone = asyncio.Event()

        def look() -> None:
            if was_there and self.current_pod() is None:
                gone.set()

        unsubscribe = self.notifier.subscribe(key, look)
        kube = asyncio.ensure_future(super().stop(now))
        seen_gone = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait({kube, seen_gone}, return_when=asyncio.FIRST_COMPLETED)
            if kube.done():
                kube.result()
            self._maybe_pod = False
        finally:
            unsubscribe()
            for task in (kube, seen_gone):
                task.cancel()
            await asyncio.wait({kube, seen_gone})


# the kinds of failure that the user or the profile has to mend, not the cluster
USERS_CATEGORIES = frozenset(
    {"spec", "gone", "pull_definite", "config", "create", "crash", "hook", "schedule_hopeless"}
)


def _get(container: Any, attribute: str, key: str) -> Any:
    return container.get(key) if isinstance(container, dict) else getattr(container, attribute)


def _set_termination_policy(container: Any) -> None:
    policy = "FallbackToLogsOnError"
    if isinstance(container, dict):
        container["terminationMessagePolicy"] = policy
    else:
        container.termination_message_policy = policy
