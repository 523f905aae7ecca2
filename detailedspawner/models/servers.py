"""Servers in lists: what each is, what was chosen for it and how it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .profiles import Label, Picture, PodMetadata, RedirectMessage
from .status import ServerState
from .values import Value

# what stands for what no longer exists
UNKNOWN_HOME_MOUNT_PATH = "__UNKNOWN_HOME_MOUNT_PATH__"
UNKNOWN_IMAGE_CONFIG = "__UNKNOWN_IMAGE_CONFIG__"
UNKNOWN_POD_CONFIG = "__UNKNOWN_POD_CONFIG__"


@dataclass(frozen=True, slots=True)
class ChoiceInfo(Value):
    """What was chosen; `labels` is null when it no longer exists or nobody could tell."""

    id: str
    display_name: str
    description: str = ""
    labels: tuple[Label, ...] | None = ()
    missing: bool | None = False


@dataclass(frozen=True, slots=True)
class RedirectStep(Value):
    """One step from what was chosen towards what is started."""

    source: str
    target: ChoiceInfo
    message: RedirectMessage | None = None


@dataclass(frozen=True, slots=True)
class ChosenOption(Value):
    """What was chosen for an option, and where that leads at the next start."""

    current: ChoiceInfo
    redirect_chain: tuple[RedirectStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerProfile(Value):
    """The profile of a server; `missing` is null where nobody could tell."""

    id: str
    display_name: str
    missing: bool | None = False
    icon: Picture | None = None
    logo: Picture | None = None
    redirect_chain: tuple[RedirectStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Volume(Value):
    """A volume that outlives the server; `claim` is its claim where it is known."""

    claim: str | None
    mount_path: str | None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Volumes(Value):
    """The volumes of a server that outlive it."""

    home: Volume | None = None
    data: tuple[Volume, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerTemplate(Value):
    """What the pod of a server has, as far as its owner may know."""

    pod_metadata: PodMetadata = field(default_factory=PodMetadata)
    volumes: Volumes = field(default_factory=Volumes)
    options: Mapping[str, ChosenOption] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Activity(Value):
    """When a server was last used, and when the Hub last learned something of it."""

    last_activity: float | None = None
    last_update: float | None = None


@dataclass(frozen=True, slots=True)
class Server(Value):
    """One server, running or stopped."""

    name: str
    user: str
    namespace: str | None
    profile: ServerProfile | None
    defer_updates: bool
    paused: bool
    paused_time: float | None
    state: ServerState
    state_message: str
    pod_template: ServerTemplate
    activity: Activity
    ready_containers: int
    total_containers: int
    url: str
    progress_url: str
    revision: str
