"""How well transcripts of the tone language fit, and those of other utterances."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acoustic.alignment import FitCurve, Margins
from asr import Recognizer
from asr.corpora.corpus import Corpus, read_corpus
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.formats.model_directories import FitCurves, load_curves, save_curves
from asr.training.fit import Heard, _partners, fit_curves, hear, n_wrong_each
from decoder.lexicon import Lexicon


@pytest.fixture(scope="module")
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


@pytest.fixture(scope="module")
def data(tones: Path, recognizer: Recognizer) -> SpeechData:
    return compute_cepstra(read_corpus(tones), recognizer.model.front_end.config)


@pytest.fixture(scope="module")
def heard(data: SpeechData, recognizer: Recognizer) -> list[Heard]:
    return hear(data, recognizer.model, recognizer.lexicon, 400.0)


def test_own_transcripts_fit_better_than_others(heard: list[Heard], data: SpeechData) -> None:
    assert [h.words for h in heard] == [u.words for u in data.corpus]
    right = np.array([h.right.utterance for h in heard])  # type: ignore[union-attr]
    wrong = np.array([m.utterance for h in heard for _, m in h.wrong])
    assert len(wrong) == 4 * len(heard) == 160
    assert all(words != h.words for h in heard for words, _ in h.wrong)
    assert np.quantile(right, 0.1) > np.quantile(wrong, 0.9)
    assert fit_curves(heard).utterance(np.median(right)) > 0.99  # type: ignore[misc]


def test_alignments_are_those_of_the_model(
    heard: list[Heard], data: SpeechData, recognizer: Recognizer
) -> None:
    frames = recognizer.model.front_end.transform(data.cepstra, data.speakers)
    for h, f in list(zip(heard, frames, strict=True))[::13]:
        assert h.alignment.words == recognizer.align_frames(f, h.words).words  # type: ignore[union-attr]


def test_some_utterances_evenly(data: SpeechData, recognizer: Recognizer) -> None:
    some = hear(data, recognizer.model, recognizer.lexicon, 400.0, n_utterances=4)
    assert [h.words for h in some] == [data.corpus.utterances[n].words for n in (0, 10, 20, 30)]


def test_a_transcript_too_long_for_its_recording(data: SpeechData, recognizer: Recognizer) -> None:
    first, *others = data.corpus.utterances[:3]
    long = replace(first, words=("MAUI",) * 90)
    spoilt = SpeechData(Corpus((long, *others)), data.cepstra[:3])
    heard = hear(spoilt, recognizer.model, recognizer.lexicon, 400.0)
    assert heard[0].alignment is heard[0].right is None
    assert all("".join(words) != "MAUI" * 90 for h in heard for words, _ in h.wrong)
    assert fit_curves(heard) == FitCurves(None, None)


def test_words_of_the_utterance_itself_are_not_wrong_ones() -> None:
    right, wrong = Margins(np.array([-0.1, np.nan])), Margins(np.array([-0.2, -8.0]))
    heard = [Heard(("A", "X"), None, right, ((("A", "B"), wrong),))] * 20
    curves = fit_curves(heard)
    assert curves.word(np.array(-0.2)) > 0.99  # type: ignore[misc]
    assert curves.word(np.array(-8.0)) < 0.1  # type: ignore[misc]


def test_curves_come_back(tmp_path: Path) -> None:
    assert load_curves(tmp_path) == FitCurves(None, None)
    for curves in (FitCurves(FitCurve(1.0, 2.0), None), FitCurves(None, FitCurve(0.5, -1.0))):
        save_curves(curves, tmp_path)
        assert load_curves(tmp_path) == curves


def test_partners_are_others_however_often_a_text_is_repeated() -> None:
    texts = [("A",)] * 300 + [("B",)] * 300
    lexicon = Lexicon({"A": [("a",)], "B": [("b",)]})
    partners = _partners(texts, lexicon, range(600))
    assert set(map(len, partners.values())) == {1}
    assert all((n < 300) != (k < 300) for n, others in partners.items() for k in others)
    assert _partners([("A",)] * 3, lexicon, range(3)) == {0: [], 1: [], 2: []}


@pytest.mark.parametrize(
    ("n", "each"), [(1, 4), (150, 4), (199, 4), (200, 3), (300, 2), (600, 1), (10_000, 1)]
)
def test_six_hundred_wrong_transcripts_at_most_four_each(n: int, each: int) -> None:
    assert n_wrong_each(n) == each
