"""What `fuzz` sends to the server of ``asr serve``: requests and conversations, in this process.

A file ``request`` holds a request's first line and headers, ``body`` what follows; ``talk`` holds the
messages of one WebSocket. Every answer must have a documented status, and an error must be one line that
names no path of the machine.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import quote, unquote

import fuzz_inputs as inputs
from fastapi import FastAPI

from asr.serving.app import application
from asr.serving.state import Served, Server
from foundation.errors import AsrError

STATUSES = (200, 202, 204, 206, 307, 400, 403, 404, 405, 408, 409, 413, 415, 416, 422, 503, 507)
LEAST_ERROR = 400
KINDS = ("ready", "partial", "final", "slow", "done", "error")
CLOSINGS = (1008, 1013)
BETWEEN = b"\n--\n"  # two messages
BINARY = b"B"  # with which a message begins that is sound; the letter is not part of it
_HOST = (b"host", b"127.0.0.1:8000")
_FINISH = '{"type": "finish"}'
_PRINTABLE = "".join(map(chr, range(33, 127)))
_OF_TAKES = (".wav", ".txt", ".json")


class WrongAnswerError(Exception):
    """The server said what it must not say."""


class RefusedError(AsrError):
    """The server said what is wrong."""


@lru_cache(maxsize=1)
def _application(folder: Path) -> FastAPI:
    """Return the application of a small model, which keeps its takes below a folder."""
    model = folder / "model"
    model.mkdir()
    for name, content in inputs.model_folder().items():
        (model / name).write_bytes(content)
    served = Served(model)
    served.load()
    return application(Server(served, folder / "takes"))


def answer(folder: Path) -> Answer:
    """Return the answer to the request in a folder; `RefusedError` if it is an error as it should be."""
    app, takes = _application(folder), folder / "takes"
    shutil.rmtree(takes, ignore_errors=True)
    takes.mkdir()
    for path in folder.iterdir():
        if path.name.endswith(_OF_TAKES):
            shutil.copyfile(path, takes / path.name)
    body = folder / "body"
    scope = _scope((folder / "request").read_bytes())
    found = asyncio.run(_asked(app, scope, body.read_bytes() if body.exists() else b""))
    is_of_part = any(name == b"range" for name, _ in scope["headers"])
    _check(found, folder, is_of_part=is_of_part)
    return found


@dataclass
class Answer:
    """What came back."""

    status: int = 0
    body: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)


async def _asked(app: FastAPI, scope: dict[str, Any], body: bytes) -> Answer:
    """Return the answer of the application to a request whose body comes in two pieces."""
    half, found = len(body) // 2, Answer()
    waiting = [(body[half:], False), (body[:half], True)]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()  # the client waits for the answer
        content, is_more = waiting.pop()
        return {"type": "http.request", "body": content, "more_body": is_more}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.status, found.headers = message["status"], dict(message["headers"])
        elif message["type"] == "http.response.pathsend":
            found.body += Path(message["path"]).read_bytes()
        else:
            found.body += message.get("body", b"")

    await app(scope, receive, send)  # type: ignore[arg-type]  # plain dictionaries are messages
    return found


def _scope(request: bytes) -> dict[str, Any]:
    """Return what a server of HTTP makes of a request's first line and headers."""
    first, *lines = request.split(b"\n")
    method, _, target = first.partition(b" ")
    path, _, query = quote(target.strip() or b"/", safe=_PRINTABLE).partition("?")
    fields = [line.partition(b":") for line in lines if b":" in line]
    headers = [(name.strip().lower(), value.strip()) for name, _, value in fields]
    if not any(name == _HOST[0] for name, _ in headers):
        headers.append(_HOST)
    return _of_client("http", path, query, headers) | {"method": method.decode("latin-1").upper()}


