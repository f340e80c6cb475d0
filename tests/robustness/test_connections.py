"""A small part of the crowds of ``tests/robustness/connections.py``, and what is counted of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
import psutil
from connections import CROWDS, Crowd, asked, beside, frame, silent

from asr.serving.app import listening_socket, uvicorn_server
from asr.serving.limits import Limits
from asr.serving.state import Served, Server

SMALL = Limits(connections=12, each_address=8, streams=4)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Give the port of a server without a model, which holds few connections."""
    server = Server(Served(tmp_path / "exp"), tmp_path / "takes", SMALL)
    with listening_socket("127.0.0.1", 0) as listening:
        uvicorn = uvicorn_server(server, "127.0.0.1")
        thread = threading.Thread(target=lambda: asyncio.run(uvicorn.serve(sockets=[listening])))
        thread.start()
        yield int(listening.getsockname()[1])
        uvicorn.should_exit = True
        thread.join(60)


def test_frames() -> None:
    assert frame(b"x", 9, is_last=False) == bytes([0x09, 0x81, 0, 0, 0, 0]) + b"x"


def test_what_is_not_there_is_no_answer(port: int) -> None:
    assert asked(port)[0] == "200"
    assert asked(port, "/nowhere")[0] == "404"


@pytest.mark.parametrize("name", sorted(CROWDS))
def test_a_client_is_answered_beside_a_small_crowd(
    name: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connections.AFTER_S", 0.1)
    said = tmp_path / "said"
    said.touch()
    usual = CROWDS[name]
    sizes = min(usual.n_connections, 20), min(usual.n_addresses, 4)
    crowd = Crowd(usual.act, *sizes, again_s=max(usual.again_s, 0.1))
    row = beside(crowd, port, 2.0, psutil.Process(), said)
    assert (row["unanswered"], row["instead"], row["said_bytes"]) == (0, {}, 0)
    assert row["asked"] >= 1


def test_all_but_one_kind_are_told_apart() -> None:
    assert len({(crowd.act, crowd.n_addresses) for crowd in CROWDS.values()}) == len(CROWDS)
    assert [name for name, crowd in CROWDS.items() if crowd.act is silent] == [
        "send nothing",
        "send nothing, of 200 addresses",
    ]
