"""TextGrids, long and short, whole and broken."""

import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Passage
from asr.formats.praat_elan import read_textgrid

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
