"""Whose a failure is: the user's (or the option's) to mend, or the cluster's."""

from __future__ import annotations

from .view import Problem

# Classes whose failures come from what was asked for: image, command, option, quota, rule.
_USERS = frozenset(
    {
        *("spec", "gone", "pull_definite", "config", "create", "crash", "hook", "completed"),
        *("schedule_hopeless", "schedule_full", "probe"),
    }
)
# What the cluster or the hub did, although it is of one of those classes.
_NOT_USERS = frozenset(
    {
        *("create.rbac", "create.namespace", "claim.Lost", "NodeLost", "shutdown", "rejected"),
        *("gone", "preempted", "Terminating", "PodFailed"),
    }
)


def users_fault(problem: Problem) -> bool:
    """Tell whether a failure says nothing against the cluster: another user's start may work.

    Such a failure is no reason to restart the hub, however often it happens.
    """
    return problem.category in _USERS and problem.key not in _NOT_USERS
