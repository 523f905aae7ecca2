"""What is said about a pod: complete sentences, without secrets, and replaceable."""

from __future__ import annotations

import re
import string

import pytest

from detailedspawner.pods import TEXTS, PodSettings, Replacement, judge, read_messages, read_rules
from detailedspawner.pods.details import detail, exec_error, exit_meaning, pull_error, raw_detail
from detailedspawner.pods.settings import DEFAULT_GRACES
from detailedspawner.pods.texts import render

from .podmaker import BEGIN, container, crashing, ending, make_pod, waiting

FIELDS = {
    name: "x"
    for text in TEXTS.values()
    for _, name, _, _ in string.Formatter().parse(f"{text.message} {text.hint or ''}")
    if name
}


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_a_sentence_with_and_without_its_details(key: str) -> None:
    for fields in (FIELDS, {}):
        message, hint = render(key, fields, "", PodSettings())
        assert message.endswith(".")
        assert "{" not in message
        assert "()" not in message
        assert hint is None or re.search(r"[.?)]$", hint)


@pytest.mark.parametrize(
    ("raw", "short"),
    [
        ("rpc error: code = Unknown desc = no space left", "no space left"),
        (
            'failed to pull and unpack image "q/x:1": failed to resolve reference "q/x:1": '
            "q/x:1: not found",
            "q/x:1: not found",
        ),
        ("failed to do something", "failed to do something"),
        ("0/3 nodes are available: 3 x. preemption: 0/3 nodes", "0/3 nodes are available: 3 x."),
        (
            "toomanyrequests: You have reached your pull rate limit as 'ada': dckr_jti_x. Wait.",
            "toomanyrequests: You have reached your pull rate limit Wait.",
        ),
        ("container " + "a" * 64 + " failed", "container failed"),
        ("back-off: restarting container=x pod=jupyter-ada_hub(uid)", "restarting container=x"),
        (
            'MountVolume.SetUp failed for volume "v" : secret "s" not found',
            'secret "s" not found',
        ),
        (
            'MountVolume.SetUp failed for volume "home" : mount failed: exit status 32\n'
            "Mounting command: mount\nMounting arguments: -t nfs nfs:/a /var/lib/x/home\n"
            "Output: mount: /var/lib/x/home: unknown filesystem type 'nfs'.\n"
            "       dmesg(1) may have more information after failed mount system call.",
            "mount failed: unknown filesystem type 'nfs'.",
        ),
        (
            "mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs\n"
            "Output: mount.nfs: access denied by server while mounting nfs:/a",
            "mount failed: mount.nfs: access denied by server while mounting nfs:/a",
        ),
        ('env: Invalid value: "hunter2": too short', "env: Invalid value: too short"),
        ("get https://ada:pw@registry.example/v2/", "get https://registry.example/v2/"),
        ("x" * 500, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_detail(raw: str, short: str) -> None:
    assert detail(raw) == short


def test_accounts_are_hidden_from_administrators_too() -> None:
    said = raw_detail("reached your pull rate limit as 'ada.l': dckr_jti_Ab12_x. Wait.")
    assert said is not None
    assert "ada" not in said
    assert "dckr" not in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "reported an error"),
        (126, "may not be run"),
        (127, "not found"),
        (134, "crashed"),
        (137, "probably"),
        (139, "crashed"),
        (143, "asked to stop"),
        (138, "signal 10"),
        (42, ""),
        (-1, ""),
        (70000, ""),
    ],
)
def test_exit_codes_in_words(code: int, words: str) -> None:
    assert words in exit_meaning(code)
    assert bool(words) is bool(exit_meaning(code))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("exec: jupyterhub-singleuser: executable file not found in $PATH", "missing"),
        ("fork/exec /start: permission denied", "denied"),
        ("exec /start: exec format error", "format"),
        ("something else", ""),
    ],
)
def test_why_a_command_does_not_run(text: str, kind: str) -> None:
    assert exec_error(text) == kind


def test_kinds_of_pull_errors_have_texts() -> None:
    for text in ("not found", "denied", "no match for platform", "timeout"):
        assert f"pull.{pull_error('ErrImagePull', text, '')}" in TEXTS


# --- what an administrator may change

PULL = make_pod(waiting("notebook", "ErrImagePull", "manifest unknown"))


