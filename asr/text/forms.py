"""Words of transcripts found in a lexicon, whatever their case and the punctuation around them.

A word is the lexicon's as it stands there; or without the punctuation around it; or in another case, with
another apostrophe or hyphen; or in its plain form. What is not found so is taken apart: at hyphens, and
behind the apostrophe of an elision (``l'homme``) if the lexicon has both parts. Numerals that the lexicon
lacks are spelt out where a language is given. A word broken off (``wor-``) is the word before the hyphen if
the lexicon has it; otherwise, like a remark such as ``<unk>`` and what cannot be read, it is `UNKNOWN_WORD`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from acoustic.hmm.topology import NOISE_WORD
from asr.text.plain import (
    BETWEEN_WORDS,
    ONE_APOSTROPHE,
    ONE_HYPHEN,
    bare,
    folded,
    has_digit,
    has_sign,
    is_remark,
    parts_of,
    plain,
    spelt_out,
)

EXACT, PLAIN = "exact", "plain"  # ways of reading transcripts, beside the languages of numerals
UNKNOWN_WORD = "[unknown]"
NOT_WORDS = frozenset({NOISE_WORD, UNKNOWN_WORD})

Change = Literal["case", "punctuation", "taken apart", "numeral", "not readable", "broken off", "remark"]


class Word(NamedTuple):
    """One word of a transcript.

    Attributes
    ----------
    word : as the lexicon has it; in plain form if it is not there
    written : as it was written, without the punctuation around it
    changes : what differs between the two, and in what was taken off
    """

    word: str
    written: str
    changes: frozenset[Change] = frozenset()


class WordForms:
    """The words of a lexicon by the forms in which transcripts may write them.

    Parameters
    ----------
    words : words of the lexicon
    language : language of numerals, as ``num2words`` calls it; None leaves numerals unread

    Examples
    --------
    >>> forms = WordForms(["AUTHOR", "OF", "THE", "TRAIL"])
    >>> [found.word for found in forms.read("Author of the—trail, etc. [coughs]")]
    ['AUTHOR', 'OF', 'THE', 'TRAIL', 'ETC', '[noise]']
    """

    def __init__(self, words: Iterable[str], language: str | None = None) -> None:
        self.words = frozenset(words)
        self.language = language
        in_order = sorted(self.words, key=lambda word: (word != folded(word), word))
        self._folded: dict[str, str] = {}
        self._plain: dict[str, str] = {}
        for word in in_order:  # the word that is in the form itself comes first
            self._folded.setdefault(folded(word), word)
        for word in in_order:
            self._plain.setdefault(plain(word), word)
        self._plain.pop("", None)
        self._read: dict[str, tuple[Word, ...]] = {}  # tokens that have been read: a text repeats its words
        self._in_capitals = bool(self.words) and all(word == word.upper() for word in self.words)

    def read(self, transcript: str) -> list[Word]:
        """Return the words of a transcript."""
        return [word for text, kind in parts_of(transcript) for word in self._stretch(text, kind)]

    def find(self, token: str) -> str | None:
        """Return the lexicon's word for a token, None if it has none."""
        stripped = bare(token)
        for form in (token, stripped):
            if form in self.words:
                return form
        for form in (folded(token), folded(stripped)):
            if form in self._folded:
                return self._folded[form]
        return None if has_sign(token) else self._plain.get(plain(token))

    def _stretch(self, text: str, kind: str | None) -> Iterator[Word]:
        """Yield the words between two remarks, or what a remark stands for."""
        if kind is None:
            for token in text.split():
                if token not in self._read:
                    self._read[token] = tuple(self._token(token))
                yield from self._read[token]
        elif kind != "nothing":
            word = NOISE_WORD if kind == "noise" else UNKNOWN_WORD
            yield Word(word, text, frozenset({"remark"}))

    def _token(self, token: str) -> Iterator[Word]:
        """Yield the words of a token, taken apart only where it cannot be found as a whole."""
        whole = self.find(token)
        if whole is not None:
            yield _found(token, whole)
            return
        for part in BETWEEN_WORDS.split(token):
            found = self.find(part)
            if found is not None:
                yield _found(part, found)
            elif has_digit(part) or has_sign(part):
                yield from self._numeral(part)
            elif _is_broken_off(part):
                yield Word(UNKNOWN_WORD, part, frozenset({"broken off"}))
            else:
                yield from self._apart(part)

    def _numeral(self, token: str) -> Iterator[Word]:
        """Yield the words of a numeral, or one that stands for what cannot be read."""
        stripped = bare(token)
        words = spelt_out(stripped, self.language) if self.language else ()
        for word in words:
            yield Word(self._spelled(word), word, frozenset({"numeral"}))
        if not words:
            yield Word(UNKNOWN_WORD, stripped, frozenset({"not readable"}))

    def _apart(self, token: str) -> Iterator[Word]:
        """Yield the parts of a token that the lexicon lacks, or its plain form if it is in one part."""
        parts = [part for part in folded(bare(token)).split("-") if plain(part)]
        written = [part for part in bare(token).translate(ONE_HYPHEN).split("-") if plain(part)]
        for part, own in zip(parts, written, strict=True):
            elided = self._elided(part)
            changes: frozenset[Change] = frozenset({"taken apart"} if len(parts) > 1 or elided else ())
            if elided:
                cut = own.translate(ONE_APOSTROPHE).find("'") + 1
                yield Word(elided[0], own[:cut], changes)
                yield Word(elided[1], own[cut:], changes)
            else:
                yield _found(own, self._spelled(part), changes)

    def _elided(self, form: str) -> tuple[str, str] | None:
        """Return ``l'`` and ``homme`` of ``l'homme`` if the lexicon has both."""
        head, apostrophe, tail = form.partition("'")
        first, second = self._folded.get(head + apostrophe), self._folded.get(tail)
        return (first, second) if apostrophe and first and second else None

    def _spelled(self, word: str) -> str:
        """Return the lexicon's word, or the plain form, in capitals where the lexicon knows nothing else."""
        form = plain(word)
        return self.find(word) or (form.upper() if self._in_capitals else form)


