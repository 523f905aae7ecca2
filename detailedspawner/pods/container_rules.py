"""Rules for containers: what is wrong with one, and of which class that is."""

from __future__ import annotations

import re
from dataclasses import replace

from ..models import ContainerKind, StepStatus
from ..models.text import last_lines
from .containers import ContainerFacts, Ending, is_trouble
from .details import exec_error, exit_meaning, pull_error, times, transient_detail
from .events import Event, newest
from .podfacts import read_pod
from .reading import Reader
from .settings import PodSettings
from .texts import TEXTS
from .trouble import Seen, Trouble

PULL_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImagePullBackOff",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
SPEC_REASONS = frozenset({"InvalidImageName", "ErrImageNeverPull"})
# The container never began to run, so what the kubelet says is no log.
START_REASONS = frozenset({"RunContainerError", "StartError", "ContainerCannotRun"})
CRASH_REASONS = START_REASONS | {"CrashLoopBackOff"}
# Troubles of the main container that belong to the step of its image.
IMAGE_REASONS = PULL_REASONS | SPEC_REASONS

_HOOK_CODE = re.compile(r"exited with (\d{1,4})")
_CONFIG_TRANSIENT = ("failed to sync", "failed to create subPath directory")
_CREATE_TRANSIENT = ("context deadline exceeded", "name is reserved", "is reserved for")

# What the default readiness probe takes to fail: 3 times, every 10 seconds.
PROBE_WINDOW = 30.0


def log_tail(facts: ContainerFacts, ending: Ending | None, settings: PodSettings) -> str | None:
    """Return the end of the log of a failed run, if it may be shown."""
    if ending is None or not ending.message or ending.reason in START_REASONS:
        return None
    if not _may_be_shown(facts, settings):
        return None
    return last_lines(ending.message) or None


def shown_logs(pod: object, settings: PodSettings) -> frozenset[str]:
    """Return the names of a pod's containers whose logs may be shown; none without a pod."""
    containers = read_pod(Reader(), pod, settings).containers
    return frozenset(facts.name for facts in containers if _may_be_shown(facts, settings))


def _may_be_shown(facts: ContainerFacts, settings: PodSettings) -> bool:
    init = facts.init and facts.kind is ContainerKind.INIT
    return settings.shows_log(facts.name, facts.main, init)


def container_trouble(
    facts: ContainerFacts, events: tuple[Event, ...], seen: Seen, settings: PodSettings
) -> Trouble | None:
    """Say what is wrong with this container; None if nothing is."""
    if is_trouble(facts.waiting):
        return _waiting(facts, events, seen, settings)
    # A helper that may end and did so is no trouble, nor is an init container that is over.
    if facts.ended is None or facts.status is StepStatus.READY:
        return None
    found = _ended(facts, facts.ended, settings)
    return None if found is None else _by_hook(found, facts.ended, facts, events)


def _waiting(
    facts: ContainerFacts, events: tuple[Event, ...], seen: Seen, settings: PodSettings
) -> Trouble:
    reason, text = facts.waiting, facts.waiting_message
    step = settings.container_step(facts.name, facts.main)
    if reason in PULL_REASONS:
        return _pull(facts, _pull_text(facts, events, seen), settings)
    if reason in SPEC_REASONS:
        return Trouble(
            reason=reason,
            category="spec",
            text=reason,
            rank=facts.index,
            container=facts,
            step=_image_step(facts, settings),
            raw=text,
        )
    if reason in CRASH_REASONS:
        crash = _crash(facts, reason, facts.last, settings)
        return _by_hook(crash, facts.last, facts, events)
    category, key, counted = "create_transient", "CreateContainerError", True
    fields: dict[str, str] = {}
    if reason == "CreateContainerConfigError":
        transient = any(part in text for part in _CONFIG_TRANSIENT)
        category = "config_transient" if transient else "config"
        key = f"{reason}.transient" if transient else reason
    elif reason == "CreateContainerError":
        transient = any(part in text for part in _CREATE_TRANSIENT)
        category = "create_transient" if transient else "create"
    elif reason == "PostStartHookError":
        hooks = newest(events, frozenset({"FailedPostStartHook"}), facts.name)
        # The count of restarts tells of the hook's failures before this one.
        category, key = "hook", reason
        counted = facts.restarts >= 1 or (hooks is not None and hooks.count >= 2)
        # The text has the whole command in it; only the code is for the user.
        code = _HOOK_CODE.search(text)
        fields["exit"] = f" (exit code {code[1]})" if code else ""
    return Trouble(
        reason=reason,
        category=category,
        text=key,
        rank=facts.index,
        fields=fields,
        container=facts,
        step=step,
        raw=text,
        counted=counted,
    )


def _image_step(facts: ContainerFacts, settings: PodSettings) -> str:
    # only the main container's image has a step of its own
    return settings.kind_step("image") if facts.main else settings.container_step(facts.name)


