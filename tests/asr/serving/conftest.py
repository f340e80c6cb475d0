"""A running server on a port of its own, and what talks to it."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
from websockets.sync.client import ClientConnection, connect

from asr.serving.app import listening_socket, uvicorn_server
from asr.serving.limits import Limits
from asr.serving.state import Served, Server


@dataclass
class Answer:
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])


@dataclass
class Running:
    """A server that runs in a thread."""

    server: Server
    port: int
    sockets: list[ClientConnection] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Return the answer to a request; a dictionary is sent as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"content-type": "application/octet-stream"} | (headers or {})
        if isinstance(body, dict):
            body, given["content-type"] = json.dumps(body).encode(), "application/json"
        try:
            connection.request(method, path, body=body, headers=given)
            found = connection.getresponse()
            return Answer(found.status, found.read(), {k.lower(): v for k, v in found.getheaders()})
        finally:
            connection.close()

    @contextmanager
    def listening(self, wish: dict[str, Any] | None = None) -> Iterator[ClientConnection]:
        """Open a stream; with a wish, it is sent and the server is ready."""
        with connect(f"ws://127.0.0.1:{self.port}/api/listen", proxy=None) as socket:
            if wish is not None:
                socket.send(json.dumps(wish))
                assert json.loads(socket.recv(30))["type"] == "ready"
            yield socket


@contextmanager
def running(server: Server, host: str = "127.0.0.1") -> Iterator[Running]:
    """Run a server until the context is left."""
    with listening_socket(host, 0) as listening:
        uvicorn = uvicorn_server(server, host)
        thread = threading.Thread(target=lambda: asyncio.run(uvicorn.serve(sockets=[listening])))
        thread.start()
        try:
            yield Running(server, listening.getsockname()[1])
        finally:
            uvicorn.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


Start = Callable[..., Running]


@pytest.fixture
def start(trained: Path, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a server of the tone language's model, with limits of one's own."""
    contexts = []

    def begin(limits: Limits | None = None, *, ready: bool = True, served: Served | None = None) -> Running:
        served = served or Served(trained if ready else tmp_path / "exp" / "new")
        if ready:
            served.load()
        context = running(Server(served, tmp_path / "takes", limits))
        contexts.append(context)
        return context.__enter__()

    yield begin
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.fixture
def started(start: Start) -> Running:
    """Return a running server with the usual limits."""
    return start()


@pytest.fixture(scope="session")
def spoken(tones: Path) -> Path:
    """Return a recording of the tone language."""
    return tones / "speaker 0" / "0.wav"


@pytest.fixture(scope="session")
def sound_file() -> Callable[..., bytes]:
    """Return a function that gives samples as the bytes of a WAV file."""

    def of(samples: Any, rate: int = 16000) -> bytes:
        file = io.BytesIO()
        soundfile.write(file, samples, rate, format="WAV")
        return file.getvalue()

    return of


@pytest.fixture(scope="session")
def word_sound() -> Callable[..., Any]:
    """Return a function that gives a tone between quiet parts, as a word would be."""

    def of(seed: int = 0, rate: int = 16000) -> Any:
        rng = np.random.default_rng(seed)
        t = np.arange(round(1.2 * rate)) / rate
        inside = (t > 0.4) & (t < 0.8)
        tone = 0.3 * np.sin(2 * np.pi * (300 + 40 * seed) * t) * inside
        return (tone + 1e-3 * rng.normal(size=t.size)).astype(np.float32)

    return of


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that temporary files go to."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """Return a copy of the experiment on the tone language."""
    return Path(shutil.copytree(trained, tmp_path / "copied"))
