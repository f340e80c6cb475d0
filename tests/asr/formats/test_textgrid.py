"""TextGrids as Praat writes them."""

import numpy as np
import parselmouth
import pytest
from parselmouth.praat import call
from praatio import textgrid

from asr.errors import CorpusError
from asr.formats.intervals import Interval, Passage, fill_gaps
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


LONG = """\
File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2.5
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "TextTier"
        name = "bell"
        xmin = 0
        xmax = 2.5
        points: size = 1
        points [1]:
            number = 1.25
            mark = "ding"
    item [2]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2.5
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 1
            text = ""
        intervals [2]:
            xmin = 1
            xmax = 2.5
            text = "go ""left"" 3 "
"""

SHORT = """\
File type = "ooTextFile"
Object class = "TextGrid"

0
2.5
<exists>
2
"TextTier"
"bell"
0
2.5
1
1.25
"ding"
"IntervalTier"
"words"
0
2.5
2
0
1
""
1
2.5
"go ""left"" 3 "
"""


@pytest.mark.parametrize("text", [LONG, SHORT, "\ufeff" + SHORT.replace("\n", "\r\n")])
@pytest.mark.parametrize("kind", ['"ooTextFile"', '"ooTextFile short"'])
def test_tiers_of_intervals(text: str, kind: str) -> None:
    (tier,) = read_textgrid(text.replace('"ooTextFile"', kind), "a.TextGrid")
    assert (tier.name, tier.participant, tier.end_s) == ("words", None, 2.5)
    assert tier.passages == (
        Passage(0.0, 1.0, "", 'a.TextGrid tier "words" [1]'),
        Passage(1.0, 2.5, 'go "left" 3 ', 'a.TextGrid tier "words" [2]'),
    )


def test_two_tiers_may_have_one_name() -> None:
    text = SHORT.replace(
        '"TextTier"\n"bell"\n0\n2.5\n1\n1.25\n', '"IntervalTier"\n"words"\n0\n2.5\n1\n0\n2.5\n'
    )
    assert [tier.passages[0].text for tier in read_textgrid(text, "a")] == ["ding", ""]


def test_a_textgrid_without_tiers() -> None:
    text = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n2.5\n<absent>\n'
    assert read_textgrid(text, "a") == []


@pytest.mark.parametrize("text", [LONG, SHORT])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", "a damaged TextGrid, expected more values"),
        (lambda text: text[:120], "a damaged TextGrid, expected more values"),
        (lambda text: text[:-40], "a damaged TextGrid, expected more values"),
        (lambda text: text.replace("1.25", '"x"').replace("2.5", '"x"'), "numbers in place of text"),
        (lambda text: text.replace("IntervalTier", "PitchTier"), 'tier "words" is a PitchTier, expected an'),
        (lambda text: text.replace('"TextGrid"', '"Sound"'), "no TextGrid, expected the header of a Praat"),
    ],
)
def test_broken_textgrids(text: str, change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CorpusError, match=message):
        read_textgrid(change(text), "a.TextGrid")


def test_a_string_over_several_lines_is_named_in_one() -> None:
    text = 'File type = "ooTextFile"\nObject class = "TextGrid"\n0 1 <exists> 1\nclass = "Interval\n  Tier"\n'
    text += 'name = "words"\n0 1 1\n0 1 "go"\n'
    with pytest.raises(CorpusError, match=r'tier "words" is a Interval Tier, expected'):
        read_textgrid(text, "x.TextGrid")