def _of_client(kind: str, path: str, query: str, headers: Sequence[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "ws" if kind == "websocket" else "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        "subprotocols": [],
        "extensions": {},
    }


def _check(found: Answer, folder: Path, *, is_of_part: bool) -> None:
    """Raise an error of this kind or that, unless the answer is a success."""
    if found.status not in STATUSES:
        raise WrongAnswerError(f"status {found.status}: {found.body[:200]!r}")
    _check_paths(b"\n".join([found.body, *found.headers.values()]), folder)
    if found.status >= LEAST_ERROR:
        line = _line_of(found, is_of_part=is_of_part)
        _check_line(line)
        raise RefusedError(str(line))


def _line_of(found: Answer, *, is_of_part: bool) -> object:
    """Return the line of an answer that is an error."""
    if is_of_part and not found.headers.get(b"content-type", b"").startswith(b"application/json"):
        return found.body.decode() or "no such part"  # the framework answers what asks for an odd part
    try:
        return json.loads(found.body)["error"]
    except (ValueError, KeyError, TypeError):
        raise WrongAnswerError(f"status {found.status} without a line: {found.body[:200]!r}") from None


def _check_paths(content: bytes, folder: Path) -> None:
    for path in (str(folder), f"{gettempdir()}/asr-upload-", str(Path(__file__).parents[2])):
        if path.encode() in content:
            raise WrongAnswerError(f"a path of the machine: {content[:500]!r}")


def _check_line(line: object) -> None:
    if not isinstance(line, str) or not line.strip() or len(line.splitlines()) != 1 or "Traceback" in line:
        raise WrongAnswerError(f"not one line: {line!r}")


def talk(folder: Path) -> list[object]:
    """Return the types of what the server says to messages in a folder; `RefusedError` if it ends that."""
    parts = (folder / "talk").read_bytes().split(BETWEEN)
    messages = [m[len(BINARY) :] if m.startswith(BINARY) else m.decode("utf-8", "replace") for m in parts]
    said = asyncio.run(_talked(_application(folder), [*messages, _FINISH]))
    for message in said:
        _check_said(message, folder)
    if said and said[-1]["type"] == "websocket.close":
        raise RefusedError(str(said[-2:]))
    return [_kind_of(message) for message in said[1:]]


async def _talked(app: FastAPI, messages: Sequence[bytes | str]) -> list[dict[str, Any]]:
    """Return what the application says to messages; the client leaves when all that was asked for is done."""
    scope = _of_client("websocket", "/api/listen", "", [_HOST])
    waiting = [{"type": "websocket.connect"}, *map(_received, messages)][::-1]
    n_wanted, said, is_done = sum(map(_is_finish, messages)), [], asyncio.Event()

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await is_done.wait()
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)
        if sum(_kind_of(m) == "done" for m in said) >= n_wanted or message["type"] == "websocket.close":
            is_done.set()

    await app(scope, receive, send)  # type: ignore[arg-type]  # plain dictionaries are messages
    return said


def _received(message: bytes | str) -> dict[str, Any]:
    return {"type": "websocket.receive", "text" if isinstance(message, str) else "bytes": message}


def _is_finish(message: bytes | str) -> bool:
    try:
        return isinstance(message, str) and json.loads(message).get("type") == "finish"
    except (ValueError, AttributeError, RecursionError):
        return False


def _kind_of(message: dict[str, Any]) -> object:
    """Return the type of a message of text that the server sent, or nothing."""
    text = message.get("text") if message["type"] == "websocket.send" else None
    return None if text is None else json.loads(text).get("type")


def _check_said(message: dict[str, Any], folder: Path) -> None:
    if message["type"] == "websocket.send":
        content = json.loads(message["text"], parse_constant=_no_number)
        if content["type"] not in KINDS:
            raise WrongAnswerError(f"said {content}")
        _check_paths(message["text"].encode(), folder)
        if content["type"] == "error":
            _check_line(content["error"])
    elif message["type"] == "websocket.close" and message["code"] not in CLOSINGS:
        raise WrongAnswerError(f"closed with {message}")


def _no_number(name: str) -> None:
    raise WrongAnswerError(f"{name} is no JSON")
