"""Every failure is told in one exact sentence, in time, and counted only where it should be."""

from __future__ import annotations

import contextlib
import json
import os
import re
import string
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from detailedspawner.cli import main
from detailedspawner.record import read_line

from .cluster import Kubernetes
from .failure_cases import BESIDE, FAILURES, Failing, profile
from .hub import Hub, eventually, running_hub
from .recorder import Recorder

# most of them only wait
AT_ONCE = 12


def marked(cases: dict[str, Failing]) -> list[Any]:
    """Return the cases as parameters; some need a real cluster."""
    return [
        pytest.param(slug, marks=[pytest.mark.cluster] if case.real else [])
        for slug, case in cases.items()
    ]


EVERY = marked(FAILURES)


@dataclass
class Seen:
    """What was seen of one start."""

    events: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0
    snapshot: dict[str, Any] = field(default_factory=dict)

    @property
    def last(self) -> dict[str, Any]:
        """The event that ended the stream."""
        return self.events[-1]


class Failures:
    """All cases, started side by side the first time that one is asked for."""

    def __init__(self, hub: Hub, kubernetes: Kubernetes, recorder: Recorder) -> None:
        self.hub, self.kubernetes, self.recorder = hub, kubernetes, recorder
        chosen = {s: c for s, c in FAILURES.items() if real() or not c.real}
        self._everywhere: list[str] = []
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._seen: dict[str, Future[Seen]] = {
            slug: self._pool.submit(self._run, slug, case) for slug, case in chosen.items()
        }

    def __getitem__(self, slug: str) -> Seen:
        return self._seen[slug].result(600)

    def all(self) -> dict[str, Seen]:
        """Wait for all of them."""
        return {slug: self[slug] for slug in self._seen}

    def _run(self, slug: str, case: Failing) -> Seen:
        seen, user, done = Seen(), f"fail-{slug}", False
        for kind, body in case.objects:
            self._create(kind, body, case.beside)
        if case.before:
            case.before(self.kubernetes)
        began = time.monotonic()
        self.hub.start(user, slug)
        for event in self.hub.stream(user):
            seen.events.append(event)
            if case.when and not done and case.when(event.get("status") or {}):
                done = True
                assert case.meanwhile is not None
                case.meanwhile(self.kubernetes, user)
        seen.seconds = time.monotonic() - began
        seen.snapshot = self.hub.snapshot(user)
        return seen

    def _create(self, kind: str, body: dict[str, Any], beside: str) -> None:
        """Create an object that a case needs, in its namespace or for the whole cluster."""
        kubernetes, named = self.kubernetes, json.dumps(body)
        body = json.loads(string.Template(named).safe_substitute(NAMESPACE=kubernetes.namespace))
        if kind == "persistentvolumes":
            self._everywhere.append(f"/api/v1/{kind}/{body['metadata']['name']}")
            kubernetes.client.post(f"/api/v1/{kind}", json=body).raise_for_status()
        else:
            kubernetes.create(kind, body, beside)

    def close(self) -> None:
        """Wait for those still going."""
        self._pool.shutdown(cancel_futures=True)
        for path in self._everywhere:
            self.kubernetes.client.delete(path)


def real() -> bool:
    """Whether the cluster is a real one."""
    return bool(os.environ.get("KUBECONFIG"))


@pytest.fixture(scope="module")
def failures(
    kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Failures]:
    """What was seen of each case, on one Hub."""
    folder = tmp_path_factory.mktemp("failures")
    config = Path(__file__).with_name("failure_hub.py")
    with contextlib.ExitStack() as stack:
        for suffix, labels in BESIDE.items():
            stack.enter_context(kubernetes.namespace_beside(suffix, labels))
        recorder = stack.enter_context(contextlib.closing(Recorder(kubernetes)))
        hub = stack.enter_context(running_hub(kubernetes, config, folder))
        failures = Failures(hub, kubernetes, recorder)
        stack.callback(failures.close)
        yield failures


