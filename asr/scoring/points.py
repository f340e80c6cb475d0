"""The points of a sweep beside each other: what each reaches, what it costs, how it differs from one of them.

A difference is that of the test words (of dev where there is no test), paired over the utterances. It is
there only if both points were scored on the same utterances with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from asr.scoring.results import Result
from asr.scoring.scoring import Comparison, Transcripts, compare

SWEEP = "sweep.json"


@dataclass(frozen=True)
class Outcome:
    """What has become of one point.

    Attributes
    ----------
    point : name of its directory
    settings : the value of each option that varies
    results : rows of its ``results.json``
    transcripts : what was said and what was recognised, by row
    cpu_s : CPU seconds that each of its stages took when it was made, by stage
    error : why it failed; None if it did not
    """

    point: str
    settings: Mapping[str, str]
    results: tuple[Result, ...] = ()
    transcripts: Mapping[Result, tuple[Transcripts, Transcripts]] = field(default_factory=dict)
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Difference:
    """How much better than the point that all are compared with.

    Attributes
    ----------
    split : on which the two are compared: test, or dev where there is no test
    points : accuracy minus that of the other point, in percentage points
    interval : 95 % interval of this, by the paired bootstrap over utterances
    p_value : two-sided, by the same bootstrap
    sign_test_p_value : by the exact sign test over the utterances that differ
    """

    split: str
    points: float
    interval: tuple[float, float]
    p_value: float
    sign_test_p_value: float

    @classmethod
    def of(cls, split: str, comparison: Comparison) -> Difference:
        """Return the difference that a comparison has found."""
        low, high = comparison.interval
        return cls(
            split,
            round(comparison.difference, 3),
            (round(low, 3), round(high, 3)),
            comparison.p_value,
            comparison.sign_test_p_value,
        )


@dataclass(frozen=True)
class SweepRow:
    """One point with one model and one grammar.

    Attributes
    ----------
    point : name of the directory in ``EXP/points``
    settings : the value of each option that varies
    model, grammar : empty where the point failed, or has neither dev nor test
    dev, test : word accuracies in percent; None where there is no such split
    dev_interval, test_interval : their 95 % bootstrap intervals
    cpu_s : CPU seconds of the point's stages that no earlier point has
    cpu_s_in_all : CPU seconds of all its stages
    best_on_dev : whether no other row with the same grammar is better on dev; of equals the first
    difference : to the row of the other point with the same model and grammar; None where there is none
    error : why the point failed; None if it did not
    """

    point: str
    settings: Mapping[str, str]
    model: str
    grammar: str
    dev: float | None
    dev_interval: tuple[float, float] | None
    test: float | None
    test_interval: tuple[float, float] | None
    cpu_s: float
    cpu_s_in_all: float
    best_on_dev: bool
    difference: Difference | None
    error: str | None


def sweep_rows(outcomes: Sequence[Outcome], against: str) -> tuple[SweepRow, ...]:
    """Return the rows of all points, in their order, each compared with the point of a name."""
    reference = next((outcome for outcome in outcomes if outcome.point == against), None)
    best = set(_best_on_dev(outcomes).values())
    counted: set[str] = set()
    rows = []
    for outcome in outcomes:
        own = sum(cpu_s for stage, cpu_s in outcome.cpu_s.items() if stage not in counted)
        counted |= set(outcome.cpu_s)
        for model, grammar in dict.fromkeys((r.model, r.grammar) for r in outcome.results) or [("", "")]:
            is_best = (outcome.point, model, grammar) in best
            rows.append(_row(outcome, model, grammar, own, reference, is_best=is_best))
    return tuple(rows)


def _row(
    outcome: Outcome, model: str, grammar: str, own_cpu_s: float, reference: Outcome | None, *, is_best: bool
) -> SweepRow:
    dev, test = (_result(outcome, model, split, grammar) for split in ("dev", "test"))
    return SweepRow(
        point=outcome.point,
        settings=outcome.settings,
        model=model,
        grammar=grammar,
        dev=dev.word_accuracy if dev else None,
        dev_interval=dev.interval if dev else None,
        test=test.word_accuracy if test else None,
        test_interval=test.interval if test else None,
        cpu_s=round(own_cpu_s, 3),
        cpu_s_in_all=round(sum(outcome.cpu_s.values()), 3),
        best_on_dev=is_best,
        difference=_difference(outcome, reference, test or dev),
        error=outcome.error,
    )


def _result(outcome: Outcome, model: str, split: str, grammar: str) -> Result | None:
    wanted = model, split, grammar
    return next((r for r in outcome.results if (r.model, r.split, r.grammar) == wanted), None)


def _best_on_dev(outcomes: Sequence[Outcome]) -> dict[str, tuple[str, str, str]]:
    """Return point, model and grammar of the first row that is best on dev, by grammar."""
    best: dict[str, tuple[float, tuple[str, str, str]]] = {}
    for point, result in _dev_results(outcomes):
        if result.grammar not in best or result.word_accuracy > best[result.grammar][0]:
            best[result.grammar] = result.word_accuracy, (point, result.model, result.grammar)
    return {grammar: names for grammar, (_, names) in best.items()}


def _dev_results(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, Result]]:
    return ((outcome.point, r) for outcome in outcomes for r in outcome.results if r.split == "dev")


def _difference(outcome: Outcome, reference: Outcome | None, result: Result | None) -> Difference | None:
    """Return by how much a result is better than the other point's, if both are of the same words."""
    if reference is None or result is None or outcome.point == reference.point:
        return None
    other = _result(reference, result.model, result.split, result.grammar)
    if other is None:
        return None
    said_there, recognised_there = reference.transcripts[other]
    said_here, recognised_here = outcome.transcripts[result]
    if dict(said_there) != dict(said_here):
        return None
    return Difference.of(result.split, compare(said_here, recognised_there, recognised_here))
