"""Backoff n-gram language models: read and written as ARPA files, estimated, evaluated, compiled."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN, Arc, GrammarTables, pack_tables
from decoder.grammars.smoothing import Ngram, Smoothing, estimate_backoff
from foundation.files import as_path, composed, content_of, unpacked, write_whole

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
        path = as_path(path, GrammarError)
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
            see :mod:`decoder.grammars.smoothing`
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


# The ARPA text format of backoff n-gram models, base-10 logarithms as in the file.
#
# The format is that of the SRI toolkit,
# http://www.speech.sri.com/projects/srilm/manpages/ngram-format.5.html:
#
#     \data\
#     ngram 1=4
#     ngram 2=2
#
#     \1-grams:
#     -0.5 WORD -0.3
#     …
#     \end\
#
# Values of -99 and below mean probability zero. Words are brought to Unicode normal form C, as in the
# lexicon.

LOG10_ZERO = -99.0

_COUNT = re.compile(r"ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,18})")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")


def read_arpa(path: str | Path) -> tuple[list[dict[Ngram, float]], dict[Ngram, float]]:
    """Return the log10 probabilities, a mapping for each order, and the log10 backoff weights of a file."""
    lines = _lines(Path(path))
    counts, (number, line) = _read_counts(path, lines)
    log_probs: list[dict[Ngram, float]] = [{} for _ in counts]
    backoffs: dict[Ngram, float] = {}
    for order, count in enumerate(counts, start=1):
        section = _SECTION.fullmatch(line)
        if not section or int(section[1]) != order:
            raise _error(path, number, f'expected "\\{order}-grams:"', line, "restore the section")
        for number, line in lines:
            if line[0] == "\\":
                break
            _read_ngram(path, number, line, order, len(counts), log_probs[order - 1], backoffs)
        else:
            raise _error(
                path, number, 'expected "\\end\\" at the end', "the end of the file", "get the whole file"
            )
        if len(log_probs[order - 1]) != count:
            found = f"{len(log_probs[order - 1])} {order}-grams before this line"
            raise _error(
                path, number, f"expected {count} {order}-grams", found, "correct the count or the list"
            )
    if line != "\\end\\":
        raise _error(path, number, 'expected "\\end\\"', line, "correct the counts or end the file there")
    return log_probs, backoffs


def write_arpa(
    path: str | Path, log_probs: Sequence[Mapping[Ngram, float]], backoffs: Mapping[Ngram, float]
) -> None:
    """Write log10 probabilities and backoff weights, packed if ``.gz``; they are read bit for bit."""
    for (word,) in log_probs[0] if log_probs else ():
        if word.split() != [word]:
            raise GrammarError(f"{path}: expected words without white space, got {word!r}; rename it")
    lines = ["\\data\\", *(f"ngram {n}={len(table)}" for n, table in enumerate(log_probs, start=1))]
    for order, table in enumerate(log_probs, start=1):
        lines += ["", f"\\{order}-grams:"]
        for ngram in sorted(table):
            backoff = [_number(backoffs[ngram])] if ngram in backoffs else []
            lines.append("\t".join([_number(table[ngram]), " ".join(ngram), *backoff]))
    text = "\n".join([*lines, "", "\\end\\", ""])
    data, path = text.encode(), Path(path)
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _number(log10: float) -> str:
    return repr(max(float(log10), LOG10_ZERO))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a plain or gzip file that are not empty."""
    try:
        data = content_of(path)
        text = (unpacked(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise GrammarError(f"{path}: expected a readable ARPA file, got: {error}; check the path") from error
    except UnicodeDecodeError as error:
        raise GrammarError(f"{path}: expected UTF-8 text, got {error}; convert the file to UTF-8") from error
    for number, line in enumerate(composed(text).split("\n"), start=1):
        if line.strip():
            yield number, line.strip()


def _read_counts(path: str | Path, lines: Iterator[tuple[int, str]]) -> tuple[list[int], tuple[int, str]]:
    """Return the declared number of n-grams of each order, and the line after them."""
    for _, line in lines:
        if line == "\\data\\":
            break
    else:
        raise GrammarError(f'{path}: expected a line "\\data\\", got none; give an ARPA language model')
    counts: list[int] = []
    for number, line in lines:
        match = _COUNT.fullmatch(line)
        if not match:
            break
        if int(match[1]) != len(counts) + 1:
            raise _error(
                path, number, f'expected "ngram {len(counts) + 1}=…"', line, "list the orders from 1"
            )
        counts.append(int(match[2]))
    else:
        raise GrammarError(f'{path}: expected "\\1-grams:", got the end of the file; get the whole file')
    if not counts:
        raise _error(path, number, 'expected "ngram 1=…"', line, "declare the number of n-grams")
    return counts, (number, line)


def _read_ngram(
    path: str | Path,
    number: int,
    line: str,
    order: int,
    max_order: int,
    log_probs: dict[Ngram, float],
    backoffs: dict[Ngram, float],
) -> None:
    """Add the n-gram of one line to the tables."""
    fields = line.split()
    n_weights = len(fields) - order - 1
    try:
        log10 = float(fields[0])
        weight = float(fields[-1]) if n_weights else 0.0
    except ValueError:
        n_weights = -1
    if n_weights != 0 and (n_weights != 1 or order == max_order):
        expected = f"expected a log10 probability, {order} words"
        weights = " and perhaps a backoff weight" if order < max_order else ""
        raise _error(path, number, expected + weights, f'"{line}"', "correct the line")
    if not (log10 <= 0 and weight < np.inf):  # false of NaN, too
        raise _error(
            path, number, "expected a log10 probability of at most 0", f'"{line}"', "correct the line"
        )
    ngram = tuple(fields[1 : order + 1])
    if ngram in log_probs:
        raise _error(path, number, "expected each n-gram once", f'"{" ".join(ngram)}" again', "remove one")
    log_probs[ngram] = log10 if log10 > LOG10_ZERO else -np.inf
    if n_weights:
        backoffs[ngram] = weight if weight > LOG10_ZERO else -np.inf


def _error(path: str | Path, number: int, expected: str, got: str, cure: str) -> GrammarError:
    return GrammarError(f"{path}:{number}: {expected}, got {got}; {cure}")
