"""A change of a corpus's files is seen."""

import os
from pathlib import Path

import pytest

from asr.corpora.marks import MISSING, check_unchanged, file_mark, source_digest, source_marks
from asr.errors import CorpusError


def test_source_digest_sees_text_by_content_and_audio_by_time(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "a.wav").write_bytes(b"sound")
    before = source_digest(tmp_path)
    os.utime(tmp_path / "a.txt", (1, 1))
    (tmp_path / ".hidden").touch()
    assert source_digest(tmp_path) == before
    os.utime(tmp_path / "a.wav", (1, 1))
    after = source_digest(tmp_path)
    assert after != before
    (tmp_path / "a.txt").write_text("two")
    assert source_digest(tmp_path) != after


def test_source_digest_of_a_table_sees_what_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.CSV").write_text("one")
    (tmp_path / "exp").mkdir()
    before = source_digest(tmp_path / "a.CSV")
    (tmp_path / "exp" / "log.txt").touch()
    os.utime(tmp_path / "a.CSV", (1, 1))
    assert source_digest(tmp_path / "a.CSV") == before
    (tmp_path / "lexicon.txt").touch()
    assert source_digest(tmp_path / "a.CSV") != before


def test_a_mark_is_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"sound")
    os.utime(tmp_path / "a.wav", ns=(5, 7))
    assert file_mark(tmp_path / "a.wav") == "5 7"
    assert file_mark(tmp_path / "b.wav") == MISSING


def test_what_is_new_gone_or_other_is_named(tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav", "c.txt"):
        (tmp_path / name).write_text("one")
    before = source_marks(tmp_path)
    check_unchanged(before, source_marks(tmp_path))
    (tmp_path / "a.wav").unlink()
    (tmp_path / "c.txt").write_text("two")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/e.wav").touch()
    with pytest.raises(CorpusError, match=r"\Aa\.wav, c\.txt, d/e\.wav: changed while the corpus was read"):
        check_unchanged(before, source_marks(tmp_path))


@pytest.mark.parametrize("time_s", [0, 2**33])
def test_times_in_the_past_or_future_are_times_like_others(tmp_path: Path, time_s: int) -> None:
    (tmp_path / "a.wav").touch()
    before = source_marks(tmp_path)
    os.utime(tmp_path / "a.wav", (time_s, time_s))
    after = source_marks(tmp_path)
    assert before["a.wav"] != after["a.wav"] == f"0 {time_s * 10**9}"
    check_unchanged(after, source_marks(tmp_path))
