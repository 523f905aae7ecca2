"""What the demo offers to start: two starts that work, a slow one and three that fail."""

from __future__ import annotations

from typing import Any

# Container -> the name of its step on the page; KubeSpawner calls the main one "notebook".
STEP_NAMES = {
    "init-certificates": "Initialization",
    "download-image": "Downloading session image",
    "git-clone": "Cloning and configuring the repository",
    "git-proxy": "Git credentials services",
    "oauth2-proxy": "Authentication and proxying services",
    "git-sidecar": "Auxiliary session services",
    "notebook": "Starting session",
}


def _container(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox:1", "command": ["sh", "-c", script]} | more


def _service(name: str, seconds: int, **more: Any) -> dict[str, Any]:
    """A container that runs along with the session, ready after some seconds."""
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": seconds, "periodSeconds": 1}
    return _container(name, "exec tail -f /dev/null", startupProbe=probe, **more)


def _profile(name: str, description: str, **override: Any) -> dict[str, Any]:
    return {
        "slug": name.lower().replace(" ", "-"),
        "display_name": name,
        "description": description,
        "kubespawner_override": override,
    }


_INIT_CONTAINERS = [
    _container("init-certificates", "echo adding the certificate authority; sleep 2"),
    _container("download-image", "echo downloading the session image; sleep 3"),
    _container("git-clone", "echo cloning the repository; sleep 4"),
    # Native sidecars: started in their turn, and running until the session ends.
    _service("git-proxy", 1, restartPolicy="Always"),
    _service("oauth2-proxy", 2, restartPolicy="Always"),
]
_FAILING_CLONE = "sleep 2; echo 'fatal: repository https://git.example.org/none not found'; exit 1"

PROFILES = [
    _profile("JupyterLab", "A plain start: one container.") | {"default": True},
    _profile(
        "Session with repository",
        "Seven containers: three prepare, three run along, and JupyterLab.",
        init_containers=_INIT_CONTAINERS,
        extra_containers=[_service("git-sidecar", 3)],
    ),
    _profile("Large image", "An image that takes 8 seconds to download.", image="slow:1"),
    _profile("Missing image", "Fails: there is no such image.", image="no-such-image:1"),
    _profile(
        "Failing preparation",
        "Fails: the repository cannot be cloned.",
        init_containers=[_container("git-clone", _FAILING_CLONE)],
    ),
    _profile(
        "Too large",
        "Fails: no machine has so much memory. Room may come, so it waits for 45 seconds.",
        mem_guarantee="900G",
        start_timeout=45,
    ),
]
