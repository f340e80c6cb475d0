"""Sphinx's lists; that they are read again is tested in ``test_exports``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from asr.corpora.corpus import WHOLE, Corpus, Utterance, read_parts
from asr.corpora.layouts.sphinx import write_sphinx
from asr.errors import CorpusError
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"A": [("AH",), ("EY",)], "GO": [("G", "OW")], "UNUSED": [("UW",)]})


def utterance(name: str, words: str, directory: Path, **more: float) -> Utterance:
    audio = directory / f"{name}.flac"
    audio.write_bytes(b"")
    return Utterance(name, audio, tuple(words.split()), "anna b", **more)


def test_lists_dictionary_and_fillers(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    train = Corpus(
        (utterance("u1", "GO [noise] A NEW", tmp_path / "in"), utterance("u2", "", tmp_path / "in"))
    )
    test = Corpus((utterance("u3", "A", tmp_path / "in"),))
    etc = write_sphinx({"train": train, "test": test}, LEXICON, tmp_path / "out")
    texts = {path.name: path.read_text() for path in etc.iterdir()}
    assert texts == {
        "out_train.fileids": "anna b/u1\nanna b/u2\n",
        "out_train.transcription": "<s> GO [noise] A NEW </s> (u1)\n<s> </s> (u2)\n",
        "out_test.fileids": "anna b/u3\n",
        "out_test.transcription": "<s> A </s> (u3)\n",
        "out.dic": "A AH\nA(2) EY\nGO G OW\n",
        "out.phone": "AH\nEY\nG\nOW\nSIL\nnoise\n",
        "out.filler": "<s> SIL\n</s> SIL\n<sil> SIL\n[noise] noise\n",
    }
    assert (tmp_path / "out" / "wav" / "anna b" / "u3.flac").resolve() == (
        tmp_path / "in" / "u3.flac"
    ).resolve()
    parts = read_parts(tmp_path / "out")
    assert {name: part.ids for name, part in parts.items()} == {"train": ("u1", "u2"), "test": ("u3",)}
    write_sphinx({WHOLE: test}, LEXICON, tmp_path / "out")  # again, over what is there
    assert (etc / "out_train.fileids").read_text() == "anna b/u3\n"


def test_what_sphinx_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"u1: a stretch of u1.flac, expected whole recordings"):
        write_sphinx({"": Corpus((utterance("u1", "A", tmp_path, end_s=1.0),))}, LEXICON, tmp_path)
    for name in ("u(1)", "../u", "u\0"):
        one = replace(utterance("u", "A", tmp_path), utterance_id=name)
        with pytest.raises(CorpusError, match=f'utterance id "{re.escape(name)}"'):
            write_sphinx({"": Corpus((one,))}, LEXICON, tmp_path)


def test_a_recording_is_not_replaced_by_a_link(tmp_path: Path) -> None:
    place = tmp_path / "wav" / "anna b"
    place.mkdir(parents=True)
    corpus = Corpus((utterance("u1", "A", place),))
    (place / "u1.flac").write_bytes(b"sound")
    with pytest.raises(CorpusError, match=r"u1\.flac: is there already and no link .* another directory"):
        write_sphinx({"train": corpus}, LEXICON, tmp_path)
    assert (place / "u1.flac").read_bytes() == b"sound"
