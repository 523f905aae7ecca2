"""Writes the tables of docs/failures.md (`python -m tests.failurespage`); a test compares."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Sequence
from pathlib import Path

from detailedspawner.pods import DEFAULT_GRACES, TEXTS
from detailedspawner.pods.details import EXIT_CODES

from .failureexamples import EXAMPLES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "failures.md"

CLASSES = {
    "spec": "what was asked for can never be: an invalid name, a refusal, a lost claim",
    "gone": "the pod or a container has ended for good",
    "pull_definite": "the registry says that there is no such image, or not for this server",
    "pull_transient": "the registry did not deliver, or it is not known why",
    "config": "a container refers to something that does not exist",
    "config_transient": "what a container refers to is still being fetched",
    "create": "the machine cannot create a container",
    "create_transient": "the machine or the cluster is busy",
    "crash": "a container stops and is started again",
    "hook": "what a container does right after its start fails",
    "schedule_hopeless": "no machine could take the server, however empty",
    "schedule_full": "the machines are full, and none can be added",
    "schedule_waiting": "the machines are full",
    "schedule_scaling": "a machine is being added, or the server is in a queue",
    "volume_mount": "a volume refers to something that does not exist",
    "volume_attach": "a volume is not attached or mounted yet",
    "provisioning": "storage could not be created",
    "sandbox": "the machine cannot prepare network or devices",
    "probe": "a container runs and is not ready",
    "completed": "a helper has ended although it is needed",
    "event": "the cluster warns of something else",
    "node": "the machine does not answer",
}

_TABLE = re.compile(r"<!-- (?P<name>[\w ]+) -->\n.*?<!-- end -->", re.DOTALL)


def grace(kind: str) -> str:
    """Say the default grace of a class."""
    seconds = DEFAULT_GRACES[kind]
    return "never" if seconds is None else ("at once" if seconds == 0 else f"{seconds:g} s")


def tables() -> dict[str, str]:
    """Return what the page says of the code, by the name of its place."""
    fields = {
        name
        for text in TEXTS.values()
        for _, name, _, _ in string.Formatter().parse(f"{text.message}{text.hint or ''}")
        if name
    }
    classes = [(f"`{kind}`", grace(kind), what) for kind, what in CLASSES.items()]
    texts = [
        (f"`{key}`", f"`{EXAMPLES[key].reason}`", f"`{EXAMPLES[key].category}`", *text)
        for key, text in TEXTS.items()
    ]
    codes = [(str(code), words) for code, words in EXIT_CODES.items()]
    codes.append(("129 to 192", "ended by the signal that is the code less 128"))
    return {
        "classes": _table(("Class", "Ends the start after", ""), classes),
        "fields": textwrap.fill(", ".join(f"`{{{name}}}`" for name in sorted(fields)), 120),
        "texts": _table(("Key", "Reason", "Class", "What is said", "Hint"), texts),
        "exit codes": _table(("Code", ""), codes),
    }


def page(text: str) -> str:
    """Return the page with the tables as they are to be; the prose between them stays."""
    known = tables()

    def fresh(found: re.Match[str]) -> str:
        return f"<!-- {found['name']} -->\n\n{known[found['name']]}\n\n<!-- end -->"

    return _TABLE.sub(fresh, text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell or '') for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
