"""No secret of a pod reaches its user, wherever the cluster or a program repeats it."""

from __future__ import annotations

import copy
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detailedspawner.models.redaction import HIDDEN, option_values
from detailedspawner.pods import PodSettings, PodView, Seen, judge, pod_secrets

from .failureexamples import EXAMPLES, Example
from .podmaker import BEGIN, Raw, container, crashing, ending, event, make_pod, waiting
from .podpicture import look

QUICK = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
NAMES = ("GIT_TOKEN", "DB_PASSWORD", "JUPYTERHUB_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey")
# what no text of ours has by chance
secrets = st.text(string.ascii_letters + string.digits + "+/=_-$%&!", min_size=8, max_size=60).map(
    lambda text: f"Zq{text}7"
)
fillers = st.sampled_from(["", " ", ": ", '"', "=", "x " * 90, "y" * 190, "failed to x: ", "\n"])


def shown(view: PodView) -> str:
    """Join all that leaves a view."""
    parts = [view.message, view.problem, view.warnings, view.steps, view.containers, view.notes]
    return repr(parts)


def planted(value: Any, text: str) -> Any:
    """Put a text behind every message of a cluster's object."""
    if isinstance(value, dict):
        found = {key: planted(item, text) for key, item in value.items()}
        if isinstance(value.get("message"), str):
            found["message"] = value["message"] + text
        return found
    return [planted(item, text) for item in value] if isinstance(value, (list, tuple)) else value


def with_secret(pod: Any, name: str, secret: str) -> Any:
    pod = copy.deepcopy(pod) or {"spec": {"containers": [{"name": "notebook"}]}}
    pod["spec"]["containers"][0].setdefault("env", []).append({"name": name, "value": secret})
    return pod


@QUICK
@given(
    example=st.sampled_from(list(EXAMPLES.values())),
    name=st.sampled_from(NAMES),
    secret=secrets,
    before=fillers,
    after=fillers,
)
def test_a_planted_secret_never_appears(
    example: Example, name: str, secret: str, before: str, after: str
) -> None:
    text = f"{before}{secret}{after}"
    seen = Seen.EMPTY
    for moment in (0.0, 60.0, 4000.0):
        view = judge(
            with_secret(planted(example.pod, text), name, secret),
            planted(example.events, text),
            example.claims,
            create_error=planted(example.error, text),
            pod_gone=example.gone,
            now=BEGIN + moment,
            seen=seen,
        )
        seen = view.seen
        assert secret not in shown(view)
        # nor half of it, where a text was cut
        assert secret[:8] not in shown(view)


@pytest.mark.parametrize("length", range(0, 700, 7))
def test_a_secret_at_the_cut_is_not_shown_in_part(length: int) -> None:
    secret = "Zq8wXk2mNv5tRb7y" * 4
    log = "a " * (length // 2) + secret
    pod = make_pod(crashing("notebook", 1, ending(1, message=log)))
    view = look(with_secret(pod, "TOKEN", secret))
    assert "Zq8wXk" not in shown(view)


def test_each_way_in_which_a_pod_has_secrets() -> None:
    pod = make_pod(
        waiting("notebook", "CreateContainerError"),
        init=[container("clone", args=["--token", "arg-secret-1", "--key=arg-secret-2", "-v"])],
        containers=[
            container(
                "notebook",
                env=[
                    {"name": "API_TOKEN", "value": "env-secret-1"},
                    {"name": "DB", "value": "mysql://root:url-secret-1@db/x"},
                    {"name": "JUPYTERHUB_USER", "value": "ada-lovelace"},
                    {"name": "REGISTRY_AUTH", "value": "ada-lovelace"},
                    {"name": "GIT_SECRET", "value": "git-credentials"},
                    {"name": "X", "valueFrom": {"secretKeyRef": {"name": "git-credentials"}}},
                    {"name": "SECRET_WORD", "value": "jupyter-ada"},
                    {"name": "GREETING", "value": "good morning"},
                    {"name": "TOKEN", "value": None},
                    {"name": None, "value": "x"},
                    "junk",
                ],
            )
        ],
    )
    assert set(pod_secrets(pod)) == {
        *("arg-secret-1", "arg-secret-2", "env-secret-1", "url-secret-1")
    }


@pytest.mark.parametrize(
    "pod", [None, [], "x", {"spec": 3}, {"spec": {"containers": [{"env": 3, "args": {}}]}}]
)
def test_no_pod_has_no_secrets(pod: object) -> None:
    assert pod_secrets(pod) == ()


def test_secrets_are_known_before_there_is_a_pod_and_after() -> None:
    plan = with_secret({"spec": make_pod()["spec"]}, "TOKEN", "Zq-0123456")
    error = {"code": 403, "message": "refused with Zq-0123456"}
    view = judge(plan, create_error=error, now=BEGIN)
    assert view.message == f"The cluster refused the server (refused with {HIDDEN})."
    pod = with_secret(make_pod(waiting("notebook")), "TOKEN", "Zq-0123456")
    before = judge(pod, now=BEGIN)
    view = judge(None, [event("Odd", "Zq-0123456")], now=BEGIN, seen=before.seen)
    assert "Zq-01" not in shown(view)


def test_what_a_user_chose_is_hidden_by_its_name() -> None:
    chosen = option_values({"git": {"token": "my-own-token"}, "image": "img:1"})
    pod = make_pod(waiting("notebook", "CreateContainerError", "img:1 needs my-own-token"))
    problem = judge(pod, now=BEGIN, settings=PodSettings(secrets=chosen)).problem
    assert problem is not None
    assert problem.message.endswith(f"(img:1 needs {HIDDEN}).")


@pytest.mark.parametrize(
    ("name", "value"),
    [("TOKEN_ENABLED", "true"), ("KEY", "1"), ("USER_SECRET", "jovyan"), ("KEY_DIR", "/home/ada")],
)
def test_words_of_every_day_stay(name: str, value: str) -> None:
    said = f"it was {value} 1 of /home/ada"
    pod: Raw = make_pod(waiting("notebook", "CreateContainerError", said))
    problem = look(with_secret(pod, name, value)).problem
    assert problem is not None
    assert said in problem.message
