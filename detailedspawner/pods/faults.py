"""Whose a failure is: the user's (or the option's) to mend, or the cluster's."""

from __future__ import annotations

from .view import Problem

# Classes whose failures come from what was asked for: image, command, option, quota, rule.
_USERS = frozenset(
    {
        *("spec", "gone", "pull_definite", "config", "create", "crash", "hook", "completed"),
        *("schedule_hopeless", "schedule_full", "volume_mount", "probe"),
    }
)
# What the cluster or the hub did, although it is of one of those classes.
_NOT_USERS = frozenset(
    {
        *("create.rbac", "create.namespace", "claim.Lost", "NodeLost", "shutdown", "rejected"),
        *("gone", "preempted", "Terminating", "PodFailed"),
    }
)
# What may be the cluster's, but what a user can also bring about alone: a registry that is not
# there, an option that is too large for now, storage that another server of theirs holds.
_PROVOKED = frozenset(
    {"pull_transient", "config_transient", "schedule_waiting", "schedule_scaling"}
)
_PROVOKED_TEXTS = frozenset({"FailedAttachVolume.multi"})


def users_fault(problem: Problem) -> bool:
    """Tell whether a failure says nothing against the cluster: another user's start may work."""
    return problem.category in _USERS and problem.key not in _NOT_USERS


def counts(problem: Problem) -> bool:
    """Tell whether a failure may be a reason to restart the hub, if it happens again and again.

    Nothing that a user can do is one, whoever has to mend it.
    """
    provoked = problem.category in _PROVOKED or problem.key in _PROVOKED_TEXTS
    return not (provoked or users_fault(problem))
