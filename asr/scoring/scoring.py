"""Word accuracy of recognised words against references, and the comparison of two recognisers.

Conventions: word accuracy is A = 100 − 100(S+I+D)/N, thesis (4.5), over all words of the test set; it can be
negative. The alignment and its counts are those of NIST sclite, or by the rule ``htk`` those of HTK's
HResults (see `asr.scoring.edit_distance`), case-sensitive as `sclite -s` unless `normalize_case`. A
reference utterance without hypothesis counts as deleted as a whole and is named in `missing`; a hypothesis
without reference is an error. Intervals and p values come from the bootstrap over *utterances*, test sets
drawn anew from those of one, with replacement: they cover the choice of sentences, not that of speakers,
training set or seed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from asr.corpora.utterances import are_speakers_known
from asr.errors import ConfigError, ScoringError
from asr.scoring.edit_distance import (
    Confusion,
    ErrorCounts,
    Rule,
    WordPair,
    align_words,
    count_confusions,
    count_errors,
)
from foundation.arrays import Floats, Longs
from foundation.errors import did_you_mean

if TYPE_CHECKING:
    from asr.corpora.corpus import Corpus
    from decoder.decoder import Hypothesis

Transcripts = Mapping[str, Sequence[str]]

_N_NAMED = 3  # by feel
_RESAMPLES_PER_BLOCK = 500  # by feel: their counts stay small beside the corpus


@dataclass(frozen=True)
class UtteranceErrors:
    """One utterance: its aligned words and their counts."""

    utterance_id: str
    pairs: tuple[WordPair, ...]
    counts: ErrorCounts
    is_missing: bool

    @property
    def is_correct(self) -> bool:
        """Whether there is a hypothesis and it has no error."""
        return self.counts.errors == 0 and not self.is_missing


@dataclass(frozen=True)
class SpeakerAccuracy:
    """One speaker: the sums over the utterances."""

    speaker: str
    counts: ErrorCounts
    n_utterances: int
    n_correct_utterances: int


@dataclass(frozen=True)
class WordAccuracy:
    """How well one recogniser does on one test set.

    Attributes
    ----------
    counts : ErrorCounts
    utterances : tuple of UtteranceErrors
        In the order of the reference.
    speakers : tuple of SpeakerAccuracy
        Sorted by name; empty when no speakers were given.
    confusions : tuple of Confusion
        All errors, the most frequent first.
    interval : (float, float)
        95 % percentile bootstrap interval of the word accuracy, over utterances. With few utterances it is
        too narrow; with one it has no width.
    missing : tuple of str
        Reference utterances without a hypothesis, counted as deletions.
    not_decoded : mapping of str to int
        The number of words of each utterance that could not be decoded; no other figure counts them.
    """

    counts: ErrorCounts
    utterances: tuple[UtteranceErrors, ...]
    speakers: tuple[SpeakerAccuracy, ...]
    confusions: tuple[Confusion, ...]
    interval: tuple[float, float]
    missing: tuple[str, ...]
    not_decoded: Mapping[str, int] = field(default_factory=dict)

    @property
    def word_accuracy(self) -> float:
        """A in percent."""
        return self.counts.word_accuracy

    @property
    def substitutions(self) -> int:
        """Substituted words, S."""
        return self.counts.substitutions

    @property
    def deletions(self) -> int:
        """Deleted words, D."""
        return self.counts.deletions

    @property
    def insertions(self) -> int:
        """Inserted words, I."""
        return self.counts.insertions

    @property
    def words(self) -> int:
        """Words of the reference, N."""
        return self.counts.words

    @property
    def sentence_accuracy(self) -> float:
        """Share of utterances without any error, in percent."""
        return 100.0 * sum(u.is_correct for u in self.utterances) / len(self.utterances)


@dataclass(frozen=True)
class Comparison:
    """Two recognisers on the same utterances.

    Attributes
    ----------
    accuracy_a, accuracy_b : float
        Word accuracies in percent.
    interval : (float, float)
        95 % interval of `difference` by the paired bootstrap over utterances.
    p_value : float
        Two-sided: twice the smaller share of resamples on one side of zero.
    n_better_a, n_better_b, n_equal : int
        Utterances with fewer errors of A, of B, and as many.
    sign_test_p_value : float
        Exact two-sided sign test on the utterances that differ.
    missing_a, missing_b : tuple of str
        Reference utterances without a hypothesis, counted as deletions.
    """

    accuracy_a: float
    accuracy_b: float
    interval: tuple[float, float]
    p_value: float
    n_better_a: int
    n_better_b: int
    n_equal: int
    sign_test_p_value: float
    missing_a: tuple[str, ...]
    missing_b: tuple[str, ...]

    @property
    def difference(self) -> float:
        """Accuracy of B minus that of A, in points: positive when B is better."""
        return self.accuracy_b - self.accuracy_a


def score(
    reference: Transcripts,
    hypothesis: Transcripts,
    *,
    speakers: Mapping[str, str] | None = None,
    normalize_case: bool = False,
    rule: Rule = "nist",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> WordAccuracy:
    """Return accuracies, errors and their interval for recognised words.

    Parameters
    ----------
    reference, hypothesis : mapping of utterance id to sequence of str
    speakers : mapping of utterance id to speaker, optional
        Asks for the table per speaker.
    normalize_case : bool
        Compare words without regard to case.
    rule : ``nist`` or ``htk``
        Whose weights align the words: sclite's, or HResults'.
    n_resamples, seed : int
        Of the bootstrap.

    Raises
    ------
    ScoringError
        No reference words, a hypothesis without reference, or an utterance without speaker.

    Examples
    --------
    >>> result = score({"u1": ["stop"], "u2": ["go", "left"]}, {"u1": ["stop"], "u2": ["go", "lift"]})
    >>> round(result.word_accuracy, 2), result.sentence_accuracy
    (66.67, 50.0)
    """
    _check(reference, hypothesis)
    if speakers is not None:
        _check_ids_known(reference, speakers, "utterances", "the speakers", "add them to utt2spk")
    utterances = _utterance_errors(reference, hypothesis, normalize_case, rule)
    errors, words = _errors_and_words(utterances)
    accuracies = resample_accuracies(errors[:, None], words, n_resamples, seed)[:, 0]
    return WordAccuracy(
        counts=_total(utterances),
        utterances=utterances,
        speakers=_speaker_accuracies(utterances, speakers) if speakers is not None else (),
        confusions=count_confusions(_pairs(utterances)),
        interval=interval_of(accuracies),
        missing=_missing(utterances),
    )


def accuracy_of(corpus: Corpus, decoded: Sequence[Hypothesis]) -> WordAccuracy:
    """Return the word accuracy of hypotheses against the transcripts of a corpus, by known speakers too."""
    speakers = {u.utterance_id: u.speaker for u in corpus} if are_speakers_known(corpus) else None
    texts = {i: h.text for i, h in zip(corpus.ids, decoded, strict=True)}
    return score(corpus.text, texts, speakers=speakers)


def compare(
    reference: Transcripts,
    hypothesis_a: Transcripts,
    hypothesis_b: Transcripts,
    *,
    normalize_case: bool = False,
    rule: Rule = "nist",
    n_resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Return how much better recogniser B is than A on the same utterances, and how sure that is.

    The arguments are those of `score`.
    """
    _check(reference, hypothesis_a)
    _check(reference, hypothesis_b)
    utterances_a = _utterance_errors(reference, hypothesis_a, normalize_case, rule)
    utterances_b = _utterance_errors(reference, hypothesis_b, normalize_case, rule)
    errors_a, words = _errors_and_words(utterances_a)
    errors_b, _ = _errors_and_words(utterances_b)
    accuracies = resample_accuracies(np.column_stack([errors_a, errors_b]), words, n_resamples, seed)
    differences = accuracies[:, 1] - accuracies[:, 0]
    n_better_a, n_better_b = int(np.sum(errors_a < errors_b)), int(np.sum(errors_b < errors_a))
    n_differing = n_better_a + n_better_b
    return Comparison(
        accuracy_a=_total(utterances_a).word_accuracy,
        accuracy_b=_total(utterances_b).word_accuracy,
        interval=interval_of(differences),
        p_value=two_sided_p_value(differences),
        n_better_a=n_better_a,
        n_better_b=n_better_b,
        n_equal=len(words) - n_differing,
        sign_test_p_value=float(stats.binomtest(n_better_b, n_differing).pvalue) if n_differing else 1.0,
        missing_a=_missing(utterances_a),
        missing_b=_missing(utterances_b),
    )


