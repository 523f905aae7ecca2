"""What the demo offers to start: three starts that work, one of them slow, and three that fail."""

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
    texts = {"display_name": name, "description": description}
    return {"slug": name.lower().replace(" ", "-"), **texts, "kubespawner_override": override}


_NO_CLONE = "sleep 2; echo 'fatal: repository https://git.example.org/none not found'; exit 1"
_FAILING = [_container("git-clone", _NO_CLONE)]
_SIDECARS = [_service("git-sidecar", 3)]
_INITS = [
    _container("init-certificates", "echo adding the certificate authority; sleep 2"),
    _container("download-image", "echo downloading the session image; sleep 3"),
    _container("git-clone", "echo cloning the repository; sleep 4"),
    # Native sidecars: started in their turn, and running until the session ends.
    _service("git-proxy", 1, restartPolicy="Always"),
    _service("oauth2-proxy", 2, restartPolicy="Always"),
]
# Far shorter than by default, which leaves time for an image that has just been pushed.
_ABSENT: dict[str, Any] = {"image": "no-such-image:1", "failure_graces": {"pull_definite": 15}}
_SEVEN = "Seven containers: three prepare, three run along, and JupyterLab."
_NO_ROOM = "Fails: no machine has so much memory. Room may come, so it waits for 45 seconds."
_NO_REPOSITORY = "Fails: the repository cannot be cloned."
PROFILES = [
    _profile("JupyterLab", "A plain start: one container.") | {"default": True},
    _profile("Session with repository", _SEVEN, init_containers=_INITS, extra_containers=_SIDECARS),
    _profile("Large image", "An image that takes 8 seconds to download.", image="slow:1"),
    _profile("Missing image", "Fails: there is no such image.", **_ABSENT),
    _profile("Failing preparation", _NO_REPOSITORY, init_containers=_FAILING),
    _profile("Too large", _NO_ROOM, mem_guarantee="900G", start_timeout=45),
]
