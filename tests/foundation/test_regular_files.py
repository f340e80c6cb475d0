"""Files that are read whole, and what is none."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import pytest

from foundation import files as regular_files
from foundation.files import check_regular, content_of, text_of, unpacked


def test_content_and_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfYES\r\nNO\rna\xc3\xafve\n")
    assert content_of(path)[3:6] == b"YES"
    assert text_of(path) == "YES\nNO\nna\u00efve\n"
    assert check_regular(path).st_size == 18


def test_a_pipe_a_device_and_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # names of sockets are short
        server.bind("socket")
        for name, what in (("pipe", "a pipe"), ("socket", "a socket"), ("/dev/null", "a device")):
            with pytest.raises(OSError, match=f"{what}, not a file"):
                content_of(tmp_path / name)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_file_can_have(name: str) -> None:
    with pytest.raises(OSError, match="No file can have this name"):
        text_of(name)


def test_names_that_are_too_long_and_directories(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File name too long"):
        content_of(tmp_path / ("a" * 300))
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        content_of(tmp_path)


def test_gzip_that_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unpacked(gzip.compress(b"a" * 100_000)) == b"a" * 100_000
    monkeypatch.setattr(regular_files, "_SMALL", 1000)
    random = bytes(range(256)) * 10
    assert unpacked(gzip.compress(random)) == random
    with pytest.raises(OSError, match=r"More than [0-9]+ bytes in a gzip file of [0-9]+"):
        unpacked(gzip.compress(bytes(1_000_000)))
