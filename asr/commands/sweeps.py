"""A sweep: one experiment for each point of a grid of settings, all on the same store of stages.

A grid has every combination of the values that are listed for some options. Values are separated by
semicolons where there are any: ``gmm.mixtures=1,2;1,2,4`` are two values. Without semicolons the value of an
option that is itself a list is taken whole (``gmm.mixtures=1,2,4`` is one value), and that of any other is
split at its commas (``gmm.beam=300,400``).

The table of a sweep says what each point reaches, what it costs, and how it differs from one of them. A
difference is that of the test words (of dev where there is no test), paired over the utterances. It is there
only if both points were scored on the same utterances with the same words. The table is in one piece where
the terminal is wide enough, otherwise in two.

Directory ``EXP``: ``stages/`` and ``used.json`` of all points, ``sweep.json`` (the rows of the table),
``log.txt``, and for each point ``points/NAME``, a directory as `asr.experiment` writes it, without stages.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import TypeAlias

from asr.config import full_key, is_list, short_key, split_setting
from asr.errors import ConfigError
from asr.experiment import LOG, Experiment, default_out, experiment_of
from asr.files import storage_errors, text_digest, write_json
from asr.formats.model_directories import MODELS, POINTS, SWEEP, trained_in_words
from asr.progress import log_file, say, warnings_once
from asr.recipe import LoadedRecipe, load_recipe, models_of, recipe_and_corpus
from asr.scoring.results import Result
from asr.scoring.scoring import Comparison, Transcripts, compare
from asr.store import StageStore, stage_cpu_s
from foundation.errors import AsrError, names_arguments

logger = logging.getLogger(__name__)

_LONGEST_NAME = 120  # of a directory; file systems allow 255 bytes; by feel
_NONE = "-"  # a cell without a value
_NOTES_WIDTH = 100  # columns, at most, of the notes below a table; by feel


@dataclass(frozen=True)
class Point:
    """One combination.

    Attributes
    ----------
    values : the value of each option that varies, by the shortest name of the option
    common : the settings that all points have
    """

    values: Mapping[str, str]
    common: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the point's directory is called."""
        text = "+".join(f"{key}={value}" for key, value in self.values.items())
        name = re.sub(r"[^\w.,=+-]", "-", text)[:_LONGEST_NAME]
        return name if name == text else f"{name}-{text_digest(text)[:6]}"

    @property
    def settings(self) -> tuple[str, ...]:
        """All settings, as `asr.config.with_settings` takes them."""
        return (*self.common, *(f"{key}={value}" for key, value in self.values.items()))

    def __str__(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.values.items())


def grid(settings: Sequence[str]) -> tuple[Point, ...]:
    """Return the points of a grid; the values of the option that is named first change last.

    >>> [str(point) for point in grid(["gmm.beam=300,400", "text=en", "mixtures=1,2;1,2,4"])]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['gmm.beam=300 mixtures=1,2', 'gmm.beam=300 mixtures=1,2,4',
     'gmm.beam=400 mixtures=1,2', 'gmm.beam=400 mixtures=1,2,4']
    """
    listed: dict[str, list[str]] = {}
    for setting in settings:
        key, values = _values_listed(setting)
        if key in listed:
            raise ConfigError(f"--set {key}: given twice, expected once; list its values: {key}=1,2")
        listed[key] = values
    varied = [key for key, values in listed.items() if len(values) > 1]
    if not varied:
        raise ConfigError(f"sweep: {_why_one_point(listed)}; asr train runs a single point")
    common = tuple(f"{key}={values[0]}" for key, values in listed.items() if key not in varied)
    combinations = product(*(listed[key] for key in varied))
    return tuple(Point(dict(zip(varied, values, strict=True)), common) for values in combinations)


def find_point(points: Sequence[Point], wanted: str) -> Point:
    """Return the one point with these settings, separated by white space; so many as tell it from others."""
    pairs = map(split_setting, wanted.split())
    values = {(short_key(full_key(key)), value) for key, value in pairs}
    found = [point for point in points if values <= set(map(split_setting, point.settings))]
    if len(found) != 1:
        known = "; ".join(f'"{point}"' for point in found or points)
        how_many = "several points are" if found else "no point is"
        raise ConfigError(f'--against "{wanted}": {how_many} like that, expected one of: {known}; name one')
    return found[0]


