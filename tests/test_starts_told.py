"""Whole starts as their readers are told them: the stream, the last sentence and the log."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from detailedspawner.ending import OutOfTime, to_spawn_error
from detailedspawner.kubeapi import Outage
from detailedspawner.models.redaction import option_values
from detailedspawner.pods import DEFAULT_GRACES, PodSettings, read_messages
from detailedspawner.starting import Start
from detailedspawner.tracking import Event

from .podmaker import BEGIN, Raw, container, crashing, ending, event, make_pod, waiting
from .recordedfailures import FAILURES
from .recordedstarts import STARTS, Recorded
from .test_failures_fuzz import happened

ALL = STARTS | FAILURES
LOG = logging.getLogger("test")
# longer than any grace
PATIENCE = 4000.0


@dataclass
class Told:
    """One start, fed as a cluster tells it, and all that its readers were told."""

    start: Start
    now: list[float]
    events: list[Event] = field(default_factory=list)

    @property
    def statuses(self) -> list[dict[str, Any]]:
        return [item["status"] for item in self.events]

    async def feed(self, recorded: Recorded, until: float = PATIENCE) -> None:
        """Tell the start what happens, each at its second, and let its graces pass."""
        moments = sorted(
            {at for at, _ in recorded.pods} | {happened(item) for item in recorded.events}
        )
        for moment in [*moments, until]:
            while not self.start.failed and (due := self.start.view.next_check) is not None:
                if due > BEGIN + min(moment, until):
                    break
                self.now[0] = due
                self.start.refresh()
            if self.start.failed or moment > until:
                return
            self.now[0] = BEGIN + moment
            pods = [pod for at, pod in recorded.pods if at <= moment]
            there = [item for item in recorded.events if happened(item) <= moment]
            if pods:
                self.start.observe(pods[-1], there)


@pytest.fixture
async def told() -> AsyncIterator[Any]:
    """Makes starts whose readers are there from the first moment on."""
    readers = []

    def make(settings: PodSettings | None = None, plan: Raw | None = None) -> Told:
        now = [BEGIN]
        start = Start(
            plan or {"spec": make_pod()["spec"]}, settings or PodSettings(), log=LOG,
            clock=lambda: now[0],
        )  # fmt: skip
        start.all_else_done()
        found = Told(start, now)

        async def read() -> None:
            async for item in start.tracker.follow():
                found.events.append(item)

        readers.append(asyncio.ensure_future(read()))
        return found

    yield make
    for reader in readers:
        reader.cancel()


async def finish(seen: Told, error: Exception, seconds: float = 900) -> str:
    """End a start as the spawner does; returns what the Hub tells."""
    said = to_spawn_error(seen.start, error, seconds, LOG)
    seen.start.end()
    for _ in range(3):
        await asyncio.sleep(0)
    return str(said.jupyterhub_message)  # type: ignore[attr-defined]


CALM = [name for name, item in ALL.items() if not item.troubled]
FAILED = [name for name, item in ALL.items() if item.verdict == "failed"]


@pytest.mark.parametrize("name", CALM)
async def test_a_start_that_goes_well_never_shows_an_alarm(told: Any, name: str) -> None:
    seen = told()
    await seen.feed(ALL[name])
    seen.start.end()
    await asyncio.sleep(0)
    assert seen.statuses
    for status in seen.statuses:
        assert status["state"] == "starting"
        assert status["warnings"] == []
        assert {step["status"] for step in status["details"]} <= {"waiting", "executing", "ready"}
        assert all(item["status"] != "failed" for item in status["containers"])
    last = seen.statuses[-1]
    assert last["ready_containers"] == last["total_containers"]


@pytest.mark.parametrize("name", FAILED)
async def test_a_failure_is_one_sentence_for_everybody(
    told: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen = told()
    await seen.feed(ALL[name])
    start = seen.start
    assert start.failed
    text = await finish(seen, RuntimeError("unused"))
    states = [status["state"] for status in seen.statuses]
    assert states == sorted(states, key=["starting", "failed"].index)
    last = seen.statuses[-1]
    assert ALL[name].says in last["message"]
    assert text == f"{last['message']} {start.hint} (start {start.id})"
    # nothing is complete on a failed start
    assert all(status["progress"] < 100 for status in seen.statuses)
    told_at = [step for step in last["details"] if step["status"] == "failed"]
    assert last["message"] in [step["message"] for step in told_at]
    # the cluster's own words are in the log, with the start's id
    (line,) = (r.getMessage() for r in caplog.records if r.getMessage().startswith("Start "))
    assert line.startswith(f"Start {start.id} failed: {last['message']} (")
    assert start.problem is not None
    assert str(start.problem.detail) in line


@dataclass(frozen=True)
class Hanging:
    """A start that its deadline ends, and what is said then."""

    start: str
    seconds: float
    step: str
    cause: str


# what has no grace, or a longer one than the start has
HANGING = [
    Hanging("one complaint three times, a machine, a disk that is not attached", 600,
            "Preparing storage", 'The storage "pvc-1" is not attached'),
    Hanging("a disk whose list of volumes changes its order", 600,
            "Preparing storage", 'The storage "home" is not available'),
    Hanging("a disk that another machine keeps", 300,
            "Preparing storage", "Your storage is still attached to another machine."),
    Hanging("a secret that is missing", 150, "", 'secret "git" not found'),
    Hanging("a machine is added", 35, "Finding a machine", "A machine is being started for you."),
    Hanging("a slow pull", 1200, "Downloading image", ""),
    Hanging("a slow server whose probe says no for a while", 30, "Starting session", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", HANGING, ids=lambda row: row.start)
async def test_the_deadline_names_the_step_that_hangs_and_its_trouble(
    told: Any, row: Hanging
) -> None:
    seen = told()
    await seen.feed(ALL[row.start], until=row.seconds - 1)
    assert not seen.start.failed
    seen.now[0] = BEGIN + row.seconds
    text = await finish(seen, OutOfTime(), row.seconds)
    assert re.search(rf"“{row.step}.*” did not finish: it took more than {row.seconds:g} s", text)
    assert row.cause in text
    last = seen.statuses[-1]
    assert last["message"] in text
    assert [step["step"] for step in last["details"] if step["status"] == "failed"] == [
        text[1 : text.index("”")]
    ]


@pytest.mark.parametrize("decided", [False, True], ids=["waits for its pod", "asks its server"])
async def test_a_watch_that_fails_is_blamed_by_who_waits_for_it(told: Any, decided: bool) -> None:
    seen = told()
    if decided:
        await seen.feed(ALL[CALM[0]])
    assert seen.start.decided.done() == decided
    outage = Outage(BEGIN, "the API server answers 403 Forbidden", "403 User hub cannot watch")
    error = to_spawn_error(seen.start, OutOfTime(), 30, LOG, outage)
    seen.start.end()
    blamed = "The Hub cannot see pods: the API server answers 403 Forbidden." in str(error)
    assert (blamed, seen.start.category) == ((False, "timeout") if decided else (True, "watch"))
    assert "User hub" not in str(error)


async def test_an_admins_words_reach_every_reader(told: Any) -> None:
    words = {
        "pull.not_found": {
            "message": "No {image} here.",
            "hint": "Ask in the forum.",
            "help_url": "https://help.example/a?b=c",
        }
    }
    seen = told(PodSettings(texts=read_messages(words)))
    await seen.feed(ALL["an image that does not exist"])
    text = await finish(seen, RuntimeError())
    assert "No registry.example/science/notebook:2026.1 here." in text
    assert "Ask in the forum. https://help.example/a?b=c (start " in text
    assert seen.statuses[-1]["message"] in text


ACCOUNT = "zq-account"
SECRETS = {
    "an environment variable": "Zq-env-8wXk2mNv5t",
    "a command option": "Zq-arg-8wXk2mNv5t",
    "what the user chose": "Zq-opt-8wXk2mNv5t",
    "a password in a URL": "Zq-url-8wXk2mNv5t",
    "a registry's account": ACCOUNT,
}
LEAKS = (
    f"clone https://ada:{SECRETS['a password in a URL']}@git.example/x failed; "
    f"TOKEN is {SECRETS['an environment variable']}, --key {SECRETS['a command option']}, "
    f"chosen {SECRETS['what the user chose']}; You have reached your pull rate limit as "
    f"'{ACCOUNT}': dckr_jti_Zq0123456789."
)


async def test_no_secret_is_told_by_anything_that_a_user_sees(told: Any) -> None:
    main = container(
        "notebook",
        env=[{"name": "API_TOKEN", "value": SECRETS["an environment variable"]}],
        args=["--key", SECRETS["a command option"]],
    )
    chosen = option_values({"git_token": SECRETS["what the user chose"]})
    seen = told(PodSettings(secrets=chosen))
    failing = [
        make_pod(waiting("notebook", "CreateContainerError", LEAKS), containers=[main]),
        make_pod(waiting("notebook", "ErrImagePull", LEAKS), containers=[main]),
        make_pod(crashing("notebook", 3, ending(1, message=LEAKS)), containers=[main]),
    ]
    leaking = event(
        "Failed", LEAKS, about="notebook",
        metadata={"uid": "e", "resourceVersion": "1", "annotations": {"why": LEAKS}},
        note=LEAKS, action=LEAKS, related=[{"name": LEAKS}],
    )  # fmt: skip
    seen.start.plan(failing[0])
    seen.start.report(LEAKS)
    for at, pod in enumerate(failing):
        seen.now[0] = BEGIN + at
        seen.start.observe(pod, [leaking])
    assert seen.start.failed
    text = await finish(seen, RuntimeError(LEAKS))
    shown = json.dumps(seen.events) + text + repr(seen.start.hint)
    assert "raw_event" in shown
    assert "log_tail" in shown
    assert [name for name, secret in SECRETS.items() if secret in shown] == []
    assert "Zq" not in shown


async def test_a_graces_class_is_looked_up_by_its_name(told: Any) -> None:
    graces = {**DEFAULT_GRACES, "pull_definite": 0.0}
    seen = told(PodSettings(graces=graces))
    await seen.feed(ALL["an image that does not exist"], until=11)
    assert seen.start.failed