def _pull_text(facts: ContainerFacts, events: tuple[Event, ...], seen: Seen) -> str:
    """Return the text that names why the image was not pulled, from wherever it is."""
    text = facts.waiting_message
    if pull_error(facts.waiting, text, facts.image):
        return text
    failed = [
        event.message
        for event in events
        if event.reason == "Failed"
        and event.container in ("", facts.name)
        and pull_error("", event.message, facts.image)
    ]
    # The back-off text alone says nothing; the error before it may have.
    return failed[-1] if failed else seen.pull_errors.get(facts.name, text)


def _pull(facts: ContainerFacts, text: str, settings: PodSettings) -> Trouble:
    kind = pull_error(facts.waiting, text, facts.image)
    return Trouble(
        reason=facts.waiting,
        category="pull_transient" if kind in ("", "transient") else "pull_definite",
        text=f"pull.{kind}" if kind else "pull",
        rank=facts.index,
        fields={"detail": transient_detail(text).rstrip(".")} if kind == "transient" else {},
        container=facts,
        step=_image_step(facts, settings),
        raw=text,
        clock="pull",
    )


def _crash(
    facts: ContainerFacts, reason: str, ending: Ending | None, settings: PodSettings
) -> Trouble:
    """Make the trouble of a container that stopped and is run again."""
    said = facts.waiting_message if ending is None or reason in START_REASONS else ending.message
    said = said or (ending.message if ending else "")
    not_run = reason in START_REASONS or (ending is not None and ending.reason in START_REASONS)
    code = ending.exit_code if ending else None
    runnable = exec_error(said) if not_run or code in (126, 127) else ""
    memory = ending is not None and ending.out_of_memory
    fields = {"limit": f" ({facts.memory_limit})" if facts.memory_limit else ""}
    if memory:
        key = "OOMKilled"
    elif not_run:
        key = f"start.{runnable}" if runnable else "start"
    elif ending is None:
        key = "crash.unknown"
    elif not ending.failed:
        key = "ended"
    else:
        key = crash_text(ending.exit_code)
        meaning = exit_meaning(ending.exit_code)
        fields |= {
            "times": times(facts.restarts + 1),
            "code": str(ending.exit_code),
            "meaning": f" ({meaning})" if meaning else "",
        }
    quick = memory or bool(runnable)
    bound = settings.oom_restarts if quick else settings.crash_restarts
    return Trouble(
        reason=reason,
        category="crash",
        text=key,
        rank=facts.index,
        fields=fields,
        container=facts,
        step=settings.container_step(facts.name, facts.main),
        cause=ending.label if ending and reason == "CrashLoopBackOff" else None,
        raw=said,
        exit_code=code,
        log_tail=log_tail(facts, ending, settings),
        out_of_memory=memory,
        completed=ending is not None and not ending.failed,
        counted=facts.restarts >= bound,
    )


def restarted(facts: ContainerFacts, settings: PodSettings) -> Trouble | None:
    """Say why a container that runs was started again; what it had not saved is lost."""
    if not facts.running or facts.last is None or not facts.last.failed:
        return None
    crash = _crash(facts, facts.last.label, facts.last, settings)
    fields = {**crash.fields, "times": times(facts.restarts)}
    return replace(crash, category="event", fields=fields, cause=None, counted=False)


def _by_hook(
    crash: Trouble, ending: Ending | None, facts: ContainerFacts, events: tuple[Event, ...]
) -> Trouble:
    """Tell of the hook where its failure is why the container was killed."""
    killed = ending is not None and ending.exit_code in (137, 143) and not ending.out_of_memory
    if not killed or newest(events, frozenset({"FailedPostStartHook"}), facts.name) is None:
        return crash
    return replace(
        crash, category="hook", text="PostStartHookError", fields={}, counted=facts.restarts >= 1
    )


def crash_text(code: int) -> str:
    """Return the key of the text for a failed run: some exit codes have advice of their own."""
    key = f"crash.{code}"
    return key if key in TEXTS else "crash"


def _ended(facts: ContainerFacts, ended: Ending, settings: PodSettings) -> Trouble | None:
    if facts.init and facts.kind is ContainerKind.SIDECAR and not ended.failed:
        # A native sidecar that ended is started again at once.
        return None
    crash = _crash(facts, ended.label, ended, settings)
    if facts.will_restart:
        return crash
    helper = not facts.init and not facts.main and not ended.failed
    return replace(
        crash,
        category="completed" if helper else "gone",
        text="helper.ended" if helper else crash.text,
        cause=None,
        counted=True,
    )


def probe_trouble(
    facts: ContainerFacts, events: tuple[Event, ...], settings: PodSettings, rank: int
) -> Trouble | None:
    """Say that a running container is not ready; worth a warning after its probes' time."""
    if not (facts.running and facts.must_stay_ready and facts.status is StepStatus.EXECUTING):
        return None
    unhealthy = newest(events, frozenset({"Unhealthy"}), facts.name)
    if unhealthy is None and facts.probe_window is None:
        return None
    return Trouble(
        reason="Unhealthy",
        category="probe",
        text="Unhealthy",
        rank=rank,
        container=facts,
        step=settings.container_step(facts.name, facts.main),
        raw=unhealthy.message if unhealthy else "",
        warn_after=PROBE_WINDOW if facts.probe_window is None else facts.probe_window,
        # Without a failed probe it may simply not have been asked yet.
        quiet=unhealthy is None,
    )
