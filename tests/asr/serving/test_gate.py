"""Whose requests are answered, and how large they may be."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from asr.serving.gate import HEADERS, bounded, is_loopback, names_of, refusal_of
from asr.serving.limits import Limits

HERE = names_of("127.0.0.1")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "localhost", "[::1]:8000", "LOCALHOST"])
def test_own_names(host: str) -> None:
    assert refusal_of(Headers({"host": host}), HERE) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example#@127.0.0.1",
        "localhost@evil.example",
        "10.0.0.7:8000",
        "localhost/x",
        "localhost:abc",
        "[::1",
    ],
)
def test_names_of_others_are_refused(host: str) -> None:
    assert "Host names another server" in str(refusal_of(Headers({"host": host}), HERE))


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://localhost:8000", True),
        ("https://localhost:8000", True),
        ("http://localhost:9000", False),
        ("http://localhost", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
    ],
)
def test_only_pages_of_the_server_ask(origin: str, is_ours: bool) -> None:
    found = refusal_of(Headers({"host": "localhost:8000", "origin": origin}), HERE)
    assert found is None if is_ours else "another site's page" in str(found)


def test_a_server_for_others_has_their_addresses_as_names_but_no_foreign_name() -> None:
    names = names_of("0.0.0.0")
    assert refusal_of(Headers({"host": "10.0.0.7:8000"}), names, is_open=True) is None
    assert refusal_of(Headers({"host": "evil.example"}), names, is_open=True) is not None
    assert (is_loopback("127.0.0.2"), is_loopback("0.0.0.0"), is_loopback("my.host")) == (True, False, False)


def test_every_answer_has_the_policy_and_none_opens_itself_to_others(started: Any) -> None:
    for path in ("/", "/assets/page.js", "/api/model", "/nothing", "/openapi.json"):
        headers = started.ask("GET", path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert not any(name.startswith("access-control-") for name in headers)
        assert "server" not in headers


def test_strangers_are_refused_before_anything_is_read(started: Any) -> None:
    rebound = started.ask("GET", "/api/model", headers={"host": "evil.example"})
    assert (rebound.status, "Host names another server" in rebound.error) == (403, True)
    foreign = started.ask("POST", "/api/transcribe", b"x", {"origin": "http://evil.example"})
    assert (foreign.status, foreign.headers["x-content-type-options"]) == (403, "nosniff")
    preflight = started.ask("OPTIONS", "/api/transcribe", headers={"origin": "http://evil.example"})
    assert preflight.status == 403
    place = f"ws://127.0.0.1:{started.port}/api/listen"
    stranger = Origin("http://evil.example")
    with pytest.raises(InvalidStatus, match="403"), connect(place, origin=stranger, proxy=None):
        pass
    with connect(place, origin=Origin(started.address), proxy=None) as own:
        own.send("[]")
        assert '"type":"error"' in own.recv(10)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://127.0.0.1:{port}/api/model", "127.0.0.1:{port}", 200),
        ("HTTP://localhost/api/model", "127.0.0.1", 200),
        ("http://127.0.0.1:{port}/api/mod%65l?x=http://a/b", "127.0.0.1", 200),
        ("http://127.0.0.1:{port}", "127.0.0.1", 200),
        ("http://127.0.0.1:{port}?x", "127.0.0.1", 200),
        ("http://127.0.0.1/api/model", "evil.example", 200),  # Host does not count beside it
        ("http://evil.example/api/model", "127.0.0.1", 403),
        ("http://127.0.0.1@evil.example/api/model", "127.0.0.1", 403),
        ("http:///api/model", "127.0.0.1", 403),
        ("ftp://127.0.0.1/api/model", "127.0.0.1", 404),
        ("/http://127.0.0.1/api/model", "127.0.0.1", 404),
    ],
)
def test_a_target_may_be_a_whole_address_of_this_server(
    started: Any, target: str, host: str, status: int
) -> None:
    asked = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".format(port=started.port)
    with socket.create_connection(("127.0.0.1", started.port), 60) as raw:
        raw.sendall(asked.encode())
        answer = b"".join(iter(lambda: raw.recv(4000), b""))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


def test_the_body_under_a_whole_address_is_bounded_as_under_its_path(start: Any) -> None:
    running = start(Limits(json_bytes=100))
    address = f"http://127.0.0.1:{running.port}"
    assert running.ask("PUT", f"{address}/api/prompts", {"prompts": ["x" * 200]}).status == 413
    foreign = running.ask("GET", f"{address}/api/model", headers={"origin": "http://evil.example"})
    assert (foreign.status, "another site's page" in foreign.error) == (403, True)
    own = running.ask("GET", f"{address}/api/model", headers={"origin": address})
    assert own.status == 200


def test_too_large_and_too_slow(start: Any) -> None:
    running = start(Limits(words_bytes=1000, arrival_s=0.5))
    word = {"word": "x", "start_s": 0, "end_s": 1}
    assert running.ask("POST", "/api/words", {"duration_s": 1, "words": [word]}).status == 200
    said = running.ask("POST", "/api/words", {"duration_s": 1, "words": [word] * 100})
    assert (said.status, said.error) == (
        413,
        "the request is too large, expected at most 0.001 MB; send less",
    )
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        head = b"POST /api/words HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        raw.sendall(head + b"Content-Length: 100\r\n\r\n{")
        raw.settimeout(60)
        answer = b"".join(iter(lambda: raw.recv(4000), b""))  # up to the end of the connection
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()
    assert b"did not arrive within 0.5 s" in answer


def test_a_body_is_counted_piece_by_piece_and_what_follows_it_passes() -> None:
    async def run() -> list[str]:
        messages = [
            {"type": "http.request", "body": bytes(60), "more_body": True},
            {"type": "http.request", "body": bytes(40), "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def receive() -> Any:
            return messages.pop(0)

        whole = bounded(receive, Limits(), 100)
        found = [(await whole())["type"] for _ in range(3)]
        messages.extend([{"type": "http.request", "body": bytes(60), "more_body": True}] * 2)
        small = bounded(receive, Limits(), 100)
        await small()
        with pytest.raises(HTTPException, match="too large"):
            await small()
        return found

    assert asyncio.run(run()) == ["http.request", "http.request", "http.disconnect"]
