"""Errors in one line, the page's parts, sockets, addresses, and the end of a server."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.serving.app import ASSETS, KINDS, address_of, has_model, listening_socket, warning_of


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (CorpusError("{folder}/x.txt: broken\nand more"), 422, "the folder of takes/x.txt: broken and more"),
        (
            OSError(28, "No space left on device", "{folder}/x"),
            500,
            "the server's disk: No space left on device",
        ),
        (RuntimeError("{folder} secret"), 500, "an error of the server; its terminal says more"),
    ],
)
def test_errors_while_answering(
    started: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, line: str
) -> None:
    folder = started.server.takes.folder
    error.args = tuple(a.format(folder=folder) if isinstance(a, str) else a for a in error.args)

    def fail() -> None:
        raise error

    monkeypatch.setattr(started.server.takes, "contents", fail)
    said = started.ask("GET", "/api/takes")
    assert said.status == status
    assert said.error.startswith(line)
    assert str(folder) not in said.error


def test_unknown_places_and_ways(started: Any) -> None:
    assert started.ask("GET", "/nowhere").error == ("Not Found; expected an address that /openapi.json names")
    assert started.ask("PUT", "/api/prompts", b"{", {"content-type": "application/json"}).status == 422
    deep = started.ask("PUT", "/api/prompts", b"[" * 100_000, {"content-type": "application/json"})
    assert (deep.status, len(deep.error.splitlines())) == (400, 1)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/model", "GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("PUT", "/assets/page.js", "GET, HEAD"),
        ("DELETE", "/api/takes", "GET, HEAD, POST"),
        ("PATCH", "/api/training", "GET, HEAD, POST, DELETE"),
        ("POST", "/api/takes/x.wav", "GET, HEAD, DELETE"),
        ("GET", "/api/prompts", "PUT"),
        ("OPTIONS", "/api/transcribe", "POST"),
    ],
)
def test_of_another_method_those_that_are_expected_are_named(
    started: Any, method: str, path: str, allowed: str
) -> None:
    said = started.ask(method, path)
    assert (said.status, said.headers["allow"]) == (405, allowed)
    assert said.error == f"Method Not Allowed; expected another method ({allowed})"


@pytest.mark.parametrize("path", ["/", "/assets/page.js", "/openapi.json", "/api/model", "/api/takes"])
def test_head_is_answered_as_get_without_the_body(started: Any, path: str) -> None:
    whole, head = started.ask("GET", path), started.ask("HEAD", path)
    assert (whole.status, head.status, head.body) == (200, 200, b"")
    lengths = [answer.headers["content-length"] for answer in (whole, head)]
    assert lengths == [str(len(whole.body))] * 2
    missing = started.ask("HEAD", "/nowhere")
    assert (missing.status, missing.body) == (404, b"")


def test_there_is_no_page_that_loads_scripts_from_elsewhere(started: Any) -> None:
    assert [started.ask("GET", path).status for path in ("/docs", "/redoc")] == [404, 404]


def test_json_bodies_are_bounded(started: Any, tmp_path: Path) -> None:
    word = {"word": "x", "start_s": 0, "end_s": 1}
    said = started.ask("POST", "/api/words", {"duration_s": 1, "words": [word] * 20_001})
    assert said.status == 422


NAMES = sorted(path.name for path in ASSETS.iterdir() if path.suffix in KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_part_refers_to_is_there(started: Any, name: str) -> None:
    answer = started.ask("GET", f"/assets/{name}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(KINDS["." + name.rpartition(".")[2]])
    text = answer.body.decode()
    for found in re.findall(r'(?:"|\()/assets/([\w.-]+)|from "\./([\w.-]+)"', text):
        assert "".join(found) in NAMES
    hosts = [
        host
        for host in re.findall(r"https?://[\w.]+", text)
        if host not in ("http://www.w3.org", "http://127.0.0.1")
    ]
    assert hosts == []
    assert not re.search(r"<[^>]* (style|on\w+)=", text)


def test_the_page_itself(started: Any) -> None:
    assert started.ask("GET", "/").body == (ASSETS / "index.html").read_bytes()


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "../app.py", "%2e%2e/pages.py", ""])
def test_nothing_else_is_served(started: Any, name: str) -> None:
    assert started.ask("GET", f"/assets/{name}").status == 404


def test_every_control_is_used_by_a_script_or_a_test() -> None:
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    scripts = "".join(path.read_text(encoding="utf-8") for path in ASSETS.glob("*.js"))
    controls = re.findall(r'<(?:button|input|select|textarea)[^>]*\bid="([\w-]+)"', page)
    built = [f"talk-{name}" for name in ("textgrid", "ctm")] + [
        f"tab-{n}" for n in ("talk", "files", "commands")
    ]
    assert [name for name in controls if f'"{name}"' not in scripts and name not in built] == []
    assert len(controls) == len(set(controls)) == 21


Process: TypeAlias = "subprocess.Popen[str]"
Serving = Callable[..., tuple[Process, int]]
RUN = "import sys; from asr.__main__ import main; sys.exit(main())"


def test_a_free_port_and_one_in_use() -> None:
    with listening_socket("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        assert address_of(listening, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        assert address_of(listening, "0.0.0.0") == f"http://127.0.0.1:{port}/"
        assert address_of(listening, "::1") == f"http://[::1]:{port}/"
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: Address already in use; expected"):
            listening_socket("127.0.0.1", port)
    with pytest.raises(ConfigError, match="--host: no such host: "):
        listening_socket("no such host", 0)


def test_on_windows_a_port_is_for_one_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Recorded(socket.socket):
        def setsockopt(self, level: int, option: int, value: int) -> None:  # type: ignore[override]
            asked.append(option)

    monkeypatch.setattr(socket, "socket", Recorded)
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    listening_socket("127.0.0.1", 0).close()
    monkeypatch.delattr(socket, "SO_EXCLUSIVEADDRUSE")
    listening_socket("127.0.0.1", 0).close()
    assert asked == [-5, socket.SO_REUSEADDR]


def test_whether_there_is_a_model(trained: Path, tmp_path: Path) -> None:
    assert (has_model(trained, None), has_model(tmp_path, None)) == (True, False)
    with pytest.raises(ExperimentError, match="no such directory"):
        has_model(tmp_path / "none", "npd")
    (tmp_path / "file").touch()
    with pytest.raises(ExperimentError, match="a file, expected a directory"):
        has_model(tmp_path / "file", None)


def test_who_can_reach_it_is_said() -> None:
    assert warning_of("127.0.0.1") == ""
    assert warning_of("0.0.0.0").startswith("0.0.0.0: everyone who reaches this address")


def answers(port: int) -> bool:
    """Return whether a server says which model it has."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/api/model")
        return bool(json.loads(connection.getresponse().read())["model"] == "gmm2")
    except ConnectionError:
        return False
    finally:
        connection.close()