def _values_listed(setting: str) -> tuple[str, list[str]]:
    """Return the shortest name of an option and its values."""
    key, text = split_setting(setting)
    name = full_key(key)
    separator = ";" if ";" in text else "," if not is_list(name) else None
    values = [text] if separator is None else text.split(separator)
    values = [",".join(part.strip() for part in value.split(",") if part.strip()) for value in values]
    if "" in values and not (is_list(name) and len(values) == 1):
        raise ConfigError(f'--set "{setting}": a value is empty, expected {key}=VALUE,VALUE; write it')
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise ConfigError(f'--set "{setting}": {twice[0]} is there twice, expected different values')
    return short_key(name), values


def _why_one_point(listed: Mapping[str, Sequence[str]]) -> str:
    """Return what an option with several values looks like, best one of those that are given."""
    whole = [key for key, (value, *_) in listed.items() if "," in value]
    if whole:
        key, value = whole[0], listed[whole[0]][0]
        return f'{key}={value} is one list, expected several separated by semicolons: "{key}={value};…"'
    return "no option has several values, expected one, such as --set gmm.beam=300,400"


@dataclass(frozen=True)
class Outcome:
    """The results of one point, or why it failed.

    Attributes
    ----------
    point : name of its directory
    settings : the value of each option that varies
    results : rows of its ``results.json``
    transcripts : what was said and what was recognised, by row
    cpu_s : CPU seconds that each of its stages took when it was made, by stage
    what : what was trained, in words, by model
    error : why it failed; None if it did not
    """

    point: str
    settings: Mapping[str, str]
    results: tuple[Result, ...] = ()
    transcripts: Mapping[Result, tuple[Transcripts, Transcripts]] = field(default_factory=dict)
    cpu_s: Mapping[str, float] = field(default_factory=dict)
    what: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class Difference:
    """How much better than the point that all are compared with.

    Attributes
    ----------
    split : on which the two are compared: test, or dev where there is no test
    points : accuracy minus that of the other point, in percentage points
    interval : 95 % interval of this, in pairs, over utterances
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
    what : what the model is, in words
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
    what: str
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
        what=outcome.what.get(model, ""),
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


@dataclass(frozen=True)
class Sweep:
    """What a sweep has found.

    Attributes
    ----------
    rows : one for each point, model and grammar
    against : name of the point that the others are compared with
    synthetic : whether the recordings are not of people
    place : ``sweep.json``, which holds the rows
    """

    rows: tuple[SweepRow, ...]
    against: str
    synthetic: bool
    place: Path


@names_arguments
def sweep(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    out: str | Path | None = None,
    settings: Sequence[str],
    models: str | Sequence[str] = (),
    preset: str = "best",
    against: str | None = None,
) -> Sweep:
    """Return what every combination of some settings reaches, each compared with one of them.

    Stages that points have in common run once. A point that fails is a row with its error. A value with which
    no point can be run is an error before anything runs. Goes on where it stopped.

    Parameters
    ----------
    recipe, corpus, models, preset : those of `asr.train`
    out : that of `asr.train`; each point is one in ``points/NAME``
    settings : options ``key=value,value`` (see `grid`); those with one value are common to all points
    against : the settings of the point that the others are compared with; the first by default
    """
    recipe, corpus = recipe_and_corpus(recipe, corpus)
    loaded, points = load_recipe(recipe), grid(settings)
    root = default_out(recipe, corpus) if out is None else Path(out)
    reference = points[0] if against is None else find_point(points, against)
    store, names = StageStore(root), models_of(loaded, models, preset)
    planned = {point.name: (point, _planned(loaded, corpus, store, names, preset, point)) for point in points}
    _refuse_hopeless(list(planned.values()))
    record: dict[str, object] = {"recipe": loaded.name, "corpus": corpus and str(Path(corpus).absolute())}
    record |= {"models": names, "preset": preset, "settings": points[0].common}
    outcomes: list[Outcome] = []
    with store.locked(), storage_errors(root), log_file(root / LOG), warnings_once():
        for n, (point, experiment) in enumerate(planned.values()):
            say(f"point {n + 1} of {len(points)}: {point}")
            outcomes.append(_outcome(store, point, experiment, names, briefly=n > 0))
            rows = sweep_rows(outcomes, reference.name)
            content = {**record, "against": reference.name, "rows": [asdict(row) for row in rows]}
            write_json(root / SWEEP, content)
    return Sweep(rows, reference.name, loaded.recipe.is_synthetic, root / SWEEP)


def _planned(
    loaded: LoadedRecipe,
    corpus: str | Path | None,
    store: StageStore,
    models: Sequence[str],
    preset: str,
    point: Point,
) -> Experiment | AsrError:
    """Return the experiment of a point, or why its configuration is impossible."""
    out = store.root / POINTS / point.name
    try:
        found = experiment_of(loaded, corpus, out, models, preset, point.settings, store)
        found.systems(models)
    except AsrError as error:
        return error
    return found


def _refuse_hopeless(planned: Sequence[tuple[Point, Experiment | AsrError]]) -> None:
    """Raise the error of a value with which no point can be run, and one if two points are the same."""
    for key, value in _varying([point for point, _ in planned]):
        found = [result for point, result in planned if point.values[key] == value]
        errors = [result for result in found if isinstance(result, AsrError)]
        if len(errors) == len(found):
            raise errors[0]
    possible = [(point, result) for point, result in planned if isinstance(result, Experiment)]
    for n, (point, experiment) in enumerate(possible):
        for other, same in possible[:n]:
            if same.config == experiment.config:
                raise ConfigError(
                    f'sweep: "{other}" and "{point}" are the same configuration, expected different ones; '
                    "leave one out"
                )


def _varying(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Yield each value of each option that varies, once."""
    yield from dict.fromkeys(pair for point in points for pair in point.values.items())


