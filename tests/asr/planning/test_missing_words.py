"""Costs of missing words: by what each time is divided, with a clock of our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.topology import Topology
from acoustic.model import AcousticModel
from asr.corpora.corpus import Corpus, Utterance, read_corpus
from asr.corpora.speech_data import usable_cepstra
from asr.planning import missing_words as module
from asr.planning.amounts import TaskAmounts, task_amounts
from asr.planning.missing_words import MissingWordCosts, guesses, missing_word_costs, n_stretches
from decoder.lexicon import Lexicon
from decoder.pronouncing.model import PronunciationModel
from features.frontend import FrontEnd, FrontEndConfig

LEXICON = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"]})  # MAUI is missing
FRONT_END = FrontEndConfig(normalize="none")


def model() -> AcousticModel:
    """Return one and the same Gaussian in all states of the lexicon's phones."""
    topology = Topology.monophones(LEXICON.phones)
    n, d = topology.n_states, FRONT_END.mfcc.n_features
    same = GmmModel(np.zeros((n, 1)), np.zeros((n, 1, d)), np.full((n, 1, d), 100.0))
    return AcousticModel(FrontEnd(FRONT_END), topology, same, np.ones(n))


@pytest.fixture(autouse=True)
def times(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Make calls take 1, 2, 4, 8 seconds, each call once; return the times that were told."""
    told: list[float] = []

    def tell(call: Callable[[], object], *, is_warm: bool = False) -> float:
        call()
        told.append(2.0 ** len(told))
        return told[-1]

    monkeypatch.setattr(module, "least_seconds", tell)
    return told


@pytest.fixture
def amounts(tones: Path) -> TaskAmounts:
    return task_amounts({"train": read_corpus(tones)}, LEXICON, 0.01)


def test_costs(amounts: TaskAmounts, times: list[float]) -> None:
    found = missing_word_costs(amounts, model(), FRONT_END, 200.0)
    having = [u for u in amounts.corpora["train"] if "MAUI" in u.words]
    timed = having[:: len(having) // 6][:6]
    n_frames = sum(usable_cepstra(Corpus(tuple(timed)), FRONT_END)[0].n_frames)
    # Five folds and all words, then half of the guesses of all three words; one word is guessed and chosen.
    assert found == MissingWordCosts(pytest.approx(1.0 / n_frames), 6 * 2.0 + 3 * 4.0 / 2, 4.0, 8.0)
    assert times == [1.0, 2.0, 4.0, 8.0]


def test_of_a_large_lexicon_one_part_is_held_out(
    amounts: TaskAmounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY", 3)
    monkeypatch.setattr(module, "TESTED", 1)
    assert missing_word_costs(amounts, model(), FRONT_END, 200.0).guess_s == 2 * 2.0 + 1 * 4.0 / 2


def test_a_lexicon_too_small_to_guess_from(tones: Path) -> None:
    digits = Lexicon({"1": ["A"], "2": ["S"]})
    amounts = task_amounts({"train": read_corpus(tones)}, digits, 0.01)
    found = missing_word_costs(amounts, model(), FRONT_END, 200.0)
    assert (found.guess_s, found.word_s, found.choice_s) == (0.0, 0.0, 0.0)


def test_stretches_of_a_word_up_to_twelve() -> None:
    def said(text: str, name: str) -> Utterance:
        return Utterance(name, Path("no.wav"), tuple(text.split()), "s")

    train = Corpus((said("MAUI ASA MAUI " * 7, "a"), said("OTHER ASA", "b"), said("ASA", "c")))
    corpora = {
        "train": train,
        "dev": Corpus((said("OTHER OTHER", "d"),)),
        "test": Corpus((said("OTHER", "e"),)),
    }
    seconds = {split: np.ones(len(corpus)) for split, corpus in corpora.items()}
    assert n_stretches(TaskAmounts(corpora, seconds, LEXICON, 0.01)) == 12 + 3
    assert (
        n_stretches(
            TaskAmounts({"train": Corpus(train.utterances[2:])}, {"train": np.ones(1)}, LEXICON, 0.01)
        )
        == 0
    )


def test_guesses() -> None:
    trained = PronunciationModel.train(LEXICON)
    found = guesses(trained, "ASA")
    assert max(found, key=lambda pronunciation: found[pronunciation]) == ("A", "S", "A")
    assert sum(found.values()) == pytest.approx(1.0)
    assert guesses(trained, "中") == {}
