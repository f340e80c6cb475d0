"""Sockets, addresses, and the end of a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeAlias

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.serving.server import address_of, has_model, listening_socket, warning_of

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
