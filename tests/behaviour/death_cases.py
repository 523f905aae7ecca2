"""Servers that die after their start, and what must be said of each afterwards.

`die` is what the server's program does when it is asked to; without it somebody deletes its pod.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .failing import filled

# no braces: KubeSpawner fills them in
SCRIPT = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.endswith("/die"):
            exec(sys.argv[1])
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer((os.environ["POD_IP"], 8888), Handler).serve_forever()
"""
LAST_WORDS = "sys.stderr.write('no space left\\n'); os._exit(3)"


@dataclass(frozen=True)
class Dying:
    """One server that runs, and then does no more."""

    message: str
    override: dict[str, Any] = field(default_factory=dict)
    die: str = ""
    state: str = "failed"
    log_tail: str = ""
    # what may be read before the Hub has noticed
    meanwhile: tuple[str, ...] = ()
    real: bool = False


# by default the cluster starts a container again, and the Hub notices nothing
NEVER = {"extra_pod_config": {"restartPolicy": "Never"}}

DEATHS: dict[str, Dying] = {
    "memory": Dying(
        'The container "notebook" needed more memory than it may use (64Mi), so it was ended.',
        {"mem_limit": "64M", **NEVER},
        "b'x' * 10**9",
    ),
    "crash": Dying(
        'The container "notebook" stopped once, with exit code 3.',
        NEVER,
        LAST_WORDS,
        log_tail="no space left",
    ),
    "eviction": Dying(
        "Your server wrote more to the disk of its machine than it may "
        "(Pod ephemeral local storage usage exceeds the total limit of containers 10Mi).",
        {"extra_resource_limits": {"ephemeral-storage": "10Mi"}},
        "open('/home/jovyan/large', 'wb').write(b'x' * 60_000_000)",
        real=True,
    ),
    "deleted": Dying("The server was removed from the cluster."),
    # as a person does it from JupyterLab's menu
    "own-end": Dying(
        "The server is stopped.",
        die="os._exit(0)",
        state="stopped",
        meanwhile=(
            'The container "notebook" ended by itself (exit code 0).',
            "The server was removed from the cluster.",
        ),
    ),
}


# what the cluster does by default with a container that dies
AGAIN = replace(DEATHS["memory"], override={"mem_limit": "64M"})


def profiles(namespace: str) -> list[dict[str, Any]]:
    """Return the cases as KubeSpawner's `profile_list`."""
    return [
        {
            "slug": f"dies-{slug}",
            "display_name": slug,
            "kubespawner_override": {
                "cmd": ["python3", "-c", SCRIPT, case.die],
                **filled(case.override, namespace),
            },
        }
        for slug, case in {**DEATHS, "again": AGAIN}.items()
    ]
