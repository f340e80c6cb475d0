"""Thesis table 4.2 on AN4: GMM, SVM, NPD, OROLS and KRLS as emission models of the same monophones.

    python benchmarks/table_4_2.py --corpus ../shared/data/an4 --work exp/thesis --frames 1 2 4
    python benchmarks/table_4_2.py --corpus ../shared/data/an4 --work exp/thesis --frames 1 2 4 --page

The thesis's system (``--preset thesis``): 39 components standardised over the training set, the thesis's
stopping rules, σ and the other options chosen on the dev speakers, Gaussians of the outputs at the training
frames, coupling of Price, division by the prior, word pairs of the training text. ``pools`` differs in
that the pairs of a state share centres that NPD selects for the state. Decoder weights are tuned on the ten
dev speakers; the official test is decoded once. Differences are paired by utterance against the GMM and
against the SVM. CPU seconds are those that the experiment recorded when it trained a model, from aligned
cepstra to a stored model; a dash stands where it recorded none. ``--frames`` adds how the cost grows with the
frames, measured on a sample of pairs, and with ``--all-pairs`` what NPD and OROLS reach with them. Stages are
kept: a run that was stopped goes on where it was. ``--page`` writes the tables and the figure into the
documentation.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_growth import (
    SAMPLED,
    SVM,
    WARPS,
    Size,
    draw_growth,
    growth_record,
    growth_tables,
    measure_growth,
)
from hybrid_rows import (
    POOLS,
    Cost,
    Row,
    compile_kernels,
    cost_of,
    row_of,
    scoring_speed,
    with_thesis_pools,
)
from report import argument_parser, markdown_table, write_report

from asr.config import with_preset, with_settings
from asr.experiment import Experiment
from asr.files import read_json
from asr.formats.transcripts import read_transcripts
from asr.language.grammars import read_grammar, sentences_outside
from asr.pipeline import on_splits
from asr.progress import log_file
from asr.recipe import load_recipe
from asr.scoring.results import Result
from asr.scoring.scoring import compare, score
from asr.systems import HybridSystem
from asr.training.aligned import CHOICE
from asr.training.choice import said_values
from asr.training.recognition import read_rows
from benchmarks.papers.layout import write_section

NAMES = ("gmm", "gmm16", SVM, "npd", "orols", "krls", POOLS)
BASELINES = ("gmm", SVM)
RM1 = {"gmm": 91.96, "svm": 94.10, "npd": 94.41, "orols": 94.25, "krls": 90.1}  # thesis table 4.2, Feb'89
DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURE = DOCS / "results" / "an4.md", DOCS / "figures" / "table_4_2_growth.png"
WORD_PAIR = "word-pair"


def results_of(row: Row) -> list[Result]:
    """Return a row's results on dev and test."""
    named = {"model": row.name, "preset": row.experiment.preset}
    grammars = row.made.experiment.found.grammars
    on_dev = read_rows(row.tuned().path, grammars, split="dev", **named)
    return on_dev + read_rows(row.tested().path, grammars, split="test", **named)


def comparison(baseline: Row, row: Row, grammar: str) -> dict[str, Any]:
    """Return how much better a row is on test than another."""
    first, second = (read_transcripts(r.tested().path / f"{grammar}.txt") for r in (baseline, row))
    found = compare(row.made.corpus("test").text, first, second)
    return {
        "model": row.name,
        "against": baseline.name,
        "grammar": grammar,
        "difference": found.difference,
        "interval": found.interval,
        "p_value": found.p_value,
    }


