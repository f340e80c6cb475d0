"""Charts of what frames and confidences tell: which phones are confused, what probabilities are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from asr.reports.parts import Chart, Table, interval, percent
from asr.reports.phones import FEWEST_FRAMES, order_by_likeness, worst_pairs
from asr.reports.plots import FAINT, error_bars, plot_of
from asr.reports.reliability import Reliability
from foundation.arrays import Floats, Longs

_MOST_PAIRS = 25


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
        "Each row: the frames of a phone; each column: which phone the model holds most probable at these "
        "frames, without lexicon and grammar. Phones that are often confused stand beside each other. The "
        f"scale ends at the largest confusion, which the diagonal exceeds. Phones with less than "
        f"{FEWEST_FRAMES} frames are left out.",
        f"Of all frames {percent(right)} percent have the right phone. "
        + "; ".join(f"{a} is taken for {b} in {share} percent" for a, b, _, share in rows[:3]),
        plot_of(
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
        "How badly two phones are told apart: take a frame of each; the number says how often the model's "
        "log odds between the two are the wrong way round, in percent of all such pairs of frames (one "
        "minus the area under the ROC curve). 0 is perfect, 50 is guessing.",
        "Hardest to tell apart: " + "; ".join(f"{a} and {b}, {v} percent" for a, b, v in rows[:3]),
        plot_of(
            [heat],
            xaxis={"type": "category", "side": "top", "automargin": True},
            yaxis={"type": "category", "autorange": "reversed", "automargin": True},
            coloraxis={
                "cmin": 0,
                "cmax": round(max(largest, 0.1), 2),
                "colorbar": {"title": "%", "thickness": 10},
            },
        ),
        Table("Pairs of phones told apart worst", ("phone", "phone", "wrong way round, %"), rows, n_texts=2),
        height=max(320, 90 + 15 * len(shown)),
    )


def reliability_chart(key: str, what: str, found: Reliability, *, with_intervals: bool) -> Chart:
    """Return how often probabilities of a kind come true."""
    promised = [100 * b.promised for b in found.bins]
    kept = [100 * b.kept for b in found.bins]
    ends = [(100 * b.interval[0], 100 * b.interval[1]) for b in found.bins]
    sizes = 6 + 14 * np.sqrt(np.array([b.count for b in found.bins]) / max(found.count, 1))
    traces = [
        go.Scatter(
            x=promised,
            y=kept,
            error_y=error_bars(list(zip(kept, ends, strict=True))) if with_intervals else None,
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
            line={"dash": "dot", "width": 1.5, "color": FAINT},
            hoverinfo="skip",
            showlegend=False,
        ),
    ]
    rows = tuple(
        (f"{percent(100 * b.promised)} %", percent(100 * b.kept), b.count)
        + ((interval(bounds),) if with_intervals else ())
        for b, bounds in zip(found.bins, ends, strict=True)
    )
    return Chart(
        key,
        f"{what}: what is promised against what is right, both in percent; on the dotted line promises are "
        f"kept, below it they are too high. Larger points stand for more of them.",
        f"Mean distance of promise and truth: {percent(100 * found.error)} points, over {found.count}.",
        plot_of(
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
