"""Words found in pieces of speech, forwards, backwards, and with words withheld; and in other recordings."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from asr import Recognizer
from asr.corpora.tones import RATE, speak
from asr.errors import CorpusError, ExperimentError
from asr.formats.model_directories import TRAINED_ON, model_directory
from asr.spotting.pieces import Piece, find_words, pieces_of_corpus, pieces_of_others, withheld
from decoder import Lexicon


@pytest.fixture(scope="module")
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


def test_a_corpus_forwards_and_backwards(recognizer: Recognizer, trained: Path, tones: Path) -> None:
    directory = model_directory(trained, None)
    forwards = pieces_of_corpus(recognizer, tones, directory)
    both = pieces_of_corpus(recognizer, tones, directory, with_backwards=True)
    assert len(both) == 2 * len(forwards) == 80
    assert [p.is_backwards for p in both] == [False] * 40 + [True] * 40
    assert_array_equal(both[0].scores(), forwards[0].scores())
    assert not any(p.words for p in both[40:])
    assert len({p.group for p in both}) == 8  # both ways of a speaker are in one group


def test_recordings_that_cannot_be_used_are_left_out(
    recognizer: Recognizer, trained: Path, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Path(shutil.copytree(tones / "speaker 0", tmp_path / "corpus" / "anna"))
    for file in sorted(folder.glob("*.wav"))[1:]:
        file.write_bytes(b"no sound")
    found = pieces_of_corpus(recognizer, tmp_path / "corpus", model_directory(trained, None))
    assert [piece.words for piece in found] == [tuple((folder / "0.txt").read_text().split())]
    left_out = [message for message in caplog.messages if message.startswith("left out: ")]
    assert [f"{n}.wav" in message for n, message in enumerate(left_out, 1)] == [True] * 4
    (folder / "0.wav").write_bytes(b"no sound")
    with pytest.raises(CorpusError, match=r"none of 5 recording\(s\) can be used, expected some"):
        pieces_of_corpus(recognizer, tmp_path / "corpus", model_directory(trained, None))


def test_damaged_names_of_what_was_trained_on(recognizer: Recognizer, tones: Path, tmp_path: Path) -> None:
    (tmp_path / TRAINED_ON).write_text("3")
    with pytest.raises(ExperimentError, match=r"trained_on\.json: not as .*; run asr train"):
        pieces_of_corpus(recognizer, tones, tmp_path)


def test_words_are_right_where_they_are_spoken(recognizer: Recognizer, trained: Path, tones: Path) -> None:
    pieces = pieces_of_corpus(recognizer, tones, model_directory(trained, None), with_backwards=True)
    heard = find_words(recognizer, pieces, ("ASA", "SUS", "MAUI"), [recognizer.decoder])
    forwards, backwards = heard[:40], heard[40:]
    n_said = sum(path.read_text().count(w) for path in tones.glob("*/*.txt") for w in ("ASA", "SUS", "MAUI"))
    assert sum(h.n_spoken for h in forwards) == n_said
    assert sum(c.is_spoken for h in forwards for c in h.found[0]) > 0.9 * n_said
    candidates = [c for h in backwards for c in h.found[0]]
    assert not any(c.is_spoken or c.is_counted for c in candidates)
    assert {c.word for c in candidates} <= {"MAUI"}  # the others sound the same backwards
    assert sum(h.seconds for h in backwards) == 0.0


def test_other_recordings_are_grouped_by_their_folders(
    recognizer: Recognizer, trained: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for name in ("a/1.wav", "a/2.wav", "b/1.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        soundfile.write(tmp_path / name, speak(("ASA", "SUS"), 1.0, rng), RATE)
    (tmp_path / "b" / "2.wav").write_bytes(b"no sound")
    pieces = pieces_of_others(recognizer, tmp_path, model_directory(trained, None))
    assert [p.group for p in pieces] == [f"{tmp_path}/a", f"{tmp_path}/a", f"{tmp_path}/b"]
    (heard,) = find_words(recognizer, pieces[:1], ("ASA",), [recognizer.decoder])
    assert heard.n_spoken == 0
    assert not any(c.is_spoken for c in heard.found[0])


@pytest.fixture(scope="module")
def pieces(recognizer: Recognizer, tones: Path, trained: Path) -> list[Piece]:
    return pieces_of_corpus(recognizer, tones, model_directory(trained, None), with_backwards=True)


def words_of(piece: Piece) -> tuple[str, ...]:
    assert piece.decoder is not None
    return piece.decoder().network.words


def test_each_utterance_without_one_word_and_without_all(recognizer: Recognizer, pieces: list[Piece]) -> None:
    found = withheld(recognizer, pieces)
    assert len(found) == 2 * 40  # speech backwards has no words
    for piece, without_one, without_all in zip(pieces[:40], found[0::2], found[1::2], strict=True):
        assert piece.group == without_one.group == without_all.group
        assert set(words_of(without_all)) == set(recognizer.lexicon.words) - set(piece.words)
        assert len(set(piece.words) - set(words_of(without_one))) == 1
        assert not without_one.is_counted
        assert not without_all.is_counted


def test_what_is_found_instead_is_wrong_and_other_words_are_right(
    recognizer: Recognizer, pieces: list[Piece]
) -> None:
    heard = find_words(
        recognizer, withheld(recognizer, pieces), recognizer.lexicon.words, [recognizer.decoder]
    )
    without_one, without_all = ([c for h in some for c in h.found[0]] for some in (heard[0::2], heard[1::2]))
    assert without_all
    assert not any(c.is_spoken for c in without_all)
    right = [c.is_spoken for c in without_one]
    assert 0.2 < sum(right) / len(right) < 0.8
    assert sum(h.n_spoken + h.seconds for h in heard) == 0


def test_words_that_sound_the_same_are_withheld_together(recognizer: Recognizer, pieces: list[Piece]) -> None:
    entries = dict(recognizer.lexicon.entries)
    other = replace(recognizer, lexicon=Lexicon({**entries, "ASSA": entries["ASA"]}))
    spoken = [replace(piece, words=("ASA",)) for piece in pieces[:3]]
    for piece in withheld(other, spoken):
        assert set(words_of(piece)) == set(entries) - {"ASA"}


def test_an_utterance_of_all_words_is_heard_without_one_only(
    recognizer: Recognizer, pieces: list[Piece]
) -> None:
    every = replace(pieces[0], words=recognizer.lexicon.words)
    (found,) = withheld(recognizer, [every])
    assert len(words_of(found)) == len(recognizer.lexicon.words) - 1
    assert withheld(recognizer, [every], without_one=False) == []
    (single,) = withheld(recognizer, [replace(every, words=("ASA", "ASA"))])
    assert set(words_of(single)) == set(recognizer.lexicon.words) - {"ASA"}
    assert withheld(recognizer, [replace(every, words=("NOBODY",))]) == []


def test_of_a_large_lexicon_some_words_are_enough(
    recognizer: Recognizer, pieces: list[Piece], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asr.spotting.pieces._N_WORDS", 1)
    for piece, other in zip(pieces[:40], withheld(recognizer, pieces)[0::2], strict=True):
        others = set(words_of(other)) - set(piece.words)
        missing = set(piece.words) - set(words_of(other))
        assert (len(missing), len(others) <= 1) == (1, True)
