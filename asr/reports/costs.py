"""How training went, and what each stage has cost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asr.files import as_stage_wrote, as_train_wrote, read_json
from asr.reports.finished import Finished
from asr.store import RECORD

_HISTORY = "history.json"
_GMM = re.compile(r"gmm-(?P<projection>[a-z]+)-(?P<size>\d+)(?:-(?P<splits>.+))?")


@dataclass(frozen=True)
class Step:
    """One iteration of a mixture training: Gaussians a state, log-likelihood of a frame after it."""

    n_components: int
    log_likelihood: float


@dataclass(frozen=True)
class Cost:
    """Seconds that a stage took when it was made: of the processor, and on the clock."""

    stage: str
    cpu_s: float
    wall_s: float


def training_curves(finished: Finished) -> dict[str, list[Step]]:
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


def _steps(path: Path) -> list[Step]:
    history = read_json(path)
    with as_train_wrote(path):
        return [Step(int(step["n_components"]), float(step["log_likelihood"])) for step in history]


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
