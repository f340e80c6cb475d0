"""Phones in the context of their neighbours: ``L-P+R``, as HTK writes them.

Where contexts stay within a word, the neighbour at its edges is ``#``. Where they reach across words it is
the phone of the neighbouring word, and ``#`` beside silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from acoustic.errors import ModelError

EDGE = "#"
Pronunciation = tuple[str, ...]


class Context(NamedTuple):
    """A phone between its neighbours."""

    left: str
    phone: str
    right: str

    @property
    def name(self) -> str:
        """``L-P+R``."""
        return f"{self.left}-{self.phone}+{self.right}"


def contexts(pronunciation: Sequence[str], left: str = EDGE, right: str = EDGE) -> tuple[Context, ...]:
    """Return the phones of a word with their neighbours; ``left`` and ``right`` are those of the word.

    >>> [context.name for context in contexts(("T", "UW"))]
    ['#-T+UW', 'T-UW+#']
    """
    padded = (left, *pronunciation, right)
    return tuple(Context(*padded[k : k + 3]) for k in range(len(pronunciation)))


def in_context(pronunciation: Sequence[str], left: str = EDGE, right: str = EDGE) -> Pronunciation:
    """Return the names of a word's phones in context."""
    return tuple(context.name for context in contexts(pronunciation, left, right))


def base_phone(name: str) -> str:
    """Return the phone of a name in context, or the name itself if it has none.

    >>> base_phone("#-T+UW"), base_phone("sil")
    ('T', 'sil')
    """
    if "-" not in name or "+" not in name:
        return name
    return name.split("-", 1)[1].rsplit("+", 1)[0]


def state_name(phone: str, position: int) -> str:
    """Return the name of a phone's state: phone, place counted from 1, and the neighbours if it has any.

    >>> state_name("AH", 0), state_name("S-AH+N", 1)
    ('AH[1]', 'AH[2] S-_+N')
    """
    base = base_phone(phone)
    if base == phone:
        return f"{phone}[{position + 1}]"
    left, right = phone.split("-", 1)[0], phone.rsplit("+", 1)[1]
    return f"{base}[{position + 1}] {left}-_+{right}"


def all_contexts(pronunciations: Iterable[Sequence[str]], crosses_words: bool = False) -> tuple[Context, ...]:
    """Return every phone in context that words with some pronunciations need, in any order, sorted.

    Raises
    ------
    ModelError : a phone's name has a character that contexts are written with
    """
    spoken = {tuple(p) for p in pronunciations}
    lefts, rights = {EDGE}, {EDGE}
    if crosses_words:
        lefts |= {p[-1] for p in spoken}
        rights |= {p[0] for p in spoken}
    found = sorted({c for p in spoken for a in lefts for b in rights for c in contexts(p, a, b)})
    wrong = sorted({c.phone for c in found if any(mark in c.phone for mark in "-+") or c.phone == EDGE})
    if wrong:
        raise ModelError(
            f"phones {' '.join(wrong)}: models in context write phones as L-P+R with {EDGE} at the edges, "
            "expected names without these marks; rename them in lexicon.txt, or train a model of monophones"
        )
    return tuple(found)
