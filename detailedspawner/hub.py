"""The one place that touches private parts of JupyterHub and KubeSpawner.

Each of them is named here with the reason why no public part will do, and
`tests/test_hub.py` checks on every supported version that it is still there:

- `KubeSpawner._start_reflector`: it hard-codes its reflector classes, and a
  start that is cancelled during the first list leaves a reflector behind on
  which every later start and poll of the namespace hangs.
- `KubeSpawner._start_watching_pods`, `_start_watching_events`: starting them is
  not offered otherwise, and a Hub that may not read events must start servers.
- `KubeSpawner._get_reflector_key`: whose reflector serves this spawner.
- `KubeSpawner._make_create_pod_request`: the only place that sees the pod after
  `modify_pod_hook`, and what the API answered to it.
- `KubeSpawner._get_pod_url`: the URL of a pod, with the admin's `get_pod_url`.
- `KubeSpawner._expand_all`, `_sorted_dict_values`: what the pod will hold,
  before it exists.
- `KubeSpawner._get_initialized_profile_list`: the profiles with their slugs and
  defaults, to check a user's options before anything is made.
- `Spawner._log_name`: the name that the Hub's own log lines use.
- `Spawner._spawn_future`: the start itself, to cancel it and wait for its end.
- `User._delete_spawner`: removes what a named server keeps, as the Hub does.
"""

from __future__ import annotations

import asyncio
import json
import weakref
from typing import Any, ClassVar

from jupyterhub import spawner as jupyterhub_spawner
from jupyterhub.utils import maybe_future
from kubernetes_asyncio.client import ApiException, V1Container, V1Volume
from kubespawner import KubeSpawner
from kubespawner.utils import get_k8s_model
from sqlalchemy import inspect
from tornado import web

from .watch import (
    FollowingEventReflector,
    FollowingPodReflector,
    FollowingReflector,
    Notifier,
    ReflectorPool,
    event_time,
)

START_ID_ANNOTATION = "detailedspawner/start-id"

FOLLOWING = {"pods": FollowingPodReflector, "events": FollowingEventReflector}


class HubKubeSpawner(KubeSpawner):  # type: ignore[misc]  # kubespawner has no type hints
    """KubeSpawner with its private parts replaced where the product needs it."""

    # apart from KubeSpawner's own, whose reflectors tell nobody what changed
    reflectors: ClassVar[dict[Any, Any]] = {}
    reflector_pool: ClassVar[ReflectorPool] = ReflectorPool(reflectors)
    notifier: ClassVar[Notifier] = Notifier()
    events_refused: ClassVar[set[Any]] = set()
    # the request to create the pod, while or after it is under way
    create_call: asyncio.Future[Any] | None = None

    async def _start_reflector(
        self, kind: str, reflector_class: type, replace: bool = False, **kwargs: Any
    ) -> FollowingReflector:
        key = self._get_reflector_key(kind)
        namespace = self.namespace
        following = FOLLOWING.get(kind, reflector_class)

        def make() -> FollowingReflector:
            reflector: FollowingReflector = following(
                parent=self, namespace=namespace, notifier=self.notifier, **kwargs
            )
            return reflector

        return await self.reflector_pool.ensure(key, make, replace)

    async def _start_watching_events(self, replace: bool = False) -> Any:
        key = self._get_reflector_key("events")
        try:
            reflector = await super()._start_watching_events(replace)
        except Exception as error:
            # the pod decides, events only add text: a start goes on without them
            if key not in self.events_refused:
                self.events_refused.add(key)
                self.log.warning("Events of pods cannot be read, steps go without: %r", error)
            return None
        self.events_refused.discard(key)
        return reflector

    async def watch_pods(self) -> None:
        """Have the pods of this namespace followed; raises what the first list raised."""
        await self._start_watching_pods()

    @property
    def pod_key(self) -> str:
        """The "namespace/name" of this server's pod."""
        return f"{self.namespace}/{self.pod_name}"

    @property
    def log_name(self) -> str:
        """The name of this server in the Hub's log."""
        return str(self._log_name)

    def current_pod(self) -> dict[str, Any] | None:
        """The pod that has this server's name now, of whichever start."""
        reflector = self.pod_reflector
        return reflector.pods.get(self.pod_key) if reflector else None

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of this server's pod only, found by its uid."""
        pod, reflector = self.current_pod(), self.event_reflector
        if pod is None or reflector is None:
            return []
        return sorted(reflector.events_of(pod["metadata"].get("uid")), key=event_time)

    def pod_url(self, pod: dict[str, Any]) -> str:
        """Return the URL at which the Hub and the proxy reach this pod."""
        return str(self._get_pod_url(pod))

    def planned_pod(self) -> dict[str, Any]:
        """Return a pod with the containers and volumes that the next one will have.

        From the configuration alone, so it is there before the pod is; what
        `modify_pod_hook` changes is not known yet.
        """
        spec: dict[str, Any] = {"containers": [{"name": "notebook", "image": str(self.image)}]}
        for key, model, configured in (
            ("initContainers", V1Container, self.init_containers),
            ("containers", V1Container, self.extra_containers),
            ("volumes", V1Volume, self.volumes),
        ):
            for item in self._expand_all(self._sorted_dict_values(configured)):
                # as KubeSpawner reads them: names in camelCase or snake_case
                plain = self.api.api_client.sanitize_for_serialization(get_k8s_model(model, item))
                spec.setdefault(key, []).append(plain)
        return {"spec": spec}

    # --- creating the pod: what the spawner's own class fills in ------------------

    def pod_to_create(self, pod: Any) -> None:
        """Called with the final V1Pod right before each attempt to create it."""

    def create_refused(self, status: dict[str, Any]) -> None:
        """Called with the API's v1 Status when it refused the pod."""

    def is_own_pod(self, pod: Any) -> bool:
        """Whether a pod (a plain dict) is the one that this start made."""
        raise NotImplementedError

    async def _make_create_pod_request(self, pod: Any, request_timeout: float) -> bool:
        """Try once to create the pod; False means that another try is worth it."""
        self.pod_to_create(pod)
        call = asyncio.ensure_future(self.api.create_namespaced_pod(self.namespace, pod))
        self.create_call = call
        try:
            # a start that is cancelled leaves the call to `created_or_not`
            await asyncio.wait_for(asyncio.shield(call), request_timeout)
        except asyncio.TimeoutError:
            call.cancel()
            return False
        except ApiException as error:
            self.create_refused(status_of(error))
            if error.status == 429 or error.status >= 500:
                return False
            if error.status != 409:
                raise
            # a slow answer to an earlier try: the pod in the way is this start's own
            if self.is_own_pod(await self._read_pod()):
                return True
            self.log.info("Pod %s is in the way of a new one, deleting it", self.pod_key)
            await KubeSpawner.stop(self, True)
            return False
        return True

    async def created_or_not(self) -> None:
        """Wait for a request to create the pod that a cancelled start has left behind.

        The API would create the pod after it was asked to delete it.
        """
        call, self.create_call = self.create_call, None
        if call is not None:
            await asyncio.wait({call}, timeout=self.k8s_api_request_timeout)
            if call.done() and not call.cancelled():
                call.exception()
            call.cancel()

    async def _read_pod(self) -> Any:
        try:
            # as plain JSON: the client refuses to read a pod with a part missing
            answer = await self.api.read_namespaced_pod(
                self.pod_name, self.namespace, _preload_content=False
            )
            return json.loads(await answer.read())
        except (ApiException, ValueError):
            return None


