"""KubeSpawner's shared reflectors, with notification on change and rare relists.

KubeSpawner lists a whole namespace again every 10 seconds and tells nobody what
changed. The reflectors here list once, follow the watch with bookmarks across
reconnects, list again only after an error or every `relist_seconds`, and tell
whoever follows a pod about each change of it. Built on the public parts of
`kubespawner.reflector.ResourceReflector` only.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable, Hashable
from typing import Any

from kubernetes_asyncio.client import ApiException
from kubespawner.reflector import ResourceReflector
from traitlets import Any as AnyTrait
from traitlets import Int

from .kubeapi import NO_ANSWER, Outage, outage, refused
from .pods.reading import mapping_of

Resource = dict[str, Any]


class FollowingReflector(ResourceReflector):  # type: ignore[misc]  # no type hints there
    """A reflector that follows its watch and says what changed."""

    # shorter than what proxies and firewalls let an idle connection live
    timeout_seconds = Int(
        30,
        config=True,
        help="""
        Reconnect the watch after this many seconds.

        A reconnect goes on where the last one ended and loads nothing again.
        """,
    )
    relist_seconds = Int(
        300,
        config=True,
        help="""
        List all resources again after this many seconds.

        A safety net only: changes arrive through the watch.
        """,
    )
    notifier = AnyTrait(help="The Notifier that is told about changes.")

    watch_task: asyncio.Task[None] | None
    # where the watch goes on; None: list first
    resource_version: str | None = None
    # why nothing new is seen; None while the watch works
    outage: Outage | None = None
    # the problems of this outage that the log has
    _told: frozenset[str] = frozenset()

    async def start(self) -> None:
        """List once, then follow in the background.

        Raises whatever the list raised; the first load has then failed as well.
        """
        if self.watch_task and not self.watch_task.done():
            raise RuntimeError(f"Task watching for {self.kind} is already running")
        try:
            await self.relist()
        except BaseException as error:
            if not self.first_load_future.done():
                if isinstance(error, Exception):
                    self.first_load_future.set_exception(error)
                    # read once, so that asyncio does not report it as lost
                    self.first_load_future.exception()
                else:
                    self.first_load_future.cancel()
            raise
        self.watch_task = asyncio.create_task(self.run())

    async def stop(self) -> None:
        """End the watch and wait until it has ended."""
        task, self.watch_task = self.watch_task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    def healthy(self) -> bool:
        """Whether the first list arrived and the watch is alive."""
        first = self.first_load_future
        loaded = first.done() and not first.cancelled() and first.exception() is None
        return loaded and self.watch_task is not None and not self.watch_task.done()

    async def run(self) -> None:
        """Follow for ever: errors are waited out, never given up on."""
        delay, expired = 0.0, False
        listed = time.monotonic()
        while True:
            began = time.monotonic()
            try:
                if self.resource_version is None or began - listed >= self.relist_seconds:
                    await self.relist()
                    listed = time.monotonic()
                await self.follow()
                expired = False
                # a server that closes at once must not be asked in a tight loop
                delay = 0.0 if time.monotonic() - began >= 1 else 0.5
            except NO_ANSWER as error:
                # the network failed, not the version: go on where it broke off
                delay = self._next_delay(delay)
                self._fails(error)
            except ApiException as error:
                self.resource_version = None
                # a fresh list mends it, unless its version is refused as well
                expired = error.status == 410 and not expired
                if not expired:
                    delay = self._next_delay(delay)
                    self._fails(error)
            except Exception as error:
                self.resource_version = None
                delay = self._next_delay(delay)
                self._fails(error)
            if delay:
                # many Hubs must not come back in step after an outage
                await asyncio.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311 (not a secret)

    @staticmethod
    def _next_delay(delay: float) -> float:
        return min(30.0, max(0.2, delay * 2))

    def _fails(self, error: Exception) -> None:
        """Note since when nothing new is seen, and log each problem once."""
        since = time.time() if self.outage is None else self.outage.since
        self.outage = outage(since, error)
        if self.outage.problem in self._told:
            self.log.debug("Watching %s fails again: %s", self.kind, self.outage.detail)
            return
        self._told |= {self.outage.problem}
        self.log.warning(
            "Watching %s in %s fails, and is tried again until it works: %s",
            self.kind,
            "all namespaces" if self.omit_namespace else f"namespace {self.namespace}",
            self.outage.detail,
            # what nobody has thought of tells where it comes from
            exc_info=None if isinstance(error, (*NO_ANSWER, ApiException)) else error,
        )

    def _works(self) -> None:
        """Note that the API server shows again what happens."""
        if self.outage is not None:
            seconds = time.time() - self.outage.since
            self.log.info("Watching %s works again after %.1fs", self.kind, seconds)
            self.outage, self._told = None, frozenset()

    def _request(self, **kwargs: Any) -> Any:
        """Call the API's list method for what this reflector watches."""
        if not self.omit_namespace:
            kwargs["namespace"] = self.namespace
        return getattr(self.api, self.list_method_name)(
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            _preload_content=False,
            **kwargs,
        )

    async def relist(self) -> None:
        """Load everything, and tell about what differs from before.

        Raises ApiException when the API refuses, or what answers is no list.
        """
        response = await self._request(_request_timeout=self.request_timeout)
        if not 200 <= response.status <= 299:
            raise await refused(response)
        version, items = read_list(await response.read())
        fresh = {key: item for item in items if (key := resource_key(item)) is not None}
        for key in [key for key in self.resources if key not in fresh]:
            self._drop(key)
        for key, item in fresh.items():
            if _version(self.resources.get(key)) != _version(item):
                self._put(key, item)
        self.resource_version = version
        if not self.first_load_future.done():
            self.first_load_future.set_result(None)

    async def follow(self) -> None:
        """Read one watch connection to its end.

        Raises ApiException when the API refuses or the version expired (410).
        """
        response = await self._request(
            watch=True,
            allow_watch_bookmarks=True,
            resource_version=self.resource_version,
            timeout_seconds=self.timeout_seconds,
            # a connection that died silently is noticed soon after its time
            _request_timeout=self.timeout_seconds + 10,
        )
        try:
            if not 200 <= response.status <= 299:
                raise await refused(response)
            self._works()
            while (line := await response.content.readline()).endswith(b"\n"):
                # what breaks off in a line comes again, whole, after the reconnect
                self.apply(json.loads(line))
                # many changes that came together are no single block for everybody else
                await asyncio.sleep(0)
        finally:
            response.close()

    def apply(self, change: Resource) -> None:
        """Take one event of the watch.

        Raises ApiException for an event of type ERROR.
        """
        resource = change.get("object") or {}
        if change.get("type") == "ERROR":
            raise ApiException(status=resource.get("code"), reason=resource.get("message"))
        version = _version(resource)
        if version:
            self.resource_version = version
        if change.get("type") == "BOOKMARK":
            return
        key = resource_key(resource)
        if key is None:
            self.log.warning("Ignoring one of the %s without namespace or name", self.kind)
        elif change.get("type") == "DELETED":
            self._drop(key)
        else:
            self._put(key, resource)

    def _put(self, key: str, resource: Resource) -> None:
        previous = self.resources.get(key)
        self.resources[key] = resource
        self.changed(key, previous, resource)

    def _drop(self, key: str) -> None:
        previous = self.resources.pop(key, None)
        if previous is not None:
            self.changed(key, previous, None)

    def changed(self, key: str, previous: Resource | None, current: Resource | None) -> None:
        """Tell who follows this resource; None stands for absent."""
        del previous, current
        self.notifier.notify(key)


