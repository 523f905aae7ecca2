"""The documentation names everything, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from kubespawner import KubeSpawner

from detailedspawner import DetailedKubeSpawner

from .docblocks import PAGES, ROOT

OURS = sorted(
    set(DetailedKubeSpawner.class_trait_names(config=True))
    - set(KubeSpawner.class_trait_names(config=True))
)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub and MyST give to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("trait", OURS)
def test_the_help_of_a_trait_begins_with_an_imperative_sentence(trait: str) -> None:
    first = DetailedKubeSpawner.class_traits()[trait].help.strip().split("\n\n")[0]
    assert re.fullmatch(r"[A-Z][a-z]+\b[^.]*( as `[^`]*`)?[^.]*\.", first), first
    # "Names the …" and "The name of …" tell instead of asking to do
    assert first.split()[0] not in {"The", "A", "An", "Whether", "If", "How", "Which"}
    assert not first.split()[0].endswith("s"), first


def test_the_settings_are_those_that_there_are() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    listed = re.findall(r"autotrait:: detailedspawner\.DetailedKubeSpawner\.(\w+)", page)
    assert sorted(listed) == OURS


def test_each_field_of_the_api_is_in_the_documentation() -> None:
    openapi = yaml.safe_load((ROOT / "detailedspawner" / "openapi.yaml").read_text())
    words = set(re.findall(r"\w+", (ROOT / "docs" / "rest.md").read_text()))
    for name, schema in openapi["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            assert field in words, f"{name}.{field}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"(https?|mailto):", target):
            continue
        name, _, wanted = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        if wanted:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
            assert wanted in map(anchor, headings), target


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    listed = [
        line
        for tree in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", index, re.M | re.S)
        for line in tree.split()
    ]
    pages = [page.stem for page in (ROOT / "docs").glob("*.md") if page.stem != "index"]
    assert set(pages) <= set(listed)
