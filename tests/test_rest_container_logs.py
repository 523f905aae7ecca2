"""What containers write is shown where the admin lets it, to who may see it, without secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiException
from traitlets.config import Config

from detailedspawner.kubeapi import LogUnreadable, read_log
from detailedspawner.models.status import SHOWN_LINES, shown_log
from detailedspawner.pods import PodSettings, shown_logs

from .resthub import RestHub, resthub, until

PATH = "/users/bob/server/logs/notebook"
TEXT = "Cloning\n\x1b[31mtoken=abcdefgh12345678\x1b[0m\n\n<b>done</b>\n"
SHOWN = "Cloning\ntoken=(hidden)\n<b>done</b>"


def config(c: Config) -> None:
    """Show logs."""
    c.DetailedKubeSpawner.show_logs = True


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, config) as hub:
        yield hub


async def starting(hub: RestHub, server: str = "") -> Any:
    """Begin a start of bob whose pod is on a machine; returns bob."""
    bob = hub.user("bob")
    await hub.begin(bob, server)
    spawner = bob.spawners[server]

    def place(pod: dict[str, Any]) -> None:
        pod["spec"]["nodeName"] = "machine"

    hub.store.update("pods", "ns", spawner.pod_name, place)
    await until(lambda: (spawner.current_pod() or {}).get("spec", {}).get("nodeName"))
    hub.logs["notebook"] = TEXT
    return bob


async def test_who_may_see_a_log(hub: RestHub) -> None:
    bob = await starting(hub)
    askers = {
        hub.token(bob): 200,
        hub.token(hub.user("root", admin=True)): 200,
        hub.service("reads", "read:servers", "access:servers"): 200,
        hub.service("only-reads", "read:servers"): 403,
        hub.token(hub.user("carol")): 404,
    }
    for token, code in askers.items():
        answer = await hub.get(PATH, token)
        assert answer.status_code == code, answer.text
        assert ("Cloning" in answer.text) == (code == 200)
    answer = await hub.get(PATH, hub.token(bob))
    assert answer.json() == {"container": "notebook", "text": SHOWN}


async def test_a_named_server_has_logs_of_its_own(hub: RestHub) -> None:
    bob = await starting(hub, "gpu")
    answer = await hub.get("/users/bob/servers/gpu/logs/notebook", hub.token(bob))
    assert answer.json()["text"] == SHOWN
    assert (await hub.get(PATH, hub.token(bob))).status_code == 404


async def test_what_is_no_container_of_the_pod_has_no_log(hub: RestHub) -> None:
    bob = await starting(hub)
    for name in ("other", "..%2F..%2Fnodes", "notebook%00", "Notebook"):
        answer = await hub.get(f"/users/bob/server/logs/{name}", hub.token(bob))
        assert answer.status_code == 404, name
    assert (await hub.get(f"{PATH}?tail=9", hub.token(bob))).status_code == 400


SHOWN_LOGS: list[dict[str, Any]] = [
    {"setting": None, "shown": {"notebook", "git-clone"}},
    {"setting": [], "shown": {"notebook"}},
    {"setting": ["git-p*"], "shown": {"notebook", "git-proxy"}},
    {"setting": ["metrics", "git-*"], "shown": {"notebook", "git-clone", "git-proxy", "metrics"}},
]


@pytest.mark.parametrize("row", SHOWN_LOGS)
def test_whose_log_is_shown(row: dict[str, Any]) -> None:
    pod = {
        "spec": {
            "initContainers": [
                {"name": "git-clone"},
                {"name": "git-proxy", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "notebook"}, {"name": "metrics"}],
        }
    }
    settings = PodSettings(log_tail_containers=row["setting"])
    assert shown_logs(pod, settings) == row["shown"]
    assert shown_logs(None, settings) == frozenset()


async def test_the_log_of_a_sidecar_is_shown_only_where_it_is_asked_for(hub: RestHub) -> None:
    bob = await starting(hub)
    spawner = bob.spawners[""]

    def add(pod: dict[str, Any]) -> None:
        pod["spec"]["containers"].append({"name": "proxy", "image": "proxy"})

    hub.store.update("pods", "ns", spawner.pod_name, add)
    await until(lambda: len(spawner.current_pod()["spec"]["containers"]) == 2)
    hub.logs["proxy"] = "token of somebody"
    path = "/users/bob/server/logs/proxy"
    assert (await hub.get(path, hub.token(bob))).status_code == 404
    spawner.log_tail_containers = ["pro*"]
    assert (await hub.get(path, hub.token(bob))).json()["text"] == "token of somebody"


async def test_a_hub_that_does_not_show_logs_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with resthub(tmp_path, monkeypatch) as hub:
        bob = await starting(hub)
        answer = await hub.get(PATH, hub.token(bob))
        assert answer.status_code == 403
        assert "show_logs" in answer.json()["message"]


async def test_a_hub_without_the_right_says_so(hub: RestHub) -> None:
    bob = await starting(hub)

    async def refuse(*_: Any, **__: Any) -> str:
        raise ApiException(status=403, reason="Forbidden")

    bob.spawners[""].api.read_namespaced_pod_log = refuse
    answer = await hub.get(PATH, hub.token(bob))
    assert (answer.status_code, answer.json()["message"]) == (
        503,
        "The Hub has no right to get pods/log.",
    )


class Api:
    """Answers as Kubernetes does, or fails."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}

    async def read_namespaced_pod_log(self, name: str, namespace: str, **asked: Any) -> str:
        self.asked = {"name": name, "namespace": namespace, **asked}
        if isinstance(self.answer, Exception):
            raise self.answer
        return str(self.answer)


ANSWERS: list[dict[str, Any]] = [
    {"answer": "a\n", "text": "a\n"},
    # it has not begun, or its pod has just gone
    {"answer": ApiException(status=400), "text": ""},
    {"answer": ApiException(status=404), "text": ""},
    {"answer": ApiException(status=403), "error": "no right"},
    {"answer": ApiException(status=500), "error": "answered with 500"},
    {"answer": TimeoutError(), "error": "did not answer"},
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: repr(row["answer"]))
async def test_what_the_cluster_answers(row: dict[str, Any]) -> None:
    api = Api(row["answer"])
    if "error" in row:
        with pytest.raises(LogUnreadable, match=row["error"]):
            await read_log(api, "ns", "jupyter-bob", "git-clone")
    else:
        assert await read_log(api, "ns", "jupyter-bob", "git-clone") == row["text"]
    assert api.asked["container"] == "git-clone"
    assert (api.asked["tail_lines"], api.asked["limit_bytes"]) == (SHOWN_LINES, 262_144)


SECRET = "Sesame-Open-42"
LOGS: list[dict[str, Any]] = [
    {"raw": "", "shown": ""},
    {"raw": "a\r\nb\x1b[2Kc\n\n", "shown": "a\nbc"},
    {"raw": f"the door: {SECRET}", "shown": "the door: (hidden)"},
    {"raw": "\n".join(map(str, range(999))), "shown": "\n".join(map(str, range(799, 999)))},
    # where the log is cut, half a secret could not be known as one
    {"raw": f"{SECRET}{'x' * 16_380}\nend", "shown": "end"},
    {"raw": "x" * 600, "shown": "x" * 499 + "…"},
]


@pytest.mark.parametrize("row", LOGS, ids=lambda row: row["raw"][:20])
def test_what_of_a_log_is_shown(row: dict[str, str]) -> None:
    assert shown_log(row["raw"], [SECRET]) == row["shown"]
