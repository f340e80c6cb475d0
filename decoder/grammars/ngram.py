"""Backoff n-gram language models: read, write, estimate, evaluate, compile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.arpa import Ngram, read_arpa, write_arpa
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN, Arc, GrammarTables, pack_tables
from decoder.grammars.smoothing import Smoothing, estimate_backoff

LN10 = float(np.log(10.0))
NOT_SPOKEN = frozenset({SENTENCE_START, SENTENCE_END, UNKNOWN})


@dataclass(frozen=True, eq=True)
class NGram:
    """A backoff model: log P(w | h) is listed, or else backoff(h) + log P(w | h without its first word).

    Attributes
    ----------
    log10_probs : for each order from 1 the listed n-grams with their base-10 log probability
    log10_backoffs : base-10 log backoff weight of histories; 0 where there is none

    Examples
    --------
    >>> model = NGram.estimate([["RED", "ROSE"], ["RED", "WINE"]], order=2)
    >>> round(float(np.exp(model.log_prob("RED", ["<s>"]))), 4)
    0.7667
    """

    log10_probs: tuple[Mapping[Ngram, float], ...]
    log10_backoffs: Mapping[Ngram, float]

    def __post_init__(self) -> None:
        if not self.log10_probs or not self.log10_probs[0]:
            raise GrammarError(
                "n-gram: expected at least one unigram, got none; give a language model with words"
            )
        words = {word for unigram in self.log10_probs[0] for word in unigram}
        problems = sorted(
            ngram
            for order, table in enumerate(self.log10_probs, start=1)
            for ngram in table
            if len(ngram) != order or not words.issuperset(ngram)
        )
        if problems:
            raise GrammarError(
                f'n-gram: expected n-grams of listed unigrams, got "{" ".join(problems[0])}"'
                f" and {len(problems) - 1} more; list their words as unigrams"
            )

    @classmethod
    def read(cls, path: str | Path) -> NGram:
        """Return the model in an ARPA file (``.gz`` too)."""
        log_probs, backoffs = read_arpa(path)
        try:
            return cls(tuple(log_probs), backoffs)
        except GrammarError as error:
            raise GrammarError(f"{path}: {error}") from None

    @classmethod
    def estimate(
        cls,
        sentences: Iterable[Sequence[str]],
        order: int,
        *,
        vocabulary: Iterable[str] | None = None,
        smoothing: Smoothing = "witten-bell",
        threshold: float = 0.0,
    ) -> NGram:
        """Return the interpolated model of a text.

        Every word of the vocabulary (of the text, if there is none) gets a probability in every context.
        Words of the text outside a given vocabulary are counted as ``<unk>``.

        Parameters
        ----------
        sentences : words, without ``<s>`` and ``</s>``
        order : length of the longest n-grams, 1 = unigram
        smoothing : ``witten-bell``, ``absolute``, ``kneser-ney`` or ``modified-kneser-ney``, see
            :mod:`decoder.grammars.smoothing`
        threshold : n-grams are left out without which the perplexity rises by less than this share of itself,
            see :mod:`decoder.grammars.pruning`
        """
        return cls(
            *estimate_backoff(
                sentences, order, vocabulary=vocabulary, smoothing=smoothing, threshold=threshold
            )
        )

    def write(self, path: str | Path) -> None:
        """Write an ARPA file (``.gz`` too); reading it gives an equal model."""
        write_arpa(path, self.log10_probs, self.log10_backoffs)

    def renamed(self, names: Mapping[str, str]) -> NGram:
        """Return the model with other names for some words; of n-grams that become one, the more probable."""
        tables = [_renamed(table, names) for table in self.log10_probs]
        return NGram(tuple(tables), _renamed(self.log10_backoffs, names))

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.log10_probs)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words that can be spoken, sorted."""
        return tuple(sorted(word for (word,) in self.log10_probs[0] if word not in NOT_SPOKEN))

    def log_prob(self, word: str, history: Sequence[str] = ()) -> float:
        """Return the natural log of P(word | history); a word outside the model counts as ``<unk>``."""
        return LN10 * self._log10_prob(self._known(word), tuple(map(self._known, history)))

    def sentence_log_prob(self, sentence: Sequence[str]) -> float:
        """Return the natural log of P(sentence), its end included."""
        said = [SENTENCE_START, *sentence, SENTENCE_END]
        return sum(self.log_prob(said[i], said[max(0, i - self.order + 1) : i]) for i in range(1, len(said)))

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        """Return the perplexity per word, sentence ends counted as words; inf if a sentence is impossible."""
        total, n_words = 0.0, 0
        for sentence in sentences:
            total += self.sentence_log_prob(sentence)
            n_words += len(sentence) + 1
        if not n_words:
            raise GrammarError("perplexity: expected at least one sentence, got none; give a text")
        return float(np.exp(-total / n_words))

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return the tables of the words that have a pronunciation; the other words are named in them.

        The probability of the words left out is not given to the others.
        """
        spoken = [word for word in self.words if word in pronounceable]
        word_ids = {word: i for i, word in enumerate(spoken)}
        contexts = self._contexts(word_ids)
        context_ids = {context: i for i, context in enumerate(contexts)}
        arcs: list[list[Arc]] = [[] for _ in contexts]
        for ngram, log10 in self._explicit(contexts).items():
            if ngram[-1] in word_ids and ngram[:-1] in context_ids:
                following = context_ids[_longest_suffix(ngram, context_ids)]
                arcs[context_ids[ngram[:-1]]].append((word_ids[ngram[-1]], LN10 * log10, following))
        backoffs = [
            (
                context_ids[_longest_suffix(context[1:], context_ids)],
                LN10 * self.log10_backoffs.get(context, 0.0),
            )
            if context
            else (-1, 0.0)
            for context in contexts
        ]
        return pack_tables(
            spoken,
            arcs,
            [LN10 * self._log10_prob(SENTENCE_END, context) for context in contexts],
            context_ids[_longest_suffix((SENTENCE_START,), context_ids)],
            backoffs=backoffs,
            dropped_words=set(self.words) - set(spoken),
        )

    def _contexts(self, word_ids: Mapping[str, int]) -> list[Ngram]:
        """Return the histories that are continued or have a backoff weight, of words that can be said."""
        continued = {ngram[:-1] for table in self.log10_probs[1:] for ngram in table}
        weighted = {h for h, log10 in self.log10_backoffs.items() if log10 != 0.0 and len(h) < self.order}
        spoken = {
            history
            for history in continued | weighted
            if all(word in word_ids for word in history[1:])
            and (not history or history[0] in word_ids or history[0] == SENTENCE_START)
        }
        # A context is reached one word at a time, so all beginnings of a history are contexts, too.
        return sorted({history[:n] for history in spoken for n in range(len(history) + 1)} | {()})

    def _explicit(self, contexts: Iterable[Ngram]) -> dict[Ngram, float]:
        """Return log10 probabilities of all listed n-grams and of contexts that are not listed themselves."""
        explicit = {ngram: log10 for table in self.log10_probs for ngram, log10 in table.items()}
        for context in contexts:
            if context and context != (SENTENCE_START,) and context not in explicit:
                explicit[context] = self._log10_prob(context[-1], context[:-1])
        return explicit

    def _log10_prob(self, word: str, history: Ngram) -> float:
        """Return log10 P(word | history) by the backoff rule of the ARPA format."""
        history = history[max(0, len(history) - self.order + 1) :]
        log10 = self.log10_probs[len(history)].get((*history, word))
        if log10 is not None:
            return log10
        if not history:
            return -np.inf
        return self.log10_backoffs.get(history, 0.0) + self._log10_prob(word, history[1:])

    def _known(self, word: str) -> str:
        """Return the word itself, or ``<unk>`` for a word outside the model."""
        return word if (word,) in self.log10_probs[0] else UNKNOWN


def _longest_suffix(words: Ngram, contexts: Mapping[Ngram, int]) -> Ngram:
    """Return the longest end of a word sequence that is a context."""
    return next(words[i:] for i in range(len(words) + 1) if words[i:] in contexts)


def _renamed(values: Mapping[Ngram, float], names: Mapping[str, str]) -> dict[Ngram, float]:
    renamed: dict[Ngram, float] = {}
    for ngram, value in values.items():
        key = tuple(names.get(word, word) for word in ngram)
        renamed[key] = max(value, renamed.get(key, -np.inf))
    return renamed
