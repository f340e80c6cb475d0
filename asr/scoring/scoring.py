"""Word accuracy of recognised words against references, and the comparison of two recognisers.

Conventions: word accuracy is A = 100 − 100(S+I+D)/N, thesis (4.5), over all words of the test set; it can be
negative. The alignment and its counts are those of NIST sclite, or by the rule ``htk`` those of HTK's
HResults (see `asr.scoring.edit_distance`), case-sensitive as `sclite -s` unless `normalize_case`. A
reference utterance without hypothesis counts as deleted as a whole and is named in `missing`; a hypothesis
without reference is an error. Intervals and p values cover the choice of *utterances*, not that of speakers,
training set or seed. They come from the bootstrap, test sets drawn anew from the utterances of one, with
replacement. Where too few utterances, or too few with errors, leave the bootstrap too narrow (without any
error it has no width), they are exact ones of as many independent words as the clustered ones are worth:
`accuracy_interval`, `compare`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats
from scipy.special import betaincinv

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
from foundation.errors import suggestion
from foundation.records import check_sentences

if TYPE_CHECKING:
    from asr.corpora.corpus import Corpus
    from decoder.decoder import Hypothesis

Transcripts = Mapping[str, Sequence[str]]

_N_NAMED = 3  # by feel
_RESAMPLES_PER_BLOCK = 500  # by feel: their counts stay small beside the corpus
# From here on the bootstrap alone is trusted; else errors are taken to cluster at least so much. By
# benchmarks/small_test_sets.py intervals of 3 to 100 utterances then cover the truth as often as they should.
_ENOUGH_UTTERANCES, _ENOUGH_WITH_ERRORS, _LEAST_CORRELATION = 30, 12, 0.1
_TOO_WIDE = 25.0  # points; by feel


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
        95 % interval of the word accuracy, over utterances (`accuracy_interval`).
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
        95 % interval of `difference` by the paired bootstrap over utterances; where few utterances differ,
        of the words that B mends and those that it spoils (`share_interval`), put together.
    p_value : float
        Two-sided: twice the smaller share of resamples on one side of zero; where few utterances differ,
        the share of all exchanges of A and B in single utterances with as large a difference.
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
    return WordAccuracy(
        counts=_total(utterances),
        utterances=utterances,
        speakers=_speaker_accuracies(utterances, speakers) if speakers is not None else (),
        confusions=count_confusions(_pairs(utterances)),
        interval=accuracy_interval(errors, words, n_resamples, seed),
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
    interval, p_value = _difference(errors_a, errors_b, words, n_resamples, seed)
    n_better_a, n_better_b = int(np.sum(errors_a < errors_b)), int(np.sum(errors_b < errors_a))
    n_differing = n_better_a + n_better_b
    return Comparison(
        accuracy_a=_total(utterances_a).word_accuracy,
        accuracy_b=_total(utterances_b).word_accuracy,
        interval=interval,
        p_value=p_value,
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
        unsplit: list[str] = []
        if isinstance(transcripts, Mapping):
            unsplit = [utterance_id for utterance_id, words in transcripts.items() if isinstance(words, str)]
        if unsplit:
            raise ScoringError(
                f"{name}: expected a sequence of words, got one string in {_named(unsplit)}; split it first"
            )
        check_sentences(name, transcripts, ScoringError)
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
        names.append(f'"{utterance_id}"{suggestion(utterance_id, candidates)}')
    n_left_out = len(ids) - len(names)
    return ", ".join(names) + (f" and {n_left_out} more" if n_left_out else "")


def accuracy_interval(
    errors: Longs, words: Longs, n_resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % interval of a word accuracy in percent, from errors and words of utterances, (N,) each.

    It is the percentile interval of the bootstrap where there are enough utterances, with errors and without.
    Otherwise it is `share_interval`; as errors can be more than words, the lower end is not above that of the
    bootstrap.

    Examples
    --------
    >>> none, words = np.zeros(3, dtype=int), np.array([5, 5, 5])
    >>> tuple(round(end, 1) for end in accuracy_interval(none, words))  # 15 words in 3 sentences, all right
    (70.9, 100.0)
    """
    drawn = interval_of(resample_accuracies(errors[:, None], words, n_resamples, seed)[:, 0])
    n_fewer = min(np.sum(errors > 0), np.sum(errors < words))
    if len(words) >= _ENOUGH_UTTERANCES and n_fewer >= _ENOUGH_WITH_ERRORS:
        return drawn
    low, high = share_interval(errors, words)
    return min(100.0 - 100.0 * high, drawn[0]), 100.0 - 100.0 * low


