"""One request to servers that behave, misbehave, or are not there."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from detailedspawner.health import Kind, Outcome
from detailedspawner.probe import ask, close_session, pinned_context

from .certificates import Authority
from .rawserver import RawServer, until

QUICK = 0.3  # seconds, for what is expected to take too long
AMPLE = 10.0

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[RawServer]]]:
    """Starts servers that do what they are told with each connection."""
    started: list[RawServer] = []

    async def start(*parts: Any, **more: Any) -> RawServer:
        server = RawServer(parts, **more)
        await server.start()
        started.append(server)
        return server

    yield start
    await close_session()
    for server in started:
        await server.stop()


def head(status: int, *headers: str) -> bytes:
    """Return the head of an answer without a body."""
    lines = [f"HTTP/1.1 {status} X", "Content-Length: 0", *headers, "", ""]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("status", [200, 204, 401, 404, 424, 500, 503])
async def test_an_answer_is_its_status(serve: Any, status: int) -> None:
    server = await serve(head(status))
    assert await ask(server.url, timeout=AMPLE) == Outcome(Kind.ANSWERED, status)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/user/x/api", "{base}/user/x/api"),
        ("../lab", "{base}/lab"),
        ("/hub/spawn", "{base}/hub/spawn"),
        ("http://elsewhere.invalid/", "http://elsewhere.invalid/"),
        ("//elsewhere.invalid/", "http://elsewhere.invalid/"),
    ],
)
async def test_a_redirect_is_told_and_not_followed(
    serve: Any, location: str, expected: str
) -> None:
    server = await serve(head(302, f"Location: {location}"))
    outcome = await ask(f"{server.url}/user/x", timeout=AMPLE)
    assert outcome == Outcome(Kind.REDIRECTED, 302, expected.format(base=server.url.rstrip("/")))
    assert len(server.requests) == 1


async def test_a_location_without_a_redirect_is_an_answer(serve: Any) -> None:
    server = await serve(head(201, "Location: /x"))
    assert await ask(server.url, timeout=AMPLE) == Outcome(Kind.ANSWERED, 201)


async def test_nothing_listens() -> None:
    server = RawServer([OK])
    await server.start()
    await server.stop()
    assert (await ask(server.url, timeout=AMPLE)).kind is Kind.REFUSED
    await close_session()


HEADER_BOMB = b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n"
MANY_HEADERS = b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n"

WITHOUT_ANSWER: dict[str, tuple[list[Any], Kind]] = {
    "accepts and never answers": ([None], Kind.TIMEOUT),
    "stops within the head": ([OK[:1], OK[1:9], None], Kind.TIMEOUT),
    "closes at once": ([], Kind.RESET),
    "dies within the head": ([b"HTTP/1.1 200 OK\r\nX"], Kind.RESET),
    "resets": ([RawServer.RESET], Kind.RESET),
    "garbage": ([b"\x00\xff garbage \r\n\r\n"], Kind.BAD_ANSWER),
    "another protocol": ([b"SSH-2.0-OpenSSH_9.6\r\n"], Kind.BAD_ANSWER),
    "a huge header": ([HEADER_BOMB], Kind.BAD_ANSWER),
    "no number for a status": ([b"HTTP/1.1 abc OK\r\n\r\n"], Kind.BAD_ANSWER),
}


@pytest.mark.parametrize("name", WITHOUT_ANSWER)
async def test_no_answer_is_an_outcome_too(serve: Any, name: str) -> None:
    parts, kind = WITHOUT_ANSWER[name]
    server = await serve(*parts)
    outcome = await ask(server.url, timeout=QUICK if None in parts else AMPLE)
    assert (outcome.kind, outcome.status) == (kind, None)
    assert outcome.text
    assert len(outcome.text) <= 300


async def test_a_byte_now_and_then_does_not_prolong_the_time(serve: Any) -> None:
    drips = [part for byte in OK for part in (bytes([byte]), 0.05)]
    server = await serve(*drips)
    began = asyncio.get_running_loop().time()
    outcome = await ask(server.url, timeout=QUICK)
    assert outcome.kind is Kind.TIMEOUT
    assert asyncio.get_running_loop().time() - began < QUICK + 1


async def test_many_headers_are_no_harm(serve: Any) -> None:
    server = await serve(MANY_HEADERS, None)
    outcome = await ask(server.url, timeout=AMPLE)
    # how many are too many depends on the version of aiohttp
    assert outcome.kind in (Kind.BAD_ANSWER, Kind.ANSWERED)


async def test_the_body_is_not_waited_for(serve: Any) -> None:
    server = await serve(b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\nx", None)
    assert await ask(server.url, timeout=AMPLE) == Outcome(Kind.ANSWERED, 200)
    await until(lambda: server.open == 0)


async def test_only_the_beginning_of_an_endless_body_is_read(serve: Any) -> None:
    server = await serve(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1_000_000, None)
    outcome = await ask(server.url, timeout=AMPLE, body=True)
    assert outcome.text == "x" * 4096


async def test_a_body_that_does_not_come_is_too_slow(serve: Any) -> None:
    server = await serve(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", None)
    assert (await ask(server.url, timeout=QUICK, body=True)).kind is Kind.TOO_SLOW


async def test_the_request_carries_nothing_of_anybody(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    server = await serve(head(200, "Set-Cookie: a=b"))
    await ask(f"{server.url}/user/x%2Fy/api?q=%20", timeout=AMPLE)
    await ask(f"{server.url}/user/x/../y/api", timeout=AMPLE)
    first, second = server.requests
    # the path as it was given, not tidied up
    assert first.startswith(b"GET /user/x%2Fy/api?q=%20 HTTP/1.1\r\n")
    assert second.startswith(b"GET /user/x/../y/api HTTP/1.1\r\n")
    for request in server.requests:
        assert b"cookie" not in request.lower()
        assert b"authorization" not in request.lower()


async def test_the_host_header_can_be_given(serve: Any) -> None:
    server = await serve(OK)
    await ask(server.url, timeout=AMPLE, host="x.hub.example")
    assert b"\r\nHost: x.hub.example\r\n" in server.requests[0]
    assert server.requests[0].lower().count(b"host:") == 1


async def test_each_request_has_its_own_connection(serve: Any) -> None:
    server = await serve(OK, None)
    for _ in range(3):
        await ask(server.url, timeout=AMPLE)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "url", ["", "http://", "http:///x", "ftp://127.0.0.1/", "nothing", "http://127.0.0.1:99999/"]
)
async def test_an_impossible_url_is_an_outcome(url: str) -> None:
    assert (await ask(url, timeout=AMPLE)).status is None
    await close_session()


async def test_a_name_that_does_not_exist() -> None:
    outcome = await ask("http://nobody.invalid/", timeout=AMPLE)
    # without any network the resolver may be silent instead
    assert outcome.kind in (Kind.DNS, Kind.UNREACHABLE)
    await close_session()


async def test_ipv6(serve: Any) -> None:
    try:
        server = await serve(OK, host="::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    assert server.url.startswith("http://[::1]:")
    assert (await ask(server.url, timeout=AMPLE)).status == 200


async def test_a_cancelled_request_is_closed(serve: Any) -> None:
    server = await serve(None)
    task = asyncio.ensure_future(ask(server.url, timeout=AMPLE))
    await until(lambda: server.open == 1 and len(server.requests) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: server.open == 0)


async def test_the_session_can_be_closed_twice_and_made_anew(serve: Any) -> None:
    server = await serve(OK)
    await close_session()
    await ask(server.url, timeout=AMPLE)
    await close_session()
    await close_session()
    assert (await ask(server.url, timeout=AMPLE)).status == 200


# --- certificates -------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A private certificate authority."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize(
    ("trusted", "kind"), [(True, Kind.ANSWERED), (False, Kind.TLS), (None, Kind.TLS)]
)
async def test_only_a_trusted_certificate_will_do(
    serve: Any, authority: Authority, tmp_path: Path, trusted: bool | None, kind: Kind
) -> None:
    server = await serve(OK, ssl_context=authority.server_context("127.0.0.1"))
    context = None
    if trusted is not None:
        issuer = authority if trusted else Authority(tmp_path)
        context = ssl.create_default_context(cafile=issuer.certificate)
    outcome = await ask(server.url, timeout=AMPLE, ssl_context=context)
    assert outcome.kind is kind


async def test_a_certificate_for_another_name_will_not_do(serve: Any, authority: Authority) -> None:
    server = await serve(OK, ssl_context=authority.server_context("127.0.0.2"))
    context = ssl.create_default_context(cafile=authority.certificate)
    outcome = await ask(server.url, timeout=AMPLE, ssl_context=context)
    assert outcome.kind is Kind.TLS


async def test_one_certificate_can_be_trusted_alone(serve: Any, authority: Authority) -> None:
    server = await serve(OK, ssl_context=authority.server_context("hub.example"))
    own = pinned_context(authority.issued["hub.example"])
    authority.server_context("other.example")
    assert (await ask(server.url, timeout=AMPLE, ssl_context=own)).status == 200
    pinned = pinned_context(authority.issued["other.example"])
    assert (await ask(server.url, timeout=AMPLE, ssl_context=pinned)).kind is Kind.TLS


def test_a_file_that_is_no_certificate_is_no_context(tmp_path: Path) -> None:
    assert pinned_context(str(tmp_path / "missing.pem")) is None
    (tmp_path / "text.pem").write_text("nothing")
    assert pinned_context(str(tmp_path / "text.pem")) is None


async def test_tls_to_a_server_without_it(serve: Any) -> None:
    server = await serve(b"SSH-2.0-OpenSSH_9.6\r\n", speaks_first=True)
    outcome = await ask(server.url.replace("http:", "https:"), timeout=AMPLE)
    assert outcome.kind is Kind.TLS


async def test_plain_http_to_a_server_with_tls(serve: Any, authority: Authority) -> None:
    server = await serve(OK, ssl_context=authority.server_context("127.0.0.1"))
    outcome = await ask(server.url.replace("https:", "http:"), timeout=AMPLE)
    assert outcome.kind in (Kind.BAD_ANSWER, Kind.RESET)
