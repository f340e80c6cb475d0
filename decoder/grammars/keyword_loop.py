"""The keyword loop, which allows keywords among fillers that stand for all other sounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from decoder.errors import GrammarError
from decoder.grammars.grammar import GrammarTables, pack_tables


@dataclass(frozen=True, init=False)
class KeywordLoop:
    """Any keyword or filler after any other; a keyword gains so much, whatever is heard.

    Without a gain no keyword is ever found: fillers for each phone fit any sounds as well.

    Examples
    --------
    >>> tables = KeywordLoop(["YES"], ["#N", "#OW"], gain=7.0).compile({"YES", "#N", "#OW"})
    >>> tables.sentence_log_prob(["#OW", "YES", "#N", "YES"])
    14.0
    """

    keywords: tuple[str, ...]
    fillers: tuple[str, ...]
    gain: float

    def __init__(self, keywords: Iterable[str], fillers: Iterable[str], gain: float) -> None:
        object.__setattr__(self, "keywords", tuple(sorted(set(keywords))))
        object.__setattr__(self, "fillers", tuple(sorted(set(fillers))))
        object.__setattr__(self, "gain", gain)
        if not self.keywords:
            raise GrammarError("keyword loop: expected at least one keyword, got none; give the words")
        if both := set(self.keywords) & set(self.fillers):
            raise GrammarError(
                f'keyword loop: "{min(both)}" is both a keyword and a filler, expected one of them; '
                "rename the filler"
            )

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context with every keyword and filler; all must have a pronunciation."""
        words = (*self.keywords, *self.fillers)
        n_keywords = len(self.keywords)
        arcs = [(w, self.gain if w < n_keywords else 0.0, 0) for w in range(len(words))]
        return pack_tables(words, [arcs], [0.0], 0)
