"""The pronunciations on the discs, rewritten from the phones of TIMIT in the 47 phones of HTK's RM models.

On the discs a stop is a closure and, if it is heard, a release: ``kcl k``. Here a stop with its release is
one phone ``k``, and a closure without release is a phone of its own, ``kd``, for d, k, p and t, but the plain
stop for b and g. Phones that HTK's models lack are merged with a similar one, ``t s`` is one phone ``ts``,
and the glottal stop ``q`` is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from asr.errors import CorpusError
from decoder.lexicon import Lexicon, Pronunciation
from recipes.rm1.documents import as_word, lines

OWN_LEXICON = "lexicon.txt"
_VOWELS = "aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw"
_CONSONANTS = "b ch d dd dh dx el en f g hh jh k kd l m n ng p pd r s sh t td th ts v w y z"
PHONES = frozenset(f"{_VOWELS} {_CONSONANTS}".split())
MERGED = {"zh": "sh", "eng": "ng", "hv": "hh", "em": "m", "axr": "er", "ix": "ih"}
UNRELEASED = {"bcl": "b", "dcl": "dd", "gcl": "g", "kcl": "kd", "pcl": "pd", "tcl": "td"}
_ENTRY = re.compile(r"[a-z]")  # headings of the document have other first characters
_STRESS = re.compile(r"\+1\b")


def read_lexicon(path: Path) -> Lexicon:
    """Return the lexicon in a file ``lexicon.txt`` as it is, or that of the discs in the 47 phones."""
    return Lexicon.read(path) if path.name.lower() == OWN_LEXICON else read_pronunciations(path)


def read_pronunciations(path: Path) -> Lexicon:
    """Return the lexicon of lines ``word phone phone …``."""
    entries: dict[str, list[Pronunciation]] = {}
    for number, line in lines(path):
        if not _ENTRY.match(line):
            continue
        word, *timit = _STRESS.sub("", line).split()
        phones = rewritten(timit)
        if unknown := sorted(set(phones) - PHONES) or (not phones and ["nothing"]):
            raise CorpusError(
                f'{path}:{number}: word "{word}" has {", ".join(unknown)}, expected phones of TIMIT; correct '
                "the line, or write a lexicon.txt of your own"
            )
        entries.setdefault(as_word(word), []).append(phones)
    return Lexicon(entries)


def rewritten(timit: Sequence[str]) -> Pronunciation:
    """Return a pronunciation in the 47 phones.

    >>> rewritten("k ae tcl t s".split()), rewritten("kcl k ae tcl".split())
    (('k', 'ae', 'ts'), ('k', 'ae', 'td'))
    """
    phones: list[str] = []
    for before, phone, after in zip(["", *timit], timit, [*timit[1:], ""], strict=False):
        is_part_of_release = phone in UNRELEASED and after == phone[0]
        if phone == "q" or is_part_of_release or (before, phone) == ("t", "s"):
            continue
        is_affricate = (phone, after) == ("t", "s")
        phones.append("ts" if is_affricate else UNRELEASED.get(phone) or MERGED.get(phone, phone))
    return tuple(phones)
