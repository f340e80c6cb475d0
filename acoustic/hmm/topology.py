"""Which emission states a phone has, alone or in context, and how a path may move through them.

Every phone is a left-to-right chain without skips. ``sp`` is one state tied to the middle state of ``sil``;
the utterance graph lets a path leave it out altogether. ``noise`` is a third silence, with states of its own,
where transcripts say where there is some.

Phones in the context of their neighbours are written ``L-P+R``, as HTK does. Where contexts stay within a
word, the neighbour at its edges is ``#``. Where they reach across words it is the phone of the neighbouring
word, and ``#`` beside silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import NamedTuple

import numpy as np

from acoustic.errors import ModelError
from foundation.arrays import Flags, Floats, Ints

EDGE = "#"
Pronunciation = tuple[str, ...]
SILENCE = "sil"
SHORT_PAUSE = "sp"
NOISE = "noise"
SILENCES = (SILENCE, SHORT_PAUSE, NOISE)
NOISE_WORD = "[noise]"  # in transcripts


@dataclass(frozen=True)
class Topology:
    """The phones of a model with their emission states and transition probabilities.

    Attributes
    ----------
    phones : names, the index is the phone id
    phone_states : for each phone the ids of its emission states, left to right; ids may be shared
    self_loops : for each phone and state the probability to stay, in (0, 1); the rest is the probability to
        move on
    is_contextual : the phones, but for silences, are phones in context (`acoustic.hmm.topology`)
    crosses_words : contexts reach across words
    """

    phones: tuple[str, ...]
    phone_states: tuple[tuple[int, ...], ...]
    self_loops: tuple[tuple[float, ...], ...]
    is_contextual: bool = False
    crosses_words: bool = False

    def __post_init__(self) -> None:
        if not len(self._ids) == len(self.phones) == len(self.phone_states) == len(self.self_loops) > 0:
            raise ModelError(
                "topology: expected different phones, each with states and self-loops, got "
                f"{len(self._ids)} different of {len(self.phones)}, states of {len(self.phone_states)}, "
                f"self-loops of {len(self.self_loops)}; train again"
            )
        for phone, states, loops in zip(self.phones, self.phone_states, self.self_loops, strict=True):
            if not (isinstance(phone, str) and _is_chain(states, loops)):
                raise ModelError(
                    f"topology: phone {phone!r}: expected a name, state ids from 0 on and for each a "
                    f"probability between 0 and 1, got {states} and {loops}; train again"
                )

    @classmethod
    def monophones(
        cls,
        phones: Iterable[str],
        *,
        n_states: int = 3,
        short_pause: bool = True,
        noise: bool = False,
        self_loop: float = 0.6,
    ) -> Topology:
        """Return ``n_states`` states for each phone, ``sil`` and ``noise``, and the tied one-state ``sp``."""
        silences = (SILENCE, NOISE) if noise else (SILENCE,)
        names = (*silences, *sorted(set(phones) - set(SILENCES)))
        states = tuple(tuple(range(n_states * i, n_states * (i + 1))) for i in range(len(names)))
        if short_pause:
            names = (*names, SHORT_PAUSE)
            states = (*states, (states[0][n_states // 2],))
        return cls(names, states, tuple(tuple(self_loop for _ in s) for s in states))

    @cached_property
    def n_states(self) -> int:
        """Number S of emission states."""
        return 1 + max(s for states in self.phone_states for s in states)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {phone: i for i, phone in enumerate(self.phones)}

    def phone_id(self, phone: str) -> int:
        """Return the index of a phone name."""
        try:
            return self._ids[phone]
        except KeyError:
            known = " ".join(self.phones)
            raise ModelError(
                f'phone "{phone}" is not in the model, expected one of: {known}; '
                "train again with a lexicon that has it, or correct the lexicon"
            ) from None

    def units(self, pronunciation: Sequence[str], left: str = EDGE, right: str = EDGE) -> tuple[str, ...]:
        """Return the phones of this topology that a word's phones stand for, the word between two phones.

        A neighbour that the topology does not know beside the word counts as silence.
        """
        if not self.is_contextual:
            return tuple(pronunciation)
        beside_silence = in_context(pronunciation)
        if not self.crosses_words:
            return beside_silence
        between = zip(in_context(pronunciation, left, right), beside_silence, strict=True)
        return tuple(unit if unit in self else silent for unit, silent in between)

    @cached_property
    def loose_units(self) -> tuple[str, ...]:
        """One phone of this topology for each phone of speech: the one with the least context."""
        found: dict[str, str] = {}
        for name in sorted(self.phones, key=_n_neighbours if self.is_contextual else None):
            if name not in SILENCES:
                found.setdefault(base_phone(name) if self.is_contextual else name, name)
        return tuple(found[phone] for phone in sorted(found))

    def __contains__(self, phone: str) -> bool:
        return phone in self._ids

    def state_names(self) -> tuple[str, ...]:
        """Return a name for each emission state: ``AH[2]``, or of a phone in context ``AH[2] S-_+N``.

        A state that several phones have is called after the first.
        """
        names = [""] * self.n_states
        for phone, states in zip(self.phones, self.phone_states, strict=True):
            for position, state in enumerate(states):
                names[state] = names[state] or state_name(phone, position)
        return tuple(names)

    def is_speech(self) -> Flags:
        """Return which of the emission states (S,) are not of a silence."""
        found = np.ones(self.n_states, dtype=bool)
        for phone, states in zip(self.phones, self.phone_states, strict=True):
            found[list(states)] &= phone not in SILENCES
        return found

    def log_transitions(self, phone_id: int) -> tuple[Floats, Floats]:
        """Return log P(stay) and log P(move on) for each state of a phone, shape (n_states_of_phone,)."""
        stay = np.asarray(self.self_loops[phone_id])
        return np.log(stay), np.log1p(-stay)

    @cached_property
    def transition_offsets(self) -> Ints:
        """Where each phone's rows begin in the flat list of all (phone, position), shape (n_phones + 1,)."""
        lengths = [0, *(len(states) for states in self.phone_states)]
        return np.cumsum(lengths).astype(np.int32)

    @cached_property
    def tied_rows(self) -> Ints:
        """A number for each (phone, position), the same for those that learn one self-loop probability.

        These are phones in context that share a state: of most of them too little is heard, and words that
        sound the same share their place in the search.
        """
        rows = [
            (state, "" if self.is_contextual and phone not in SILENCES else (phone, position))
            for phone, states in zip(self.phones, self.phone_states, strict=True)
            for position, state in enumerate(states)
        ]
        numbers = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        return np.array([numbers[row] for row in rows], dtype=np.int32)

    def flat_self_loops(self) -> Floats:
        """Return the self-loop probabilities of all (phone, position) in one row."""
        return self._flat_self_loops.copy()

    @cached_property
    def _flat_self_loops(self) -> Floats:
        return np.array([p for loops in self.self_loops for p in loops])

    def with_flat_self_loops(self, self_loops: Floats) -> Topology:
        """Return the same states with other transition probabilities, in the form of `flat_self_loops`."""
        pieces = np.split(self_loops, self.transition_offsets[1:-1])
        return replace(self, self_loops=tuple(tuple(float(p) for p in piece) for piece in pieces))


