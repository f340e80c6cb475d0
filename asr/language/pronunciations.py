"""Pronunciations of all words of a corpus: those of a lexicon, and guesses for what it lacks.

Conventions of the error rates. A guess is right if it equals any pronunciation listed for the word. Its phone
errors are substitutions, deletions and insertions against the listed pronunciation that has fewest, in per
cent of the phones of that one. Words are held out with all their pronunciations. A word that cannot be
guessed is wrong, and all its phones are.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asr.progress import stage
from asr.scoring.edit_distance import align_words, count_errors
from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, Pronunciation, spelling_fault
from decoder.pronouncing.model import ORDER, PronunciationModel, folds_case, letters_of
from foundation.errors import listed
from foundation.files import composed

logger = logging.getLogger(__name__)

FOLDS = 5
TESTED = 2000  # words guessed to estimate the error rates, at most; by feel
MANY = 10_000  # from so many words on, one part is held out instead of five; by feel
WORTHLESS = 50.0  # per cent of wrong phones from which on a guess is worse than none; by feel
_N_NAMED = 10  # by feel


@dataclass(frozen=True)
class ErrorRates:
    """How often pronunciations of words are guessed wrong that the model has not learned."""

    words: int
    wrong_words: int
    phones: int
    phone_errors: int

    @property
    def word_error(self) -> float:
        """Words guessed wrong, in per cent."""
        return 100.0 * self.wrong_words / self.words

    @property
    def phone_error(self) -> float:
        """Phone errors in per cent of the phones."""
        return 100.0 * self.phone_errors / self.phones


@dataclass(frozen=True)
class Filled:
    """A lexicon for given words.

    Attributes
    ----------
    lexicon : of all words but those with faults; what was guessed, now or before, is in its ``guessed``
    new : words guessed now, sorted
    faults : word -> why it cannot be guessed
    rates : of guesses by this lexicon, None if nothing was guessed
    """

    lexicon: Lexicon
    new: tuple[str, ...]
    faults: Mapping[str, str]
    rates: ErrorRates | None


def filled_lexicon(words: Iterable[str], known: Lexicon, *, variants: int = 1) -> Filled:
    """Return pronunciations of words: the lexicon's own, and guesses by what the lexicon teaches.

    A word that the lexicon has in another case only, or with another apostrophe, is no word that it lacks.

    Parameters
    ----------
    variants : pronunciations guessed for each word, at most
    """
    if variants < 1:
        raise LexiconError(
            f"variants: expected 1 or more pronunciations for a word, got {variants}; 1 is usual"
        )
    return _filled(words, known, variants)[0]


def _filled(words: Iterable[str], known: Lexicon, variants: int) -> tuple[Filled, PronunciationModel | None]:
    """Return what `filled_lexicon` does, and the model of the guesses, None if there is nothing to guess."""
    wanted = sorted(set(words))
    found = _found(wanted, known)
    entries = {
        word: [p for name in names for p in known.pronunciations(name)] for word, names in found.items()
    }
    usage = {
        (word, p): known.usage[composed(name), p]
        for word, names in found.items()
        for name in reversed(names)
        for p in known.pronunciations(name)
        if (composed(name), p) in known.usage
    }
    guessed = {word for word, names in found.items() if known.guessed.issuperset(names)}
    missing = [word for word in wanted if word not in found]
    if not missing:
        return Filled(Lexicon(entries, guessed=frozenset(guessed), usage=usage), (), {}, None), None
    with stage(f"pronunciations learned from {len(known):,} words"):
        model = PronunciationModel.train(known)
        rates = held_out_error(known)
    guesses, faults = _guesses(missing, model, variants)
    if not entries and not guesses:
        raise LexiconError(
            f"none of the {len(wanted)} words is in the lexicon or can be guessed from it "
            f'("{missing[0]}" {faults[missing[0]]}), expected a lexicon of their language; give that'
        )
    marked = frozenset(guessed | guesses.keys())
    lexicon = Lexicon(entries | guesses, guessed=marked, usage=usage)
    return Filled(lexicon, tuple(guesses), faults, rates), model


@dataclass(frozen=True)
class Guesses:
    """Several guesses for each of some words.

    Attributes
    ----------
    shares : word -> its guesses, each with its share of the probability
    filled : the best guesses and how good they are, None if nothing can be guessed
    """

    shares: Mapping[str, Mapping[Pronunciation, float]]
    filled: Filled | None


def guesses_of(words: Iterable[str], known: Lexicon, n: int) -> Guesses:
    """Return up to n guesses for each word; none where the lexicon is too small to guess from.

    Of a word that the lexicon has in another case only, or with another apostrophe, they are its own.
    """
    wanted = sorted(set(words))
    own = {
        word: [p for name in names for p in known.pronunciations(name)]
        for word, names in _found(wanted, known).items()
    }
    shares = {word: dict.fromkeys(found, 1 / len(found)) for word, found in own.items()}
    try:
        filled, model = _filled(wanted, known, 1)
    except LexiconError as error:
        logger.info("%s", error)
        return Guesses(shares, None)
    if model is None or filled.rates is None or filled.rates.phone_error > WORTHLESS:
        return Guesses(shares, None)
    guessed = {w: {g.pronunciation: g.share for g in model.guess(w, n)} for w in filled.new}
    return Guesses(shares | guessed, filled)


def spelled(words: Collection[str]) -> Lexicon:
    """Return the words spelled by their letters; the log names those that cannot be, an error if all are."""
    faults = {word: fault for word in sorted(words) if (fault := spelling_fault(word))}
    if faults:
        named = "; ".join(f'word "{word}" {fault}' for word, fault in list(faults.items())[:_N_NAMED])
        logger.warning("%d of %d words are not in the lexicon: %s", len(faults), len(words), named)
    return Lexicon.graphemic(set(words).difference(faults) or words)


def _found(words: Iterable[str], known: Lexicon) -> dict[str, list[str]]:
    """Return the words that a lexicon has, and the entries that are theirs."""
    fold = folds_case(known)
    plain: dict[str, list[str]] = {}
    for name in known:
        plain.setdefault(letters_of(name, fold=fold), []).append(name)
    named = {word: [word] if word in known else plain.get(letters_of(word, fold=fold), []) for word in words}
    return {word: names for word, names in named.items() if names}


def _guesses(
    words: Iterable[str], model: PronunciationModel, variants: int
) -> tuple[dict[str, list[Pronunciation]], dict[str, str]]:
    """Return the pronunciations of words, and what keeps others from being guessed."""
    guesses: dict[str, list[Pronunciation]] = {}
    faults: dict[str, str] = {}
    for word in words:
        try:
            guesses[word] = [guess.pronunciation for guess in model.guess(word, variants)]
        except LexiconError:
            faults[word] = model.fault(word) or "has only letters that are silent"
    return guesses, faults


def held_out_error(lexicon: Lexicon, *, seed: int = 0) -> ErrorRates | None:
    """Return the error rates on words held out of a lexicon, None if it has fewer than five.

    Small lexicons: five folds, up to 2,000 words of them tested. Large ones: 2,000 words held out once.
    """
    words = [word for word in lexicon if word not in lexicon.guessed]
    if len(words) < FOLDS:
        return None
    random.Random(seed).shuffle(words)  # noqa: S311 (no secret)
    if len(words) >= MANY:
        return fold_error(lexicon, words[:TESTED], words[TESTED:])
    rates = [
        fold_error(lexicon, words[k::FOLDS][: TESTED // FOLDS], _without(words, k)) for k in range(FOLDS)
    ]
    return pooled(rates)


def _without(words: Sequence[str], fold: int) -> list[str]:
    return [word for i, word in enumerate(words) if i % FOLDS != fold]


def fold_error(
    lexicon: Lexicon, tested: Sequence[str], learned: Sequence[str], *, order: int = ORDER
) -> ErrorRates:
    """Return the error rates on some words of a model that learned others."""
    return error_rates(PronunciationModel.train(lexicon.restricted_to(learned), order=order), lexicon, tested)


def error_rates(model: PronunciationModel, lexicon: Lexicon, tested: Iterable[str]) -> ErrorRates:
    """Return the error rates of a model on words of a lexicon."""
    words = list(tested)
    guesses, _ = _guesses(words, model, 1)
    return pooled(_errors_of(guesses.get(word, [()])[0], lexicon.pronunciations(word)) for word in words)


def _errors_of(guess: Pronunciation, listed: Iterable[Pronunciation]) -> ErrorRates:
    """Return the errors of a guess against the nearest of the pronunciations listed."""
    counts = (count_errors(align_words(reference, guess)) for reference in listed)
    nearest = min(counts, key=lambda count: (count.errors, count.words))
    return ErrorRates(1, nearest.errors > 0, nearest.words, nearest.errors)


def pooled(rates: Iterable[ErrorRates]) -> ErrorRates:
    """Return the error rates of several tests as one.

    Examples
    --------
    >>> pooled([ErrorRates(1, 0, 3, 0), ErrorRates(1, 1, 5, 2)]).phone_error
    25.0
    """
    totals = [0, 0, 0, 0]
    for each in rates:
        for i, value in enumerate((each.words, each.wrong_words, each.phones, each.phone_errors)):
            totals[i] += value
    return ErrorRates(*totals)


def guesses_notes(filled: Filled, source: str) -> Iterator[str]:
    """Yield what a person should know of guesses: how many, which, how good, and what is left out."""
    n_words = len(filled.lexicon) + len(filled.faults)
    n_new, n_faults = len(filled.new), len(filled.faults)
    if filled.new:
        named = listed(filled.new)
        yield f"{n_new} of {n_words} words are not in {source}, guessed from it (marked # guessed): {named}"
    if filled.new and filled.rates is not None:
        yield (
            f"of {filled.rates.words} words of {source}, held out as a test, {filled.rates.word_error:.1f} % "
            f"came out wrong, {filled.rates.phone_error:.1f} % of the phones; correct the guesses that matter"
        )
    if filled.faults:
        yield (
            f"{n_faults} of {n_words} words are not in {source} and cannot be guessed; they are left out, "
            "write them into the lexicon:"
        )
        yield from (f'  word "{word}" {fault}' for word, fault in filled.faults.items())