NOT_FOUND = "There is no image img:1."
CHECK = "Check its name and its tag for typing errors."


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        ({"pull.not_found": ("Kein Bild {image}!", "Frag {nobody}")}, "Kein Bild img:1!", "Frag"),
        # our hint was not made for another message
        ({"pull": ("Any pull",)}, "Any pull", None),
        ({"pull.not_found": (None, "Ask Bob.")}, NOT_FOUND, "Ask Bob."),
        ({"pull.not_found": (None, None, "https://h.example")}, NOT_FOUND,
         f"{CHECK} https://h.example"),
        ({"pull": ("New.", None, "https://h.example/{x}")}, "New.", "https://h.example/{x}"),
        # the most precise one wins: a key of the table, a reason, a group
        ({"pull": ("Any",), "pull.not_found": ("This",)}, "This", None),
        ({"pull": ("Any",), "ErrImagePull": ("Err",)}, "Err", None),
        ({"ErrImagePull": ("Err",), "pull.not_found": ("This",)}, "This", None),
        ({"ImagePullBackOff": ("Other",)}, NOT_FOUND, CHECK),
        # A text that cannot be filled is not used
        ({"pull": ("{",)}, NOT_FOUND, None),
        ({"pull": ("{0}",)}, NOT_FOUND, None),
        ({"pull": ("{image.x}",)}, NOT_FOUND, None),
    ],
)  # fmt: skip
def test_a_text_is_a_setting(
    texts: dict[str, tuple[str | None, ...]], message: str, hint: str | None
) -> None:
    pod = make_pod(
        waiting("notebook", "ErrImagePull", "manifest unknown"),
        containers=[container("notebook", "img:1")],
    )
    replacements = {key: Replacement(*text) for key, text in texts.items()}
    problem = judge(pod, now=BEGIN, settings=PodSettings(texts=replacements)).problem
    assert problem is not None
    assert (problem.message, problem.hint) == (message, hint)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ErrImagPull": "x"}, "did you mean ErrImagePull?"),
        ({"zzzzzzzzz": "x"}, "no known reason"),
        ({3: "x"}, "no known reason"),
        ({"pull": ""}, "not empty"),
        ({"pull": None}, "needs a text"),
        ({"pull": {}}, "needs a text"),
        ({"pull": {"massage": "x"}}, "known are message, hint, help_url"),
        ({"pull": {"message": 3}}, "must be text"),
        ({"pull": {"help_url": "javascript:alert(1)"}}, "http://"),
        ({"pull": {"hint": "{"}}, "brace"),
        ({"pull": "the {imege}"}, "known are account, "),
        ({"pull": "the {}"}, "known are account, "),
    ],
)
def test_a_wrong_text_is_refused_by_name(given: dict[object, object], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        read_messages(given)


def test_texts_are_read_in_both_forms() -> None:
    given = {"pull": "The {image}.", "crash": {"hint": "H", "help_url": "https://x.example"}}
    assert read_messages(given) == {
        "pull": Replacement("The {image}."),
        "crash": Replacement(None, "H", "https://x.example"),
    }


def test_secrets_are_hidden_in_an_administrators_words_too() -> None:
    pod = make_pod(waiting("notebook", "CreateContainerError", "token=abcdef12"))
    texts = {"CreateContainerError": Replacement("It said {detail}.")}
    problem = judge(pod, now=BEGIN, settings=PodSettings(texts=texts)).problem
    assert problem is not None
    assert problem.message == "It said token=(hidden)."


def test_the_first_rule_that_matches_wins_over_all_other_texts() -> None:
    rules = read_rules([
        {"match": "^no such", "message": "never"},
        {"match": "manifest|unknown", "message": "No {image}.", "help_url": "https://help.example"},
        {"match": "manifest", "message": "too late"},
    ])  # fmt: skip
    texts = {"pull.not_found": Replacement("less precise", "a hint")}
    problem = judge(PULL, now=BEGIN, settings=PodSettings(message_rules=rules, texts=texts)).problem
    assert problem is not None
    assert (problem.message, problem.hint) == (
        "No registry.example/science/notebook:2026.1.",
        "https://help.example",
    )


def test_braces_from_outside_are_no_fields() -> None:
    pod = make_pod(
        waiting("{image}", "ErrImagePull", "manifest unknown"),
        containers=[container("{image}", "{detail}{0}")],
    )
    problem = judge(pod, now=BEGIN).problem
    assert problem is not None
    assert problem.message == "There is no image {detail}{0}."


def test_a_log_with_secrets_is_shown_without_them() -> None:
    log = "starting\nexport API_TOKEN=abcdef123\nhttps://ada:pw@git.example\n\x1b[31mfailed"
    pod = make_pod(crashing("notebook", 1, ending(1, message=log)))
    tail = judge(pod, now=BEGIN).containers[0].log_tail
    assert tail == "starting\nexport API_TOKEN=(hidden)\nhttps://git.example\nfailed"


def test_every_class_of_trouble_has_a_grace() -> None:
    expected = {
        "spec", "gone", "pull_definite", "pull_transient", "config", "config_transient",
        "create", "create_transient", "crash", "hook", "schedule_hopeless", "schedule_full",
        "schedule_scaling", "volume_mount", "volume_attach", "provisioning", "sandbox", "probe",
    }  # fmt: skip
    assert expected <= set(DEFAULT_GRACES)
