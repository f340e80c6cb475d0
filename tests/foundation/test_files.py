"""Files that are read whole, and what is none."""

from __future__ import annotations

import errno
import gzip
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from foundation import files as regular_files
from foundation.files import (
    LONGEST_NAME,
    TemporaryFolder,
    check_regular,
    composed,
    content_of,
    held,
    partial_name,
    put_in_place,
    reason_of,
    sweep_partials,
    sweep_temporary,
    temporary_folder,
    text_of,
    unpacked,
    whole_file,
    write_whole,
)


def test_content_and_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfYES\r\nNO\rna\xc3\xafve\n")
    assert content_of(path)[3:6] == b"YES"
    assert text_of(path) == "YES\nNO\nna\u00efve\n"
    assert check_regular(path).st_size == 18


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("dangling", "a link to nothing (nowhere/x)"),
        ("dangling/sub", "a link to nothing (nowhere/x)"),
        ("itself", "a link to nothing (itself)"),
        ("file", "a file, not a folder"),
        ("linked", "a file, not a folder"),
        ("pipe", "a pipe, not a folder"),
        ("file/sub", "Not a directory"),
    ],
)
def test_what_stands_in_the_place_of_a_folder_is_said(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "dangling").symlink_to("nowhere/x")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "file").write_text("x")
    (tmp_path / "linked").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))) as caught:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
    assert reason_of(caught.value) == said
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dangling",
        "file",
        "itself",
        "linked",
        "pipe",
    ]


def test_a_file_written_through_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere/x")
    with pytest.raises(FileNotFoundError, match="dangling") as caught:
        write_whole(tmp_path / "dangling", b"x")
    assert reason_of(caught.value) == "a link to nothing (nowhere/x)"
    assert (
        reason_of(FileNotFoundError(errno.ENOENT, "No such file", str(tmp_path / "gone"))) == "No such file"
    )
    assert reason_of(OSError("no number")) == "no number"


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


# Files appear whole or not at all, where they are asked for and nowhere else


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"earlier")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"earlier"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_what_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"earlier")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"foundation.files.os.{function}", full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a").write_bytes(b"earlier")
    (tmp_path / "link").symlink_to("there/a")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there/a").read_bytes() == b"new"


def test_a_link_to_nothing_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    write_whole(tmp_path / "link", b"new")
    assert os.readlink(tmp_path / "link") == "a"
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_link_in_a_circle_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(IsADirectoryError, match="Is a directory"):
            write_whole(path, b"new")


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"No such file or directory: '{tmp_path}/none/a'"):
        write_whole(tmp_path / "none/a", b"new")


def test_an_error_of_numpy_keeps_its_words(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"\A1000 requested and 10 written\Z"), whole_file(tmp_path / "a"):
        raise OSError("1000 requested and 10 written")


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(mode=0o600)
    write_whole(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_in_the_place_of_the_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / partial_name("a")).symlink_to("precious")
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_written_into(tmp_path: Path) -> None:
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_whole(path, b"new")
    reader.join(10)
    assert found == [b"new"]
    assert path.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
