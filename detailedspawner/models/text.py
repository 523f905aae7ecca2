"""Cleaning of text that comes from outside: clusters, registries, programs.

Everything here is pure and never raises for any string. Nothing is escaped for
HTML: that is done where the text is shown, so that it is done once.
"""

from __future__ import annotations

import re
import unicodedata

# What is longer was never meant to be read, and would only slow the patterns down.
LONGEST_TEXT = 16_384
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
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]{1,512}@")
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_NAMED_SECRET = re.compile(
    r"(?P<name>(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|credential)"
    r"[\w-]{0,64})(?P<sign>\s{0,4}[=:]\s{0,4}|\"\s{0,4}:\s{0,4}\")(?P<value>[^\s\",;&]{4,})",
    re.IGNORECASE,
)
_KNOWN_TOKEN = re.compile(
    r"\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|dckr_\w{3,}_[\w-]{8,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|xox[abprs]-[\w-]{10,})"
)
_SECRET_WORDS = (
    *("bearer", "basic", "passw", "secret", "token", "key", "credential"),
    *("gh", "glpat", "dckr", "akia", "eyj", "xox"),
)
_SEPARATORS = re.compile(r"[-_.\s]+")

HIDDEN = "(hidden)"


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


def without_secrets(text: str) -> str:
    """Hide what looks like a credential: in URLs, headers, assignments, known tokens."""
    text = text[:LONGEST_TEXT]
    lower = text.lower()
    if "://" in text:
        text = _URL_CREDENTIALS.sub("", text)
    # Most texts have none of these, and the patterns below are slow to say so.
    if not any(word in lower for word in _SECRET_WORDS):
        return text
    text = _BEARER.sub(lambda found: f"{found.group(1)} {HIDDEN}", text)
    text = _KNOWN_TOKEN.sub(HIDDEN, text)
    return _NAMED_SECRET.sub(lambda found: found["name"] + found["sign"] + HIDDEN, text)


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
    """Return the end of a log: the last lines that are not blank, each cleaned and cut."""
    # The end is what matters, so the cut is made at the other side than in `printable`.
    kept = [line.rstrip() for line in printable(text[-LONGEST_TEXT:]).split("\n")]
    kept = [line for line in kept if line]
    return "\n".join(cut(without_secrets(line[: length + SLACK]), length) for line in kept[-lines:])


def readable_name(name: str) -> str:
    """Turn a technical name into words: "git-clone" becomes "Git clone"."""
    words = _SEPARATORS.sub(" ", clean(name, 100)).strip()
    return words[:1].upper() + words[1:]
