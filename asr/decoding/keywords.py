"""What a model needs to find keywords and nothing else, as it is kept beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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


def read_keywords(directory: Path, name: str = KEYWORDS) -> Keywords | None:
    """Return the keywords of a model's directory; None where none have been chosen."""
    path = directory / name
    if not path.is_file():
        return None
    record = read_object(path)
    with as_train_wrote(path):
        rule = record["rejection"]
        plain = {name: record[name] for name in ("words", "filler_cost")}
        plain |= {name: rule[name] for name in ("threshold", "offset")}
        of_words = list(rule["of_words"].items())
        found = record_of(_Kept, plain | {"of_words": of_words}, ExperimentError)
        weights = record_of(Evidence, rule["weights"], ExperimentError, "weights.")
        rejection = Rejection(found.threshold, weights, found.offset, dict(found.of_words))
        return Keywords(tuple(found.words), found.filler_cost, rejection)