def _found(token: str, word: str, changes: frozenset[Change] = frozenset()) -> Word:
    """Return a word that was found for a token, with what differs between them."""
    written = token if token == word else bare(token)
    if written != token:
        changes |= {"punctuation"}
    if written != word:
        changes |= {"case"} if written.casefold() == word.casefold() else {"punctuation"}
    return Word(word, written, changes)


def _is_broken_off(token: str) -> bool:
    """Return whether a word ends in a hyphen, behind which there is nothing but punctuation."""
    form = folded(token)
    stem = plain(form)
    return bool(stem) and form[form.rfind(stem[-1]) + 1 :].startswith("-")


def word_forms(text: str, vocabulary: Iterable[str] | None, transcripts: Iterable[str]) -> WordForms | None:
    """Return the forms by which words are found, None if they are taken as they stand.

    Parameters
    ----------
    text : ``exact``, ``plain``, or the language in which numerals are spelt out
    vocabulary : the words of the lexicon, None if the words of the transcripts themselves are to be found
    transcripts : texts; they are read only where there is no vocabulary
    """
    if text == EXACT:
        return None
    language = None if text == PLAIN else text
    return forms_of_text(transcripts, language) if vocabulary is None else WordForms(vocabulary, language)


def forms_of_text(transcripts: Iterable[str], language: str | None = None) -> WordForms:
    """Return the forms of the words of texts for which there is no lexicon.

    A word is as it is always written, in plain form if it is written in several ways. Tokens with hyphens,
    numerals or signs tell of no word.
    """
    ways = Spellings()
    for transcript in transcripts:
        for text, kind in parts_of(transcript):
            tokens = BETWEEN_WORDS.sub(" ", text).split() if kind is None else []
            for place, token in enumerate(tokens):
                if not (has_digit(token) or has_sign(token) or "-" in folded(token)) and plain(token):
                    written = bare(token) if folded(bare(token)) == plain(token) else plain(token)
                    ways.add(plain(token), written, begins=place == 0 and len(tokens) > 1)
    return WordForms(ways.spelling.values(), language)


class Spellings:
    """The ways in which words are written.

    A capital at the beginning of a sentence says nothing of the word.

    Examples
    --------
    >>> ways = Spellings()
    >>> ways.add("the", "The", begins=True)
    >>> ways.add("anna", "Anna")
    >>> ways.spelling
    {'anna': 'Anna', 'the': 'the'}
    """

    def __init__(self) -> None:
        self._written: dict[str, set[str]] = {}

    def add(self, word: str, written: str, *, begins: bool = False) -> None:
        """Note one way of writing a word, perhaps at the beginning of a sentence."""
        found = self._written.setdefault(word, set())
        if not (begins and written.istitle()):
            found.add(written)

    @property
    def spelling(self) -> dict[str, str]:
        """Each word as it is always written; as it stands if there are several ways, or none is sure."""
        return {
            word: next(iter(ways)) if len(ways) == 1 else word for word, ways in sorted(self._written.items())
        }


def comparable(transcript: str) -> tuple[str, ...]:
    """Return the words of a transcript in the form in which they are compared, remarks left out.

    Examples
    --------
    >>> comparable("The well-known Author, 7 [coughs]")
    ('the', 'well', 'known', 'author', '7')
    """
    spoken = " ".join(text for text, kind in parts_of(transcript) if kind is None)
    apart = BETWEEN_WORDS.sub(" ", spoken.translate(ONE_HYPHEN)).replace("-", " ")
    return tuple(form for form in map(plain, apart.split()) if form)


def without_remarks(words: Iterable[str]) -> list[str]:
    """Return the words of a lexicon but for entries that are remarks, such as ``<noise>``."""
    return [word for word in words if not is_remark(word)]
