"""Decoder weights tuned on the dev set: one weight after the other, over the same cached scores."""

from __future__ import annotations

from collections.abc import Sequence

from asr.config import TuningConfig
from asr.coordinate_search import Tuned, Weights, coordinate_search, nearest
from asr.progress import progress_bar
from asr.scoring.edit_distance import align_words, count_errors
from decoder.decoder import Decoder
from foundation.arrays import Singles
from foundation.threads import parallel_map

_START = {
    "lm_scale": 8.0,
    "word_penalty": 0.0,
    "silence_log_prob": 0.0,
}  # the values next to these are tried first
_MAX_ROUNDS = 2


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
    start = {name: nearest(values, _START[name]) for name, values in axes.items()}
    if not scores:
        return Tuned(start, 0, ())
    return coordinate_search(word_errors, axes, start, _MAX_ROUNDS)
