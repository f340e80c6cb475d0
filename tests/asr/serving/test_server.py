"""Sockets, addresses, and the end of a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.serving.server import address_of, has_model, listening_socket, warning_of


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


@pytest.mark.skipif(os.name == "nt", reason="ends by a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_stopped_with_a_word(trained: Path, tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "asr", "serve", str(trained), "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        assert told["ready"] is True
        host, _, port = told["address"].removeprefix("http://").rstrip("/").partition(":")
        connection = HTTPConnection(host, int(port), timeout=30)
        connection.request("GET", "/api/model")
        assert json.loads(connection.getresponse().read())["model"] == "gmm2"
        connection.close()
        server.send_signal(number)
        server.send_signal(number)  # `timeout` and some schedulers send it twice
        assert server.wait(30) == 0
        assert server.stderr is not None
        assert server.stderr.read().splitlines() == ["stop with Ctrl-C", "stopped"]
    assert list(tmp_path.iterdir()) == []