def _outcome(
    store: StageStore,
    point: Point,
    experiment: Experiment | AsrError,
    models: Sequence[str],
    *,
    briefly: bool,
) -> Outcome:
    """Run a point, unless its configuration is impossible, and return what has become of it."""
    if isinstance(experiment, AsrError):
        return _failed(point, experiment, {})
    store.used.asked_for.clear()
    try:
        own = experiment.systems(models)  # not those of earlier runs
        results = tuple(row for row in experiment.run(models, briefly=briefly) if row.model in own)
    except AsrError as error:
        return _failed(point, error, _cpu_s(store))
    transcripts = {result: experiment.transcripts(result) for result in results}
    what = {row.model: trained_in_words(experiment.out / MODELS / row.model) for row in results}
    return Outcome(point.name, point.values, results, transcripts, _cpu_s(store), what)


def _failed(point: Point, error: AsrError, cpu_s: Mapping[str, float]) -> Outcome:
    logger.warning("point %s failed: %s", point, error)
    return Outcome(point.name, point.values, cpu_s=cpu_s, error=str(error).partition("\n")[0])


def _cpu_s(store: StageStore) -> dict[str, float]:
    """Return the CPU seconds of the stages that the last experiment asked for."""
    return {name: stage_cpu_s(store.directory / name) for name in sorted(store.used.asked_for)}


Column: TypeAlias = tuple[str, Callable[[SweepRow], str], str]  # head, cell of a row, side


def format_sweep(
    rows: Sequence[SweepRow], against: str, place: Path, *, width: int, synthetic: bool = False
) -> str:
    """Return the table, what is best on dev, what its columns are, and what failed.

    Parameters
    ----------
    rows : all rows
    against : name of the point that the others are compared with
    place : file that holds the same for programs
    width : columns of the terminal
    synthetic : whether the recordings are not of people
    """
    number = {point: str(n) for n, point in enumerate(dict.fromkeys(row.point for row in rows), 1)}
    blocks = _blocks(rows, number, _Columns(rows, number, against), width)
    notes = [*_best(rows, number), *_in_words(rows, number), *_explained(rows, number, number[against])]
    if synthetic:
        notes.append("SYNTHETIC speech, not recordings of people: not comparable with any other figure.")
    notes = [line for note in notes for line in wrap(note, min(width, _NOTES_WIDTH), subsequent_indent="  ")]
    blocks += [[*_failures(rows, number), *notes], [str(place)]]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def _blocks(
    rows: Sequence[SweepRow], number: dict[str, str], columns: _Columns, width: int
) -> list[list[str]]:
    """Return the table; where it is too wide, differences, then also settings, are put apart from it."""
    reached = [*columns.kind, *columns.reached]
    whole = _table(rows, [columns.number, *columns.settings, *reached, *columns.over])
    if _width(whole) <= width:
        return [whole]
    compared = [row for row in rows if row.difference]
    over = [_table(compared, [columns.number, *columns.kind, *columns.over])] if compared else []
    without = _table(rows, [columns.number, *columns.settings, *reached])
    if _width(without) <= width:
        return [without, *over]
    return [_legend(rows, number), _table(rows, [columns.number, *reached]), *over]


