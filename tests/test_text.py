"""Text from outside becomes safe to show, whatever is in it."""

from __future__ import annotations

import json
import time

import pytest

from detailedspawner.models.redaction import HIDDEN, LONGEST_TEXT
from detailedspawner.models.text import clean, cut, last_lines, readable_amount, readable_name

ESC = "\x1b"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain words", "plain words"),
        ("", ""),
        # Escape sequences: colours, cursor, window titles, cut-off ones
        (f"{ESC}[31mred{ESC}[0m alert", "red alert"),
        (f"{ESC}[2J{ESC}[1;1Hhome", "home"),
        (f"{ESC}]0;title\x07text", "text"),
        (f"{ESC}]8;;http://x{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"end {ESC}[", "end"),
        ("\x9b31mred", "red"),
        # Control and invisible characters
        ("a\x00b\x07c\x7f", "abc"),
        ("a\u202eb\u200bc\ufeff", "abc"),
        ("one\r\ntwo\rthree\tfour", "one two three four"),
        ("  wide   space  ", "wide space"),
        # Broken unicode, and unicode that is fine
        ("a\ud800b", "a?b"),
        ("Grüße 你好 🚀", "Grüße 你好 🚀"),
    ],
)
def test_one_clean_line(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_a_credential_at_the_cut_is_hidden_as_well() -> None:
    text = "x" * 480 + " https://ada:" + "s" * 100 + "@example.org"
    assert "sss" not in clean(text, 500)


@pytest.mark.parametrize(
    ("length", "shown"), [(10, "0123456789"), (5, "0123…"), (1, "…"), (0, "…")]
)
def test_cut(length: int, shown: str) -> None:
    assert cut("0123456789", length) == shown


def test_equal_lines_of_a_log_are_one_with_a_count() -> None:
    waits = f"{ESC}[33mwaiting for the database{ESC}[0m\n\n" * 300
    log = f"starting\n{waits}gave up\nwaiting for the database\n"
    assert last_lines(log).split("\n") == [
        "starting",
        "waiting for the database (300 times)",
        "gave up",
        "waiting for the database",
    ]


def test_log_tail_is_the_end_of_the_log() -> None:
    log = "\n".join(f"line {number}" for number in range(50)) + "\n\n"
    lines = last_lines(log).split("\n")
    assert lines == [f"line {number}" for number in range(30, 50)]


def test_log_lines_are_cleaned_and_cut() -> None:
    tail = last_lines(f"{ESC}[1mFatal{ESC}[0m\ttoken=abcdef\n" + "y" * 2000)
    first, second = tail.split("\n")
    assert first == f"Fatal\ttoken={HIDDEN}"
    assert len(second) == 500


def test_the_end_of_a_huge_log_is_kept() -> None:
    assert last_lines("a\n" * LONGEST_TEXT + "last words").endswith("\nlast words")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("git-clone", "Git clone"),
        ("block_cloud.metadata", "Block cloud metadata"),
        ("vpn", "Vpn"),
        ("OAuth2-proxy", "OAuth2 proxy"),
        ("--", ""),
        ("", ""),
    ],
)
def test_readable_name(name: str, words: str) -> None:
    assert readable_name(name) == words


@pytest.mark.parametrize(
    ("resource", "quantity", "shown"),
    [
        ("memory", "268435456", "256Mi"),
        ("limits.memory", "1610612736", "1.5Gi"),
        ("requests.storage", "1099511627776", "1Ti"),
        ("ephemeral-storage", "1000", "1000"),
        ("memory", "2Gi", "2Gi"),
        ("memory", "64M", "64M"),
        ("memory", "1e9", "1e9"),
        ("pods", "2048", "2048"),
        ("cpu", "2048", "2048"),
    ],
)
def test_readable_amount(resource: str, quantity: str, shown: str) -> None:
    assert readable_amount(resource, quantity) == shown


@pytest.mark.parametrize(
    "raw", ["\x1b[" * 50_000, "token" * 50_000, "://" * 50_000, "\ud800" * 50_000, "a" * 200_000]
)
def test_hostile_text_costs_little_and_can_be_encoded(raw: str) -> None:
    begun = time.process_time()
    json.dumps([clean(raw), last_lines(raw)]).encode("utf-8")
    assert time.process_time() - begun < 1.0
