"""What a model needs to find keywords and nothing else, as it is kept beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acoustic.hmm.topology import Topology
from asr.decoding.evidence import Evidence
from asr.decoding.rejection import Rejection
from asr.files import as_train_wrote, read_json
from decoder.decoder import Decoder, DecoderConfig
from decoder.fillers import keyword_decoder
from decoder.lexicon import Lexicon

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


def read_keywords(directory: Path, name: str = KEYWORDS) -> Keywords | None:
    """Return the keywords of a model's directory; None where none have been chosen."""
    path = directory / name
    if not path.is_file():
        return None
    record = read_json(path)
    with as_train_wrote(path):
        rule = record["rejection"]
        rejection = Rejection(
            float(rule["threshold"]),
            Evidence(**rule["weights"]),
            float(rule["offset"]),
            {str(word): float(added) for word, added in rule["of_words"].items()},
        )
        return Keywords(tuple(record["words"]), float(record["filler_cost"]), rejection)
