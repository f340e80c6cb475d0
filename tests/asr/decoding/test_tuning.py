"""The search for decoder weights."""

import numpy as np

from acoustic.hmm.topology import Topology
from asr.config import TuningConfig
from asr.decoding.tuning import tune
from decoder.decoder import Decoder
from decoder.grammars.ngram import NGram
from decoder.grammars.word_loop import WordLoop
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"A": [("a",)], "B": [("b",)]})
TOPOLOGY = Topology.monophones(LEXICON.phones)
CONFIG = TuningConfig(word_penalties=(0.0, -5.0, -30.0), lm_scales=(2.0, 9.0), silence_log_probs=(0.0, -3.0))


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
