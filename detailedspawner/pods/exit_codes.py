"""Exit codes and their number, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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


def exit_meaning(code: int) -> str:
    """Say in words what an exit code means, "" where it means nothing in particular."""
    if code in EXIT_CODES:
        return EXIT_CODES[code]
    return f"ended by signal {code - 128}" if 128 < code <= 192 else ""


def times(number: int) -> str:
    """Say how often something ended, up to what it ended with."""
    return {1: "once, with", 2: "twice, last with"}.get(number, f"{number} times, last with")
