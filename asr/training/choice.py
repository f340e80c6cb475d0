"""Options of hybrids chosen on the dev set, as the thesis chose σ on the set Oct'89.

A value is tried by training the pairs of a few classes, drawn at random, on all their frames. What is
minimised is the mean of −log P(right class | frame) over the dev frames of these classes. This costs a small
part of training and decoding with all pairs, and tens of thousands of frames tell values apart better than a
few hundred words do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from acoustic.emissions.aligned_frames import AlignedFrames
from acoustic.ways import SIGMAS, WAYS, train_emissions
from asr.config import ExperimentConfig
from asr.progress import progress_bar
from foundation.arrays import Integers, Ints, Longs, Singles
from foundation.coordinate_search import Tuned, Weights, coordinate_search, nearest

N_CLASSES = 16  # classes whose pairs are trained to try a value; docs/adr/0009-options-chosen-on-dev.md

_MAX_ROUNDS = 1  # by feel


@dataclass(frozen=True)
class DevFrames:
    """The frames that values are tried on.

    Attributes
    ----------
    x : (M, D) frames that discriminants see
    states : (M,) state of each frame, −1 where unknown
    """

    x: Singles
    states: Integers


def choose(way: str, data: AlignedFrames, dev: DevFrames, config: ExperimentConfig) -> Tuned:
    """Return the values that suit the dev frames best, found along one option after the other.

    Parameters
    ----------
    way : way of training, see `acoustic.ways.train_emissions`
    data : training frames
    dev : frames that values are tried on
    config : configuration that names the options to choose and holds all others

    Returns
    -------
    The chosen values by the full names of their options. In place of word errors it holds the mean of −log
    P(right class | frame).
    """
    axes = values_of(way, config)
    start = {key: nearest(values, option(config, key)) for key, values in axes.items()}
    classes = _drawn_classes(data.n_classes, N_CLASSES, config.hybrid.seed)
    few = with_classes(data, classes)
    known = dev.states >= 0
    codes = few.class_of_state[dev.states[known]]
    x, codes = dev.x[known][codes >= 0], codes[codes >= 0]
    rows = np.arange(len(codes))

    def cost(values: Weights) -> float:
        tried = chosen_config(config, values)
        said = " ".join(f"{value:g}" for value in values.values())
        watch = partial(progress_bar, label=f"choosing, {way} ({said})")
        model: Any = train_emissions(way, few, tried.hybrid, tried.of_way(way), watch=watch)
        return -float(np.mean(model.log_posteriors(x)[rows, codes]))

    return coordinate_search(cost, axes, start, _MAX_ROUNDS)


def values_of(way: str, config: ExperimentConfig) -> dict[str, Sequence[float]]:
    """Return the values that are tried for a way of training, by the full names of their options."""
    if way not in WAYS:
        return {}
    own = {f"{WAYS[way].section}.{name}": values for name, values in WAYS[way].values.items()}
    known = {"hybrid.sigma": SIGMAS, **own}
    return {name: known[name] for name in config.chosen_on_dev if name in known}


def chosen_config(config: ExperimentConfig, values: Weights) -> ExperimentConfig:
    """Return a configuration with the options of these full names set to values."""
    for key, value in values.items():
        section, _, name = key.partition(".")
        part = getattr(config, section)
        changed = replace(part, **{name: type(getattr(part, name))(value)})
        config = replace(config, **{section: changed})
    return config


def said_values(values: Weights) -> str:
    """Return values as a person reads them, ``sigma 5, n_centers 100``."""
    return ", ".join(f"{key.partition('.')[2]} {value:g}" for key, value in values.items())


def option(config: ExperimentConfig, key: str) -> Any:
    """Return the value of an option by its full name."""
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)


def with_classes(data: AlignedFrames, classes: Ints | Longs) -> AlignedFrames:
    """Return the frames of some classes alone, which are numbered anew; other states have no class."""
    code_of_class = np.full(data.n_classes + 1, -1, dtype=np.int32)  # the last is that of no class
    code_of_class[classes] = np.arange(len(classes))
    codes = code_of_class[data.codes]
    own = codes >= 0
    return AlignedFrames(
        data.x[own], codes[own], data.folds[own], data.counts[classes], code_of_class[data.class_of_state]
    )


def _drawn_classes(n_classes: int, n_drawn: int, seed: int) -> Longs:
    drawn = np.random.default_rng(seed).permutation(n_classes)[:n_drawn]
    return np.sort(drawn)
