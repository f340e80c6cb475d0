"""One aligned utterance, and random tiers of labels that are hard to write."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.formats.intervals import Interval

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


@pytest.fixture(scope="session")
def spoken():
    return SimpleNamespace(
        words=WORDS,
        phones=PHONES,
        states=STATES,
        tiers=TIERS,
        random_tier=random_tier,
        assert_same=assert_same,
    )