def _utterance_errors(
    reference: Transcripts, hypothesis: Transcripts, normalize_case: bool, rule: Rule
) -> tuple[UtteranceErrors, ...]:
    found = []
    for utterance_id, spoken in reference.items():
        recognised = hypothesis.get(utterance_id, ())
        if normalize_case:
            spoken, recognised = [w.casefold() for w in spoken], [w.casefold() for w in recognised]
        pairs = align_words(spoken, recognised, rule)
        is_missing = utterance_id not in hypothesis
        found.append(UtteranceErrors(utterance_id, pairs, count_errors(pairs), is_missing))
    return tuple(found)


def _pairs(utterances: Iterable[UtteranceErrors]) -> Iterator[WordPair]:
    return (pair for utterance in utterances for pair in utterance.pairs)


def _total(utterances: Iterable[UtteranceErrors]) -> ErrorCounts:
    return count_errors(_pairs(utterances))


def _missing(utterances: Iterable[UtteranceErrors]) -> tuple[str, ...]:
    return tuple(u.utterance_id for u in utterances if u.is_missing)


def _errors_and_words(utterances: Sequence[UtteranceErrors]) -> tuple[Longs, Longs]:
    counts = np.array([(u.counts.errors, u.counts.words) for u in utterances], dtype=np.int64)
    return counts[:, 0], counts[:, 1]


