"""GET profiles: as each user sees them, and what starts when they redirect or are gone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jupyterhub import orm
from traitlets import TraitError
from traitlets.config import Config

from detailedspawner.models.servers import Profile
from detailedspawner.profiling import ProfilesMixin, check_profiles

from .resthub import RestHub, SoundSpawner, logged_in, resthub, start_body, until

VOLUMES = [{"name": "home", "persistentVolumeClaim": {"claimName": "claim-{username}"}}]
MOUNTS = [{"name": "home", "mountPath": "/home/jovyan"}]
PROFILES: list[dict[str, Any]] = [
    {
        "display_name": "Small",
        "description": "One processor.",
        "icon": {"url": "https://example.org/small.svg"},
        "labels": {"team": "physics"},
        "kubespawner_override": {"image": "small:1", "environment": {"SECRET": "x"}},
        "profile_options": {
            "image": {
                "display_name": "Image",
                "choices": {
                    "2024": {
                        "display_name": "2024",
                        "hidden": True,
                        "redirect": {"to": "2025"},
                        "kubespawner_override": {"image": "lab:2024"},
                    },
                    "2025": {
                        "display_name": "2025",
                        "redirect": {
                            "to": "2026",
                            "message": {"text": "2025 is no longer built.", "level": "danger"},
                        },
                        "kubespawner_override": {"image": "lab:2025"},
                    },
                    "2026": {
                        "display_name": "2026",
                        "labels": [{"key": "python", "value": "3.14"}],
                        "kubespawner_override": {"image": "lab:2026"},
                    },
                },
            }
        },
    },
    {
        "display_name": "Old",
        "deprecated": True,
        "deprecation_message": "Use Small.",
        "kubespawner_override": {"volume_mounts": [{"name": "home", "mountPath": "/data"}]},
    },
    {"display_name": "Staff", "hidden": True},
]


def listed(c: Config) -> None:
    """Offer the profiles above."""
    c.KubeSpawner.profile_list = PROFILES
    c.KubeSpawner.volumes = VOLUMES
    c.KubeSpawner.volume_mounts = MOUNTS


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RestHub]:
    async with resthub(tmp_path, monkeypatch, listed) as hub:
        yield hub


async def profiles(hub: RestHub, token: str, **params: Any) -> dict[str, dict[str, Any]]:
    """Return the profiles by their ids."""
    answer = await hub.get("/profiles", token, params=params)
    assert answer.status_code == 200, answer.text
    return {profile["id"]: profile for profile in answer.json()}


async def test_all_that_a_user_can_know_of_a_profile(hub: RestHub) -> None:
    alice = hub.user("alice")
    found = await profiles(hub, hub.token(alice))
    assert list(found) == ["small", "old", "staff"]
    small = found["small"]
    choices = small["pod_template"]["options"]["image"]["values"]
    assert (small["default"], small["description"]) == (True, "One processor.")
    assert small["icon"] == {"url": "https://example.org/small.svg"}
    assert small["pod_template"]["pod_metadata"]["labels"] == {"team": "physics"}
    assert small["pod_template"]["options"]["image"]["default"] == "2024"
    assert [choice["hidden"] for choice in choices] == [True, False, False]
    assert choices[1]["redirect"] == {
        "to": "2026",
        "message": {"text": "2025 is no longer built.", "level": "danger"},
    }
    assert choices[2]["labels"] == [{"key": "python", "value": "3.14"}]
    assert (found["old"]["deprecated"], found["old"]["deprecation_message"]) == (True, "Use Small.")
    assert found["staff"]["hidden"]
    homes = [profile["pod_template"]["volume_mounts"]["home"] for profile in found.values()]
    assert homes == ["/home/jovyan", "/data", "/home/jovyan"]
    for plain in found.values():
        assert Profile.from_dict(plain).to_dict() == plain


async def test_what_a_profile_sets_never_leaves_the_hub(hub: RestHub) -> None:
    answer = await hub.get("/profiles", hub.token(hub.user("alice")))
    for secret in ("SECRET", "lab:2024", "small:1", "override"):
        assert secret not in answer.text


async def test_only_servers_that_the_asker_may_see_are_counted(hub: RestHub) -> None:
    alice, bob = hub.user("alice"), hub.user("bob")
    hub.server(alice, "one", user_options={"profile": "old"})
    hub.server(bob, "one", user_options={"profile": "old"})
    hub.server(bob, "two", user_options={"profile": "older"})
    own = await profiles(hub, hub.token(alice))
    # both have default servers for which nothing was chosen
    assert {slug: profile["servers_count"] for slug, profile in own.items()} == {
        "small": 1,
        "old": 1,
        "staff": 0,
    }
    every = await profiles(hub, hub.service("all", "read:users", "read:servers"), user="alice")
    assert {slug: profile["servers_count"] for slug, profile in every.items()} == {
        "small": 2,
        "old": 2,
        "staff": 0,
    }
    none = await profiles(hub, hub.service("names", "read:users"), user="alice")
    assert none["old"]["servers_count"] is None


async def test_a_function_gets_the_users_own_spawner_and_auth_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def of_user(spawner: Any) -> list[dict[str, Any]]:
        return [{"display_name": f"For {spawner.user.name} of {spawner.team}"}]

    def hook(spawner: Any, auth_state: Any) -> None:
        spawner.team = (auth_state or {}).get("team", "nothing")

    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = of_user
        c.Spawner.auth_state_hook = hook

    async with resthub(tmp_path, monkeypatch, config) as hub:
        hub.user("alice")
        bob = hub.user("bob")

        async def auth_state() -> dict[str, str]:
            return {"team": "physics"}

        monkeypatch.setattr(bob, "get_auth_state", auth_state)
        token = hub.service("all", "read:users")
        alices, bobs = [await profiles(hub, token, user=name) for name in ("alice", "bob")]
        assert list(alices) == ["for-alice-of-nothing"]
        assert list(bobs) == ["for-bob-of-physics"]
        # no object is left that was made for the answer only
        assert list(bob.spawners) == []


# what a function does -> a part of what the log says of it
FAULTS: dict[str, tuple[Any, str]] = {
    "it raises": (lambda spawner: 1 / 0, "ZeroDivisionError"),
    "it gives no list": (lambda spawner: "profiles", "profile_list must be a list, not str"),
    "it gives a circle": (
        lambda spawner: [{"display_name": "A", "slug": "a", "redirect": {"to": "a"}}],
        "redirects go in a circle: a -> a",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_function_that_fails_is_an_error_and_no_empty_list(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function, said = FAULTS[fault]

    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = function

    async with resthub(tmp_path, monkeypatch, config) as hub:
        answer = await hub.get("/profiles", hub.token(hub.user("alice")))
        assert (answer.status_code, answer.json()["status"]) == (500, 500)
        assert answer.json()["message"] == "The profiles cannot be evaluated"
        lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert any("The profiles of alice cannot be evaluated" in line for line in lines)
        assert any(said in line for line in lines)


async def test_no_profiles_are_an_empty_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with resthub(tmp_path, monkeypatch) as hub:
        assert await profiles(hub, hub.token(hub.user("alice"))) == {}


async def test_unknown_users_create_nothing(hub: RestHub) -> None:
    token = hub.service("all", "read:users")
    for name in ("nobody", "", "a/b", "ä\N{SPOUTING WHALE}", "' OR 1=1"):
        answer = await hub.get("/profiles", token, params={"user": name})
        assert answer.status_code == 404
    answer = await hub.get("/profiles", token)
    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "user must name whose profiles are asked for",
    )
    assert hub.app.db.query(orm.Spawner).count() == hub.app.db.query(orm.User).count() == 0


async def form(hub: RestHub, user: Any) -> str:
    """Return the form that the user is shown."""
    shown: str = await user.get_spawner("").get_options_form()
    return shown


async def test_the_form_offers_nothing_hidden_and_says_what_is_deprecated(hub: RestHub) -> None:
    shown = await form(hub, hub.user("alice"))
    assert "Old (deprecated)" in shown
    assert "Use Small." in shown
    assert "Staff" not in shown
    assert 'value="2024"' not in shown
    assert 'value="2026"' in shown


async def test_the_form_is_the_same_after_other_pages_of_the_hub(hub: RestHub) -> None:
    # each page asks whether there is a form
    await logged_in(hub, "alice")
    for _ in range(2):
        shown = (await hub.client.get("/hub/spawn")).text
        assert "Old (deprecated)" in shown
        assert "Staff" not in shown
        assert 'value="2024"' not in shown


async def test_the_form_of_a_function_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    def of_user(spawner: Any) -> list[dict[str, Any]]:
        calls.append(spawner)
        return PROFILES

    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = of_user

    async with resthub(tmp_path, monkeypatch, config) as hub:
        alice = hub.user("alice")
        shown = await form(hub, alice)
        assert "Old (deprecated)" in shown
        assert "Staff" not in shown
        assert alice.get_spawner("").profile_list is of_user
        assert len(calls) == 1
        await logged_in(hub, "alice")
        assert "Staff" not in (await hub.client.get("/hub/spawn")).text


async def test_a_form_that_is_a_program_gets_every_key_but_nothing_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as jupyterhub-fancy-profiles has it
    (tmp_path / "form.html").write_text("<i>{{ profile_list|tojson }}</i>")

    def config(c: Config) -> None:
        listed(c)
        c.KubeSpawner.additional_profile_form_template_paths = [str(tmp_path)]

    async with resthub(tmp_path, monkeypatch, config) as hub:
        shown = await form(hub, hub.user("alice"))
        profiles = json.loads(shown.removeprefix("<i>").removesuffix("</i>"))
        assert [profile["slug"] for profile in profiles] == ["small", "old"]
        small = profiles[0]
        assert small["icon"] == {"url": "https://example.org/small.svg"}
        assert list(small["profile_options"]["image"]["choices"]) == ["2025", "2026"]
        assert small["profile_options"]["image"]["choices"]["2025"]["default"]


async def test_an_own_form_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def config(c: Config) -> None:
        listed(c)
        c.Spawner.options_form = "<b>own</b>"

    async with resthub(tmp_path, monkeypatch, config) as hub:
        assert await form(hub, hub.user("alice")) == "<b>own</b>"


async def test_a_redirected_choice_starts_as_its_target_and_says_so(hub: RestHub) -> None:
    alice = hub.user("alice")
    await hub.begin(alice, profile="small", image="2024")
    pod, spawner = hub.pod("jupyter-alice"), alice.spawners[""]
    assert pod is not None
    assert pod["spec"]["containers"][0]["image"] == "lab:2026"
    assert [warning.message for warning in spawner.choice_warnings] == [
        "“2025” is started in place of “2024”.",
        "2025 is no longer built.",
    ]
    assert spawner.user_options == {"profile": "small", "image": "2024"}


async def test_a_choice_that_is_gone_is_refused_before_anything_is_made(hub: RestHub) -> None:
    alice = hub.user("alice")
    path = "/users/alice/server"
    for options in ({"profile": "gone"}, {"profile": "small", "image": "2019"}):
        answer = await hub.hub("POST", path, hub.token(alice), json=start_body(options))
        await until(lambda: "" not in alice.spawners or not alice.spawners[""].pending)
        assert hub.pod("jupyter-alice") is None
        assert answer.status_code in (202, 400)
    spawner = alice.get_spawner("")
    spawner.user_options = {"profile": "gone"}
    with pytest.raises(Exception, match="There is no profile 'gone'") as caught:
        await spawner.load_user_options()
    assert "There is no profile 'gone'" in caught.value.jupyterhub_message  # type: ignore[attr-defined]


async def test_a_function_is_called_once_in_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    async def of_user(spawner: Any) -> list[dict[str, Any]]:
        calls.append("called")
        return PROFILES

    def config(c: Config) -> None:
        c.KubeSpawner.profile_list = of_user

    async with resthub(tmp_path, monkeypatch, config) as hub:
        alice = hub.user("alice")
        spawner = alice.get_spawner("")
        spawner.user_options = {"profile": "old"}
        await spawner.load_user_options()
        assert calls == ["called"]
        assert spawner.profile_list is of_user
        (evaluated,) = ProfilesMixin.evaluated.values()
        assert evaluated[1]["slug"] == "old"


def test_a_wrong_list_is_refused_when_it_is_configured() -> None:
    c = Config()
    listed(c)
    check_profiles(c, SoundSpawner)
    c.SoundSpawner.profile_list = [{"display_name": "A", "redirect": {"to": "b"}}]
    with pytest.raises(TraitError, match="'a' redirects to 'b'"):
        check_profiles(c, SoundSpawner)
    c.SoundSpawner.profile_list = lambda spawner: 1 / 0
    check_profiles(c, SoundSpawner)
    check_profiles(Config(), SoundSpawner)


async def test_when_a_server_stopped_is_kept_in_its_state(hub: RestHub) -> None:
    alice = hub.user("alice")
    await hub.start(alice)
    assert alice.spawners[""].stopped_at is None
    await hub.stop(alice)
    state = alice.orm_spawners[""].state
    assert isinstance(state["stopped_at"], float)
    again = alice.get_spawner("")
    assert again.stopped_at == state["stopped_at"]
    await hub.begin(alice)
    assert "stopped_at" not in alice.spawners[""].get_state()
