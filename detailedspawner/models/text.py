"""Cleaning of text that comes from outside: clusters, registries, programs.

Everything here is pure and never raises for any string. Nothing is escaped for
HTML: that is done where the text is shown, so that it is done once.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

from .redaction import LONGEST_TEXT, without_secrets

SLACK = 600
LOG_LINES = 20
LOG_LINE_LENGTH = 500

# CSI, OSC (ended by BEL or ST, or by nothing when cut off) and two-character escapes.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_SEPARATORS = re.compile(r"[-_.\s]+")


def encodable(text: str) -> str:
    """Replace lone surrogates, which no encoder takes, by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shown(character: str) -> bool:
    # Cc: control; Cf: bidirectional overrides and zero-width; Co, Cn: no meaning to anybody.
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cn")


def printable(text: str) -> str:
    """Drop escape sequences and invisible characters; keep line ends and tabs."""
    text = _ANSI.sub("", encodable(text[:LONGEST_TEXT]))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isprintable():
        return text
    return "".join(character for character in text if _shown(character))


def cut(text: str, length: int) -> str:
    """Shorten to at most `length` characters, the last an ellipsis if anything was lost."""
    if len(text) <= length:
        return text
    return text[: max(length - 1, 0)].rstrip() + "…"


def clean(text: str, length: int = 500) -> str:
    """Make one safe, short line out of any text, without credentials."""
    # Some more than is kept, so that a secret at the cut is still known as one.
    line = " ".join(printable(text[: 4 * length + SLACK]).split())
    return cut(without_secrets(line[: length + SLACK]), length)


def last_lines(text: str, lines: int = LOG_LINES, length: int = LOG_LINE_LENGTH) -> str:
    """Return the end of a log: the last lines that are not blank, each cleaned and cut.

    Equal lines in a row are one, with how often it came.
    """
    # The end is what matters, so the cut is made at the other side than in `printable`.
    kept = [line.rstrip() for line in printable(text[-LONGEST_TEXT:]).split("\n")]
    counted = [(line, len(list(equal))) for line, equal in groupby(filter(None, kept))]
    shown = []
    for line, count in counted[-lines:]:
        text = cut(without_secrets(line[: length + SLACK]), length)
        shown.append(f"{text} ({count} times)" if count > 1 else text)
    return "\n".join(shown)


def readable_amount(resource: str, quantity: str) -> str:
    """Write an amount of memory or storage with a unit: "268435456" becomes "256Mi"."""
    if not re.search("memory|storage", resource) or not re.fullmatch("[0-9]{1,20}", quantity):
        return quantity
    amount, unit = float(quantity), ""
    for larger in ("Ki", "Mi", "Gi", "Ti"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f}".removesuffix(".0") + unit


def readable_name(name: str) -> str:
    """Turn a technical name into words: "git-clone" becomes "Git clone"."""
    words = _SEPARATORS.sub(" ", clean(name, 100)).strip()
    return words[:1].upper() + words[1:]
