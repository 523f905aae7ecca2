"""Plain values that the product speaks in: no I/O, standard library only.

One module per resource. Every other layer may import these; these import nothing of the project.
"""

from __future__ import annotations

from .hubhealth import (
    Check,
    HubHealth,
    Watch,
)
from .logs import (
    ContainerLog,
)
from .namespaces import (
    Namespace,
)
from .profiles import (
    Choice,
    Label,
    MessageLevel,
    Option,
    Picture,
    PodMetadata,
    Profile,
    ProfileTemplate,
    Redirect,
    RedirectMessage,
    VolumeMounts,
)
from .servers import (
    Activity,
    ChoiceInfo,
    ChosenOption,
    RedirectStep,
    Server,
    ServerProfile,
    ServerTemplate,
    Volume,
    Volumes,
)
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
    "Activity",
    "Check",
    "Choice",
    "ChoiceInfo",
    "ChosenOption",
    "Container",
    "ContainerKind",
    "ContainerLog",
    "Health",
    "HealthCheck",
    "HealthStatus",
    "HubHealth",
    "Label",
    "MessageLevel",
    "Namespace",
    "Option",
    "Picture",
    "PodMetadata",
    "Profile",
    "ProfileTemplate",
    "Redirect",
    "RedirectMessage",
    "RedirectStep",
    "Server",
    "ServerProfile",
    "ServerState",
    "ServerStatus",
    "ServerTemplate",
    "StartWarning",
    "Step",
    "StepKind",
    "StepStatus",
    "Volume",
    "VolumeMounts",
    "Volumes",
    "Watch",
]
