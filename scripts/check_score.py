"""Run a score program on an implementation and fail below the thresholds.

Usage: check_score.py PATH/TO/score.py MODULE:FUNCTION
"""

from __future__ import annotations

import re
import subprocess
import sys

# Shares of all judged pods.
THRESHOLDS = {"lenient": 0.97, "strict": 0.85, "severity": 0.90}


def shares(report: str) -> dict[str, float]:
    """Read the shares from the report's total and severity; what it does not say counts as 0."""
    found = dict.fromkeys(THRESHOLDS, 0.0)
    if total := re.search(
        r"^total +n= *(\d+) strict= *(\d+) lenient= *(\d+)", report, re.MULTILINE
    ):
        judged, strict, lenient = map(int, total.groups())
        found |= {"strict": strict / max(judged, 1), "lenient": lenient / max(judged, 1)}
    if severity := re.search(r"^severity equal: (\d+)/(\d+)", report, re.MULTILINE):
        equal, judged = map(int, severity.groups())
        found["severity"] = equal / max(judged, 1)
    return found


def main(program: str, implementation: str) -> int:
    """Return 0 if no pod raised and every share reaches its threshold, else 1."""
    command = [sys.executable, program, implementation]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="")
    missed = {
        name: share for name, share in shares(done.stdout).items() if share < THRESHOLDS[name]
    }
    for name, share in missed.items():
        print(f"{name}: {share:.1%} is below {THRESHOLDS[name]:.0%}")
    return 1 if done.returncode or missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
