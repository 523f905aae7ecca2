"""What a pod says about a start: its steps, its counts and what is wrong.

Pure functions on plain dicts, standard library only, the clock passed in. Nothing
here talks to a cluster or keeps state: what must be remembered is in `Seen`.
"""

from __future__ import annotations

from .container_rules import shown_logs
from .judging import judge
from .presenting import read_messages, read_rules
from .reading import pod_secrets
from .settings import DEFAULT_GRACES, PodSettings, Replacement
from .texts import ASK_ADMIN, TEXTS, Text
from .trouble import PodView, Problem, Seen, Severity, Verdict, counts, users_fault

EMPTY = Seen.EMPTY

__all__ = [
    "ASK_ADMIN",
    "DEFAULT_GRACES",
    "EMPTY",
    "TEXTS",
    "PodSettings",
    "PodView",
    "Problem",
    "Replacement",
    "Seen",
    "Severity",
    "Text",
    "Verdict",
    "counts",
    "judge",
    "pod_secrets",
    "read_messages",
    "read_rules",
    "shown_logs",
    "users_fault",
]
