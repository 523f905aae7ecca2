"""Starts that go wrong, and what must be said of each.

Each case is a profile of one Hub. `message` is the whole of what a person reads at the end,
or a pattern where a part of it differs from run to run; `$NAMESPACE` and `$USER` stand for
those of the run. `within` are the seconds in which the start must have ended. `users` tells
whether its user has to mend it, `counts` whether it is a reason to restart the Hub, so that it
counts toward `consecutive_failure_limit`. `objects` are there before the start, then `before` is
done; `beside` names the namespace of the suite in which it takes place, which has its own rules.
`meanwhile` is done to the cluster once `when` is true of the status. Cases that are `real` need
a real Kubernetes.
"""

from __future__ import annotations

import re
from typing import Any

from .cases import FOREVER, MISSING, SINGLEUSER, container, probe
from .failing import (
    SHORT,
    Failing,
    claim,
    delete_held,
    delete_pod,
    executing,
    filled,
    holder,
    python,
    volume,
    wait_for_holder,
    wants,
    with_claim,
)

FILLS_MEMORY = python("import time; time.sleep(1); b'x' * 10**9")
ASK_ADMIN = "Please tell the administrator; trying again will not help."
CHECK_COMMAND = "Does the image contain the start command (for a session: jupyterhub-singleuser)?"
SMALL = {"limits": {"memory": "64Mi"}}
NEVER = {"exec": {"command": ["false"]}, "periodSeconds": 1}

