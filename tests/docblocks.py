"""The fenced blocks of the documentation's pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@dataclass(frozen=True)
class Block:
    """A fenced block; of one in a list without the indent."""

    page: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    found = re.finditer(r"^( *)```(\S*)\n(.*?)^\1```$", page.read_text(), re.M | re.S)
    for indent, language, text in (match.groups() for match in found):
        yield Block(page.name, language, re.sub(rf"^{indent}", "", text, flags=re.M))


def texts(name: str, language: str) -> list[str]:
    """Return the texts of a page's blocks in a language."""
    (page,) = [page for page in PAGES if page.name == name]
    return [block.text for block in blocks(page) if block.language == language]
