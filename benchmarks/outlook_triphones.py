"""Phones in context within words against phones in context across words, in the preset ``best``.

Both are trained in a small form of it: no warped copies, no adaptation, few frames and centres. States are
tied by the same rules, and decoder weights are tuned for each on the dev speakers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from made_steps import Made

from acoustic.emissions.emission_model import uncombined
from acoustic.model import load_model
from asr.config import with_settings
from asr.experiment import Experiment
from asr.files import read_json
from asr.formats.transcripts import read_transcripts
from asr.recipe import load_recipe
from asr.scoring.scoring import compare
from asr.store import RECORD, StageOutput
from asr.systems import HybridSystem
from asr.training.recognition import read_rows
from benchmarks.papers.layout import table

UNITS = {"context": "phones in context within words", "cross-word": "phones in context across words"}
SETTINGS = (
    "grammars=loop,bigram",
    "hybrid.warps=",
    "hybrid.adaptation=none",
    "hybrid.max_frames=500",
    "pools.n_centers=50",
    "tuning.word_penalties=0,-8,-16,-24,-32,-40",
    "tuning.lm_scales=3,6,10,15",
    "tuning.silence_log_probs=0",
)


def triphones(corpus: Path, work: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the section and the records of both kinds of units on dev."""
    recipe = load_recipe("an4")
    tuned: list[StageOutput] = []
    rows, records = [], []
    for units, label in UNITS.items():
        config = with_settings(recipe.recipe.config, [*SETTINGS, f"hybrid.units={units}"])
        experiment = Experiment(recipe, corpus, work, config, "best")
        with experiment.store.locked():
            name = f"outlook-{units}"
            made = Made(experiment, named={name: HybridSystem("pools")})
            model = made.model(name)
            tuned.append(made[f"tuning-{name}"])
        grammars = experiment.found.grammars
        found = read_rows(tuned[-1].path, grammars, model="npd", preset="best", split="dev")
        n_classes = uncombined(load_model(model.path).emissions).machines.n_classes
        seconds = [cpu_seconds(model), cpu_seconds(tuned[-1])]
        accuracies = [f"{r.word_accuracy:.1f} ({r.interval[0]:.1f}–{r.interval[1]:.1f})" for r in found]
        references = made.corpus("dev").text
        better = [difference(references, tuned[0], tuned[-1], g) for g in grammars]
        cells = [str(n_classes), f"{n_classes * (n_classes - 1) // 2:,}", *accuracies]
        rows.append(
            (label, *cells, *(better if len(tuned) > 1 else ["", ""]), *(f"{s:.0f}" for s in seconds))
        )
        records.append(
            {"units": units, "states": n_classes, "cpu_s": seconds, "results": list(map(asdict, found))}
        )
        print(f"{label}: {seconds} CPU s", flush=True)
    head = ("states of", "states", "pairs", "loop %", "bigram %", "loop, against the first")
    head += ("bigram, against the first", "train CPU s", "score and tune CPU s")
    return table("Triphones across words", head, rows), records


def cpu_seconds(output: StageOutput) -> float:
    """Return the CPU seconds that a stage took."""
    return float(read_json(output.path / RECORD)["seconds"]["cpu"])


def difference(
    references: Mapping[str, tuple[str, ...]], first: StageOutput, second: StageOutput, grammar: str
) -> str:
    """Return how many points of word accuracy the second is better on dev, paired, with its interval."""
    texts = (read_transcripts(tuned.path / f"{grammar}.txt") for tuned in (first, second))
    found = compare(references, *texts)
    return f"{found.difference:+.1f} ({found.interval[0]:+.1f}, {found.interval[1]:+.1f})"
