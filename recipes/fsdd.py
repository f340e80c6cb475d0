"""Free Spoken Digit Dataset: ten English digits, isolated, 8 kHz.

Recordings are called ``{digit}_{speaker}_{index}.wav``. Test is its official one, indices 0-4; dev is 5-9,
train the rest. All speakers are in all three parts, so results hold for known speakers only.
"""

from __future__ import annotations

import re
from pathlib import Path

from asr.config import ExperimentConfig, FrontEndOptions
from asr.corpora.corpus import Corpus, Utterance, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon

DIGITS = ("ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE")
PRONUNCIATIONS = {
    "ZERO": ["Z IH R OW", "Z IY R OW"],
    "ONE": ["W AH N"],
    "TWO": ["T UW"],
    "THREE": ["TH R IY"],
    "FOUR": ["F AO R"],
    "FIVE": ["F AY V"],
    "SIX": ["S IH K S"],
    "SEVEN": ["S EH V AH N"],
    "EIGHT": ["EY T"],
    "NINE": ["N AY N"],
}
_NAME = re.compile(r"([0-9])_([^_\s]+)_([0-9]+)")


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, the lexicon and the grammar (one digit a recording)."""
    parts: dict[str, list[Utterance]] = {"train": [], "dev": [], "test": []}
    for path in sorted((corpus_dir / "recordings").glob("*.wav")):
        name = _NAME.fullmatch(path.stem)
        if name is None:
            raise CorpusError(
                f"{path}: expected a name {{digit}}_{{speaker}}_{{index}}.wav; rename or remove it"
            )
        # The speaker leads the id, so that sorting by id sorts by speaker.
        utterance_id = f"{name[2]}_{name[1]}_{int(name[3]):02d}"
        parts[part_of(int(name[3]))].append(
            Utterance(utterance_id, path.absolute(), (DIGITS[int(name[1])],), name[2])
        )
    if not all(parts.values()):
        raise CorpusError(
            f"{corpus_dir / 'recordings'}: no recordings of {' or '.join(p for p in parts if not parts[p])}, "
            "expected indices 0-4 (test), 5-9 (dev) and above (train); give the directory of the whole FSDD"
        )
    for part, utterances in parts.items():
        write_corpus(Corpus(tuple(utterances)), output_dir / part)
    lexicon = Lexicon({word: [p.split() for p in variants] for word, variants in PRONUNCIATIONS.items()})
    lexicon.write(output_dir / "lexicon.txt")
    WordPairGrammar.from_sentences([(digit,) for digit in DIGITS]).write(output_dir / "word_pairs.txt")


def part_of(index: int) -> str:
    """Return the part a recording of this index belongs to."""
    return "test" if index < 5 else "dev" if index < 10 else "train"


RECIPE = Recipe(
    prepare,
    ExperimentConfig(
        FrontEndOptions(sample_rate=8000),
        grammars=("loop", "word-pair"),
    ),
)
