"""Which answers mean that a server is up, at its pod and through the proxy."""

from __future__ import annotations

from typing import Any

import pytest

from detailedspawner.health import (
    HealthSettings,
    Kind,
    Outcome,
    judge_pod_answer,
    judge_proxy_answer,
)

NO_ANSWER = [
    Kind.REFUSED,
    Kind.UNREACHABLE,
    Kind.DNS,
    Kind.TLS,
    Kind.TIMEOUT,
    Kind.TOO_SLOW,
    Kind.RESET,
    Kind.BAD_ANSWER,
]


def answer(status: int, location: str | None = None) -> Outcome:
    """Return the outcome of a request that was answered."""
    kind = Kind.REDIRECTED if location else Kind.ANSWERED
    return Outcome(kind, status, location)


@pytest.mark.parametrize("status", [200, 204, 302, 401, 403, 404, 405, 429, 499])
def test_any_answer_of_the_pod_below_500_means_up(status: int) -> None:
    assert judge_pod_answer(answer(status), "/user/x/api").good


@pytest.mark.parametrize("status", [500, 502, 503, 599, 999])
def test_an_error_of_the_pod_is_told_with_status_and_path(status: int) -> None:
    judgement = judge_pod_answer(answer(status), "/user/x/api")
    assert not judgement.good
    assert judgement.message == f"the server answered {status} at /user/x/api"


@pytest.mark.parametrize("kind", NO_ANSWER)
def test_no_answer_has_a_sentence_of_its_own(kind: Kind) -> None:
    settings = HealthSettings()
    pod = judge_pod_answer(Outcome(kind))
    proxy = judge_proxy_answer(Outcome(kind), 200, "/hub/", settings)
    assert (pod.good, pod.kind, proxy.good, proxy.kind) == (False, kind, False, kind)
    assert "server" in pod.message
    assert "proxy" in proxy.message
    assert pod.counts
    assert proxy.counts


def test_all_sentences_about_no_answer_differ() -> None:
    assert len({judge_pod_answer(Outcome(kind)).message for kind in NO_ANSWER}) == len(NO_ANSWER)


def test_nothing_listens_yet() -> None:
    assert "nothing listens" in judge_pod_answer(Outcome(Kind.REFUSED)).message


# status through the proxy, where it leads to, status of the pod itself, and what is wrong
PROXIED: list[dict[str, Any]] = [
    {"status": 200, "pod": 200},
    {"status": 404, "pod": 404},
    {"status": 403, "pod": 403},
    {"status": 302, "to": "/user/x/lab", "pod": 302},
    {"status": 302, "to": "/user/x/api", "pod": 302},
    {"status": 302, "to": "http://idp.example/login", "pod": 302},
    # the server's own login
    {"status": 302, "to": "/hub/api/oauth2/authorize?x=1", "pod": 302},
    {"status": 302, "to": "/hub/login", "pod": 302},
    {"status": 302, "to": "/hub/users", "pod": 302},
    {"status": 302, "to": "/other/hub/user/x/", "pod": 302},
    {"status": 302, "to": "/hubble/user/x/", "pod": 302},
    # the Hub answers for servers without a route
    {"status": 302, "to": "/hub/user/x/api", "pod": 200, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/user/x/api", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/user/", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/user", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/spawn", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/spawn?next=x", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/spawn/x", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/spawn-pending/x", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 307, "to": "https://h.example/hub/user/x/", "pod": 307, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "//h.example/hub/user/x/api", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/%75ser/x/", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "/hub/../hub//user/x/", "pod": 302, "kind": Kind.HUB_ANSWERED},
    {"status": 302, "to": "http://x//hub/user/x/", "pod": 302, "kind": Kind.HUB_ANSWERED},
    # the answers of the proxy, and of the Hub under its own paths
    {"status": 503, "pod": 200, "kind": Kind.PROXY_ANSWERED},
    {"status": 503, "pod": 503, "kind": Kind.PROXY_ANSWERED},
    {"status": 502, "pod": 200, "kind": Kind.PROXY_ANSWERED},
    {"status": 404, "pod": 200, "kind": Kind.PROXY_ANSWERED},
    {"status": 424, "pod": 200, "kind": Kind.PROXY_ANSWERED},
    {"status": 200, "pod": 404, "kind": Kind.PROXY_ANSWERED},
    {"status": 200, "pod": None, "kind": Kind.PROXY_ANSWERED},
    {"status": 301, "to": "https://h.example/user/x/api", "pod": 200, "kind": Kind.PROXY_ANSWERED},
    # narrowed
    {"status": 200, "pod": 200, "statuses": (200,)},
    {"status": 404, "pod": 404, "statuses": (200,), "kind": Kind.UNWANTED_STATUS},
    {"status": 404, "pod": 404, "statuses": (200, 404)},
    {"status": 404, "pod": 200, "statuses": (200, 404), "kind": Kind.PROXY_ANSWERED},
]  # fmt: skip


@pytest.mark.parametrize("row", PROXIED, ids=lambda row: f"{row['status']} {row.get('to', '')}")
def test_only_the_servers_own_answer_counts_through_the_proxy(row: dict[str, Any]) -> None:
    settings = HealthSettings(statuses=row.get("statuses"))
    judgement = judge_proxy_answer(
        answer(row["status"], row.get("to")), row["pod"], "/hub/", settings, "/user/x/api"
    )
    good = Kind.REDIRECTED if "to" in row else Kind.ANSWERED
    assert (judgement.kind, judgement.good) == (row.get("kind", good), "kind" not in row)


@pytest.mark.parametrize("hub_prefix", ["/a%20b/hub/", "/a b/hub"])
def test_the_hub_may_have_a_base_url(hub_prefix: str) -> None:
    outcome = answer(302, "/a%20b/hub/user/x/api")
    assert judge_proxy_answer(outcome, 302, hub_prefix, HealthSettings()).kind is Kind.HUB_ANSWERED


@pytest.mark.parametrize("location", ["http://[", "", "\x00", "http://x:y/", "?", "%"])
def test_an_odd_location_leads_nowhere(location: str) -> None:
    outcome = Outcome(Kind.REDIRECTED, 302, location)
    assert judge_proxy_answer(outcome, 302, "/hub/", HealthSettings()).good


def test_a_difference_names_both_answers_and_the_path() -> None:
    judgement = judge_proxy_answer(answer(503), 200, "/hub/", HealthSettings(), "/user/x/api")
    assert judgement.message == "the proxy answered 503 at /user/x/api, the server itself 200"
