"""The figure of word accuracy on dev against the number of centres, from what ``asr sparsity`` wrote.

    asr sparsity exp/an4
    python benchmarks/sparsity_figure.py --experiment exp/an4

Bars are 95 % bootstrap intervals over utterances; grammars stand beside each other so that they can be told
apart. What is tested on are the same utterances at all sizes: differences between sizes are surer than the
bars. The second axis gives the distinct centres of the whole model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from report import argument_parser, print_table, write_report

from asr.errors import ExperimentError
from asr.files import read_json
from asr.sparsity import FILE

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MARKERS = "osvD^<"
BESIDE = 1.03  # factor between the grammars' points


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows by number of centres."""
    rows: list[dict[str, Any]] = read_json(path)["rows"]
    if not rows or not all("interval" in row for row in rows):
        raise ExperimentError(
            f"{path}: rows without intervals, expected some in each; run asr sparsity again"
        )
    return sorted(rows, key=lambda row: int(row["n_centers"]))


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Save the figure."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    grammars = list(dict.fromkeys(row["grammar"] for row in rows))
    for k, (grammar, marker) in enumerate(zip(grammars, MARKERS, strict=False)):
        own = [row for row in rows if row["grammar"] == grammar]
        sizes = [row["n_centers"] * BESIDE ** (k - (len(grammars) - 1) / 2) for row in own]
        found = np.array([row["word_accuracy"] for row in own])
        bars = np.abs(np.array([row["interval"] for row in own]).T - found)
        axes.errorbar(sizes, found, bars, fmt=f"{marker}-", markersize=5, capsize=3, label=grammar)
    distinct = {row["n_centers"]: row["distinct_centers"] for row in rows}
    axes.set(xscale="log", xlabel="centres of a state or pair", ylabel="word accuracy on dev, %")
    above = axes.secondary_xaxis("top")
    above.set_xlabel("distinct centres of the model")
    for axis, labels in ((axes, map(str, distinct)), (above, (f"{n:,}" for n in distinct.values()))):
        axis.set_xticks(list(distinct), list(labels))
        axis.minorticks_off()
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--experiment", type=Path, required=True, help="that asr sparsity has measured")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/sparsity.png"))
    arguments = parser.parse_args()
    rows = read_rows(arguments.experiment / FILE)
    head = ("centres", "distinct", "grammar", "dev acc %", "low", "high")
    cells = [
        (r["n_centers"], r["distinct_centers"], r["grammar"], r["word_accuracy"], *r["interval"])
        for r in rows
    ]
    print_table(head, cells)
    draw(rows, arguments.figure)
    write_report(arguments.out, {"rows": rows}, ("matplotlib",))


if __name__ == "__main__":
    main()
