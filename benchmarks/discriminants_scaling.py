"""Time and memory of one selection against the points M and the centres m: O(Mm²) and O(Mm) are claimed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from discriminants_pairs import Frames, states
from report import print_table, timed

from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.train_forward import fit_pairs

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

KERNEL, N_DIMS = Kernel("gaussian", 2.0), 8
POINTS = (1250, 2500, 5000, 10000, 20000, 40000, 80000)
CENTERS = (25, 50, 100, 200, 400, 800)
BASE_POINTS, BASE_CENTERS = 10000, 100
BLOCK_SIZE = 16
N_FITTED = 3  # points of a line, the largest, that its slope is taken from
SINGLE = 4  # bytes
AXES = {"M": f"points M  (m = {BASE_CENTERS})", "m": f"centres m  (M = {BASE_POINTS:,})"}
VALUES = {"cpu_s": "CPU seconds", "peak_mb": "peak megabytes"}
POWERS = {("cpu_s", "M"): 1, ("cpu_s", "m"): 2, ("peak_mb", "M"): 1, ("peak_mb", "m"): 1}

Cell = dict[str, Any]
Fit = Callable[[Frames, int], object]


def fit_exact(frames: Frames, n_centers: int) -> object:
    config = ForwardConfig(KERNEL, (KERNEL.sigma,), n_centers)
    return fit_pairs(frames.x, frames.codes, 2, config, n_workers=1)


def fit_blocked(frames: Frames, n_centers: int) -> object:
    targets = np.where(frames.codes == 0, 1.0, -1.0)[:, None]
    config = ForwardConfig(KERNEL, (KERNEL.sigma,), n_centers, block_size=BLOCK_SIZE)
    return forward_selection(frames.x, targets, config)


FITS: dict[str, Fit] = {"exact, compiled": fit_exact, f"blocks of {BLOCK_SIZE}, BLAS": fit_blocked}


def measure_scaling(repeats: int) -> dict[str, Any]:
    """Return CPU seconds and peak megabytes of each cell, and the slopes on logarithmic axes."""
    frames = states(2, max(POINTS) // 2, N_DIMS)
    sizes = sorted({(n, BASE_CENTERS) for n in POINTS} | {(BASE_POINTS, m) for m in CENTERS})
    cells = []
    for how, fit in FITS.items():
        fit(thinned(frames, 200), 20)  # compiles
        cells += [{"how": how, **measure_cell(fit, thinned(frames, n), m, repeats)} for n, m in sizes]
    return {"dims": N_DIMS, "cells": cells, "slopes": slopes(cells)}


def thinned(frames: Frames, n_points: int) -> Frames:
    """Return so many frames, evenly taken."""
    step = len(frames.x) // n_points
    return Frames(frames.x[::step][:n_points].copy(), frames.codes[::step][:n_points].copy())


def measure_cell(fit: Fit, frames: Frames, n_centers: int, repeats: int) -> Cell:
    """Return the least CPU time of the repeats, and the peak of what one more allocates."""
    seconds = min(timed(lambda: fit(frames, n_centers))[1].cpu for _ in range(repeats))
    tracemalloc.start()
    fit(frames, n_centers)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"M": len(frames.x), "m": n_centers, "cpu_s": seconds, "peak_mb": round(peak / 1e6, 2)}


def line(cells: list[Cell], how: str, axis: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Return M or m and what was measured, where the other of the two is at its base."""
    fixed, base = ("m", BASE_CENTERS) if axis == "M" else ("M", BASE_POINTS)
    chosen = [c for c in cells if c["how"] == how and c[fixed] == base]
    return np.array([c[axis] for c in chosen], dtype=float), np.array([c[value] for c in chosen])


def slopes(cells: list[Cell]) -> list[dict[str, Any]]:
    """Return the slopes on logarithmic axes over the largest points of each line."""
    return [
        {
            "how": how,
            "against": axis,
            "of": VALUES[value],
            "expected": power,
            "slope": slope(*line(cells, how, axis, value)),
        }
        for how in FITS
        for (value, axis), power in POWERS.items()
    ]


def slope(x: np.ndarray, y: np.ndarray) -> float:
    return round(float(np.polyfit(np.log(x[-N_FITTED:]), np.log(y[-N_FITTED:]), 1)[0]), 2)


def print_scaling(scaling: dict[str, Any]) -> None:
    rows = [[s["how"], s["of"], s["against"], s["expected"], s["slope"]] for s in scaling["slopes"]]
    print_table(("how", "of", "against", "claimed slope", "slope"), rows)


def draw_scaling(scaling: dict[str, Any], path: Path) -> None:
    """Save time (above) and memory (below) against M and against m, beside the slopes that are claimed."""
    cells = scaling["cells"]
    figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained", sharex="col", sharey="row")
    for row, value in zip(panels, VALUES, strict=True):
        for panel, axis in zip(row, AXES, strict=True):
            draw_lines(panel, cells, axis, value)
        row[0].set_ylabel(VALUES[value])
    for panel, label, ticks in zip(panels[1], AXES.values(), (POINTS, CENTERS), strict=True):
        panel.set_xlabel(label)
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=8)
        panel.minorticks_off()
    for panel in panels[:, 0]:
        panel.legend(fontsize=8, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_lines(panel: Axes, cells: list[Cell], axis: str, value: str) -> None:
    """Draw one panel: a line for each way of fitting, the claimed slope, and the Gram matrix for memory."""
    for how, marker in zip(FITS, "os", strict=True):
        panel.loglog(*line(cells, how, axis, value), f"{marker}-", label=how)
    power = POWERS[value, axis]
    x, y = line(cells, next(iter(FITS)), axis, value)
    panel.loglog(x, 0.5 * y[-1] * (x / x[-1]) ** power, ":", color="0.4")
    panel.annotate(f"slope {power}", (x[-2], 0.35 * y[-1] * (x[-2] / x[-1]) ** power), va="top", color="0.4")
    if value == "peak_mb":
        n_points = x if axis == "M" else np.full_like(x, BASE_POINTS)
        gram = SINGLE * n_points**2 / 1e6
        panel.loglog(x, gram, "--", color="0.7", label="the Gram matrix would take")
    panel.grid(alpha=0.3)
