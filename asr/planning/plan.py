"""The verb ``asr plan``: what a training will cost, before it begins."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from asr.config import ExperimentConfig, check_settings, with_preset, with_settings
from asr.errors import ConfigError
from asr.pipeline import listing
from asr.planning.planner import Planner
from asr.planning.records import ModelPlan, Plan
from asr.planning.walk import Walk
from asr.progress import warnings_once
from asr.recipe import LoadedRecipe, check_corpus, load_recipe
from asr.systems import System, find_system

CENTERS = (50, 100, 200)  # numbers of centres that are planned beside that which is configured; by feel


def plan(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    models: str | Sequence[str] = (),
    preset: str = "best",
    settings: Sequence[str] = (),
    workers: int | None = None,
    out: str | Path | None = None,
) -> Plan:
    """Return what `train` with the same arguments will cost: CPU and wall time, memory, disk, decoding.

    Counts come from transcripts, lexicon and the headers of the recordings; the cost of a frame is measured
    on two minutes of them, that of discriminants on generated frames. It takes some ten seconds.

    Parameters
    ----------
    recipe, corpus, models, preset, settings : as `train` takes them
    workers : number of threads that times are told of, beside 1, 2 and 4; one a core by default
    out : experiment directory, which then holds the prepared task for `train` to go on with; by default
        nothing is kept
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a number from 1 on, got {workers}; give the number of threads")
    loaded = load_recipe(recipe)
    check_corpus(loaded, corpus, out)
    config = with_settings(with_preset(loaded.recipe.config, preset, loaded.recipe.thesis), settings)
    names = ([models] if isinstance(models, str) else models) or loaded.recipe.models
    systems = {name: find_system(name, preset) for name in dict.fromkeys(names)}
    check_settings(settings, systems, config)
    corpus_dir = Path(corpus) if corpus is not None else None
    return plan_of(loaded, corpus_dir, config, systems, preset, workers=workers, out=out)


def plan_of(
    loaded: LoadedRecipe,
    corpus_dir: Path | None,
    config: ExperimentConfig,
    systems: Mapping[str, System],
    preset: str,
    *,
    workers: int | None = None,
    out: str | Path | None = None,
    centers: Sequence[int] = CENTERS,
) -> Plan:
    """Return what an experiment of some systems will cost.

    Parameters
    ----------
    loaded, corpus_dir, config, preset : as `asr.experiment.Experiment` takes them
    systems : the models by name
    workers, out : see `plan`
    centers : other numbers of centres that are planned, too
    """
    with _directory(out) as root, tempfile.TemporaryDirectory(prefix="asr-plan-") as scratch:
        walk = Walk(loaded, corpus_dir, root, config)
        for name, system in systems.items():
            walk.check(name, system)
        with walk.store.locked(), warnings_once():
            planner = Planner(walk, config, Path(scratch), workers)
            found = tuple(planner.model_plan(name, system) for name, system in systems.items())
            others = _with_other_centers(planner, systems, found, centers)
        amounts = planner.amounts
        return Plan(
            loaded.name,
            preset,
            amounts.amounts,
            len(amounts.lexicon),
            len(amounts.missing),
            len(amounts.lexicon.phones),
            amounts.monophones.n_states,
            planner.grammars,
            planner.n_workers,
            found,
            others,
            sum({stage: s for each in found for stage, s in each.stages.items()}.values()),
            dict(planner.speech.measured),
            listing(walk.outlook(systems)),
        )


def _with_other_centers(
    planner: Planner, systems: Mapping[str, System], found: Sequence[ModelPlan], centers: Sequence[int]
) -> tuple[ModelPlan, ...]:
    """Return the plans of the last model that has centres, with other numbers of them."""
    with_centers = [each for each in found if each.n_centers is not None]
    if not with_centers:
        return ()
    last = with_centers[-1]
    return tuple(
        planner.model_plan(last.model, systems[last.model], n) for n in centers if n != last.n_centers
    )


@contextmanager
def _directory(out: str | Path | None) -> Iterator[Path]:
    """Yield the experiment directory, or one that is there for the moment."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="asr-plan-") as directory:
        yield Path(directory)
