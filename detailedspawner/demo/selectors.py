"""Label and field selectors, compiled to a predicate on objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .errors import Object, bad_request

Predicate = Callable[[Object], bool]

_KEY = r"([\w./-]+)"


def value_at(obj: Object, path: str) -> str:
    """Return the text at a dotted path, empty where something on the way is missing."""
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _label_term(term: str) -> Callable[[dict[str, str]], bool]:
    if match := re.fullmatch(rf"{_KEY}\s*(==?|!=)\s*([\w.-]*)", term):
        key, operator, value = match.groups()
        return lambda labels: (labels.get(key) == value) == (operator != "!=")
    if match := re.fullmatch(rf"{_KEY}\s+(in|notin)\s*\(([^()]*)\)", term):
        key, operator, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        return lambda labels: (labels.get(key) in values) == (operator == "in")
    if match := re.fullmatch(rf"(!?)\s*{_KEY}", term):
        negation, key = match.groups()
        return lambda labels: (key in labels) == (not negation)
    raise bad_request(f"unable to parse requirement: {term!r}")


def _field_term(term: str, supported: tuple[str, ...]) -> Predicate:
    match = re.fullmatch(r"([^=!]+)(==?|!=)(.*)", term)
    if match is None:
        raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
    path, operator, value = match.groups()
    if path not in ("metadata.name", "metadata.namespace", *supported):
        raise bad_request(f"field label not supported: {path}")
    return lambda obj: (value_at(obj, path) == value) == (operator != "!=")


def compile_selectors(
    labels: str | None, fields: str | None, supported: tuple[str, ...] = ()
) -> Predicate:
    """Return the predicate for both selectors, or raise `ApiError` 400 for one that is not valid.

    `supported` names the fields that can be selected on beside name and namespace.
    """
    outside_parentheses = r",(?![^(]*\))"
    terms = re.split(outside_parentheses, labels or "")
    label_terms = [_label_term(term.strip()) for term in terms if term.strip()]
    field_terms = [_field_term(term, supported) for term in (fields or "").split(",") if term]

    def matches(obj: Object) -> bool:
        own = obj["metadata"].get("labels") or {}
        return all(term(own) for term in label_terms) and all(term(obj) for term in field_terms)

    return matches
