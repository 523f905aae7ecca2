"""One example of everything that can go wrong with a start, by the key of its text.

What the cluster sends (pod, events, claims, its answer to the creation) and after how
many seconds of it the look is taken. The documentation lists what is said of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from detailedspawner.pods import PodView, Seen, judge

from .podmaker import (
    BEGIN,
    NOT_READY,
    ON_MACHINE,
    SCHEDULED,
    Raw,
    claim,
    claim_event,
    condition,
    container,
    crashing,
    deleted,
    ended,
    ending,
    event,
    make_pod,
    normal,
    running,
    unschedulable,
    waiting,
)
from .podpicture import full

IMG = "quay.io/lab/notebook:2026"
IMAGED = [container("notebook", IMG)]


@dataclass(frozen=True)
class Example:
    """What a cluster sends, and what is said of it: reason, class, and a part of the text."""

    reason: str
    category: str
    says: str
    pod: Any = None
    events: tuple[Raw, ...] = ()
    claims: tuple[Raw, ...] = ()
    error: Any = None
    gone: bool = False
    after: float = 60

    def look(self, **more: Any) -> PodView:
        """Judge it twice: when it is first seen, and `after` so many seconds."""
        first = self._judge(0, **more)
        return self._judge(self.after, **{**more, "seen": first.seen})

    def look_at(self, now: float, seen: Seen) -> PodView:
        """Judge it at this moment (seconds since the epoch)."""
        return self._judge(now - BEGIN - 60, seen=seen)

    def _judge(self, at: float, **more: Any) -> PodView:
        return judge(
            self.pod,
            self.events,
            self.claims,
            create_error=self.error,
            pod_gone=self.gone,
            now=BEGIN + 60 + at,
            **more,
        )


def no_machine(*refusals: str, **more: Any) -> Raw:
    return make_pod(conditions=unschedulable(full(*refusals)), **more)


def stuck(reason: str, message: str = "", **more: Any) -> Raw:
    """A session that waits for such a reason, on its machine."""
    return make_pod(
        waiting("notebook", reason, message), containers=IMAGED, conditions=ON_MACHINE, **more
    )


def refused(code: int, message: str, reason: str = "", **details: Any) -> Raw:
    found: Raw = {"kind": "Status", "code": code, "message": message, "details": details}
    return found | ({"reason": reason} if reason else {})


def forbidden(why: str, kind: str = "pods", name: str = "jupyter-ada") -> Raw:
    return refused(403, f'{kind} "{name}" is forbidden: {why}', "Forbidden", kind=kind, name=name)


def crashed(code: int, **more: Any) -> Raw:
    return make_pod(crashing("notebook", 3, ending(code, **more)), phase="Running")


def over(reason: str, message: str = "") -> Raw:
    return make_pod(phase="Failed", reason=reason, message=message)


PLAN = {"spec": make_pod(claims=("home",))["spec"]}
HOME = ("home",)
UNFIT = normal("NotTriggerScaleUp", "pod didn't trigger scale-up (it wouldn't fit)")

EXAMPLES: dict[str, Example] = {
    # --- a machine
    "machine.waiting": Example(
        "Unschedulable", "schedule_waiting", "Waiting for a free machine",
        no_machine("4 Insufficient cpu"), after=5,
    ),
    "Unschedulable.resource": Example(
        "Unschedulable", "schedule_waiting", "no machine has enough memory",
        no_machine("4 Insufficient memory"),
    ),
    "Unschedulable.device": Example(
        "Unschedulable", "schedule_waiting", "Every graphics processor (nvidia.com/gpu) is taken",
        no_machine("4 Insufficient nvidia.com/gpu"),
    ),
    "Unschedulable.taint": Example(
        "Unschedulable", "schedule_waiting", "reserved for something else",
        no_machine("4 node(s) had untolerated taint {dedicated: gpu}"),
    ),
    "Unschedulable.affinity": Example(
        "Unschedulable", "schedule_hopeless", "None of the machines is of the kind",
        no_machine("4 node(s) didn't match Pod's node affinity/selector"),
    ),
    "Unschedulable.volume_zone": Example(
        "Unschedulable", "schedule_hopeless", "Your storage can only be reached",
        no_machine("4 node(s) had volume node affinity conflict", claims=HOME),
    ),
    "Unschedulable.volume_in_use": Example(
        "Unschedulable", "schedule_waiting", "in use by another server",
        no_machine("4 node(s) unavailable due to ReadWriteOncePod, already in-use", claims=HOME),
    ),
    "Unschedulable.claim_missing": Example(
        "Unschedulable", "schedule_hopeless", 'The storage "home"',
        make_pod(
            conditions=unschedulable('persistentvolumeclaim "home" not found'), claims=HOME
        ),
    ),
    "Unschedulable.claim_deleted": Example(
        "Unschedulable", "schedule_hopeless", 'The storage "home" is being deleted',
        # as the scheduler writes it, to its odd end
        no_machine('persistentvolumeclaim "home" is being deleted. not found', claims=HOME),
    ),
    "Unschedulable.claim_unbound": Example(
        "Unschedulable", "schedule_waiting", "is being created",
        make_pod(
            conditions=unschedulable("pod has unbound immediate PersistentVolumeClaims"),
            claims=HOME,
        ),
    ),
    "Unschedulable": Example(
        "SchedulerError", "schedule_waiting", "No machine takes this server yet",
        make_pod(conditions=[condition("PodScheduled", False, "SchedulerError", "plugin is ill")]),
    ),
    "TriggeredScaleUp": Example(
        "TriggeredScaleUp", "schedule_scaling", "A machine is being started for you",
        no_machine("4 Insufficient cpu"), (normal("TriggeredScaleUp", "[{pool 1->2}]"),),
    ),
    "NotTriggerScaleUp": Example(
        "Unschedulable", "schedule_full", "No kind of machine can hold this server",
        no_machine("4 Insufficient cpu"), (UNFIT,),
    ),
    "nominated": Example(
        "Unschedulable", "schedule_scaling", "room is being made",
        no_machine("4 Insufficient cpu", nominatedNodeName="node-1"),
    ),
    "SchedulingGated": Example(
        "SchedulingGated", "schedule_scaling", "waiting for its turn (kueue.x-k8s.io/admission)",
        make_pod(
            conditions=[condition("PodScheduled", False, "SchedulingGated", "gates")],
            spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
        ),
    ),
    # --- storage
    "claim.Lost": Example(
        "ClaimLost", "spec", 'Your storage "home" is lost',
        make_pod(claims=HOME), claims=(claim("home", "Lost"),),
    ),
    "ProvisioningFailed": Example(
        "ProvisioningFailed", "provisioning", 'Your storage "home" could not be created',
        make_pod(claims=HOME),
        (claim_event("home", "ProvisioningFailed", 'storageclass "fast" not found'),),
        (claim("home", "Pending"),),
    ),
    "FailedAttachVolume.multi": Example(
        "FailedAttachVolume", "volume_attach", "still attached to another machine",
        make_pod(conditions=[SCHEDULED], claims=HOME),
        (event("FailedAttachVolume", 'Multi-Attach error for volume "pvc-1"'),),
    ),
    "FailedAttachVolume": Example(
        "FailedAttachVolume", "volume_attach", "is not attached to the machine yet",
        make_pod(conditions=[SCHEDULED], claims=HOME),
        (event("FailedAttachVolume", 'AttachVolume.Attach failed for volume "pvc-1" : slow'),),
    ),
    "FailedMount.missing": Example(
        "FailedMount", "volume_mount", 'secret "git" not found',
        make_pod(conditions=[SCHEDULED]),
        (event("FailedMount", 'MountVolume.SetUp failed for volume "g" : secret "git" not found'),),
    ),
    "FailedMount": Example(
        "FailedMount", "volume_attach", "is not available on the machine yet",
        make_pod(conditions=[SCHEDULED], claims=HOME),
        (event("FailedMount", "unmounted volumes=[home]: timed out waiting for the condition"),),
    ),
    # --- the machine's own troubles
    "FailedCreatePodSandBox": Example(
        "FailedCreatePodSandBox", "sandbox", "could not prepare the network",
        make_pod(conditions=[SCHEDULED]),
        (event("FailedCreatePodSandBox", "plugin type=cni: no addresses"),),
    ),
    "FailedPrepareDynamicResources": Example(
        "FailedPrepareDynamicResources", "sandbox", "could not prepare the device",
        make_pod(conditions=[SCHEDULED]),
        (event("FailedPrepareDynamicResources", "claim gpu: no driver"),),
    ),
    "Unknown": Example(
        "Unknown", "node", "The machine of the server does not answer",
        make_pod(conditions=[SCHEDULED], phase="Unknown"),
    ),
    # --- images
    "pull.not_found": Example(
        "ErrImagePull", "pull_definite", f"There is no image {IMG}",
        stuck("ErrImagePull", f'failed to resolve reference "{IMG}": not found'),
    ),
    "pull.denied": Example(
        "ErrImagePull", "pull_definite", "it is private, or it does not exist",
        stuck("ErrImagePull", "pull access denied, authorization failed"),
    ),
    "pull.platform": Example(
        "ErrImagePull", "pull_definite", "not made for the processors",
        stuck("ErrImagePull", "no match for platform in manifest: not found"),
    ),
    "pull.signature": Example(
        "SignatureValidationFailed", "pull_definite", "signature of the image",
        stuck("SignatureValidationFailed", "policy"),
    ),
    "pull.inspect": Example(
        "ImageInspectError", "pull_definite", "cannot read the image",
        stuck("ImageInspectError", "broken layer"),
    ),
    "pull.transient": Example(
        "ErrImagePull", "pull_transient", "could not be downloaded this time (connection reset",
        stuck("ErrImagePull", "rpc error: code = Unknown desc = connection reset by peer"),
    ),
    "pull": Example(
        "ImagePullBackOff", "pull_transient", "could not be downloaded",
        stuck("ImagePullBackOff", "Back-off pulling image"),
    ),
    "InvalidImageName": Example(
        "InvalidImageName", "spec", "is not written in a valid way",
        stuck("InvalidImageName", "invalid reference format"),
    ),
    "ErrImageNeverPull": Example(
        "ErrImageNeverPull", "spec", "it may not be downloaded",
        stuck("ErrImageNeverPull", "pull policy of Never"),
    ),
    # --- containers
    "CreateContainerConfigError": Example(
        "CreateContainerConfigError", "config", 'secret "git" not found',
        stuck("CreateContainerConfigError", 'secret "git" not found'),
    ),
    "CreateContainerConfigError.transient": Example(
        "CreateContainerConfigError", "config_transient", "not yet fetched what the container",
        stuck("CreateContainerConfigError", "failed to sync secret cache: timed out"),
    ),
    "CreateContainerError": Example(
        "CreateContainerError", "create", 'create the container "notebook" (no such device)',
        stuck("CreateContainerError", "no such device"),
    ),
    "start.missing": Example(
        "RunContainerError", "crash", "its command is not in the image",
        make_pod(
            waiting("notebook", "RunContainerError", "executable file not found", restarts=2),
            conditions=NOT_READY,
        ),
    ),
    "start.denied": Example(
        "RunContainerError", "crash", "its command may not be run",
        make_pod(waiting("notebook", "RunContainerError", "exec: permission denied", restarts=2)),
    ),
    "start.format": Example(
        "RunContainerError", "crash", "another kind of processor",
        make_pod(waiting("notebook", "RunContainerError", "exec format error", restarts=2)),
    ),
    "start": Example(
        "RunContainerError", "crash", "could not be started (cannot set hostname)",
        make_pod(waiting("notebook", "RunContainerError", "cannot set hostname", restarts=3)),
    ),
    "PostStartHookError": Example(
        "PostStartHookError", "hook", "right after its start has failed (exit code 7)",
        make_pod(waiting("notebook", "PostStartHookError", "'x' exited with 7: ", restarts=1)),
    ),
    "OOMKilled": Example(
        "CrashLoopBackOff", "crash", "needed more memory than it may use (1Gi)",
        make_pod(
            crashing("notebook", 2, ending(137, "OOMKilled")),
            containers=[container("notebook", resources={"limits": {"memory": "1Gi"}})],
        ),
    ),
    "crash": Example(
        "CrashLoopBackOff", "crash", "stopped 4 times, last with exit code 1", crashed(1)
    ),
    "crash.126": Example("CrashLoopBackOff", "crash", "exit code 126", crashed(126)),
    "crash.127": Example("CrashLoopBackOff", "crash", "exit code 127", crashed(127)),
    "crash.137": Example("CrashLoopBackOff", "crash", "exit code 137", crashed(137)),
    "crash.unknown": Example(
        "CrashLoopBackOff", "crash", "keeps stopping",
        make_pod(waiting("notebook", "CrashLoopBackOff", restarts=3)),
    ),
    "ended": Example(
        "Completed", "gone", "ended by itself (exit code 0)", make_pod(ended("notebook"))
    ),
    "helper.ended": Example(
        "Completed", "completed", 'The container "sync" has ended',
        make_pod(
            running("notebook"),
            ended("sync"),
            containers=[container("notebook"), container("sync")],
            conditions=NOT_READY,
            phase="Running",
        ),
    ),
    "Unhealthy": Example(
        "Unhealthy", "probe", "is running but does not answer yet",
        make_pod(running("notebook", ready=False), conditions=NOT_READY, phase="Running"),
        (event("Unhealthy", "Readiness probe failed: refused", about="notebook"),),
    ),
    "gates": Example(
        "ReadinessGatesNotReady", "event", "waiting for lb.example/in",
        make_pod(
            running("notebook"),
            conditions=[SCHEDULED, condition("Ready", False, "ReadinessGatesNotReady")],
            phase="Running",
            spec={"readinessGates": [{"conditionType": "lb.example/in"}]},
        ),
    ),
    # --- the end of a pod
    "Evicted.limit": Example(
        "Evicted", "gone", "more to the disk of its machine than it may (Pod ephemeral",
        over("Evicted", "Pod ephemeral local storage usage exceeds the total limit 5Mi."),
    ),
    "Evicted.storage": Example(
        "Evicted", "gone", "out of disk space",
        over("Evicted", "The node was low on resource: ephemeral-storage."),
    ),
    "Evicted.memory": Example(
        "Evicted", "gone", "out of memory", over("Evicted", "The node was low on memory")
    ),
    "Evicted": Example("Evicted", "gone", "had to end your server", over("Evicted", "low on pids")),
    "preempted": Example("Preempting", "gone", "a more important one", over("Preempting", "x")),
    "rejected": Example("OutOfcpu", "gone", "did not accept the server", over("OutOfcpu", "x")),
    "shutdown": Example("Terminated", "gone", "was shut down", over("Terminated", "shutdown")),
    "DeadlineExceeded": Example("DeadlineExceeded", "gone", "is over", over("DeadlineExceeded")),
    "NodeLost": Example("NodeLost", "gone", "does not answer any more", over("NodeLost")),
    "PodFailed": Example("PodFailed", "gone", "The server has ended", make_pod(phase="Failed")),
    "Terminating": Example(
        "Terminating", "gone", "is being stopped", deleted(make_pod(running("notebook")))
    ),
    "gone": Example(
        "PodDeleted", "gone", "removed from the cluster", make_pod(running("notebook")), gone=True
    ),
    # --- creation
    "create.quota": Example(
        "Forbidden", "spec", 'quota "team" does not allow this server: it needs 3 (limits.cpu)',
        PLAN,
        error=forbidden(
            "exceeded quota: team, requested: limits.cpu=3, used: limits.cpu=9, limited: "
            "limits.cpu=10"
        ),
    ),
    "create.storage_quota": Example(
        "Forbidden", "spec", 'quota "team" does not allow more storage',
        PLAN,
        error=forbidden(
            "exceeded quota: team, requested: requests.storage=1Gi, used: requests.storage=9Gi, "
            "limited: requests.storage=9Gi", "persistentvolumeclaims", "home",
        ),
    ),
    "create.quota_unspecified": Example(
        "Forbidden", "spec", "say how much they need (must specify limits.memory for",
        PLAN,
        error=forbidden("failed quota: team: must specify limits.memory for: notebook"),
    ),
    "create.limit": Example(
        "Forbidden", "spec", "(memory: 4Gi asked, at most 2Gi per container; cpu: at least 1 per",
        PLAN,
        error=forbidden(
            "[maximum memory usage per Container is 2Gi, but limit is 4Gi, "
            "minimum cpu usage per Pod is 1. No request is specified]"
        ),
    ),
    "create.pod_security": Example(
        "Forbidden", "spec", 'level "restricted" of the cluster forbids this server (allow',
        PLAN,
        error=forbidden(
            'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false '
            '(container "notebook" must set securityContext.allowPrivilegeEscalation=false)'
        ),
    ),
    "create.webhook": Example(
        "BadRequest", "spec", "forbids this server: images must come from quay.io.",
        PLAN,
        error=refused(
            400, 'admission webhook "check.example" denied the request: images must come from '
            "quay.io"
        ),
    ),
    "create.webhook_down": Example(
        "InternalError", "create_transient", "that checks new servers does not answer",
        PLAN,
        error=refused(500, 'Internal error occurred: failed calling webhook "check.example": EOF'),
    ),
    "create.policy": Example(
        "Forbidden", "spec", 'cluster forbids this server ([provider "any": Forbidden: not usable',
        PLAN,
        error=forbidden("unable to validate against any security context constraint: "
            '[provider "any": Forbidden: not usable by user]'),
    ),
    "create.rbac": Example(
        "Forbidden", "spec", "The hub is not allowed",
        PLAN,
        error=refused(
            403, 'pods is forbidden: User "system:serviceaccount:hub:hub" cannot create resource '
            '"pods" in API group "" in the namespace "hub"'
        ),
    ),
    "create.service_account": Example(
        "Forbidden", "spec", 'The account "gpu-user"',
        PLAN,
        error=forbidden(
            'error looking up service account hub/gpu-user: serviceaccount "gpu-user" not found'
        ),
    ),
    "create.namespace": Example(
        "NotFound", "spec", 'The place "user-ada"',
        PLAN,
        error=refused(404, 'namespaces "user-ada" not found', "NotFound"),
    ),
    "create.invalid": Example(
        "Invalid", "spec",
        'settings of "Starting session" are not valid (resources.requests: Invalid value: must be',
        PLAN,
        error=refused(
            422, 'Pod "jupyter-ada" is invalid: [...]', "Invalid",
            causes=[
                {
                    "field": "spec.containers[0].resources.requests",
                    "message": 'Invalid value: "4Gi": must be less than or equal to memory limit',
                },
                {"field": "spec.volumes[1].name", "message": 'Duplicate value: "home"'},
            ],
        ),
    ),
    "create.missing": Example(
        "Forbidden", "spec", "does not exist (no PriorityClass with name gold was found",
        PLAN,
        error=forbidden("no PriorityClass with name gold was found"),
    ),
    "create.exists": Example(
        "AlreadyExists", "create_transient", "still being removed",
        PLAN,
        error=refused(409, 'object is being deleted: pods "jupyter-ada" already exists'),
    ),
    "create.silent": Example(
        "NoAnswer", "create_transient", "The cluster does not answer.",
        PLAN,
        error={"code": 503, "reason": "NoAnswer", "message": "Cannot connect to host 10.0.0.1"},
    ),
    "create.busy": Example(
        "TooManyRequests", "create_transient", "The cluster is too busy",
        PLAN,
        error=refused(429, "the server has received too many requests"),
    ),
    "create.forbidden": Example(
        "Forbidden", "spec", "refused the server (not today)", PLAN, error=forbidden("not today")
    ),
    "event": Example(
        "NetworkNotAvailable", "event", "reports a problem: NetworkNotAvailable",
        make_pod(conditions=[SCHEDULED]), (event("NetworkNotAvailable", "x"),),
    ),
}  # fmt: skip
