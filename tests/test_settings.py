"""What an admin can set, and how a wrong value is refused."""

from __future__ import annotations

from typing import Any

import pytest
from traitlets import TraitError
from traitlets.config import Config

from detailedspawner import DetailedKubeSpawner
from detailedspawner.pods import DEFAULT_GRACES
from detailedspawner.profiling import unusable
from detailedspawner.settings import DetailedTraits, check_config, check_names, check_values

WRONG = [
    {"trait": "step_names", "value": {"": "Name"}, "says": "''"},
    {"trait": "step_names", "value": {"git": ""}, "says": "{'git': ''}"},
    {"trait": "step_names", "value": {"git": "  "}, "says": "'  '"},
    {"trait": "step_names", "value": {"git": 3}, "says": "{'git': 3}"},
    {"trait": "step_names", "value": {3: "Git"}, "says": "{3: 'Git'}"},
    {"trait": "step_names", "value": {"step:pod": "Pod"}, "says": "'step:pod'"},
    {"trait": "step_names", "value": ["git"], "says": "['git']"},
    {"trait": "main_container", "value": "", "says": "''"},
    {"trait": "main_container", "value": 3, "says": "3"},
    {"trait": "completing_containers", "value": [""], "says": "''"},
    {"trait": "completing_containers", "value": [None], "says": "None"},
    {"trait": "log_tail_containers", "value": "git", "says": "'git'"},
    {"trait": "log_tail_containers", "value": [3], "says": "3"},
    {"trait": "page_texts", "value": {"try_agin": "x"}, "says": "did you mean try_again?"},
    {"trait": "page_texts", "value": {"try_again": 3}, "says": "try_again must be text"},
    {"trait": "page_texts", "value": {3: "x"}, "says": "3 is not known"},
    {"trait": "help_url", "value": "javascript:alert(1)", "says": "must begin with https"},
    {"trait": "help_url", "value": "help.example", "says": "must begin with https"},
    {"trait": "help_url", "value": "https:///path", "says": "must begin with https"},
    {"trait": "contact", "value": "it@example.org", "says": "mailto:"},
    {"trait": "contact", "value": "mailto:a b@example.org", "says": "no blanks"},
    {"trait": "show_logs", "value": "yes", "says": "'yes'"},
    {"trait": "failure_graces", "value": {"pulling": 3}, "says": "'pulling'"},
    {"trait": "failure_graces", "value": {"crash": -1}, "says": "{'crash': -1}"},
    {"trait": "failure_graces", "value": {"crash": "3"}, "says": "{'crash': '3'}"},
    {"trait": "failure_graces", "value": {"crash": float("nan")}, "says": "nan"},
    {"trait": "failure_graces", "value": {"crash": True}, "says": "True"},
    {"trait": "failure_graces", "value": {"crash": float("inf")}, "says": "inf"},
    {"trait": "failure_graces", "value": {"crash": 10**400}, "says": "000"},
    {"trait": "failure_graces", "value": {"crash": [1]}, "says": "[1]"},
    {"trait": "failure_graces", "value": {None: 1}, "says": "the kinds are spec, gone, pull_d"},
    {"trait": "failure_graces", "value": {"Crash": 1}, "says": "the kinds are spec, gone, pull_d"},
    {"trait": "failure_graces", "value": "crash", "says": "'crash'"},
    {"trait": "failure_graces", "value": None, "says": "None"},
    {"trait": "progress_timeout", "value": -1, "says": "-1"},
    {"trait": "progress_timeout", "value": float("inf"), "says": "inf"},
    {"trait": "progress_timeout", "value": "soon", "says": "'soon'"},
    {"trait": "progress_timeout", "value": float("nan"), "says": "nan"},
    {"trait": "progress_timeout", "value": True, "says": "True"},
    {"trait": "progress_timeout", "value": 10**400, "says": "000"},
    {"trait": "progress_timeout", "value": {"crash": 1}, "says": "{'crash': 1}"},
    {"trait": "health_interval", "value": True, "says": "True"},
    {"trait": "preparation_workers", "value": True, "says": "True"},
    {"trait": "failure_messages", "value": {"ErrImagPull": "x"}, "says": "ErrImagePull"},
    {"trait": "failure_messages", "value": {"pull": {"hnt": "x"}}, "says": "'hnt'"},
    {"trait": "failure_messages", "value": ["pull"], "says": "['pull']"},
    {"trait": "failure_messages", "value": {"pull": 3}, "says": "needs a text"},
    {"trait": "failure_messages", "value": {"pull": True}, "says": "needs a text"},
    {"trait": "failure_messages", "value": {"pull": {}}, "says": "needs a text"},
    {"trait": "failure_messages", "value": {"pull": {"hint": float("nan")}}, "says": "not empty"},
    {"trait": "failure_messages", "value": {"pull": " "}, "says": "not empty"},
    {"trait": "failure_messages", "value": {-1: "x"}, "says": "-1 is no known reason"},
    {"trait": "failure_messages", "value": {"pull": "{picture}"}, "says": "known are account"},
    {"trait": "failure_messages", "value": {"pull": "{image"}, "says": "brace"},
    {"trait": "failure_messages", "value": {"pull": "{image:>9999999}"}, "says": "its name only"},
    {"trait": "failure_messages", "value": {"pull": "{image!r}"}, "says": "its name only"},
    {"trait": "failure_messages", "value": {"pull": {"help_url": "javascript:x"}}, "says": "https"},
]


