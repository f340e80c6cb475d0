"""Charts of the training: how it went, what its stages have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from asr.reports.costs import Cost, Step
from asr.reports.parts import Chart, Table, percent, seconds
from asr.reports.plots import FAINT, LEGEND, plot_of

_MOST_STAGES = 20


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
            hovertemplate="iteration %{x}, %{customdata} Gaussians a state: %{y:.2f}<extra>"
            + label
            + "</extra>",
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
        "Log-likelihood of a training frame in each iteration of the Gaussian mixtures, in nats. The numbers "
        "above the axis are the Gaussians a state from there on; each was just split in two, which costs "
        "a little at first. A fall anywhere else would be a fault.",
        f"Curves that rise. {ends}.",
        plot_of(
            traces,
            xaxis={"title": "iteration"},
            **_marks_of_sizes(next(iter(curves.values()))),
            yaxis={"title": "log-likelihood a frame", "automargin": True},
            legend=LEGEND,
        ),
        Table(
            "Log-likelihood by iteration",
            ("trained on", "iteration", "Gaussians a state", "nats a frame"),
            rows,
        ),
    )


def _marks_of_sizes(steps: Sequence[Step]) -> dict[str, Any]:
    """Return lines and numbers that say how many Gaussians a state has from which iteration on."""
    sizes = [step.n_components for step in steps]
    starts = [n for n in range(len(sizes)) if n == 0 or sizes[n] != sizes[n - 1]]
    line = {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 1, "dash": "dot", "color": FAINT},
    }
    return {
        "shapes": [{**line, "x0": n + 0.5, "x1": n + 0.5} for n in starts if n],
        "annotations": [
            {
                "x": n + 0.6,
                "xanchor": "left",
                "y": 0,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "text": str(sizes[n]),
            }
            for n in starts
        ],
    }


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
        "CPU seconds that each stage took when it was made. What an earlier run had made already was not "
        "made again, and may have taken another time on another machine." + rest,
        f"All stages together: {seconds(total)} of the processor; the dearest is {found[0].stage} with "
        f"{seconds(found[0].cpu_s)}.",
        plot_of([bar], xaxis={"title": "CPU seconds"}, yaxis={"type": "category", "automargin": True}),
        Table(
            "Time by stage",
            ("stage", "CPU seconds", "seconds on the clock"),
            tuple((cost.stage, percent(cost.cpu_s), percent(cost.wall_s)) for cost in found),
        ),
        height=80 + 22 * len(shown),
    )