def share_interval(found: Longs, words: Longs) -> tuple[float, float]:
    """Return the 95 % interval of the share of words of a kind, which come in clusters.

    It is the exact interval of as many independent words as these are worth (Korn and Graubard 1998, Survey
    Methodology 24): their number over the design effect, by which clusters raise the variance. That is the
    measured one, or, where it is larger, that of words of which two of an utterance are correlated by 0.1:
    where nothing was found the measured one says nothing.

    Parameters
    ----------
    found, words : int64 arrays, shape (N,)
        Words of the kind, and all, in each utterance.
    """
    n_words = int(words.sum())
    share = min(found.sum() / n_words, 1.0)
    effect = 1.0 + ((words**2).sum() / n_words - 1.0) * _LEAST_CORRELATION
    if 0.0 < share < 1.0:
        variance = ((found - share * words) ** 2).sum() / n_words**2
        effect = max(effect, variance * n_words / (share * (1.0 - share)))
    worth = max(n_words / effect, 1.0)
    return binomial_interval(share * worth, worth)


def binomial_interval(n_found: float, n: float) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson 1934)."""
    low = float(betaincinv(n_found, n - n_found + 1, 0.025)) if n_found > 0 else 0.0
    high = float(betaincinv(n_found + 1, n - n_found, 0.975)) if n_found < n else 1.0
    return low, high


def too_few(interval: tuple[float, float], n_utterances: int) -> str:
    """Return in words that an interval is too wide to say anything; nothing of a narrower one.

    >>> too_few((70.9, 100.0), 3), too_few((93.3, 96.8), 130)
    ('3 sentences: too few to tell', '')
    """
    if interval[1] - interval[0] < _TOO_WIDE:
        return ""
    return f"{n_utterances} sentence{'' if n_utterances == 1 else 's'}: too few to tell"


def _difference(
    errors_a: Longs, errors_b: Longs, words: Longs, n_resamples: int, seed: int
) -> tuple[tuple[float, float], float]:
    """Return the interval of accuracy B minus accuracy A in points, and its p value."""
    mended, spoilt = np.maximum(errors_a - errors_b, 0), np.maximum(errors_b - errors_a, 0)
    n_differing = int(np.sum(errors_a != errors_b))
    if len(words) >= _ENOUGH_UTTERANCES and n_differing >= _ENOUGH_WITH_ERRORS:
        drawn = resample_accuracies(np.column_stack([errors_a, errors_b]), words, n_resamples, seed)
        differences = drawn[:, 1] - drawn[:, 0]
        return interval_of(differences), two_sided_p_value(differences)
    # Newcombe 1998 (Statistics in Medicine 17): the square-and-add interval of a difference of two shares.
    gain, loss = mended.sum() / words.sum(), spoilt.sum() / words.sum()
    (gain_low, gain_high), (loss_low, loss_high) = (share_interval(kind, words) for kind in (mended, spoilt))
    # As many errors can be mended or spoilt as there are words, or more: a share ends at one.
    low = gain - loss - np.hypot(gain - gain_low, max(loss_high - loss, 0.0))
    high = gain - loss + np.hypot(max(gain_high - gain, 0.0), loss - loss_low)
    return (float(100 * low), float(100 * high)), _exchange_p_value((mended - spoilt)[mended != spoilt])


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


def _exchange_p_value(differences: Longs) -> float:
    """Return how often a sum as large in size is found when any of some integers (D,) change their signs."""
    counts = {0: 1.0}  # of the ways to each sum: few sums, however many ways
    for difference in differences.tolist():
        new: dict[int, float] = {}
        for total, ways in counts.items():
            for sign in (-1, 1):
                new[total + sign * difference] = new.get(total + sign * difference, 0.0) + ways / 2
        counts = new
    seen = abs(int(differences.sum()))
    return float(min(1.0, sum(ways for total, ways in counts.items() if abs(total) >= seen)))
