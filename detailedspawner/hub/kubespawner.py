"""KubeSpawner with its private parts replaced where the product needs it, and its errors read."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar
from urllib.parse import urlsplit

from aiohttp import ClientConnectorError, ClientOSError, ServerDisconnectedError
from kubernetes_asyncio.client import ApiException, V1Container, V1Volume
from kubespawner import KubeSpawner
from kubespawner.utils import get_k8s_model
from tornado import web
from traitlets import default

from ..kubeapi import Outage
from ..tracking import Notifier
from ..watch import (
    FollowingEventReflector,
    FollowingPodReflector,
    FollowingReflector,
    ReflectorPool,
    event_time,
)

# how KubeSpawner calls the container that runs the server
KUBESPAWNERS_CONTAINER = "notebook"

FOLLOWING = {"pods": FollowingPodReflector, "events": FollowingEventReflector}


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


def no_answer(error: Exception, api_url: str) -> dict[str, Any] | None:
    """Return what stands for the v1 Status of an API server that does not answer.

    None for any other error, also for one of a connection to elsewhere that a hook has made.
    """
    if isinstance(error, ClientConnectorError):
        silent = error.host == urlsplit(api_url).hostname
    else:
        silent = isinstance(error, ClientOSError | ServerDisconnectedError)
    return {"code": 503, "reason": "NoAnswer", "message": str(error)} if silent else None


def spawn_error(message: str, html_message: str, reason: str, *, users: bool) -> Exception:
    """Build the exception with which a start ends.

    `users`: a user can bring it about, so it is no failure of the Hub. The text
    reaches the stream and the page by the two `jupyterhub_` attributes.
    """
    error: Any
    try:
        # JupyterHub 6; on 5 there is no other word for it than a 4xx
        from jupyterhub.spawner import SpawnException
    except ImportError:
        error = web.HTTPError(400 if users else 500, message)
    else:
        error = SpawnException(message, reason=reason) if users else web.HTTPError(500, message)
    error.jupyterhub_message = message
    error.jupyterhub_html_message = html_message
    made: Exception = error
    return made


class HubKubeSpawner(KubeSpawner):  # type: ignore[misc]  # kubespawner has no type hints
    """KubeSpawner with its private parts replaced where the product needs it."""

    # apart from KubeSpawner's own, whose reflectors tell nobody what changed
    reflectors: ClassVar[dict[Any, Any]] = {}
    reflector_pool: ClassVar[ReflectorPool] = ReflectorPool(reflectors)
    notifier: ClassVar[Notifier] = Notifier()
    events_refused: ClassVar[set[Any]] = set()
    # how `modify_pod_hook` may call the container that runs the server
    main_container: str = KUBESPAWNERS_CONTAINER
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
    def pods_outage(self) -> Outage | None:
        """Why nothing new is seen of the pods of this namespace; None if they are followed."""
        reflector = self.pod_reflector
        return reflector.outage if reflector else None

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

        From the configuration alone, so it is there before the pod is; of what
        `modify_pod_hook` changes only the name of the main container is known yet.
        """
        main = {"name": self.main_container, "image": str(self.image)}
        spec: dict[str, Any] = {"containers": [main]}
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

    # --- the form -----------------------------------------------------------------

    @default("options_form")
    def _default_options_form(self) -> Any:
        # each of the Hub's pages reads it, before anybody has asked for the form
        return self.offered_form if self.profile_list else ""

    def rendered_form(self, entries: list[dict[str, Any]]) -> str:
        """Return the form for some profiles, as the admin's or KubeSpawner's template has it."""
        return str(self._render_options_form(entries))

    async def offered_form(self, _spawner: object = None) -> str:
        """Return the form for what a user may choose from."""
        raise NotImplementedError

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

    async def poll(self) -> int | None:
        """Return None while a server runs or may come to, else its exit code.

        KubeSpawner looks at the container `notebook`, whatever the main one is called.
        """
        code: int | None = await super().poll()
        if code is not None or self.main_container == KUBESPAWNERS_CONTAINER:
            return code
        status = (self.current_pod() or {}).get("status") or {}
        if status.get("phase") == "Pending":
            return None
        for container in status.get("containerStatuses") or ():
            ended = (container.get("state") or {}).get("terminated")
            if container.get("name") == self.main_container and ended is not None:
                if self.delete_stopped_pods:
                    await self.stop(now=True)
                return int(ended.get("exitCode") or 0)
        return None

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