class FollowingPodReflector(FollowingReflector):
    """The pods of one namespace, or of all."""

    kind = "pods"

    @property
    def pods(self) -> dict[str, Resource]:
        """The pods by "namespace/name", as KubeSpawner expects them."""
        resources: dict[str, Resource] = self.resources
        return resources


class FollowingEventReflector(FollowingReflector):
    """The events of pods, indexed by the uid of the pod they are about."""

    kind = "events"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._by_uid: dict[str, dict[str, Resource]] = {}

    @property
    def events(self) -> list[Resource]:
        """All events in the order of their times, as KubeSpawner expects them."""
        return sorted(self.resources.values(), key=event_time)

    def events_of(self, uid: str) -> list[Resource]:
        """The events about the pod with this uid; no other event is looked at."""
        return list(self._by_uid.get(uid, {}).values())

    def changed(self, key: str, previous: Resource | None, current: Resource | None) -> None:
        """Keep the index, then tell who follows the pod that the event is about."""
        event = previous if current is None else current
        about = mapping_of(mapping_of(event).get("involvedObject"))
        uid = str(about.get("uid"))
        if current is not None:
            self._by_uid.setdefault(uid, {})[key] = current
        else:
            left = self._by_uid.get(uid, {})
            left.pop(key, None)
            if not left:
                self._by_uid.pop(uid, None)
        # an event that expired after its hour is no news
        if current is not None:
            self.notifier.notify(f"{about.get('namespace')}/{about.get('name')}")


