"""Bytes of models, of what is kept and of memory, counted once more by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import Corpus, Utterance
from asr.planning.amounts import TaskAmounts
from asr.planning.pair_costs import PairCosts
from asr.planning.sizes import Sizes, monophone_states
from asr.planning.walk import Stage
from asr.systems import find_system
from decoder.lexicon import Lexicon

GMM, LDA, NPD = (find_system(name) for name in ("gmm", "gmm-lda", "npd"))
PAIRS = PairCosts(50, 400, 100.0, 2.0, 3e-3, 5e6, 7e6)
LEXICON = Lexicon({"ASA": ["ASA"], "SUS": ["SUS"]})  # A, S, U and silence: 12 states
SECONDS = {"train": 20.0, "dev": 5.0, "test": 3.0}
# Of 12 states one Gaussian each, with mean and variance of 39 cepstra or 60 projected ones and a weight.
PLAIN, PROJECTED = 8 * 12 * (2 * 39 + 1), 8 * 12 * (2 * 60 + 1)


def amounts(times: float = 1.0) -> TaskAmounts:
    corpora = {name: Corpus((Utterance(name, Path("no.wav"), ("ASA",), "s"),)) for name in SECONDS}
    seconds = {name: np.array([times * length]) for name, length in SECONDS.items()}
    return TaskAmounts(corpora, seconds, LEXICON, 0.01)


def sizes(*settings: str, times: float = 1.0) -> Sizes:
    return Sizes(amounts(times), with_settings(ExperimentConfig(), settings), 1e4, 1e3)


def test_models() -> None:
    found = sizes()
    assert found.mixtures("none", 16) == 16 * PLAIN
    assert found.acoustic(GMM, None) == 8 * PLAIN
    assert found.acoustic(LDA, None) == 8 * PROJECTED
    assert found.acoustic(NPD, PAIRS) == 8 * PLAIN + 5e6  # the mixtures that are added to the scores
    assert found.acoustic(NPD, None) == 8 * PLAIN
    assert sizes("hybrid.gmm_weight=0").acoustic(NPD, PAIRS) == 5e6
    assert sizes("gmm.mixtures=1,4").acoustic(NPD, PAIRS) == 4 * PLAIN + 5e6
    assert found.model(GMM, None) == 8 * PLAIN + 1e4 + 1e3


@pytest.mark.parametrize(
    ("stage", "n_bytes"),
    [
        ("task", 1e3),
        ("words", 1e3),
        ("pronunciations", 1e3),
        ("grammars", 1e4),
        ("features-train", 2000 * 4 * 39),
        ("features-dev-warp-0.93", 500 * 4 * 39),
        ("units-context", 2000 * 4),
        ("alignment-8-dev", 2500 * 4),
        ("gmm-none-2", 2 * PLAIN),
        ("gmm-lda-16-dev", 16 * PROJECTED),
        ("hybrid-npd-pools", 8 * PLAIN + 5e6),
        ("adapting-hybrid-npd-pools", 8 * PLAIN + 5e6),
        ("recognizer-npd", 8 * PLAIN + 5e6 + 1.1e4),
        ("tuning-npd", 0.0),
        ("test-npd", 0.0),
    ],
)
def test_what_a_stage_keeps(stage: str, n_bytes: float) -> None:
    found = sizes()
    assert found.disk([Stage(stage)], NPD, PAIRS) == n_bytes + found.model(NPD, PAIRS)
    twice = found.disk([Stage(stage), Stage(stage)], NPD, PAIRS)
    assert twice == 2 * n_bytes + found.model(NPD, PAIRS)


class TestMemory:
    BASE = 260e6 + 2 * 6500  # Python, and two words

    def test_of_little(self) -> None:
        # cepstra of train, and the frames of train and dev; then the scores of dev, or the discriminants
        cepstra = (2000 + 2500) * 4 * 39
        both = ("train", "dev")
        assert sizes().memory(GMM, None, both) == pytest.approx(self.BASE + cepstra + 500 * 4 * 12)
        assert sizes().memory(NPD, PAIRS, both) == pytest.approx(self.BASE + cepstra + 7e6)
        assert sizes().memory(GMM, None, ("train",)) == pytest.approx(
            self.BASE + 2 * 2000 * 4 * 39 + 500 * 4 * 12
        )

    def test_frames_and_scores_are_kept_up_to_a_limit(self) -> None:
        found = sizes(times=1e5).memory(GMM, None, ("train", "dev"))
        assert found == pytest.approx(self.BASE + 2e8 * 4 * 39 + 2 * 2**28)


def test_monophone_states() -> None:
    assert monophone_states(Topology.monophones("ASU")) == (12, 3)
    assert monophone_states(Topology.monophones("ab", n_states=1)) == (3, 1)
