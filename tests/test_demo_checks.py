"""What keeps the demo from running is said in one sentence, before anything is installed."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from detailedspawner.demo import profiles
from detailedspawner.demo.__main__ import problem

from .behaviour.hub import free_port

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def script(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / name],
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
        check=False,
    )


def fake_python(folder: Path, body: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_free_port_on_linux_is_no_problem() -> None:
    assert problem(free_port(), "linux") is None


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_another_system_is_refused_by_its_name(system: str) -> None:
    found = str(problem(8000, system))

    assert "needs Linux (each pod has its own loopback address)" in found
    assert system in found


@pytest.mark.parametrize("port", [65536, -1])
def test_an_impossible_port_is_refused(port: int) -> None:
    assert f"cannot listen on port {port} " in str(problem(port, "linux"))


def test_a_taken_port_is_refused_before_anything_is_made(taken_port: int, tmp_path: Path) -> None:
    done = script("demo", PORT=str(taken_port), VENV=str(tmp_path / "venv"))

    assert done.returncode == 1
    assert f"error: cannot listen on port {taken_port} " in done.stderr
    assert "PORT=" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_port_that_is_no_number_is_refused(tmp_path: Path) -> None:
    done = script("demo", PORT="http", VENV=str(tmp_path / "venv"))

    assert done.returncode == 1
    assert done.stderr == "error: PORT=http is not a port number.\n"


def test_a_missing_python_is_a_clear_error(tmp_path: Path) -> None:
    done = script("python", PYTHON=str(tmp_path / "nothing"))

    assert done.returncode == 1
    assert "no usable Python >= 3.10 found." in done.stderr


def test_a_python_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    old = fake_python(tmp_path, '[ "$1" != --version ] && exit 1; echo "Python 3.9.2"')

    done = script("python", PYTHON=old)

    assert done.returncode == 1
    assert f"({old} is Python 3.9.2)" in done.stderr


def test_a_name_without_an_interpreter_behind_it_is_passed_over(tmp_path: Path) -> None:
    shim = fake_python(tmp_path, "echo 'command not found' >&2; exit 127")

    done = script("python", PYTHON=f"{shim} python3")

    assert done.returncode == 0
    assert "python3" in done.stdout


def test_every_step_name_of_the_demo_has_its_container() -> None:
    (profile,) = (each for each in profiles.PROFILES if "Seven" in each["description"])
    override = profile["kubespawner_override"]
    containers = [*override["init_containers"], *override["extra_containers"]]

    assert {each["name"] for each in containers} | {"notebook"} == set(profiles.STEP_NAMES)


def test_a_missing_image_fails_while_the_visitor_looks() -> None:
    (profile,) = (each for each in profiles.PROFILES if each["display_name"] == "Missing image")

    assert profile["kubespawner_override"]["failure_graces"]["pull_definite"] <= 20
