"""Profiles that a user can choose from, and servers in lists: what was chosen and how they are.

What a profile sets on the spawner is not among it: that never leaves the Hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from .status import ServerState
from .values import Value

# what stands for what no longer exists
UNKNOWN_HOME_MOUNT_PATH = "__UNKNOWN_HOME_MOUNT_PATH__"
UNKNOWN_IMAGE_CONFIG = "__UNKNOWN_IMAGE_CONFIG__"
UNKNOWN_POD_CONFIG = "__UNKNOWN_POD_CONFIG__"


class MessageLevel(str, Enum):
    """How urgent the message of a redirect is."""

    INFO = "info"
    WARNING = "warning"
    DANGER = "danger"


@dataclass(frozen=True, slots=True)
class Label(Value):
    """A word about a choice, such as its number of processors."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Picture(Value):
    """An icon or a logo."""

    url: str


@dataclass(frozen=True, slots=True)
class RedirectMessage(Value):
    """What users are told when their choice leads elsewhere."""

    text: str
    level: MessageLevel = MessageLevel.INFO


@dataclass(frozen=True, slots=True)
class Redirect(Value):
    """Another profile or choice that is started in place of this one."""

    to: str
    message: RedirectMessage | None = None


@dataclass(frozen=True, slots=True)
class Choice(Value):
    """One value of an option."""

    id: str
    display_name: str
    description: str = ""
    labels: tuple[Label, ...] = ()
    hidden: bool = False
    deprecated: bool = False
    deprecation_message: str | None = None
    icon: Picture | None = None
    logo: Picture | None = None
    redirect: Redirect | None = None


@dataclass(frozen=True, slots=True)
class Option(Value):
    """One option of a profile; `default` is the id of a choice, if there is one."""

    display_name: str
    default: str | None
    values: tuple[Choice, ...] = ()
    unlisted_choice: bool = False


@dataclass(frozen=True, slots=True)
class PodMetadata(Value):
    """What is noted on a pod."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VolumeMounts(Value):
    """Where volumes appear in the main container; null when not known."""

    home: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileTemplate(Value):
    """What the pods of a profile have, as far as users may know."""

    pod_metadata: PodMetadata = field(default_factory=PodMetadata)
    volume_mounts: VolumeMounts = field(default_factory=VolumeMounts)
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Profile(Value):
    """One profile as a user sees it; `servers_count` is of those the asker may see."""

    id: str
    name: str
    display_name: str
    description: str = ""
    default: bool = False
    deprecated: bool = False
    deprecation_message: str | None = None
    hidden: bool = False
    icon: Picture | None = None
    logo: Picture | None = None
    redirect: Redirect | None = None
    servers_count: int | None = None
    pod_template: ProfileTemplate = field(default_factory=ProfileTemplate)


@dataclass(frozen=True, slots=True)
class Namespace(Value):
    """One namespace, and how many servers it has; stopped ones are counted where they ran."""

    name: str
    servers_count: int
    active_count: int


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
