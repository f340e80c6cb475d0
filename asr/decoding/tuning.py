"""Decoder weights tuned on the dev set: one weight after the other, over the same cached scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from asr.config import TuningConfig
from asr.progress import progress_bar
from asr.scoring.edit_distance import align_words, count_errors
from decoder.decoder import Decoder
from foundation.arrays import Singles
from foundation.threads import parallel_map

Weights = dict[str, float]
_START = {
    "lm_scale": 8.0,
    "word_penalty": 0.0,
    "silence_log_prob": 0.0,
}  # the values next to these are tried first
_MAX_ROUNDS = 2


@dataclass(frozen=True)
class Tuned:
    """The best weights found, their word errors on dev or other cost, and all that was tried."""

    weights: Weights
    errors: float
    trials: tuple[tuple[Weights, float], ...]


def tune(
    decoder: Decoder,
    scores: Sequence[Singles],
    references: Sequence[Sequence[str]],
    config: TuningConfig,
    *,
    with_lm_scale: bool,
    label: str = "tuning",
) -> Tuned:
    """Return the weights with the fewest word errors; without a dev set, those the search starts from.

    Parameters
    ----------
    decoder : decoder with neutral weights
    scores : for each dev utterance the emission scores (T, S)
    references : for each dev utterance its words
    config : values to try
    with_lm_scale : False where the grammar has no probabilities to scale
    """

    def word_errors(weights: Weights) -> int:
        changed = decoder.with_config(**weights)
        tried = " ".join(f"{value:g}" for value in weights.values())
        decoded = progress_bar(parallel_map(changed.decode, scores), len(scores), f"{label} ({tried})")
        pairs = zip(references, decoded, strict=True)
        return sum(count_errors(align_words(reference, found.text)).errors for reference, found in pairs)

    axes: dict[str, Sequence[float]] = {"word_penalty": config.word_penalties}
    if with_lm_scale:
        axes = {"lm_scale": config.lm_scales, **axes}
    axes["silence_log_prob"] = config.silence_log_probs
    start = {name: min(values, key=lambda v: abs(v - _START[name])) for name, values in axes.items()}
    if not scores:
        return Tuned(start, 0, ())
    return coordinate_search(word_errors, axes, start, _MAX_ROUNDS)


def coordinate_search(
    cost: Callable[[Weights], float], axes: Mapping[str, Sequence[float]], start: Weights, max_rounds: int
) -> Tuned:
    """Return the weights found by minimising along one axis after the other until a round changes nothing.

    >>> axes, start = {"a": (1, 2, 3), "b": (0, 1)}, {"a": 1, "b": 1}
    >>> coordinate_search(lambda w: abs(w["a"] - 2) + abs(w["b"]), axes, start, max_rounds=3).weights
    {'a': 2, 'b': 0}
    """
    tried: dict[tuple[float, ...], float] = {}

    def cached(weights: Weights) -> float:
        key = tuple(weights[name] for name in axes)
        if key not in tried:
            tried[key] = cost(weights)
        return tried[key]

    best = dict(start)
    for _ in range(max_rounds):
        before = dict(best)
        for name, values in axes.items():
            costs = [cached({**best, name: value}) for value in values]
            best[name] = values[middle_of_best(costs)]
        if best == before:
            break
    trials = tuple((dict(zip(axes, key, strict=True)), errors) for key, errors in tried.items())
    return Tuned(best, cached(best), trials)


def middle_of_best(costs: Sequence[float]) -> int:
    """Return the middle of the longest run of the lowest cost, since the edge of a plateau may be chance.

    >>> middle_of_best([5, 3, 3, 3, 4, 3])
    2
    """
    lowest = min(costs)
    runs = [list(run) for is_low, run in groupby(range(len(costs)), lambda i: costs[i] == lowest) if is_low]
    longest = max(runs, key=len)
    return longest[(len(longest) - 1) // 2]
