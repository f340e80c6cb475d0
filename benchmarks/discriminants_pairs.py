"""One discriminant for each pair of many states: ours for all, libsvm and plain loops on a sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from report import median, print_table, timed
from sklearn.svm import SVC

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.machines import SparseMachines
from acoustic.pairs.train_forward import fit_pairs

N_STATES, N_FRAMES, N_DIMS = 100, 2500, 39
SIGMA, N_CENTERS, EPSILON = 5.0, 100, 1e-6
SVC_SAMPLE, LOOP_SAMPLE, BLOCK_SAMPLE = 40, 2, 20
N_SCORED = 4096

CONFIG = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), N_CENTERS, epsilon=EPSILON)
REGULARIZED = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), N_CENTERS, epsilon=EPSILON, regularize=True)
BLOCKED = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), N_CENTERS, epsilon=EPSILON, block_size=16)
# How the centres are selected, threads (None: one a core), and whether all repeats are worth their time.
OURS = {
    "NPD exact, all cores": (CONFIG, None, True),
    "NPD exact, one core": (CONFIG, 1, False),
    "OROLS exact, all cores": (REGULARIZED, None, True),
}

Fit = Callable[[np.ndarray, np.ndarray], Any]


class Frames(NamedTuple):
    """Frames (M, D) float32 and their states (M,)."""

    x: np.ndarray
    codes: np.ndarray


def states(n_states: int, n_frames: int, n_dims: int, seed: int = 0) -> Frames:
    """Return frames of overlapping states: linear rules get 57 % right among 100."""
    rng = np.random.default_rng(seed)
    decay = np.linspace(1.5, 0.5, n_dims)
    means = 0.45 * decay * rng.normal(size=(n_states, 1, n_dims))
    mixture = means + 0.35 * decay * rng.normal(size=(n_states, 4, n_dims))
    component = rng.integers(4, size=(n_states, n_frames))
    x = mixture[np.arange(n_states)[:, None], component] + rng.normal(size=(n_states, n_frames, n_dims))
    x = x.reshape(-1, n_dims)
    codes = np.repeat(np.arange(n_states), n_frames)
    return Frames(((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32), codes)


def train_and_test(n_states: int) -> tuple[Frames, Frames]:
    """Return N_FRAMES frames a state to learn from, and a fifth as many to score."""
    n_all = N_FRAMES + N_FRAMES // 5
    x, codes = states(n_states, n_all, N_DIMS)
    held_out = np.tile(np.arange(n_all) >= N_FRAMES, n_states)
    return Frames(x[~held_out], codes[~held_out]), Frames(x[held_out][:N_SCORED], codes[held_out][:N_SCORED])


def measure_pairs(n_states: int, repeats: int) -> dict[str, Any]:
    """Return what ours take for all pairs, and what the peers would."""
    train, test = train_and_test(n_states)
    fit_pairs(train.x, train.codes, n_states, CONFIG, all_pairs(n_states)[:1])  # compiles
    return {
        "problems": len(all_pairs(n_states)),
        "frames_per_state": N_FRAMES,
        "dims": N_DIMS,
        "sigma": SIGMA,
        "centers_per_pair": N_CENTERS,
        "ours": {name: measure_ours(train, test, n_states, how, repeats) for name, how in OURS.items()},
        "sampled": {
            name: measure_sample(train, n_states, n_pairs, fit) for name, (n_pairs, fit) in PEERS.items()
        },
    }


def measure_ours(
    train: Frames, test: Frames, n_states: int, how: tuple[ForwardConfig, int | None, bool], repeats: int
) -> dict[str, Any]:
    """Return fit times, the accuracy of the coupled posteriors and what a frame costs."""
    config, n_workers, is_repeated = how
    runs = [
        timed(lambda: fit_pairs(train.x, train.codes, n_states, config, n_workers=n_workers))
        for _ in range(repeats if is_repeated else 1)
    ]
    (machines, curves), seconds = runs[-1][0], [s for _, s in runs]
    return {
        "fit": median(seconds),
        "all_fits_wall_s": [round(s.wall, 2) for s in seconds],
        "distinct_centers": len(machines.centers),
        **measure_scores(machines, curves, test, n_states),
    }


def measure_scores(
    machines: SparseMachines, curves: np.ndarray, test: Frames, n_states: int
) -> dict[str, Any]:
    """Return the accuracy, %, and the CPU microseconds a frame of each step of scoring."""
    outputs, output_s = timed(lambda: machines.outputs(test.x))
    odds, odds_s = timed(lambda: quadratics(outputs, curves))
    posteriors, coupling_s = timed(lambda: coupled_log_posteriors(odds, n_states))
    steps = {"outputs": output_s, "log_odds": odds_s, "coupling": coupling_s}
    return {
        "frame_accuracy": round(100 * float(np.mean(posteriors.argmax(axis=1) == test.codes)), 2),
        "cpu_us_per_frame": {name: round(1e6 * s.cpu / len(test.x), 1) for name, s in steps.items()},
    }


def measure_sample(train: Frames, n_states: int, n_sampled: int, fit: Fit) -> dict[str, Any]:
    """Return what a fit of one pair takes on a random sample of them, and would take for all."""
    pairs = all_pairs(n_states)
    rng = np.random.default_rng(0)
    some = pairs[rng.choice(len(pairs), size=min(n_sampled, len(pairs)), replace=False)]
    rows = [np.concatenate([np.flatnonzero(train.codes == k) for k in pair]) for pair in some]
    targets = [np.where(train.codes[r] == pair[0], 1.0, -1.0) for r, pair in zip(rows, some, strict=True)]
    data = [(train.x[r], t) for r, t in zip(rows, targets, strict=True)]
    found, seconds = timed(lambda: [fit(x, y) for x, y in data])
    each = seconds.cpu / len(some)
    vectors = [len(model.support_) for model in found if isinstance(model, SVC)]
    return {
        "sampled_pairs": len(some),
        "cpu_ms_per_pair": round(1e3 * each, 2),
        "extrapolated_cpu_s": round(each * len(pairs), 1),
        "extrapolated_wall_s_on_2_cores": round(each * len(pairs) / 2, 1),
        "support_vectors_per_pair": round(float(np.mean(vectors)), 1) if vectors else None,
    }


def fit_svc(x: np.ndarray, y: np.ndarray, c: float) -> SVC:
    return SVC(C=c, gamma=0.5 / SIGMA**2, cache_size=400).fit(x, y)


def plain_npd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the selected points: the thesis's Algorithm 1 as printed, (3.54), (3.62), (3.64)."""
    x = x.astype(np.float64)
    columns = np.ones((len(x), 1))
    inverse = np.linalg.pinv(columns)
    residual = y - columns @ (inverse @ y)
    chosen: list[int] = []
    for _ in range(N_CENTERS):
        size = np.abs(residual)
        size[chosen] = -1
        n = int(size.argmax())
        column = np.exp(-((x - x[n]) ** 2).sum(axis=1) / (2 * SIGMA**2))
        column[n] += EPSILON
        shares = inverse @ column
        q = column - columns @ shares
        dual = q / (q @ q)
        inverse = np.vstack([inverse - np.outer(shares, dual), dual])
        columns = np.column_stack([columns, column])
        residual = residual - (dual @ y) * q
        chosen.append(n)
    return np.array(chosen)


PEERS: dict[str, tuple[int, Fit]] = {
    "libsvm C=1": (SVC_SAMPLE, partial(fit_svc, c=1.0)),
    "libsvm C=10": (SVC_SAMPLE, partial(fit_svc, c=10.0)),
    "Algorithm 1 in plain numpy": (LOOP_SAMPLE, plain_npd),
    "forward_selection, blocks of 16": (
        BLOCK_SAMPLE,
        lambda x, y: forward_selection(x, y[:, None], BLOCKED),
    ),
}


def print_pairs(found: dict[str, Any]) -> None:
    print(f"{found['problems']} pairs of {found['frames_per_state']} frames a state, {found['dims']} dims")
    rows = [
        [name, "all", ours["fit"]["cpu_s"], ours["fit"]["wall_s"], ours["frame_accuracy"]]
        for name, ours in found["ours"].items()
    ]
    rows += [
        [f"{name} (extrapolated)", str(s["sampled_pairs"]), s["extrapolated_cpu_s"], "", ""]
        for name, s in found["sampled"].items()
    ]
    print_table(("how", "pairs run", "CPU s", "wall s", "frames right %"), rows)
