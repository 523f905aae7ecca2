"""What a user can choose from: profiles, their options and the choices of each.

What a profile sets on the spawner is not among it: that never leaves the Hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from .values import Value


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