def _speaker_accuracies(
    utterances: Iterable[UtteranceErrors], speakers: Mapping[str, str]
) -> tuple[SpeakerAccuracy, ...]:
    by_speaker: dict[str, list[UtteranceErrors]] = {}
    for utterance in utterances:
        by_speaker.setdefault(speakers[utterance.utterance_id], []).append(utterance)
    return tuple(
        SpeakerAccuracy(speaker, _total(theirs), len(theirs), sum(u.is_correct for u in theirs))
        for speaker, theirs in sorted(by_speaker.items())
    )


def _check(reference: Transcripts, hypothesis: Transcripts) -> None:
    for name, transcripts in (("reference", reference), ("hypothesis", hypothesis)):
        unsplit = [utterance_id for utterance_id, words in transcripts.items() if isinstance(words, str)]
        if unsplit:
            raise ScoringError(
                f"{name}: expected a sequence of words, got one string in {_named(unsplit)}; split it first"
            )
    if not any(reference.values()):
        raise ScoringError(
            f"reference: expected at least one word, got none in {len(reference)} utterances; "
            "check the reference transcript"
        )
    _check_ids_known(
        hypothesis, reference, "hypotheses", "the reference", "score against the reference they belong to"
    )


def _check_ids_known(ids: Iterable[str], known: Iterable[str], what: str, where: str, cure: str) -> None:
    known_ids = dict.fromkeys(known)
    unknown = [i for i in ids if i not in known_ids]
    if unknown:
        named = _named(unknown, known_ids)
        raise ScoringError(f"{len(unknown)} {what} are not in {where}: {named}; {cure}, or remove them")


def _named(ids: Sequence[str], candidates: Iterable[str] = ()) -> str:
    """Return the first few ids, each with the nearest candidate."""
    names = []
    for utterance_id in ids[:_N_NAMED]:
        nearest = difflib.get_close_matches(utterance_id, candidates, n=1)
        names.append(f'"{utterance_id}"{did_you_mean(nearest)}')
    n_left_out = len(ids) - len(names)
    return ", ".join(names) + (f" and {n_left_out} more" if n_left_out else "")


def resample_accuracies(errors: Longs, words: Longs, n_resamples: int, seed: int) -> Floats:
    """Return the word accuracies of test sets drawn with replacement from the utterances of one.

    Parameters
    ----------
    errors : int64 array, shape (N, n_systems)
        Errors of each recogniser in each utterance; the recognisers share the draws.
    words : int64 array, shape (N,)
        Reference words of each utterance.
    n_resamples, seed : int

    Returns
    -------
    float64 array, shape (n_resamples, n_systems)
        In percent. A draw without any reference word has no accuracy and is left out.
    """
    if n_resamples < 1:
        raise ConfigError(f"n_resamples: expected at least 1, got {n_resamples}; 10000 is usual")
    # Utterances with the same counts are interchangeable: what matters is how many of each kind are drawn.
    kinds, n_alike = np.unique(np.column_stack([words, errors]), axis=0, return_counts=True)
    n_utterances = len(words)
    rng = np.random.default_rng(seed)
    block_sizes = np.diff([*range(0, n_resamples, _RESAMPLES_PER_BLOCK), n_resamples])
    totals = np.concatenate(
        [rng.multinomial(n_utterances, n_alike / n_utterances, size=n) @ kinds for n in block_sizes]
    )
    totals = totals[totals[:, 0] > 0]
    return np.asarray(100.0 - 100.0 * totals[:, 1:] / totals[:, :1])


def interval_of(values: Floats) -> tuple[float, float]:
    """Return the 95 % percentile interval of resampled values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def two_sided_p_value(differences: Floats) -> float:
    """Return the p value of a difference from its resampled values, shape (n_resamples,)."""
    # One is added on both sides of the fraction, so that a finite number of draws never claims p = 0.
    n_smaller_side = min(np.sum(differences <= 0), np.sum(differences >= 0))
    return float(min(1.0, 2 * (n_smaller_side + 1) / (len(differences) + 1)))
