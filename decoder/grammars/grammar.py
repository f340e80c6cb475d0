"""Which word may follow which, at what cost: one plain record for every kind of grammar.

A new kind of grammar is a class with a method ``compile`` in a module of its own beside this one, made with
`pack_tables`. What it is called on the command line and where its file comes from is one row of the table in
`asr.language.grammars`.

A grammar is compiled to contexts joined by arcs. A context stands for the words said so far, as far as the
grammar remembers them; an arc says a word and leads to the next context. Words that a context does not list
are looked for in its backoff context, and the backoff weight is added. All probabilities are natural
logarithms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from decoder.errors import GrammarError
from foundation.arrays import Floats, Ints
from foundation.files import content_of
from foundation.records import check_words

SENTENCE_START = "<s>"
SENTENCE_END = "</s>"
UNKNOWN = "<unk>"

Arc = tuple[int, float, int]  # word id, log probability, next context


@dataclass(frozen=True, eq=False)
class GrammarTables:
    """A grammar over W words with C contexts and A explicit arcs.

    Attributes
    ----------
    words : the vocabulary, the index is the word id
    arc_offsets : (C + 1,) int32, the arcs of context c are ``arc_offsets[c]:arc_offsets[c + 1]``
    arc_words : (A,) int32, word ids, ascending within a context
    arc_log_probs : (A,) float64, finite
    arc_contexts : (A,) int32, the context after the word
    backoff_contexts : (C,) int32, where words that are not listed are looked for, -1 = nowhere
    backoff_log_weights : (C,) float64, finite, log weight added when words are looked for there
    final_log_probs : (C,) float64, log probability that the sentence ends here, -inf = it may not
    start_context : context of the empty sentence
    dropped_words : words of the grammar left out because they have no pronunciation
    """

    words: tuple[str, ...]
    arc_offsets: Ints
    arc_words: Ints
    arc_log_probs: Floats
    arc_contexts: Ints
    backoff_contexts: Ints
    backoff_log_weights: Floats
    final_log_probs: Floats
    start_context: int
    dropped_words: tuple[str, ...] = ()

    @property
    def n_contexts(self) -> int:
        """Number C of contexts."""
        return len(self.final_log_probs)

    def follow(self, context: int, word: int) -> tuple[float, int] | None:
        """Return log P(word | context) and the context after it, None if the word is not allowed."""
        log_weight = 0.0
        while context >= 0:
            first, stop = self.arc_offsets[context], self.arc_offsets[context + 1]
            arc = first + int(np.searchsorted(self.arc_words[first:stop], word))
            if arc < stop and self.arc_words[arc] == word:
                return log_weight + float(self.arc_log_probs[arc]), int(self.arc_contexts[arc])
            log_weight += float(self.backoff_log_weights[context])
            context = int(self.backoff_contexts[context])
        return None

    def sentence_log_prob(self, sentence: Iterable[str]) -> float:
        """Return log P(sentence), its end included; -inf when the grammar does not allow it."""
        ids = {word: i for i, word in enumerate(self.words)}
        total, context = 0.0, self.start_context
        for word in sentence:
            step = self.follow(context, ids[word]) if word in ids else None
            if step is None:
                return -np.inf
            total, context = total + step[0], step[1]
        return total + float(self.final_log_probs[context])


class Grammar(Protocol):
    """Anything a decoder can take as its grammar."""

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return the tables; a statistical grammar leaves out words without pronunciation and names them."""
        ...


def pack_tables(
    words: Sequence[str],
    arcs: Sequence[Sequence[Arc]],
    final_log_probs: Sequence[float],
    start_context: int,
    *,
    backoffs: Sequence[tuple[int, float]] | None = None,
    dropped_words: Iterable[str] = (),
) -> GrammarTables:
    """Return tables from lists of arcs by context; arcs of probability 0 are left out."""
    rows = [sorted(arc for arc in row if arc[1] > -np.inf) for row in arcs]
    flat = [arc for row in rows for arc in row]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    used = [(c, b) if b > -np.inf else (-1, 0.0) for c, b in backoffs or [(-1, 0.0)] * len(rows)]
    return GrammarTables(
        words=tuple(words),
        arc_offsets=offsets.astype(np.int32),
        arc_words=np.array([arc[0] for arc in flat], dtype=np.int32),
        arc_log_probs=np.array([arc[1] for arc in flat], dtype=np.float64),
        arc_contexts=np.array([arc[2] for arc in flat], dtype=np.int32),
        backoff_contexts=np.array([c for c, _ in used], dtype=np.int32),
        backoff_log_weights=np.array([b for _, b in used], dtype=np.float64),
        final_log_probs=np.array(final_log_probs, dtype=np.float64),
        start_context=start_context,
        dropped_words=tuple(sorted(dropped_words)),
    )


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
        if isinstance(words, Iterable) and not isinstance(words, str | np.ndarray):
            words = tuple(words)
        check_words("word loop", words, GrammarError)
        object.__setattr__(self, "words", tuple(sorted(set(words))))
        if not self.words:
            raise GrammarError(
                "word loop: expected at least one word, got none; give the words of the lexicon"
            )

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context with every word; all words must have a pronunciation."""
        log_prob = -float(np.log(len(self.words)))
        return pack_tables(self.words, [[(w, log_prob, 0) for w in range(len(self.words))]], [0.0], 0)


# The text of a grammar's file, or an error of one line.


def grammar_text(path: Path) -> str:
    """Return the text of a file in UTF-8, line ends as ``\\n``, without a byte order mark."""
    try:
        content = content_of(path)
    except OSError as error:
        raise GrammarError(
            f"{path}: cannot be read ({error.strerror}), expected a grammar; check the path"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content[: error.start].count(b"\n")
        raise GrammarError(f"{path}:{line}: not UTF-8, expected UTF-8 text; convert it with iconv") from error
    if "\0" in text:
        raise GrammarError(f"{path}: zero bytes in it, expected UTF-8 text; convert it with iconv")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def grammar_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and content of the lines that are neither empty nor comments (``#``)."""
    for number, line in enumerate(grammar_text(path).split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
