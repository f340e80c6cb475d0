"""The search for decoder weights."""

from itertools import product

import numpy as np

from acoustic.hmm.topology import Topology
from asr.config import TuningConfig
from asr.scoring.edit_distance import align_words, count_errors
from asr.training.tuning import tune
from decoder.decoder import Decoder
from decoder.grammars.grammar import WordLoop
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"A": [("a",)], "B": [("b",)]})
TOPOLOGY = Topology.monophones(LEXICON.phones)
CONFIG = TuningConfig(word_penalties=(0.0, -5.0, -30.0), lm_scales=(2.0, 9.0), silence_log_probs=(0.0, -3.0))
SENTENCES = [("A", "B", "A"), ("A", "B"), ("B", "A")]
_TWO_SOUNDS = Decoder(LEXICON, NGram.estimate(SENTENCES, 2, vocabulary=LEXICON.words), TOPOLOGY)


def _scores_of_two_sounds() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    scores = [rng.normal(0, 1.0, (36, TOPOLOGY.n_states)) for _ in SENTENCES]
    for one, words in zip(scores, SENTENCES, strict=True):
        for part, word in zip(np.array_split(one, len(words)), words, strict=True):
            part[:, 3:6] += 1.0 if word == "A" else 0.5
            part[:, 6:9] += 0.5 if word == "A" else 1.0
    return scores


SCORES = _scores_of_two_sounds()


def _errors(weights: dict[str, float]) -> int:
    found = (_TWO_SOUNDS.with_config(**weights).decode(one).text for one in SCORES)
    return sum(count_errors(align_words(*pair)).errors for pair in zip(SENTENCES, found, strict=True))


def _with_penalties(*values: float) -> TuningConfig:
    return TuningConfig(word_penalties=values, lm_scales=(4.0,), silence_log_probs=(-3.0,))


class TestTune:
    def test_silly_insertions_are_penalised_away(self) -> None:
        """Scores that favour changing the word often: only a penalty keeps one word one word."""
        decoder = Decoder(LEXICON, WordLoop(LEXICON.words), TOPOLOGY)
        rng = np.random.default_rng(3)
        scores = [rng.normal(0, 0.3, (40, TOPOLOGY.n_states)).astype(np.float32) for _ in range(4)]
        for one in scores:
            one[:, 3:6] += 1.0  # the states of "a"
        tuned, decoded = tune(decoder, scores, [("A",)] * 4, CONFIG, with_lm_scale=False)
        assert set(tuned.weights) == {"word_penalty", "silence_log_prob"}
        best = decoder.with_config(**tuned.weights)
        assert list(decoded) == [best.decode(one) for one in scores]
        errors = sum(abs(len(hypothesis.text) - 1) for hypothesis in decoded)
        assert tuned.errors == errors < sum(abs(len(decoder.decode(one).text) - 1) for one in scores)

    def test_whole_decodings_find_no_better_weights(self) -> None:
        """Two phones that sound alike: the grammar tells the words, and its scale matters."""
        tuned, _ = tune(_TWO_SOUNDS, SCORES, SENTENCES, CONFIG, with_lm_scale=True)
        everything = product(CONFIG.lm_scales, CONFIG.word_penalties, CONFIG.silence_log_probs)
        names = ("lm_scale", "word_penalty", "silence_log_prob")
        by_decoding = {values: _errors(dict(zip(names, values, strict=True))) for values in everything}
        assert tuned.errors == by_decoding[tuple(tuned.weights[name] for name in names)]
        assert tuned.errors == min(by_decoding.values()) < max(by_decoding.values())

    def test_lists_grow_where_the_best_is_at_their_edge(self) -> None:
        """Of penalties that are all too mild the last is the best, and one beyond it is better."""
        tuned, decoded = tune(_TWO_SOUNDS, SCORES, SENTENCES, _with_penalties(10.0, 5.0), with_lm_scale=True)
        assert tuned.weights == {"lm_scale": 4.0, "word_penalty": 0.0, "silence_log_prob": -3.0}
        assert tuned.errors == _errors(tuned.weights) < _errors({**tuned.weights, "word_penalty": 5.0})
        assert list(decoded) == [_TWO_SOUNDS.with_config(**tuned.weights).decode(one) for one in SCORES]
        assert [w["word_penalty"] for w, _ in tuned.trials] == [5.0, 10.0, 0.0]
        alone = tune(_TWO_SOUNDS, SCORES, SENTENCES, _with_penalties(5.0), with_lm_scale=True).found
        assert alone.weights["word_penalty"] == 5.0

    def test_without_a_dev_set_the_weights_are_sensible(self) -> None:
        bigram = NGram.estimate([("A", "B")], 2, vocabulary=LEXICON.words)
        decoder = Decoder(LEXICON, bigram, TOPOLOGY)
        tuned, decoded = tune(decoder, [], [], TuningConfig(), with_lm_scale=True)
        assert not decoded
        assert tuned.weights == {"word_penalty": 0.0, "silence_log_prob": 0.0, "lm_scale": 8.0}
        assert (tuned.errors, tuned.trials) == (0, ())
        given = TuningConfig(word_penalties=(-20.0,), lm_scales=(5.0, 9.0, 12.0))
        weights = tune(decoder, [], [], given, with_lm_scale=True).found.weights
        assert weights == {"word_penalty": -20.0, "silence_log_prob": 0.0, "lm_scale": 9.0}
