"""A language model of a text: its sentences read, the model estimated and pruned, another text as its test.

Conventions. The perplexity is exp of the mean negative log probability of a word, where the end of a sentence
is a word, too. Without unknown words it is over the words that the model has, each after what was said before
it; with them ``<unk>`` stands for the others. The out-of-vocabulary rate is of words alone.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from acoustic.hmm.topology import NOISE_WORD
from asr.corpora.corpus import WHOLE, read_parts
from asr.errors import CorpusError
from asr.text.forms import NOT_WORDS, PLAIN, Word, WordForms, word_forms
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, UNKNOWN
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon
from foundation.files import composed, content_of, text_of, unpacked

KALDI_TEXT = "text"  # the name of the file whose lines begin with ids
Sentence = tuple[Word, ...]


@dataclass(frozen=True)
class Usage:
    """What a text has of a vocabulary.

    Attributes
    ----------
    n_sentences, n_words : size of the text
    unknown : words outside the vocabulary as they are written, and how often, the most frequent first
    """

    n_sentences: int
    n_words: int
    unknown: Mapping[str, int]

    @property
    def unknown_rate(self) -> float:
        """Occurrences of unknown words in per cent of the words."""
        return 100.0 * sum(self.unknown.values()) / max(self.n_words, 1)


@dataclass(frozen=True)
class Fit(Usage):
    """How well a model predicts a text: perplexities without the unknown words, and with them."""

    perplexity: float
    perplexity_with_unknown: float


@dataclass(frozen=True)
class LanguageModel:
    """A model, what its text has of its vocabulary, and how well it predicts a test, if there is one."""

    ngram: NGram
    text: Usage
    test: Fit | None = None


def language_model(
    source: Path,
    *,
    order: int = 3,
    vocabulary: Collection[str] | None = None,
    threshold: float = 0.0,
    test: Path | None = None,
    text: str = PLAIN,
) -> LanguageModel:
    """Return the modified Kneser-Ney model of a text, see :func:`asr.commands.data.lm`."""
    lines = read_lines(source, "train")
    sentences = sentences_of(lines, word_forms(text, vocabulary, lines))
    said = {word.word for sentence in sentences for word in sentence} - NOT_WORDS - {UNKNOWN}
    known = said if vocabulary is None else set(vocabulary)
    if not said & known:
        what = "words that can be read" if vocabulary is None else "words of the vocabulary"
        raise CorpusError(
            f"{source}: no {what}, expected one sentence a line; check the file, or take words as they stand "
            "(--text exact)"
        )
    ngram = NGram.estimate(
        map(_words, sentences),
        order,
        vocabulary=known | {UNKNOWN},
        smoothing="modified-kneser-ney",
        threshold=threshold,
    )
    model = LanguageModel(ngram, usage(sentences, known))
    if test is None:
        return model
    tested = sentences_of(read_lines(test, "test"), word_forms(text, known, ()))
    return LanguageModel(ngram, model.text, fit(ngram, tested))


def read_lines(source: Path, split: str) -> list[str]:
    """Return the sentences of a text as they are written, of corpora with splits those of one of them.

    A text is a file, of gzip or not, with a sentence on each line, or a Kaldi ``text``, or a corpus.
    """
    if source.is_dir():
        parts = read_parts(source, "recordings")  # who speaks does not matter
        corpus = parts[WHOLE] if WHOLE in parts else parts.get(split)
        if corpus is None:
            raise CorpusError(f"{source}: has no {split}, expected one; give the directory of a split")
        return [" ".join(utterance.words) for utterance in corpus]
    try:
        data = content_of(source)
        found = (unpacked(data) if source.suffix == ".gz" else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{source}: expected UTF-8 text, got {error}; convert the file to UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{source}: cannot be read ({error}), expected a text; check the path") from error
    lines = [line for line in composed(found).splitlines() if line.strip()]
    return [" ".join(line.split()[1:]) for line in lines] if source.name == KALDI_TEXT else lines


def sentences_of(lines: Iterable[str], forms: WordForms | None) -> list[Sentence]:
    """Return the words of each sentence, without noises and sentence marks."""
    left_out = {NOISE_WORD, SENTENCE_START, SENTENCE_END}
    if forms is None:
        return [tuple(Word(w, w) for w in line.split() if w not in left_out) for line in lines]
    return [tuple(word for word in forms.read(line) if word.word not in left_out) for line in lines]


def usage(sentences: Sequence[Sentence], known: Collection[str]) -> Usage:
    """Return the size of a text, and its words outside a vocabulary."""
    n_words = sum(map(len, sentences))
    unknown = Counter(word.written for sentence in sentences for word in sentence if word.word not in known)
    in_order = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
    return Usage(len(sentences), n_words, dict(in_order))


def fit(ngram: NGram, sentences: Sequence[Sentence]) -> Fit:
    """Return how well a model predicts a text."""
    size = usage(sentences, frozenset(ngram.words))
    log_prob = sum(ngram.sentence_log_prob(_words(sentence)) for sentence in sentences)
    n_events = size.n_words + size.n_sentences
    if not n_events:
        raise CorpusError("the test has no sentences, expected one a line; check the file")
    of_unknown = sum(_log_probs_of_unknown(ngram, _words(sentence)) for sentence in sentences)
    n_known = n_events - sum(size.unknown.values())
    return Fit(
        size.n_sentences,
        size.n_words,
        size.unknown,
        perplexity=float(np.exp((of_unknown - log_prob) / n_known)),
        perplexity_with_unknown=float(np.exp(-log_prob / n_events)),
    )


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """Return the words of a list, one a line, or of a lexicon."""
    try:
        lines = text_of(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{path}: cannot be read ({error}), expected a lexicon or a list of words; check the path"
        ) from error
    if any(len(line.split()) > 1 for line in lines):
        return Lexicon.read(path).words
    words = {composed(line.strip()) for line in lines} - {""}
    if not words:
        raise CorpusError(f"{path}: no words, expected a lexicon or a list of words; check the file")
    return tuple(sorted(words))


def _words(sentence: Sentence) -> tuple[str, ...]:
    return tuple(word.word for word in sentence)


def _log_probs_of_unknown(ngram: NGram, words: Sequence[str]) -> float:
    """Return the sum of the log probabilities of the words that a model lacks, where they stand."""
    said, known = (SENTENCE_START, *words), frozenset(ngram.words)
    return sum(
        ngram.log_prob(word, said[:place]) for place, word in enumerate(said) if place and word not in known
    )
