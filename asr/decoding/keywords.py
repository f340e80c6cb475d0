"""What a model needs to find keywords and nothing else, as it is kept beside the model."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from acoustic.hmm.topology import Topology
from asr.decoding.evidence import Evidence
from asr.decoding.rejection import Rejection
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object
from decoder.decoder import Decoder, DecoderConfig
from decoder.fillers import keyword_decoder
from decoder.lexicon import Lexicon
from foundation.records import record_of

KEYWORDS = "keywords.json"
REJECTION = "rejection.json"  # the rule for the words of any grammar, in the same form without keywords
USUAL_REJECTION = "usual_rejection.json"  # the one that training learns, if no other has been learned since


@dataclass(frozen=True)
class Keywords:
    """Words to be found among any other sounds.

    Attributes
    ----------
    words : the keywords, in the lexicon
    filler_cost : what the search's fillers cost (`decoder.fillers`)
    rejection : which of the words found count as spoken
    """

    words: tuple[str, ...]
    filler_cost: float
    rejection: Rejection

    def decoder(self, lexicon: Lexicon, topology: Topology, config: DecoderConfig) -> Decoder:
        """Return the decoder that finds them, and fillers for all else."""
        return keyword_decoder(self.words, self.filler_cost, lexicon, topology, config)


class _Kept(NamedTuple):
    """What the file holds, but for the weights of evidence."""

    words: Sequence[str]
    filler_cost: float
    threshold: float
    offset: float
    of_words: Sequence[tuple[str, float]]


def as_kept(chosen: Keywords) -> dict[str, Any]:
    """Return what a file holds of keywords, or of a rule without them."""
    rule = chosen.rejection
    return {
        "words": list(chosen.words),
        "filler_cost": chosen.filler_cost,
        "rejection": {**asdict(rule), "weights": rule.weights._asdict()},
    }


def read_rule(directory: Path) -> Rejection | None:
    """Return the rule for the words of any grammar; None where none has been learned."""
    found = read_keywords(directory, REJECTION) or read_keywords(directory, USUAL_REJECTION)
    return None if found is None else found.rejection


def copy_chosen(source: Path, target: Path) -> None:
    """Copy what was chosen for a model to another directory of the same model."""
    for name in (KEYWORDS, REJECTION):
        if (source / name).is_file():
            shutil.copy2(source / name, target / name)


def rows_of_chosen(results: Path, models: Path) -> list[Any]:
    """Return the rows of ``results.json`` of keywords and rules that their models still have."""
    if not results.is_file():
        return []
    with suppress(ExperimentError):  # a damaged file is about to be replaced
        rows = read_object(results).get("keywords", [])
        return [row for row in rows if _is_kept(row, models)] if isinstance(rows, list) else []
    return []


def _is_kept(row: object, models: Path) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        return False
    place: Path = models / row["model"]
    return (place / (KEYWORDS if row.get("words") else REJECTION)).is_file()


def read_keywords(directory: Path, name: str = KEYWORDS) -> Keywords | None:
    """Return the keywords of a model's directory; None where none have been chosen."""
    path = directory / name
    if not path.is_file():
        return None
    verb = "train" if name == USUAL_REJECTION else "keywords"  # that writes the file
    record, cure = read_object(path, verb), f"run asr {verb} again or restore the file"
    with as_train_wrote(path, verb):
        rule = record["rejection"]
        plain = {name: record[name] for name in ("words", "filler_cost")}
        plain |= {name: rule[name] for name in ("threshold", "offset")}
        of_words = list(rule["of_words"].items())
        found = record_of(_Kept, plain | {"of_words": of_words}, ExperimentError, cure=cure)
        weights = record_of(Evidence, rule["weights"], ExperimentError, "weights.", cure)
        rejection = Rejection(found.threshold, weights, found.offset, dict(found.of_words))
        return Keywords(tuple(found.words), found.filler_cost, rejection)
