from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.errors import CorpusError
from asr.formats.alignment_formats import (
    CtmEntry,
    Interval,
    fill_gaps,
    from_ctm,
    from_mlf,
    from_textgrid,
    to_ctm,
    to_mlf,
    to_textgrid,
)

WORDS = (Interval(0.1, 0.3, "go"), Interval(0.3, 0.5, 'le"ft'))
PHONES = (
    Interval(0.0, 0.1, "sil"),
    Interval(0.1, 0.2, "g"),
    Interval(0.2, 0.3, "ow"),
    Interval(0.3, 0.5, "l"),
    Interval(0.5, 0.6, "sil"),
)
STATES = (
    Interval(0.0, 0.1, "sil_2"),
    Interval(0.1, 0.15, "g_2"),
    Interval(0.15, 0.2, "g_3"),
    Interval(0.2, 0.3, "ow_2"),
    Interval(0.3, 0.5, "l_2"),
    Interval(0.5, 0.55, "sil_2"),
    Interval(0.55, 0.6, "sil_3"),
)
TIERS = {"words": WORDS, "phones": PHONES, "states": STATES}
AWKWARD = [
    'say "no"',
    '"',
    '""',
    "Åse",
    "日本",
    "a\\b",
    "\\012",
    "it's",
    "12",
    "-1.5",
    "<exists>",
    "x y",
    "line\nend",
    "= 3 4",
]

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

SHORT_TEXTGRID = """\
File type = "ooTextFile"
Object class = "TextGrid"

0
0.6
<exists>
1
"IntervalTier"
"words"
0
0.6
1
0
0.6
"le""ft 1 "
"""

MLF = """\
#!MLF!#
"*/u1.lab"
0 1000000 sil sil
1000000 2000000 g go
2000000 3000000 ow
3000000 5000000 l "le\\"ft"
5000000 6000000 sil sil
.
"""

STATE_MLF = """\
#!MLF!#
"*/u1.lab"
0 1000000 sil_2 sil sil
1000000 1500000 g_2 g go
1500000 2000000 g_3
2000000 3000000 ow_2 ow
3000000 5000000 l_2 l "le\\"ft"
5000000 5500000 sil_2 sil sil
5500000 6000000 sil_3
.
"""


def random_tier(rng):
    """Intervals of random labels on a grid of 10 ms, with gaps, and the duration."""
    times = np.cumsum(rng.integers(1, 40, 2 * len(AWKWARD))) * 0.01
    labels = rng.permutation(AWKWARD)
    starts, ends = times[::2], times[1::2]
    keep = rng.random(len(starts)) < 0.5
    ends[:-1] = np.where(keep[:-1], starts[1:], ends[:-1])
    intervals = [Interval(float(s), float(e), str(t)) for s, e, t in zip(starts, ends, labels, strict=True)]
    return intervals, float(times[-1]) + 0.123


def assert_same(actual, expected, atol):
    assert [i.label for i in actual] == [i.label for i in expected]
    times = [[(i.start_s, i.end_s) for i in intervals] for intervals in (actual, expected)]
    assert_allclose(*times, rtol=0, atol=atol)


def test_textgrid_text():
    assert to_textgrid({"words": WORDS}, 0.6) == TEXTGRID


def test_textgrid_with_every_tier_is_read_back():
    read = from_textgrid(to_textgrid(TIERS, 0.6))
    assert list(read) == ["words", "phones", "states"]
    assert read["words"] == (Interval(0.0, 0.1, ""), *WORDS, Interval(0.5, 0.6, ""))
    assert read["phones"] == PHONES


@pytest.mark.parametrize("seed", range(5))
def test_textgrid_round_trip_of_awkward_labels(seed):
    intervals, duration_s = random_tier(np.random.default_rng(seed))
    read = from_textgrid(to_textgrid({"a 1": intervals, 'b "2"': []}, duration_s))
    assert_same(read["a 1"], fill_gaps(intervals, duration_s), atol=1e-9)
    assert read['b "2"'] == (Interval(0, round(duration_s, 6), ""),)


