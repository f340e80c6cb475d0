"""Which recordings are measured, and that numbers said twice are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic.emissions import one_vs_rest
from acoustic.pairs import rivals as prototypes
from acoustic.pairs import train_pools
from asr import pipeline
from asr.corpora.corpus import Utterance, read_corpus
from asr.planning import pair_costs, prices, speech_costs
from asr.planning.amounts import task_amounts
from asr.planning.sample import evenly_by_length, held_out_sample, size_of, training_sample
from asr.training import fit, learned_from
from decoder.lexicon import Lexicon
from features.frontend import FrontEndConfig


def utterances(n: int) -> list[Utterance]:
    return [Utterance(f"u{k:04d}", Path("nowhere.wav"), ("ASA",), "s") for k in range(n)]


class TestEvenly:
    def test_some_are_as_long_as_all(self) -> None:
        seconds = np.random.default_rng(0).gamma(2.0, 3.0, 1000)
        chosen = evenly_by_length(utterances(1000), seconds, 300.0)
        own = np.array([seconds[int(u.utterance_id[1:])] for u in chosen])
        assert_allclose(own.sum(), 300.0, rtol=0.1, atol=0)
        assert_allclose(own.mean(), seconds.mean(), rtol=0.05, atol=0)
        assert own.min() < np.quantile(seconds, 0.05)
        assert own.max() > np.quantile(seconds, 0.95)

    @pytest.mark.parametrize(("each_s", "n"), [(1000.0, 2), (0.01, 400), (10.0, 12)])
    def test_two_at_least_and_a_few_hundred_at_most(self, each_s: float, n: int) -> None:
        found = evenly_by_length(utterances(1000), np.full(1000, each_s), 120.0)
        assert len(found) == len({u.utterance_id for u in found}) == n
        assert {u.utterance_id for u in found} <= {u.utterance_id for u in utterances(1000)}

    def test_of_long_ones_a_stretch_counts(self) -> None:
        found = evenly_by_length(utterances(100), np.full(100, 1000.0), 30.0, 2.5)
        assert len(found) == len({u.utterance_id for u in found}) == 30 / 2.5
        assert {u.utterance_id for u in found} <= {u.utterance_id for u in utterances(100)}

    def test_what_cannot_be_read_is_not_taken(self) -> None:
        seconds = np.array([0.0, 3.0, 0.0])
        assert evenly_by_length(utterances(3), seconds, 100.0).ids == ("u0001",)
        assert len(evenly_by_length(utterances(3), np.zeros(3), 100.0)) == 0


def test_the_sample_has_known_words_alone_where_it_can(tones: Path, tmp_path: Path) -> None:
    whole, config = read_corpus(tones), FrontEndConfig()
    few = Lexicon({"ASA": ["ASA"], "IMI": ["IMI"], "SUS": ["SUS"]})
    amounts = task_amounts({"train": whole}, few, 0.01)
    sample = training_sample(amounts, config, tmp_path)
    assert all("MAUI" not in u.words for u in sample.corpus)
    assert 0 < len(sample.corpus) < len(whole)
    assert size_of(tmp_path / "sample.npy") > sum(sample.n_frames) * 39 * 4
    alone = task_amounts({"train": whole}, Lexicon({"NOTHING": ["A"]}), 0.01)
    assert len(training_sample(alone, config, tmp_path).corpus) == len(whole)
    assert set(held_out_sample(amounts, config, 2.0, 1.0).corpus.ids) <= set(whole.ids)


def test_numbers_that_are_said_twice() -> None:
    assert pair_costs._FEW_CLASSES == train_pools._FEW_CLASSES
    assert pair_costs._GROUPS == train_pools._GROUPS
    assert pair_costs._MOST_IN_GROUP == train_pools._MOST_CLASSES
    assert pair_costs._MEETING_FRAMES == prototypes._MEETING_FRAMES
    assert pair_costs._MOST_KRLS_CENTERS == one_vs_rest._MOST_CENTERS
    assert prices.N_HEARD == learned_from.N_HEARD
    assert prices.N_WRONG_PAIRS == fit.N_WRONG_PAIRS
    assert speech_costs._ALIGNER_COMPONENTS == pipeline._ALIGNER_COMPONENTS
