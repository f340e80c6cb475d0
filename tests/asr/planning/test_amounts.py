"""How much a task holds, against counting by hand on the tone language."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose

from asr.corpora.corpus import Corpus, Utterance, read_corpus
from asr.errors import CorpusError
from asr.planning import amounts as module
from asr.planning.amounts import durations, is_known, phone_counts, task_amounts
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"], "MAUI": ["MAUI"]})


def some(words: str, name: str = "u", **place: float) -> Utterance:
    return Utterance(name, Path("nowhere.wav"), tuple(words.split()), "s", **place)


@pytest.fixture
def whole(tones: Path) -> Corpus:
    return read_corpus(tones)


def test_everything_is_counted(tones: Path, whole: Corpus) -> None:
    corpora = {
        "train": whole.of_speakers(whole.speakers[2:]),
        "dev": whole.of_speakers(whole.speakers[:2]),
        "test": Corpus(()),
    }
    found = task_amounts(corpora, LEXICON, 0.01)
    texts = {path.relative_to(tones).parts[0]: [] for path in tones.rglob("*.txt")}
    for path in tones.rglob("*.txt"):
        texts[path.relative_to(tones).parts[0]].append(path)
    paths = [path for speaker in sorted(texts)[2:] for path in texts[speaker]]
    seconds = sum(soundfile.info(path.with_suffix(".wav")).duration for path in paths)
    words = [word for path in paths for word in path.read_text().split()]
    train = found.amounts["train"]
    assert (train.n_utterances, train.n_speakers, train.n_words) == (30, 6, len(words))
    assert train.n_different == len(set(words)) == 4
    assert_allclose(train.hours, seconds / 3600, rtol=1e-9, atol=0)
    assert found.n_frames(["train"]) == round(100 * seconds)
    assert set(found.amounts) == {"train", "dev"}
    assert found.n_frames(["test"]) == found.n_utterances(["test"]) == found.n_words("test") == 0
    assert found.n_utterances(["train", "dev", "test"]) == 40
    assert found.n_speakers(["dev"]) == 2
    assert found.monophones.n_states == 18  # five phones and silence
    letters = Counter("".join(words))
    assert dict(found.phones.tokens) == dict(letters)
    assert found.missing == ()
    assert found.with_missing == []


def test_contexts_are_those_of_the_words_said() -> None:
    found = phone_counts([["ASA", "UNKNOWN"], ["ASA", "SUS"]], LEXICON)
    assert found.tokens == {"A": 4, "S": 4, "U": 1}
    said = {context.name: n for context, n in found.contexts.items()}
    assert said == {"#-A+S": 2, "A-S+A": 2, "S-A+#": 2, "#-S+U": 1, "S-U+S": 1, "U-S+#": 1}


def test_missing_words_and_their_utterances(whole: Corpus) -> None:
    few = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"]})
    found = task_amounts({"train": whole}, few, 0.01)
    assert found.missing == ("MAUI",)
    having = {u.utterance_id for u in whole if "MAUI" in u.words}
    assert {u.utterance_id for u, _ in found.with_missing} == having
    assert 0 < len(having) < len(whole)
    assert all(seconds > 0 for _, seconds in found.with_missing)


def test_stretches_are_as_long_as_their_times_say(whole: Corpus) -> None:
    path = whole.utterances[0].audio_path
    length = soundfile.info(path).duration
    cut = [
        Utterance("a", path, ("ASA",), "s", 0.1, 0.3),
        Utterance("b", path, ("ASA",), "s", 0.2),
        Utterance("c", path, ("ASA",), "s"),
        some("ASA", "d"),
    ]
    assert_allclose(durations(cut), [0.2, length - 0.2, length, 0.0], rtol=1e-6, atol=1e-9)
    assert len(durations([])) == 0


def test_of_very_many_recordings_some_headers_are_read(
    whole: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = durations(whole.utterances)
    monkeypatch.setattr(module, "MOST_HEADERS", 20)
    about = durations(whole.utterances)
    assert_allclose(about.sum(), exact.sum(), rtol=0.1, atol=0)
    assert np.count_nonzero(about == exact) >= 20


@pytest.mark.parametrize("corpus", [Corpus(()), Corpus((some("ASA"),))])
def test_nothing_to_learn_from(corpus: Corpus) -> None:
    with pytest.raises(CorpusError, match=r"train has \d utterance\(s\), none of which can be read"):
        task_amounts({"train": corpus}, LEXICON, 0.01)


def test_known_utterances() -> None:
    assert is_known(some("ASA SUS"), LEXICON)
    assert not is_known(some("ASA MISSING"), LEXICON)
    assert not is_known(some(""), LEXICON)
