"""The command line: `python -m detailedspawner explain` and `check`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from .explaining import NoPod, as_text, explain, read_documents
from .pods import PodSettings

WRONG_INPUT = 2
_RED, _GREEN, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLORS = {
    **{"failed": _RED, "FAILED": _RED, "wrong": _RED},
    **{"ready": _GREEN, "ok": _GREEN, "executing": _YELLOW, "note": _YELLOW},
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 0, 1 if something is wrong, 2 for wrong input."""
    options = _parser().parse_args(arguments)
    try:
        return _explain(options) if options.command == "explain" else _check(options)
    except BrokenPipeError:
        # the reader of our output has gone, as `head` does
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m detailedspawner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    explaining = commands.add_parser(
        "explain",
        help="say of a pod what its page says",
        description="Say of a pod what its page says, from `kubectl get pod NAME -o json` "
        "or, with events, from `kubectl get pod,events -o json`.",
    )
    explaining.add_argument("file", nargs="?", default="-", help="JSON (default: standard input)")
    explaining.add_argument("--pod", metavar="NAME", help="of several pods, only this one")
    explaining.add_argument("--json", action="store_true", help="print the status as JSON")
    checking = commands.add_parser(
        "check",
        help="try what an installation needs",
        description="Try what an installation needs: its files, its configuration, its rights "
        "in the cluster, its proxy.",
    )
    checking.add_argument(
        "--namespace", help="where servers run, if the configuration does not say"
    )
    checking.add_argument("--proxy-url", help="where the Hub reaches the proxy")
    for command in (explaining, checking):
        command.add_argument(
            "--config", metavar="FILE", help="jupyterhub_config.py, for its settings"
        )
    return parser


def _explain(options: argparse.Namespace) -> int:
    settings = PodSettings()
    if options.config:
        from .checking import WrongConfig, configured_settings

        try:
            settings = configured_settings(options.config)
        except WrongConfig as error:
            return _refuse(f"{options.config}: {error}")
    if options.file == "-" and sys.stdin.isatty():
        return _refuse("give a file, or pipe `kubectl get pod NAME -o json` into this")
    try:
        raw = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
        found = explain(read_documents(raw, options.pod), time.time(), settings)
    except NoPod as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{options.file}: {error.strerror}")
    if options.json:
        statuses = [item.status.to_dict() for item in found]
        print(json.dumps(statuses[0] if len(statuses) == 1 else statuses, indent=2))
        return 0
    for number, item in enumerate(found):
        lines = as_text(item)
        _write(sys.stdout, [*([""] if number else []), *(_colored_explained(lines))])
    return 0


def _check(options: argparse.Namespace) -> int:
    from .checking import check

    findings = check(options.config, options.namespace, options.proxy_url)
    for finding in findings:
        state = {True: "ok", False: "wrong", None: "note"}[finding.ok]
        _write(sys.stdout, [f"{_colored(state, 7)}  {finding.about}: {finding.message}"])
    return 1 if any(finding.ok is False for finding in findings) else 0


def _colored_explained(lines: list[str]) -> list[str]:
    if not _colors():
        return lines
    shown = []
    for line in lines:
        word = line.strip().partition(" ")[0]
        color = _COLORS.get(word) if line.startswith("  ") and line[2:3].strip() else None
        shown.append(line.replace(word, f"{color}{word}{_PLAIN}", 1) if color else line)
    return shown


def _colored(word: str, width: int) -> str:
    padded = f"{word:<{width}}"
    return f"{_COLORS[word]}{padded}{_PLAIN}" if _colors() else padded


def _colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _write(stream: TextIO, lines: Sequence[str]) -> None:
    """Print lines; what the terminal cannot show becomes a question mark."""
    encoding = stream.encoding or "utf-8"
    for line in lines:
        print(line.encode(encoding, "replace").decode(encoding), file=stream)


def _refuse(why: str) -> int:
    _write(sys.stderr, [f"error: {why}"])
    return WRONG_INPUT
