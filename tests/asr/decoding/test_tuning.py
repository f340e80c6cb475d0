"""The search for decoder weights."""

import itertools

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from asr.config import TuningConfig
from asr.decoding.tuning import coordinate_search, middle_of_best, tune
from decoder.decoder import Decoder
from decoder.grammars.ngram import NGram
from decoder.grammars.word_loop import WordLoop
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"A": [("a",)], "B": [("b",)]})
TOPOLOGY = Topology.monophones(LEXICON.phones)
CONFIG = TuningConfig(word_penalties=(0.0, -5.0, -30.0), lm_scales=(2.0, 9.0), silence_log_probs=(0.0, -3.0))


class TestCoordinateSearch:
    def test_finds_the_least_of_a_sum(self) -> None:
        """Where the axes do not interact, the coordinates are found one by one: as all combinations say."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            tables = rng.permutation(20).reshape(4, 5)
            axes = {f"w{i}": tuple(float(v) for v in range(5)) for i in range(4)}

            def cost(weights: dict[str, float], tables: np.ndarray = tables) -> int:
                return int(sum(tables[i, int(weights[f"w{i}"])] for i in range(4)))

            found = coordinate_search(cost, axes, dict.fromkeys(axes, 0.0), 3)
            combinations = (dict(zip(axes, v, strict=True)) for v in itertools.product(*axes.values()))
            assert found.errors == min(map(cost, combinations)) == cost(found.weights)

    def test_nothing_is_tried_twice_and_all_trials_are_told(self) -> None:
        seen: list[tuple[float, ...]] = []

        def cost(weights: dict[str, float]) -> int:
            seen.append(tuple(weights.values()))
            return int(abs(weights["a"] - weights["b"]))

        found = coordinate_search(cost, {"a": (0.0, 1.0, 2.0), "b": (0.0, 2.0)}, {"a": 5.0, "b": 2.0}, 9)
        assert len(seen) == len(set(seen)) == len(found.trials)
        assert found.errors == 0

    def test_rounds_are_limited(self) -> None:
        found = coordinate_search(lambda w: int(w["a"]), {"a": (3.0, 2.0)}, {"a": 7.0}, 1)
        assert (found.weights, found.errors) == ({"a": 2.0}, 2)


@pytest.mark.parametrize(
    ("costs", "index"), [([1], 0), ([2, 1, 1], 1), ([1, 1, 1, 2], 1), ([1, 2, 1, 1, 1], 3), ([1, 2, 1], 0)]
)
def test_middle_of_best(costs: list[int], index: int) -> None:
    assert middle_of_best(costs) == index


class TestTune:
    def test_silly_insertions_are_penalised_away(self) -> None:
        """Scores that favour changing the word often: only a penalty keeps one word one word."""
        decoder = Decoder(LEXICON, WordLoop(LEXICON.words), TOPOLOGY)
        rng = np.random.default_rng(3)
        scores = [rng.normal(0, 0.3, (40, TOPOLOGY.n_states)).astype(np.float32) for _ in range(4)]
        for one in scores:
            one[:, 3:6] += 1.0  # the states of "a"
        tuned = tune(decoder, scores, [("A",)] * 4, CONFIG, with_lm_scale=False)
        assert set(tuned.weights) == {"word_penalty", "silence_log_prob"}
        best = decoder.with_config(**tuned.weights)
        errors = sum(abs(len(best.decode(one).text) - 1) for one in scores)
        assert tuned.errors == errors < max(cost for _, cost in tuned.trials)

    def test_without_a_dev_set_the_weights_are_sensible(self) -> None:
        bigram = NGram.estimate([("A", "B")], 2, vocabulary=LEXICON.words)
        decoder = Decoder(LEXICON, bigram, TOPOLOGY)
        tuned = tune(decoder, [], [], TuningConfig(), with_lm_scale=True)
        assert tuned.weights == {"word_penalty": 0.0, "silence_log_prob": 0.0, "lm_scale": 8.0}
        assert (tuned.errors, tuned.trials) == (0, ())
        given = TuningConfig(word_penalties=(-20.0,), lm_scales=(5.0, 9.0, 12.0))
        weights = tune(decoder, [], [], given, with_lm_scale=True).weights
        assert weights == {"word_penalty": -20.0, "silence_log_prob": 0.0, "lm_scale": 9.0}
