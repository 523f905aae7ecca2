"""Every failure is told in one exact sentence, in time, and counted only where it should be."""

from __future__ import annotations

import json
import re
import string
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from detailedspawner.cli import main
from detailedspawner.ending import read_line

from .cluster import Kubernetes
from .failing import Failing
from .failure_cases import FAILURES, profile
from .hub import eventually
from .troubled import Troubled, marked, troubled

pytestmark = pytest.mark.slow

EVERY = marked(FAILURES)


@pytest.fixture(scope="module")
def failures(
    kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Troubled]:
    """What was seen of each case, on one Hub."""
    with troubled(kubernetes, tmp_path_factory.mktemp("failures"), FAILURES) as found:
        yield found


def expected(case: Failing, failures: Troubled, slug: str) -> re.Pattern[str]:
    """Return what the message must be."""
    if isinstance(case.message, re.Pattern):
        return case.message
    names = {"NAMESPACE": failures.kubernetes.namespace, "USER": f"fail-{slug}"}
    return re.compile(re.escape(string.Template(case.message).substitute(names)))


@pytest.mark.parametrize("slug", EVERY)
def test_it_ends_in_time_with_its_exact_message(failures: Troubled, slug: str) -> None:
    case, seen = FAILURES[slug], failures[slug]
    assert seen.last.get("failed") is True
    message = seen.snapshot["message"]
    assert expected(case, failures, slug).fullmatch(message), message
    hint = f" {case.hint}" if case.hint else ""
    start_id = seen.snapshot["start_id"]
    assert seen.last["message"] == f"Spawn failed: {message}{hint} (start {start_id})"
    assert seen.seconds < case.within, seen.seconds


@pytest.mark.parametrize("slug", EVERY)
def test_its_state_is_failed_only_at_the_end(failures: Troubled, slug: str) -> None:
    seen = failures[slug]
    states = [event["status"]["state"] for event in seen.events if "status" in event]
    assert set(states[:-1]) <= {"starting", "failed"}
    assert states == sorted(states, key=["starting", "failed"].index)
    assert seen.snapshot["state"] == "failed"


TAILS = [slug for slug, case in FAILURES.items() if case.log_tail]


@pytest.mark.parametrize("slug", TAILS)
def test_the_end_of_its_log_is_shown(failures: Troubled, slug: str) -> None:
    tails = [container["log_tail"] for container in failures[slug].snapshot["containers"]]
    assert FAILURES[slug].log_tail in tails


@pytest.mark.parametrize("slug", EVERY)
def test_its_record_says_whose_fault_it_is(failures: Troubled, slug: str) -> None:
    seen = failures[slug]
    records = map(read_line, failures.hub.log.read_text().splitlines())
    own = [r for r in records if r and r["start_id"] == seen.snapshot["start_id"]]
    assert [record["message"] for record in own] == [seen.snapshot["message"]]
    assert own[0]["users_fault"] is FAILURES[slug].users


EXPLAINED = marked({slug: case for slug, case in FAILURES.items() if case.explained})


@pytest.mark.parametrize("slug", EXPLAINED)
def test_the_stored_pod_is_explained_in_the_same_words(
    failures: Troubled,
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


def test_only_those_count_that_no_user_can_bring_about(failures: Troubled) -> None:
    ended = failures.all()
    answer = failures.hub.client.get("/suite/failures").raise_for_status()
    assert answer.json() == sum(FAILURES[slug].counts for slug in ended)


def test_no_pod_is_left(failures: Troubled) -> None:
    failures.all()

    def gone() -> bool:
        names = [pod["metadata"]["name"] for pod in failures.kubernetes.list("pods")]
        return not any(name.startswith("jupyter-fail-") for name in names)

    eventually(gone, "the pods are gone")
