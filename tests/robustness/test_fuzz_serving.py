"""Answers that a server must not give are told from those it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fuzz_requests as requests
import fuzz_serving as serving
import pytest
from fuzz_serving import RefusedError, WrongAnswerError


def _answers(status: int, body: bytes, kind: bytes = b"application/json"):  # type: ignore[no-untyped-def]
    """Return an application that says the same to every request, or ends a talk with it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "text": body.decode()})
            await send({"type": "websocket.close", "code": status})
            return
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Return a function that checks what an application answers."""
    (tmp_path / "request").write_bytes(requests.head("GET", "/api/model"))
    (tmp_path / "talk").write_bytes(requests.talks()["talk"][0])

    def ask(app: Any, what: Any = serving.answer) -> Any:
        monkeypatch.setattr(serving, "_application", lambda folder: app)
        return what(tmp_path)

    return ask


def _error(line: str) -> bytes:
    return json.dumps({"error": line}).encode()


def test_one_line_with_a_documented_status_is_a_refusal(asked) -> None:  # type: ignore[no-untyped-def]
    assert asked(_answers(200, b"anything")).body == b"anything"
    with pytest.raises(RefusedError, match=r"^too large; send less$"):
        asked(_answers(413, _error("too large; send less")))


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, _error("an error of the server"), "status 500"),
        (422, b"Unprocessable", "status 422 without a line"),
        (422, _error("two\nlines"), "not one line"),
        (422, _error(""), "not one line"),
    ],
)
def test_other_errors_are_wrong(asked, status: int, body: bytes, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(WrongAnswerError, match=said):
        asked(_answers(status, body))


def test_paths_of_the_machine_are_wrong(asked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for status in (200, 422):
        with pytest.raises(WrongAnswerError, match="a path of the machine"):
            asked(_answers(status, _error(f"{tmp_path}/x: no such file")))


@pytest.mark.parametrize(
    ("code", "message", "kind", "said"),
    [
        (1008, {"type": "error", "error": "no sound"}, RefusedError, "no sound"),
        (1011, {"type": "error", "error": "no sound"}, WrongAnswerError, "closed with"),
        (1008, {"type": "error", "error": "no\nsound"}, WrongAnswerError, "not one line"),
        (1008, {"type": "odd"}, WrongAnswerError, "said"),
        (1008, {"type": "final", "confidence": float("nan")}, WrongAnswerError, "NaN is no JSON"),
    ],
)
def test_ends_of_talks(asked, code: int, message: dict[str, Any], kind: type[Exception], said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind, match=said):
        asked(_answers(code, json.dumps(message).encode()), serving.talk)


@pytest.mark.parametrize(("number", "n_done"), [(0, 2), (1, 1), (2, 3)])
def test_talks_as_they_should_be_end_with_what_was_asked_for(
    tmp_path: Path, number: int, n_done: int
) -> None:
    (tmp_path / "talk").write_bytes(requests.talks()["talk"][number])
    said = serving.talk(tmp_path)
    assert (said[0], said[-1], said.count("done")) == ("ready", "done", n_done)


@pytest.mark.parametrize("request_of", requests.recordings()["request"])
def test_recordings_as_they_should_be_are_worked_on(tmp_path: Path, request_of: bytes) -> None:
    (tmp_path / "request").write_bytes(request_of)
    (tmp_path / "body").write_bytes(requests.recordings()["body"][0])
    found = serving.answer(tmp_path)
    assert found.status == 200
