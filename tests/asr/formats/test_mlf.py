"""Master label files as HTK writes and reads them."""

import numpy as np
import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval
from asr.formats.mlf import from_mlf, to_mlf

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


def test_mlf_text(spoken):
    assert to_mlf({"u1": spoken.tiers}) == MLF
    assert to_mlf({"u1": spoken.tiers}, ("states", "phones", "words")) == STATE_MLF
    assert to_mlf({}) == "#!MLF!#\n"


def test_mlf_round_trip_names_gaps_by_the_finer_tier(spoken):
    with_silence = (Interval(0, 0.1, "sil"), *spoken.words, Interval(0.5, 0.6, "sil"))
    assert from_mlf(MLF) == {"u1": {"phones": spoken.phones, "words": with_silence}}
    read = from_mlf(STATE_MLF, ("states", "phones", "words"))
    assert read == {"u1": {"states": spoken.states, "phones": spoken.phones, "words": with_silence}}


def test_mlf_of_several_utterances_and_an_empty_one(spoken):
    alignments = {"utt.1": {"phones": spoken.phones}, "2": {"phones": ()}}
    assert from_mlf(to_mlf(alignments, ["phones"]), ["phones"]) == alignments


@pytest.mark.parametrize("seed", range(5))
def test_mlf_round_trip_of_awkward_labels(seed, spoken):
    intervals, _ = spoken.random_tier(np.random.default_rng(seed))
    spoken.assert_same(
        from_mlf(to_mlf({"u": {"a": intervals}}, ["a"]), ["a"])["u"]["a"], intervals, atol=5e-8
    )


def test_mlf_scores_and_octal_characters_are_understood():
    text = '#!MLF!#\n"/data/u1.rec"\n0 100 s2 -65.1 gr\\303\\274n -1e3 \'a "b"\' \n100 300 s3 -7\n.\n'
    read = from_mlf(text, ("states", "phones", "words"))["u1"]
    assert read["states"] == (Interval(0, 1e-5, "s2"), Interval(1e-5, 3e-5, "s3"))
    assert read["phones"] == (Interval(0, 3e-5, "grün"),)
    assert read["words"] == (Interval(0, 3e-5, 'a "b"'),)


def test_mlf_word_that_no_phone_begins_with(spoken):
    tiers = {"phones": spoken.phones, "words": [Interval(0.12, 0.3, "go")]}
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