WRONG += [
    {"trait": "failure_message_rules", "value": rules, "says": says}
    for rules, says in [
        ({"match": "x"}, "'x'"),
        (["x"], "rule 0 needs `match`"),
        ([{"message": "x"}], "rule 0 needs `match`"),
        ([{"match": "", "message": "x"}], "rule 0 needs `match`"),
        ([{"match": "(", "message": "x"}], "no regular expression"),
        ([{"match": "x"}], "needs a text"),
        ([{"match": "x", "message": 3}], "not empty"),
        ([{"match": "x", "message": "{y}"}], "known are account"),
        ([{"match": "x", "message": "y", "when": "z"}], "known are message, hint"),
    ]
]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: f"{row['trait']}-{row['says']}")
@pytest.mark.parametrize("section", ["DetailedKubeSpawner", "KubeSpawner", "Spawner"])
def test_a_wrong_value_is_named_with_its_trait(row: dict[str, Any], section: str) -> None:
    config = Config({section: {row["trait"]: row["value"]}})
    with pytest.raises(TraitError) as caught:
        check_config(config)
    assert f"{section}." in str(caught.value)
    assert row["trait"] in str(caught.value)
    assert row["says"] in str(caught.value)


def test_a_huge_value_is_cut() -> None:
    with pytest.raises(TraitError) as caught:
        DetailedTraits(step_names={"git": "", "x" * 100_000: "y"}, main_container="m")
    assert len(str(caught.value)) < 500
    with pytest.raises(TraitError) as caught:
        DetailedTraits(completing_containers=[["x" * 100_000]])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("row", WRONG, ids=lambda row: f"{row['trait']}-{row['says'][:20]}")
def test_a_wrong_value_of_a_profile_is_why_it_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(TraitError) as caught:
        check_values({"image": "x", row["trait"]: row["value"]})
    assert row["trait"] in unusable(caught.value)
    # blanks are joined in what a user reads
    assert " ".join(row["says"].split()) in unusable(caught.value)


RIGHT = [
    {"step_names": {"git-*": "Git", "step:machine": "Finding room"}},
    {"completing_containers": ["report", "once-*"]},
    {"log_tail_containers": []},
    {"help_url": "https://help.example/start?a=b", "contact": "mailto:it@help.example"},
    {"page_texts": {"try_again": "Encore"}, "show_logs": True},
    {"failure_graces": {"crash": 0, "pull_definite": None, "config": 2.5}},
    {"failure_message_rules": [{"match": "x+", "message": "y"}]},
    {"failure_messages": {"OOMKilled": {"help_url": "https://help.example/memory"}}},
]


@pytest.mark.parametrize("values", RIGHT, ids=str)
def test_right_values_reach_the_judgement(values: dict[str, Any]) -> None:
    check_config(Config({"DetailedKubeSpawner": values}))
    settings = DetailedTraits(**values).pod_settings()
    if "failure_graces" in values:
        assert settings.graces == {**DEFAULT_GRACES, **values["failure_graces"]}
    elif "failure_message_rules" in values:
        assert settings.message_rules[0].pattern.pattern == "x+"
    elif "failure_messages" in values:
        assert settings.texts["OOMKilled"].help_url == "https://help.example/memory"
    elif "log_tail_containers" in values:
        assert settings.log_tail_containers == ()
    elif not {"help_url", "page_texts"} & set(values):
        for name, value in values.items():
            expected = tuple(value) if isinstance(value, list) else value
            assert getattr(settings, name) == expected


def test_a_dict_that_came_in_past_validation_is_checked_when_used() -> None:
    traits = DetailedTraits(step_names={"git": "Git"})
    # as a profile's override does
    traits.step_names["git"] = ""
    with pytest.raises(TraitError, match="step_names"):
        traits.pod_settings()


def test_a_text_that_came_in_past_validation_is_checked_when_used() -> None:
    traits = DetailedTraits(failure_messages={"crash": "x"})
    traits.failure_messages["crash"] = ""
    with pytest.raises(TraitError, match="failure_messages"):
        traits.pod_settings()


@pytest.mark.parametrize("value", [None, 0, 2.5, 600])
def test_a_start_without_progress_can_be_given_a_time(value: float | None) -> None:
    assert DetailedTraits(progress_timeout=value).progress_timeout == value


def test_an_unknown_trait_is_refused_with_the_nearest_name() -> None:
    known = set(DetailedKubeSpawner.class_trait_names(config=True))
    with pytest.raises(TraitError, match=r"step_namez.*did you mean step_names"):
        check_names(Config({"DetailedKubeSpawner": {"step_namez": {}}}), known)
    check_names(Config({"DetailedKubeSpawner": {"image": "x", "step_names": {}}}), known)


@pytest.mark.parametrize("trait", DetailedTraits.class_trait_names(config=True))
def test_every_trait_has_help_that_starts_with_one_sentence(trait: str) -> None:
    text = DetailedTraits.class_traits()[trait].help
    first = text.strip().split("\n\n")[0]
    assert first.endswith(".")
    assert "\n" not in first
