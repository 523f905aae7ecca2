"""A Hub to try, with an embedded stand-in for a cluster.

Run as a file with `--check` it needs the standard library only: before anything is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys


def problem(port: int, platform: str = sys.platform) -> str | None:
    """Say why the demo cannot run on this machine and port, or None."""
    if platform != "linux":
        return f"the demo needs Linux (each pod has its own loopback address); this is {platform}."
    with socket.socket() as probe:
        # As the proxy does it: a port that a stopped demo has just left counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            return f"cannot listen on port {port} ({error}): choose another one with PORT="
    return None


def main() -> str | None:
    """Run the demo until it is stopped; return what made it impossible, for `sys.exit`."""
    parser = argparse.ArgumentParser(prog="python -m detailedspawner.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="on 127.0.0.1 (default: 8000)")
    parser.add_argument("--base-url", default="/", help="path below which the Hub is served")
    parser.add_argument("--check", action="store_true", help="only say what would stop it")
    options = parser.parse_args()
    found = problem(options.port)
    if not found and not options.check:
        # Not before the check: elsewhere than on Linux its imports would be what fails.
        try:
            from .launcher import run
        except ModuleNotFoundError as error:
            if error.name != f"{__package__}.launcher":
                raise
            return "error: the demo is not part of the package: clone its repository, `make demo`."

        path = f"/{options.base_url.strip('/')}/".replace("//", "/")
        found = asyncio.run(run(options.port, path))
    return f"error: {found}" if found else None


if __name__ == "__main__":
    sys.exit(main())