def expected(case: Failing, failures: Failures, slug: str) -> re.Pattern[str]:
    """Return what the message must be."""
    if isinstance(case.message, re.Pattern):
        return case.message
    names = {"NAMESPACE": failures.kubernetes.namespace, "USER": f"fail-{slug}"}
    return re.compile(re.escape(string.Template(case.message).substitute(names)))


@pytest.mark.parametrize("slug", EVERY)
def test_it_ends_in_time_with_its_exact_message(failures: Failures, slug: str) -> None:
    case, seen = FAILURES[slug], failures[slug]
    assert seen.last.get("failed") is True
    message = seen.snapshot["message"]
    assert expected(case, failures, slug).fullmatch(message), message
    hint = f" {case.hint}" if case.hint else ""
    start_id = seen.snapshot["start_id"]
    assert seen.last["message"] == f"Spawn failed: {message}{hint} (start {start_id})"
    assert seen.seconds < case.within, seen.seconds


@pytest.mark.parametrize("slug", EVERY)
def test_its_state_is_failed_only_at_the_end(failures: Failures, slug: str) -> None:
    seen = failures[slug]
    states = [event["status"]["state"] for event in seen.events if "status" in event]
    assert set(states[:-1]) <= {"starting", "failed"}
    assert states == sorted(states, key=["starting", "failed"].index)
    assert seen.snapshot["state"] == "failed"


TAILS = [slug for slug, case in FAILURES.items() if case.log_tail]


@pytest.mark.parametrize("slug", TAILS)
def test_the_end_of_its_log_is_shown(failures: Failures, slug: str) -> None:
    tails = [container["log_tail"] for container in failures[slug].snapshot["containers"]]
    assert FAILURES[slug].log_tail in tails


@pytest.mark.parametrize("slug", EVERY)
def test_its_record_says_whose_fault_it_is(failures: Failures, slug: str) -> None:
    seen = failures[slug]
    records = map(read_line, failures.hub.log.read_text().splitlines())
    own = [r for r in records if r and r["start_id"] == seen.snapshot["start_id"]]
    assert [record["message"] for record in own] == [seen.snapshot["message"]]
    assert own[0]["users_fault"] is FAILURES[slug].users


EXPLAINED = marked({slug: case for slug, case in FAILURES.items() if case.explained})


@pytest.mark.parametrize("slug", EXPLAINED)
def test_the_stored_pod_is_explained_in_the_same_words(
    failures: Failures,
    slug: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, seen = FAILURES[slug], failures[slug]
    # by then waiting for a machine is worth a warning
    later = time.time() + 60
    monkeypatch.setattr(time, "time", lambda: later)
    graces = profile(case, "")["failure_graces"]
    stored, config = tmp_path / "pod.json", tmp_path / "jupyterhub_config.py"
    stored.write_text(json.dumps(failures.recorder.document(f"jupyter-fail-{slug}")))
    config.write_text(f"c.DetailedKubeSpawner.failure_graces = {graces!r}\n")
    assert main(["explain", "--config", str(config), str(stored)]) == 0
    text = capsys.readouterr().out
    message = seen.snapshot["message"]
    if "did not finish" in message:
        # that the time was over is nothing that the pod can tell
        assert f"{seen.snapshot['start_id']}): starting\n" in text
        assert message.partition(" seconds. ")[2] in text
        return
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0].endswith(f"(start {seen.snapshot['start_id']}): failed")
    assert lines[1] == message
    assert lines[2] == case.hint
    assert all(line in lines for line in (case.log_tail or "").splitlines())


def test_only_those_count_that_no_user_can_bring_about(failures: Failures) -> None:
    ended = failures.all()
    answer = failures.hub.client.get("/suite/failures").raise_for_status()
    assert answer.json() == sum(FAILURES[slug].counts for slug in ended)


def test_no_pod_is_left(failures: Failures) -> None:
    failures.all()

    def gone() -> bool:
        names = [pod["metadata"]["name"] for pod in failures.kubernetes.list("pods")]
        return not any(name.startswith("jupyter-fail-") for name in names)

    eventually(gone, "the pods are gone")
