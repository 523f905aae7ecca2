"""What the demo needs of the machine; standard library only, so that it runs before an install."""

from __future__ import annotations

import socket
import sys

_MACOS_HINT = (
    " Each pod has a loopback address of its own, and macOS has only 127.0.0.1 until an"
    " administrator adds more (ifconfig lo0 alias 127.0.0.2): use a Linux virtual machine."
)


def problem(port: int, platform: str = sys.platform) -> str | None:
    """Say why the demo cannot run on this machine and port, or None."""
    if platform != "linux":
        hint = _MACOS_HINT if platform == "darwin" else ""
        return f"the demo needs Linux, and this is {platform}.{hint}"
    with socket.socket() as probe:
        # As the proxy does it: a port that a stopped demo has just left counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            return f"cannot listen on port {port} ({error}): choose another one with PORT="
    return None


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__" and (_found := problem(int(sys.argv[1]))):
    sys.exit(f"error: {_found}")
