"""The statuses that the stand-in for the Hub tells, as the product would write them."""

from __future__ import annotations

import time
from typing import Any

from detailedspawner.models.status import (
    Container,
    ContainerKind,
    ServerState,
    ServerStatus,
    Step,
    StepKind,
    StepStatus,
)

NAMES = {
    "certificates": "Trusting the institute's certificates",
    "git-clone": "Cloning the repository",
    "git-proxy": "Git credentials",
    "auth-proxy": "Authentication",
    "metrics": "Usage metrics",
    "data-sync": "Connecting data sources",
    "notebook": "Starting the session",
}
KINDS = ["init", "init", "sidecar", "sidecar", "sidecar", "sidecar", "main"]


def start(ready: int, *, state: str = "starting", revision: int | None = None) -> dict[str, Any]:
    """Return the status of a start with seven containers, of which some are ready."""
    now = time.time()
    step_states = ["ready"] * ready + ["executing"] + ["waiting"] * 6
    details = [
        Step("Finding a machine", StepStatus.READY, StepKind.MACHINE, (), None, None, None,
             now - 62, now - 61),
        Step("Getting the image", StepStatus.READY, StepKind.IMAGE, (), None, None, None,
             now - 61, now - 20),
    ]  # fmt: skip
    containers = []
    for (name, title), kind, status in zip(NAMES.items(), KINDS, step_states, strict=False):
        step_kind = StepKind.SESSION if kind == "main" else StepKind(kind)
        began = now - 12 if status != "waiting" else None
        details.append(
            Step(title, StepStatus(status), step_kind, (name,), None, None, None, began,
                 now - 8 if status == "ready" else None, 20.0)
        )  # fmt: skip
        containers.append(Container(name, ContainerKind(kind), "image", StepStatus(status)))
    connection = StepStatus.READY if state == "running" else StepStatus.WAITING
    details.append(Step("Waiting for an answer", connection, StepKind.CONNECTION))
    missing = ", ".join(list(NAMES)[ready:])
    return ServerStatus(
        start_id="7f3a9c",
        revision=f"7f3a9c.{ready if revision is None else revision}",
        state=ServerState(state),
        progress=100 if state == "running" else 20 + ready * 10,
        message=f"Containers with non-ready statuses: {missing}." if missing else "Ready.",
        details=tuple(details),
        ready_containers=ready,
        total_containers=7,
        containers=tuple(containers),
        cancellable=state == "starting",
        expected_seconds=90.0,
        expected_at_most_seconds=100.0,
        started_at=now - 63,
        updated_at=now,
    ).to_dict()


def failure(**changes: Any) -> dict[str, Any]:
    """Return the status of a start that failed at its second container."""
    status = start(1, state="failed", revision=9)
    cause = "The repository could not be cloned: the password was not accepted."
    step = status["details"][3]
    step.update(status="failed", message=cause, reason="Error")
    step["hint"] = "Connect your account again under Integrations, then start the server anew."
    status["containers"][1].update(
        status="failed",
        exit_code=128,
        log_tail="Cloning into '/home/jovyan/work'...\nfatal: Authentication failed\n",
    )
    status["message"] = cause
    status.update(changes)
    return status


def replace_texts(value: Any, text: str) -> Any:
    """Put a text in the place of everything that people or programs outside have written."""
    outside = {"step", "message", "hint", "reason", "log_tail", "image"}
    if isinstance(value, list):
        return [replace_texts(item, text) for item in value]
    if isinstance(value, dict):
        return {
            key: text if key in outside and isinstance(item, str) else replace_texts(item, text)
            for key, item in value.items()
        }
    return value