def test_short_textgrid_is_read():
    assert from_textgrid("\ufeff" + SHORT_TEXTGRID) == {"words": (Interval(0, 0.6, 'le"ft 1 '),)}


def test_filled_tier_is_contiguous_in_text_too():
    intervals, duration_s = random_tier(np.random.default_rng(9))
    filled = fill_gaps(intervals, duration_s)
    assert filled[0].start_s == 0
    assert filled[-1].end_s == round(duration_s, 6)
    assert all(a.end_s == b.start_s for a, b in pairwise(filled))


def test_rounding_leaves_no_sliver():
    filled = fill_gaps([Interval(0, 0.1 + 0.2, "a"), Interval(0.3, 0.6000000001, "b")], 0.6)
    assert filled == (Interval(0, 0.3, "a"), Interval(0.3, 0.6, "b"))


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        (
            [Interval(0, 0.2, "a"), Interval(0.1, 0.3, "b")],
            'interval "b": expected a start at or after 0.2',
        ),
        ([Interval(0.2, 0.2, "a")], 'interval "a": .* got 0.2 to 0.2 s'),
        ([Interval(-0.1, 0.2, "a")], 'interval "a": expected a start at or after 0 s'),
        ([Interval(float("nan"), 0.2, "a")], 'interval "a": .* got nan'),
        ([Interval(0, 0.7, "a")], "expected intervals within 0.6 s, got an end at 0.7 s"),
    ],
)
def test_intervals_that_are_no_tier(intervals, message):
    with pytest.raises(CorpusError, match=message):
        fill_gaps(intervals, 0.6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "TextGrid: expected more values"),
        (TEXTGRID[:200], "TextGrid: expected more values"),
        (TEXTGRID[:-40], "TextGrid: expected more values"),
        (TEXTGRID.replace("xmin = 0.3", 'xmin = "x"'), "numbers in place of text"),
        (TEXTGRID.replace("IntervalTier", "TextTier"), 'expected interval tiers only, got TextTier "words"'),
        (TEXTGRID.replace('"TextGrid"', '"Sound"'), "expected the header of a Praat text file"),
    ],
)
def test_bad_textgrid(text, message):
    with pytest.raises(CorpusError, match=message):
        from_textgrid(text)


def test_textgrid_with_a_tier_twice():
    twice = to_textgrid({"a": [], "b": []}, 1).replace('"b"', '"a"')
    with pytest.raises(CorpusError, match="expected tiers of different names, got"):
        from_textgrid(twice)


def test_ctm_text():
    assert to_ctm("u1", WORDS) == 'u1 1 0.100 0.200 go\nu1 1 0.300 0.200 le"ft\n'
    with_gap = [Interval(0, 0.1, ""), *WORDS]
    expected = 'u1 A 0.100 0.200 go 0.750\nu1 A 0.300 0.200 le"ft 1.000\n'
    assert to_ctm("u1", with_gap, channel="A", confidences=[0, 0.75, 1]) == expected
    assert to_ctm("u1", []) == ""


def test_ctm_round_trip():
    text = (
        ";; comment\n"
        + to_ctm("u1", WORDS, confidences=[0.5, 1])
        + "\n"
        + to_ctm("Åse-2", PHONES, channel="2")
    )
    first, second, *others = from_ctm(text)
    assert (first, second) == (CtmEntry("u1", "1", WORDS[0], 0.5), CtmEntry("u1", "1", WORDS[1], 1.0))
    assert tuple(entry.interval for entry in others) == PHONES
    assert {(e.utterance_id, e.channel, e.confidence) for e in others} == {("Åse-2", "2", None)}


def test_ctm_neighbours_touch_after_rounding():
    thirds = [Interval(i / 3 * 0.01, (i + 1) / 3 * 0.01, str(i)) for i in range(30)]
    read = [entry.interval for entry in from_ctm(to_ctm("u", thirds))]
    assert all(a.end_s == b.start_s for a, b in pairwise(read))


