"""The package brings all its files, whichever way it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from detailedspawner import pages
from detailedspawner._version import __version__

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "templates"
WHEEL_LIMIT = 231_000
# run from a clone; of it the package has only the file that says so
DEMO = "detailedspawner/demo/**/*"
SAYS_SO = "detailedspawner/demo/__main__.py"

ASK_INSTALLATION = """
import importlib.metadata, json
import detailedspawner
from detailedspawner import pages
print(json.dumps({
    "package": detailedspawner.__file__,
    "templates": pages.template_paths(),
    "static": pages.static_path(),
    "version": importlib.metadata.version("detailedspawner"),
    "spawners": [
        entry.load().__name__
        for entry in importlib.metadata.entry_points(group="jupyterhub.spawners", name="detailed")
    ],
}))
"""


def in_repository(pattern: str) -> set[str]:
    return {
        str(path.relative_to(ROOT))
        for path in ROOT.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, since a build writes into its source."""
    copy = tmp_path_factory.mktemp("source") / "detailedspawner"
    unwanted = shutil.ignore_patterns(".git", ".venv*", "*.egg-info", "build", "dist", "*cache*")
    shutil.copytree(ROOT, copy, ignore=unwanted)
    return copy


@pytest.fixture(scope="module")
def built(source: Path) -> Path:
    """The folder with the sdist, and the wheel that was built from it."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", cwd=source)
    return source / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    return next(built.glob("*.tar.gz"))


def run(*command: str | Path, cwd: Path) -> str:
    # Neither the caller's modules nor its settings may help an installation that lacks something.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(target: str | Path, place: Path, *options: str) -> dict[str, object]:
    """Install into a clean environment and ask the installation about itself."""
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    site = next(place.glob("lib/python*/site-packages"))
    # The dependencies are borrowed; a path added so does not bring their own .pth files along, so
    # an editable installation of this project that is among them stays out.
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(borrowed))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    run(*pip, "--no-deps", "--no-index", "--no-build-isolation", *options, target, cwd=place)
    answer: dict[str, object] = json.loads(run(python, "-c", ASK_INSTALLATION, cwd=place))
    return answer


def test_wheel_holds_every_module(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())

    assert in_repository("detailedspawner/**/*.py") - held == in_repository(DEMO) - {SAYS_SO}
    assert {name for name in held if name.startswith("detailedspawner/demo/")} == {SAYS_SO}
    assert "detailedspawner/py.typed" in held


def test_wheel_holds_every_data_file(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())

    data = in_repository("detailedspawner/**/*") - in_repository("detailedspawner/**/*.py")
    data -= in_repository(DEMO)
    assert {name for name in data if not name.endswith(".pyc")} - held == set()


def test_wheel_holds_every_template_inside_the_package(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())

    templates = {f"detailedspawner/{name}" for name in in_repository("templates/**/*")}
    assert templates
    assert templates - held == set()


def test_wheel_installs_nothing_beside_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert tops == {"detailedspawner", f"detailedspawner-{__version__}.dist-info"}


def test_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < WHEEL_LIMIT


def test_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = f"detailedspawner-{__version__}.dist-info/METADATA"
        metadata = Parser().parsestr(archive.read(name).decode())

    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.10"
    assert "detailedspawner.configure(c)" in metadata.get_payload()
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert "jupyterhub<7,>=5.5" in required
    assert "jupyterhub-kubespawner<8,>=7.0" in required


def test_the_changelog_begins_with_this_version() -> None:
    sections = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]

    assert sections[0].startswith(f"{__version__} - ")


def test_sdist_holds_what_a_packager_builds_and_tests_with(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}

    wanted = {"pyproject.toml", "setup.py", "LICENSE", "README.md", "CHANGELOG.md", "Makefile"}
    for pattern in ("templates/**/*", "tests/**/*.py", "scripts/*", "detailedspawner/**/*.py"):
        wanted |= in_repository(pattern)
    assert (wanted | in_repository(DEMO)) - held == set()


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_installation_finds_its_templates(
    kind: str, source: Path, wheel: Path, sdist: Path, tmp_path: Path
) -> None:
    target, *options = {"wheel": [wheel], "sdist": [sdist], "editable": [source, "--editable"]}[
        kind
    ]
    place = tmp_path / "environment"

    found = install(target, place, *map(str, options))

    home = source if kind == "editable" else place
    assert str(found["package"]).startswith(str(home))
    (templates,) = found["templates"]  # type: ignore[misc]
    assert templates.startswith(str(home))
    assert (Path(templates) / "spawn_pending.html").is_file()
    assert any(Path(str(found["static"])).glob("*.js"))
    assert found["version"] == __version__
    assert found["spawners"] == ["DetailedKubeSpawner"]


def test_an_installation_says_where_its_demo_is(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    install(wheel, place)
    done = subprocess.run(
        [place / "bin" / "python", "-m", "detailedspawner.demo", "--port", "0"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error: the demo is not part of the package: clone its repository, `make demo`.\n"
    )


def test_missing_templates_are_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_CANDIDATES", (tmp_path / "one", tmp_path / "two"))

    with pytest.raises(FileNotFoundError, match=r"no spawn_pending\.html in .*one and .*two"):
        pages.template_paths()


def test_a_folder_of_templates_without_ours_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somebody-elses.html").touch()
    monkeypatch.setattr(pages, "_CANDIDATES", (tmp_path, TEMPLATES))

    assert pages.template_paths() == [str(TEMPLATES)]
