"""Whether a server answers: settings, outcomes and the state that follows from them.

Pure functions, standard library only, the clock passed in. The requests are made
by `probe`.
"""

from __future__ import annotations

from .settings import HealthSettings, check_setting, server_path
from .states import (
    QUICK_INTERVAL,
    QUICK_SECONDS,
    HealthState,
    Judgement,
    Kind,
    Outcome,
    after,
    begin,
    failure_message,
    judge_pod_answer,
    judge_proxy_answer,
    next_check_at,
    to_model,
)

__all__ = [
    "QUICK_INTERVAL",
    "QUICK_SECONDS",
    "HealthSettings",
    "HealthState",
    "Judgement",
    "Kind",
    "Outcome",
    "after",
    "begin",
    "check_setting",
    "failure_message",
    "judge_pod_answer",
    "judge_proxy_answer",
    "next_check_at",
    "server_path",
    "to_model",
]
