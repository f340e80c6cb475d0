"""What differs between two experiment directories that should be the same: words, models, seconds.

Of each model: the rows of ``results.json``, the words recognised in the splits dev and test (``GRAMMAR.txt``
of the stages ``tuning-MODEL`` and ``test-MODEL``), the tensors of ``model.safetensors``, and the entries of
``model.json`` and ``decoding.json``. Of the stages: their CPU seconds.
"""

from __future__ import annotations

import difflib
import filecmp
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from asr.scoring.edit_distance import align_words, count_errors

SPLITS = {"dev": "tuning", "test": "test"}  # and the stage that writes the words
ERRORS = ("substitutions", "deletions", "insertions")
TENSORS = "model.safetensors"
DIGEST = "tensors_sha256"  # in model.json: what the tensors say already
DESCRIPTIONS = {"description": "model.json", "decoding": "decoding.json"}
_SIMILAR = 0.7  # of the names of two stages that are taken for the same
_DIVISION = re.compile(r"\d|^(dev|train|test)$")  # parts of a name in which the same stages agree

Array = np.ndarray[Any, Any]
Words = Mapping[str, tuple[str, ...]]
Change = tuple[str, Any, Any]  # path, before, after


@dataclass(frozen=True)
class RowDifference:
    """A row of the results and the words behind it.

    Attributes
    ----------
    split, grammar : split and grammar of the row
    fields : fields of the row that differ, ``row`` if one experiment lacks it
    errors : substitutions, deletions and insertions against the reference, before and after
    utterances : utterances whose words differ
    words : number of words substituted, deleted and inserted between the two hypotheses
    n_utterances : number of utterances that were compared
    """

    split: str
    grammar: str
    fields: tuple[str, ...]
    errors: tuple[int | None, int | None]
    utterances: tuple[str, ...]
    words: int
    n_utterances: int


@dataclass(frozen=True)
class TensorDifference:
    """A tensor that is not the same in both models.

    Attributes
    ----------
    name : name of the tensor
    what : ``values``, ``form`` (shape or type), ``renamed to NAME``, ``only before`` or ``only after``
    largest : largest absolute difference of values, infinite where just one of them is finite
    relative : this difference divided by the largest absolute value before
    share : share of the entries that differ
    """

    name: str
    what: str
    largest: float | None = None
    relative: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class ModelDifference:
    """One model in two experiments.

    Attributes
    ----------
    name : name of the model
    missing : where it is missing: ``before``, ``after``, ``both``, or empty
    rows : rows of the results that differ
    is_identical : whether the tensor files have the same bytes
    tensors : tensors that differ
    description, decoding : entries of the two JSON files that differ
    """

    name: str
    missing: str
    rows: tuple[RowDifference, ...] = ()
    is_identical: bool = True
    tensors: tuple[TensorDifference, ...] = ()
    description: tuple[Change, ...] = ()
    decoding: tuple[Change, ...] = ()

    def kinds(self) -> Iterator[str]:
        """Yield what differs: ``missing``, ``results``, ``words``, ``model``, ``description``, ``decoding``.

        Where there is nothing to compare, nothing was shown to be equal: that counts as a difference.
        """
        found = {
            "results": not self.rows or any(row.fields for row in self.rows),
            "words": any(row.utterances or not row.n_utterances for row in self.rows),
            "model": not self.is_identical,
            "description": self.description,
            "decoding": self.decoding,
        }
        yield from ["missing"] if self.missing else [kind for kind, differs in found.items() if differs]


@dataclass(frozen=True)
class StageSeconds:
    """CPU seconds of a stage in two experiments; None where it has no partner."""

    name: str
    before: float | None
    after: float | None
    renamed: str = ""


def compare_model(name: str, before: Path, after: Path) -> ModelDifference:
    """Return what differs of one model between two experiment directories."""
    folders = [directory / "models" / name for directory in (before, after)]
    lacking = [side for side, folder in zip(("before", "after"), folders, strict=True) if not folder.is_dir()]
    if lacking:
        return ModelDifference(name, lacking[0] if len(lacking) == 1 else "both")
    is_identical, tensors = compare_tensor_files(*(folder / TENSORS for folder in folders))
    records = {
        kind: tuple(c for c in changes(*(read_json(f / file) for f in folders)) if c[0] != DIGEST)
        for kind, file in DESCRIPTIONS.items()
    }
    rows = tuple(compare_rows(name, before, after))
    return ModelDifference(name, "", rows, is_identical, tensors, **records)


def model_names(*experiments: Path) -> list[str]:
    """Return the models that any of these experiments has, sorted."""
    return sorted({path.name for e in experiments for path in (e / "models").glob("*") if path.is_dir()})


def compare_rows(model: str, before: Path, after: Path) -> Iterator[RowDifference]:
    """Yield the rows of a model's results, with the words behind them."""
    found = [result_rows(directory, model) for directory in (before, after)]
    stages = [newest_stages(directory) for directory in (before, after)]
    for split, grammar in dict.fromkeys((*found[0], *found[1])):
        rows = [rows.get((split, grammar)) for rows in found]
        paths = [of.get(f"{SPLITS[split]}-{model}") for of in stages]
        texts = [read_words(path / f"{grammar}.txt" if path else None) for path in paths]
        utterances, words = compare_words(*texts)
        errors = tuple(
            row and sum(row[k] for k in ("substitutions", "deletions", "insertions")) for row in rows
        )
        n_utterances = len({*texts[0], *texts[1]})
        yield RowDifference(split, grammar, row_changes(*rows), errors, utterances, words, n_utterances)


