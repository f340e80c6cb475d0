"""The sections of a page and what they say."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from acoustic.hmm.topology import Topology
from asr.errors import ExperimentError
from asr.reports.choice import Choice, Sample
from asr.reports.finished import Finished
from asr.reports.parts import Section
from asr.reports.phones import StatePhones
from asr.reports.sections import confusions_table, sections, words_table
from asr.scoring.scoring import score


@pytest.fixture
def empty() -> Sample:
    return Sample(StatePhones.of(Topology.monophones("ab")))


def test_results_say_which_row_is_looked_into(chosen: Choice, empty: Sample) -> None:
    found = {section.key: section for section in sections(chosen, empty)}
    assert list(found) == ["results", "speakers", "words", "calibration", "training", "sparsity", "costs"]
    rows, pairs = found["results"].tables
    (marked,) = rows.marked
    assert rows.rows[marked][:3] == ("gmm1", "bigram", "test")
    assert [row[2] for row in rows.rows] == ["test"] * 4 + ["dev"] * 4
    assert [row[:2] for row in pairs.rows] == [("gmm2 − gmm1", "loop"), ("gmm2 − gmm1", "bigram")]
    assert found["calibration"].charts == ()


def test_synthetic_speech_is_named(chosen: Choice, empty: Sample) -> None:
    synthetic = replace(chosen, finished=replace(chosen.finished, synthetic=True))
    results = next(iter(sections(synthetic, empty)))
    assert results.intro.startswith("The speech is SYNTHETIC")


def test_a_sparsity_curve_if_there_is_one(compared: Path, empty: Sample, tmp_path: Path) -> None:
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)

    def sparsity() -> Section:
        found = sections(Choice.of(Finished.read(copy), None, None), empty)
        return next(section for section in found if section.key == "sparsity")

    assert sparsity().command == "asr sparsity EXP"
    row = {
        "n_centers": 5,
        "distinct_centers": 9,
        "grammar": "loop",
        "word_accuracy": 50.0,
        "interval": [40, 60],
    }
    (copy / "sparsity.json").write_text(json.dumps({"model": "orols", "rows": [row]}))
    (chart,) = sparsity().charts
    assert "Word accuracy of orols on dev" in chart.caption
    for wrong in (
        "[]",
        '{"model": "orols"}',
        '{"model": "orols", "rows": []}',
        '{"model": "m", "rows": [{}]}',
    ):
        (copy / "sparsity.json").write_text(wrong)
        with pytest.raises(ExperimentError, match=r"sparsity\.json: not as asr train writes it"):
            sparsity()


def test_confusions_name_what_went_wrong() -> None:
    found = score({"u": ["a", "b", "c"], "v": ["a", "b"]}, {"u": ["a", "x", "c", "d"], "v": ["a", "x"]})
    table = confusions_table(found)
    assert table.rows == (("b", "x", "substitution", 2), ("—", "d", "insertion", 1))
    assert table.n_words == 2


def test_words_that_are_missed_most_often_come_first() -> None:
    said = {"u": ["a", "b", "c", "b"], "v": ["a", "b", "c"]}
    found = score(said, {"u": ["a", "x", "c", "d"], "v": ["a", "b"]})
    assert words_table(found).rows == (("b", 2, 3, "66.7"), ("c", 1, 2, "50.0"))
