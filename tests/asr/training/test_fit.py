"""How well transcripts of the tone language fit, and those of other utterances."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acoustic.alignment import FitCurve, Margins
from acoustic.hmm.training import GmmConfig
from asr import Recognizer
from asr.corpora.corpus import Corpus, read_corpus
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.formats.model_directories import FitCurves, load_curves, save_curves
from asr.training.fit import (
    TOO_FEW,
    Heard,
    _partners,
    find_suspicious,
    fit_curves,
    hear,
    hear_apart,
    n_wrong_each,
    verdict,
)
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


@pytest.fixture(scope="module")
def spoilt(many_tones: Path, recognizer: Recognizer) -> tuple[SpeechData, set[str]]:
    """Return sixty utterances, four of which have another transcript, and the ids of these."""
    corpus = Corpus(read_corpus(many_tones).utterances[::3][:60])
    wrong = corpus.utterances[5::15]
    others = {u.utterance_id: ("SUS", "SUS") if u.words[0] != "SUS" else ("MAUI", "ASA") for u in wrong}
    changed = Corpus(tuple(replace(u, words=others.get(u.utterance_id, u.words)) for u in corpus))
    return compute_cepstra(changed, recognizer.model.front_end.config), set(others)


class TestApart:
    """Models that have not learned from an utterance judge it; who has learned a wrong text believes it."""

    def test_wrong_transcripts_are_found_and_nothing_else(
        self, spoilt: tuple[SpeechData, set[str]], recognizer: Recognizer
    ) -> None:
        data, wrong = spoilt
        heard = hear_apart(data, recognizer.model, recognizer.lexicon, GmmConfig(mixtures=(1, 2)))
        found = find_suspicious(data, heard, fit_curves(heard), {}, 0.01)
        assert {s.utterance_id for s in found if "text does not fit" in s.reasons[0]} == wrong
        truth = {u.utterance_id: " ".join(u.words) for u in data.corpus}
        assert all(s.text == truth[s.utterance_id] != s.heard for s in found)

    def test_others_are_judged_by_what_was_learned_from_all(
        self, spoilt: tuple[SpeechData, set[str]], recognizer: Recognizer
    ) -> None:
        data, wrong = spoilt
        learned_from, others = data.without(wrong), data.without(set(data.corpus.ids) - wrong)
        config = GmmConfig(mixtures=(1, 2))
        heard = hear_apart(learned_from, recognizer.model, recognizer.lexicon, config, others=others)
        assert [h.words for h in heard] == [u.words for u in others.corpus]
        curves = fit_curves(hear_apart(learned_from, recognizer.model, recognizer.lexicon, config))
        assert max(float(curves.utterance(h.right.utterance)) for h in heard) < 0.5  # type: ignore[misc, union-attr]


@pytest.mark.parametrize(
    ("n_found", "n", "said"),
    [
        (0, TOO_FEW - 1, "49 utterances are too few to tell which transcripts are wrong"),
        (
            1,
            26,
            "1 of 26 utterances look wrong, in text or sound; too little speech to tell about the others",
        ),
        (0, TOO_FEW, ""),
        (3, 853, "3 of 853 utterances look wrong, in text or sound"),
    ],
)
def test_of_few_utterances_nothing_is_called_right(n_found: int, n: int, said: str) -> None:
    assert verdict(n_found, n) == said
