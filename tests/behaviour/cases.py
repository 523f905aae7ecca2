"""The starts that the behaviour suite makes, and what must be seen of each.

Each case is a profile of one Hub. `steps` gives, for each step, the words that
its status went through; a word in brackets may be missed, since it can be over
before anybody looks. The same table holds for every cluster.
"""

from __future__ import annotations

import os
from typing import Any

BUSYBOX = os.environ.get("BUSYBOX_IMAGE", "127.0.0.1:5000/busybox:1")
SINGLEUSER = os.environ.get("SINGLEUSER_IMAGE", "127.0.0.1:5000/singleuser:1")
SLOW = os.environ.get("SLOW_IMAGE", "127.0.0.1:5000/slow:1")
# the image of the init container that Zero to JupyterHub adds
NETWORK_TOOLS = os.environ.get("NETWORK_TOOLS_IMAGE", "127.0.0.1:5000/network-tools:1")
MISSING = os.environ.get("MISSING_IMAGE", "127.0.0.1:5000/no-such-image:1")

# answers every request below 500, which is all that the Hub asks for
SERVER = ["sh", "-c", "exec python3 -m http.server 8888 --bind $POD_IP"]
POD_IP = {"POD_IP": {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}}


def container(name: str, script: str, **more: Any) -> dict[str, Any]:
    """A helper container that runs a shell script."""
    return {"name": name, "image": BUSYBOX, "command": ["sh", "-c", script], **more}


def probe(seconds: int) -> dict[str, Any]:
    """A probe that succeeds from so many seconds on."""
    return {"exec": {"command": ["true"]}, "initialDelaySeconds": seconds, "periodSeconds": 1}


def configure(c: Any) -> None:
    """Have a Hub start servers of the suite's image where a profile says nothing else."""
    c.KubeSpawner.image = SINGLEUSER
    c.KubeSpawner.cmd = SERVER
    c.KubeSpawner.args = []
    c.KubeSpawner.environment = POD_IP


FOREVER = "exec tail -f /dev/null"
THREE = [container(f"prepare-{name}", "sleep 2") for name in ("a", "b", "c")]
# what is over within a moment may have begun before the stream was open
DONE = "(waiting) (executing) ready"
# what comes before the containers in every start that gets a machine
PLACED = {"Finding a machine": DONE, "Downloading image": DONE}

