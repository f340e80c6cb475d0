"""Generated frames and models of given sizes, to time what training and decoding will do with real ones.

The means of classes differ much in a few directions and little in the others, as those of states do, so that
a class has some near neighbours.

Axes: T frames, M training frames, D features, P pairs, K classes, C centres.
"""

from __future__ import annotations

import numpy as np

from acoustic.emissions.emission_model import StatePriors
from acoustic.emissions.one_vs_rest import OneVsRestModel
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import PooledMachines, SparseMachines
from acoustic.pairs.rivals import Prototypes, RivalMachines
from foundation.arrays import Floats, Ints, Longs, Singles

_WIDEST, _DECAY = 1.5, 0.9  # deviation of the means in the first direction, and its share in each next one
_DEVIATION = 0.85  # of the frames of a class, in each direction; σ is 5
_N_PROTOTYPES = 8
_RUN = 7  # frames of one class after the other, as of a state


def class_means(n_classes: int, n_features: int) -> Floats:
    """Return the means (K, D) of classes."""
    spread = _WIDEST * _DECAY ** np.arange(n_features)
    return np.asarray(np.random.default_rng(0).normal(size=(n_classes, n_features)) * spread)


def frames_of(means: Floats, codes: Ints | Longs) -> Singles:
    """Return frames (M, D) of the classes with these codes (M,)."""
    noise = np.random.default_rng(1).standard_normal((len(codes), means.shape[1]), dtype=np.float32)
    return means.astype(np.float32)[codes] + np.float32(_DEVIATION) * noise


def labelled_frames(counts: Ints | Longs, n_features: int) -> LabelledFrames:
    """Return so many frames (K,) of each class, in two folds."""
    codes = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    x = frames_of(class_means(len(counts), n_features), codes)
    return LabelledFrames(x, codes, (np.arange(len(x)) % 2).astype(np.int32), counts.astype(np.float64))


def speech_like_frames(n_frames: int, n_classes: int, n_features: int) -> Singles:
    """Return frames (T, D) of random classes, some of one class after the other."""
    runs = np.random.default_rng(2).integers(n_classes, size=-(-n_frames // _RUN))
    return frames_of(class_means(n_classes, n_features), np.repeat(runs, _RUN)[:n_frames])


def equal_priors(n_classes: int, prior_scale: float, floor: float | None) -> StatePriors:
    """Return the priors of as many states as classes."""
    states = np.arange(n_classes, dtype=np.int32)
    return StatePriors(states, np.full(n_classes, -np.log(n_classes)), prior_scale, floor)


def curves_of(n: int) -> Floats:
    """Return n logistic curves (n, 3) from outputs to log odds."""
    return np.tile([0.0, 3.0, 0.0], (n, 1))


def rival_machines(
    n_classes: int, n_centers: int, n_features: int, n_pairs: int, sigma: float
) -> RivalMachines:
    """Return machines of the pairs of classes that are nearest to each other."""
    rng, means = np.random.default_rng(3), class_means(n_classes, n_features)
    pairs = all_pairs(n_classes)
    distances = np.square(means[pairs[:, 0]] - means[pairs[:, 1]]).sum(axis=1)
    nearest = pairs[np.sort(np.argsort(distances, kind="stable")[:n_pairs])]
    own = np.repeat(np.arange(n_classes), n_centers)
    around = _DEVIATION * rng.normal(size=(n_classes, _N_PROTOTYPES, n_features)) / 2
    prototypes = Prototypes(
        (means[:, None] + around).astype(np.float32),
        np.full(n_features, np.sqrt(2.0) * _DEVIATION, dtype=np.float32),
        np.full(n_classes, -np.log(n_classes)),
    )
    return RivalMachines(
        sigma,
        nearest,
        frames_of(means, own),
        np.arange(n_classes + 1, dtype=np.int32) * n_centers,
        _weights(2 * n_centers * len(nearest)),
        np.zeros(len(nearest)),
        prototypes,
    )


def pooled_machines(n_classes: int, n_centers: int, n_features: int, sigma: float) -> PooledMachines:
    """Return machines of all pairs on centres that the pairs of a class share."""
    own = np.repeat(np.arange(n_classes), n_centers)
    return PooledMachines(
        sigma,
        frames_of(class_means(n_classes, n_features), own),
        np.arange(n_classes + 1, dtype=np.int32) * n_centers,
        _weights(len(own) * n_classes).reshape(len(own), n_classes),
        np.zeros(n_classes * (n_classes - 1) // 2),
    )


def sparse_machines(
    n_classes: int, a_pair: int, n_distinct: int, n_features: int, sigma: float
) -> SparseMachines:
    """Return machines of all pairs with so many centres each, of so many distinct ones."""
    pairs = all_pairs(n_classes)
    own = np.arange(n_distinct) * n_classes // n_distinct
    starts = np.searchsorted(own, np.arange(n_classes + 1))
    # Half of a pair's centres are of its first class, the others of its second.
    classes = np.repeat(pairs, [a_pair - a_pair // 2, a_pair // 2], axis=1)
    places = np.random.default_rng(4).random(classes.shape) * np.diff(starts)[classes]
    slots = (starts[classes] + places.astype(np.int64)).astype(np.int32)
    return SparseMachines(
        Kernel("gaussian", sigma),
        pairs,
        frames_of(class_means(n_classes, n_features), own),
        np.full(n_distinct, sigma),
        np.arange(n_distinct, dtype=np.int32),
        slots,
        _weights(slots.size).reshape(slots.shape).astype(np.float64),
        np.zeros(len(pairs)),
    )


def one_vs_rest_model(n_classes: int, n_centers: int, n_features: int, sigma: float) -> OneVsRestModel:
    """Return discriminants of each class against all others over one dictionary."""
    own = np.arange(n_centers) % n_classes
    return OneVsRestModel(
        sigma,
        frames_of(class_means(n_classes, n_features), own),
        _weights(n_centers * n_classes).reshape(n_centers, n_classes),
        np.zeros(n_classes),
        curves_of(n_classes),
        equal_priors(n_classes, 1.0, None),
    )


def _weights(n: int) -> Singles:
    return np.random.default_rng(5).standard_normal(n, dtype=np.float32) / np.float32(10)
