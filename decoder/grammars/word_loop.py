"""The word loop, which allows any sequence of words."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import GrammarTables, pack_tables


@dataclass(frozen=True, init=False)
class WordLoop:
    """Any word after any word, all equally likely; ending costs nothing.

    Examples
    --------
    >>> round(float(WordLoop(["NO", "YES"]).compile({"NO", "YES"}).sentence_log_prob(["YES", "YES"])), 4)
    -1.3863
    """

    words: tuple[str, ...]

    def __init__(self, words: Iterable[str]) -> None:
        object.__setattr__(self, "words", tuple(sorted(set(words))))
        if not self.words:
            raise GrammarError(
                "word loop: expected at least one word, got none; give the words of the lexicon"
            )

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context with every word; all words must have a pronunciation."""
        log_prob = -float(np.log(len(self.words)))
        return pack_tables(self.words, [[(w, log_prob, 0) for w in range(len(self.words))]], [0.0], 0)
