"""CPU seconds of training and of scoring machines of pairs on fixed synthetic frames, as JSON.

It is run by `compare_checkouts` with each of two checkouts. Where names of what it measures have changed
between them, an adapter for each is needed, and the first whose names can be imported is taken. Beside the
seconds stands a hash of the outputs: the same bytes from both checkouts, or not.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

N_CLASSES, N_FRAMES, N_FEATURES = 32, 600, 40  # K, of each class, D
N_CENTERS = {"pair": 100, "pool": 150}
N_SCORED = 20_000
SIGMA, EPSILON, RIDGE = 5.0, 1e-3, 1e-5

Array = Any
Machines = tuple[Any, Array]  # and their curves


class Frames(NamedTuple):
    """Frames of K classes (M, D), their classes and halves (M,), and the classes' centres."""

    x: Array
    codes: Array
    folds: Array
    centers: list[Array]

    @property
    def counts(self) -> Array:
        """Return how many frames each class has (K,)."""
        return np.bincount(self.codes).astype(np.float64)


class Adapter(NamedTuple):
    """What a checkout offers.

    Attributes
    ----------
    train_pairs : training by forward selection, with λ re-estimated (OROLS) or without (NPD)
    train_pools : training on shared centres, with squared hinge and logistic curves of held-out outputs
    score_pairs, score_pools : log posteriors (T, K) of frames (T, D)
    """

    train_pairs: Callable[[Frames, bool], Machines]
    train_pools: Callable[[Frames], Machines]
    score_pairs: Callable[[Machines, Array], Array]
    score_pools: Callable[[Machines, Array], Array]


def drawn_frames(n_classes: int, n_each: int, rng: np.random.Generator) -> Frames:
    """Return frames that overlap as those of states do."""
    means = rng.normal(0.0, 1.0, (n_classes, N_FEATURES))
    x = np.repeat(means, n_each, axis=0) + rng.normal(size=(n_classes * n_each, N_FEATURES))
    x = x.astype(np.float32)
    codes = np.repeat(np.arange(n_classes, dtype=np.int32), n_each)
    folds = (np.arange(len(x)) % 2).astype(np.int32)
    n_centers = min(N_CENTERS["pool"], n_each)
    centers = [x[codes == k][:n_centers] for k in range(n_classes)]
    return Frames(x, codes, folds, centers)


def of_ways_of_training() -> Adapter:
    """Return the adapter of ways of training that return machines of one protocol."""
    from acoustic.pairs import train_forward, train_pools
    from acoustic.pairs.calibration import Calibration
    from acoustic.pairs.class_frames import LabelledFrames
    from acoustic.pairs.train_forward import PairForwardConfig

    def labelled(frames: Frames) -> Any:
        return LabelledFrames(frames.x, frames.codes, frames.folds, frames.counts)

    def train_pairs(frames: Frames, is_regularized: bool) -> Machines:
        return train_forward.fit(
            labelled(frames),
            SIGMA,
            PairForwardConfig(N_CENTERS["pair"], EPSILON),
            Calibration("fitted", "gaussian"),
            regularize=is_regularized,
            n_workers=1,
        )

    def train_on_pools(frames: Frames) -> Machines:
        rule = Calibration("held-out", "logistic")
        return train_pools.fit_pools(
            labelled(frames), frames.centers, SIGMA, RIDGE, rule, hinge_steps=1, n_workers=1
        )

    def score(machines: Machines, x: Array) -> Array:
        return machines[0].log_posteriors(machines[1], x, 1)

    return Adapter(train_pairs, train_on_pools, score, score)


ADAPTERS = (of_ways_of_training,)


def found_adapter() -> Adapter:
    """Return the adapter of the checkout that Python imports from."""
    missing = []
    for adapter in ADAPTERS:
        try:
            return adapter()
        except ImportError as error:
            missing.append(f"{adapter.__name__}: {error}")
    raise SystemExit(f"no adapter fits this checkout; add one to {__file__}: {'; '.join(missing)}")


def measure(adapter: Adapter, frames: Frames, scored: Array) -> dict[str, dict[str, Any]]:
    """Return the CPU seconds of each task and a hash of its outputs."""
    found: dict[str, dict[str, Any]] = {}

    def timed(task: str, function: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = function()
        found[task] = {"seconds": time.process_time() - start}
        return result

    npd = timed("training pairs, NPD", lambda: adapter.train_pairs(frames, False))
    orols = timed("training pairs, OROLS", lambda: adapter.train_pairs(frames, True))
    pools = timed("training pools", lambda: adapter.train_pools(frames))
    scores = {
        "scoring pairs": timed("scoring pairs", lambda: adapter.score_pairs(npd, scored)),
        "scoring pools": timed("scoring pools", lambda: adapter.score_pools(pools, scored)),
    }
    # What was trained is the same if it scores the same.
    scores["training pairs, NPD"] = scores["scoring pairs"]
    scores["training pairs, OROLS"] = adapter.score_pairs(orols, scored)
    scores["training pools"] = scores["scoring pools"]
    for task, outputs in scores.items():
        found[task]["digest"] = hashlib.sha256(np.ascontiguousarray(outputs).tobytes()).hexdigest()
    return found


def main() -> None:
    """Measure once everything is compiled."""
    adapter = found_adapter()
    few = drawn_frames(3, 30, np.random.default_rng(1))
    measure(adapter, few, few.x)
    rng = np.random.default_rng(0)
    frames = drawn_frames(N_CLASSES, N_FRAMES, rng)
    scored = frames.x[rng.choice(len(frames.x), N_SCORED)]
    print(json.dumps(measure(adapter, frames, scored)))


if __name__ == "__main__":
    main()
