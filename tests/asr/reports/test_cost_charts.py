"""Charts of the training show the numbers they are given."""

from asr.reports.cost_charts import costs_chart, training_chart
from asr.reports.costs import Cost, Step


def test_curves_say_where_gaussians_are_split() -> None:
    curve = [Step(1, -9.0), Step(1, -8.0), Step(2, -8.5), Step(2, -7.0)]
    found = training_chart({"train": curve, "train and dev": curve[:2]})
    assert [list(trace["y"]) for trace in found.plot["data"]] == [[-9.0, -8.0, -8.5, -7.0], [-9.0, -8.0]]
    assert [shape["x0"] for shape in found.plot["layout"]["shapes"]] == [2.5]
    assert [note["text"] for note in found.plot["layout"]["annotations"]] == ["1", "2"]
    assert found.table.rows[2] == ("train", 3, 2, "−8.500")


def test_bars_of_the_dearest_stages() -> None:
    found = costs_chart([Cost(f"stage {n}", 30.0 - n, 1.0) for n in range(25)])
    (bars,) = found.plot["data"]
    assert (len(bars["y"]), bars["y"][-1], bars["x"][-1]) == (20, "stage 0", 30.0)
    assert "The 20 dearest of 25." in found.caption
    assert len(found.table.rows) == 25
    assert "7 min 30 s of the processor" in found.spoken
