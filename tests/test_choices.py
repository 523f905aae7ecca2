"""Profiles: what leads where, what a form offers, what a user chose and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from slugify import slugify

from detailedspawner.choices import offered, refusal, select, still_offered
from detailedspawner.profilelists import ProfileError, initialised

HUGE: dict[str, Any] = {
    "display_name": "Huge",
    "hidden": True,
    "redirect": {"to": "big", "message": {"text": "Huge is now Big.", "level": "warning"}},
}
PROFILES: list[dict[str, Any]] = [
    {
        "display_name": "Small One",
        "profile_options": {
            "image": {
                "display_name": "Image",
                "choices": {
                    "2024": {"display_name": "2024", "hidden": True, "redirect": {"to": "2025"}},
                    "2025": {"display_name": "2025", "redirect": {"to": "2026"}},
                    "2026": {"display_name": "2026", "default": True, "labels": {"python": "3.14"}},
                },
                "unlisted_choice": {"enabled": True, "validation_regex": "^lab:"},
            },
            "gpu": {
                "display_name": "GPU",
                "choices": {"no": {"display_name": "None"}, "yes": {"display_name": "One"}},
            },
        },
    },
    {
        "display_name": "Old",
        "slug": "old",
        "deprecated": True,
        "deprecation_message": "Use <b>Small</b> {{ instead }}.",
        "description": "The old one.",
    },
    {
        "display_name": "Big",
        "slug": "big",
        "redirect": {"to": "bigger"},
        "profile_options": {"gpu": {"choices": {"no": {}}}},
    },
    {
        "display_name": "Bigger",
        "slug": "bigger",
        "profile_options": {"gpu": {"choices": {"yes": {"display_name": "One"}, "two": {}}}},
    },
    HUGE,
]
ENTRIES = initialised(PROFILES, slugify)


def test_slugs_and_defaults_are_as_kubespawner_gives_them() -> None:
    assert [entry["slug"] for entry in ENTRIES] == ["small-one", "old", "big", "bigger", "huge"]
    assert [bool(entry.get("default")) for entry in ENTRIES] == [True, False, False, False, False]
    assert ENTRIES[0]["profile_options"]["gpu"]["choices"]["no"]["default"]
    assert "slug" not in PROFILES[0]
    assert "default" not in PROFILES[0]["profile_options"]["gpu"]["choices"]["no"]


def test_a_dict_of_profiles_is_sorted_by_its_keys() -> None:
    listed = {"b": {"display_name": "First"}, "a": {"display_name": "Second"}}
    assert [entry["slug"] for entry in initialised(listed, slugify)] == ["second", "first"]


ENTRY = {"display_name": "A", "slug": "a"}
# a list that cannot be used -> a part of what is said
WRONG: dict[str, tuple[Any, str]] = {
    "no list": ("a", "profile_list must be a list, not str"),
    "no entry": (["a"], r"profile_list\[0\] must be an object, not str"),
    "no name": ([{}], r"profile_list\[0\] needs a display_name"),
    "no target": ([{**ENTRY, "redirect": {"to": "b"}}], "'a' redirects to 'b', which is not"),
    "itself": ([{**ENTRY, "redirect": {"to": "a"}}], "circle: a -> a"),
    "a circle": (
        [
            {**ENTRY, "redirect": {"to": "b"}},
            {"display_name": "B", "slug": "b", "redirect": {"to": "a"}},
        ],
        "circle: a -> b -> a",
    ),
    "a circle of choices": (
        [
            {
                **ENTRY,
                "profile_options": {
                    "image": {
                        "choices": {"x": {"redirect": {"to": "y"}}, "y": {"redirect": {"to": "x"}}}
                    }
                },
            }
        ],
        "'a', option 'image': redirects go in a circle: x -> y -> x",
    ),
    "no redirect": ([{**ENTRY, "redirect": "b"}], "redirect must be"),
    "no text": ([{**ENTRY, "redirect": {"to": "a", "message": "b"}}], "message of a redirect"),
    "no level": (
        [{**ENTRY, "redirect": {"to": "a", "message": {"text": "b", "level": "bad"}}}],
        "level must be one of info, warning, danger",
    ),
    "hidden by a word": ([{**ENTRY, "hidden": "yes"}], "hidden must be true or false, not 'yes'"),
    "deprecated by a number": ([{**ENTRY, "deprecated": 1}], "deprecated must be true or false"),
    "no message": ([{**ENTRY, "deprecation_message": 1}], "deprecation_message must be text"),
    "no icon": ([{**ENTRY, "icon": {"path": "x"}}], 'icon must be {"url": text}'),
    "no labels": ([{**ENTRY, "labels": [1]}], "labels must be an object"),
    "no option": ([{**ENTRY, "profile_options": {"image": 1}}], "option 'image' must be an object"),
    "no choices": ([{**ENTRY, "profile_options": {"image": {"choices": [1]}}}], "choices must be"),
    "no choice": ([{**ENTRY, "profile_options": {"image": {"choices": {"x": 1}}}}], "choice 'x'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_list_that_cannot_be_used_is_refused(case: str) -> None:
    listed, message = WRONG[case]
    with pytest.raises(ProfileError, match=message):
        initialised(listed, slugify)


# what a user chose -> what is started, and over which redirects
STARTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing": ({}, {}, []),
    "a plain choice": ({"profile": "old"}, {"profile": "old"}, []),
    "a chain of choices": (
        {"profile": "small-one", "image": "2024"},
        {"profile": "small-one", "image": "2026"},
        ["2024 -> 2025", "2025 -> 2026"],
    ),
    "a chain of profiles": (
        {"profile": "huge"},
        {"profile": "bigger"},
        ["huge -> big", "big -> bigger"],
    ),
    "a choice that the target has": (
        {"profile": "big", "gpu": "two"},
        {"profile": "bigger", "gpu": "two"},
        ["big -> bigger"],
    ),
    "a choice that the target lacks": (
        {"profile": "big", "gpu": "no"},
        {"profile": "bigger"},
        ["big -> bigger"],
    ),
    "an unlisted choice": (
        {"profile": "small-one", "image--unlisted-choice": "lab:2024", "image": "2024"},
        {"profile": "small-one", "image--unlisted-choice": "lab:2024", "image": "2024"},
        [],
    ),
    "a profile that is gone": (
        {"profile": "gone", "gpu": "no"},
        {"profile": "gone", "gpu": "no"},
        [],
    ),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_redirected_choice_starts_as_its_target(case: str) -> None:
    asked, started, hops = STARTS[case]
    selection = select(ENTRIES, asked)
    assert selection.started == started
    found = [*(selection.profile.hops if selection.profile else ())]
    for chain in selection.option_hops.values():
        found += chain
    assert [f"{hop.source} -> {hop.target}" for hop in found] == hops


@pytest.mark.parametrize("asked", [None, [], "big", 3, {"profile": 3}, {"profile": ["x"]}, {"": 1}])
def test_options_of_any_kind_are_taken_for_the_default(asked: Any) -> None:
    selection = select(ENTRIES, asked)
    assert selection.profile is not None
    assert (selection.profile.id, selection.profile.missing) == ("small-one", False)


def test_what_is_gone_keeps_its_id() -> None:
    gone = select(ENTRIES, {"profile": "gone", "image": "2024", "count": 3})
    assert gone.profile is not None
    assert (gone.profile.id, gone.profile.missing) == ("gone", True)
    assert [(name, item.id, item.missing) for name, item in gone.options.items()] == [
        ("image", "2024", True)
    ]
    kept = select(ENTRIES, {"profile": "small-one", "image": "2019", "disk": "ssd"})
    assert {name: (item.id, item.missing) for name, item in kept.options.items()} == {
        "image": ("2019", True),
        "gpu": ("no", False),
        "disk": ("ssd", True),
    }


def test_without_profiles_there_is_none() -> None:
    assert select([], {}).profile is None
    profile = select([], {"profile": "gone"}).profile
    assert profile is not None
    assert profile.missing


# options -> a part of why they are refused; None where they are not
REFUSALS: dict[str, tuple[Any, str | None]] = {
    "none": (None, None),
    "of a hidden profile": ({"profile": "huge"}, None),
    "that redirect": ({"profile": "small-one", "image": "2024"}, None),
    "whose choice the target lacks": ({"profile": "big", "gpu": "no"}, None),
    "of no profile": ({"profile": "gone"}, "There is no profile 'gone'"),
    "of no choice": ({"profile": "small-one", "image": "2019"}, "may not be '2019'"),
    "of another type": (["x"], "must be an object"),
    "unlisted and wrong": (
        {"profile": "small-one", "image--unlisted-choice": "other:1"},
        "must match",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_options_that_cannot_be_started_are_refused(case: str) -> None:
    asked, message = REFUSALS[case]
    reason = refusal(ENTRIES, asked)
    assert reason is None if message is None else message in (reason or "")


def test_a_form_offers_nothing_hidden_and_says_what_is_deprecated() -> None:
    shown = offered(ENTRIES)
    assert [entry["display_name"] for entry in shown] == [
        "Small One",
        "Old (deprecated)",
        "Big",
        "Bigger",
    ]
    # the form is HTML and a template
    assert shown[1]["description"] == (
        "The old one. Use &lt;b&gt;Small&lt;/b&gt; &#123;&#123; instead &#125;&#125;."
    )
    assert list(shown[0]["profile_options"]["image"]["choices"]) == ["2025", "2026"]
    assert ENTRIES[1]["display_name"] == "Old"


def test_an_option_with_nothing_to_choose_is_not_offered() -> None:
    entry = {**ENTRY, "profile_options": {"x": {"choices": {"a": {"hidden": True}}}}}
    assert offered(initialised([entry], slugify))[0]["profile_options"] == {}


# a server's options -> those that the form has chosen beforehand
KEPT: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"profile": "old"}, {"profile": "old"}),
    ({"profile": "huge"}, {}),
    ({"profile": "gone"}, {}),
    ({"image": "2025"}, {}),
    (
        {"profile": "small-one", "image": "2024", "gpu": "yes", "other": 1},
        {"profile": "small-one", "gpu": "yes"},
    ),
]


@pytest.mark.parametrize(("started", "kept"), KEPT)
def test_what_is_not_offered_is_not_chosen_beforehand(
    started: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert still_offered(offered(ENTRIES), started) == kept