def save_state(spawner: Any) -> None:
    """Write a spawner's state to the Hub's database now, not only after its start."""
    row = spawner.orm_spawner
    session = None if row is None else inspect(row).session
    if session is not None:
        row.state = spawner.get_state()
        session.commit()


def status_of(error: ApiException) -> dict[str, Any]:
    """Return the v1 Status that an API error carries, or one made of its code."""
    try:
        status = json.loads(error.body or "")
    except (TypeError, ValueError):
        status = None
    if not isinstance(status, dict):
        status = {"message": str(error.reason)}
    status.setdefault("code", error.status)
    return status


def spawn_error(message: str, html_message: str, reason: str, *, users: bool) -> Exception:
    """Build the exception with which a start ends.

    `users`: it is the user's to mend, so no infrastructure failure. The text
    reaches the stream and the page by the two `jupyterhub_` attributes.
    """
    error: Exception
    try:
        # JupyterHub 6; on 5 there is no other word for it than a 4xx
        from jupyterhub.spawner import SpawnException
    except ImportError:
        error = web.HTTPError(400 if users else 500, _plain_for_log(message))
    else:
        if users:
            error = SpawnException(_plain_for_log(message), reason=reason)
        else:
            error = web.HTTPError(500, _plain_for_log(message))
    error.jupyterhub_message = message  # type: ignore[attr-defined]
    error.jupyterhub_html_message = html_message  # type: ignore[attr-defined]
    return error


def _plain_for_log(message: str) -> str:
    # tornado formats the message with %
    return message.replace("%", "%%")


def spawn_future(spawner: Any) -> asyncio.Future[Any] | None:
    """Return the start that the Hub began, None when there is none."""
    future: asyncio.Future[Any] | None = spawner._spawn_future
    return future


async def remove_server(user: Any, spawner: Any) -> None:
    """Remove a named server that is stopped, with all that it keeps."""
    await maybe_future(user._delete_spawner(spawner))
    user.db.delete(spawner.orm_spawner)
    user.spawners.pop(spawner.name, None)
    user.db.commit()


async def profiles_of(spawner: Any) -> list[dict[str, Any]]:
    """Return the profiles that a spawner offers now, completed as KubeSpawner does.

    Raises what a callable `profile_list` raises.
    """
    if not isinstance(spawner, KubeSpawner):
        return []
    profiles = spawner._sorted_dict_values(spawner.profile_list)
    if callable(profiles):
        profiles = await maybe_future(profiles(spawner))
    return list(spawner._get_initialized_profile_list(profiles) or ())


# JupyterHub 6 tells a user's mistake from a failure of its own; 5 counts both
COUNTS_MISTAKES = not hasattr(jupyterhub_spawner, "SpawnException")
_forgiven: weakref.WeakSet[asyncio.Future[Any]] = weakref.WeakSet()


def forgive_failure(spawner: Any, error: BaseException) -> None:
    """Keep a user's own mistake from counting toward `consecutive_failure_limit`.

    For a start that is about to end with `error`; only a 4xx is a user's mistake.
    """
    future, handler = spawner._spawn_future, spawner.handler
    mistake = isinstance(error, web.HTTPError) and error.status_code < 500
    if not (COUNTS_MISTAKES and mistake and future and handler) or future in _forgiven:
        return
    _forgiven.add(future)
    limit = spawner.consecutive_failure_limit
    # the Hub's own callback runs before ours: it counts, and ends the Hub at the limit
    spawner.consecutive_failure_limit = 0

    def put_back(ended: asyncio.Future[Any]) -> None:
        spawner.consecutive_failure_limit = limit
        if not ended.cancelled() and ended.exception() is not None:
            handler.settings["failure_count"] -= 1

    future.add_done_callback(put_back)
