"""The examples of the documentation that talk to a Hub, run as they stand there."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from traitlets.config import Config

from .docblocks import command, texts
from .resthub import RestHub, resthub, until

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
    """Return the only example of docs/rest.md in a language."""
    (found,) = texts("rest.md", language)
    return found


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


async def test_the_command_of_the_readme_tells_the_status(hub: RestHub) -> None:
    token = hub.token(hub.user("alice"))
    text = command("README.md", "curl").replace("https://HUB", str(hub.client.base_url))
    script = f"TOKEN={token}; {text.replace('NAME', 'alice')} --fail --silent"
    output = await (await Program.start("sh", "-c", script)).end()
    assert json.loads(output)["state"] == "stopped"


async def test_the_preparation_of_the_page_is_run_and_undone(hub: RestHub) -> None:
    alice = hub.user("alice")
    seen: list[str] = []

    class Databases:
        """What the page leaves to its reader: something that makes databases."""

        async def create(self, name: str) -> str:
            seen.append(f"created for {name}")
            return f"postgresql://databases/{name}"

        async def drop(self, name: str) -> None:
            seen.append(f"dropped for {name}")

    (text,) = texts("preparations.md", "python")
    c = Config()
    exec(text, {"c": c, "databases": Databases()})  # noqa: S102
    hub.app.config.merge(c)

    await hub.begin(alice, profile="small")
    assert seen == ["created for alice"]
    (container,) = hub.pod("jupyter-alice")["spec"]["containers"]
    assert {"name": "DATABASE_URL", "value": "postgresql://databases/alice"} in container["env"]
    await hub.stop(alice)
    await until(lambda: seen == ["created for alice", "dropped for alice"])
