"""`python -m detailedspawner.demo`: a Hub to try, with an embedded stand-in for a cluster."""

from __future__ import annotations

import argparse
import asyncio
import sys

from . import checks


def main() -> str | None:
    """Run the demo until it is stopped; return what made it impossible, for `sys.exit`."""
    parser = argparse.ArgumentParser(prog="python -m detailedspawner.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="on 127.0.0.1 (default: 8000)")
    parser.add_argument("--base-url", default="/", help="path below which the Hub is served")
    options = parser.parse_args()
    if found := checks.problem(options.port):
        return f"error: {found}"
    # Not before the checks: elsewhere than on Linux its imports would be what fails.
    from .launcher import DemoError, run

    try:
        asyncio.run(run(options.port, f"/{options.base_url.strip('/')}/".replace("//", "/")))
    except DemoError as error:
        return f"error: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
