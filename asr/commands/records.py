"""Results as JSON, one shape a verb: what ``--json`` prints (docs/commands.md lists the shapes).

Times are in seconds and accuracies in percent; a number that is not finite is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asr.errors import Problem
from asr.files import as_plain
from asr.formats.intervals import Interval
from asr.language.language_model import LanguageModel, Usage
from decoder.lexicon import Lexicon

if TYPE_CHECKING:  # what doctor prints needs no recogniser
    from asr.formats.aligned import AlignedUtterance


def to_json(record: object) -> str:
    """Return a record of plain values, dataclasses and paths as JSON.

    >>> to_json({"beam": float("inf"), "words": ("a", "ä")})
    '{\\n "beam": null,\\n "words": [\\n  "a",\\n  "ä"\\n ]\\n}'
    """
    return json.dumps(_finite(as_plain(record)), indent=1, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def problems(found: Sequence[Problem], corpus: Path) -> dict[str, Any]:
    """Return the problems of a corpus."""
    counts = {f"{kind}s": sum(p.severity == kind for p in found) for kind in ("error", "warning")}
    return {"corpus": corpus, **counts, "problems": list(found)}


def changed_transcripts(found: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the transcripts that are read as other words, given id, what is written and what is read."""
    names = ("utterance", "written", "read")
    return {"changed": [dict(zip(names, each, strict=True)) for each in found]}


def lexicon(found: Lexicon) -> dict[str, Any]:
    """Return pronunciations."""
    words = [
        {"word": word, "pronunciations": found.pronunciations(word), "guessed": word in found.guessed}
        for word in found
    ]
    return {"words": words}


def language_model(model: LanguageModel) -> dict[str, Any]:
    """Return the size of a model, and how well it predicts the text that it was tested on."""
    test = None
    if model.test is not None:
        fit = model.test
        perplexities = {
            "perplexity": fit.perplexity,
            "perplexity_with_unknown": fit.perplexity_with_unknown,
        }
        test = {**_usage(fit), **perplexities}
    return {
        "ngrams": [len(table) for table in model.ngram.log10_probs],
        "text": _usage(model.text),
        "test": test,
    }


def _usage(text: Usage) -> dict[str, Any]:
    return {"sentences": text.n_sentences, "words": text.n_words, "unknown": dict(text.unknown)}


def alignments(aligned: Iterable[AlignedUtterance]) -> list[dict[str, Any]]:
    """Return the words and phones of utterances with their times."""
    return [
        {
            "utterance": each.utterance_id,
            "duration_s": each.duration_s,
            "words": _with_confidences(each),
            "phones": [_interval("phone", i) for i in each.tiers["phones"]],
        }
        for each in aligned
    ]


def _with_confidences(aligned: AlignedUtterance) -> list[dict[str, Any]]:
    words = [_interval("word", interval) for interval in aligned.tiers["words"]]
    confidences = aligned.confidences or [None] * len(words)
    return [
        {**word, "confidence": None if sure is None else round(sure, 4)}
        for word, sure in zip(words, confidences, strict=True)
    ]


def _interval(what: str, interval: Interval) -> dict[str, Any]:
    return {what: interval.label, "start_s": round(interval.start_s, 3), "end_s": round(interval.end_s, 3)}
