"""The charts of a page. Colours are the page's: it knows whether it is day or night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from asr.reports.accuracies import SpeakerRow
from asr.reports.costs import Cost, Step
from asr.reports.parts import Chart, Table, interval, percent, seconds
from asr.reports.phones import order_by_likeness, worst_pairs
from asr.reports.reliability import Reliability
from foundation.arrays import Floats, Longs

_MOST_SPEAKERS = 40
_MOST_STAGES = 20
_MOST_PAIRS = 25


def _plot(traces: Sequence[Any], **layout: Any) -> Mapping[str, Any]:
    """Return a figure as plain data; Plotly checks it, the page draws it."""
    figure = go.Figure(list(traces), layout={"template": "none", **layout})
    plot: Mapping[str, Any] = figure.to_plotly_json()
    return plot


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
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": [row.interval[1] - row.word_accuracy for row in own],
                    "arrayminus": [row.word_accuracy - row.interval[0] for row in own],
                    "thickness": 1.2,
                    "width": 3,
                },
            )
        )
    left_out = f" The {len(shown)} worst of {len(speakers)} speakers." if len(speakers) > len(shown) else ""
    lowest, best = rows[0], max(rows, key=lambda row: row.word_accuracy)
    return Chart(
        "speakers",
        "Word accuracy of each speaker in percent, the lowest on top; lines are 95 % intervals over the "
        "speaker's utterances." + left_out,
        f"Bars of {len(shown)} speakers. The lowest are those of {lowest.speaker}, the highest of {best.speaker} "
        f"with {percent(best.word_accuracy)} percent.",
        _plot(
            bars,
            barmode="group",
            xaxis={"title": "word accuracy, %", "range": [_lowest_tick(rows), 101]},
            yaxis={"type": "category", "automargin": True},
            legend={"orientation": "h", "traceorder": "reversed", "y": 1.0, "yanchor": "bottom"},
        ),
        Table(
            "Word accuracy by speaker",
            ("speaker", "model", "words", "word accuracy, %", "95 % interval"),
            tuple((r.speaker, r.model, r.words, percent(r.word_accuracy), interval(r.interval)) for r in rows),
            n_texts=2,
        ),
        height=90 + len(shown) * (14 + 12 * len(models)),
    )


def _lowest_tick(rows: Sequence[SpeakerRow]) -> float:
    """Return where the axis begins: at 0, or below it where more is wrong than was said."""
    return min(0.0, *(10 * np.floor(row.word_accuracy / 10) for row in rows))


def confusions_chart(counts: Longs, names: Sequence[str]) -> Chart:
    """Return the heat map of which phone is taken for which."""
    order = order_by_likeness(counts)
    shown = [names[n] for n in order]
    used = counts[np.ix_(order, order)]
    totals = counts[order].sum(axis=1)
    shares = 100 * used / np.maximum(totals[:, None], 1)
    wrong = shares - np.diag(np.diag(shares))
    right = 100 * np.trace(counts) / max(counts.sum(), 1)
    heat = go.Heatmap(
        z=np.round(shares, 2).tolist(),
        x=shown,
        y=shown,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hovertemplate="%{y} taken for %{x}: %{z:.1f} % of its frames<extra></extra>",
    )
    places = sorted(np.argwhere(wrong > 0).tolist(), key=lambda at: -used[at[0], at[1]])[:_MOST_PAIRS]
    rows = tuple((shown[a], shown[b], int(used[a, b]), percent(shares[a, b])) for a, b in places)
    return Chart(
        "phones",
        "Each row: the frames of a phone; each column: which phone the model holds most probable at these frames, "
        "without lexicon and grammar. Phones that are often confused stand beside each other. The scale "
        "ends at the largest confusion, so that all of the diagonal is dark.",
        f"Of all frames {percent(right)} percent have the right phone. "
        + "; ".join(f"{a} is taken for {b} in {share} percent" for a, b, _, share in rows[:3]),
        _plot(
            [heat],
            xaxis={"type": "category", "side": "top", "title": "taken for", "automargin": True},
            yaxis={"type": "category", "autorange": "reversed", "title": "said", "automargin": True},
            coloraxis={
                "cmin": 0,
                "cmax": round(float(max(wrong.max(initial=0.0), 1.0)), 2),
                "colorbar": {"title": "%", "thickness": 10},
            },
        ),
        Table("Phones most confused", ("said", "taken for", "frames", "% of its frames"), rows, n_texts=2),
        height=max(320, 110 + 15 * len(shown)),
    )


def separability_chart(areas: Floats, names: Sequence[str], counts: Longs) -> Chart:
    """Return the heat map of how badly each pair of phones is told apart."""
    order = [n for n in order_by_likeness(counts) if np.isfinite(areas[n]).any()]
    shown = [names[n] for n in order]
    wrong = 100 * (1 - areas[np.ix_(order, order)])
    heat = go.Heatmap(
        z=[[None if np.isnan(v) else round(v, 3) for v in row] for row in wrong.tolist()],
        x=shown,
        y=shown,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate="%{y} and %{x}: %{z:.2f} % the wrong way round<extra></extra>",
    )
    worst = worst_pairs(areas, names, _MOST_PAIRS)
    rows = tuple((a, b, percent(100 * (1 - area), 2)) for a, b, area in worst)
    largest = float(np.nanmax(wrong)) if len(order) > 1 else 1.0
    return Chart(
        "pairs",
        "How badly two phones are told apart: take a frame of each; the number says how often the model's log odds "
        "between the two are the wrong way round, in percent of all such pairs of frames (one minus the area under "
        "the ROC curve). 0 is perfect, 50 is guessing.",
        "Hardest to tell apart: " + "; ".join(f"{a} and {b}, {v} percent" for a, b, v in rows[:3]),
        _plot(
            [heat],
            xaxis={"type": "category", "side": "top", "automargin": True},
            yaxis={"type": "category", "autorange": "reversed", "automargin": True},
            coloraxis={"cmin": 0, "cmax": round(max(largest, 0.1), 2), "colorbar": {"title": "%", "thickness": 10}},
        ),
        Table("Pairs of phones told apart worst", ("phone", "phone", "wrong way round, %"), rows, n_texts=2),
        height=max(320, 90 + 15 * len(shown)),
    )


def reliability_chart(key: str, what: str, found: Reliability, *, with_intervals: bool) -> Chart:
    """Return how often probabilities of a kind come true."""
    promised = [100 * b.promised for b in found.bins]
    kept = [100 * b.kept for b in found.bins]
    bounds = None
    if with_intervals:
        bounds = {
            "type": "data",
            "symmetric": False,
            "array": [100 * (b.interval[1] - b.kept) for b in found.bins],
            "arrayminus": [100 * (b.kept - b.interval[0]) for b in found.bins],
            "thickness": 1.2,
            "width": 3,
        }
    sizes = 6 + 14 * np.sqrt(np.array([b.count for b in found.bins]) / max(found.count, 1))
    traces = [
        go.Scatter(
            x=promised,
            y=kept,
            error_y=bounds,
            mode="lines+markers",
            marker={"size": np.round(sizes, 1).tolist()},
            customdata=[b.count for b in found.bins],
            hovertemplate="promised %{x:.0f} %, right %{y:.0f} % of %{customdata}<extra></extra>",
            showlegend=False,
        ),
        go.Scatter(
            x=[0, 100],
            y=[0, 100],
            mode="lines",
            line={"dash": "dot", "width": 1.5, "color": "#888"},
            hoverinfo="skip",
            showlegend=False,
        ),
    ]
    rows = tuple(
        (f"{percent(100 * b.promised)} %", percent(100 * b.kept), b.count)
        + ((interval((100 * b.interval[0], 100 * b.interval[1])),) if with_intervals else ())
        for b in found.bins
    )
    return Chart(
        key,
        f"{what}: what is promised against what is right, both in percent; on the dotted line promises are kept, "
        "below it they are too high. Larger points stand for more of them.",
        f"Mean distance of promise and truth: {percent(100 * found.error)} points, over {found.count}.",
        _plot(
            traces,
            xaxis={"title": "promised, %", "range": [-3, 103]},
            yaxis={"title": "right, %", "range": [-3, 103]},
        ),
        Table(
            f"{what}: promised and right",
            ("promised", "right, %", "number", *(("95 % interval",) if with_intervals else ())),
            rows,
        ),
        height=330,
    )


def training_chart(curves: Mapping[str, Sequence[Step]]) -> Chart:
    """Return the log-likelihood of the training frames over the iterations of the mixtures."""
    traces = [
        go.Scatter(
            name=label,
            x=list(range(1, len(steps) + 1)),
            y=[round(step.log_likelihood, 4) for step in steps],
            mode="lines+markers",
            marker={"size": 5},
            customdata=[step.n_components for step in steps],
            hovertemplate="iteration %{x}, %{customdata} Gaussians a state: %{y:.2f}<extra>" + label + "</extra>",
        )
        for label, steps in curves.items()
    ]
    rows = tuple(
        (label, n, step.n_components, f"{step.log_likelihood:.3f}".replace("-", "−"))
        for label, steps in curves.items()
        for n, step in enumerate(steps, 1)
    )
    ends = "; ".join(
        f"{label}: from {steps[0].log_likelihood:.1f} to {steps[-1].log_likelihood:.1f}"
        for label, steps in curves.items()
    )
    return Chart(
        "training",
        "Log-likelihood of a training frame after each iteration of the Gaussian mixtures, in nats. Steps upwards "
        "are where the number of Gaussians a state is doubled; a fall within one number of them would be a fault.",
        f"Curves that rise. {ends}.",
        _plot(
            traces,
            xaxis={"title": "iteration"},
            yaxis={"title": "log-likelihood a frame", "automargin": True},
            legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
        ),
        Table(
            "Log-likelihood by iteration", ("trained on", "iteration", "Gaussians a state", "nats a frame"), rows
        ),
    )


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
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [row["interval"][1] - row["word_accuracy"] for row in own],
                    "arrayminus": [row["word_accuracy"] - row["interval"][0] for row in own],
                    "thickness": 1.2,
                    "width": 3,
                },
                customdata=[row["distinct_centers"] for row in own],
                hovertemplate="%{x} centres (%{customdata} distinct): %{y:.1f} %<extra>" + grammar + "</extra>",
            )
        )
    best = max(rows, key=lambda row: row["word_accuracy"])
    return Chart(
        "sparsity",
        f"Word accuracy of {model} on dev against the number of centres of a state or of a pair; lines are 95 % "
        "intervals. The fewer centres, the smaller and faster the model.",
        f"The best is {percent(best['word_accuracy'])} percent with {best['n_centers']} centres.",
        _plot(
            traces,
            xaxis={"title": "centres", "type": "log", "tickvals": sorted({row["n_centers"] for row in rows})},
            yaxis={"title": "word accuracy on dev, %", "automargin": True},
            legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
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


def costs_chart(found: Sequence[Cost]) -> Chart:
    """Return bars of the dearest stages."""
    shown = list(reversed(found[:_MOST_STAGES]))
    total = sum(cost.cpu_s for cost in found)
    rest = f" The {len(shown)} dearest of {len(found)}." if len(found) > len(shown) else ""
    bar = go.Bar(
        orientation="h",
        y=[cost.stage for cost in shown],
        x=[round(cost.cpu_s, 2) for cost in shown],
        customdata=[seconds(cost.wall_s) for cost in shown],
        hovertemplate="%{y}: %{x:.1f} CPU s, %{customdata} on the clock<extra></extra>",
    )
    return Chart(
        "costs",
        "CPU seconds that each stage took when it was made. What an earlier run had made already was not made "
        "again, and may have taken another time on another machine." + rest,
        f"All stages together: {seconds(total)} of the processor; the dearest is {found[0].stage} with "
        f"{seconds(found[0].cpu_s)}.",
        _plot([bar], xaxis={"title": "CPU seconds"}, yaxis={"type": "category", "automargin": True}),
        Table(
            "Time by stage",
            ("stage", "CPU seconds", "seconds on the clock"),
            tuple((cost.stage, percent(cost.cpu_s), percent(cost.wall_s)) for cost in found),
        ),
        height=80 + 22 * len(shown),
    )
