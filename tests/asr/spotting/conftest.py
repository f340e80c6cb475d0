"""A language of two phones, a and b, and scores that say which of them is spoken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from acoustic import AcousticModel, GmmModel, Topology
from asr.spotting.evidence import ScoredSound
from decoder import Hypothesis, HypothesisWord, Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig


@pytest.fixture(scope="session")
def ab_model() -> Callable[[int], AcousticModel]:
    """Return a function that gives a model of sil, a and b whose states score alike."""

    def of(n_states: int) -> AcousticModel:
        config = FrontEndConfig(MfccConfig(n_cepstra=2, energy=False, derivatives=0), normalize="none")
        n_all = 3 * n_states
        gmm = GmmModel(np.zeros((n_all, 1)), np.zeros((n_all, 1, 2)), np.ones((n_all, 1, 2)))
        return AcousticModel(
            FrontEnd(config), Topology.monophones("ab", n_states=n_states), gmm, np.ones(n_all)
        )

    return of


@pytest.fixture(scope="session")
def spoken() -> Callable[[Sequence[int], int], np.ndarray]:
    """Return a function that gives scores (T, S) by which a state is spoken at each frame."""

    def by(states: Sequence[int], n_states: int) -> np.ndarray:
        scores = np.zeros((len(states), n_states))
        scores[np.arange(len(states)), states] = 20.0
        return scores

    return by


@pytest.fixture(scope="session")
def word() -> Callable[[str, int, int], HypothesisWord]:
    """Return a function that gives a word between two frames."""
    return lambda name, start, end: HypothesisWord(name, start * 0.01, end * 0.01, 0.0)


class Sounds(NamedTuple):
    """What words are judged by."""

    sound: ScoredSound
    lexicon: Lexicon


@pytest.fixture
def sounds(ab_model: Callable[[int], AcousticModel], spoken: Callable[..., np.ndarray]) -> Sounds:
    """Return scores of "ab", then of four frames of "b"."""
    lexicon = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")]})
    return Sounds(ScoredSound(spoken([0, 1, 1, 2, 2, 0, 2, 2, 2, 2, 0], 3), ab_model(1)), lexicon)


@pytest.fixture(scope="session")
def found(word: Callable[[str, int, int], HypothesisWord]) -> Hypothesis:
    """Return the words found in them: the first one is right, the second one wrong."""
    words = (word("AB", 1, 5), word("BA", 6, 10))
    return Hypothesis(words, -1.0, True, (Hypothesis((), -2.0, True),))
