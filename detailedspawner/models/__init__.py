"""Plain values that the product speaks in: no I/O, standard library only.

Every other layer may import these; these import nothing of the project.
"""

from __future__ import annotations

from .status import (
    Container,
    ContainerKind,
    Health,
    HealthCheck,
    HealthStatus,
    ServerState,
    ServerStatus,
    StartWarning,
    Step,
    StepKind,
    StepStatus,
)

__all__ = [
    "Container",
    "ContainerKind",
    "Health",
    "HealthCheck",
    "HealthStatus",
    "ServerState",
    "ServerStatus",
    "StartWarning",
    "Step",
    "StepKind",
    "StepStatus",
]