class _Columns:
    """The columns, in groups."""

    def __init__(self, rows: Sequence[SweepRow], number: dict[str, str], against: str) -> None:
        firsts = {id(row) for n, row in enumerate(rows) if not n or rows[n - 1].point != row.point}
        split = "test" if any(row.test is not None for row in rows) else "dev"

        def of_point(cpu_s: Callable[[SweepRow], float]) -> Callable[[SweepRow], str]:
            return lambda row: f"{cpu_s(row):.1f}" if id(row) in firsts else ""

        self.number: Column = ("", lambda row: number[row.point] + "*" * row.best_on_dev, "<")
        self.settings: list[Column] = [
            (key, lambda row, key=key: row.settings[key], "<")  # type: ignore[misc]
            for key in rows[0].settings
        ]
        self.kind: list[Column] = [
            ("model", lambda row: "failed" if row.error else row.model or _NONE, "<"),
            ("grammar", lambda row: row.grammar or _NONE, "<"),
        ]
        dev: Column = ("dev %", lambda row: _accuracy(row.dev), ">")
        if split == "test":
            scores = [dev, ("test % [95 %]", lambda row: _sure(row.test, row.test_interval), ">")]
        else:
            scores = [("dev % [95 %]", lambda row: _sure(row.dev, row.dev_interval), ">")]
        self.reached: list[Column] = [
            *scores,
            ("CPU s", of_point(lambda row: row.cpu_s), ">"),
            ("in all", of_point(lambda row: row.cpu_s_in_all), ">"),
        ]
        over: list[Column] = [
            (f"{split} over {number[against]} [95 %]", _difference_cell, ">"),
            ("p", lambda row: f"{row.difference.p_value:.2g}" if row.difference else "", ">"),
        ]
        self.over = over if any(row.difference for row in rows) else []


def _accuracy(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _sure(value: float | None, interval: tuple[float, float] | None) -> str:
    return _NONE if interval is None else f"{value:.2f} [{interval[0]:.1f}, {interval[1]:.1f}]"


def _difference_cell(row: SweepRow) -> str:
    if row.difference is None:
        return ""
    low, high = row.difference.interval
    return f"{row.difference.points:+.2f} [{low:+.1f}, {high:+.1f}]"


def _table(rows: Sequence[SweepRow], columns: Sequence[Column]) -> list[str]:
    cells = [[head for head, _, _ in columns]] + [[cell(row) for _, cell, _ in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    forms = [f"{{:{side}{width}}}" for (_, _, side), width in zip(columns, widths, strict=True)]
    return ["  ".join(map(str.format, forms, row)).rstrip() for row in cells]


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _legend(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    """Return the settings of each point on a line of its own."""
    settings = {row.point: row.settings for row in rows}
    said = {point: " ".join(f"{k}={v}" for k, v in found.items()) for point, found in settings.items()}
    return [f"{number[point]:>3}  {text}" for point, text in said.items()]


def _best(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    """Return what is best on dev, and why nothing is to be chosen on test."""
    best = [row for row in rows if row.best_on_dev]
    has_test = any(row.test is not None for row in rows)
    too_good = f"the best of {len(number)} points on test is too good by chance"
    if not best:
        return [f"no dev set: there is nothing to choose by; {too_good}"] if has_test else []
    several = len({row.grammar for row in rows if row.grammar}) > 1
    named = [f"{number[row.point]}, {row.model}" + f" with {row.grammar}" * several for row in best]
    why = f"; choose by dev, test is there to report what dev has chosen: {too_good}" if has_test else ""
    return [f"* best on dev: {'; '.join(named)}{why}"]


def _in_words(rows: Sequence[SweepRow], number: dict[str, str]) -> Iterator[str]:
    """Yield what each model is; of which points, if it is not the same in all."""
    points: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.what:
            points.setdefault((row.model, row.what), []).append(number[row.point])
    models = [model for model, _ in points]
    for (model, what), found in points.items():
        which = f" of {', '.join(dict.fromkeys(found))}" if models.count(model) > 1 else ""
        yield f"{model}{which}: {what}"


def _explained(rows: Sequence[SweepRow], number: dict[str, str], reference: str) -> list[str]:
    """Return what the columns of costs and differences are, and why there are no differences."""
    lines = ["CPU s: of stages that no earlier point has; in all: of all stages of the point"]
    if any(row.difference for row in rows):
        lines.append(
            f"over {reference}: accuracy minus that of point {reference}, its 95 % interval, and p in "
            "pairs, over utterances; of twenty points that are alike one has p < 0.05"
        )
    elif any(row.error is None and number[row.point] != reference for row in rows):
        lines.append(
            f"no differences to point {reference}: it failed, or has other words, models or grammars"
        )
    return lines


def _failures(rows: Sequence[SweepRow], number: dict[str, str]) -> list[str]:
    return [f"{number[row.point]} failed: {row.error}" for row in rows if row.error]