def test_a_device_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    write_whole(tmp_path / "null", b"new")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_whole("/dev/full", b"new")
    assert Path("/dev/full").is_char_device()
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system has no /proc")
def test_an_open_file_is_written_into(tmp_path: Path) -> None:
    with open(tmp_path / "a", "w+b") as file:
        write_whole(f"/dev/fd/{file.fileno()}", b"new")
        assert file.read() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_the_longest_name(tmp_path: Path) -> None:
    name = "ä" * (LONGEST_NAME // 2)
    write_whole(tmp_path / name, b"new")
    assert os.listdir(tmp_path) == [name]
    assert partial_name(name) != partial_name(name[:-1] + "b")


def test_of_two_writers_the_last_one_wins_and_both_files_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path) as first:
        first.write(b"first")
        with whole_file(path) as second:
            second.write(b"second, half")
            second.flush()
            with whole_file(path) as third:
                third.write(b"third")
            assert path.read_bytes() == b"third"
            second.write(b" and half")
        assert path.read_bytes() == b"second, half and half"
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_threads_that_write_one_file_leave_a_whole_one(tmp_path: Path) -> None:
    path, contents = tmp_path / "a", [bytes([n]) * 50_000 for n in range(8)]
    threads = [threading.Thread(target=write_whole, args=(path, content)) for content in contents * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert os.listdir(tmp_path) == ["a"]


def test_a_pipe_in_the_place_of_the_unfinished_file_is_left(tmp_path: Path) -> None:
    pipe = tmp_path / partial_name("a")
    os.mkfifo(pipe)
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == [pipe.name, "a"]


@pytest.mark.parametrize(("system", "n_refused", "n_tries"), [("nt", 2, 3), ("nt", 99, 7), ("posix", 99, 1)])
def test_windows_is_asked_again_while_a_scanner_holds_what_was_written(
    monkeypatch: pytest.MonkeyPatch, system: str, n_refused: int, n_tries: int
) -> None:
    tried: list[str] = []

    def replace(source: str, target: str) -> None:
        tried.append(target)
        if len(tried) <= n_refused:
            raise PermissionError(13, "Access is denied", source)

    with monkeypatch.context() as there:
        there.setattr("os.name", system)
        there.setattr("os.replace", replace)
        there.setattr("time.sleep", lambda seconds: None)
        try:
            put_in_place("partial", "whole")
            is_there = True
        except PermissionError:
            is_there = False
    assert (tried, is_there) == (["whole"] * n_tries, n_tries > n_refused)


# Where nothing, or not everything, can be locked


def _without_locks(descriptor: int | object, operation: int) -> None:
    """A file system without locks, such as some of FUSE."""
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def _as_nfs(descriptor: int | object, operation: int) -> None:
    """NFS, which locks only what is open to be written, and never a folder."""
    fcntl = pytest.importorskip("fcntl")
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()  # type: ignore[attr-defined]
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _FLOCK(descriptor, operation)


_FLOCK = getattr(regular_files.fcntl, "flock", None)
LOCKS = pytest.mark.parametrize("flock", [_FLOCK, _without_locks, _as_nfs])
POSIX = pytest.mark.skipif(regular_files.fcntl is None, reason="this system has no such locks")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@POSIX
@LOCKS
def test_a_living_folder_stays_and_a_dead_one_goes(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, flock: Callable[..., None]
) -> None:
    """With locks at once; where there are none, after a day in which nothing changed there."""
    monkeypatch.setattr("fcntl.flock", flock)
    code = "import os; from foundation.files import TemporaryFolder as T; T('x-'); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(temporary)}, check=False)
    (dead,) = temporary.iterdir()
    (dead / "recording").write_bytes(b"sound")
    living = TemporaryFolder("x-")
    has_locks = flock is not _without_locks
    sweep_temporary("x-")
    assert (dead.exists(), living.path.exists()) == (not has_locks, True)
    now = time.time()
    monkeypatch.setattr("foundation.files.time.time", lambda: now + 90_000)
    sweep_temporary("x-")
    assert (dead.exists(), living.path.exists()) == (False, has_locks)
    living.remove()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("step", ["unlink", "rmdir"])
def test_a_folder_whose_removal_is_broken_off_goes_next_time(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The file that says that nobody uses it goes last, and an empty folder is nobody's."""
    folder = TemporaryFolder("x-")
    (folder.path / "a").mkdir()
    (folder.path / "a/b").write_bytes(b"b")
    (folder.path / ".c").write_bytes(b"c")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt("killed")

    with monkeypatch.context() as there:
        there.setattr(f"os.{step}", killed)
        with pytest.raises(KeyboardInterrupt, match="killed"):
            folder.remove()
    folder._held.close()
    sweep_temporary("x-")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("hours", [2, 25])
def test_a_folder_of_an_earlier_version_stays_for_a_day(temporary: Path, hours: int) -> None:
    (temporary / "x-earlier_" / "x").mkdir(parents=True)
    os.utime(temporary / "x-earlier_", (time.time() - 3600 * hours,) * 2)
    sweep_temporary("x-")
    assert (temporary / "x-earlier_").exists() == (hours < 24)


def test_windows_removes_no_folder_with_a_file_that_is_open(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = TemporaryFolder("x-")
    os.utime(living.path, (1e9, 1e9))
    unlink = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.parent == living.path:
            raise PermissionError(13, "being used by another process", str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as there:
        there.setattr(regular_files, "fcntl", None)
        there.setattr(Path, "unlink", refused)
        sweep_temporary("x-")
    assert living.path.exists()
    living.remove()
    assert not living.path.exists()


def test_a_folder_is_tried_for_some_times_only(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_files, "locked_file", lambda path: None)
    with pytest.raises(OSError, match="busy"):
        TemporaryFolder("x-")
    assert list(temporary.iterdir()) == []


def test_a_temporary_folder_goes_with_what_it_holds(temporary: Path) -> None:
    with temporary_folder("x-") as folder:
        (folder / "a").mkdir()
        (folder / "a/b").write_bytes(b"b")
        with temporary_folder("x-") as other:
            assert sorted(temporary.iterdir()) == sorted([folder, other])
    assert list(temporary.iterdir()) == []


@POSIX
@LOCKS
def test_files_are_written_with_locks_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flock: Callable[..., None]
) -> None:
    """What is being written is not swept, however many write it; what is left is, at once or after a day."""
    monkeypatch.setattr("fcntl.flock", flock)
    (tmp_path / ".b.partial").write_bytes(b"left")
    with whole_file(tmp_path / "a") as first, whole_file(tmp_path / "a") as second:
        first.write(b"first")
        second.write(b"second")
        sweep_partials(tmp_path, re.compile("[ab]"))
        has_locks = flock is not _without_locks
        assert len(list(tmp_path.glob(".a.*"))) == 2
        assert (tmp_path / ".b.partial").exists() == (not has_locks)
    assert (tmp_path / "a").read_bytes() == b"first"
    now = time.time()
    monkeypatch.setattr("foundation.files.time.time", lambda: now + 90_000)
    sweep_partials(tmp_path, re.compile("[ab]"))
    assert os.listdir(tmp_path) == ["a"]


@POSIX
@LOCKS
def test_what_may_only_be_read_can_be_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flock: Callable[..., None]
) -> None:
    monkeypatch.setattr("fcntl.flock", flock)
    (tmp_path / "a").touch(mode=0o400)
    with held(tmp_path / "a", 0) as is_left:
        assert is_left


def test_a_letter_of_a_million_marks_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert composed("e\u0301" * 1000) == "\u00e9" * 1000
    assert composed("a\u0323\u0301" * 1000) == unicodedata.normalize("NFC", "a\u0323\u0301" * 1000)
    seen: list[int] = []
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: seen.append(len(text)) or text)
    hostile = "a" + "\u0301\u0323" * 500_000
    assert composed(hostile) == hostile
    assert seen == []
