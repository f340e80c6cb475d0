"""What 960 hours of speech would cost, computed from unit costs that `rm1_sized` measured.

Costs grow with pairs and with frames; beyond the largest size measured, the cost of a frame stays what it was
there, and that of libsvm goes on with the power measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from report import markdown_table
from rm1_frames import N_FEATURES

HOURS, FRAMES_A_SECOND = 960, 100
CORES = 16  # of a machine, each as fast as one of the machine that was measured
TASK_PAIRS = 16  # pairs of a block, which is one task
TASK_MS = 1.0  # of a scheduler's time; assumed, not measured
_FRAME_BYTES = 4 * N_FEATURES
_SLOT_BYTES = {"as saved": 4 + 8, "half": 4 + 2}  # position and weight of a centre
_CENTER_BYTES = {"as saved": _FRAME_BYTES + 8 + 4, "half": _FRAME_BYTES / 2}  # with its width and its row
_FITTED_BYTES = 8 + 8 + 8  # row, width and weight of a centre before machines are put together
# Tied states, and pairs of rivals among them, of models `pools` that the recipes an4 and iban train.
RIVALS_FOUND = ((242, 6229), (400, 14062))
_DAY_S = 86400.0
_GIGA = 1e9


@dataclass(frozen=True)
class UnitCosts:
    """What was measured.

    Attributes
    ----------
    npd : for some numbers of frames a state, ascending, CPU seconds of a pair
    svm : CPU seconds of a pair for a number of frames a state, and the power by which they grow
    rivals_s : CPU seconds of a pair of rivals for each frame a state
    rivals_bytes : bytes of a pair of rivals, and of a state, in the model
    centers : centres of a pair by NPD
    distinct : share of all pairs' centres that are left when each frame is counted once
    """

    npd: tuple[tuple[float, float], ...]
    svm: tuple[float, float, float]
    rivals_s: float
    rivals_bytes: tuple[float, float]
    centers: float
    distinct: float

    def npd_s(self, n_each: float) -> float:
        """Return the CPU seconds of a pair by NPD; seconds a frame are interpolated over log sizes."""
        sizes, seconds = np.array(self.npd).T
        return float(n_each * np.interp(np.log(n_each), np.log(sizes), seconds / sizes))

    def svm_s(self, n_each: float) -> float:
        """Return the CPU seconds of a pair by libsvm."""
        size, seconds, power = self.svm
        return float(seconds * (n_each / size) ** power)


@dataclass(frozen=True)
class Plan:
    """States, and how many frames of each are kept to train on, all of them by default."""

    n_states: int
    most_frames: float = np.inf

    @property
    def n_each(self) -> float:
        """Frames of a state that are kept."""
        return min(HOURS * 3600 * FRAMES_A_SECOND / self.n_states, self.most_frames)

    @property
    def n_pairs(self) -> int:
        """Number of all pairs."""
        return self.n_states * (self.n_states - 1) // 2

    @property
    def name(self) -> str:
        """What a table calls it."""
        kept = "all frames" if np.isinf(self.most_frames) else f"at most {self.most_frames:,} frames a state"
        return f"{self.n_states:,} states, {kept}"


PLANS = (Plan(147, 9000), Plan(147), Plan(5000, 9000), Plan(5000))


def n_rivals(n_states: int) -> float:
    """Return how many pairs of some states are rivals, by the power law through `RIVALS_FOUND`."""
    (few, few_pairs), (many, many_pairs) = RIVALS_FOUND
    power = np.log(many_pairs / few_pairs) / np.log(many / few)
    return float(many_pairs * (n_states / many) ** power)


def costs_of(plan: Plan, unit: UnitCosts) -> dict[str, float]:
    """Return what a plan costs, by the names of a table's rows."""
    n, pairs = plan.n_each, plan.n_pairs
    rivals = min(n_rivals(plan.n_states), pairs)
    cpu_s = {
        "NPD, all pairs": pairs * unit.npd_s(n),
        "libsvm, all pairs": pairs * unit.svm_s(n),
        "rivals": rivals * unit.rivals_s * n,
    }
    distinct = min(unit.distinct * unit.centers * pairs, n * plan.n_states)
    sizes = {
        form: pairs * unit.centers * _SLOT_BYTES[form] + distinct * _CENTER_BYTES[form]
        for form in _SLOT_BYTES
    }
    of_pair, of_state = unit.rivals_bytes
    a_task_s, read = TASK_PAIRS * unit.npd_s(n), (TASK_PAIRS + 1) * n * _FRAME_BYTES
    n_tasks = -(-pairs // TASK_PAIRS)
    return {
        "frames a state": n,
        "frames kept, millions": n * plan.n_states / 1e6,
        "frames kept, GB": n * plan.n_states * _FRAME_BYTES / _GIGA,
        "pairs, all": pairs,
        "pairs of rivals": rivals,
        **{f"CPU hours, {name}": seconds / 3600 for name, seconds in cpu_s.items()},
        **{
            f"machines of {CORES} cores for a day, {name}": float(np.ceil(seconds / _DAY_S / CORES))
            for name, seconds in cpu_s.items()
        },
        **{f"model GB, NPD, {form}": size / _GIGA for form, size in sizes.items()},
        "model GB, rivals": (rivals * of_pair + plan.n_states * of_state) / _GIGA,
        "GB of a thread's basis": 2 * n * (unit.centers + 1) * 4 / _GIGA,
        f"tasks of {TASK_PAIRS} pairs": n_tasks,
        "CPU seconds a task": a_task_s,
        f"minutes of one scheduler, {TASK_MS:g} ms a task": n_tasks * TASK_MS / 6e4,
        f"cores that one scheduler keeps busy, {TASK_MS:g} ms a task": a_task_s / (TASK_MS / 1e3),
        "GB of fitted pairs that one process gathers": pairs * unit.centers * _FITTED_BYTES / _GIGA,
        "MB a task reads": read / 1e6,
        "TB that all tasks read": n_tasks * read / 1e12,
        **{f"MB a second and core, {shape}": rate / 1e6 for shape, rate in _read_rates(n, unit).items()},
    }


def _read_rates(n_each: float, unit: UnitCosts) -> dict[str, float]:
    """Return how many bytes a busy core reads in a second, by the shape of a task's block of pairs."""
    shapes = {
        f"{TASK_PAIRS} pairs in a row": (1, TASK_PAIRS),
        "4 × 4 pairs": (4, 4),
        "16 × 16 pairs": (16, 16),
    }
    return {
        name: (a + b) * n_each * _FRAME_BYTES / (a * b * unit.npd_s(n_each))
        for name, (a, b) in shapes.items()
    }


def unit_table(unit: UnitCosts) -> str:
    """Return what a pair costs as a table in Markdown, from the largest size of libsvm on."""
    measured = {n for n, _ in unit.npd}
    sizes = sorted(n for n in {*measured, *(plan.n_each for plan in PLANS)} if n >= unit.svm[0])
    rows = []
    for n in sizes:
        npd, mark = unit.npd_s(n), "" if n in measured else " (E)"
        rows.append(
            (
                f"{n:,.0f}",
                f"{_said(npd)}{mark}",
                f"{_said(1e6 * npd / n)}{mark}",
                f"{_said(unit.svm_s(n))}{'' if n == unit.svm[0] else ' (E)'}",
                f"{_said(unit.rivals_s * n)} (E)",
            )
        )
    seconds = [f"{name}, CPU s a pair" for name in ("NPD", "libsvm", "rivals")]
    return markdown_table(("frames a state", seconds[0], "CPU µs a frame of a state", *seconds[1:]), rows)


def hours_table(unit: UnitCosts, plans: Sequence[Plan] = PLANS) -> str:
    """Return the plans' costs as a table in Markdown."""
    costs = [costs_of(plan, unit) for plan in plans]
    rows = [(name, *(_said(found[name]) for found in costs)) for name in costs[0]]
    return markdown_table(("", *(plan.name for plan in plans)), rows)


def _said(number: float) -> str:
    """Return a number to three digits at least."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"


def unit_costs(found: Mapping[str, Mapping[str, Any]], svm_power: float) -> UnitCosts:
    """Return the unit costs of the records that `rm1_sized` keeps, by name."""
    trained = [r for name, r in found.items() if name.startswith(("npd-", "far-"))]
    largest = max(trained, key=lambda r: (r["pairs"], r["frames_a_state"]))
    sizes = {r["frames_a_state"]: r["cpu_s"] / r["pairs"] for r in sorted(trained, key=lambda r: r["pairs"])}
    svm, rivals = (
        max((r for name, r in found.items() if name.startswith(start)), key=lambda r: r["frames_a_state"])
        for start in ("svm-", "rivals-")
    )
    return UnitCosts(
        tuple(sorted(sizes.items())),
        (svm["frames_a_state"], float(np.mean(svm["cpu_s_a_pair"])), svm_power),
        rivals["cpu_s"] / rivals["pairs"] / rivals["frames_a_state"],
        (rivals["bytes_a_pair"], rivals["bytes_a_state"]),
        largest["centers_a_pair"],
        largest["distinct_centers"] / largest["pairs"] / largest["centers_a_pair"],
    )