class ReflectorPool:
    """One reflector per key, started once and replaced when it cannot be trusted."""

    def __init__(self, reflectors: dict[Any, Any]) -> None:
        self.reflectors = reflectors
        self._starting: dict[Hashable, asyncio.Task[FollowingReflector]] = {}

    async def ensure(
        self, key: Hashable, make: Callable[[], FollowingReflector], replace: bool = False
    ) -> FollowingReflector:
        """Return a loaded reflector, starting or replacing it where needed.

        Whoever waits may be cancelled without harm to the others: the start
        belongs to nobody. Raises what the first list raised.
        """
        current = self.reflectors.get(key)
        if current is not None and not replace and current.healthy():
            return current  # type: ignore[no-any-return]
        task = self._starting.get(key)
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = asyncio.create_task(self._start(key, make))
            self._starting[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    async def _start(
        self, key: Hashable, make: Callable[[], FollowingReflector]
    ) -> FollowingReflector:
        fresh = make()
        await fresh.start()
        # the old one serves until the new one is loaded: nobody sees an empty list
        previous, self.reflectors[key] = self.reflectors.get(key), fresh
        # those who were told by the list itself have looked at the old one
        known = previous.resources if previous is not None else {}
        for name in known.keys() | fresh.resources.keys():
            if _version(known.get(name)) != _version(fresh.resources.get(name)):
                fresh.changed(name, known.get(name), fresh.resources.get(name))
        if previous is not None:
            await previous.stop()
        return fresh

    def _ended(self, key: Hashable, task: asyncio.Task[FollowingReflector]) -> None:
        if self._starting.get(key) is task:
            del self._starting[key]
        if not task.cancelled():
            # read once, so that asyncio does not report it as lost
            task.exception()


def read_list(body: bytes) -> tuple[str, list[Any]]:
    """Return the version and the items of a list.

    Raises ApiException for what is none, such as the page of a proxy in between.
    """
    version, items = None, None
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        document = json.loads(body)
        version, items = document["metadata"]["resourceVersion"], document.get("items") or []
    if not isinstance(version, str) or not isinstance(items, list):
        message = "what answers is no API server"
        told = json.dumps({"code": 503, "reason": "NoAnswer", "message": message})
        error: Any = ApiException(status=503, reason=message)
        error.body = told
        raise error
    return version, items


def resource_key(resource: object) -> str | None:
    """Return "namespace/name" of a Kubernetes object, None when it has none."""
    metadata = mapping_of(mapping_of(resource).get("metadata"))
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not isinstance(namespace, str) or not isinstance(name, str):
        return None
    return f"{namespace}/{name}"


def event_time(event: Resource) -> str:
    """Return when an event last happened, as its ISO 8601 text; "" when unknown."""
    metadata = event.get("metadata") or {}
    return str(
        mapping_of(event.get("series")).get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or metadata.get("creationTimestamp")
        or ""
    )


def _version(resource: Resource | None) -> str | None:
    return mapping_of(mapping_of(resource).get("metadata")).get("resourceVersion")
