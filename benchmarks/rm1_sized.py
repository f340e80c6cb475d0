"""The thesis's RM1 experiment by size, without RM1: all pairs of 147 states of generated frames by NPD.

    python benchmarks/rm1_sized.py --work exp/rm1-sized --page

1.3 million frames of 39 features, 9,000 of a state, which overlap about as those of AN4's states do
(`rm1_frames`, `rm1_overlap`); 10,731 pairs, 100 centres each, by the preset thesis; libsvm (scikit-learn's
SVC) on a sample of the pairs, extrapolated to all. Growth is measured over pairs and over frames a state.
Every measurement runs in a process of its own and is kept in WORK; what is there is not measured again. CPU
seconds are those of all threads. ``--page`` writes tables and figure into the documentation.

``--small`` takes a twenty-fifth of the frames, to see in a minute or two whether all works.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import rm1_measures as measures
from hours_960 import hours_table, unit_costs, unit_table
from hybrid_growth import power
from report import argument_parser, markdown_table, write_report
from rm1_frames import N_FEATURES, N_STATES

from asr.files import read_json, write_json
from benchmarks.papers.layout import write_section

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURE = DOCS / "results" / "rm1_sized.md", DOCS / "figures" / "rm1_growth.png"
ALL_PAIRS = N_STATES * (N_STATES - 1) // 2
PAIRS, FRAMES = (600, 1800, 5000, ALL_PAIRS), (1125, 2250, 4500, 9000)
FAR, RIVALS = (36000, 144000), (1125, 4500)  # frames a state
SMALL = 25  # times fewer frames
FRAME_US = 1e4  # of speech that a frame stands for
_SLOT_BYTES = {"single": 4 + 4, "as saved": 4 + 8}  # of a support vector: position and weight

Record = Mapping[str, Any]


def measurements(work: Path, n_less: int = 1) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what is measured, by the names of its records, with ``n_less`` times fewer frames."""
    frames, model = [n // n_less for n in FRAMES], work / "machines.safetensors"
    found: dict[str, Callable[[], dict[str, Any]]] = {
        f"npd-{p}-{n}": partial(measures.train, p, n)
        for p, n in [*((p, frames[-1]) for p in PAIRS[:-1]), *((PAIRS[-1], n) for n in frames[:-1])]
    }
    found[f"npd-{PAIRS[-1]}-{frames[-1]}"] = partial(measures.train, PAIRS[-1], frames[-1], model)
    found |= {f"svm-{n}": partial(measures.train_svms, n) for n in frames}
    found["score"] = partial(measures.score, model)
    found |= {f"far-{n // n_less}": partial(measures.train_far, n // n_less) for n in FAR}
    return found | {f"rivals-{n // n_less}": partial(measures.train_rivals, n // n_less) for n in RIVALS}


def measure(name: str, work: Path, n_less: int) -> Record:
    """Return the record of a measurement; run it in a process of its own if there is none."""
    path = work / f"{name}.json"
    if not path.exists():
        print(name, flush=True)
        command = [sys.executable, __file__, "--work", str(work), "--one", name, "--less", str(n_less)]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    record: Record = read_json(path)
    return record


def cost_table(found: Mapping[str, Record]) -> str:
    """Return the cost of the largest size beside libsvm's as a table in Markdown."""
    npd, svm, score = largest(found, "npd-"), largest(found, "svm-"), found["score"]
    n_pairs, speed = npd["pairs"], score["scoring_1"]["cpu_us_a_frame"]
    seconds = np.array(svm["cpu_s_a_pair"])
    support, svm_us = float(np.mean(svm["support_vectors"])), float(np.mean(svm["scoring_us"])) * n_pairs
    error = n_pairs * seconds.std(ddof=1) / np.sqrt(len(seconds))
    sizes, svm_sizes = score["sizes_mb"], svm_megabytes(support * n_pairs, npd["frames"])
    free = npd["cpu_s"] / npd["workers"]
    rows: list[tuple[str, object, object]] = [
        (
            "training, CPU s",
            _digits(npd["cpu_s"]),
            f"{_digits(seconds.mean() * n_pairs)} ± {_digits(error)} (E)",
        ),
        ("training, CPU s a pair", _digits(npd["cpu_s"] / n_pairs), _digits(float(seconds.mean()))),
        (
            f"training, wall s as run, {npd['workers']} threads beside other work",
            _digits(npd["wall_s"]),
            None,
        ),
        (f"training, wall s if {npd['workers']} cores were free (E)", _digits(free), None),
        ("peak memory, MB", _digits(npd["peak_mb"]), _digits(svm["peak_mb"])),
        ("of it before training, MB", _digits(npd["peak_before_mb"]), None),
        ("centres or support vectors a pair", _digits(npd["centers_a_pair"]), _digits(support)),
        ("distinct ones", f"{npd['distinct_centers']:,}", f"up to {npd['frames']:,}"),
        ("model on disk as saved, MB", _digits(sizes["as saved"]), f"{_digits(svm_sizes['as saved'])} (E)"),
        ("in single precision, MB", _digits(sizes["single"]), f"{_digits(svm_sizes['single'])} (E)"),
        ("centres and weights in half precision, MB", _digits(sizes["half"]), None),
        ("scoring, CPU µs a frame", _digits(speed), f"{_digits(svm_us)} (E)"),
        ("scoring, × real time", f"{speed / FRAME_US:.3f}", f"{svm_us / FRAME_US:.1f} (E)"),
        (
            f"error of the {len(seconds)} sampled pairs on new frames, %",
            f"{100 * score['error_of_sample']:.2f}",
            f"{100 * np.mean(svm['errors']):.2f}",
        ),
        ("error of all pairs on new frames, %", f"{100 * score['error']:.2f}", None),
        (
            f"new frames whose best of {N_STATES} states is right, %",
            f"{100 * score['frames_right']:.1f}",
            None,
        ),
        (
            "best state is another one in half precision, % of frames",
            f"{100 * score['other_best_half']:.2f}",
            None,
        ),
    ]
    return markdown_table(
        (f"{n_pairs:,} pairs of {npd['frames_a_state']:,} frames a state", "NPD", "libsvm"), rows
    )


def svm_megabytes(n_support: float, n_frames: int) -> dict[str, float]:
    """Return the size of a model of all support vectors that holds every frame once."""
    frames = n_frames * N_FEATURES * 4
    return {form: (frames + n_support * size) / 1e6 for form, size in _SLOT_BYTES.items()}


def largest(found: Mapping[str, Record], start: str) -> Record:
    """Return the record of most pairs and frames among those whose names start so."""
    own = [record for name, record in found.items() if name.startswith(start)]
    return max(
        own,
        key=lambda r: (len(r["pairs"]) if isinstance(r["pairs"], list) else r["pairs"], r["frames_a_state"]),
    )


def growth_rows(found: Mapping[str, Record]) -> tuple[list[Record], list[Record], list[Record]]:
    """Return the records of NPD over pairs and over frames, and those of libsvm over frames."""
    npd = [record for name, record in found.items() if name.startswith("npd-")]
    top = largest(found, "npd-")
    over_pairs = sorted(
        (r for r in npd if r["frames_a_state"] == top["frames_a_state"]), key=lambda r: r["pairs"]
    )
    over_frames = sorted((r for r in npd if r["pairs"] == top["pairs"]), key=lambda r: r["frames_a_state"])
    svm = sorted((r for n, r in found.items() if n.startswith("svm-")), key=lambda r: r["frames_a_state"])
    return over_pairs, over_frames, svm


def slopes(found: Mapping[str, Record]) -> dict[str, float | None]:
    """Return the powers by which CPU seconds grow, measured on logarithmic axes."""
    over_pairs, over_frames, svm = growth_rows(found)
    return {
        "pairs": power([r["pairs"] for r in over_pairs], [r["cpu_s"] for r in over_pairs]),
        "frames": power([r["frames_a_state"] for r in over_frames], [r["cpu_s"] for r in over_frames]),
        "svm_frames": power([r["frames_a_state"] for r in svm], [sum(r["cpu_s_a_pair"]) for r in svm]),
    }


def growth_table(found: Mapping[str, Record]) -> str:
    """Return the sizes and the powers of growth as tables in Markdown."""
    over_pairs, over_frames, svm = growth_rows(found)
    of_svm = {r["frames_a_state"]: float(np.mean(r["cpu_s_a_pair"])) for r in svm}
    rows = [
        (
            f"{r['pairs']:,}",
            f"{r['frames_a_state']:,}",
            _digits(r["cpu_s"]),
            f"{1e3 * r['cpu_s'] / r['pairs']:.2f}",
            _digits(r["peak_mb"]),
            f"{r['distinct_centers']:,}",
            _digits(of_svm[r["frames_a_state"]] * r["pairs"]),
        )
        for r in [*over_pairs[:-1], *over_frames]
    ]
    head = (
        "pairs",
        "frames a state",
        "NPD, CPU s",
        "CPU ms a pair",
        "peak MB",
        "distinct centres",
        "libsvm, CPU s (E)",
    )
    found_slopes = slopes(found)
    powers = markdown_table(
        ("training CPU s grow with the power", "of pairs", "of frames a state"),
        [
            ("NPD", found_slopes["pairs"], found_slopes["frames"]),
            ("libsvm", "1 (E)", found_slopes["svm_frames"]),
        ],
    )
    return f"{markdown_table(head, rows)}\n\n{powers}"


def draw(found: Mapping[str, Record], path: Path) -> None:
    """Save a figure of training seconds against pairs and against frames a state."""
    over_pairs, over_frames, svm = growth_rows(found)
    found_slopes, top = slopes(found), largest(found, "npd-")
    a_pair = float(np.mean(svm[-1]["cpu_s_a_pair"]))
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained", sharey=True)
    pairs, frames = [r["pairs"] for r in over_pairs], [r["frames_a_state"] for r in over_frames]
    sampled = f"libsvm, from {len(svm[-1]['cpu_s_a_pair'])} pairs"
    axes[0].plot(
        pairs, [r["cpu_s"] for r in over_pairs], "o-", label=f"NPD, slope {found_slopes['pairs']:.2f}"
    )
    axes[0].plot(pairs, [a_pair * p for p in pairs], "s--", markerfacecolor="none", label=sampled)
    axes[1].plot(
        frames, [r["cpu_s"] for r in over_frames], "o-", label=f"NPD, slope {found_slopes['frames']:.2f}"
    )
    of_svm = [float(np.mean(r["cpu_s_a_pair"])) * top["pairs"] for r in svm]
    label = f"{sampled}, slope {found_slopes['svm_frames']:.2f}"
    axes[1].plot([r["frames_a_state"] for r in svm], of_svm, "s--", markerfacecolor="none", label=label)
    titles = (f"{top['frames_a_state']:,} frames a state", f"{top['pairs']:,} pairs")
    for axis, ticks, name, title in zip(
        axes, (pairs, frames), ("pairs", "frames a state"), titles, strict=True
    ):
        axis.set(xscale="log", yscale="log", xlabel=name, title=title)
        axis.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend()
    axes[0].set_ylabel("training, CPU s")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def tables(found: Mapping[str, Record]) -> dict[str, str]:
    """Return the sections of the page by name."""
    unit = unit_costs(found, slopes(found)["svm_frames"] or np.nan)
    return {
        "cost": cost_table(found),
        "growth": growth_table(found),
        "hours-960": f"{unit_table(unit)}\n\n{hours_table(unit)}",
    }


def write_page(sections: Mapping[str, str]) -> None:
    """Put the tables into the page."""
    for name, text in sections.items():
        write_section(PAGE, name, text)


def _digits(number: float) -> str:
    """Return a number to three digits at least."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--work", type=Path, default=Path("exp/rm1-sized"), help="keeps what was measured")
    parser.add_argument("--small", action="store_true", help="a twenty-fifth of the frames")
    parser.add_argument("--figure", type=Path, default=FIGURE)
    parser.add_argument("--page", action="store_true", help=f"write docs/results/{PAGE.name}")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # the measurement of this name, in this process
    parser.add_argument("--less", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    """Measure what is not there yet and report all."""
    options = parsed()
    options.work.mkdir(parents=True, exist_ok=True)
    n_less = SMALL if options.small else options.less
    wanted = measurements(options.work, n_less)
    if options.one is not None:
        write_json(options.work / f"{options.one}.json", wanted[options.one]())
        return
    found = {name: measure(name, options.work, n_less) for name in wanted}
    sections = tables(found)
    print("\n\n".join(sections.values()))
    draw(found, options.figure)
    if options.page:
        write_page(sections)
    write_report(options.out, {"slopes": slopes(found), "measured": found})


if __name__ == "__main__":
    main()
