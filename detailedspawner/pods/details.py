"""The cluster's own texts and exit codes: what they mean, and how to shorten them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ..models.text import clean, cut

# Codes above 128 mean: ended by the signal (code - 128).
EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        1: "the program reported an error",
        2: "the command was called in a wrong way, or reported an error",
        125: "the container could not be run",
        126: "the command may not be run",
        127: "the command was not found",
        128: "the program ended with an invalid code",
        130: "it was interrupted",
        132: "it used an instruction that this processor does not have",
        134: "the program crashed",
        135: "the program crashed while reading memory",
        136: "the program crashed while calculating",
        137: "it was killed, probably because it was out of memory",
        139: "the program crashed while using memory",
        141: "what it was writing to went away",
        143: "it was asked to stop",
        255: "the program reported an error",
    }
)

DETAIL_LENGTH = 200

_RPC = re.compile(r"rpc error: code = \w+(?: desc =)? ?")
_CONTAINER_ID = re.compile(r"\b(?:\w{1,20}://)?[0-9a-f]{32,64}\b")
_POD_ID = re.compile(r" ?\bpod=[^\s()]{1,300}\([^()]{0,100}\)")
# Docker Hub names the account, and sometimes its token, in the refusal.
_ACCOUNT = re.compile(r"(rate limit) as '?[^\s',:]{1,200}'?(?:: [^\s,]{1,300})?")
# What was called to mount a volume, before what it said.
_MOUNTING = re.compile(
    r"exit status \d{1,3} Mounting command: .{1,2000}? Output: (?:mount: )?(?:/\S{1,500}: )?"
    r"| dmesg\(1\) may have more information.{0,200}"
)
# Clauses that only say that something did not work, before the one that says why.
_LEADING = re.compile(
    r"(?:failed to|unable to|failed|error|err\w+|back-off|httpReadSeeker|\w+Volume\.\w+ failed"
    r"|(?:multi-attach )?error for volume|pod was rejected"
    r"|(?:pods?|persistentvolumeclaims?) \"[^\"]{1,253}\" is (?:invalid|forbidden))\b",
    re.IGNORECASE,
)
# An invalid value may be anything, also what was meant for an environment variable.
_VALUE = re.compile(
    r"\b((?:Invalid|Unsupported|Duplicate) value): (?:\"[^\"]{0,2000}\"?|\S{1,2000})"
)
_PREEMPTION = " preemption:"

_TRANSIENT_PULL = re.compile(
    r"QPS exceeded|\b429\b|too ?many ?requests|time(?:d )?-?out|deadline exceeded|"
    r"connection (?:reset|refused)|no route to host|network is unreachable|\bTLS\b|x509|"
    r"\bEOF\b|status(?: code)?:? 5\d\d|unavailable:? 5\d\d|service unavailable|bad gateway|"
    r"internal server error|no such host|server misbehaving|no space left|"
    r"temporary failure|try again|registry is unavailable|context canceled",
    re.IGNORECASE,
)
_PLATFORM = re.compile(r"no match for platform|no matching manifest", re.IGNORECASE)
_DENIED = re.compile(
    r"\bdenied\b|unauthorized|authentication required|\bforbidden\b|status(?: code)?:? 40[13]|"
    r"insufficient_scope|no basic auth",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"not found|manifest unknown|name unknown|does not exist|NotFound|repository name not known",
    re.IGNORECASE,
)
_EXEC = (
    ("format", re.compile(r"exec format error", re.IGNORECASE)),
    (
        "missing",
        re.compile(r"executable file not found|no such file or directory", re.IGNORECASE),
    ),
    ("denied", re.compile(r"permission denied", re.IGNORECASE)),
)


def exit_meaning(code: int) -> str:
    """Say in words what an exit code means, "" where it means nothing in particular."""
    if code in EXIT_CODES:
        return EXIT_CODES[code]
    return f"ended by signal {code - 128}" if 128 < code <= 192 else ""


def times(number: int) -> str:
    """Say how often something ended, up to what it ended with."""
    return {1: "once, with", 2: "twice, last with"}.get(number, f"{number} times, last with")


def _clauses(text: str) -> list[str]:
    """Split at ": ", but not inside of double quotes."""
    parts, start, quoted = [], 0, False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == ":" and not quoted and text[place + 1 : place + 2] == " ":
            parts.append(text[start:place])
            start = place + 2
    return [*parts, text[start:]]


def detail(text: str, length: int = DETAIL_LENGTH) -> str:
    """Shorten one of the cluster's messages to the clause that says what is wrong."""
    line = clean(text, 4000)
    line = line.split(_PREEMPTION, 1)[0]
    line = _VALUE.sub(r"\1", _ACCOUNT.sub(r"\1", line))
    line = _MOUNTING.sub("", line)
    line = _CONTAINER_ID.sub("", _POD_ID.sub("", _RPC.sub("", line)))
    clauses = [part for part in _clauses(line) if part.strip()]
    said = [part for part in clauses if not _LEADING.match(part.strip())] or clauses[-1:]
    return cut(" ".join(": ".join(said).split()), length)


def transient_detail(text: str, length: int = DETAIL_LENGTH) -> str:
    """Shorten the error of a download to what went wrong, without addresses if possible."""
    line = detail(text, 4000)
    clauses = _clauses(line)
    # Quoted are addresses and images, whose names may hold any of these words.
    telling = [
        place
        for place, clause in enumerate(clauses)
        if '"' not in clause and _TRANSIENT_PULL.search(clause)
    ]
    if telling:
        return cut(": ".join(clauses[telling[-1] :]), length)
    return cut(line, length)


def raw_detail(text: str) -> str | None:
    """Return the whole text for administrators: cleaned and without accounts, not shortened."""
    return _VALUE.sub(r"\1", _ACCOUNT.sub(r"\1", clean(text, 2000))) or None


def pull_error(reason: str, text: str, image: str) -> str:
    """Say what kind of pull error this is: not_found, denied, platform, transient or ""."""
    if reason == "SignatureValidationFailed":
        return "signature"
    if reason == "ImageInspectError":
        return "inspect"
    if reason == "RegistryUnavailable":
        return "transient"
    # The image's own name may hold any of these words.
    said = text.replace(image, "") if image else text
    for kind, pattern in (
        ("platform", _PLATFORM),
        ("transient", _TRANSIENT_PULL),
        ("denied", _DENIED),
        ("not_found", _NOT_FOUND),
    ):
        if pattern.search(said):
            return kind
    return ""


def exec_error(text: str) -> str:
    """Say why a command could not be run: missing, denied, format or "" for other causes."""
    return next((kind for kind, pattern in _EXEC if pattern.search(text)), "")
