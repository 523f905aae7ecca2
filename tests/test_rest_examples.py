"""The examples of docs/rest.md, run as they stand there."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from traitlets.config import Config

from .resthub import RestHub, resthub, until

DOCS = (Path(__file__).parents[1] / "docs" / "rest.md").read_text()
PUBLIC = "https://hub.example.org/hub/api"
PROFILES = [{"slug": "small", "display_name": "Small"}]


def config(c: Config) -> None:
    """Offer the profile that the examples start."""
    c.KubeSpawner.profile_list = PROFILES


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, config) as hub:
        yield hub


def example(language: str) -> str:
    """Return the only example in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.M | re.S)
    return str(found)


class Program:
    """A program that runs beside the Hub, and the output that it has written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""

    @classmethod
    async def start(cls, *command: str) -> Program:
        """Start a command; its output can be read while it goes on."""
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        return cls(process)

    async def end(self) -> str:
        """Wait for the end; returns the output of a program that succeeded."""
        output, _ = await asyncio.wait_for(self.process.communicate(), 60)
        assert self.process.returncode == 0, output.decode()
        return output.decode()


@pytest.mark.parametrize("end", ["running", "failed"])
async def test_the_example_in_python(hub: RestHub, tmp_path: Path, end: str) -> None:
    alice = hub.user("alice")
    text = example("python").replace(PUBLIC, f"{hub.client.base_url}/hub/api")
    script = tmp_path / "example.py"
    script.write_text(f"token = {hub.token(alice)!r}\n{text}")
    program = await Program.start(sys.executable, str(script))
    await until(lambda: hub.pod("jupyter-alice"), 30)
    if end == "running":
        hub.make_ready("jupyter-alice")
    else:
        hub.store.delete("pods", "ns", "jupyter-alice", grace=0)
    output = await program.end()
    assert re.search(r"^ *\d+ % ", output, re.M), output
    assert ("100 %" in output) == (end == "running"), output
    await until(lambda: not alice.spawners[""].active)


@pytest.mark.parametrize("end", ["running", "failed"])
async def test_the_example_with_curl(hub: RestHub, tmp_path: Path, end: str) -> None:
    alice = hub.user("alice")
    text = example("sh").replace(PUBLIC, f"{hub.client.base_url}/hub/api")
    script = tmp_path / "example.sh"
    script.write_text(f"set -eu\nTOKEN={hub.token(alice)}\nrevision=none\n{text}")
    program = await Program.start("bash", "-o", "pipefail", str(script))
    await until(lambda: hub.pod("jupyter-alice"), 30)
    if end == "running":
        hub.make_ready("jupyter-alice")
    else:
        hub.store.delete("pods", "ns", "jupyter-alice", grace=0)
    output = await program.end()
    assert f'"state": "{end}"' in output
    assert ('"hint":' in output.split(f'"state": "{end}"')[-1]) or end == "running"
    await until(lambda: not alice.spawners[""].active)
