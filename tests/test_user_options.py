"""Which options a server may be started with, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest
from kubespawner import KubeSpawner

from detailedspawner.choices import what_is_wrong

FREE = {"enabled": True, "validation_regex": "^lab:"}
PROFILES = [
    {
        "slug": "small",
        "display_name": "Small",
        "default": True,
        "profile_options": {
            "image": {"choices": {"a": {"default": True}, "b": {}}, "unlisted_choice": FREE},
            "gpu": {"choices": {"0": {"default": True}, "1": {}}, "unlisted_choice": {}},
        },
    },
    {"slug": "big", "display_name": "Big"},
    {
        "slug": "own",
        "display_name": "Own",
        "profile_options": {"image": {"unlisted_choice": {"enabled": True}}},
    },
]

RIGHT = [
    None,
    {},
    {"profile": "small"},
    {"profile": "small", "image": "b", "gpu": "1"},
    {"profile": "small", "image--unlisted-choice": "lab:2"},
    # the free one wins, as in KubeSpawner
    {"profile": "small", "image": "nothing", "image--unlisted-choice": "lab:2"},
    {"profile": "small", "image": "", "gpu": None},
    # without a profile, the options are those of the default one
    {"image": "b"},
    {"profile": "", "image": "b"},
    {"profile": "own", "image--unlisted-choice": "any:1"},
    # what no profile knows is a hook's
    {"profile": "big", "image": "z", "for_a_hook": {"a": [1]}},
    {"for_a_hook": 1},
]


@pytest.mark.parametrize("options", RIGHT, ids=repr)
def test_right(options: Any) -> None:
    assert what_is_wrong(options, PROFILES) is None


WRONG = [
    {"options": [1], "told": "The options must be an object, not [1]."},
    {"options": "small", "told": "The options must be an object, not 'small'."},
    {
        "options": {"profile": "huge"},
        "told": "There is no profile 'huge'. The profiles are: small, big, own.",
    },
    {
        "options": {"profile": 3},
        "told": "`profile` must be text, not 3. The profiles are: small, big, own.",
    },
    {
        "options": {"profile": "small", "gpu": "2"},
        "told": "`gpu` may not be '2'. The choices are: 0, 1.",
    },
    {"options": {"gpu": "2"}, "told": "`gpu` may not be '2'. The choices are: 0, 1."},
    {
        "options": {"profile": "small", "gpu": ["1"]},
        "told": "`gpu` must be text, not ['1']. The choices are: 0, 1.",
    },
    {
        "options": {"profile": "small", "gpu--unlisted-choice": "7"},
        "told": "`gpu` takes none but the listed choices. The choices are: 0, 1.",
    },
    # KubeSpawner itself lets this one through
    {
        "options": {"gpu--unlisted-choice": "7"},
        "told": "`gpu` takes none but the listed choices. The choices are: 0, 1.",
    },
    {
        "options": {"profile": "small", "image": "c"},
        "told": "`image` may not be 'c'. The choices are: a, b."
        " Any other goes into `image--unlisted-choice` and must match ^lab:.",
    },
    {
        "options": {"profile": "small", "image--unlisted-choice": "evil:1"},
        "told": "`image--unlisted-choice` may not be 'evil:1'. The choices are: a, b."
        " Any other goes into `image--unlisted-choice` and must match ^lab:.",
    },
    {
        "options": {"profile": "small", "image--unlisted-choice": {"a": 1}},
        "told": "`image--unlisted-choice` must be text, not {'a': 1}. The choices are: a, b."
        " Any other goes into `image--unlisted-choice` and must match ^lab:.",
    },
    {
        "options": {"profile": "own"},
        "told": "`image` has no default. There are no choices."
        " Any other goes into `image--unlisted-choice`.",
    },
]


@pytest.mark.parametrize("row", WRONG, ids=lambda row: repr(row["options"]))
def test_wrong_options_are_told_with_what_is_valid(row: dict[str, Any]) -> None:
    assert what_is_wrong(row["options"], PROFILES) == row["told"]


@pytest.mark.parametrize("options", [{"profile": "x"}, {"a": 1}], ids=repr)
def test_without_profiles_all_is_a_hooks(options: Any) -> None:
    assert what_is_wrong(options, []) is None


def test_a_long_or_odd_value_is_shown_short_and_on_one_line() -> None:
    told = what_is_wrong({"profile": "x\n<b>" + "y" * 1000}, PROFILES)
    assert told is not None
    assert "\n" not in told
    assert len(told) < 200


class Offers:
    """What KubeSpawner's own check needs of a spawner."""

    _get_profile = KubeSpawner._get_profile

    def __init__(self, options: Any) -> None:
        self.user_options = options


@pytest.mark.parametrize("options", RIGHT, ids=repr)
def test_kubespawner_takes_what_is_right(options: Any) -> None:
    KubeSpawner._validate_user_options(Offers(options), PROFILES)
