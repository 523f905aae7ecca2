"""The documentation names everything, its links lead somewhere, its examples work."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubespawner import KubeSpawner
from traitlets.config import Config

import detailedspawner
from detailedspawner import DetailedKubeSpawner
from detailedspawner.settings import check_config, check_names

from .docblocks import PAGES, ROOT, blocks

OURS = sorted(
    set(DetailedKubeSpawner.class_trait_names(config=True))
    - set(KubeSpawner.class_trait_names(config=True))
)
LANGUAGES = {
    "html",
    "python",
    "sh",
    "json",
    "yaml",
    "text",
    "dockerfile",
    "{eval-rst}",
    "{include}",
}

# Which command is run where. Every line of an `sh` block must begin like one of these.
RUN = {
    "make demo": "tests/test_demo_smoke.py",
    "make test": ".ci/run: make test",
    "pip install detailedspawner": ".ci/run: wheel, newest versions (from the built wheel)",
    "python -m detailedspawner check": "tests/test_cli.py",
    "kubectl exec deploy/hub -- python -m detailedspawner check": "tests/test_cli.py",
    "python benchmarks/latency.py": ".ci/run: latency on a cluster",
    "python benchmarks/waiting.py": "by hand: it loads the machine for minutes",
    'curl -H "Authorization: token $TOKEN" https://HUB': "tests/test_rest_status.py",
}
# whole pages whose blocks a test of their own runs as they stand
RUN_ELSEWHERE = {"rest.md": "tests/test_rest_examples.py"}


def all_blocks(*languages: str) -> list[Any]:
    return [
        pytest.param(page, block.text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page))
        if block.language in languages
    ]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_name_a_language_that_is_known(page: Path) -> None:
    assert page.read_text().count("```") % 2 == 0
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize(("page", "text"), all_blocks("python"))
def test_python_compiles_and_configurations_load(page: Path, text: str) -> None:
    code = compile(text, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not re.search(r"^c\.|configure\(c\)", text, re.M):
        return
    config = Config()
    exec(code, {"c": config, "detailedspawner": detailedspawner})  # noqa: S102
    check_config(config)
    check_names(config, set(DetailedKubeSpawner.class_trait_names(config=True)))
    for section in ("KubeSpawner", "DetailedKubeSpawner"):
        if section in config:
            unknown = set(config[section]) - set(DetailedKubeSpawner.class_trait_names())
            assert not unknown


@pytest.mark.parametrize(("page", "text"), all_blocks("sh"))
def test_shell_commands_parse_and_are_run_somewhere(page: Path, text: str) -> None:
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    if page.name in RUN_ELSEWHERE:
        return
    for line in text.splitlines():
        assert line.startswith(tuple(RUN)), f"say in RUN where this is run: {line}"


@pytest.mark.parametrize("where", [*RUN.values(), *RUN_ELSEWHERE.values()])
def test_what_is_said_to_run_them_exists(where: str) -> None:
    if where.startswith(".ci/run"):
        stage = where.split(": ", 1)[1].split(" (", maxsplit=1)[0]
        assert f'stage "{stage}"' in (ROOT / ".ci" / "run").read_text()
    elif not where.startswith("by hand"):
        assert (ROOT / where).is_file()


@pytest.mark.parametrize(("page", "text"), all_blocks("json", "yaml"))
def test_data_can_be_read(page: Path, text: str) -> None:
    assert page
    json.loads(text) if text.lstrip().startswith("{") else list(yaml.safe_load_all(text))
