"""Heat maps and reliability show the numbers they are given."""

import numpy as np
import pytest

from asr.reports.phone_charts import confusions_chart, reliability_chart, separability_chart
from asr.reports.reliability import reliability

COUNTS = np.array([[80, 20, 0], [30, 70, 0], [0, 5, 0]])


def test_rows_are_shares_of_what_was_said() -> None:
    found = confusions_chart(COUNTS, "abc")
    (heat,) = found.plot["data"]
    assert list(heat["x"]) == list(heat["y"]) == ["a", "b"]  # c has too few frames
    assert np.array(heat["z"]).tolist() == [[80.0, 20.0], [30.0, 70.0]]
    assert found.plot["layout"]["coloraxis"]["cmax"] == 30.0
    assert found.table.rows == (("b", "a", 30, "30.0"), ("a", "b", 20, "20.0"))
    assert found.spoken.startswith("Of all frames 73.2 percent have the right phone")


def test_pairs_show_how_often_the_odds_are_wrong() -> None:
    areas = np.full((3, 3), np.nan)
    areas[0, 1] = areas[1, 0] = 0.9
    found = separability_chart(areas, "abc", COUNTS)
    (heat,) = found.plot["data"]
    assert [list(row) for row in heat["z"]] == [[None, pytest.approx(10.0)], [pytest.approx(10.0), None]]
    assert found.table.rows == (("a", "b", "10.00"),)


def test_pairs_without_enough_frames() -> None:
    found = separability_chart(np.full((3, 3), np.nan), "abc", COUNTS)
    assert found.table.rows == ()


@pytest.mark.parametrize("with_intervals", [True, False])
def test_promises_are_drawn_against_what_was_kept(with_intervals: bool) -> None:
    kept = reliability(np.array([0.25, 0.25, 0.75]), np.array([True, False, True]))
    found = reliability_chart("x", "Confidences", kept, with_intervals=with_intervals)
    points, diagonal = found.plot["data"]
    assert (list(points["x"]), list(points["y"])) == ([25.0, 75.0], [50.0, 100.0])
    assert list(diagonal["x"]) == list(diagonal["y"]) == [0, 100]
    assert ("error_y" in points) == with_intervals
    assert [row[:3] for row in found.table.rows] == [("25.0 %", "50.0", 2), ("75.0 %", "100.0", 1)]
    assert {len(row) for row in found.table.rows} == {len(found.table.head)} == {3 + with_intervals}
