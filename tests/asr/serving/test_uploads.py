"""Recordings that are too large, too long, too slow, or none."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asr.serving.limits import Limits
from asr.serving.refusals import Refusal
from asr.serving.uploads import checked


@pytest.fixture
def small(start: Any, temporary: Path) -> Any:
    return start(Limits(upload_bytes=200_000, arrival_s=0.5, audio_s=2, channels=2, uploads=2))


def is_clean(temporary: Path) -> bool:
    """Return whether no temporary file is left, a moment after the answer."""
    return comes(lambda: not list(temporary.iterdir()))


def comes(condition: Callable[[], bool]) -> bool:
    """Return whether a condition comes true within some seconds."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_too_large(small: Any, temporary: Path) -> None:
    said = small.ask("POST", "/api/transcribe", None, {"content-length": "300000000"})
    assert (said.status, said.error) == (
        413,
        "the recording is too large, expected at most 0.2 MB; send a part of it",
    )
    # Without a length that is said before, it is counted.
    pieces = (bytes(1000) for _ in range(250))
    said = small.ask("POST", "/api/transcribe", pieces)
    assert said.status == 413
    assert is_clean(temporary)


def test_too_slow(small: Any, temporary: Path) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as raw:
        raw.sendall(b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nRIFF")
        raw.settimeout(60)
        answer = b"".join(iter(lambda: raw.recv(4000), b""))  # up to the end of the connection
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive within 0.5 s" in answer
    assert is_clean(temporary)


def test_gone_away(small: Any, temporary: Path) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as raw:
        raw.sendall(b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nRIFF")
        assert comes(lambda: small.server.uploads.taken == 1)
    assert comes(lambda: small.server.uploads.taken == 0)
    assert is_clean(temporary)


def test_too_many_at_once(small: Any) -> None:
    begun = b"POST /api/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
    sockets = [socket.create_connection(("127.0.0.1", small.port)) for _ in range(2)]
    try:
        for each in sockets:
            each.sendall(begun)
        assert comes(lambda: small.server.uploads.taken == 2)
        said = small.ask("POST", "/api/transcribe", b"x")
        assert (said.status, "busy with 2 recordings" in said.error) == (503, True)
        assert small.ask("GET", "/api/model").status == 200
    finally:
        for each in sockets:
            each.close()


def test_too_long_and_too_many_channels(small: Any, sound_file: Any, temporary: Path) -> None:
    long = small.ask("POST", "/api/transcribe", sound_file(np.zeros(3 * 8000), 8000))
    assert (long.status, long.error) == (413, "3 s of sound, expected at most 2 s; send a part of it")
    wide = small.ask("POST", "/api/transcribe", sound_file(np.zeros((8000, 3)), 8000))
    assert wide.error == "3 channels, expected at most 2; mix them down"
    assert is_clean(temporary)


@pytest.mark.parametrize("body", [b"", b"hello", b"RIFF" + bytes(50), bytes(1000)])
def test_no_recording(small: Any, temporary: Path, body: bytes) -> None:
    said = small.ask("POST", "/api/transcribe", body)
    assert said.status == 415
    assert said.error.startswith("the recording: ")
    assert str(temporary) not in said.error
    assert is_clean(temporary)


def test_forms_and_what_a_second_program_would_read_are_refused(small: Any, tmp_path: Path) -> None:
    form = small.ask("POST", "/api/transcribe", b"--x--", {"content-type": "multipart/form-data; boundary=x"})
    assert (form.status, "--data-binary" in form.error) == (415, True)
    path = tmp_path / "recording"
    path.write_bytes(b"\x00\x00\x00\x20ftypM4A " + bytes(50))
    with pytest.raises(Refusal, match="m4a, mp4, webm or wma; expected wav"):
        checked(path, Limits())
