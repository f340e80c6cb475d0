"""Decoder weights tuned on the dev set: one weight after the other, on lattices of a few decodings.

Dev is decoded into lattices with weights in the middle of what is tried, and the lattices are searched with
all other weights. Far from the weights a lattice was made with it says too little: what is best there starts
words at other times, or is not in it. So dev is decoded again with the weights that look best, and from then
on each trial uses the lattices made nearest to it. It ends when no weights promise fewer errors than those
that were decoded with have made; the weights that are returned have been decoded with.

Where the best value is the first or last of its list, values beyond it are tried, too, in the list's own
steps, until the best is inside, or as far out as the list is wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from asr.config import TuningConfig
from asr.corpora.speech_data import BLOCK_UTTERANCES
from asr.progress import progress_bar
from asr.scoring.edit_distance import align_words, count_errors
from decoder.decoder import Decoder, DecoderConfig, Hypothesis
from decoder.search.compiled import Weights as LatticeWeights
from decoder.search.lattice import WeighedLattice
from foundation.arrays import Singles
from foundation.blocks import block_map
from foundation.coordinate_search import Tuned, Weights, coordinate_search, nearest, widened

LATTICE_BEAM = 100.0  # word ends this much worse than the best path are not in the lattices, in nats; by feel
MAX_EDGES_PER_FRAME = 50  # of a lattice on average; 1 as a rule. An hour of 50 takes half a GB; by feel
_UNTUNED = {"lm_scale": 8.0, "word_penalty": 0.0, "silence_log_prob": 0.0}  # taken without a dev set
_START = {"lm_scale": 8.0, "word_penalty": -16.0, "silence_log_prob": 0.0}
_START_WITHOUT_SCALE = {"word_penalty": -32.0, "silence_log_prob": 0.0}  # nothing else costs a word
_MAX_ROUNDS = 2  # of the search on one set of lattices; by feel
_MAX_DECODINGS = 3  # docs/results/an4.md, tuning: as good as whole decodings of dev for each trial
# Share of the errors that weights must promise to save before dev is decoded with them; by feel.
_WORTHWHILE = 0.02

Words = tuple[str, ...]


class TunedDecoding(NamedTuple):
    """The best weights and what was decoded with them."""

    found: Tuned
    hypotheses: Sequence[Hypothesis]


def tune(
    decoder: Decoder,
    scores: Sequence[Singles],
    references: Sequence[Words],
    config: TuningConfig,
    *,
    with_lm_scale: bool,
    label: str = "tuning",
) -> TunedDecoding:
    """Return the weights with the fewest word errors; without a dev set, those listed next to neutral ones.

    The word errors are those of the hypotheses; of the trials they are those found on lattices, where dev was
    not decoded with their weights.

    Parameters
    ----------
    decoder : decoder with neutral weights
    scores : for each dev utterance the emission scores (T, S)
    references : for each dev utterance its words
    config : values to try
    with_lm_scale : False where the grammar has no probabilities to scale
    """
    axes: dict[str, Sequence[float]] = {"word_penalty": config.word_penalties}
    if with_lm_scale:
        axes = {"lm_scale": config.lm_scales, **axes}
    axes["silence_log_prob"] = config.silence_log_probs
    if not scores:
        return TunedDecoding(Tuned(_nearest(axes, _UNTUNED), 0, ()), ())
    axes = {name: _in_order(values) for name, values in axes.items()}
    wider = {name: _valid(name, values) for name, values in axes.items()}
    weights = _nearest(axes, _START if with_lm_scale else _START_WITHOUT_SCALE)
    decodings: list[_Decoding] = []
    trials: dict[tuple[float, ...], tuple[Weights, float]] = {}

    def word_errors(weights: Weights) -> float:
        return min(decodings, key=lambda d: _distance(wider, weights, d.weights)).errors_with(weights)

    while True:
        decodings.append(_decoded(decoder.with_config(**weights), weights, scores, references, label))
        best = min(decodings, key=lambda d: d.errors)
        found = coordinate_search(word_errors, axes, best.weights, _MAX_ROUNDS, wider)
        trials |= {tuple(trial[0].values()): trial for trial in found.trials}
        if len(decodings) == _MAX_DECODINGS or found.errors >= (1 - _WORTHWHILE) * best.errors:
            tuned = Tuned(best.weights, best.errors, tuple(trials.values()))
            return TunedDecoding(tuned, best.hypotheses)
        weights = found.weights


@dataclass(frozen=True)
class _Decoding:
    """The dev set decoded with some weights: words, and lattices for weights next to these."""

    weights: Weights
    references: Sequence[Words]
    hypotheses: Sequence[Hypothesis]
    lattices: Sequence[WeighedLattice]

    @cached_property
    def errors(self) -> int:
        """The word errors of what was decoded."""
        return _errors(self.references, (h.text for h in self.hypotheses))

    def errors_with(self, weights: Weights) -> int:
        """Return the word errors with some weights, as the lattices know them."""
        if weights == self.weights:
            return self.errors
        config = DecoderConfig()
        others = (weights.get(name, getattr(config, name)) for name in LatticeWeights._fields)
        wanted = LatticeWeights(*map(float, others))
        return _errors(self.references, (lattice.best_words(wanted) for lattice in self.lattices))


def _decoded(
    decoder: Decoder, weights: Weights, scores: Sequence[Singles], references: Sequence[Words], label: str
) -> _Decoding:
    found = block_map(
        lambda n: decoder.decode_with_lattice(scores[n], LATTICE_BEAM, MAX_EDGES_PER_FRAME),
        range(len(scores)),
        BLOCK_UTTERANCES,
        label="lattices",
    )
    tried = " ".join(f"{value:g}" for value in weights.values())
    hypotheses, lattices = zip(*progress_bar(found, len(scores), f"{label} ({tried})"), strict=True)
    return _Decoding(weights, references, hypotheses, lattices)


def _errors(references: Sequence[Words], found: Iterable[Words]) -> int:
    return sum(count_errors(align_words(*pair)).errors for pair in zip(references, found, strict=True))


def _in_order(values: Sequence[float]) -> Sequence[float]:
    """Return the values without repetitions, ascending or descending as the first and the last are."""
    return sorted(set(values), reverse=values[0] > values[-1])


def _valid(name: str, values: Sequence[float]) -> Sequence[float]:
    """Return a longer list of values; no grammar gets a scale of 0, or one that no decoder takes."""
    return [v for v in widened(values) if v in values or name != "lm_scale" or 0 < v <= max(*values, 1000.0)]


def _nearest(axes: Mapping[str, Sequence[float]], wanted: Mapping[str, float]) -> Weights:
    return {name: nearest(values, wanted[name]) for name, values in axes.items()}


def _distance(axes: Mapping[str, Sequence[float]], one: Weights, other: Weights) -> int:
    """Return how many steps along the lists of values lie between weights."""
    places = {name: sorted(values).index for name, values in axes.items()}
    return sum(abs(place(one[name]) - place(other[name])) for name, place in places.items())
