"""What a decoder finds in a corpus forwards and backwards, and in other recordings."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from asr import Recognizer
from asr.corpora.tones import RATE, speak
from asr.decoding.model_directories import TRAINED_ON, model_directory
from asr.errors import CorpusError, ExperimentError
from asr.spotting.pieces import find_words, pieces_of_corpus, pieces_of_others


@pytest.fixture
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
