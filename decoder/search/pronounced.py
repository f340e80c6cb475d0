"""The pronunciations of a grammar's words, checked against the lexicon and the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from acoustic.hmm.topology import Topology
from decoder.errors import GrammarError, LexiconError
from decoder.grammars.grammar import GrammarTables
from decoder.lexicon import Lexicon

Pronunciation = tuple[str, ...]
N_NAMED = 10  # how many words an error lists


def pronounced_words(
    lexicon: Lexicon, tables: GrammarTables, topology: Topology
) -> dict[int, tuple[Pronunciation, ...]]:
    """Return the distinct pronunciations of each word id that the grammar allows.

    Raises
    ------
    LexiconError
        Words of the grammar have no pronunciation, or a phone is not in the topology.
    GrammarError
        The grammar allows no word at all.
    """
    if not len(tables.arc_words):
        raise GrammarError(
            f"grammar: expected at least one word with a pronunciation, got none of "
            f"{len(tables.dropped_words)} words{_named(tables.dropped_words)}; "
            "use the lexicon and grammar of the same task"
        )
    used = np.unique(tables.arc_words)
    pronunciations = _pronunciations(lexicon, {int(w): tables.words[w] for w in used})
    _check_phones({tables.words[w]: variants for w, variants in pronunciations.items()}, topology)
    return pronunciations


def _pronunciations(lexicon: Lexicon, words: Mapping[int, str]) -> dict[int, tuple[Pronunciation, ...]]:
    """Return the distinct pronunciations of each word id."""
    known = set(lexicon.words)
    missing = sorted(word for word in words.values() if word not in known)
    if missing:
        raise LexiconError(
            f"lexicon: expected a pronunciation of every word of the grammar, got none for {len(missing)}"
            f"{_named(missing)}; add them to the lexicon or take them out of the grammar"
        )
    return {i: tuple(dict.fromkeys(lexicon.pronunciations(word))) for i, word in words.items()}


def _check_phones(pronunciations: Mapping[str, tuple[Pronunciation, ...]], topology: Topology) -> None:
    """Raise a LexiconError that names each unknown phone with a word that has it, or words without phones."""
    empty = sorted(word for word, variants in pronunciations.items() if not all(variants) or not variants)
    if empty:
        raise LexiconError(
            f"lexicon: expected at least one phone in every pronunciation, got an empty one "
            f"for {len(empty)} words{_named(empty)}; correct the lexicon"
        )
    unknown: dict[str, str] = {}
    for word in sorted(pronunciations):
        for variant in pronunciations[word]:
            units = zip(variant, topology.units(variant), strict=True)
            unknown.update({p: word for p, unit in units if unit not in topology and p not in unknown})
    if unknown:
        listed = [f"{phone} (in {word})" for phone, word in sorted(unknown.items())]
        raise LexiconError(
            f"lexicon: expected the {len(topology.phones)} phones of the model, got {len(unknown)} others"
            f"{_named(listed)}; correct the lexicon or train a model that has them"
        )


def _named(words: Sequence[str]) -> str:
    """Return ': A B C …', or nothing for no words."""
    more = f" … and {len(words) - N_NAMED} more" if len(words) > N_NAMED else ""
    return ": " + ", ".join(words[:N_NAMED]) + more if words else ""
