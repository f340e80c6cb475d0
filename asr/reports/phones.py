"""What frames and confidences of a sample of the utterances tell: figures, charts and sections of the page.

Which phone is taken for which, how far pairs of phones are apart, and whether probabilities keep what they
promise: of what is said to be 80 % sure, are 80 % right? Axes: T frames, P phones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.stats import rankdata

from asr.reports.finished import Choice
from asr.reports.hearing import HeardUtterance, StatePhones
from asr.reports.page import Chart, Section, Table, error_bars, interval, percent, plot_of
from asr.scoring.edit_distance import align_words
from asr.scoring.scoring import share_interval
from foundation.arrays import Flags, Floats, Integers, Ints, Longs, Reals, Singles

FEWEST_FRAMES = 20  # of a phone, to say anything of it; by feel
N_BINS = 10  # by feel
_FEWEST_WORDS, _FEWEST_FRAMES = 10, 100  # of a bin that a picture shows; by feel
N_SAMPLE = 200  # utterances that the figures of phones and confidences are of; by feel
MOST_FRAMES = 400_000  # that figures of phones are of: more than an hour; by feel
_MOST_PAIRS = 25  # by feel


@dataclass
class Sample:
    """Figures of some utterances, gathered from one after the other.

    Attributes
    ----------
    phones : names of the phones, and what states stand for
    n_utterances : how many were taken in
    """

    phones: StatePhones
    n_utterances: int = 0
    _labels: list[Ints] = field(default_factory=list)
    _log_posteriors: list[Singles] = field(default_factory=list)
    _sure: list[float] = field(default_factory=list)
    _right: list[bool] = field(default_factory=list)
    _utterances: list[int] = field(default_factory=list)

    def add(self, heard: HeardUtterance, labels: Ints | None) -> None:
        """Take an utterance in, with the phone (T,) of each frame, if that is known."""
        self.n_utterances += 1
        if labels is not None and sum(map(len, self._labels)) < MOST_FRAMES:
            self._labels.append(labels)
            self._log_posteriors.append(heard.log_posteriors.astype(np.float32))
        pairs = align_words(heard.utterance.spoken, heard.hypothesis.text)
        right = [said == found for said, found in pairs if found is not None]
        for word, is_right in zip(heard.hypothesis.words, right, strict=True):
            if word.confidence is not None:
                self._sure.append(word.confidence)
                self._right.append(is_right)
                self._utterances.append(self.n_utterances)

    @cached_property
    def labels(self) -> Ints:
        """The phone (T,) of each frame of all utterances, −1 where it is unknown."""
        return np.concatenate([np.zeros(0, dtype=np.int32), *self._labels])

    @cached_property
    def log_posteriors(self) -> Singles:
        """The log posteriors (T, P) of all frames."""
        none = np.zeros((0, len(self.phones.names)), dtype=np.float32)
        return np.concatenate([none, *self._log_posteriors])

    @cached_property
    def confusions(self) -> Longs:
        """How many frames of each phone are most probably which phone, (P, P)."""
        return confusions(self.labels, self.log_posteriors)

    @cached_property
    def separability(self) -> Floats:
        """How well each pair of phones is told apart, (P, P)."""
        return separability(self.labels, self.log_posteriors)

    @cached_property
    def of_words(self) -> Reliability:
        """How reliable the confidences of words are."""
        sure, right = np.array(self._sure, dtype=np.float64), np.array(self._right, dtype=bool)
        return reliability(sure, right, np.array(self._utterances, dtype=np.int64))

    @cached_property
    def of_frames(self) -> Reliability:
        """How reliable the largest posterior of each frame is."""
        known = self.labels >= 0
        posteriors = self.log_posteriors[known]
        best = np.argmax(posteriors, axis=1)
        sure = np.exp(posteriors.max(axis=1, initial=-np.inf).astype(np.float64))
        return reliability(np.minimum(sure, 1.0), best == self.labels[known])


def sample_of(ids: Sequence[str]) -> frozenset[str]:
    """Return some utterances, the same ones each time, all if they are few."""
    drawn = np.random.default_rng(0).permutation(len(ids))[:N_SAMPLE]
    return frozenset(sorted(ids)[n] for n in drawn)


def phones_section(chosen: Choice, sample: Sample) -> Iterator[Section]:
    """Yield which phones the frames are taken for, and which are hard to tell apart, if any are known."""
    if not sample.confusions.sum():
        return
    names, counts = sample.phones.names, sample.confusions
    yield Section(
        "phones",
        "Phones",
        f"Frame by frame, {chosen.model} on {sample.n_utterances} utterances of {chosen.split}. What was "
        f"said is the model's own alignment of the transcript, so these figures are better than against one "
        f"by hand.",
        charts=(
            confusions_chart(counts, names),
            separability_chart(sample.separability, names, counts),
        ),
    )


def confusions(labels: Integers, log_posteriors: Reals) -> Longs:
    """Return how many frames of each phone (row) are most probably which phone (column), (P, P).

    Parameters
    ----------
    labels : (T,) phone of each frame, −1 for none
    log_posteriors : (T, P)
    """
    n_phones, known = log_posteriors.shape[1], labels >= 0
    cells = labels[known].astype(np.int64) * n_phones + np.argmax(log_posteriors[known], axis=1)
    return np.bincount(cells, minlength=n_phones**2).reshape(n_phones, n_phones)


def confusions_chart(counts: Longs, names: Sequence[str]) -> Chart:
    """Return the heat map of which phone is taken for which."""
    order = order_by_likeness(counts)
    shown = [names[n] for n in order]
    used = counts[np.ix_(order, order)]
    totals = counts[order].sum(axis=1)
    shares = 100 * used / np.maximum(totals[:, None], 1)
    wrong = shares - np.diag(np.diag(shares))
    right = 100 * np.trace(counts) / max(counts.sum(), 1)
    heat = {
        "type": "heatmap",
        "z": np.round(shares, 1).tolist(),
        "x": shown,
        "y": shown,
        "hover": "{y} taken for {x}: {z} % of its frames",
    }
    places = sorted(np.argwhere(wrong > 0).tolist(), key=lambda at: -used[at[0], at[1]])[:_MOST_PAIRS]
    rows = tuple((shown[a], shown[b], int(used[a, b]), percent(shares[a, b])) for a, b in places)
    return Chart(
        "phones",
        "Each row: the frames of a phone; each column: which phone the model holds most probable at these "
        "frames, without lexicon and grammar. Phones that are often confused stand beside each other. The "
        f"scale ends at the largest confusion, which the diagonal exceeds. Phones with less than "
        f"{FEWEST_FRAMES} frames are left out.",
        f"Of all frames {percent(right)} percent have the right phone. "
        + "; ".join(f"{a} is taken for {b} in {share} percent" for a, b, _, share in rows[:3]),
        plot_of(
            [heat],
            xaxis={"type": "category", "title": "taken for"},
            yaxis={"type": "category", "autorange": "reversed", "title": "said"},
            coloraxis={"cmin": 0, "cmax": round(float(max(wrong.max(initial=0.0), 1.0)), 1)},
        ),
        Table("Phones most confused", ("said", "taken for", "frames", "% of its frames"), rows, n_texts=2),
        height=max(320, 110 + 15 * len(shown)),
    )


def order_by_likeness(counts: Longs) -> list[int]:
    """Return the phones with `FEWEST_FRAMES` frames or more, those that are often confused beside each other.

    Parameters
    ----------
    counts : (P, P) confusions
    """
    used = np.flatnonzero(counts.sum(axis=1) >= FEWEST_FRAMES)
    if len(used) < 3:
        return [int(phone) for phone in used]
    shares = counts[np.ix_(used, used)] / np.maximum(counts[used].sum(axis=1, keepdims=True), 1)
    likeness = (shares + shares.T)[np.triu_indices(len(used), 1)]
    tree = linkage(likeness.max(initial=0.0) - likeness, "average", optimal_ordering=True)
    return [int(phone) for phone in used[leaves_list(tree)]]


def separability(labels: Integers, log_posteriors: Reals) -> Floats:
    """Return for each pair of phones the area under the ROC curve of their log odds, (P, P).

    It is the probability that of one frame of each phone the right one has the larger log odds
    (ties count half): 1 is told apart without fault, 1/2 not at all. NaN on the diagonal, and for phones
    with fewer than `FEWEST_FRAMES` frames. The parameters are those of `confusions`.
    """
    n_phones = log_posteriors.shape[1]
    # Phones of no probability at all have log odds still: those of the smallest numbers.
    finite = np.maximum(log_posteriors, -1e4)
    frames = [finite[labels == phone] for phone in range(n_phones)]
    found = np.full((n_phones, n_phones), np.nan)
    for a in range(n_phones):
        for b in range(a):
            if min(len(frames[a]), len(frames[b])) >= FEWEST_FRAMES:
                odds = [frames[phone][:, a] - frames[phone][:, b] for phone in (a, b)]
                found[a, b] = found[b, a] = area_under_curve(*odds)
    return found


def area_under_curve(positive: Reals, negative: Reals) -> float:
    """Return P(a positive value is larger than a negative one), ties counting half.

    >>> area_under_curve(np.array([3.0, 2.0]), np.array([1.0, 2.0]))
    0.875
    """
    ranks = rankdata(np.concatenate([positive, negative]))[: len(positive)]
    n = len(positive)
    return float((ranks.sum() - n * (n + 1) / 2) / (n * len(negative)))


def worst_pairs(areas: Floats, names: Sequence[str], most: int) -> list[tuple[str, str, float]]:
    """Return the pairs of phones that are told apart worst, with the area under their curve."""
    rows, columns = np.tril_indices(len(areas), -1)
    values = areas[rows, columns]
    order = [n for n in np.argsort(values, kind="stable") if np.isfinite(values[n])]
    return [(names[columns[n]], names[rows[n]], float(values[n])) for n in order[:most]]


def separability_chart(areas: Floats, names: Sequence[str], counts: Longs) -> Chart:
    """Return the heat map of how badly each pair of phones is told apart."""
    order = [n for n in order_by_likeness(counts) if np.isfinite(areas[n]).any()]
    shown = [names[n] for n in order]
    wrong = 100 * (1 - areas[np.ix_(order, order)])
    heat = {
        "type": "heatmap",
        "z": [[None if np.isnan(v) else round(v, 3) for v in row] for row in wrong.tolist()],
        "x": shown,
        "y": shown,
        "hover": "{y} and {x}: {z} % the wrong way round",
    }
    worst = worst_pairs(areas, names, _MOST_PAIRS)
    rows = tuple((a, b, percent(100 * (1 - area), 2)) for a, b, area in worst)
    largest = float(np.nanmax(wrong)) if len(order) > 1 else 1.0
    return Chart(
        "pairs",
        "How badly two phones are told apart: take a frame of each; the number says how often the model's "
        "log odds between the two are the wrong way round, in percent of all such pairs of frames (one "
        "minus the area under the ROC curve). 0 is perfect, 50 is guessing.",
        "Hardest to tell apart: " + "; ".join(f"{a} and {b}, {v} percent" for a, b, v in rows[:3]),
        plot_of(
            [heat],
            xaxis={"type": "category"},
            yaxis={"type": "category", "autorange": "reversed"},
            coloraxis={"cmin": 0, "cmax": round(max(largest, 0.1), 1)},
        ),
        Table("Pairs of phones told apart worst", ("phone", "phone", "wrong way round, %"), rows, n_texts=2),
        height=max(320, 90 + 15 * len(shown)),
    )


def calibration_section(chosen: Choice, sample: Sample) -> Section:
    """Return what confidences and posteriors are worth."""
    charts, too_few = [], []
    for key, what, found, fewest in (
        ("of-words", "Confidences of words", sample.of_words, _FEWEST_WORDS),
        ("of-frames", "Posteriors of frames, the largest of each", sample.of_frames, _FEWEST_FRAMES),
    ):
        if any(b.count >= fewest for b in found.bins):
            charts.append(reliability_chart(key, what, found, fewest, with_intervals=key == "of-words"))
        else:
            too_few.append(f" {found.count} {key.removeprefix('of-')} are too few for a picture.")
    return Section(
        "calibration",
        "Calibration",
        f"Is what {chosen.model} calls 80 % sure right eight times in ten? Confidences of words are the "
        f"decoder's, with lexicon and grammar; posteriors of frames are the acoustic model's alone. "
        f"Neighbouring frames are no independent events, hence no intervals there.{''.join(too_few)}",
        charts=tuple(charts),
    )


@dataclass(frozen=True)
class Bin:
    """Events of about the same probability.

    Attributes
    ----------
    promised : mean of their probabilities
    kept : share of them that came true
    interval : 95 % interval of this share, as accuracies have it where words are few
    count : how many they are
    """

    promised: float
    kept: float
    interval: tuple[float, float]
    count: int


@dataclass(frozen=True)
class Reliability:
    """Probabilities against what came true.

    Attributes
    ----------
    bins : those that are not empty, in order
    error : expected calibration error: the mean distance of promise and share, weighed by the counts
    """

    bins: tuple[Bin, ...]
    error: float

    @property
    def count(self) -> int:
        """All events."""
        return sum(b.count for b in self.bins)


def reliability(
    probabilities: Reals, came_true: Flags, utterances: Integers | None = None, n_bins: int = N_BINS
) -> Reliability:
    """Return how reliable probabilities (M,) of events are, of which some came true (M,).

    Events of one of the `utterances` (M,) come true together more often than others; without these, none do.
    """
    places = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    together = np.arange(len(probabilities)) if utterances is None else utterances
    found = [
        _bin(probabilities[own], came_true[own], together[own])
        for own in (places == n for n in np.unique(places))
    ]
    total = sum(b.count for b in found)
    error = sum(b.count * abs(b.promised - b.kept) for b in found) / total if total else float("nan")
    return Reliability(tuple(found), float(error))


def _bin(probabilities: Reals, came_true: Flags, utterances: Integers) -> Bin:
    _, of_utterance = np.unique(utterances, return_inverse=True)
    kept, events = np.bincount(of_utterance, came_true).astype(np.int64), np.bincount(of_utterance)
    return Bin(
        float(np.mean(probabilities)),
        float(np.mean(came_true)),
        share_interval(kept, events),
        len(came_true),
    )


def reliability_chart(
    key: str, what: str, found: Reliability, fewest: int = 1, *, with_intervals: bool
) -> Chart:
    """Return how often probabilities of a kind come true; the picture lacks bins of fewer than some."""
    shown = [b for b in found.bins if b.count >= fewest]
    promised = [100 * b.promised for b in shown]
    kept = [100 * b.kept for b in shown]
    ends = [(100 * b.interval[0], 100 * b.interval[1]) for b in shown]
    sizes = 6 + 14 * np.sqrt(np.array([b.count for b in shown]) / max(found.count, 1))
    n_left_out = len(found.bins) - len(shown)
    left_out = f" Points of fewer than {fewest} are left out; the numbers have them." if n_left_out else ""
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": promised,
            "y": kept,
            **({"error_y": error_bars(list(zip(kept, ends, strict=True)))} if with_intervals else {}),
            "mode": "lines+markers",
            "marker": {"size": np.round(sizes, 1).tolist()},
            "text": [
                f"promised {b.promised:.0%}, right {b.kept:.0%} of {b.count}".replace("%", " %")
                for b in shown
            ],
            "hover": "{text}",
        },
        {"type": "scatter", "x": [0, 100], "y": [0, 100], "mode": "lines", "faint": True},
    ]
    rows = tuple(
        (f"{percent(100 * b.promised)} %", percent(100 * b.kept), b.count)
        + ((interval((100 * b.interval[0], 100 * b.interval[1])),) if with_intervals else ())
        for b in found.bins
    )
    return Chart(
        key,
        f"{what}: what is promised against what is right, both in percent; on the dotted line promises are "
        f"kept, below it they are too high. Larger points stand for more of them.{left_out}",
        f"Mean distance of promise and truth: {percent(100 * found.error)} points, over {found.count}.",
        plot_of(
            traces,
            xaxis={"title": "promised, %", "range": [0, 100]},
            yaxis={"title": "right, %", "range": [0, 100]},
        ),
        Table(
            f"{what}: promised and right",
            ("promised", "right, %", "number", *(("95 % interval",) if with_intervals else ())),
            rows,
        ),
        height=330,
    )
