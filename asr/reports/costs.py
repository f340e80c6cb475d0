"""How training went, and what each stage has cost: figures, charts and sections of the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr.corpora.amounts import read_data
from asr.corpora.corpus import SPLITS
from asr.files import as_stage_wrote, as_train_wrote, read_json
from asr.formats.model_directories import MODELS
from asr.reports.finished import Choice, Finished
from asr.reports.page import Chart, Section, Table, listed_words, percent, plot_of, seconds
from asr.store import RECORD
from asr.training.fit import SUSPICIOUS, Suspicious, read_suspicious, verdict

_HISTORY = "history.json"
_GMM = re.compile(r"gmm-(?P<projection>[a-z]+)-(?P<size>\d+)(?:-(?P<splits>.+))?")
_MOST_STAGES = 20  # by feel
_MOST_SUSPICIOUS = 30  # by feel


def transcripts_section(chosen: Choice) -> Iterator[Section]:
    """Yield which transcripts do not seem to be what was spoken, and how to mend them."""
    directory = chosen.finished.directory
    if not (directory / SUSPICIOUS).is_file():
        return
    found, n_utterances = read_suspicious(directory)
    left_out = set(chosen.finished.left_out(chosen.model).ids)
    said = verdict(len(found), n_utterances) or f"Of {n_utterances} utterances none looks wrong"
    splits = listed_words(_judged_splits(chosen, n_utterances))
    said = said.replace(" utterances", f" utterances of {splits}", 1)
    if not found:
        yield Section("transcripts", "Transcripts", f"{said}. Listen to some.")
        return
    is_heard, shown = any(each.heard for each in found), found[:_MOST_SUSPICIOUS]
    rows = tuple(
        (
            each.utterance_id,
            each.text,
            *([each.heard or "—"] if is_heard else []),
            "; ".join(each.reasons),
            "—" if each.probability is None else f"{each.probability:.3f}",
            "no" if each.utterance_id in left_out else "yes",
        )
        for each in shown
    )
    more = f" Here are the first {len(rows)}." if len(found) > len(rows) else ""
    yield Section(
        "transcripts",
        "Transcripts",
        f"{said}.{more} "
        "Listen to them. Of each, type one of its two commands: the first says what was spoken (correct the "
        "words if that is something else), the second leaves it out. Then train again; the corpus itself is "
        "not touched.",
        tables=(
            Table(
                "Suspicious utterances",
                (
                    *("utterance", "text", *(["heard"] if is_heard else []), "why"),
                    *("probability of the text", "learned from"),
                ),
                rows,
                n_texts=3 + is_heard,
                commands=tuple(_mending(each, chosen.finished.typed) for each in shown),
            ),
        ),
    )


def _judged_splits(chosen: Choice, n_utterances: int) -> Sequence[str]:
    """Return the splits that so many utterances are of: all, or in earlier versions those learned from."""
    every = [split for split in SPLITS if len(chosen.finished.corpus(split))]
    data = read_data(chosen.finished.directory / MODELS / chosen.model)
    if data is None or n_utterances > sum(amount.n_utterances for amount in data.training):
        return every
    return [split for split in every if split in data.trained_on]


def _mending(row: Suspicious, place: str) -> tuple[str, str]:
    """Return the commands that correct a suspicious transcript, or leave its utterance out."""
    utterance, text = shlex.quote(row.utterance_id), shlex.quote(row.heard or row.text)
    command = f"asr validate {place}"
    return f"{command} --correct {utterance} {text}", f"{command} --leave-out {utterance}"


def training_section(chosen: Choice) -> Iterator[Section]:
    """Yield how the mixtures were trained, if that is known."""
    curves = training_curves(chosen.finished)
    if curves:
        intro = "The mixtures are trained first; they label the frames from which all else is learned."
        yield Section("training", "Training", intro, charts=(training_chart(curves),))


@dataclass(frozen=True)
class Iteration:
    """One iteration of a mixture training: Gaussians a state, log-likelihood of a frame after it."""

    n_components: int
    log_likelihood: float


def training_curves(finished: Finished) -> dict[str, list[Iteration]]:
    """Return the iterations of each mixture training, its sizes one after the other."""
    found: dict[str, list[tuple[int, Path]]] = {}
    for name, path in finished.stages.items():
        if (match := _GMM.fullmatch(name)) and (path / _HISTORY).is_file():
            projection = "" if match["projection"] == "none" else f"{match['projection'].upper()}, "
            splits = f"train and {match['splits']}" if match["splits"] else "train"
            found.setdefault(projection + splits, []).append((int(match["size"]), path / _HISTORY))
    return {
        label: [step for _, path in sorted(stages) for step in _steps(path)]
        for label, stages in sorted(found.items())
    }


def _steps(path: Path) -> list[Iteration]:
    history = read_json(path)
    with as_train_wrote(path):
        return [Iteration(int(step["n_components"]), float(step["log_likelihood"])) for step in history]


def training_chart(curves: Mapping[str, Sequence[Iteration]]) -> Chart:
    """Return the log-likelihood of the training frames over the iterations of the mixtures."""
    traces = [
        {
            "type": "scatter",
            "name": label,
            "x": list(range(1, len(steps) + 1)),
            "y": [round(step.log_likelihood, 4) for step in steps],
            "mode": "lines+markers",
            "marker": {"size": 5},
            "text": [step.n_components for step in steps],
            "hover": f"{label}: iteration {{x}}, {{text}} Gaussians a state: {{y}}",
        }
        for label, steps in curves.items()
    ]
    rows = tuple(
        (label, n, step.n_components, f"{step.log_likelihood:.3f}".replace("-", "−"))
        for label, steps in curves.items()
        for n, step in enumerate(steps, 1)
    )
    ends = "; ".join(
        f"{label}: from {steps[0].log_likelihood:.1f} to {steps[-1].log_likelihood:.1f}"
        for label, steps in curves.items()
    )
    return Chart(
        "training",
        "Log-likelihood of a training frame in each iteration of the Gaussian mixtures, in nats. The numbers "
        "above the axis are the Gaussians a state from there on; each was just split in two, which costs "
        "a little at first. A fall anywhere else would be a fault.",
        f"Curves that rise. {ends}.",
        plot_of(
            traces,
            xaxis={"title": "iteration"},
            **_marks_of_sizes(next(iter(curves.values()))),
            yaxis={"title": "log-likelihood a frame"},
        ),
        Table(
            "Log-likelihood by iteration",
            ("trained on", "iteration", "Gaussians a state", "nats a frame"),
            rows,
        ),
    )


def _marks_of_sizes(steps: Sequence[Iteration]) -> dict[str, Any]:
    """Return lines and numbers that say how many Gaussians a state has from which iteration on."""
    sizes = [step.n_components for step in steps]
    starts = [n for n in range(len(sizes)) if n == 0 or sizes[n] != sizes[n - 1]]
    return {
        "shapes": [{"x0": n + 0.5} for n in starts if n],
        "annotations": [{"x": n + 0.6, "text": str(sizes[n])} for n in starts],
    }


def costs_section(chosen: Choice) -> Iterator[Section]:
    """Yield what the stages have cost, if that is known."""
    found = costs(chosen.finished)
    if found:
        intro = "What the results were made from, and what that took. Memory is not recorded."
        yield Section("costs", "Time", intro, charts=(costs_chart(found),))


@dataclass(frozen=True)
class Cost:
    """Seconds that a stage took when it was made: of the processor, and on the clock."""

    stage: str
    cpu_s: float
    wall_s: float


def costs(finished: Finished) -> list[Cost]:
    """Return what the stages have cost, the dearest first; those without a record are left out."""
    found = []
    for name, record in finished.records().items():
        with as_stage_wrote(finished.stages[name] / RECORD):
            found.append(_cost(name, record))
    return sorted((cost for cost in found if cost), key=lambda cost: (-cost.cpu_s, cost.stage))


def _cost(name: str, record: Mapping[str, Any]) -> Cost | None:
    seconds = record.get("seconds")
    if not isinstance(seconds, dict):
        return None
    return Cost(name, float(seconds.get("cpu", 0.0)), float(seconds.get("wall", 0.0)))


def costs_chart(found: Sequence[Cost]) -> Chart:
    """Return bars of the dearest stages."""
    shown = list(reversed(found[:_MOST_STAGES]))
    total = sum(cost.cpu_s for cost in found)
    rest = f" The {len(shown)} dearest of {len(found)}." if len(found) > len(shown) else ""
    bar = {
        "type": "bar",
        "y": [cost.stage for cost in shown],
        "x": [round(cost.cpu_s, 2) for cost in shown],
        "text": [seconds(cost.wall_s) for cost in shown],
        "hover": "{y}: {x} CPU s, {text} on the clock",
    }
    return Chart(
        "costs",
        "CPU seconds that each stage took when it was made. What an earlier run had made already was not "
        "made again, and may have taken another time on another machine." + rest,
        f"All stages together: {seconds(total)} of the processor; the dearest is {found[0].stage} with "
        f"{seconds(found[0].cpu_s)}.",
        plot_of([bar], xaxis={"title": "CPU seconds"}, yaxis={"type": "category"}),
        Table(
            "Time by stage",
            ("stage", "CPU seconds", "seconds on the clock"),
            tuple((cost.stage, percent(cost.cpu_s), percent(cost.wall_s)) for cost in found),
        ),
        height=80 + 22 * len(shown),
    )
