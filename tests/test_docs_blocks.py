"""Every command and example of the documentation is run: here, elsewhere, or not for a reason.

What is run elsewhere stands in a table with the place that does it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from jinja2 import nodes
from jupyterhub._data import DATA_FILES_PATH
from jupyterhub.app import JupyterHub
from traitlets.config.loader import LazyConfigValue

from detailedspawner import DetailedKubeSpawner
from detailedspawner.checking import load_config
from detailedspawner.settings import check_config, check_names
from detailedspawner.watch import FollowingReflector

from .docblocks import PAGES, ROOT, Block, blocks, commands, texts

CI = (ROOT / ".ci" / "run").read_text()
# what a configuration of the documentation may set: each section's class
SECTIONS = {
    "JupyterHub": JupyterHub,
    "KubeSpawner": DetailedKubeSpawner,
    "DetailedKubeSpawner": DetailedKubeSpawner,
    "FollowingReflector": FollowingReflector,
}


@dataclass(frozen=True)
class Run:
    """A file that runs it, and the line or words in there that do."""

    file: str
    by: str


@dataclass(frozen=True)
class NotRun:
    """Why nothing runs it."""

    reason: str


def stage(name: str, command: str) -> Run:
    return Run(".ci/run", f'stage "{name}" {command}\n')


FIRST_STEPS = "tests/behaviour/test_first_steps.py"
INSTALL = Run(FIRST_STEPS, "admin.run(INSTALL)")
LATENCY = stage("latency on a cluster", "on_cluster python benchmarks/latency.py")
WAITING = "python benchmarks/waiting.py --servers 50 --seconds 20"
SLOW = 'env SUITE_ALL=1 python -m pytest -n logical --dist loadfile -m "slow and not cluster" tests'
BEHAVIOUR = (
    'on_cluster python -m pytest -m "not smoke" tests/behaviour'
    " --ignore tests/behaviour/test_graces.py"
)
COMMANDS: dict[str, Run | NotRun] = {
    "make demo": Run("tests/test_demo_smoke.py", '["make", "demo"]'),
    "PORT=8001 make demo": Run("tests/test_demo_smoke.py", '"PORT": str(self.port)'),
    "make test": stage("make test", "env REQUIRE=browser make test"),
    # what it adds to `make test`
    "make test-all": stage("slow tests", SLOW),
    "make lint": stage("lint", "make lint"),
    "make docs": stage("documentation", "make docs"),
    "nox -l": stage("matrix of versions", "nox -l"),
    ".ci/run": NotRun("is what runs everything else"),
    "KUBECONFIG=~/.kube/test-cluster .venv/bin/python -m pytest tests/behaviour": stage(
        "behaviour on a cluster", BEHAVIOUR
    ),
    "KUBECONFIG=~/.kube/test-cluster PATH=$PWD/.venv/bin:$PATH"
    " scripts/kubespawner_tests ../kubespawner": stage(
        "KubeSpawner's own tests", 'on_cluster scripts/kubespawner_tests "$KUBESPAWNER" -q'
    ),
    "pip install detailedspawner": INSTALL,
    "python -m detailedspawner check --config jupyterhub_config.py": Run(
        FIRST_STEPS, "admin.run(CHECK)"
    ),
    "kubectl get pod,events -o json | python -m detailedspawner explain": Run(
        "tests/test_demo_kubectl.py", 'command("README.md", "kubectl get")'
    ),
    'curl -H "Authorization: token $TOKEN"'
    " https://HUB/hub/api/detailedspawner/users/NAME/server/status": Run(
        "tests/test_rest_examples.py", 'command("README.md", "curl")'
    ),
    "python benchmarks/latency.py": LATENCY,
    "benchmarks/latency.py": LATENCY,
    "python benchmarks/waiting.py": stage("cost of waiting", WAITING),
    "benchmarks/loop.py": NotRun(
        "its bound of 10 ms is less than two runs differ by where anything else is going on"
    ),
    "benchmarks/failures.py": NotRun(
        "waits for each default grace several times; tests/behaviour/test_graces.py does once"
    ),
}
# blocks that are no configuration, by page and language; commands in them are part of the whole
EXAMPLES: dict[tuple[str, str], Run | NotRun] = {
    ("rest.md", "sh"): Run("tests/test_rest_examples.py", 'example("sh")'),
    ("rest.md", "python"): Run("tests/test_rest_examples.py", 'example("python")'),
}
# whole pages
ELSEWHERE: dict[str, Run | NotRun] = {
    "zero-to-jupyterhub.md": Run(
        "tests/behaviour/test_z2jh.py", 'texts("zero-to-jupyterhub.md", "yaml")'
    ),
}


HERE = [page for page in PAGES if page.name not in ELSEWHERE]


def is_configuration(block: Block) -> bool:
    return bool(re.search(r"^c\.|configure\(c\)", block.text, re.M))


def is_manifest(block: Block) -> bool:
    return block.language == "yaml" and block.text.startswith("apiVersion:")


def all_blocks(language: str) -> list[Any]:
    return [
        pytest.param(block, id=f"{page.name}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page))
        if block.language == language
    ]


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_each_command_is_run_or_says_why_not(page: Path) -> None:
    if (page.name, "sh") not in EXAMPLES:
        assert set(commands(page)) - set(COMMANDS) == set()


@pytest.mark.parametrize("page", HERE, ids=lambda page: page.name)
def test_each_example_is_run_or_says_why_not(page: Path) -> None:
    text = page.read_text()
    assert text.count("```") == 2 * len(list(blocks(page)))
    for block in blocks(page):
        here = {
            "python": is_configuration(block),
            "yaml": is_manifest(block),
            "sh": True,  # line by line
            "html": True,
            "json": True,
            # neither a command nor a setting
            "text": True,
            "{eval-rst}": True,
            "{include}": True,
        }
        assert here.get(block.language) or (page.name, block.language) in EXAMPLES, block.text


def test_what_is_listed_stands_in_the_documentation() -> None:
    said = {command for page in HERE for command in commands(page)}
    assert set(COMMANDS) <= said
    assert set(EXAMPLES) <= {(b.page, b.language) for page in HERE for b in blocks(page)}
    assert set(ELSEWHERE) <= {page.name for page in PAGES}


TABLES: dict[Any, Run | NotRun] = {**COMMANDS, **EXAMPLES, **ELSEWHERE}


@pytest.mark.parametrize("what", TABLES, ids=str)
def test_the_place_that_runs_it_exists_and_is_run(what: Any) -> None:
    place = TABLES[what]
    if isinstance(place, NotRun):
        assert place.reason
        return
    text = (ROOT / place.file).read_text()
    assert place.by in text
    if "pytest.mark.smoke" in text:
        # all others are among the tests that CI collects
        assert f"python -m pytest -m smoke {place.file}" in CI


@pytest.mark.parametrize("block", all_blocks("sh"))
def test_a_block_of_commands_is_a_shell_script(block: Block) -> None:
    subprocess.run(["sh", "-n"], input=block.text, text=True, check=True)


def check_configuration(file: Path) -> None:
    """Load a configuration as JupyterHub does; everything that it sets exists and is valid."""
    config = load_config(str(file))
    assert config
    check_config(config)
    check_names(config, set(DetailedKubeSpawner.class_trait_names(config=True)))
    for section, values in config.items():
        # as an instance would be asked, without what making one of them begins
        unmade = SECTIONS[section].__new__(SECTIONS[section])
        traits = unmade.traits(config=True)
        for name, value in values.items():
            assert name in traits, f"c.{section}.{name}"
            if not isinstance(value, LazyConfigValue):
                traits[name]._validate(unmade, value)


@pytest.mark.parametrize("block", all_blocks("python"))
def test_python_compiles_and_configurations_load(block: Block, tmp_path: Path) -> None:
    compile(block.text, block.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if is_configuration(block):
        file = tmp_path / "jupyterhub_config.py"
        file.write_text(block.text)
        check_configuration(file)


def test_the_readme_turns_it_on_as_the_first_steps_do() -> None:
    assert texts("README.md", "python") == texts("first-steps.md", "python")


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.py")), ids=lambda f: f.name)
def test_complete_configurations_load(file: Path) -> None:
    check_configuration(file)


@pytest.mark.parametrize("block", all_blocks("yaml"))
def test_yaml_can_be_read(block: Block) -> None:
    assert all(yaml.safe_load_all(block.text))


MANIFESTS = [
    found
    for found in all_blocks("yaml")
    if is_manifest(found.values[0]) and found.values[0].page not in ELSEWHERE
]


@pytest.mark.cluster
@pytest.mark.parametrize("block", MANIFESTS)
def test_a_cluster_takes_the_manifests(block: Block) -> None:
    command = ["kubectl", "apply", "--dry-run=server", "--namespace", "default", "-f", "-"]
    done = subprocess.run(command, input=block.text, text=True, capture_output=True, check=True)
    assert done.stdout.count("(server dry run)") == len(list(yaml.safe_load_all(block.text)))


@pytest.mark.parametrize("block", all_blocks("json"))
def test_json_has_the_fields_that_there_are(block: Block) -> None:
    openapi = yaml.safe_load((ROOT / "detailedspawner" / "openapi.yaml").read_text())
    known = {
        field
        for schema in openapi["components"]["schemas"].values()
        for field in schema.get("properties", {})
    }

    def fields(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(fields, value.values()))
        return set().union(*map(fields, value)) if isinstance(value, list) else set()

    assert fields(json.loads(block.text)) - known == set()


@pytest.mark.parametrize("block", all_blocks("html"))
def test_a_template_fills_blocks_of_the_one_that_it_extends(block: Block) -> None:
    folders = [str(ROOT / "templates"), f"{DATA_FILES_PATH}/templates"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders), autoescape=True, enable_async=True
    )
    template = environment.parse(block.text)
    extended = template.find(nodes.Extends)
    assert extended
    parent = environment.get_template(extended.template.value)  # type: ignore[attr-defined]
    assert {node.name for node in template.find_all(nodes.Block)} <= set(parent.blocks)
