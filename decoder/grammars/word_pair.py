"""Word-pair grammars: for every word the list of words that may follow it, as in DARPA Resource Management.

``word_pairs.txt`` has one line for each word, with ``<s>`` for the sentence start and ``</s>`` for its end::

    <s>: SHOW LIST
    SHOW: ALL </s>
    …

Words are brought to Unicode normal form C, as in the lexicon.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, GrammarTables, pack_tables
from foundation.files import composed, text_of, write_whole
from foundation.records import check_words

MAX_LISTED = 20  # by feel


@dataclass(frozen=True, init=False)
class WordPairGrammar:
    """Each word allows some words after it, all equally likely; everything else is impossible.

    Attributes
    ----------
    successors : word or ``<s>`` -> words or ``</s>`` that may follow, sorted

    Examples
    --------
    >>> grammar = WordPairGrammar({"<s>": ["GO"], "GO": ["ON", "UP"], "ON": ["</s>"], "UP": ["</s>"]})
    >>> tables = grammar.compile({"GO", "ON", "UP"})
    >>> round(float(np.exp(tables.sentence_log_prob(["GO", "UP"]))), 4)
    0.5
    """

    successors: Mapping[str, tuple[str, ...]]

    def __init__(self, successors: Mapping[str, Iterable[str]]) -> None:
        if not isinstance(successors, Mapping):
            got = f"a {type(successors).__name__}"
            raise GrammarError(
                f"word-pair grammar: expected a mapping from words to lists, got {got}; give a dict"
            )
        for word, following in successors.items():
            check_words(f'word-pair grammar: what follows "{word}"', _as_list(following), GrammarError)
        lists = {word: tuple(sorted(set(following))) for word, following in sorted(successors.items())}
        problems = _problems(lists)
        if problems:
            more = [f"… and {len(problems) - MAX_LISTED} more"] if len(problems) > MAX_LISTED else []
            raise GrammarError("word-pair grammar: " + "; ".join(problems[:MAX_LISTED] + more))
        object.__setattr__(self, "successors", lists)

    @classmethod
    def read(cls, path: str | Path) -> WordPairGrammar:
        """Return the grammar in a ``word_pairs.txt``."""
        try:
            text = text_of(path)
        except OSError as error:
            raise GrammarError(
                f"{path}: expected a readable word-pair file, got: {error}; check the path"
            ) from error
        except UnicodeDecodeError as error:
            raise GrammarError(
                f"{path}: expected UTF-8 text, got {error}; convert the file to UTF-8"
            ) from error
        successors: dict[str, list[str]] = {}
        for number, line in enumerate(composed(text).split("\n"), start=1):
            if not line.strip():
                continue
            head, *following = line.split()
            if not head.endswith(":") or len(head) < 2:
                raise GrammarError(
                    f'{path}:{number}: expected "WORD: SUCCESSOR …", got "{line.strip()[:60]}"; add the colon'
                )
            if head[:-1] in successors:
                raise GrammarError(
                    f'{path}:{number}: expected one line for each word, got a second for "{head[:-1]}"; '
                    "join them"
                )
            successors[head[:-1]] = following
        try:
            return cls(successors)
        except GrammarError as error:
            raise GrammarError(f"{path}: {error}") from None

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sequence[str]]) -> WordPairGrammar:
        """Return the grammar of exactly the word pairs that occur in a text."""
        successors: dict[str, set[str]] = {}
        for sentence in sentences:
            said = [SENTENCE_START, *sentence, SENTENCE_END]
            for word, following in itertools.pairwise(said):
                successors.setdefault(word, set()).add(following)
        return cls(successors)

    def renamed(self, names: Mapping[str, str]) -> WordPairGrammar:
        """Return the grammar with other names for some words; lists of words that become one are joined."""
        lists: dict[str, set[str]] = {}
        for word, following in self.successors.items():
            lists.setdefault(names.get(word, word), set()).update(names.get(w, w) for w in following)
        return WordPairGrammar(lists)

    def write(self, path: str | Path) -> None:
        """Write a ``word_pairs.txt``; reading it gives an equal grammar."""
        lines = [" ".join([f"{word}:", *following]) + "\n" for word, following in self.successors.items()]
        write_whole(path, "".join(lines).encode())

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the grammar, sorted."""
        return tuple(word for word in self.successors if word != SENTENCE_START)

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context for each word and the start; no word is left out, all must be in the lexicon."""
        contexts = tuple(self.successors)
        context_ids = {word: i for i, word in enumerate(contexts)}
        word_ids = {word: i for i, word in enumerate(self.words)}
        arcs, final = [], []
        for following in self.successors.values():
            log_prob = -float(np.log(len(following)))
            arcs.append([(word_ids[w], log_prob, context_ids[w]) for w in following if w != SENTENCE_END])
            final.append(log_prob if SENTENCE_END in following else -np.inf)
        return pack_tables(self.words, arcs, final, context_ids[SENTENCE_START])


def _as_list(words: Iterable[str]) -> object:
    """Return a set of words, as grammars often have them, as a list; anything else as it is."""
    return list(words) if isinstance(words, Set) else words


def _problems(successors: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return everything that keeps the lists from being a grammar."""
    problems = []
    if not successors.get(SENTENCE_START):
        problems.append(
            f'expected a line "{SENTENCE_START}: WORD …", got none; say which words may come first'
        )
    if SENTENCE_END in successors:
        problems.append(f"expected nothing after {SENTENCE_END}, got a line for it; remove the line")
    if not any(SENTENCE_END in following for following in successors.values()):
        problems.append(f"expected {SENTENCE_END} after some word, got none; say which words may come last")
    for word, following in successors.items():
        if word.split() != [word]:
            problems.append(f"expected words without white space, got {word!r}; rename it")
        if not following:
            problems.append(f'expected a successor of "{word}", got none; list {SENTENCE_END} or words')
        if SENTENCE_START in following:
            problems.append(f'expected words after "{word}", got {SENTENCE_START}; remove it')
        for other in following:
            if other not in successors and other not in (SENTENCE_START, SENTENCE_END):
                problems.append(f'expected a line for "{other}", which may follow "{word}", got none; add it')
    return problems
