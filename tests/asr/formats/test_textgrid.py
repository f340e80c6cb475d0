"""TextGrids as Praat writes them."""

import numpy as np
import parselmouth
import pytest
from parselmouth.praat import call
from praatio import textgrid

from asr.formats.intervals import Interval, fill_gaps
from asr.formats.praat_elan import read_textgrid, to_textgrid
from asr.formats.tables import decoded

TEXTGRID = """\
File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 0.6
tiers? <exists>
size = 1
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 0.6
        intervals: size = 4
        intervals [1]:
            xmin = 0
            xmax = 0.1
            text = ""
        intervals [2]:
            xmin = 0.1
            xmax = 0.3
            text = "go"
        intervals [3]:
            xmin = 0.3
            xmax = 0.5
            text = "le""ft"
        intervals [4]:
            xmin = 0.5
            xmax = 0.6
            text = ""
"""


def from_textgrid(text):
    return {
        tier.name: tuple(Interval(s.start_s, s.end_s, s.text) for s in tier.passages)
        for tier in read_textgrid(text, "x.TextGrid")
    }


def test_textgrid_text(spoken):
    assert to_textgrid({"words": spoken.words}, 0.6) == TEXTGRID


def test_textgrid_with_every_tier_is_read_back(spoken):
    read = from_textgrid(to_textgrid(spoken.tiers, 0.6))
    assert list(read) == ["words", "phones", "states"]
    assert read["words"] == (Interval(0.0, 0.1, ""), *spoken.words, Interval(0.5, 0.6, ""))
    assert read["phones"] == spoken.phones


@pytest.mark.parametrize("seed", range(5))
def test_textgrid_round_trip_of_awkward_labels(seed, spoken):
    intervals, duration_s = spoken.random_tier(np.random.default_rng(seed))
    read = from_textgrid(to_textgrid({"a 1": intervals, 'b "2"': []}, duration_s))
    spoken.assert_same(read["a 1"], fill_gaps(intervals, duration_s), atol=1e-9)
    assert read['b "2"'] == (Interval(0, round(duration_s, 6), ""),)


@pytest.mark.parametrize("seed", range(3))
def test_praat_itself_and_praatio_find_the_same(spoken, seed, tmp_path):
    """Praat 6.4 as parselmouth brings it, praatio 6: other readers than ours."""
    intervals, duration_s = spoken.random_tier(np.random.default_rng(seed))
    path = tmp_path / "x.TextGrid"
    path.write_text(to_textgrid({"words": intervals, "other": intervals[:3]}, duration_s), encoding="utf-8")
    grid = parselmouth.Data.read(str(path))
    assert call(grid, "Get number of tiers") == 2
    read = textgrid.openTextgrid(str(path), includeEmptyIntervals=True)
    for number, (name, kept) in enumerate({"words": intervals, "other": intervals[:3]}.items(), 1):
        expected = fill_gaps(kept, duration_s)
        assert call(grid, "Get tier name", number) == name
        praats = [
            Interval(
                *(call(grid, f"Get {end} time of interval", number, n) for end in ("start", "end")),
                call(grid, "Get label of interval", number, n),
            )
            for n in range(1, call(grid, "Get number of intervals", number) + 1)
        ]
        spoken.assert_same(praats, expected, atol=1e-9)
        entries = read.getTier(name).entries
        spoken.assert_same([Interval(*entry) for entry in entries], expected, atol=1e-9)


def test_what_praat_writes_is_read(tmp_path):
    grid = call("Create TextGrid...", 0, 1.5, "words points", "points")
    call(grid, "Insert boundary", 1, 0.5)
    call(grid, "Set interval text", 1, 2, 'say "ä"')
    for command in ("Save as text file", "Save as short text file"):
        call(grid, command, str(tmp_path / "x.TextGrid"))
        content = (tmp_path / "x.TextGrid").read_bytes()
        found = from_textgrid(decoded(content))
        assert found == {"words": (Interval(0, 0.5, ""), Interval(0.5, 1.5, 'say "ä"'))}
