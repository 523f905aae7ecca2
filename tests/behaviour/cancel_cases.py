"""The phases of a start in which it is cancelled, and how the suite brings each about.

`when` tells from the status of the server that the phase has come. What a cluster
would do too quickly is slowed down in the Hub's process, by the profile's slug.
"""

from __future__ import annotations

import asyncio
import functools
import time
from typing import Any

from kubernetes_asyncio.client import CoreV1Api

from .cases import FOREVER, SLOW, container, probe
from .gate_cases import server

LONG = 60
# seconds that the first list of the other namespace takes
LISTED = 8
PATIENT = {"health_threshold": 300}


def step(word: str, name: str) -> Any:
    """The condition that a step has this status."""

    def reached(status: dict[str, Any]) -> bool:
        return any(s["step"] == name and s["status"] == word for s in status["details"])

    return reached


def asked(outcome: str) -> Any:
    """The condition that asking the server had this outcome."""

    def reached(status: dict[str, Any]) -> bool:
        last = status["health"]["last"]
        return bool(last and last["outcome"] == outcome)

    return reached


def state(word: str) -> Any:
    """The condition that the server is in this state."""
    return lambda status: status["state"] == word


async def wait_long(_: Any) -> None:
    """A preparation that can be interrupted."""
    await asyncio.sleep(LONG)


def wait_in_thread(spawner: Any) -> None:
    """A preparation in a thread that looks whether it is still wanted."""
    spawner.cancelled.wait(LONG)


PHASES: dict[str, dict[str, Any]] = {
    "async-preparation": {
        "override": server("ok", preparations=[{"name": "Wait", "run": wait_long}]),
        "when": step("executing", "Wait"),
    },
    "thread-preparation": {
        "override": server("ok", preparations=[{"name": "Wait", "run": wait_in_thread}]),
        "when": step("executing", "Wait"),
    },
    "pre-spawn-hook": {"override": server("ok"), "when": step("executing", "Preparing")},
    "first-list": {
        "override": server("ok", namespace="{namespace}-list"),
        "when": step("waiting", "Finding a machine"),
    },
    "claim": {
        "override": server(
            "ok",
            storage_pvc_ensure=True,
            storage_capacity="1Gi",
            storage_class="standard",
            storage_access_modes=["ReadWriteOnce"],
        ),
        "when": step("waiting", "Finding a machine"),
    },
    "create-call": {"override": server("ok"), "when": step("waiting", "Finding a machine")},
    "scheduling": {
        "override": server("ok", mem_guarantee="900G"),
        "when": step("executing", "Finding a machine"),
    },
    "image-pull": {
        "override": server("ok", image=SLOW, image_pull_policy="Always"),
        "when": step("ready", "Finding a machine"),
    },
    "init-container": {
        "override": server("ok", init_containers=[container("prepare", f"sleep {LONG}")]),
        "when": step("executing", "Prepare"),
    },
    "sidecar": {
        "override": server(
            "ok",
            init_containers=[
                container("proxy", FOREVER, restartPolicy="Always", startupProbe=probe(LONG))
            ],
        ),
        "when": step("executing", "Proxy"),
    },
    "main-container": {
        "override": server("ok", extra_container_config={"readinessProbe": probe(LONG)}),
        "when": step("executing", "Starting session"),
    },
    "pods-answer": {"override": server("never", **PATIENT), "when": asked("refused")},
    "proxys-answer": {
        "override": server("not-found", health_statuses=[200], **PATIENT),
        "when": asked("unwanted_status"),
    },
    "hubs-wait": {
        "override": server("never", health_enabled=False),
        "when": step("ready", "Starting session"),
    },
    "failing": {
        "override": server(
            "ok",
            init_containers=[container("clone", "exit 3")],
            failure_graces={"crash": 0},
        ),
        "when": state("failed"),
    },
    "stopping": {
        # long enough to be met
        "override": server("stubborn", delete_grace_period=3),
        "when": state("stopping"),
    },
}


def block(_: Any) -> None:
    """A preparation that knows nothing of being cancelled."""
    time.sleep(10)


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the phases as KubeSpawner's `profile_list`."""
    blocking = server("ok", preparations=[{"name": "Block", "run": block}])
    found: list[dict[str, Any]] = [
        {"slug": "blocking", "display_name": "blocking", "kubespawner_override": blocking}
    ]
    for slug, phase in PHASES.items():
        override = dict(phase["override"])
        if "namespace" in override:
            override["namespace"] = override["namespace"].format(namespace=namespace)
        name = f"cancel-{slug}"
        found.append({"slug": name, "display_name": name, "kubespawner_override": override})
    return found


async def pre_spawn_hook(spawner: Any) -> None:
    """Hold the starts whose profile asks for it."""
    if spawner.user_options.get("profile") == "cancel-pre-spawn-hook":
        spawner.report("Looking for a licence")
        await asyncio.sleep(LONG)


def slow_down() -> None:
    """Have the calls to the API that a phase is about take long, in this process."""

    def slowed(name: str, wanted: Any, before: float, after: float) -> None:
        call = getattr(CoreV1Api, name)
        listed: list[Any] = []

        @functools.wraps(call)
        async def slow(self: Any, *args: Any, **kwargs: Any) -> Any:
            held = wanted(args, kwargs)
            if name.startswith("list"):
                # only the first list of a namespace is what a start waits for
                held = held and not listed
                listed.extend([1] * held)
            if held:
                await asyncio.sleep(before)
            answer = await call(self, *args, **kwargs)
            if held:
                await asyncio.sleep(after)
            return answer

        setattr(CoreV1Api, name, slow)

    def named(_: Any, kwargs: Any) -> bool:
        return str(kwargs.get("namespace")).endswith("-list")

    def named_object(args: Any, kwargs: Any) -> Any:
        return kwargs["body"] if "body" in kwargs else args[1]

    def claimed(args: Any, kwargs: Any) -> bool:
        return "cancel-claim" in str(named_object(args, kwargs).metadata.name)

    def created(args: Any, kwargs: Any) -> bool:
        return "cancel-create-call" in str(named_object(args, kwargs).metadata.name)

    slowed("list_namespaced_pod", named, LISTED, 0)
    slowed("create_namespaced_persistent_volume_claim", claimed, 1, 1)
    # on its way when it is cancelled, and answered afterwards
    slowed("create_namespaced_pod", created, 1, 1)