def test_bad_ctm():
    with pytest.raises(CorpusError, match='CTM: expected ids and labels without white space, got "a b"'):
        to_ctm("u1", [Interval(0, 1, "a b")])
    with pytest.raises(CorpusError, match="expected 2 confidences, one per interval, got 1"):
        to_ctm("u1", WORDS, confidences=[1])
    for line in ("u1 1 0.1 go", "u1 1 0.1 x go", "u1 1 0.1 0.2 go 1 2", "u1 1 0.1 0.2 go yes"):
        with pytest.raises(CorpusError, match=r'CTM:2: expected "utterance channel start'):
            from_ctm(f"u1 1 0.1 0.2 go\n{line}\n")


def test_mlf_text():
    assert to_mlf({"u1": TIERS}) == MLF
    assert to_mlf({"u1": TIERS}, ("states", "phones", "words")) == STATE_MLF
    assert to_mlf({}) == "#!MLF!#\n"


def test_mlf_round_trip_names_gaps_by_the_finer_tier():
    with_silence = (Interval(0, 0.1, "sil"), *WORDS, Interval(0.5, 0.6, "sil"))
    assert from_mlf(MLF) == {"u1": {"phones": PHONES, "words": with_silence}}
    read = from_mlf(STATE_MLF, ("states", "phones", "words"))
    assert read == {"u1": {"states": STATES, "phones": PHONES, "words": with_silence}}


def test_mlf_of_several_utterances_and_an_empty_one():
    alignments = {"utt.1": {"phones": PHONES}, "2": {"phones": ()}}
    assert from_mlf(to_mlf(alignments, ["phones"]), ["phones"]) == alignments


@pytest.mark.parametrize("seed", range(5))
def test_mlf_round_trip_of_awkward_labels(seed):
    intervals, _ = random_tier(np.random.default_rng(seed))
    assert_same(from_mlf(to_mlf({"u": {"a": intervals}}, ["a"]), ["a"])["u"]["a"], intervals, atol=5e-8)


def test_mlf_scores_and_octal_characters_are_understood():
    text = '#!MLF!#\n"/data/u1.rec"\n0 100 s2 -65.1 gr\\303\\274n -1e3 \'a "b"\' \n100 300 s3 -7\n.\n'
    read = from_mlf(text, ("states", "phones", "words"))["u1"]
    assert read["states"] == (Interval(0, 1e-5, "s2"), Interval(1e-5, 3e-5, "s3"))
    assert read["phones"] == (Interval(0, 3e-5, "grün"),)
    assert read["words"] == (Interval(0, 3e-5, 'a "b"'),)


def test_mlf_word_that_no_phone_begins_with():
    tiers = {"phones": PHONES, "words": [Interval(0.12, 0.3, "go")]}
    with pytest.raises(CorpusError, match=r'to begin with "go" of tier "words" at 0\.12 s, got none'):
        to_mlf({"u1": tiers})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'MLF:1: expected "#!MLF!#", got ""'),
        ('#!MLF!#\n"*/u1.lab"\n0 1 a\n', 'MLF: expected "." after the rows of "u1"'),
        ('#!MLF!#\n"*/u1.lab"\ngo\n.\n', 'MLF:3: expected "start end label .*" in 100 ns, got "go"'),
        ('#!MLF!#\n"*/u1.lab"\n0 1 2\n.\n', 'MLF:3: expected "start end label'),
        ('#!MLF!#\n"*/u1.lab"\n.\n"*/u1.lab"\n.\n', 'MLF:4: utterance "u1" is there already'),
        ("#!MLF!#\n0 1 a b\n", "MLF:2: expected the name of a label file"),
    ],
)
def test_bad_mlf(text, message):
    with pytest.raises(CorpusError, match=message):
        from_mlf(text)
