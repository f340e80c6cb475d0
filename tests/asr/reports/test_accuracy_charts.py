"""Charts of word accuracies show the numbers they are given."""

from asr.reports.accuracies import SpeakerRow
from asr.reports.accuracy_charts import results_chart, sparsity_chart, speakers_chart
from asr.scoring.results import Result


def result(model: str, grammar: str, accuracy: float) -> Result:
    bounds = (accuracy - 2, accuracy + 1)
    return Result(model, "best", "test", grammar, accuracy, 1, 1, 1, 50, bounds, 50.0, 9, 0)  # type: ignore[arg-type]


def test_results_have_a_line_a_grammar() -> None:
    rows = [result(m, g, a) for m, g, a in [("x", "loop", 80.0), ("x", "bigram", 90.0), ("y", "loop", 85.0)]]
    found = results_chart(rows)
    traces = {trace["name"]: trace for trace in found.plot["data"]}
    assert list(traces["x"]["x"]) == [80.0, 90.0]
    assert [round(y) for y in traces["x"]["y"]] == [1, 0]
    assert list(found.plot["layout"]["yaxis"]["ticktext"]) == ["bigram", "loop"]
    assert found.table.rows[2] == ("y", "loop", "85.0", "83.0–86.0")
    assert "90.0 percent" in found.spoken


def test_speakers_are_bars_from_the_worst_on() -> None:
    rows = [
        SpeakerRow(speaker, model, 10, accuracy, (accuracy - 5, accuracy))
        for speaker, accuracy in [("ben", -20.0), ("anna", 90.0)]
        for model in ("x", "y")
    ]
    found = speakers_chart(rows)
    assert [trace["name"] for trace in found.plot["data"]] == ["y", "x"]
    assert list(found.plot["data"][0]["y"]) == ["anna", "ben"]  # drawn from below
    assert list(found.plot["data"][0]["x"]) == [90.0, -20.0]
    assert found.plot["layout"]["xaxis"]["range"] == [-20.0, 101]
    assert found.table.rows[0] == ("ben", "x", 10, "-20.0", "−25.0 to −20.0")


def test_only_the_worst_of_many_speakers() -> None:
    rows = [SpeakerRow(f"s{n:02d}", "x", 10, 50.0 + n / 10, (0.0, 100.0)) for n in range(50)]
    found = speakers_chart(rows)
    assert len(found.plot["data"][0]["x"]) == 40
    assert "The 40 worst of 50 speakers." in found.caption
    assert len(found.table.rows) == 50


def test_sparsity_has_a_line_a_grammar() -> None:
    rows = [
        {
            "grammar": g,
            "n_centers": n,
            "distinct_centers": 9 * n,
            "word_accuracy": a,
            "interval": [a - 1, a + 1],
        }
        for g, n, a in [("loop", 25, 70.0), ("loop", 50, 80.0), ("bigram", 25, 90.0)]
    ]
    found = sparsity_chart(rows, "npd")
    assert [(t["name"], list(t["x"]), list(t["y"])) for t in found.plot["data"]] == [
        ("loop", [25, 50], [70.0, 80.0]),
        ("bigram", [25], [90.0]),
    ]
    assert found.table.rows[1] == ("loop", 50, 450, "80.0", "79.0–81.0")