def _n_neighbours(name: str) -> tuple[int, str]:
    """Return by how many neighbours a phone in context is chosen, and its name."""
    return 2 - name.startswith(f"{EDGE}-") - name.endswith(f"+{EDGE}"), name


def _is_chain(states: Sequence[int], self_loops: Sequence[float]) -> bool:
    return (
        len(states) == len(self_loops) > 0
        and all(
            isinstance(state, Integral) and not isinstance(state, bool) and state >= 0 for state in states
        )
        and all(0 < probability < 1 for probability in self_loops)
    )


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
    spoken = {tuple(p) for p in pronunciations if p}
    lefts, rights = {EDGE}, {EDGE}
    if crosses_words:
        lefts |= {p[-1] for p in spoken}
        rights |= {p[0] for p in spoken}
    # What a neighbouring word changes are the edges of a word, and few edges are different.
    longer = [p for p in spoken if len(p) > 1]
    beside = {Context(a, p[0], b) for p in spoken if len(p) == 1 for a in lefts for b in rights}
    beside |= {Context(a, first, second) for first, second in {(p[0], p[1]) for p in longer} for a in lefts}
    beside |= {Context(before, last, b) for before, last in {(p[-2], p[-1]) for p in longer} for b in rights}
    found = sorted(beside.union(*(contexts(p)[1:-1] for p in spoken)))
    wrong = sorted({c.phone for c in found if any(mark in c.phone for mark in "-+") or c.phone == EDGE})
    if wrong:
        raise ModelError(
            f"phones {' '.join(wrong)}: models in context write phones as L-P+R with {EDGE} at the edges, "
            "expected names without these marks; rename them in lexicon.txt, or train a model of monophones"
        )
    return tuple(found)
