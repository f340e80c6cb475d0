"""What all charts have in common. Colours are the page's: it knows whether it is day or night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

FAINT = "rgba(128, 128, 128, 0.5)"  # by day and by night
LEGEND = {"orientation": "h", "y": 1.0, "yanchor": "bottom"}


def plot_of(traces: Sequence[Any], **layout: Any) -> Mapping[str, Any]:
    """Return a figure as plain data; Plotly checks it, the page draws it."""
    figure = go.Figure(list(traces), layout={"template": "none", **layout})
    plot: Mapping[str, Any] = figure.to_plotly_json()
    return plot


def error_bars(found: Sequence[tuple[float, tuple[float, float]]]) -> dict[str, Any]:
    """Return the error bars of values with intervals."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [round(high - value, 3) for value, (_, high) in found],
        "arrayminus": [round(value - low, 3) for value, (low, _) in found],
        "thickness": 1.2,
        "width": 3,
    }