def comparisons_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each row against the baselines."""
    return [
        comparison(baseline, row, grammar)
        for row in rows
        for baseline in rows
        if baseline.name in BASELINES and baseline.name != row.name
        for grammar in row.made.experiment.found.grammars
    ]


def allowed_accuracy(row: Row) -> dict[str, float]:
    """Return the word accuracy with word pairs on those sentences of test that the word pairs allow."""
    made = row.made
    if WORD_PAIR not in made.experiment.found.grammars:
        return {}
    grammar = read_grammar(WORD_PAIR, made.path(on_splits("grammars", row.splits)), made.lexicon)
    corpus = made.corpus("test")
    outside = sentences_outside(grammar, made.lexicon, [u.words for u in corpus])
    allowed = {u.utterance_id for n, u in enumerate(corpus) if n not in outside}
    reference, found = (
        {name: words for name, words in texts.items() if name in allowed}
        for texts in (corpus.text, read_transcripts(row.tested().path / f"{WORD_PAIR}.txt"))
    )
    n_words = sum(len(words) for words in reference.values())
    return {
        "sentences": len(allowed),
        "words": n_words,
        "word_accuracy": score(reference, found).word_accuracy,
    }


def chosen_of(row: Row) -> dict[str, Any] | None:
    """Return what was chosen on dev for a row, and all that was tried."""
    step = f"choice-{row.system.way}" if isinstance(row.system, HybridSystem) else ""
    return read_json(row.made.path(step) / CHOICE) if step in row.made.steps else None


def accuracy_table(results: Sequence[Result], allowed: Mapping[str, Mapping[str, float]]) -> str:
    """Return word accuracies on test with their intervals."""
    on_test = [r for r in results if r.split == "test"]
    grammars = list(dict.fromkeys(r.grammar for r in on_test))
    found = {(r.model, r.grammar): r for r in on_test}
    cells = [
        (
            name,
            *(_with_interval(found[name, grammar]) for grammar in grammars),
            *([round(allowed[name]["word_accuracy"], 1)] if allowed[name] else []),
            RM1.get(name),
        )
        for name in dict.fromkeys(r.model for r in on_test)
    ]
    extra = [f"{WORD_PAIR}, sentences it allows"] if all(allowed.values()) else []
    return markdown_table(("emission scores", *grammars, *extra, "RM1, thesis"), cells)


def _with_interval(result: Result) -> str:
    low, high = result.interval
    return f"{result.word_accuracy:.1f} ({low:.1f}–{high:.1f})"


def difference_table(comparisons: Sequence[Mapping[str, Any]]) -> str:
    """Return the paired differences on test to the baselines."""
    grammars = list(dict.fromkeys(c["grammar"] for c in comparisons))
    found = {(c["model"], c["against"], c["grammar"]): c for c in comparisons}
    cells = [
        (f"{model} − {against}", *(_difference(found[model, against, g]) for g in grammars))
        for model, against in dict.fromkeys((c["model"], c["against"]) for c in comparisons)
    ]
    return markdown_table(("difference", *grammars), cells)


def _difference(found: Mapping[str, Any]) -> str:
    low, high = found["interval"]
    text = f"{found['difference']:+.1f} ({low:.1f}, {high:.1f}), p {found['p_value']:.3f}"
    return text.replace("-", "−")


def cost_table(
    costs: Mapping[str, Cost], speeds: Mapping[str, float], chosen: Mapping[str, Mapping[str, Any] | None]
) -> str:
    """Return what was chosen on dev, centres and CPU seconds."""
    cells = [
        (
            name,
            _said(chosen[name]),
            None if cost.centers_per_machine is None else round(cost.centers_per_machine),
            cost.distinct_centers,
            None if cost.training_cpu_s is None else round(cost.training_cpu_s),
            round(speeds[name], 3),
            round(cost.megabytes, 1),
        )
        for name, cost in costs.items()
    ]
    head = ("emission scores", "chosen on dev", "centres a machine", "distinct centres", "training CPU s")
    return markdown_table((*head, "scoring CPU s a second of speech", "MB"), cells)


def _said(chosen: Mapping[str, Any] | None) -> str:
    if chosen is None:
        return ""
    return said_values(chosen["weights"])


def write_page(accuracy: str, differences: str, costs: str, sizes: Sequence[Size]) -> None:
    """Put the tables and the figure into the documentation."""
    parts = [accuracy, differences, costs]
    if sizes:
        draw_growth(sizes, FIGURE)
        figure = f"![training cost and centres against frames](../figures/{FIGURE.name})"
        parts += [growth_tables(sizes), figure]
    write_section(PAGE, "table-4-2", "\n\n".join(parts))


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--models", nargs="+", default=list(NAMES), choices=NAMES, help="gmm is always there")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument("--preset", default="thesis", choices=["thesis", "best"])
    parser.add_argument("--frames", type=int, nargs="+", default=[], choices=WARPS, help="times the frames")
    parser.add_argument("--all-pairs", action="store_true", help="npd and orols on all pairs of more frames")
    parser.add_argument("--work", type=Path, help="experiment directory, to resume; by default thrown away")
    parser.add_argument("--page", action="store_true", help="write docs/results/an4.md and its figure")
    arguments = parser.parse_args()
    recipe = load_recipe("an4")
    preset = with_thesis_pools(with_preset(recipe.recipe.config, arguments.preset, recipe.recipe.thesis))
    config = with_settings(preset, arguments.set)
    names = [name for name in NAMES if name in ("gmm", *arguments.models)]
    with tempfile.TemporaryDirectory() as temporary:
        out = arguments.work or Path(temporary)
        experiment = Experiment(recipe, arguments.corpus, out, config, arguments.preset)
        rows = [row_of(experiment, name) for name in names]
        compile_kernels(rows)
        experiment.run(names)
        with experiment.store.locked(), log_file(out / "log.txt"):
            results = [result for row in rows for result in results_of(row)]
            comparisons = comparisons_of(rows)
            allowed = {row.name: allowed_accuracy(row) for row in rows}
            costs = {row.name: cost_of(row, row.splits) for row in rows}
            speeds = {row.name: scoring_speed(row) for row in rows}
            chosen = {row.name: chosen_of(row) for row in rows}
            growing = [name for name in SAMPLED if name in names]
            sizes = measure_growth(experiment, growing, arguments.frames, all_pairs_too=arguments.all_pairs)
    accuracy, differences = accuracy_table(results, allowed), difference_table(comparisons)
    cost = cost_table(costs, speeds, chosen)
    print(f"{accuracy}\n\n{differences}\n\n{cost}\n")
    if sizes:
        print(f"{growth_tables(sizes)}\n")
    if arguments.page:
        write_page(accuracy, differences, cost, sizes)
    report = {
        "preset": arguments.preset,
        "settings": arguments.set,
        "thesis_rm1": RM1,
        "results": [asdict(r) for r in results],
        "comparisons": comparisons,
        "allowed_by_word_pairs": allowed,
        "chosen": chosen,
        "costs": {name: asdict(c) for name, c in costs.items()},
        "scoring_x_real_time": speeds,
        "growth": growth_record(sizes),
    }
    write_report(arguments.out, report)


if __name__ == "__main__":
    main()
