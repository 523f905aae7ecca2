"""Every sentence that is said about a pod, in one table that settings can override.

A key is the reason, or a group of reasons, and what is more precise behind a dot.
Fields in braces are filled with cleaned text; an unknown one becomes empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..models.text import clean
from .settings import PodSettings, Replacement

MESSAGE_LENGTH = 500
URL_LENGTH = 2000
# of the cluster's own words, in which an administrator's expressions look
RULE_LENGTH = 4000

ASK_ADMIN = "Please tell the administrator; trying again will not help."


class Text(NamedTuple):
    """What is said, and what can be done about it."""

    message: str
    hint: str | None = None


_TEXTS = {
    # A machine
    "machine.waiting": Text("Waiting for a free machine."),
    "Unschedulable.resource": Text(
        "At the moment no machine has enough {resource} free.",
        "The start goes on by itself as soon as there is room. "
        "An option that needs less may start sooner.",
    ),
    "Unschedulable.device": Text(
        "Every {resource} is taken at the moment.",
        "The start goes on as soon as one is given back. Or choose an option without it.",
    ),
    "Unschedulable.taint": Text(
        "The machines are reserved for something else, or are not ready yet.",
        "If this goes on, choose another option, or tell the administrator.",
    ),
    "Unschedulable.affinity": Text(
        "None of the machines is of the kind that this option asks for.",
        "Choose another option, or tell the administrator; trying again will not help.",
    ),
    "Unschedulable.volume_zone": Text(
        "Your storage can only be reached from machines that are not available now.",
        "Please ask the administrator: the storage is bound to one zone or machine.",
    ),
    "Unschedulable.volume_in_use": Text(
        "Your storage is in use by another server.",
        "Stop the other server; this one then continues by itself.",
    ),
    "Unschedulable.claim_missing": Text(
        "The storage {claim} that this server needs does not exist.", ASK_ADMIN
    ),
    "Unschedulable.claim_deleted": Text(
        "The storage {claim} is being deleted, so no server can use it any more.",
        "Stop the servers that still use it, then start this one again.",
    ),
    "Unschedulable.claim_unbound": Text(
        "Your storage is being created.",
        "That usually takes less than a minute. If it goes on, tell the administrator.",
    ),
    "Unschedulable": Text(
        "No machine takes this server yet ({detail}).",
        "The start goes on as soon as one does. If none does, tell the administrator.",
    ),
    "TriggeredScaleUp": Text(
        "A machine is being started for you.", "That usually takes a few minutes."
    ),
    "NotTriggerScaleUp": Text(
        "No kind of machine can hold this server, so none is added ({detail}).",
        "Choose a smaller option, or tell the administrator.",
    ),
    "nominated": Text(
        "A machine has been chosen and room is being made on it.", "That usually takes a minute."
    ),
    "SchedulingGated": Text(
        "The server is in a queue, waiting for its turn{gates}.",
        "The start goes on by itself when its turn has come.",
    ),
    # Storage
    "claim.Lost": Text("Your storage {claim} is lost: what held its data is gone.", ASK_ADMIN),
    "ProvisioningFailed": Text("Your storage {claim} could not be created ({detail}).", ASK_ADMIN),
    "FailedAttachVolume.multi": Text(
        "Your storage is still attached to another machine.",
        "It is given free within a few minutes. Stop other servers that use it.",
    ),
    "FailedAttachVolume": Text(
        "The storage {volume} is not attached to the machine yet.",
        "This often heals within a few minutes. If it does not, tell the administrator.",
    ),
    "FailedMount.missing": Text(
        "The volume {volume} cannot be used: {detail}.",
        "Something is missing in the setup. " + ASK_ADMIN,
    ),
    "FailedMount": Text(
        "The storage {volume} is not available on the machine yet ({detail}).",
        "This may heal by itself. If it does not, tell the administrator.",
    ),
    # The machine's own troubles
    "FailedCreatePodSandBox": Text(
        "The machine could not prepare the network of the server.",
        "This often heals by itself. If it does not, tell the administrator.",
    ),
    "FailedPrepareDynamicResources": Text(
        "The machine could not prepare the device that was asked for.",
        "This often heals by itself. If it does not, tell the administrator.",
    ),
    "Unknown": Text(
        "The machine of the server does not answer.",
        "Wait a moment. If it does not come back, stop the server and start it again.",
    ),
    # Images
    "pull.not_found": Text(
        "There is no image {image}.", "Check its name and its tag for typing errors."
    ),
    "pull.denied": Text(
        "The image {image} may not be downloaded: it is private, or it does not exist.",
        "Check its name, or ask the administrator for access to it.",
    ),
    "pull.platform": Text(
        "The image {image} is not made for the processors of these machines.",
        "Choose an image that is built for this kind of processor.",
    ),
    "pull.signature": Text("The signature of the image {image} could not be confirmed.", ASK_ADMIN),
    "pull.inspect": Text("The machine cannot read the image {image} ({detail}).", ASK_ADMIN),
    "pull.transient": Text(
        "The image {image} could not be downloaded this time ({detail}).",
        "Usually this heals by itself. If not, try again later.",
    ),
    "pull": Text(
        "The image {image} could not be downloaded.",
        "Check its name and its tag. If they are right, this often heals by itself.",
    ),
    "InvalidImageName": Text(
        'The image name "{image}" is not written in a valid way.',
        "Correct it: a name has lower-case letters and ends with :tag.",
    ),
    "ErrImageNeverPull": Text(
        "The image {image} is not on the machine, and it may not be downloaded.", ASK_ADMIN
    ),
    # Containers
    "CreateContainerConfigError": Text(
        "The {container} needs something that is missing or not allowed ({detail}).", ASK_ADMIN
    ),
    "CreateContainerConfigError.transient": Text(
        "The machine has not yet fetched what the {container} needs.",
        "Usually this heals by itself within a minute.",
    ),
    "CreateContainerError": Text(
        "The machine could not create the {container} ({detail}).",
        "Try again. If it happens again, tell the administrator.",
    ),
    "start.missing": Text(
        "The {container} could not be started: its command is not in the image.",
        "Does the image contain the start command (for a session: jupyterhub-singleuser)?",
    ),
    "start.denied": Text(
        "The {container} could not be started: its command may not be run.",
        "The start command of the image must be marked as executable.",
    ),
    "start.format": Text(
        "The {container} could not be started: it was built for another kind of processor.",
        "Choose an image that is built for the processors of these machines.",
    ),
    "start": Text(
        "The {container} could not be started ({detail}).", "Check the image and its start command."
    ),
    "PostStartHookError": Text(
        "What the {container} does right after its start has failed{exit}.",
        "If this comes from your own settings, check them; else tell the administrator.",
    ),
    "OOMKilled": Text(
        "The {container} needed more memory than it may use{limit}, so it was ended.",
        "Choose an option with more memory.",
    ),
    "crash": Text(
        "The {container} stopped {times} exit code {code}{meaning}.",
        "Its log says why. If that does not help, tell the administrator.",
    ),
    "crash.126": Text(
        "The {container} stopped {times} exit code {code}{meaning}.",
        "The start command of the image must be marked as executable.",
    ),
    "crash.127": Text(
        "The {container} stopped {times} exit code {code}{meaning}.",
        "Does the image contain the start command (for a session: jupyterhub-singleuser)?",
    ),
    "crash.137": Text(
        "The {container} stopped {times} exit code {code}{meaning}.",
        "Choose an option with more memory.",
    ),
    "crash.unknown": Text(
        "The {container} keeps stopping.",
        "Its log says why. If that does not help, tell the administrator.",
    ),
    "ended": Text(
        "The {container} ended by itself (exit code 0).",
        "Its start command must keep running. Check the image and the command.",
    ),
    "helper.ended": Text(
        "The {container} has ended, but the session needs it to keep running.",
        "Please tell the administrator: it should be an init container, or be allowed to complete.",
    ),
    "Unhealthy": Text(
        "The {container} is running but does not answer yet.",
        "Wait, some take a few minutes. If it never answers, tell the administrator.",
    ),
    "gates": Text(
        "Everything is running; waiting for {gates}.",
        "The start goes on by itself when that has answered.",
    ),
    # The end of a pod
    "Evicted.limit": Text(
        "Your server wrote more to the disk of its machine than it may ({detail}).",
        "Start it again, and keep fewer files outside of your home.",
    ),
    "Evicted.storage": Text(
        "The machine was out of disk space and ended your server.",
        "Start it again. If it happens again, keep fewer files outside of your home.",
    ),
    "Evicted.memory": Text(
        "The machine was out of memory and ended your server.",
        "Start it again. If it happens again, choose an option with more memory.",
    ),
    "Evicted": Text("The machine had to end your server ({detail}).", "Start it again."),
    "preempted": Text(
        "Your server had to make room for a more important one.", "Start it again a little later."
    ),
    "rejected": Text(
        "The machine did not accept the server after all ({detail}).", "Start it again."
    ),
    "shutdown": Text("The machine of your server was shut down.", "Start it again."),
    "DeadlineExceeded": Text("The time that this server may run is over.", "Start it again."),
    "NodeLost": Text("The machine of your server does not answer any more.", "Start it again."),
    "PodFailed": Text("The server has ended.", "Start it again."),
    "Terminating": Text("The server is being stopped."),
    "gone": Text(
        "The server was removed from the cluster.",
        "Start it again. If it happens again, tell the administrator.",
    ),
    # Creation
    "create.quota": Text(
        "The quota {quota} does not allow this server: "
        "it needs {requested}, and {used} of {limited} are in use.",
        "Stop another server, choose a smaller option, or wait until something is free.",
    ),
    "create.storage_quota": Text(
        "The quota {quota} does not allow more storage: "
        "it needs {requested}, and {used} of {limited} are in use.",
        "Remove storage that is not needed any more, or ask the administrator for more.",
    ),
    "create.quota_unspecified": Text(
        "The quota {quota} only admits servers that say how much they need ({detail}).", ASK_ADMIN
    ),
    "create.limit": Text(
        "This option is not within the limits of the cluster ({detail}).",
        "Choose another option, or tell the administrator.",
    ),
    "create.pod_security": Text(
        "The security level {policy} of the cluster forbids this server ({detail}).",
        "Choose another option, or tell the administrator; trying again will not help.",
    ),
    "create.webhook": Text(
        "A rule of the cluster forbids this server: {detail}.",
        "Choose another option, or tell the administrator; trying again will not help.",
    ),
    "create.webhook_down": Text(
        "A part of the cluster that checks new servers does not answer.",
        "This often heals by itself. If it does not, tell the administrator.",
    ),
    "create.policy": Text(
        "A rule of the cluster forbids this server ({detail}).",
        "Choose another option, or tell the administrator; trying again will not help.",
    ),
    "create.rbac": Text("The hub is not allowed to create this server.", ASK_ADMIN),
    "create.service_account": Text(
        "The account {account} under which this server is to run does not exist.", ASK_ADMIN
    ),
    "create.namespace": Text("The place {namespace} for this server is not there.", ASK_ADMIN),
    "create.invalid": Text("The settings of {part} are not valid ({detail}).", ASK_ADMIN),
    "create.missing": Text("Something that the server needs does not exist ({detail}).", ASK_ADMIN),
    "create.exists": Text(
        "The previous server of this name is still being removed.",
        "The start goes on by itself as soon as it is gone.",
    ),
    "create.busy": Text(
        "The cluster is too busy to take the server.",
        "This often heals by itself. If it does not, tell the administrator.",
    ),
    "create.silent": Text(
        "The cluster does not answer.",
        "Try again in a few minutes. If it still does not, tell the administrator.",
    ),
    "create.forbidden": Text("The cluster refused the server ({detail}).", ASK_ADMIN),
    "event": Text(
        "The cluster reports a problem: {reason}.",
        "If the start does not go on, tell the administrator.",
    ),
}
TEXTS: Mapping[str, Text] = MappingProxyType(_TEXTS)


def _fill(template: str, fields: Mapping[str, str]) -> str | None:
    try:
        filled = template.format_map(defaultdict(str, fields))
    except (ValueError, IndexError, AttributeError, TypeError, KeyError):
        # Only an overriding text can be malformed; the built-in one is then used.
        return None
    # Empty details leave empty brackets behind.
    return clean(filled.replace(" ()", ""), MESSAGE_LENGTH)


def render(
    key: str, fields: Mapping[str, str], raw: str, settings: PodSettings
) -> tuple[str, str | None]:
    """Return message and hint: an administrator's rule, then their text, then ours."""
    group = key.partition(".")[0]
    built_in = TEXTS.get(key) or TEXTS.get(group) or TEXTS["event"]
    message = _fill(built_in.message, fields) or ""
    hint = built_in.hint
    # The table's key is more precise than the cluster's reason, and that than a group.
    named = (settings.texts.get(name) for name in (key, fields.get("reason", ""), group))
    replacement = next((item for item in named if item), None)
    if replacement:
        message, hint = _replaced(replacement, message, hint, fields)
    for rule in settings.message_rules:
        if rule.pattern.search(raw[:RULE_LENGTH]):
            return _replaced(rule.words, message, hint, fields)
    return message, hint


def _replaced(
    replacement: Replacement, message: str, hint: str | None, fields: Mapping[str, str]
) -> tuple[str, str | None]:
    if replacement.message:
        message, hint = _fill(replacement.message, fields) or message, None
    if replacement.hint:
        hint = _fill(replacement.hint, fields) or hint
    if replacement.help_url:
        hint = " ".join(filter(None, (hint, clean(replacement.help_url, URL_LENGTH))))
    return message, hint
