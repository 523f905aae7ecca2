"""The stand-in's node does with a pod what a kubelet does, and says it in the same words.

The expected sequences were taken from Kubernetes 1.36 with the same pods. What differs is listed
here: a process is not PID 1, so SIGTERM ends it (143) where a container would need SIGKILL (137);
a back-off is shown as soon as it begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import pytest_asyncio

from detailedspawner.demo.cluster import Cluster, start_in_thread
from detailedspawner.demo.errors import ApiError
from detailedspawner.demo.images import Image
from detailedspawner.demo.node import Node
from detailedspawner.demo.processes import expand
from detailedspawner.demo.scheduler import Scheduler
from detailedspawner.demo.store import Store

Object = dict[str, Any]
SCALE = 0.02  # a back-off of 10 s takes 0.2 s, a probe's second 20 ms
SECONDS = 20  # until a test that waits for something gives up
CATALOGUE = {
    "large:1": Image(cmd=["/bin/sleep", "60"], pull_seconds=10),
}


def sh(script: str, name: str = "c", **more: Any) -> Object:
    return {"name": name, "image": "busybox:1", "command": ["/bin/sh", "-c", script], **more}


def pod(*containers: Object, init: list[Object] | None = None, **spec: Any) -> Object:
    given = {"terminationGracePeriodSeconds": 2, "restartPolicy": "OnFailure", **spec}
    return {"containers": list(containers), "initContainers": init or [], **given}


def brief(pod: Object) -> str:
    """One status in a line: phase, then each container's state, `*n` after n restarts."""
    status = pod["status"]
    words = [status["phase"]]
    for one in status.get("initContainerStatuses", []) + status.get("containerStatuses", []):
        ((kind, state),) = one["state"].items()
        text = state.get("reason") or ("ready" if one["ready"] else kind)
        code = state.get("exitCode")
        restarts = f"*{one['restartCount']}" if one["restartCount"] else ""
        words.append(f"{one['name']}={text}{f'({code})' if code else ''}{restarts}")
    return " ".join(words)


class Stand:
    """A store with scheduler and node, and all that has been seen of pods and events."""

    def __init__(self, directory: Path, **options: Any) -> None:
        self.store = Store()
        self.node = Node(self.store, directory, CATALOGUE, time_scale=SCALE, **options)
        self.scheduler = Scheduler(self.store)
        self.pods: dict[str, list[Object]] = {}
        self.gone: set[str] = set()
        self.events: list[Object] = []

    async def follow(self) -> None:
        async def pods() -> None:
            async for change, found in self.store.watch("pods"):
                name = found["metadata"]["name"]
                self.pods.setdefault(name, []).append(found)
                if change == "DELETED":
                    self.gone.add(name)

        async def events() -> None:
            async for _, event in self.store.watch("events"):
                self.events.append(event)

        await asyncio.gather(pods(), events())

    def create(self, spec: Object, name: str = "p", **metadata: Any) -> None:
        self.store.create("pods", "default", {"metadata": {"name": name, **metadata}, "spec": spec})

    def statuses(self, name: str = "p") -> list[str]:
        found: list[str] = []
        for line in map(brief, self.pods.get(name, [])):
            if line not in found[-1:]:
                found.append(line)
        return found

    def said(self, name: str = "p") -> list[str]:
        """Return each event once, as `reason field: message`, in the order of first appearance."""
        found: dict[str, None] = {}
        for event in self.events:
            about = event["involvedObject"]
            if about["name"] == name:
                text = f"{event['reason']} {about.get('fieldPath', '-')}: {event['message']}"
                found[text.replace(about["uid"], "UID")] = None
        return list(found)

    def reasons(self, name: str = "p") -> list[str]:
        return [text.partition(" ")[0] for text in self.said(name)]

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        for _ in range(SECONDS * 100):
            if condition():
                return
            await asyncio.sleep(0.01)
        seen = {name: self.statuses(name) for name in self.pods}
        pytest.fail(f"waited in vain {what}: {json.dumps(seen, indent=1)}\n{self.said()}")

    async def until_status(self, *wanted: str, name: str = "p") -> None:
        await self.until(lambda: set(wanted) & set(self.statuses(name)), f"for {wanted}")

    def logs(self, name: str = "p", container: str = "c", previous: bool = False) -> str:
        return self.node.logs("default", name, container, previous, None)


