"""Charts of word accuracies: of models, of speakers, against the number of centres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from asr.reports.accuracies import SpeakerRow
from asr.reports.parts import Chart, Table, interval, percent
from asr.reports.plots import LEGEND, error_bars, plot_of
from asr.scoring.results import Result

_MOST_SPEAKERS = 40


def results_chart(results: Sequence[Result]) -> Chart:
    """Return the word accuracies of one split with their intervals, model by model."""
    models = list(dict.fromkeys(row.model for row in results))
    grammars = list(dict.fromkeys(row.grammar for row in results))
    traces = []
    for n, model in enumerate(reversed(models)):
        own = [row for row in results if row.model == model]
        shift = 0.18 * (n - (len(models) - 1) / 2)
        traces.append(
            go.Scatter(
                name=model,
                mode="markers",
                marker={"size": 10},
                x=[row.word_accuracy for row in own],
                y=[len(grammars) - 1 - grammars.index(row.grammar) + shift for row in own],
                customdata=[[row.grammar, interval(row.interval)] for row in own],
                hovertemplate="%{customdata[0]}: %{x:.1f} % (%{customdata[1]})<extra>" + model + "</extra>",
                error_x=error_bars([(row.word_accuracy, row.interval) for row in own]),
            )
        )
    best = max(results, key=lambda row: row.word_accuracy)
    split = results[0].split
    return Chart(
        "accuracies",
        f"Word accuracy on {split} with 95 % intervals.",
        f"The best on {split} is {best.model} with the grammar {best.grammar}: "
        f"{percent(best.word_accuracy)} percent, interval {interval(best.interval)}.",
        plot_of(
            traces,
            xaxis={"title": "word accuracy, %"},
            yaxis={
                "tickvals": list(range(len(grammars))),
                "ticktext": grammars[::-1],
                "range": [-0.6, len(grammars) - 0.4],
                "automargin": True,
            },
            legend={**LEGEND, "traceorder": "reversed"},
        ),
        Table(
            f"Word accuracy on {split}",
            ("model", "grammar", "word accuracy, %", "95 % interval"),
            tuple((r.model, r.grammar, percent(r.word_accuracy), interval(r.interval)) for r in results),
            n_texts=2,
        ),
        height=110 + max(50, 22 * len(models)) * len(grammars),
    )


def speakers_chart(rows: Sequence[SpeakerRow]) -> Chart:
    """Return bars of each speaker, the worst on top, a bar for each model."""
    speakers = list(dict.fromkeys(row.speaker for row in rows))
    shown = speakers[:_MOST_SPEAKERS]
    models = list(dict.fromkeys(row.model for row in rows))
    found = {(row.speaker, row.model): row for row in rows}
    bars = []
    for model in reversed(models):
        own = [found[speaker, model] for speaker in reversed(shown) if (speaker, model) in found]
        bars.append(
            go.Bar(
                name=model,
                orientation="h",
                y=[row.speaker for row in own],
                x=[row.word_accuracy for row in own],
                customdata=[row.words for row in own],
                hovertemplate="%{y}: %{x:.1f} % of %{customdata} words<extra>" + model + "</extra>",
                error_x=error_bars([(row.word_accuracy, row.interval) for row in own]),
            )
        )
    left_out = f" The {len(shown)} worst of {len(speakers)} speakers." if len(speakers) > len(shown) else ""
    lowest, best = rows[0], max(rows, key=lambda row: row.word_accuracy)
    return Chart(
        "speakers",
        "Word accuracy of each speaker in percent, the lowest on top; lines are 95 % intervals over the "
        "speaker's utterances." + left_out,
        f"Bars of {len(shown)} speakers. The lowest are those of {lowest.speaker}, the highest of "
        f"{best.speaker} with {percent(best.word_accuracy)} percent.",
        plot_of(
            bars,
            barmode="group",
            xaxis={"title": "word accuracy, %", "range": [_lowest_tick(rows), 101]},
            yaxis={"type": "category", "automargin": True},
            legend={**LEGEND, "traceorder": "reversed"},
        ),
        Table(
            "Word accuracy by speaker",
            ("speaker", "model", "words", "word accuracy, %", "95 % interval"),
            tuple(
                (r.speaker, r.model, r.words, percent(r.word_accuracy), interval(r.interval)) for r in rows
            ),
            n_texts=2,
        ),
        height=90 + len(shown) * (14 + 12 * len(models)),
    )


def _lowest_tick(rows: Sequence[SpeakerRow]) -> float:
    """Return where the axis begins: at 0, or below it where more is wrong than was said."""
    return min(0.0, *(10.0 * float(np.floor(row.word_accuracy / 10)) for row in rows))


def sparsity_chart(rows: Sequence[Mapping[str, Any]], model: str) -> Chart:
    """Return the word accuracy on dev against the number of centres."""
    grammars = list(dict.fromkeys(str(row["grammar"]) for row in rows))
    traces = []
    for grammar in grammars:
        own = [row for row in rows if row["grammar"] == grammar]
        traces.append(
            go.Scatter(
                name=grammar,
                x=[row["n_centers"] for row in own],
                y=[row["word_accuracy"] for row in own],
                mode="lines+markers",
                error_y=error_bars([(row["word_accuracy"], tuple(row["interval"])) for row in own]),
                customdata=[row["distinct_centers"] for row in own],
                hovertemplate="%{x} centres (%{customdata} distinct): %{y:.1f} %<extra>"
                + grammar
                + "</extra>",
            )
        )
    best = max(rows, key=lambda row: row["word_accuracy"])
    return Chart(
        "sparsity",
        f"Word accuracy of {model} on dev against the number of centres of a state or of a pair; lines are "
        f"95 % intervals. The fewer centres, the smaller and faster the model.",
        f"The best is {percent(best['word_accuracy'])} percent with {best['n_centers']} centres.",
        plot_of(
            traces,
            xaxis={"title": "centres", "type": "log", "tickvals": sorted({row["n_centers"] for row in rows})},
            yaxis={"title": "word accuracy on dev, %", "automargin": True},
            legend=LEGEND,
        ),
        Table(
            "Word accuracy by number of centres",
            ("grammar", "centres", "distinct centres", "word accuracy, %", "95 % interval"),
            tuple(
                (
                    str(r["grammar"]),
                    int(r["n_centers"]),
                    int(r["distinct_centers"]),
                    percent(r["word_accuracy"]),
                    interval(tuple(r["interval"])),
                )
                for r in rows
            ),
        ),
    )
