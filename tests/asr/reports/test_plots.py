"""What all charts have in common."""

import plotly.graph_objects as go
import pytest

from asr.reports.plots import error_bars, plot_of


def test_a_plot_is_plain_data_that_plotly_has_checked() -> None:
    found = plot_of([go.Bar(x=[1, 2], y=["a", "b"])], xaxis={"title": "n"})
    assert found["data"][0]["type"] == "bar"
    assert found["layout"]["xaxis"]["title"] == {"text": "n"}
    with pytest.raises(ValueError, match="colour"):
        plot_of([], colour="red")


def test_error_bars_reach_to_the_ends_of_intervals() -> None:
    found = error_bars([(90.0, (85.0, 92.0)), (50.0, (50.0, 50.0))])
    assert (found["arrayminus"], found["array"]) == ([5.0, 0.0], [2.0, 0.0])
