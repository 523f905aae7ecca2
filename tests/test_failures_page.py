"""The page on failures says what the code does."""

from __future__ import annotations

from detailedspawner.pods import DEFAULT_GRACES

from .failurespage import CLASSES, PAGE, page, tables


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in tables() if f"<!-- {name} -->" not in text] == []
    assert text == page(text), "run python -m tests.failurespage"


def test_every_class_is_explained() -> None:
    assert set(CLASSES) == set(DEFAULT_GRACES)
