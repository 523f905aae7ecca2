"""What a container has written, as far as its user may see it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .redaction import LONGEST_TEXT, redact
from .text import last_lines, printable
from .values import Value

# of the end of a log
SHOWN_LINES = 200


@dataclass(frozen=True, slots=True)
class ContainerLog(Value):
    """The end of one container's log; empty if it has written nothing yet."""

    container: str
    text: str


def shown_log(raw: str, secrets: Iterable[str] = ()) -> str:
    """Return the end of a log as text: without secrets, escape sequences and blank lines.

    At most 200 lines and 16 384 characters; a line longer than 500 is cut.
    """
    text = raw[-LONGEST_TEXT:]
    if len(raw) > LONGEST_TEXT:
        # half a line may begin with half a secret, which nobody could tell
        text = text.partition("\n")[2]
    return last_lines(redact(printable(text), secrets), SHOWN_LINES)
