"""Files: there whole or not at all, known by their bytes, errors of the disk in one line."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from asr.errors import ConfigError, ExperimentError
from asr.files import (
    FilesOfIds,
    as_plain,
    check_target,
    directory_digest,
    file_digest,
    file_stem,
    read_json,
    storage_errors,
    write_json,
    write_text,
)


class TestFiles:
    def test_a_failed_write_keeps_what_was_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "only copy.mlf"
        path.write_text("precious")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("foundation.files.os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            write_text(path, "new")
        assert path.read_text() == "precious"
        assert [p.name for p in tmp_path.iterdir()] == [path.name]

    def test_write_json_is_whole_or_not_at_all(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        write_json(path, {"b": 1, "a": ("é", Path("p"))})
        assert path.read_text(encoding="utf-8") == '{\n "a": [\n  "é",\n  "p"\n ],\n "b": 1\n}\n'
        with pytest.raises(TypeError, match="object is not JSON serializable"):
            write_json(path, {"b": object()})
        assert read_json(path) == {"a": ["é", "p"], "b": 1}
        assert os.listdir(tmp_path) == ["x.json"]

    @pytest.mark.parametrize("content", [b"{", b"\xff", b""])
    def test_read_json_of_no_json(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(ExperimentError, match=r"x\.json: cannot be read .*expected JSON"):
            read_json(tmp_path / "x.json")
        with pytest.raises(ExperimentError, match=r"y\.json: not found, expected"):
            read_json(tmp_path / "y.json")

    def test_a_target_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        check_target(tmp_path / "x", "--out")
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # root may all
        with pytest.raises(ConfigError, match=rf"^--out: {tmp_path}: cannot be written to, expected"):
            check_target(tmp_path / "x", "--out")

    def test_what_is_no_file_is_written_into_and_links_are_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "open").mkdir()
        (tmp_path / "closed").mkdir()
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) == tmp_path / "open")  # root may all
        check_target(Path(os.devnull), "--out")
        (tmp_path / "closed" / "link").symlink_to(tmp_path / "open" / "x")
        check_target(tmp_path / "closed" / "link", "--out")
        (tmp_path / "open" / "link").symlink_to(tmp_path / "closed" / "x")
        with pytest.raises(ConfigError, match=rf"^--out: {tmp_path}/closed: cannot be written to"):
            check_target(tmp_path / "open" / "link", "--out")

    def test_file_digest(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
        assert (
            file_digest(tmp_path / "x") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )

    def test_directory_digest_sees_names_and_bytes_but_of_the_file_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/a").write_text("one")
        (tmp_path / "note").write_text("now")
        before = directory_digest(tmp_path, without="note")
        assert before != directory_digest(tmp_path)
        (tmp_path / "note").write_text("later")
        assert directory_digest(tmp_path, without="note") == before
        (tmp_path / "sub/a").rename(tmp_path / "sub/b")
        renamed = directory_digest(tmp_path, without="note")
        (tmp_path / "sub/b").write_text("two")
        assert len({before, renamed, directory_digest(tmp_path, without="note")}) == 3

    def test_as_plain(self) -> None:
        @dataclass(frozen=True)
        class Options:
            path: Path = Path("a/b")
            numbers: tuple[int, ...] = (1, 2)

        assert as_plain({1: Options()}) == {"1": {"path": "a/b", "numbers": [1, 2]}}


class TestNamesOfFiles:
    @pytest.mark.parametrize("name", ["con", "AUX", "nul.1", "Com7", "lpt¹", "prn .x"])
    def test_names_of_devices_on_windows_are_not_those_of_files(self, name: str) -> None:
        assert file_stem(name) == f"%{ord(name[0]):02X}{name[1:]}"

    @pytest.mark.parametrize("name", ["conrad", "com10", "nul-1", "xcon", "com", "aux_1"])
    def test_names_that_begin_like_devices_stay(self, name: str) -> None:
        assert file_stem(name) == name

    def test_ids_that_differ_in_capitals_have_files_of_their_own_where_names_do_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def names(directory: Path) -> list[str]:
            files = FilesOfIds(directory, ".srt")
            return [files.path(name).name for name in ("Anna", "ben", "anna", "Ben")]

        assert names(tmp_path) == ["Anna.srt", "ben.srt", "anna.srt", "Ben.srt"]
        written = {"anna.srt"}  # on a disk of Windows or macOS
        monkeypatch.setattr(Path, "exists", lambda path: path.name.casefold() in written)
        monkeypatch.setattr(Path, "samefile", lambda one, other: one.name.casefold() == other.name.casefold())
        assert names(tmp_path) == ["Anna.srt", "ben.srt", "anna%55579b557896d0ce.srt", "Ben.srt"]


class TestStorageErrors:
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
    def test_full_disk(self, tmp_path: Path, code: int) -> None:
        with (
            pytest.raises(ExperimentError, match=r"no space left .*finished stages are kept"),
            storage_errors(tmp_path / "not" / "there"),
        ):
            raise OSError(code, os.strerror(code))

    def test_numpy_gives_no_number_for_a_full_disk(self, tmp_path: Path) -> None:
        with pytest.raises(ExperimentError, match="no space left"), storage_errors(tmp_path):
            raise OSError("1000 requested and 10 written")

    def test_a_link_to_nothing_is_called_so(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.symlink_to("nowhere/x")
        said = r"out: a link to nothing \(nowhere/x\); expected to read and write there; check the path"
        with pytest.raises(ExperimentError, match=said), storage_errors(out):
            out.mkdir(parents=True, exist_ok=True)

    def test_others_name_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(ExperimentError, match=r"^/a/b: Permission denied; "), storage_errors(tmp_path):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), "/a/b")
