"""Bodies that are JSON."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from asr.serving.bodies import bounded
from asr.serving.limits import Limits


def test_too_large_and_too_slow(start: Any) -> None:
    running = start(Limits(json_bytes=1000, arrival_s=0.5))
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

        whole = bounded(receive, Limits(json_bytes=100))
        found = [(await whole())["type"] for _ in range(3)]
        messages.extend([{"type": "http.request", "body": bytes(60), "more_body": True}] * 2)
        small = bounded(receive, Limits(json_bytes=100))
        await small()
        with pytest.raises(HTTPException, match="too large"):
            await small()
        return found

    assert asyncio.run(run()) == ["http.request", "http.request", "http.disconnect"]
