"""The check of the score fails whenever the score is too low or says nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "check_score.py"
GOOD = "total            n=100 strict= 85 lenient= 97 raised=0 not-judged=3"
SEVERITY = "severity equal: 90/100 (information only)"


@pytest.mark.parametrize(
    ("report", "exit_code", "passes"),
    [
        ([GOOD, SEVERITY], 0, True),
        ([GOOD.replace("97", "96"), SEVERITY], 0, False),
        ([GOOD.replace("85", "84"), SEVERITY], 0, False),
        ([GOOD, SEVERITY.replace("90", "89")], 0, False),
        ([GOOD], 0, False),
        ([], 0, False),
        ([GOOD, SEVERITY], 1, False),
        (
            ["total            n=  0 strict=  0 lenient=  0 raised=0 not-judged=0", SEVERITY],
            0,
            False,
        ),
    ],
    ids=[
        "all reached",
        "lenient",
        "strict",
        "severity",
        "no severity",
        "no report",
        "a pod raised",
        "no pods",
    ],
)
def test_check_score(report: list[str], exit_code: int, passes: bool, tmp_path: Path) -> None:
    program = tmp_path / "score.py"
    program.write_text("\n".join([*(f"print({line!r})" for line in report), f"exit({exit_code})"]))

    done = subprocess.run(
        [sys.executable, SCRIPT, program, "module:function"], check=False, capture_output=True
    )

    assert (done.returncode == 0) == passes
