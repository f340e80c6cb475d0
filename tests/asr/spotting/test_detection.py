"""Detections and false alarms counted by hand, intervals against tables and against the counts they cover."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, poisson

from asr.errors import ConfigError
from asr.scoring.scoring import binomial_interval
from asr.spotting.detection import (
    Spoken,
    Wanted,
    detection_curve,
    hits,
    operating_point,
    poisson_interval,
    threshold_of_false_alarms,
)

ODDS = np.array([5.0, 4.0, 3.0, 2.0, 1.0, -np.inf])
IS_HIT = np.array([True, True, False, True, False, True])
SPOKEN, HOURS = 5, 2.0


class TestHits:
    def test_the_same_word_at_the_same_time(self):
        spoken = [Spoken("A", 1.0, 1.4), Spoken("B", 2.0, 2.4)]
        found = [Spoken("A", 1.1, 1.5), Spoken("A", 2.0, 2.4), Spoken("B", 3.0, 3.4)]
        assert hits(found, spoken) == [True, False, False]

    def test_a_spoken_word_is_detected_once(self):
        found = [Spoken("A", 1.0, 1.2), Spoken("A", 1.2, 1.4)]
        assert hits(found, [Spoken("A", 1.0, 1.4)]) == [True, False]
        assert hits(found, [Spoken("A", 1.0, 1.2), Spoken("A", 1.2, 1.4)]) == [True, True]


class TestOperatingPoint:
    def test_by_hand(self):
        point = operating_point(2.0, ODDS, IS_HIT, SPOKEN, HOURS)
        assert (point.detected, point.detection) == (3, 60.0)
        assert (point.false_alarms, point.false_alarms_per_hour) == (1, 0.5)
        low, high = poisson_interval(1)
        assert point.false_alarms_interval == (low / 2, high / 2)

    def test_the_curve_has_the_detections_as_its_points(self):
        points = detection_curve(ODDS, IS_HIT, SPOKEN, HOURS)
        assert [(p.threshold, p.detected, p.false_alarms) for p in points] == [
            (5, 1, 0),
            (4, 2, 0),
            (2, 3, 1),
        ]

    def test_a_long_curve_is_thinned(self):
        odds = np.random.default_rng(0).normal(size=500)
        points = detection_curve(odds, np.ones(500, bool), 500, HOURS, n_points=10)
        assert [p.detected for p in points][:1] + [p.detected for p in points][-1:] == [1, 500]
        assert len(points) == 10

    def test_nothing_found(self):
        nothing = np.empty(0), np.empty(0, bool)
        assert detection_curve(*nothing, SPOKEN, HOURS) == []
        assert operating_point(0.0, *nothing, SPOKEN, HOURS).detection == 0.0


class TestWanted:
    @pytest.mark.parametrize(("rate", "threshold"), [(0.0, 3.5), (0.5, 1.5), (1.0, 0.0)])
    def test_the_lowest_threshold_with_so_many_false_alarms(self, rate, threshold):
        assert threshold_of_false_alarms(ODDS, IS_HIT, HOURS, rate) == threshold
        assert Wanted(false_alarms=rate).threshold(ODDS, IS_HIT, SPOKEN, HOURS) == threshold

    def test_words_without_evidence_pass_no_threshold(self):
        odds, is_hit = (
            np.array([3.0, 2.0, -np.inf, -np.inf, -np.inf]),
            np.array([True, True, False, False, False]),
        )
        threshold = threshold_of_false_alarms(odds, is_hit, 1.0, 1.0)
        assert np.isfinite(threshold)
        assert operating_point(threshold, odds, is_hit, 2, 1.0).false_alarms <= 1

    def test_false_alarms_above_all_detections(self):
        assert threshold_of_false_alarms(np.array([3.0, 1.0]), np.array([False, True]), HOURS, 0.0) > 3.0

    @pytest.mark.parametrize(("detection", "threshold"), [(20.0, 5.0), (40.0, 4.0), (41.0, 2.0), (95.0, 2.0)])
    def test_the_highest_threshold_with_such_a_detection(self, detection, threshold):
        assert Wanted(detection=detection).threshold(ODDS, IS_HIT, SPOKEN, HOURS) == threshold

    def test_better_points_come_first(self):
        strict, lenient = (operating_point(t, ODDS, IS_HIT, SPOKEN, HOURS) for t in (4.0, 1.0))
        assert Wanted().shortfall(lenient) < Wanted().shortfall(strict)
        assert Wanted(detection=40.0).shortfall(strict) < Wanted(detection=40.0).shortfall(lenient)
        assert Wanted(detection=60.0).shortfall(lenient) < Wanted(detection=60.0).shortfall(strict)

    def test_one_false_alarm_an_hour_unless_said_otherwise(self):
        assert (Wanted().rate, Wanted(2.0).rate, Wanted(detection=95.0).rate) == (1.0, 2.0, None)

    @pytest.mark.parametrize(
        ("false_alarms", "detection", "message"),
        [
            (1.0, 95.0, "expected one of them"),
            (-1.0, None, "expected 0 an hour or more, got -1"),
            (np.nan, None, "expected 0 an hour or more, got nan"),
            (None, 101.0, "expected a percentage above 0, got 101"),
        ],
    )
    def test_what_cannot_be_wanted(self, false_alarms, detection, message):
        with pytest.raises(ConfigError, match=message):
            Wanted(false_alarms, detection)


class TestIntervals:
    def test_published_values(self):
        # Garwood (1936) as tabled in Johnson, Kemp and Kotz, and Clopper and Pearson (1934).
        assert_allclose(poisson_interval(1), (0.0253, 5.5716), rtol=1e-3, atol=0)
        assert_allclose(poisson_interval(10), (4.7954, 18.3904), rtol=1e-4, atol=0)
        assert_allclose(binomial_interval(10, 10), (0.6915, 1.0), rtol=1e-4, atol=0)
        assert_allclose(binomial_interval(0, 10), (0.0, 0.3085), rtol=1e-3, atol=0)

    @pytest.mark.parametrize("n", [0, 1, 7, 20])
    def test_bounds_leave_tails_of_a_fortieth(self, n):
        low, high = binomial_interval(n, 20)
        assert n == 20 or np.isclose(binom.cdf(n, 20, high), 0.025)
        assert n == 0 or np.isclose(binom.sf(n - 1, 20, low), 0.025)

    def test_the_rule_of_three(self):
        low, high = poisson_interval(0)
        assert low == 0.0
        assert_allclose(poisson.pmf(0, high), 0.05, rtol=0.01, atol=0)
