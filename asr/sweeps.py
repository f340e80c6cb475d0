"""A sweep: one experiment for each point of a grid of settings, all on the same store of stages.

Directory ``EXP``: ``stages/`` and ``used.json`` of all points, ``sweep.json`` (the rows of the table),
``log.txt``, and for each point ``points/NAME``, a directory as `asr.experiment` writes it, without stages.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from asr.decoding.model_directories import POINTS
from asr.errors import ConfigError
from asr.experiment import LOG, Experiment, experiment_of
from asr.files import storage_errors, write_json
from asr.grid import Point, find_point, grid
from asr.progress import log_file, say, warnings_once
from asr.recipe import LoadedRecipe, load_recipe, models_of
from asr.scoring.points import SWEEP, Outcome, SweepRow, sweep_rows
from asr.store import StageStore, stage_cpu_s
from foundation.errors import AsrError

logger = logging.getLogger(__name__)


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


def sweep(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    out: str | Path,
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
    out : experiment directory; each point is one in ``points/NAME``
    settings : options ``key=value,value`` (see `asr.grid`); those with one value are common to all points
    against : the settings of the point that the others are compared with; the first by default
    """
    loaded, points, root = load_recipe(recipe), grid(settings), Path(out)
    reference = points[0] if against is None else find_point(points, against)
    store, names = StageStore(root), models_of(loaded, models)
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
    for key, value in _values([point for point, _ in planned]):
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


def _values(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
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
        results = experiment.run(models, briefly=briefly)
    except AsrError as error:
        return _failed(point, error, _cpu_s(store))
    transcripts = {result: experiment.transcripts(result) for result in results}
    return Outcome(point.name, point.values, results, transcripts, _cpu_s(store))


def _failed(point: Point, error: AsrError, cpu_s: Mapping[str, float]) -> Outcome:
    logger.warning("point %s failed: %s", point, error)
    return Outcome(point.name, point.values, cpu_s=cpu_s, error=str(error).partition("\n")[0])


def _cpu_s(store: StageStore) -> dict[str, float]:
    """Return the CPU seconds of the stages that the last experiment asked for."""
    return {name: stage_cpu_s(store.directory / name) for name in sorted(store.used.asked_for)}