@pytest.fixture
def serving(at_terminal: Callable[..., Process], trained: Path, tmp_path: Path) -> Serving:
    """Return a function that starts ``asr serve`` after some code, and gives its process and its port."""

    def begin(before: str = "") -> tuple[Process, int]:
        server = at_terminal(before + RUN, "serve", str(trained), "--port", "0", "--json", cwd=tmp_path)
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert told["ready"] is True
        port = int(told["address"].rstrip("/").rpartition(":")[2])
        assert answers(port)
        return server, port

    return begin


@pytest.mark.skipif(os.name == "nt", reason="ends by a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_stopped_with_a_word(serving: Serving, tmp_path: Path, number: signal.Signals) -> None:
    server, _ = serving()
    with server:
        server.send_signal(number)
        server.send_signal(number)  # `timeout` and some schedulers send it twice
        assert server.wait(30) == 0
        assert server.stderr is not None
        assert server.stderr.read().splitlines() == ["stop with Ctrl-C", "stopped"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there is no nohup")
def test_a_server_under_nohup_outlives_its_terminal(serving: Serving) -> None:
    server, port = serving("signal.signal(signal.SIGHUP, signal.SIG_IGN)\n")
    with server:
        server.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        was_there = answers(port)
        server.terminate()
        server.wait(30)
    assert was_there


SAYS = """
import logging, sys
import numpy as np
from asr.serving.app import quiet_libraries
from features import AudioError, read_audio
logging.basicConfig(format="%(message)s")
with quiet_libraries():
    try:
        read_audio(sys.argv[1], None)
    except AudioError:
        pass
    logging.warning("a message")
    print("a line", file=sys.stderr)
logging.warning("another message")
read_audio(sys.argv[2], None)
"""


def test_decoders_fill_no_disk_with_what_they_say(tmp_path: Path) -> None:
    """Each frame of this recording is damaged, which libmpg123 tells on standard error."""
    frame = b"\xff\xf3\x14\xc4" + b"\xff\xff\xff\xfd" * 5
    for n in (3000, 10):
        (tmp_path / f"{n}.mp3").write_bytes(frame * n)
    files = [str(tmp_path / name) for name in ("3000.mp3", "10.mp3")]
    ended = subprocess.run(
        [sys.executable, "-c", SAYS, *files], capture_output=True, text=True, check=False, timeout=120
    )
    lines = ended.stderr.splitlines()
    assert lines[:3] == ["a message", "a line", "another message"]
    assert any("mpg123" in line for line in lines[3:])  # without it, a few of the other file


CRASHES = """
import faulthandler, os, sys
from asr.serving.app import quiet_libraries
with quiet_libraries():
    print("a line", file=sys.stderr)
    os.write(2, b"of a library")
assert not faulthandler.is_enabled()
print("after it", file=sys.stderr)
with quiet_libraries():
    os.abort()
"""


def test_a_crash_is_told_though_libraries_are_quiet() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CRASHES], capture_output=True, text=True, check=False, timeout=120
    )
    lines = ended.stderr.splitlines()
    assert lines[:3] == ["a line", "after it", "Fatal Python error: Aborted"]
    assert ended.returncode == -signal.SIGABRT
