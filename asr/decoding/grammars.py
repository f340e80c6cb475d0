"""The grammars of a task: built from its training text or files, written beside a model, read back."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from acoustic.hmm.topology import Topology
from asr.config import GrammarName
from asr.errors import ExperimentError
from decoder.decoder import Decoder
from decoder.grammars.grammar import Grammar, WordLoop
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon

WORD_PAIRS = "word_pairs.txt"
_ORDERS: dict[str, int] = {"unigram": 1, "bigram": 2, "trigram": 3}
_N_NAMED = 10

logger = logging.getLogger(__name__)


def has_lm_scale(name: str) -> bool:
    """Return whether a grammar has probabilities worth weighing."""
    return name in _ORDERS or name == "arpa"


def grammar_names(asked: Iterable[GrammarName], task_dir: Path) -> tuple[GrammarName, ...]:
    """Return the grammars asked for, and those the task brings in files of its own."""
    own: list[GrammarName] = []
    if list(task_dir.glob("*.arpa")):
        own.append("arpa")
    if (task_dir / WORD_PAIRS).is_file():
        own.append("word-pair")
    return tuple(dict.fromkeys([*asked, *own]))


def write_grammar(
    name: GrammarName,
    directory: Path,
    *,
    task_dir: Path,
    sentences: Iterable[tuple[str, ...]],
    lexicon: Lexicon,
) -> Grammar:
    """Write the file a grammar needs into a directory (a loop needs none) and return the grammar."""
    if name in _ORDERS:
        model = NGram.estimate(sentences, _ORDERS[name], vocabulary=lexicon.words)
        model.write(directory / f"{name}.arpa")
        return model
    if name == "arpa":
        files = sorted(task_dir.glob("*.arpa"))
        if len(files) != 1:
            names = ", ".join(f.name for f in files) or "none"
            raise ExperimentError(
                f"grammar arpa: .arpa files of the corpus: {names}; expected exactly one; "
                "lay it beside the recordings or ask for another grammar"
            )
        shutil.copyfile(files[0], directory / "arpa.arpa")
        return NGram.read(files[0])
    if name == "word-pair":
        if not (task_dir / WORD_PAIRS).is_file():
            raise ExperimentError(
                f"grammar word-pair: no {WORD_PAIRS} in the corpus, expected one; "
                "lay it beside the recordings or ask for another grammar"
            )
        shutil.copyfile(task_dir / WORD_PAIRS, directory / WORD_PAIRS)
        return WordPairGrammar.read(task_dir / WORD_PAIRS)
    return WordLoop(lexicon.words)


def check_grammar(name: str, grammar: Grammar, lexicon: Lexicon) -> None:
    """Raise what a decoder would find wrong with a grammar; log the words it would leave out."""
    decoder = Decoder(lexicon, grammar, Topology.monophones(lexicon.phones))
    if dropped := decoder.words_without_pronunciation:
        logger.warning(
            "grammar %s: %d word(s) are not in the lexicon and cannot be recognised: %s; add what is said",
            name,
            len(dropped),
            ", ".join(dropped[:_N_NAMED]) + (", …" if len(dropped) > _N_NAMED else ""),
        )


def read_grammar(name: str, directory: Path, lexicon: Lexicon) -> Grammar:
    """Return a grammar that `write_grammar` wrote."""
    if name == "loop":
        return WordLoop(lexicon.words)
    if name == "word-pair":
        return WordPairGrammar.read(directory / WORD_PAIRS)
    return NGram.read(directory / f"{name}.arpa")