def result_rows(experiment: Path, model: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return a model's rows of ``results.json`` by split and grammar."""
    rows = (read_json(experiment / "results.json") or {}).get("results", [])
    return {(row["split"], row["grammar"]): row for row in rows if row["model"] == model}


def row_changes(before: dict[str, Any] | None, after: dict[str, Any] | None) -> tuple[str, ...]:
    """Return the fields both rows have that differ; fields that only one has are no difference."""
    if before is None or after is None:
        return ("row",)
    return tuple(name for name in before if name in after and before[name] != after[name])


def compare_words(before: Words, after: Words) -> tuple[tuple[str, ...], int]:
    """Return the utterances whose words differ, and in how many words they do altogether.

    An utterance that only one side has differs in all its words.
    """
    utterances = tuple(i for i in dict.fromkeys((*before, *after)) if before.get(i) != after.get(i))
    pairs = (align_words(before.get(i, ()), after.get(i, ())) for i in utterances)
    return utterances, sum(count_errors(pair).errors for pair in pairs)


def read_words(path: Path | None) -> Words:
    """Return the words of each utterance of a transcript, nothing without the file."""
    if path is None or not path.exists():
        return {}
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {words[0]: tuple(words[1:]) for words in lines if words}


def compare_tensor_files(before: Path, after: Path) -> tuple[bool, tuple[TensorDifference, ...]]:
    """Return whether two files have the same bytes, and the tensors that differ."""
    is_there = [path.exists() for path in (before, after)]
    if all(is_there) and filecmp.cmp(before, after, shallow=False):
        return True, ()
    tensors = [
        load_file(path) if there else {} for path, there in zip((before, after), is_there, strict=True)
    ]
    return False, tuple(compare_tensors(*tensors))


def compare_tensors(before: Mapping[str, Array], after: Mapping[str, Array]) -> Iterator[TensorDifference]:
    """Yield the tensors that differ; one that only has another name is said to be renamed."""
    for name in before.keys() & after.keys():
        yield from _value_differences(name, before[name], after[name])
    lost, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    for name in lost:
        partner = next((n for n in new if _is_same(before[name], after[n])), None)
        yield TensorDifference(name, f"renamed to {partner}" if partner else "only before")
        new = [n for n in new if n != partner]
    yield from (TensorDifference(name, "only after") for name in new)


def _value_differences(name: str, before: Array, after: Array) -> Iterator[TensorDifference]:
    if before.shape != after.shape or before.dtype != after.dtype:
        yield TensorDifference(name, "form")
    elif not _is_same(before, after):
        a, b = before.astype(np.float64), after.astype(np.float64)
        differs = ~((a == b) | (np.isnan(a) & np.isnan(b)))
        with np.errstate(invalid="ignore"):
            gaps = np.abs(a - b)[differs]
        largest = float(np.where(np.isnan(gaps), np.inf, gaps).max(initial=0.0))
        size = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
        relative = largest / size if size else None
        yield TensorDifference(name, "values", largest, relative, float(differs.mean()))


def _is_same(a: Array, b: Array) -> bool:
    """Return whether two arrays have the same form and bytes."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def changes(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Yield the entries of two JSON values that differ; an entry that one lacks is None there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from changes(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif isinstance(before, list) and isinstance(after, list):
        for k, (a, b) in enumerate(zip_longest(before, after)):
            yield from changes(a, b, f"{path}[{k}]")
    elif before != after or type(before) is not type(after):
        yield path, before, after


def compare_stages(before: Path, after: Path) -> list[StageSeconds]:
    """Return the CPU seconds of all stages, matched by their names; those without a partner come last."""
    a, b = cpu_seconds(before), cpu_seconds(after)
    partners = match_names(list(a), list(b))
    found = [
        StageSeconds(name, a[name], b[partner], "" if partner == name else partner)
        for name, partner in partners.items()
    ]
    alone = [StageSeconds(name, a[name], None) for name in a if name not in partners]
    return found + alone + [StageSeconds(n, None, b[n]) for n in b if n not in partners.values()]


def cpu_seconds(experiment: Path) -> dict[str, float]:
    """Return the CPU seconds that each stage took when it was made."""
    stages = newest_stages(experiment)
    return {name: read_json(path / "stage.json")["seconds"]["cpu"] for name, path in stages.items()}


def newest_stages(experiment: Path) -> dict[str, Path]:
    """Return the directory of each stage by its name without the key; the last that was made, if several."""
    records = sorted(experiment.glob("stages/*/stage.json"), key=lambda path: (path.stat().st_mtime_ns, path))
    return {read_json(path)["stage"]: path.parent for path in records}


def match_names(before: Sequence[str], after: Sequence[str]) -> dict[str, str]:
    """Return the stages after by those before: of the same name, else of a similar one, the closest first."""
    found = {name: name for name in before if name in after}
    near = [
        (difflib.SequenceMatcher(None, a, b).ratio(), a, b)
        for a in before
        for b in after
        if a not in found and b not in found and _divisions(a) == _divisions(b)
    ]
    for ratio, a, b in sorted(near, reverse=True):
        if ratio >= _SIMILAR and a not in found and b not in found.values():
            found[a] = b
    return found


def _divisions(name: str) -> list[str]:
    return [part for part in name.split("-") if _DIVISION.search(part)]


def by_kind(stages: Iterable[StageSeconds]) -> list[StageSeconds]:
    """Return the sums over the stages of one kind, the first part of the name, that have a partner."""
    sums: dict[str, StageSeconds] = {}
    for stage in stages:
        if stage.before is not None and stage.after is not None:
            kind = stage.name.partition("-")[0]
            total = sums.get(kind, StageSeconds(kind, 0.0, 0.0))
            sums[kind] = StageSeconds(kind, total.before + stage.before, total.after + stage.after)
    return list(sums.values())


def read_json(path: Path) -> Any:
    """Return what a JSON file holds, None without the file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