FAILURES: dict[str, Failing] = {
    # --- images
    "image-not-found": Failing(
        {"image": MISSING},
        f"There is no image {MISSING}.",
        hint="Check its name and its tag for typing errors.",
        within=20,
    ),
    "registry-refuses": Failing(
        {"image": "127.0.0.1:9/lab:1"},
        "The image 127.0.0.1:9/lab:1 could not be downloaded this time (connection refused).",
        hint="Usually this heals by itself. If not, try again later.",
        within=20,
        users=False,
        real=True,
    ),
    "invalid-image-name": Failing(
        {"image": "127.0.0.1:5000/Lab:1"},
        'The image name "127.0.0.1:5000/Lab:1" is not written in a valid way.',
        hint="Correct it: a name has lower-case letters and ends with :tag.",
        within=15,
        real=True,
    ),
    # --- what a container refers to
    "missing-secret": Failing(
        {"environment": wants("secretKeyRef", "no-secret", "token")},
        'The container "notebook" needs something that is missing or not allowed '
        '(secret "no-secret" not found).',
        hint=ASK_ADMIN,
        within=20,
    ),
    "missing-key": Failing(
        {"environment": wants("configMapKeyRef", "suite-settings", "size")},
        'The container "notebook" needs something that is missing or not allowed '
        "(couldn't find key size in ConfigMap $NAMESPACE/suite-settings).",
        hint=ASK_ADMIN,
        objects=(
            ("configmaps", {"metadata": {"name": "suite-settings"}, "data": {"color": "blue"}}),
        ),
        within=20,
    ),
    "missing-secret-volume": Failing(
        {
            "volumes": [{"name": "keys", "secret": {"secretName": "no-secret"}}],
            "volume_mounts": [{"name": "keys", "mountPath": "/keys"}],
        },
        'The volume "keys" cannot be used: secret "no-secret" not found.',
        hint="Something is missing in the setup. " + ASK_ADMIN,
        within=20,
        real=True,
    ),
    # --- containers that end
    "command-missing": Failing(
        {"cmd": ["no-such-command"]},
        'The container "notebook" could not be started: its command is not in the image.',
        hint=CHECK_COMMAND,
        within=60,
        real=True,
    ),
    "init-exit": Failing(
        {"init_containers": [container("clone", "echo no such repository; exit 1")]},
        'The container "clone" stopped 4 times, last with exit code 1 '
        "(the program reported an error).",
        hint="Its log says why. If that does not help, tell the administrator.",
        log_tail="no such repository",
        within=90,
    ),
    "init-memory": Failing(
        {
            "init_containers": [
                {"name": "build", "image": SINGLEUSER, "command": FILLS_MEMORY, "resources": SMALL}
            ]
        },
        'The container "build" needed more memory than it may use (64Mi), so it was ended.',
        hint="Choose an option with more memory.",
        within=60,
    ),
    "sidecar-crash": Failing(
        {
            "init_containers": [
                container("proxy", "exit 2", restartPolicy="Always", startupProbe=probe(5))
            ]
        },
        'The container "proxy" stopped 4 times, last with exit code 2 '
        "(the command was called in a wrong way, or reported an error).",
        hint="Its log says why. If that does not help, tell the administrator.",
        within=90,
    ),
    "helper-crash": Failing(
        {"extra_containers": [container("sync", "exit 139", readinessProbe=probe(5))]},
        'The container "sync" stopped 4 times, last with exit code 139 '
        "(the program crashed while using memory).",
        hint="Its log says why. If that does not help, tell the administrator.",
        within=90,
    ),
    "main-crash": Failing(
        {"cmd": python("import sys; sys.exit('no licence')")},
        'The container "notebook" stopped 4 times, last with exit code 1 '
        "(the program reported an error).",
        hint="Its log says why. If that does not help, tell the administrator.",
        log_tail="no licence",
        within=90,
    ),
    "main-memory": Failing(
        {"cmd": FILLS_MEMORY, "mem_limit": "64M"},
        'The container "notebook" needed more memory than it may use (64Mi), so it was ended.',
        hint="Choose an option with more memory.",
        within=60,
    ),
    "hook": Failing(
        {"lifecycle_hooks": {"postStart": {"exec": {"command": ["sh", "-c", "exit 7"]}}}},
        'What the container "notebook" does right after its start has failed (exit code 7).',
        hint="If this comes from your own settings, check them; else tell the administrator.",
        within=90,
        real=True,
    ),
    # --- storage
    "claim-missing": Failing(
        with_claim("no-claim"),
        'The storage "no-claim" that this server needs does not exist.',
        hint=ASK_ADMIN,
        within=20,
    ),
    "claim-without-class": Failing(
        with_claim("suite-unbound"),
        'Your storage "suite-unbound" could not be created '
        '(storageclass.storage.k8s.io "no-such-class" not found).',
        hint=ASK_ADMIN,
        objects=(claim("suite-unbound", storageClassName="no-such-class"),),
        within=40,
        users=False,
        counts=True,
        real=True,
    ),
    "claim-in-use": Failing(
        with_claim("suite-used", start_timeout=8),
        "“Preparing storage” did not finish: it took more than 8 seconds. "
        "Your storage is in use by another server.",
        objects=(
            *volume("suite-used"),
            holder("suite-used"),
        ),
        before=wait_for_holder("suite-used"),
        within=20,
        users=False,
        real=True,
    ),
    "claim-being-deleted": Failing(
        with_claim("suite-deleted"),
        'The storage "suite-deleted" is being deleted, so no server can use it any more.',
        hint="Stop the servers that still use it, then start this one again.",
        objects=(claim("suite-deleted"), holder("suite-deleted")),
        before=delete_held("suite-deleted"),
        within=20,
        real=True,
    ),
    "sub-path": Failing(
        {
            "volumes": [{"name": "shared", "emptyDir": {}}],
            "volume_mounts": [{"name": "shared", "mountPath": "/data", "subPath": "file/folder"}],
            "init_containers": [
                container(
                    "spoil",
                    "touch /shared/file",
                    volumeMounts=[{"name": "shared", "mountPath": "/shared"}],
                )
            ],
        },
        'The container "notebook" needs something that is missing or not allowed '
        '(failed to prepare subPath for volumeMount "shared" of container "notebook").',
        hint=ASK_ADMIN,
        within=30,
        real=True,
    ),
    "seccomp": Failing(
        {
            "extra_container_config": {
                "securityContext": {
                    "seccompProfile": {"type": "Localhost", "localhostProfile": "none.json"}
                }
            }
        },
        re.compile(
            r'The machine could not create the container "notebook" '
            r'\(cannot load seccomp profile "\S+/none.json": .*: no such file or directory\)\.'
        ),
        hint="Try again. If it happens again, tell the administrator.",
        within=30,
        real=True,
    ),
    "host-folder": Failing(
        {
            "volumes": [
                {"name": "share", "hostPath": {"path": "/no-such-folder", "type": "Directory"}}
            ],
            "volume_mounts": [{"name": "share", "mountPath": "/share"}],
        },
        'The volume "share" cannot be used: '
        "hostPath type check failed: /no-such-folder is not a directory.",
        hint="Something is missing in the setup. " + ASK_ADMIN,
        within=30,
        real=True,
    ),
    "share": Failing(
        {
            "volumes": [{"name": "share", "nfs": {"server": "127.0.0.1", "path": "/share"}}],
            "volume_mounts": [{"name": "share", "mountPath": "/share"}],
        },
        'The storage "share" is not available on the machine yet '
        "(mount failed: unknown filesystem type 'nfs').",
        hint="This may heal by itself. If it does not, tell the administrator.",
        within=30,
        counts=True,
        users=False,
        real=True,
    ),
    "runtime": Failing(
        {"extra_pod_config": {"runtimeClassName": "$NAMESPACE-none"}},
        "The machine could not prepare the network of the server.",
        hint="This often heals by itself. If it does not, tell the administrator.",
        objects=(("runtimeclasses", {"metadata": {"name": "$NAMESPACE-none"}, "handler": "none"}),),
        within=30,
        counts=True,
        users=False,
        real=True,
    ),
    # --- machines
    "node-selector": Failing(
        {"node_selector": {"suite/kind": "none"}},
        "None of the machines is of the kind that this option asks for.",
        hint="Choose another option, or tell the administrator; trying again will not help.",
        within=20,
    ),
    "too-much-memory": Failing(
        {"mem_guarantee": "900G", "start_timeout": 8},
        "“Finding a machine” did not finish: it took more than 8 seconds. "
        "At the moment no machine has enough memory free.",
        within=20,
        users=False,
    ),
    # --- refusals
    "quota": Failing(
        {},
        'The quota "suite" does not allow this server: it needs 1 (pods), and 0 of 0 are in use.',
        hint="Stop another server, choose a smaller option, or wait until something is free.",
        beside="quota",
        objects=(
            ("resourcequotas", {"metadata": {"name": "suite"}, "spec": {"hard": {"pods": "0"}}}),
        ),
        within=10,
        explained=False,
    ),
    "limit-range": Failing(
        {"mem_limit": "256M", "mem_guarantee": "1M"},
        "This option is not within the limits of the cluster "
        "(memory: 256Mi asked, at most 100Mi per container).",
        hint="Choose another option, or tell the administrator.",
        beside="limits",
        objects=(
            (
                "limitranges",
                {
                    "metadata": {"name": "suite"},
                    "spec": {"limits": [{"type": "Container", "max": {"memory": "100Mi"}}]},
                },
            ),
        ),
        within=10,
        real=True,
        explained=False,
    ),
    "pod-security": Failing(
        {},
        'The security level "restricted" of the cluster forbids this server '
        "(unrestricted capabilities, runAsNonRoot != true, seccompProfile).",
        hint="Choose another option, or tell the administrator; trying again will not help.",
        beside="restricted",
        within=10,
        real=True,
        explained=False,
    ),
    "service-account": Failing(
        {"service_account": "nobody"},
        'The account "nobody" under which this server is to run does not exist.',
        hint=ASK_ADMIN,
        within=10,
        real=True,
        explained=False,
    ),
    # --- pods that somebody ends
    "deleted-by-another": Failing(
        {"init_containers": [container("clone", "sleep 60")]},
        "The server was removed from the cluster.",
        hint="Start it again. If it happens again, tell the administrator.",
        when=executing("Clone"),
        meanwhile=delete_pod,
        within=40,
        users=False,
        counts=True,
        explained=False,
    ),
    "eviction": Failing(
        {
            "init_containers": [
                container(
                    "unpack",
                    "dd if=/dev/zero of=/large bs=1M count=60; sleep 100",
                    resources={"limits": {"ephemeral-storage": "10Mi"}},
                )
            ]
        },
        "Your server wrote more to the disk of its machine than it may "
        "(Pod ephemeral local storage usage exceeds the total limit of containers 10Mi).",
        hint="Start it again, and keep fewer files outside of your home.",
        within=60,
        real=True,
    ),
    # --- containers that are never ready
    "never-ready": Failing(
        {"extra_container_config": {"readinessProbe": NEVER}, "start_timeout": 12},
        "“Starting session” did not finish: it took more than 12 seconds. "
        'The container "notebook" is running but does not answer yet.',
        within=30,
    ),
    "helper-never-ready": Failing(
        {
            "extra_containers": [container("sync", FOREVER, readinessProbe=NEVER)],
            "start_timeout": 12,
        },
        "“Sync” did not finish: it took more than 12 seconds. "
        'The container "sync" is running but does not answer yet.',
        within=30,
    ),
}
# namespaces beside the suite's own, with their labels
BESIDE = {
    "quota": {},
    "limits": {},
    "restricted": {"pod-security.kubernetes.io/enforce": "restricted"},
}


def profile(case: Failing, namespace: str) -> dict[str, Any]:
    """Return what the profile of a case overrides."""
    override: dict[str, Any] = dict(case.override)
    override["failure_graces"] = {} if case.patient else SHORT
    if case.beside:
        override["namespace"] = f"{namespace}-{case.beside}"
    filled_in: dict[str, Any] = filled(override, namespace)
    return filled_in


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    return [
        {"slug": slug, "display_name": slug, "kubespawner_override": profile(case, namespace)}
        for slug, case in FAILURES.items()
    ]