@pytest_asyncio.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    made = Stand(tmp_path)
    following = asyncio.create_task(made.follow())
    await made.node.start()
    await made.scheduler.start()
    yield made
    await made.scheduler.close()
    await made.node.close()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert not processes_of(tmp_path)


def processes_of(directory: Path) -> list[int]:
    """Return the processes that have the directory in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(directory).encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return [process for process in found if process != os.getpid()]


class Case(NamedTuple):
    spec: Object
    statuses: list[str]
    reasons: str  # of the events up to then, in the order of first appearance


MOUNTS = [{"name": "v", "mountPath": "/shared"}]
STARTED = "Pulled Created Started"
SIDE = {"restartPolicy": "Always"}
PROBE = {
    "exec": {"command": ["/bin/sh", "-c", "echo looking; test -e /tmp/up"]},
    "periodSeconds": 1,
}
COMES_UP = "sleep 0.2; touch /tmp/up; exec sleep 60"
CASES = {
    "runs": Case(
        pod(sh("sleep 60")),
        ["Pending", "Pending c=ContainerCreating", "Running c=ready"],
        f"Scheduled {STARTED}",
    ),
    "completes": Case(
        pod(sh("exit 0")),
        ["Pending", "Pending c=ContainerCreating", "Running c=ready", "Succeeded c=Completed"],
        f"Scheduled {STARTED}",
    ),
    "fails for good": Case(
        pod(sh("exit 3"), restartPolicy="Never"),
        ["Pending", "Pending c=ContainerCreating", "Running c=ready", "Failed c=Error(3)"],
        f"Scheduled {STARTED}",
    ),
    "the first restart is immediate, the next ones wait": Case(
        pod(sh("exit 3")),
        [
            *("Pending", "Pending c=ContainerCreating", "Running c=ready", "Running c=Error(3)"),
            *("Running c=ready*1", "Running c=Error(3)*1", "Running c=CrashLoopBackOff*1"),
            *("Running c=ready*2", "Running c=Error(3)*2", "Running c=CrashLoopBackOff*2"),
            "Running c=ready*3",
        ],
        f"Scheduled {STARTED} BackOff",
    ),
    "Always restarts also after success": Case(
        pod(sh("exit 0"), restartPolicy="Always"),
        [
            *("Pending", "Pending c=ContainerCreating", "Running c=ready", "Running c=Completed"),
            *("Running c=ready*1", "Running c=Completed*1", "Running c=CrashLoopBackOff*1"),
        ],
        f"Scheduled {STARTED} BackOff",
    ),
    "ended by a signal": Case(
        pod(sh("kill -9 $$"), restartPolicy="Never"),
        ["Pending", "Pending c=ContainerCreating", "Running c=ready", "Failed c=Error(137)"],
        f"Scheduled {STARTED}",
    ),
    "init containers one after the other": Case(
        pod(sh("sleep 60", "main"), init=[sh("exit 0", "one"), sh("exit 0", "two")]),
        [
            "Pending",
            "Pending one=PodInitializing two=PodInitializing main=PodInitializing",
            "Pending one=running two=PodInitializing main=PodInitializing",
            "Pending one=Completed two=PodInitializing main=PodInitializing",
            "Pending one=Completed two=running main=PodInitializing",
            "Pending one=Completed two=Completed main=PodInitializing",
            "Running one=Completed two=Completed main=ready",
        ],
        f"Scheduled {STARTED} {STARTED} {STARTED}",
    ),
    "an init container is retried": Case(
        pod(sh("sleep 60", "main"), init=[sh("exit 7", "one")]),
        [
            *("Pending", "Pending one=PodInitializing main=PodInitializing"),
            "Pending one=running main=PodInitializing",
            "Pending one=Error(7) main=PodInitializing",
            "Pending one=running*1 main=PodInitializing",
            "Pending one=Error(7)*1 main=PodInitializing",
            "Pending one=CrashLoopBackOff*1 main=PodInitializing",
            "Pending one=running*2 main=PodInitializing",
        ],
        f"Scheduled {STARTED} BackOff",
    ),
    "an init container that is not retried": Case(
        pod(sh("sleep 60", "main"), init=[sh("exit 7", "one")], restartPolicy="Never"),
        [
            *("Pending", "Pending one=PodInitializing main=PodInitializing"),
            "Pending one=running main=PodInitializing",
            "Failed one=Error(7) main=PodInitializing",
        ],
        f"Scheduled {STARTED}",
    ),
    "what follows a sidecar waits until it has started": Case(
        pod(
            sh("sleep 60", "main"),
            init=[
                sh(COMES_UP, "side", startupProbe={**PROBE, "failureThreshold": 99}, **SIDE),
                sh("exit 0", "last"),
            ],
        ),
        [
            *("Pending", "Pending side=PodInitializing last=PodInitializing main=PodInitializing"),
            "Pending side=running last=PodInitializing main=PodInitializing",
            "Pending side=ready last=PodInitializing main=PodInitializing",
            "Pending side=ready last=running main=PodInitializing",
            "Pending side=ready last=Completed main=PodInitializing",
            "Running side=ready last=Completed main=ready",
        ],
        f"Scheduled {STARTED} Unhealthy {STARTED} {STARTED}",
    ),
    "sidecars end after the others": Case(
        pod(
            sh("sleep 0.3", "main"),
            init=[sh("trap 'exit 0' TERM; sleep 60 & wait", "side", **SIDE)],
        ),
        [
            *("Pending", "Pending side=PodInitializing main=PodInitializing"),
            "Pending side=ready main=PodInitializing",
            "Running side=ready main=ready",
            "Running side=ready main=Completed",
            "Succeeded side=Completed main=Completed",
        ],
        f"Scheduled {STARTED} {STARTED} Killing",
    ),
    "not ready before its probe says so": Case(
        pod(sh(COMES_UP, readinessProbe=PROBE)),
        ["Pending", "Pending c=ContainerCreating", "Running c=running", "Running c=ready"],
        f"Scheduled {STARTED} Unhealthy",
    ),
    "a failed liveness probe restarts": Case(
        pod(
            sh("sleep 60", livenessProbe={"exec": {"command": ["/bin/false"]}, "periodSeconds": 1})
        ),
        [
            *("Pending", "Pending c=ContainerCreating", "Running c=ready", "Running c=Error(143)"),
            *("Running c=ready*1", "Running c=Error(143)*1", "Running c=CrashLoopBackOff*1"),
        ],
        f"Scheduled {STARTED} Unhealthy Killing BackOff",
    ),
    "a failed startup probe restarts": Case(
        pod(sh("sleep 60", startupProbe={"tcpSocket": {"port": 1}, "periodSeconds": 1})),
        [
            *("Pending", "Pending c=ContainerCreating", "Running c=running"),
            *("Running c=Error(143)", "Running c=running*1"),
        ],
        f"Scheduled {STARTED} Unhealthy Killing",
    ),
    "an image is pulled": Case(
        pod({"name": "c", "image": "registry.example.org:5000/large:1"}),
        ["Pending", "Pending c=ContainerCreating", "Running c=ready"],
        f"Scheduled Pulling {STARTED}",
    ),
    "no such image": Case(
        pod({"name": "c", "image": "nope:1"}),
        [
            *("Pending", "Pending c=ContainerCreating", "Pending c=ErrImagePull"),
            *("Pending c=ImagePullBackOff", "Pending c=ErrImagePull", "Pending c=ImagePullBackOff"),
        ],
        "Scheduled Pulling Failed Failed BackOff Failed",
    ),
    "a secret that is not there": Case(
        pod(
            sh(
                "exit",
                env=[{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
            )
        ),
        ["Pending", "Pending c=ContainerCreating", "Pending c=CreateContainerConfigError"],
        "Scheduled Pulled Failed",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_statuses_and_events_come_as_from_a_kubelet(stand: Stand, name: str) -> None:
    case = CASES[name]
    stand.create(case.spec)
    count, reasons = len(case.statuses), case.reasons.split()
    await stand.until(
        lambda: len(stand.statuses()) >= count and len(stand.reasons()) >= len(reasons)
    )
    assert stand.statuses()[:count] == case.statuses
    assert stand.reasons()[: len(reasons)] == reasons


MESSAGES = {
    "runs": [
        "Scheduled -: Successfully assigned default/p to demo-node",
        'Pulled spec.containers{c}: Container image "busybox:1" already present on machine and can '
        "be accessed by the pod",
        "Created spec.containers{c}: Container created",
        "Started spec.containers{c}: Container started",
    ],
    "an init container is retried": [
        "BackOff spec.initContainers{one}: Back-off restarting failed container one in pod "
        "p_default(UID)"
    ],
    "not ready before its probe says so": [
        "Unhealthy spec.containers{c}: Readiness probe failed: looking\n"
    ],
    "a failed liveness probe restarts": [
        "Unhealthy spec.containers{c}: Liveness probe failed: ",
        "Killing spec.containers{c}: Container c failed liveness probe, will be restarted",
    ],
    "no such image": [
        'Pulling spec.containers{c}: Pulling image "nope:1"',
        'Failed spec.containers{c}: Failed to pull image "nope:1": rpc error: code = NotFound desc '
        '= failed to pull and unpack image "docker.io/library/nope:1": failed to resolve reference '
        '"docker.io/library/nope:1": docker.io/library/nope:1: not found',
        "Failed spec.containers{c}: Error: ErrImagePull",
        'BackOff spec.containers{c}: Back-off pulling image "nope:1"',
        "Failed spec.containers{c}: Error: ImagePullBackOff",
    ],
    "a secret that is not there": ['Failed spec.containers{c}: Error: secret "s" not found'],
}


@pytest.mark.parametrize("name", MESSAGES)
async def test_events_are_worded_as_a_kubelet_does(stand: Stand, name: str) -> None:
    stand.create(CASES[name].spec)
    await stand.until(lambda: set(MESSAGES[name]) <= set(stand.said()))
    assert [text for text in stand.said() if text in MESSAGES[name]] == MESSAGES[name]


async def test_a_pull_says_how_long_it_took_and_the_next_pod_finds_the_image(stand: Stand) -> None:
    stand.create(CASES["an image is pulled"].spec)
    await stand.until_status("Running c=ready")
    stand.create(CASES["an image is pulled"].spec, "q")
    await stand.until_status("Running c=ready", name="q")
    assert stand.reasons("q") == ["Scheduled", *STARTED.split()]
    (text,) = (text for text in stand.said() if text.startswith("Pulled"))
    assert 'Successfully pulled image "registry.example.org:5000/large:1" in 0.2s (0.2s inc' in text
    assert text.endswith("including waiting). Image size: 412776401 bytes.")


async def test_a_repeated_event_is_counted(stand: Stand) -> None:
    stand.create(pod(sh("exit 1")))
    await stand.until_status("Running c=ready*3")
    found = [event for event in stand.store.list("events") if event["reason"] == "Started"]
    assert [event["count"] for event in found] == [4]


def conditions(pod: Object) -> dict[str, tuple[str, str, str]]:
    return {
        one["type"]: (one["status"], one.get("reason", ""), one.get("message", ""))
        for one in pod["status"]["conditions"]
    }


async def test_conditions_of_a_start(stand: Stand) -> None:
    stand.create(
        pod(
            *(sh(COMES_UP, "b", readinessProbe=PROBE), sh("sleep 60", "a")),
            init=[sh("exit 0", "one"), sh("sleep 60", "side", **SIDE)],
        )
    )
    ready = "Running one=Completed side=ready a=ready b=ready"
    await stand.until_status(ready)
    yes = ("True", "", "")
    seen: list[dict[str, Any]] = []
    for found in stand.pods["p"]:
        if found["status"].get("conditions") and conditions(found) not in seen:
            seen.append(conditions(found))
    assert seen[0] == {"PodScheduled": yes}
    unready = ("False", "ContainersNotReady", "containers with unready status: [side b a]")
    todo = "containers with incomplete status: [one side]"
    assert seen[1] == {
        "PodReadyToStartContainers": ("False", "", ""),
        "Initialized": ("False", "ContainersNotInitialized", todo),
        "Ready": unready,
        "ContainersReady": unready,
        "PodScheduled": yes,
    }
    assert seen[2]["PodReadyToStartContainers"] == yes
    todo = "containers with incomplete status: [side]"
    assert seen[3]["Initialized"] == ("False", "ContainersNotInitialized", todo)
    unready = ("False", "ContainersNotReady", "containers with unready status: [b]")
    assert seen[-2] == {**dict.fromkeys(seen[1], yes), "Ready": unready, "ContainersReady": unready}
    assert seen[-1] == dict.fromkeys(seen[1], yes)


async def test_conditions_of_an_end(stand: Stand) -> None:
    stand.create(pod(sh("exit 0")))
    stand.create(pod(sh("exit 1"), restartPolicy="Never"), "q")
    await stand.until_status("Succeeded c=Completed")
    await stand.until_status("Failed c=Error(1)", name="q")
    done = conditions(stand.pods["p"][-1])
    assert done["Ready"] == done["ContainersReady"] == ("False", "PodCompleted", "")
    assert done["Initialized"] == ("True", "", "")
    assert done["PodReadyToStartContainers"] == ("False", "", "")
    failed = conditions(stand.pods["q"][-1])
    assert failed["Ready"] == failed["ContainersReady"] == ("False", "PodFailed", "")
    assert failed["Initialized"] == ("True", "", "")


async def test_containers_start_one_after_the_other(stand: Stand) -> None:
    hook = {"postStart": {"exec": {"command": ["/bin/sh", "-c", "sleep 0.3"]}}}
    stand.create(pod(sh("sleep 60", "slow", lifecycle=hook), sh("sleep 60", "next")))
    await stand.until_status("Running next=ready slow=ready")
    assert stand.statuses()[1:] == [
        "Pending next=ContainerCreating slow=ContainerCreating",
        "Pending next=ContainerCreating slow=ready",
        "Running next=ready slow=ready",
    ]


async def test_a_back_off_doubles_up_to_five_minutes(stand: Stand) -> None:
    stand.node.time_scale = 0.0001
    stand.create(pod(sh("exit 1")))
    await stand.until_status("Running c=CrashLoopBackOff*8")
    texts: dict[str, None] = {}
    for found in stand.pods["p"]:
        for status in found["status"].get("containerStatuses", []):
            if status["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                texts[status["state"]["waiting"]["message"].split()[1]] = None
    assert list(texts) == ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s"]


async def test_a_container_status_tells_all_of_a_restart(stand: Stand) -> None:
    stand.create(pod(sh("echo oh; exit 3", terminationMessagePolicy="FallbackToLogsOnError")))
    await stand.until_status("Running c=CrashLoopBackOff*1")
    (status,) = stand.pods["p"][-1]["status"]["containerStatuses"]
    uid = stand.pods["p"][-1]["metadata"]["uid"]
    text = f"back-off 10s restarting failed container=c pod=p_default({uid})"
    assert status["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    last = status["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"], last["message"]) == (3, "Error", "oh\n")
    assert last["containerID"] == status["containerID"]
    assert last["startedAt"] <= last["finishedAt"]
    assert status["imageID"].startswith("busybox:1@sha256:")
    assert (status["ready"], status["started"], status["restartCount"]) == (False, False, 1)


@pytest.mark.parametrize(
    ("script", "policy", "message"),
    [
        ("printf said > /dev/termination-log; exit 1", "File", "said"),
        ("printf said > /dev/termination-log", "File", "said"),
        ("echo log; exit 1", "File", None),
        ("echo log; exit 0", "FallbackToLogsOnError", None),
        ("seq 1000; exit 1", "FallbackToLogsOnError", "".join(f"{n}\n" for n in range(921, 1001))),
    ],
)
async def test_termination_message(
    stand: Stand, script: str, policy: str, message: str | None
) -> None:
    stand.create(pod(sh(script, terminationMessagePolicy=policy), restartPolicy="Never"))
    await stand.until_status("Failed c=Error(1)", "Succeeded c=Completed")
    (status,) = stand.pods["p"][-1]["status"]["containerStatuses"]
    assert status["state"]["terminated"].get("message") == message


async def test_more_memory_than_its_limit_ends_a_container(stand: Stand) -> None:
    script = "exec python -c 'import time; x = bytearray(200 << 20); time.sleep(60)'"
    stand.create(pod(sh(script, resources={"limits": {"memory": "100Mi"}}), restartPolicy="Never"))
    await stand.until_status("Failed c=OOMKilled(137)")


async def test_logs_are_kept_per_container_and_run(stand: Stand) -> None:
    script = "test -e /shared/again && { echo new; exec sleep 60; }; "
    script += "touch /shared/again; echo old; echo err >&2; exit 1"
    other = sh("echo other; sleep 60", "d")
    stand.create(pod(sh(script, volumeMounts=MOUNTS), other, volumes=[{"name": "v"}]))
    await stand.until_status("Running c=ready*1 d=ready")
    await stand.until(lambda: stand.logs() == "new\n")
    assert stand.logs(previous=True) == "old\nerr\n"
    assert stand.node.logs("default", "p", "c", True, 1) == "err\n"
    await stand.until(lambda: stand.logs(container="d") == "other\n")
    with pytest.raises(ApiError, match='previous terminated container "d" in pod "p" not found'):
        stand.logs(container="d", previous=True)


async def test_logs_of_a_container_that_waits(stand: Stand) -> None:
    stand.create(pod({"name": "c", "image": "nope:1"}))
    await stand.until_status("Pending c=ImagePullBackOff")
    text = 'container "c" in pod "p" is waiting to start'
    with pytest.raises(ApiError, match=text):
        stand.logs()


async def test_variables_come_from_everywhere(stand: Stand) -> None:
    for kind, name in (("secrets", "s"), ("configmaps", "m")):
        data = {"key": "dmFsdWU=" if kind == "secrets" else "text"}
        stand.store.create(kind, "default", {"metadata": {"name": name}, "data": data})
    env: list[Object] = [
        {"name": "PLAIN", "value": "1"},
        {"name": "TWICE", "value": "$(PLAIN)$(PLAIN) $(NONE)"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "key"}}},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "JUPYTERHUB_SERVICE_URL", "value": "http://0.0.0.0:8888/user/0.0.0.0/"},
    ]
    script = "env; echo $(SECRET)"
    stand.create(pod(sh(script, env=env)))
    await stand.until_status("Succeeded c=Completed")
    ip = stand.pods["p"][-1]["status"]["podIP"]
    lines = stand.logs().splitlines()
    assert lines[-1] == "value"
    found = dict(line.split("=", 1) for line in lines[:-1])
    expected = {"PLAIN": "1", "TWICE": "11 $(NONE)", "SECRET": "value", "MAP": "text"}
    expected |= {"NAME": "p", "IP": ip}
    expected |= {"JUPYTERHUB_SERVICE_URL": f"http://{ip}:8888/user/0.0.0.0/"}
    assert found.items() >= expected.items()
    assert "PYTEST_CURRENT_TEST" not in found


async def test_a_missing_key_is_worded_as_a_kubelet_does(stand: Stand) -> None:
    stand.store.create("secrets", "default", {"metadata": {"name": "s"}, "data": {}})
    key = {"secretKeyRef": {"name": "s", "key": "k"}}
    stand.create(pod(sh("exit", env=[{"name": "X", "valueFrom": key}])))
    await stand.until_status("Pending c=CreateContainerConfigError")
    (status,) = stand.pods["p"][-1]["status"]["containerStatuses"]
    assert status["state"]["waiting"]["message"] == "couldn't find key k in Secret default/s"
    stand.store.update("secrets", "default", "s", lambda s: s.update(data={"k": "dg=="}))
    await stand.until_status("Succeeded c=Completed")


async def test_containers_share_volumes_and_nothing_else(stand: Stand) -> None:
    mounts: Object = {"volumeMounts": [{"name": "v", "mountPath": "/shared/"}]}
    stand.create(
        pod(
            sh("cat /shared/file; ls -A /tmp ~ | grep -v :; cd /shared; pwd", **mounts),
            init=[sh("echo text > /shared/file; touch /tmp/mine ~/mine", "one", **mounts)],
            volumes=[{"name": "v", "emptyDir": {}}],
        )
    )
    await stand.until_status("Succeeded one=Completed c=Completed")
    text, *others, directory = stand.logs().splitlines()
    assert text == "text"
    assert not any(others)
    assert directory.endswith("/volumes/v")


async def test_a_restarted_container_finds_nothing_of_its_last_run(stand: Stand) -> None:
    stand.create(pod(sh("ls -A /tmp ~ | grep seen && exit 9; touch /tmp/seen ~/seen; exit 3")))
    await stand.until_status("Running c=Error(3)*1", "Running c=Error(9)*1")
    assert "Running c=Error(3)*1" in stand.statuses()


async def test_a_claim_outlives_its_pod(stand: Stand) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"metadata": {"name": "home"}, "spec": claim}
    stand.store.create("persistentvolumeclaims", "default", body)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "home"}}]
    mounts: Object = {"volumeMounts": [{"name": "v", "mountPath": "/home/jovyan"}]}
    stand.create(pod(sh('echo "$HOME"; echo kept > /home/jovyan/file', **mounts), volumes=volumes))
    await stand.until_status("Succeeded c=Completed")
    assert stand.logs().endswith("/claims/default/home\n")
    stand.create(pod(sh("cat ~/file", **mounts), volumes=volumes), "q")
    await stand.until_status("Succeeded c=Completed", name="q")
    assert stand.logs("q") == "kept\n"


async def test_pods_listen_on_the_same_port_at_addresses_of_their_own(stand: Stand) -> None:
    serve = "exec python -m http.server --bind $(POD_IP) 8888"
    probe = {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 1, "timeoutSeconds": 5}
    missing = {"httpGet": {"port": 8888, "path": "/none"}, "periodSeconds": 1, "timeoutSeconds": 5}
    ports: Object = {"ports": [{"name": "web", "containerPort": 8888}]}
    env = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    for name in ("p", "q"):
        stand.create(pod(sh(serve, env=env, readinessProbe=probe, **ports)), name)
    stand.create(pod(sh(serve, env=env, readinessProbe=missing)), "r")
    await stand.until_status("Running c=ready")
    await stand.until_status("Running c=ready", name="q")
    addresses = [stand.pods[name][-1]["status"]["podIP"] for name in ("p", "q")]
    assert len({*addresses, "127.0.0.1"}) == 3
    await stand.until(lambda: len([text for text in stand.said("r") if "Unhealthy" in text]) > 1)
    ip = stand.pods["r"][-1]["status"]["podIP"]
    unhealthy = "Unhealthy spec.containers{c}: Readiness probe failed: "
    refused = f"dial tcp {ip}: connect: connection refused"
    assert f"{unhealthy}{refused}" in stand.said("r")
    assert f"{unhealthy}HTTP probe failed with statuscode: 404" in stand.said("r")


async def test_a_deleted_pod_ends_and_goes(stand: Stand, tmp_path: Path) -> None:
    stubborn = sh("trap '' TERM; while :; do sleep 0.1; done", "stubborn")
    side = sh("trap 'exit 0' TERM; sleep 60 & wait", "side", **SIDE)
    stand.create(pod(sh("sleep 60"), stubborn, init=[side]))
    await stand.until_status("Running side=ready c=ready stubborn=ready")
    assert processes_of(tmp_path / "pods")
    stand.store.delete("pods", "default", "p", 1)
    await stand.until(lambda: "p" in stand.gone)
    assert stand.statuses()[-1] == "Failed side=Completed c=Error(143) stubborn=Error(137)"
    killed = [text for text in stand.said() if text.startswith("Killing")]
    assert killed == [
        "Killing spec.initContainers{side}: Stopping container side",
        "Killing spec.containers{c}: Stopping container c",
        "Killing spec.containers{stubborn}: Stopping container stubborn",
    ]
    assert not processes_of(tmp_path / "pods")


async def test_a_pod_is_deleted_before_it_has_started(stand: Stand) -> None:
    stand.create(CASES["no such image"].spec)
    await stand.until_status("Pending c=ImagePullBackOff")
    stand.store.delete("pods", "default", "p")
    await stand.until(lambda: "p" in stand.gone)
    assert stand.statuses()[-1] == "Failed c=ImagePullBackOff"


async def test_a_pod_is_removed_by_force(stand: Stand, tmp_path: Path) -> None:
    stand.create(pod(sh("trap '' TERM; while :; do sleep 0.1; done")))
    await stand.until_status("Running c=ready")
    stand.store.delete("pods", "default", "p", 0)
    await stand.until(lambda: "p" in stand.gone and not processes_of(tmp_path / "pods"))


async def test_what_leaves_its_session_ends_with_its_container(
    stand: Stand, tmp_path: Path
) -> None:
    stand.create(pod(sh("setsid sleep 60 & sleep 0.2")))
    await stand.until_status("Succeeded c=Completed")
    await stand.until(lambda: not processes_of(tmp_path / "pods"))


NO_PREEMPTION = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}
UNSCHEDULABLE = {
    "more than the node has": (
        {"containers": [sh("exit", resources={"requests": {"cpu": "500", "memory": "900Gi"}})]},
        "1 Insufficient cpu, 1 Insufficient memory. no new claims to deallocate, " + NO_PREEMPTION,
    ),
    "a resource that the node has not": (
        {"containers": [sh("exit", resources={"limits": {"nvidia.com/gpu": "1"}})]},
        "1 Insufficient nvidia.com/gpu. no new claims to deallocate, " + NO_PREEMPTION,
    ),
    "an init container that needs more than the others together": (
        pod(sh("exit"), init=[sh("exit", "i", resources={"requests": {"cpu": "500"}})]),
        "1 Insufficient cpu. no new claims to deallocate, " + NO_PREEMPTION,
    ),
    "a selector": (
        pod(sh("exit"), nodeSelector={"no": "such"}),
        "1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
        + NO_PREEMPTION,
    ),
    "a claim that is not there": (
        pod(sh("exit"), volumes=[CLAIM]),
        'persistentvolumeclaim "claim" not found. not found',
    ),
}


@pytest.mark.parametrize("name", UNSCHEDULABLE)
async def test_why_a_pod_is_not_scheduled(stand: Stand, name: str) -> None:
    spec, message = UNSCHEDULABLE[name]
    stand.create(spec)
    text = f"0/1 nodes are available: {message}"
    await stand.until(lambda: stand.said() == [f"FailedScheduling -: {text}"])
    await stand.until(lambda: stand.pods["p"][-1]["status"].get("conditions"))
    assert conditions(stand.pods["p"][-1]) == {"PodScheduled": ("False", "Unschedulable", text)}


async def test_a_claim_is_bound_for_the_first_pod_that_uses_it(stand: Stand) -> None:
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    stand.create(pod(sh("sleep 60"), volumes=[CLAIM], nodeSelector={"no": "such"}))
    missing = 'persistentvolumeclaim "claim" not found. not found'
    await stand.until(stand.said)
    assert stand.said() == [f"FailedScheduling -: 0/1 nodes are available: {missing}"]
    body = {"metadata": {"name": "claim"}, "spec": size}
    stand.store.create("persistentvolumeclaims", "default", body)
    waiting = "waiting for first consumer to be created before binding"
    await stand.until(lambda: len(stand.said()) > 1)
    assert stand.said("claim") == [f"WaitForFirstConsumer -: {waiting}"]
    stand.create(pod(sh("sleep 60"), volumes=[CLAIM]), "q")
    await stand.until_status("Running c=ready", name="q")
    claim = stand.store.get("persistentvolumeclaims", "default", "claim")
    assert claim["status"]["phase"] == "Bound"
    text = "Successfully provisioned volume pvc-UID using kubernetes.io/host-path"
    assert stand.said("claim")[1:] == [f"ProvisioningSucceeded -: {text}"]


async def test_a_pod_ends_quietly_with_its_namespace(stand: Stand, caplog: Any) -> None:
    stand.store.create("namespaces", None, {"metadata": {"name": "short"}})
    body = {"metadata": {"name": "p"}, "spec": pod(sh("sleep 60"))}
    stand.store.create("pods", "short", body)
    await stand.until_status("Running c=ready")
    stand.store.delete("namespaces", None, "short")  # from now on no event can be written in it
    await stand.until(lambda: "p" in stand.gone)
    assert "Killing" not in stand.reasons()
    assert caplog.records == []


async def test_scheduling_events_have_the_newer_form(stand: Stand) -> None:
    stand.create(pod(sh("exit 0")))
    await stand.until(lambda: stand.events)
    event = stand.events[0]
    assert (event["reason"], event["action"], event["source"]) == ("Scheduled", "Binding", {})
    assert event["lastTimestamp"] is event["firstTimestamp"] is None
    assert event["eventTime"]
    assert "count" not in event


def test_variables_are_expanded_as_kubernetes_does() -> None:
    assert expand("$(A) $(B) $A", {"A": "1"}) == "1 $(B) $A"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Cluster]:
    with start_in_thread(tmp_path / "state", time_scale=SCALE) as cluster:
        yield cluster


def test_a_cluster_in_a_thread_is_reached_by_its_kubeconfig(
    elsewhere: Cluster, tmp_path: Path
) -> None:
    config = json.loads(elsewhere.kubeconfig(tmp_path / "kubeconfig").read_text())
    server = config["clusters"][0]["cluster"]["server"]
    assert server == elsewhere.url
    (node,) = httpx.get(f"{server}/api/v1/nodes").json()["items"]
    assert node["metadata"]["name"] == "demo-node"
