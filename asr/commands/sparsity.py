"""Accuracy against the number of centres, from one finished experiment."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from acoustic.emissions.emission_model import uncombined
from acoustic.emissions.kinds import describe
from acoustic.model import load_model
from acoustic.ways import in_words, meant, note_on
from asr.config import ExperimentConfig, known_keys, section_of, with_settings
from asr.corpora.amounts import read_data
from asr.errors import ConfigError, ExperimentError
from asr.experiment import LOG, Experiment
from asr.files import as_train_wrote, read_object, storage_errors, write_json
from asr.formats.model_directories import MODELS, SPARSITY
from asr.pipeline import pieces
from asr.progress import log_file, say, whole
from asr.recipe import is_known_recipe, load_recipe
from asr.store import StageStore, Step
from asr.systems import SPARSITY_SIZES, HybridSystem, find_system
from asr.training.recognition import read_rows

FIGURE = "sparsity.png"
_LATER = ("pools.choice",)  # options that experiments of earlier versions do not record


@dataclass(frozen=True)
class SparsityRow:
    """A model with so many centres on dev.

    Attributes
    ----------
    n_centers : number of centres of a state or of a pair that was asked for
    distinct_centers : number of distinct centres of the whole model
    grammar : name of the decoder's grammar
    word_accuracy : word accuracy on dev, where the decoder weights were tuned, too
    interval : 95 % interval of the word accuracy
    what : what was trained, in words
    """

    n_centers: int
    distinct_centers: int
    grammar: str
    word_accuracy: float
    interval: tuple[float, float]
    what: str


def sparsity(
    experiment: str | Path,
    *,
    model: str = "pools",
    sizes: Sequence[int] = SPARSITY_SIZES,
    recipe: str | Path | None = None,
) -> tuple[SparsityRow, ...]:
    """Train a model of an experiment anew with other numbers of centres, and score it on dev.

    Writes ``sparsity.json``, and ``sparsity.png`` where matplotlib is installed. Goes on where it stopped.

    Parameters
    ----------
    experiment : experiment directory that ``asr train`` has finished
    model : a hybrid whose pairs have centres: pools, or npd or orols of the preset thesis
    sizes : numbers of centres
    recipe : name or script of the recipe; needed if a script trained the experiment, for none is run because
        a file of the experiment names it
    """
    out = Path(experiment)
    record = read_object(out / "config.json")
    preset = record.get("preset", "best")
    system = find_system(model, preset)
    if note := note_on(model, preset):
        say(note)
    model = meant(model, preset)
    if not isinstance(system, HybridSystem) or section_of(system) not in ("pools", "forward"):
        raise ConfigError(f'model "{model}" has no number of centres to change; expected pools, npd or orols')
    of_model = read_data(out / MODELS / model)
    if of_model is not None and of_model.preset != preset:
        raise ConfigError(
            f"{out}: its last training was one of the preset {preset}, {model} is of the preset "
            f"{of_model.preset}, expected the same; train it once more with --model {model} --preset "
            f"{of_model.preset}, which makes nothing again"
        )
    store, first = StageStore(out), _recorded(out, record, recipe)
    say(
        f"{model} is trained with {', '.join(map(str, sizes))} centres, one after the other, and tuned on "
        f"dev; what is done is kept; the log is {out / LOG}"
    )
    with store.locked(), storage_errors(out), log_file(out / LOG), store.used.counted_for(out / SPARSITY):
        rows = tuple(_rows(first, store, model, system, sizes))
        write_json(out / SPARSITY, {"model": model, "rows": [asdict(row) for row in rows]})
    if not _draw(rows, out / FIGURE):
        say(
            f"no {FIGURE}: matplotlib is not installed; run: pip install matplotlib, and this command again; "
            "asr report shows the curve without it"
        )
    return rows


def format_sparsity(rows: Sequence[SparsityRow], directory: Path) -> str:
    """Return word accuracies against centres, and where they lie."""
    grammars = list(dict.fromkeys(row.grammar for row in rows))
    lines = ["centres  distinct  " + "  ".join(f"{g:>9}" for g in grammars)]
    for n, distinct, what in dict.fromkeys((row.n_centers, row.distinct_centers, row.what) for row in rows):
        found = {row.grammar: row.word_accuracy for row in rows if row.n_centers == n}
        accuracies = "  ".join(f"{found[g]:9.2f}" for g in grammars)
        lines.append(f"{n:7d}  {distinct:8d}  {accuracies}  {what}")
    return "\n".join(["word accuracy on dev, %", *lines, "", str(directory / SPARSITY)])


def config_of(record: Mapping[str, Any]) -> ExperimentConfig:
    """Return the configuration that ``config.json`` holds; options that it is too old for have defaults."""
    settings = []
    for key in known_keys(ExperimentConfig()):
        value: Any = record["config"]
        *sections, name = key.split(".")
        for section in sections:
            value = value[section]
        if key in _LATER and name not in value:
            continue
        value = value[name]
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        settings.append(f"{key}={text}")
    return with_settings(ExperimentConfig(), settings)


def _recorded(out: Path, record: Mapping[str, Any], recipe: str | Path | None) -> Experiment:
    """Return the experiment that ``config.json`` describes."""
    path = out / "config.json"
    try:
        with as_train_wrote(path):
            config, recorded, script = config_of(record), record["recipe"], record.get("script")
            corpus, preset = record["corpus"], record["preset"]
            corpus = Path(corpus) if corpus else None
    except ExperimentError as error:
        if isinstance(error.__cause__, KeyError):
            raise ExperimentError(f"{path}: no {error.__cause__}; run asr train again") from None
        raise
    if recipe is None and (script or not is_known_recipe(recorded)):
        raise ExperimentError(
            f"{out}: trained by a recipe script, which is run only if you name it, expected "
            f"--recipe {shlex.quote(str(script or f'{recorded}.py')[:300])}; add that"
        )
    return Experiment(load_recipe(str(recipe or recorded)), corpus, out, config, preset)


def _rows(
    first: Experiment, store: StageStore, model: str, system: HybridSystem, sizes: Sequence[int]
) -> Iterator[SparsityRow]:
    for n in sizes:
        changed = with_settings(first.config, [f"{section_of(system)}.n_centers={n}"])
        run = Experiment(first.loaded, first.corpus_dir, first.out, changed, first.preset, store)
        found = run.begin()
        if "dev" not in found.splits:
            raise ExperimentError(f"{store.root}: the task has no dev set, expected one to score on")
        steps = run.steps({f"{model}-{n}": system}, learns_rejection=False)
        tuning = next(step for step in steps if step.name == f"tuning-{model}-{n}")
        needed = _behind(tuning)
        n_utterances = {split: len(corpus) for split, corpus in found.corpora.items()}
        missing = pieces(store.outlook(step for step in steps if step in needed), n_utterances)
        with whole([replace(piece, says=f"{n} centres: {piece.says}") for piece in missing]):
            path = run.path(tuning)
        results = read_rows(path, found.grammars, model=model, preset="", split="dev")
        trained = load_model(run.path(tuning.made_from["model"]))
        what, of_pairs = in_words(describe(trained.emissions)), describe(uncombined(trained.emissions))
        for row in results:
            yield SparsityRow(n, of_pairs["centers"], row.grammar, row.word_accuracy, row.interval, what)


def _behind(step: Step) -> set[Step]:
    """Return a step and all that it is made from."""
    return {step}.union(*(_behind(given) for given in step.made_from.values()))


def _draw(rows: Sequence[SparsityRow], path: Path) -> bool:
    """Draw the curve, if that can be done."""
    try:
        from matplotlib.figure import Figure
    except ImportError:  # the picture is optional, the numbers are in the JSON
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for grammar in dict.fromkeys(row.grammar for row in rows):
        own = [row for row in rows if row.grammar == grammar]
        axes.semilogx([r.n_centers for r in own], [r.word_accuracy for r in own], "o-", label=grammar)
    axes.set(xlabel="centres", ylabel="word accuracy on dev, %")
    axes.set_xticks([r.n_centers for r in rows], labels=[str(r.n_centers) for r in rows], minor=False)
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return True
