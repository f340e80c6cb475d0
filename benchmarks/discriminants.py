"""Fit and predict time of the discriminants against libsvm, Nystroem + ridge and plain loops, all in one run.

    python benchmarks/discriminants.py --tables ../shared/data/tables --out discriminants.json

Three parts (``--parts`` chooses), each a module beside this one: ``tables``, the four larger classification
sets of the papers on their usual splits; ``pairs``, one discriminant for each of the 4,950 pairs of 100
synthetic states; ``scaling``, time and memory against the points M and the centres m. libsvm is
scikit-learn's SVC; the plain loops are the thesis's Algorithm 1 as printed, with K†, in numpy double
precision. Where a peer is run on a sample of the pairs its time is extrapolated, and the JSON says so.
Figures are the medians of the repeats after one warm-up; the peers take turns, so that a busy machine affects
all alike. CPU seconds count all threads. BLAS has one thread, since idle threads would spin and count, too.
What was chosen, and how, is said at ``SETTINGS`` in ``discriminants_tables.py``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from discriminants_pairs import N_STATES, measure_pairs, print_pairs
from discriminants_scaling import draw_scaling, measure_scaling, print_scaling
from discriminants_tables import SETTINGS, measure_table, print_tables
from report import argument_parser, write_report
from threadpoolctl import threadpool_limits

PARTS = ("tables", "pairs", "scaling")
PEERS = ("matplotlib", "threadpoolctl")


def main() -> None:
    arguments = parsed_arguments()
    report: dict[str, object] = {
        "what": "sparse kernel discriminants against peers, same run",
        "load_average_at_start": os.getloadavg()[0],  # of other work; wall times suffer from it
    }
    with threadpool_limits(limits=1, user_api="blas"):
        if "tables" in arguments.parts:
            report["tables"] = [measure_table(arguments.tables, name, arguments.repeats) for name in SETTINGS]
            print_tables(report["tables"])
        if "pairs" in arguments.parts:
            report["pairs"] = measure_pairs(arguments.states, arguments.repeats)
            print_pairs(report["pairs"])
        if "scaling" in arguments.parts:
            report["scaling"] = measure_scaling(arguments.repeats)
            print_scaling(report["scaling"])
            draw_scaling(report["scaling"], arguments.figure)
    write_report(arguments.out, report, PEERS)


def parsed_arguments() -> argparse.Namespace:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--tables", type=Path, help="folder of the .npz tables; needed by that part")
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/discriminants_scaling.png"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--states", type=int, default=N_STATES, help="of the pairs; fewer for a quick look")
    arguments = parser.parse_args()
    if "tables" in arguments.parts and arguments.tables is None:
        parser.error("--tables is needed by the part tables")
    return arguments


if __name__ == "__main__":
    main()
