"""The command line: what it says of a pod, and of an installation."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from detailedspawner import checking, pages
from detailedspawner.cli import main
from detailedspawner.models import ServerState

from .failureexamples import EXAMPLES
from .podmaker import IMAGE, ON_MACHINE, READY, Raw, container, event, make_pod, running, waiting
from .recordedstarts import STARTS

GOOD = make_pod(running("notebook"), conditions=READY, phase="Running")


NESTED: list[Any] = []
for _ in range(500):
    NESTED = [NESTED]


class Terminal(io.TextIOWrapper):
    """Standard input or output that says whether it is a terminal."""

    def __init__(self, raw: bytes = b"", tty: bool = False) -> None:
        super().__init__(io.BytesIO(raw), encoding="utf-8")
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put something into standard input."""

    def give(value: object, tty: bool = False) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value).encode()
        monkeypatch.setattr(sys, "stdin", Terminal(raw, tty))

    return give


Say = Callable[..., str]


@pytest.fixture
def say(given: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> Say:
    """Explain something and return what is printed."""

    def run(value: object, *options: str) -> str:
        given(value)
        assert main(["explain", *options]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return run


def listed(pod: Raw, *events: Raw) -> Raw:
    return {"kind": "List", "items": [pod, *({**item, "kind": "Event"} for item in events)]}


# --- explain

POD_EXAMPLES = {
    key: example
    for key, example in EXAMPLES.items()
    if example.error is None and not example.gone and key != "machine.waiting"
}


@pytest.mark.parametrize("key", POD_EXAMPLES)
def test_it_says_what_the_page_says(key: str, say: Say) -> None:
    example = POD_EXAMPLES[key]
    # as the page says it once every grace is over
    end = example.look()
    while end.next_check is not None:
        end = example.look_at(end.next_check, end.seen)
    text = say({"kind": "List", "items": [
        example.pod,
        *({**item, "kind": "Event"} for item in example.events),
        *example.claims,
    ]})  # fmt: skip
    words = " ".join(text.split())
    problem = end.problem
    assert problem is not None
    if end.verdict.value == "failed":
        assert f"hub/jupyter-ada: failed {end.message}" in words
        assert (problem.hint or "") in words
    else:
        # a warning stands at its step, and nothing is alarming
        assert ": failed" not in words
        if problem.step and problem.severity.value == "warning":
            assert problem.message in words


@pytest.mark.parametrize("name", STARTS)
def test_a_recorded_start_is_explained_like_it_ended(name: str, say: Say) -> None:
    recorded = STARTS[name]
    text = say(listed(recorded.pods[-1][1], *recorded.events))
    state = "running" if recorded.verdict == "running" else "failed"
    assert text.startswith(f"hub/jupyter-ada: {state}\n")
    assert state == "running" or recorded.says in text


def test_all_of_it() -> None:
    from detailedspawner.explaining import as_text, explain, read_documents
    from detailedspawner.pods import PodSettings

    from .podmaker import BEGIN

    pod = STARTS["a repository that cannot be cloned"].pods[-1][1]
    pod = {
        **pod,
        "metadata": {**pod["metadata"], "annotations": {"detailedspawner/start-id": "7f"}},
    }
    settings = PodSettings(step_names={"clone": "Cloning"})
    documents = read_documents(json.dumps(pod).encode())
    (explained,) = explain(documents, BEGIN + 4000, settings)
    assert as_text(explained) == [
        "hub/jupyter-ada (start 7f): failed",
        '  The container "clone" stopped 4 times, last with exit code 3.',
        "  Its log says why. If that does not help, tell the administrator.",
        "  0 of 3 containers ready",
        "",
        "  ready      Finding a machine  (3 s)",
        "  waiting    Downloading image",
        "  FAILED     Cloning  (5 s)",
        "  waiting    Proxy",
        "  waiting    Starting session",
        "",
        "  End of the log of clone:",
        "    no such repository",
    ]


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (GOOD, 1),
        ({key: value for key, value in GOOD.items() if key != "kind"}, 1),
        ({"kind": "PodList", "items": [{k: v for k, v in GOOD.items() if k != "kind"}] * 2}, 2),
        ({"kind": "List", "items": [GOOD, {"kind": "Secret"}, None, 3]}, 1),
        ("﻿".encode() + json.dumps(GOOD).encode(), 1),
        # as a shell on Windows writes it
        (json.dumps(GOOD).encode("utf-16"), 1),
        # how deep an annotation is does not matter
        (json.dumps({**GOOD, "x": NESTED}).encode(), 1),
    ],
)
def test_each_form_in_which_a_pod_comes(document: object, count: int, say: Say) -> None:
    assert say(document).count("hub/jupyter-ada: running") == count