CASES: dict[str, dict[str, Any]] = {
    "plain": {
        "override": {"cmd": ["jupyterhub-singleuser"]},
        "steps": {**PLACED, "Starting session": "waiting (executing) ready"},
        "total": 1,
    },
    "three-init-containers": {
        "override": {"init_containers": THREE},
        "steps": {
            **PLACED,
            "Prepare a": "waiting executing ready",
            "Prepare b": "waiting executing ready",
            "Prepare c": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 4,
    },
    "native-sidecar": {
        "override": {
            "init_containers": [
                container("proxy", FOREVER, restartPolicy="Always", startupProbe=probe(4)),
                container("after-proxy", "sleep 1"),
            ]
        },
        "steps": {
            **PLACED,
            "Proxy": "waiting executing ready",
            "After proxy": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 3,
    },
    "native-sidecar-readiness": {
        # the main container is ready long before: the start waits for the sidecar
        "override": {
            "init_containers": [
                container("proxy", FOREVER, restartPolicy="Always", readinessProbe=probe(7)),
            ]
        },
        "steps": {
            **PLACED,
            "Proxy": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 2,
    },
    "ordinary-sidecar": {
        "override": {"extra_containers": [container("sync", FOREVER, readinessProbe=probe(3))]},
        "steps": {
            **PLACED,
            "Sync": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 2,
    },
    "completing-sidecar": {
        "override": {
            "extra_containers": [container("report", "sleep 2")],
            "completing_containers": ["report"],
        },
        "steps": {
            **PLACED,
            # a container without a readiness probe is ready while it runs
            "Report": "waiting (executing) ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 2,
    },
    "slow-pull": {
        "override": {"image": SLOW, "image_pull_policy": "Always"},
        "steps": {
            "Finding a machine": DONE,
            "Downloading image": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 1,
    },
    "missing-image": {
        "override": {"image": MISSING, "failure_graces": {"pull_definite": 3}},
        "steps": {
            "Finding a machine": DONE,
            "Downloading image": "waiting (executing) failed",
            "Starting session": "waiting",
        },
        "total": 1,
        "fails": r"no image .*no-such-image:1",
    },
    "crashing-init-container": {
        "override": {"init_containers": [container("clone", "sleep 1; echo no such repo; exit 3")]},
        "steps": {
            "Finding a machine": DONE,
            "Downloading image": "waiting",
            "Clone": "waiting executing failed",
            "Starting session": "waiting",
        },
        "repeats": ["Clone"],
        "total": 2,
        "fails": r"exit code 3",
    },
    "out-of-memory": {
        "override": {
            "init_containers": [
                {
                    "name": "build",
                    "image": SINGLEUSER,
                    "command": ["python3", "-c", "import time; time.sleep(1); b'x' * 10**9"],
                    "resources": {"limits": {"memory": "64Mi"}},
                }
            ]
        },
        "steps": {
            "Finding a machine": DONE,
            "Downloading image": "waiting (executing) (ready)",
            "Build": "waiting executing failed",
            "Starting session": "waiting",
        },
        "repeats": ["Build"],
        "total": 2,
        "fails": r'"build" needed more memory',
    },
    "unschedulable": {
        "override": {"mem_guarantee": "900G", "start_timeout": 8},
        "steps": {
            "Finding a machine": "(waiting) executing failed",
            "Downloading image": "waiting",
            "Starting session": "waiting",
        },
        "total": 1,
        "fails": r"Finding a machine.*8 seconds.*memory",
    },
    "missing-secret": {
        "override": {
            "environment": {
                **POD_IP,
                "TOKEN": {"valueFrom": {"secretKeyRef": {"name": "no-secret", "key": "token"}}},
            },
            "failure_graces": {"config": 2},
        },
        "steps": {**PLACED, "Starting session": "waiting (executing) failed"},
        "total": 1,
        "fails": r"no-secret",
    },
    "claim": {
        "override": {
            "storage_pvc_ensure": True,
            "storage_capacity": "1Gi",
            "storage_class": "standard",
            "storage_access_modes": ["ReadWriteOnce"],
            "volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "{pvc_name}"}}],
            "volume_mounts": [{"name": "home", "mountPath": "/data"}],
        },
        "steps": {
            "Preparing storage": DONE,
            **PLACED,
            "Starting session": "waiting (executing) ready",
        },
        "total": 1,
    },
    "events-disabled": {
        "override": {"init_containers": THREE, "events_enabled": False},
        "steps": {
            **PLACED,
            "Prepare a": "waiting executing ready",
            "Prepare b": "waiting executing ready",
            "Prepare c": "waiting executing ready",
            "Starting session": "waiting (executing) ready",
        },
        "total": 4,
        "no_raw_events": True,
    },
}


# every start ends with asking the server, if it comes so far
CONNECTION = "Connecting to the session"
for case in CASES.values():
    # the Hub of the suite has a hook
    case["steps"] = {"Preparing": DONE, **case["steps"]}
    case["steps"][CONNECTION] = "waiting" if "fails" in case else "waiting executing ready"


# a session of seven containers, of which two are ready while the third is at work
SEVEN: dict[str, Any] = {
    "step_names": {
        "init-certificates": "Initialization",
        "download-image": "Downloading session image",
        "git-clone": "Cloning and configuring the repository",
        "git-proxy": "Git credentials services",
        "oauth2-proxy": "Authentication and proxying services",
        "git-sidecar": "Auxiliary session services",
    },
    "init_containers": [
        container("init-certificates", "true"),
        container("download-image", "true"),
        container("git-clone", "sleep 6"),
        container("git-proxy", FOREVER, restartPolicy="Always"),
        container("oauth2-proxy", FOREVER, restartPolicy="Always"),
    ],
    "extra_containers": [container("git-sidecar", FOREVER)],
}


def profiles() -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    seven = {"slug": "seven", "display_name": "seven", "kubespawner_override": SEVEN}
    cases = [
        {"slug": slug, "display_name": slug, "kubespawner_override": case["override"]}
        for slug, case in CASES.items()
    ]
    return [*cases, seven]
