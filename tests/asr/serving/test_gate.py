"""Whose requests are answered, and how large they may be."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from asr.serving.gate import (
    ANEW_S,
    HEADERS,
    Connections,
    Once,
    Standing,
    bounded,
    is_loopback,
    names_of,
    refusal_of,
)
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


class Fake:
    """A connection that only stands."""

    def __init__(self, address: str, standing: Standing, age_s: float = 10.0) -> None:
        self.address, self.standing, self.is_left = address, standing, False
        self.since_s = time.monotonic() - age_s
        self.near, self.far = socket.socketpair()
        self.handle = self.near.fileno()

    def __del__(self) -> None:
        self.near.close()
        self.far.close()

    def look(self, now_s: float) -> None:
        pass

    def leave(self) -> None:
        self.is_left = True


def left_of(held: list[Fake], address: str, limits: Limits) -> tuple[bool, list[int]]:
    """Return whether a new connection is admitted, and which of those held give way to it."""
    return Connections(limits, held).admits(address), [n for n, each in enumerate(held) if each.is_left]


SMALL = Limits(connections=4, each_address=3)
SILENT, ANSWERED, ARRIVING, UNREAD, PRESSING, BUSY = Standing


def test_while_there_is_room_nobody_gives_way() -> None:
    assert left_of([Fake("a", SILENT)] * 2, "a", SMALL) == (True, [])


@pytest.mark.parametrize(
    ("held", "gives_way"),
    [
        ([("a", BUSY, 9), ("a", SILENT, 3), ("a", SILENT, 5), ("b", SILENT, 9)], 2),
        ([("b", SILENT, 9), ("c", SILENT, 3), ("c", SILENT, 5), ("d", BUSY, 9)], 2),
        ([("a", UNREAD, 9), ("b", ARRIVING, 9), ("c", ANSWERED, 9), ("d", BUSY, 9)], 2),
        ([("b", PRESSING, 9), ("d", BUSY, 9), ("d", BUSY, 9), ("d", BUSY, 9)], 0),
        ([("b", SILENT, 0.1), ("c", UNREAD, 3), ("d", BUSY, 9), ("d", BUSY, 9)], 1),
        ([("b", SILENT, 0.5), ("c", UNREAD, 0.2), ("d", SILENT, 0.3), ("d", SILENT, 0.4)], 1),
        ([("b", SILENT, 0.1), ("c", UNREAD, 0.2), ("d", BUSY, 9), ("d", BUSY, 9)], 1),
    ],
)
def test_who_gives_way(held: list[tuple[str, Standing, float]], gives_way: int) -> None:
    assert left_of([Fake(*each) for each in held], "a", SMALL) == (True, [gives_way])


def test_whose_request_has_come_and_is_not_read_yet_is_spared() -> None:
    held = [Fake("a", SILENT, 9), Fake("a", SILENT, 8), Fake("a", SILENT, 7)]
    held[0].far.send(b"GET")
    assert left_of(held, "a", SMALL) == (True, [1])
    held[1].is_left = False
    for each in held:
        each.far.send(b"GET")
    assert left_of(held, "a", SMALL) == (True, [0])  # somebody has to go


def test_who_is_busy_gives_way_to_nobody_and_the_new_one_is_refused() -> None:
    assert left_of([Fake("a", BUSY)] * 3, "a", SMALL) == (False, [])
    assert left_of([Fake("a", BUSY)] * 3, "b", SMALL) == (True, [])
    assert left_of([Fake("c", BUSY)] * 4, "b", SMALL) == (False, [])


def test_of_many_alike_some_give_way_at_once() -> None:
    held = [Fake("a", SILENT, 2 + n) for n in range(80)]
    is_admitted, left = left_of(held, "a", Limits(connections=80, each_address=80))
    assert (is_admitted, left) == (True, list(range(69, 80)))  # an eighth and one, the oldest


def test_whose_time_is_over() -> None:
    limits = Limits(head_s=5, arrival_s=20)
    ages = (4, 6, 19, 21, 26)
    found = {}
    for standing in Standing:
        held = [Fake("a", standing, age) for age in ages]
        Connections(limits, held).sweep()
        found[standing] = [age for age, each in zip(ages, held, strict=True) if each.is_left]
    assert found == {
        SILENT: [6, 19, 21, 26],
        ANSWERED: [21, 26],
        ARRIVING: [26],
        UNREAD: [21, 26],
        PRESSING: [],
        BUSY: [],
    }


def test_a_message_passes_once_until_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("asr.serving.gate.time.monotonic", lambda: now_s[0])
    once, passed = Once(), []
    for later_s, line in ((0, 7), (30, 7), (30, 7), (0, 8), (ANEW_S + 1, 7)):
        now_s[0] += later_s
        record = logging.LogRecord("x", logging.ERROR, "app.py", line, "never the same", (), None)
        passed.append(once.filter(record))
    assert passed == [True, False, False, True, True]