def test_events_of_the_newer_api_are_understood(say: Say) -> None:
    old = event("FailedMount", 'MountVolume.SetUp failed for volume "x" : secret "y" not found')
    new = {
        "kind": "Event", "type": "Warning", "reason": "FailedMount", "note": old["message"],
        "regarding": old["involvedObject"], "deprecatedLastTimestamp": old["lastTimestamp"],
    }  # fmt: skip
    pod = make_pod(conditions=[ON_MACHINE[0]])
    assert 'secret "y" not found' in say({"kind": "List", "items": [pod, new]})


def test_one_of_several_pods_can_be_picked(
    say: Say, given: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**GOOD, "metadata": {"name": "other"}}
    several = {"kind": "List", "items": [GOOD, other]}
    assert say(several, "--pod", "other").startswith("other: running\n")
    given(several)
    assert main(["explain", "--pod", "third"]) == 2
    assert capsys.readouterr().err == "error: there is no pod third in it\n"


def test_a_repeated_warning_is_said_once(say: Say) -> None:
    mount = event("FailedMount", 'MountVolume failed for volume "x" : secret "y" not found')
    text = say(listed(make_pod(conditions=[ON_MACHINE[0]]), {**mount, "count": 8}))
    assert text.count('secret "y" not found') == 1


def test_json_is_the_status(say: Say) -> None:
    status = json.loads(say(GOOD, "--json"))
    assert (status["state"], status["ready_containers"], status["progress"]) == ("running", 1, 100)
    assert [step["status"] for step in status["details"]] == ["ready"] * 3
    many = json.loads(say({"kind": "PodList", "items": [GOOD, GOOD]}, "--json"))
    assert [item["state"] for item in many] == ["running", "running"]


def test_what_an_admin_set_counts(say: Say, tmp_path: Path) -> None:
    config = tmp_path / "jupyterhub_config.py"
    config.write_text(
        "import detailedspawner\ndetailedspawner.configure(c)\n"
        "c.DetailedKubeSpawner.step_names = {'step:session': 'Opening the lab'}\n"
        "c.KubeSpawner.failure_graces = {'crash': None}\n"
    )
    pod = STARTS["a repository that cannot be cloned"].pods[-1][1]
    text = say(pod, "--config", str(config))
    assert "Opening the lab" in text
    assert ": starting" in text


def test_a_young_pod_is_given_its_grace(say: Say) -> None:
    pod = make_pod(waiting("notebook", "ErrImagePull", f'"{IMAGE}": not found'))
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    pod["metadata"]["creationTimestamp"] = now
    text = say(pod)
    assert ": starting" in text
    assert f"There is no image {IMAGE}" in text


