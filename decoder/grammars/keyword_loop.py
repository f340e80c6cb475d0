"""The keyword loop, which allows keywords among fillers that stand for all other sounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import GrammarTables, pack_tables


@dataclass(frozen=True, init=False)
class KeywordLoop:
    """Any keyword or filler after any other; a filler costs so much, a keyword nothing.

    If fillers cost nothing, no keyword is ever found: those of its phones fit at least as well.

    Examples
    --------
    >>> tables = KeywordLoop(["YES"], ["~1", "~2"], filler_cost=7.0).compile({"YES", "~1", "~2"})
    >>> tables.sentence_log_prob(["~2", "YES", "~1", "YES"])
    -14.0
    """

    keywords: tuple[str, ...]
    fillers: tuple[str, ...]
    filler_cost: float

    def __init__(self, keywords: Iterable[str], fillers: Iterable[str], filler_cost: float) -> None:
        object.__setattr__(self, "keywords", tuple(sorted(set(keywords))))
        object.__setattr__(self, "fillers", tuple(sorted(set(fillers))))
        object.__setattr__(self, "filler_cost", filler_cost)
        if not self.keywords:
            raise GrammarError("keyword loop: expected at least one keyword, got none; give the words")
        if not 0 <= self.filler_cost < np.inf:
            raise GrammarError(
                f"keyword loop: expected fillers that cost 0 or more, got {filler_cost}; correct the cost"
            )
        if both := set(self.keywords) & set(self.fillers):
            raise GrammarError(
                f'keyword loop: "{min(both)}" is both a keyword and a filler, expected one of them; '
                "rename the filler"
            )

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context with every keyword and filler; all must have a pronunciation."""
        words = (*self.keywords, *self.fillers)
        n_keywords = len(self.keywords)
        arcs = [(w, 0.0 if w < n_keywords else -self.filler_cost, 0) for w in range(len(words))]
        return pack_tables(words, [arcs], [0.0], 0)
