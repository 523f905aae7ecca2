"""The fenced blocks of the documentation's pages, and the commands in them and in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
FENCED = re.compile(r"^( *)```(\S*)(?: [^\n]*)?\n(.*?)^\1```$", re.M | re.S)
# a span of code that begins like a command, perhaps with variables before it
COMMAND = re.compile(
    r"([A-Z]+=\S+ )*(make|python|pip|kubectl|nox|curl|helm|docker|npm|git|jupyterhub|sh) .+"
    r"|([A-Z]+=\S+ )*(scripts|benchmarks|binder|\.ci)/.+"
)


@dataclass(frozen=True)
class Block:
    """A fenced block; of one in a list without the indent."""

    page: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    for indent, language, text in FENCED.findall(page.read_text()):
        yield Block(page.name, language, re.sub(rf"^{indent}", "", text, flags=re.M))


def texts(name: str, language: str) -> list[str]:
    """Return the texts of a page's blocks in a language."""
    (page,) = [page for page in PAGES if page.name == name]
    return [block.text for block in blocks(page) if block.language == language]


def command(name: str, begin: str) -> str:
    """Return the only command of a page that begins so."""
    (page,) = [page for page in PAGES if page.name == name]
    (found,) = {found for found in commands(page) if found.startswith(begin)}
    return found


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page, without comments: lines of a shell, and spans of code."""
    for block in blocks(page):
        if block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                if command := re.sub(r"(^|\s+)# .*", "", line).strip():
                    yield command
    text = FENCED.sub("", page.read_text())
    yield from (span for span in re.findall(r"`([^`\n]+)`", text) if COMMAND.fullmatch(span))
