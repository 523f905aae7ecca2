"""What a pod says about a start: its steps, its counts and what is wrong.

Pure functions on plain dicts, standard library only, the clock passed in. Nothing
here talks to a cluster or keeps state: what must be remembered is in `Seen`.
"""

from __future__ import annotations

from .container_rules import shown_logs
from .faults import counts, users_fault
from .judging import judge
from .replacing import read_messages, read_rules
from .secrecy import pod_secrets
from .settings import DEFAULT_GRACES, PodSettings, Replacement
from .texts import ASK_ADMIN, TEXTS, Text
from .view import PodView, Problem, Seen, Severity, Verdict

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
