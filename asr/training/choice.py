"""Options of hybrids chosen by the word errors on the dev set, as the thesis chose σ on the set Oct'89."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from acoustic.emissions.aligned_frames import AlignedFrames
from acoustic.emissions.hybrid import train_emissions
from asr.config import ExperimentConfig, TuningConfig
from asr.decoding.tuning import Tuned, Weights, coordinate_search, tune
from asr.progress import progress_bar
from decoder.decoder import Decoder
from foundation.arrays import Singles
from foundation.threads import parallel_map

_MAX_ROUNDS = 1
# Every value has a penalty of its own, since widths differ in how steep scores are.
_PENALTIES = TuningConfig(word_penalties=(0.0, -16.0, -32.0, -50.0, -75.0), silence_log_probs=(0.0,))


@dataclass(frozen=True)
class DevSpeech:
    """What a model is tried on.

    Attributes
    ----------
    frames : frames (T, D) that discriminants see, of each utterance
    words : words of each utterance
    decoder : decoder with a grammar without probabilities and neutral weights
    """

    frames: Sequence[Singles]
    words: Sequence[Sequence[str]]
    decoder: Decoder

    def errors(self, emissions: Any) -> int:
        """Return the word errors with the best of a few word penalties."""
        scores = list(parallel_map(emissions.log_likelihoods, self.frames))
        return tune(self.decoder, scores, self.words, _PENALTIES, with_lm_scale=False).errors


def chosen_config(config: ExperimentConfig, values: Weights) -> ExperimentConfig:
    """Return a configuration with the options of these full names set to values."""
    for key, value in values.items():
        section, _, name = key.partition(".")
        part = getattr(config, section)
        config = replace(config, **{section: replace(part, **{name: type(getattr(part, name))(value)})})
    return config


def choose(way: str, data: AlignedFrames, dev: DevSpeech, config: ExperimentConfig) -> Tuned:
    """Return the options with the fewest word errors on dev, found along one option after the other.

    Parameters
    ----------
    way : way of training, see `acoustic.emissions.hybrid.train_emissions`
    data : training frames, so few that many models can be trained
    dev : what models are tried on
    config : configuration that holds the values to try and all other options
    """
    axes = config.choice.values(way)
    start = {key: _nearest(values, option(config, key)) for key, values in axes.items()}

    def errors(values: Weights) -> int:
        tried = chosen_config(config, values)
        said = " ".join(f"{value:g}" for value in values.values())
        watch = partial(progress_bar, label=f"choosing, {way} ({said})")
        return dev.errors(train_emissions(way, data, tried.hybrid, tried.of_way(way), watch=watch))

    return coordinate_search(errors, axes, start, _MAX_ROUNDS)


def _nearest(values: Sequence[float], wanted: float) -> float:
    return min(values, key=lambda value: abs(value - wanted))


def option(config: ExperimentConfig, key: str) -> Any:
    """Return the value of an option by its full name."""
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)
