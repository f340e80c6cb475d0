"""What `rm1_sized` measures, each in a process of its own, so that peaks of memory are its own.

Axes: M frames, P pairs.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import Seconds, timed
from rm1_frames import N_STATES, NEW, generated_frames
from safetensors.numpy import load_file, save_file
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import THESIS, HybridConfig
from acoustic.pairs import train_pools
from acoustic.pairs.class_frames import LabelledFrames
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import PairForwardConfig, fit_pairs
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from foundation.arrays import Floats, Ints, Reals, Singles, Tensors, half_precision
from foundation.threads import default_workers

CONFIG = PairForwardConfig()
SVM_PAIRS = 24  # of the sample
_SVM_CACHE_MB = 1000.0  # with 100, as in our own training, libsvm takes up to 2.7 times as long
_N_SCORED = 2000  # frames
_N_SCORED_SVM = 200
_NEW_EACH = 20  # new frames of a state on which errors of all pairs are counted
_NEW_OF_SAMPLE = 500  # the same of the pairs of the sample
_CURVES = "curves"


def drawn_pairs(n_pairs: int, seed: int = 0) -> Ints:
    """Return random pairs of states (P, 2), sorted; all pairs if there are no more."""
    pairs = all_pairs(N_STATES)
    if n_pairs >= len(pairs):
        return pairs
    return pairs[np.sort(np.random.default_rng(seed).choice(len(pairs), n_pairs, replace=False))]


def train(n_pairs: int, n_each: int, model: Path | None = None) -> dict[str, Any]:
    """Return the cost of training some pairs; keep the machines in a file, if one is given."""
    _fitted(generated_frames(30, 3), all_pairs(3))  # compiles
    (frames, pairs), made = timed(lambda: (generated_frames(n_each), drawn_pairs(n_pairs)))
    before = peak_mb()
    (machines, curves), seconds = timed(lambda: _fitted(frames, pairs))
    found = {
        "pairs": len(pairs),
        "frames_a_state": n_each,
        "frames": len(frames.x),
        **_seconds(seconds),
        "generating_cpu_s": made.cpu,
        "workers": default_workers(),
        "peak_mb": peak_mb(),
        "peak_before_mb": before,
        "centers_a_pair": machines.centers_a_pair,
        "distinct_centers": machines.n_centers,
    }
    if model is not None:
        _save({**machines.tensors(), _CURVES: curves}, model)
        found["file_mb"] = model.stat().st_size / 1e6
    return found


def _save(tensors: Tensors, path: Path) -> None:
    """Write tensors as a model file holds them."""
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, path)


def _fitted(
    frames: LabelledFrames, pairs: Ints, n_workers: int | None = None
) -> tuple[SparseMachines, Floats]:
    """Return machines and curves of pairs as `train_forward.fit` makes them by the preset thesis."""
    return fit_pairs(
        frames.x,
        frames.codes,
        frames.n_classes,
        CONFIG.selection(THESIS.sigma, regularize=False),
        pairs,
        n_workers,
        calibration=THESIS.calibration,
        counts=frames.counts,
        folds=frames.folds,
    )


def train_svms(n_each: int) -> dict[str, Any]:
    """Return the cost of libsvm's machines of a sample of pairs, their scoring and their errors."""
    frames, new = generated_frames(n_each), generated_frames(_NEW_OF_SAMPLE, part=NEW)
    cpu, scoring, support, errors = [], [], [], []
    for pair in drawn_pairs(SVM_PAIRS):
        x, targets = _of_pair(frames, pair)
        machine = SVC(C=SvmConfig().cost, gamma=0.5 / THESIS.sigma**2, cache_size=_SVM_CACHE_MB)
        _, seconds = timed(partial(machine.fit, x, targets))
        cpu.append(seconds.cpu)
        support.append(len(machine.support_))
        some = new.x[:: len(new.x) // _N_SCORED_SVM][:_N_SCORED_SVM].astype(np.float64)
        _, seconds = timed(partial(machine.decision_function, some))
        scoring.append(1e6 * seconds.cpu / len(some))
        held_out, expected = _of_pair(new, pair)
        errors.append(float(np.mean(machine.predict(held_out) != expected)))
    return {
        "pairs": drawn_pairs(SVM_PAIRS).tolist(),
        "frames_a_state": n_each,
        "cpu_s_a_pair": cpu,
        "support_vectors": support,
        "scoring_us": scoring,
        "errors": errors,
        "peak_mb": peak_mb(),
    }


def _of_pair(frames: LabelledFrames, pair: Ints) -> tuple[Floats, Floats]:
    """Return the frames (M, D) of two states and their targets ±1."""
    x = np.concatenate([frames.x[frames.codes == k] for k in pair]).astype(np.float64)
    return x, np.repeat([1.0, -1.0], [np.sum(frames.codes == k) for k in pair])


def score(model: Path) -> dict[str, Any]:
    """Return speed, errors and sizes of machines that `train` kept, in three precisions."""
    machines, curves = _loaded(load_file(model))
    new = generated_frames(_NEW_EACH, part=NEW)
    machines.log_posteriors(curves, new.x[:1], 1)  # compiles, and arranges the weights
    found: dict[str, Any] = {}
    for n_workers in (1, default_workers()):
        x = np.resize(new.x, (_N_SCORED, new.x.shape[1]))
        _, seconds = timed(partial(machines.log_posteriors, curves, x, n_workers))
        found[f"scoring_{n_workers}"] = {
            "cpu_us_a_frame": 1e6 * seconds.cpu / len(x),
            "wall_us_a_frame": 1e6 * seconds.wall / len(x),
        }
    posteriors = machines.log_posteriors(curves, new.x)
    best = posteriors.argmax(axis=1)
    errors = pair_errors(machines.outputs(new.x), machines.pairs, new.codes)
    found |= {
        "peak_mb": peak_mb(),
        "error": float(errors.mean()),
        "error_of_sample": float(np.mean(sample_errors(machines))),
        "frames_right": float(np.mean(best == new.codes)),
        "sizes_mb": {"as saved": model.stat().st_size / 1e6},
    }
    for name, tensors in stored_forms(load_file(model)).items():
        path = model.with_name(f"{name}.safetensors")
        _save(tensors, path)
        found["sizes_mb"][name] = path.stat().st_size / 1e6
        path.unlink()
        others, other_curves = _loaded(tensors)
        rounded = others.log_posteriors(other_curves, new.x)
        found[f"other_best_{name}"] = float(np.mean(rounded.argmax(axis=1) != best))
    return found


def stored_forms(tensors: Tensors) -> dict[str, Tensors]:
    """Return a model's tensors in single precision, and with centres and weights in half precision."""
    small = {
        "centers": tensors["centers"],
        "pairs": tensors["pairs"],
        "slots": tensors["slots"],
        "weights": tensors["weights"].astype(np.float32),
        "biases": tensors["biases"].astype(np.float32),
        _CURVES: tensors[_CURVES].astype(np.float32),
    }
    halves = {name: _half(tensors[name]) for name in ("centers", "weights")}
    return {"single": small, "half": small | halves}


def _half(numbers: Reals) -> Any:
    """Return numbers in half precision; in single where some are too large for it."""
    rounded = half_precision(numbers)
    return rounded.astype(np.float16) if np.abs(rounded).max() < np.finfo(np.float16).max else rounded


def _loaded(tensors: Tensors) -> tuple[SparseMachines, Floats]:
    """Return machines and curves of tensors in any precision."""
    n = len(tensors["centers"])
    whole = {
        "sigmas": np.full(n, THESIS.sigma),
        "center_rows": np.zeros(n, dtype=np.int32),
        **tensors,
        "centers": tensors["centers"].astype(np.float32),
        "weights": tensors["weights"].astype(np.float64),
        "biases": tensors["biases"].astype(np.float64),
    }
    return SparseMachines.from_tensors(whole, THESIS.sigma), tensors[_CURVES].astype(np.float64)


def pair_errors(outputs: Singles, pairs: Ints, codes: Ints) -> Floats:
    """Return the share of wrong frames of each pair (P,) among the frames of its two classes.

    Parameters
    ----------
    outputs : (T, P), above 0 for the first class of a pair
    codes : (T,) class of each frame
    """
    errors = np.empty(len(pairs))
    for p, (i, j) in enumerate(pairs):
        wrong = np.where(codes == i, outputs[:, p] <= 0, outputs[:, p] > 0)
        errors[p] = wrong[(codes == i) | (codes == j)].mean()
    return errors


def sample_errors(machines: SparseMachines) -> list[float]:
    """Return the error of each pair of libsvm's sample on the same new frames."""
    new, errors = generated_frames(_NEW_OF_SAMPLE, part=NEW), []
    for pair in drawn_pairs(SVM_PAIRS):
        (p,) = np.flatnonzero((machines.pairs == pair).all(axis=1))
        used = machines.slots[p] >= 0
        x, targets = _of_pair(new, pair)
        values = machines.kernel.block(x, machines.centers[machines.slots[p][used]])
        outputs = values @ machines.weights[p][used] + machines.biases[p]
        errors.append(float(np.mean(np.sign(outputs) != targets)))
    return errors


def train_far(n_each: int) -> dict[str, Any]:
    """Return the cost of pairs of so many frames that their basis fits into no cache, on one thread."""
    _fitted(generated_frames(30, 3), all_pairs(3), 1)
    frames = generated_frames(n_each, 4)
    pairs = np.array([[0, 3], [1, 3], [2, 3]], dtype=np.int32)
    _, seconds = timed(lambda: _fitted(frames, pairs, 1))
    return {"pairs": len(pairs), "frames_a_state": n_each, **_seconds(seconds), "peak_mb": peak_mb()}


def train_rivals(n_each: int) -> dict[str, Any]:
    """Return the cost of the recommended system's machines: rivals alone, a state's pairs share centres."""
    frames, few = generated_frames(n_each), generated_frames(50, 21)
    own, calibration = PoolsConfig(), HybridConfig().calibration
    train_pools.fit(few, THESIS.sigma, own, calibration)  # compiles
    (machines, _), seconds = timed(lambda: train_pools.fit(frames, THESIS.sigma, own, calibration))
    tensors: Mapping[str, Any] = machines.tensors()
    of_pairs = ("pairs", "weights", "biases")
    return {
        "pairs": machines.n_pairs,
        "frames_a_state": n_each,
        **_seconds(seconds),
        "peak_mb": peak_mb(),
        "bytes_a_pair": sum(tensors[name].nbytes for name in of_pairs) / machines.n_pairs,
        "bytes_a_state": sum(t.nbytes for name, t in tensors.items() if name not in of_pairs) / N_STATES,
    }


def peak_mb() -> float:
    """Return the largest memory (RSS) of this process so far, in MB (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _seconds(seconds: Seconds) -> dict[str, float]:
    return {"cpu_s": seconds.cpu, "wall_s": seconds.wall}