def test_secrets_and_escapes_do_not_reach_the_terminal(say: Say) -> None:
    pod = make_pod(
        waiting("notebook", "CreateContainerError", "\x1b[31mno s3cr3t-t0ken\x07 here"),
        containers=[container("notebook", env=[{"name": "TOKEN", "value": "s3cr3t-t0ken"}])],
    )
    pod["metadata"]["name"] = "jup\x1b]0;x\x07yter"
    text = say(pod)
    assert "s3cr3t" not in text
    assert "no (hidden) here" in text
    assert "\x1b" not in text
    assert text.startswith("hub/jupyter: ")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"", "nothing to read"),
        (b" \n", "nothing to read"),
        (b"kind: Pod", "no JSON"),
        (b"\xff\xfe{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        ({"kind": "ConfigMap"}, "no pod but: ConfigMap"),
        ({"kind": "List", "items": [{"kind": "Event"}]}, "no pod but: Event"),
        ({"kind": "List", "items": []}, "this is JSON, but no pod is in it"),
        ({"kind": "List", "items": "x"}, "no pod but: List"),
        ({"kind": "Deployment", "spec": {"template": {"spec": GOOD["spec"]}}}, "but: Deployment"),
        ({"kind": "DeploymentList", "items": [{"spec": {}}]}, "no pod but: Deployment"),
        ({"kind": "ReplicaSet", "spec": {"containers": [{}]}}, "no pod but: ReplicaSet"),
        ({"kind": "Pod", "spec": {"containers": []}}, "no pod but: Pod without spec.containers"),
        ({"kind": "Pod", "spec": {"containers": [1, None]}}, "but: Pod without spec.containers"),
        ({"kind": "Pod", "spec": 5, "status": []}, "no pod but: Pod without spec.containers"),
        ({"kind": 5}, "this is JSON, but no pod is in it"),
        ({"kind": "\ud800"}, "no pod but: "),
        ({"kind": "x" * 1_000_000}, "no pod but: xxx"),
        ({"kind": "ConfigMap", "data": {"x": "a" * 5_000_000}}, "no pod but: ConfigMap"),
        (b"[" + b"1," * 500_000 + b"1]", "this is JSON, but no pod is in it"),
        (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "no JSON"),
        (b'{"kind": ' + b"9" * 5_000 + b"}", "no JSON"),
        (b"\0" * 1_000, "no JSON"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "no JSON"),
        (b"\x1f\x8b\x08\x00", "no JSON"),
        (b"NAME  READY  STATUS\nx  1/1  Running\n", "no JSON"),
        (json.dumps(GOOD).encode() * 2, "no JSON"),
        (b"NaN", "this is JSON, but no pod is in it"),
        ({"kind": "Pod"}, "no pod but: Pod without spec.containers"),
        ({"kind": "Status", "message": "not found"}, "no pod but: Status"),
        ([GOOD], "this is JSON, but no pod is in it"),
        (3, "this is JSON, but no pod is in it"),
        (None, "this is JSON, but no pod is in it"),
        ({"kind": "\x1b[31m\n"}, "no pod is in it"),
    ],
)
def test_what_is_no_pod_is_refused_in_one_line(
    value: object, says: str, given: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    given(value)
    assert main(["explain"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert len(captured.err.splitlines()) == 1
    assert "\x1b" not in captured.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["/nowhere/pod.json"], "No such file"), ([], "give a file, or pipe"), (["/"], "directory")],
)
def test_a_file_that_cannot_be_read(
    arguments: list[str],
    says: str,
    given: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    given(b"", tty=True)
    assert main(["explain", *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("tty", "no_color"), [(True, ""), (True, "1"), (False, "")])
def test_colors_are_for_terminals(
    tty: bool, no_color: str, given: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(GOOD)
    output = Terminal(tty=tty)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert main(["explain"]) == 0
    output.flush()
    raw = output.buffer.getvalue()  # type: ignore[attr-defined]
    assert (b"\x1b[" in raw) is (tty and not no_color)


def test_it_is_run_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "detailedspawner", "explain"],
        input=json.dumps(GOOD), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hub/jupyter-ada: running\n")
    assert ServerState.RUNNING.value in done.stdout


# --- check

CONFIGURE = "import detailedspawner\ndetailedspawner.configure(c)\n"


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("config", "status", "lines"),
    [
        (CONFIGURE, 0, ["ok       configure(c): in effect", "ok       settings: "]),
        ("from traitlets.config import get_config\nc = get_config()\n" + CONFIGURE, 0,
         ["ok       configure(c): in effect"]),
        ("c = get_config()\n" + CONFIGURE, 0, ["ok       configure(c): in effect"]),
        ("c.JupyterHub.port = 1\n", 1, ["not in effect: JupyterHub.spawner_class, JupyterHub"]),
        (CONFIGURE + "c.JupyterHub.template_paths = ['/x']\n", 1,
         ["not in effect: JupyterHub.template_paths;"]),
        (CONFIGURE + "c.DetailedKubeSpawner.step_namez = {}\n", 1, ["did you mean step_names?"]),
        (CONFIGURE + "c.DetailedKubeSpawner.failure_graces = {'pulling': 3}\n", 1,
         ["the kinds are spec, gone"]),
        (CONFIGURE + "c.JupyterHub.spawner_class = 'no.such'\n", 1, ["own settings fail"]),
        ("c.x.y = \n", 1, ["it fails with SyntaxError"]),
        ("1 / 0\n", 1, ["it fails with ZeroDivisionError"]),
        ("raise SystemExit('no password')\n", 1, ["it ends the program with: no password"]),
    ],
)  # fmt: skip
def test_the_configuration(
    config: str, status: int, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jupyterhub_config.py"
    file.write_text(config)
    assert main(["check", "--config", str(file)]) == status
    text = capsys.readouterr().out
    for line in lines:
        assert line in text
    assert "note     cluster: no cluster to ask" in text
    assert "\x1b" not in text
    assert text.count("wrong ") == (1 if status else 0)


def test_without_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 0
    text = capsys.readouterr().out
    assert "note     configuration: not given" in text
    assert "ok       templates: " in text
    assert main(["check", "--config", "/nowhere.py"]) == 1
    assert "there is no file /nowhere.py" in capsys.readouterr().out


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checking, "static_path", lambda: str(tmp_path))
    (tmp_path / "detailedspawner.css").touch()
    _, found = checking.files()
    missing = [name for name in checking.STATIC_FILES if name != "detailedspawner.css"]
    assert not found.ok
    assert f"{', '.join(missing)} missing" in found.message
    # none that a page loads is forgotten
    assert {file.name for file in Path(pages.static_path()).iterdir()} == set(checking.STATIC_FILES)


@pytest.mark.parametrize(("found", "ok"), [("4.1.6", False), ("5.5.0", True), ("7.0", False)])
def test_a_hub_of_another_version(found: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "version", lambda name: found if name == "jupyterhub" else "7.1")
    assert [finding.ok for finding in checking.versions()] == [ok, True]


class FakeCluster:
    """An API server that lets the Hub do some things, behind a kubeconfig."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str]] = set()
        self.asked: list[dict[str, Any]] = []
        self.status = 200

    async def handle(self, request: web.Request) -> web.Response:
        if self.status != 200:
            return web.json_response({"message": "scripted"}, status=self.status)
        if request.path == "/version/":
            keys = ("major", "minor", "gitCommit", "gitTreeState", "buildDate", "goVersion")
            more = dict.fromkeys((*keys, "compiler", "platform"), "x")
            return web.json_response({"gitVersion": "v1.36.3", **more})
        asked = (await request.json())["spec"]["resourceAttributes"]
        self.asked.append(asked)
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        allowed = (resource, asked["verb"]) not in self.denied
        return web.json_response({"spec": {}, "status": {"allowed": allowed}}, status=201)


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[FakeCluster]:
    fake = FakeCluster()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake.handle)
    async with TestServer(app) as server:
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": str(server.make_url("/"))}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x",
                                                   "namespace": "lab"}}],
            "users": [{"name": "x", "user": {"token": "t"}}],
        }))  # fmt: skip
        monkeypatch.setenv("KUBECONFIG", str(file))
        yield fake


async def test_all_rights(cluster: FakeCluster) -> None:
    findings = await checking.cluster(checking.Config(), None)
    assert [finding for finding in findings if not finding.ok] == []
    assert findings[0].message == "Kubernetes v1.36.3"
    assert {(item["namespace"], item["resource"]) for item in cluster.asked} == {
        ("lab", "pods"), ("lab", "events"), ("lab", "persistentvolumeclaims"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("denied", "config", "about", "ok", "says"),
    [
        (("pods", "delete"), {}, "right on pods", False, "may not delete in namespace lab"),
        (("events", "watch"), {}, "right on events", None, "needed to say why a start hangs"),
        (("events", "watch"), {"events_enabled": False}, "right on pods", True, "create, delete"),
        (("persistentvolumeclaims", "create"), {"storage_pvc_ensure": True},
         "right on persistentvolumeclaims", False, "add it to the Hub's Role"),
        (("services", "create"), {"services_enabled": True}, "right on services", False, "address"),
        (("namespaces", "create"), {"enable_user_namespaces": True}, "right on namespaces", False,
         "ClusterRole"),
        (("pods/log", "get"), {"show_logs": True}, "right on pods/log", False,
         "may not get in namespace lab, needed to show logs"),
        (("pods/log", "get"), {"show_logs": True}, "right on pods", True, "create, delete"),
        (("pods", "list"), {"namespace": "servers"}, "right on pods", False, "namespace servers"),
        (("pods", "list"), {"namespace": "{username}"}, "right on pods", False, "namespace lab"),
    ],
)  # fmt: skip
async def test_a_missing_right_is_named(
    denied: tuple[str, str],
    config: dict[str, Any],
    about: str,
    ok: bool | None,
    says: str,
    cluster: FakeCluster,
) -> None:
    cluster.denied.add(denied)
    findings = await checking.cluster(checking.Config(KubeSpawner=config), None)
    found = [finding for finding in findings if finding.about == about]
    assert found[0].ok is ok
    assert says in found[0].message


async def test_a_cluster_that_refuses_or_is_not_there(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster.status = 401
    (finding,) = await checking.cluster(checking.Config(), None)
    assert (finding.ok, "answered 401" in finding.message) == (False, True)
    broken = tmp_path / "broken"
    broken.write_text("{")
    monkeypatch.setenv("KUBECONFIG", str(broken))
    (finding,) = await checking.cluster(checking.Config(), None)
    assert (finding.ok, "cannot be used" in finding.message) == (False, True)


@pytest.mark.parametrize(
    ("status", "ok", "says"),
    [
        (200, True, "/hub/health answers"),
        (302, False, "plain http"),
        (503, False, "no Hub behind it"),
        (404, False, "base_url"),
        (418, False, "is this the proxy's address?"),
    ],
)
async def test_the_proxy(status: int, ok: bool, says: str) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=status if request.path == "/lab/hub/health" else 500)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    config = checking.Config(JupyterHub={"base_url": "/lab/"})
    async with TestServer(app) as server:
        url = str(server.make_url("/"))
        finding = await checking.proxy(url, config)
        assert (finding.ok, says in finding.message) == (ok, True)
    finding = await checking.proxy(url, config)
    assert (finding.ok, "does not answer" in finding.message) == (False, True)


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "ftp://x", "http://[::1"])
async def test_a_wrong_url_is_no_crash(url: str) -> None:
    assert (await checking.proxy(url, checking.Config())).ok is False
