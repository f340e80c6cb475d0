"""HTK's master macro files in text: GMM-HMMs written, and read again (HTK Book, chapter 7).

Written are a macro ``~s`` for each emission state and ``~h`` for each phone. Read are also macros ``~t ~m ~u
~v``, states that are written out, and HMMs without mixtures; one stream, diagonal covariances, left-to-right
HMMs without skips. A ``sp`` that may be passed over is read as one state: whether there is a pause is for the
search.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from acoustic.errors import ModelError
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.topology import Topology
from foundation.arrays import Floats

# A string that does not end is one token: looked for anew from each mark in it, it would take long.
_TOKEN = re.compile(r'<[^<>\n]+>|"(?:\\.|[^"\\])*(?:"|\\?\Z)|~\S|[^\s<>"~]+|\S')
_MOST_STATES, _MOST_MIXTURES, _MOST_COLUMNS = 1000, 4096, 8191
_PROBABILITY_ERROR = 1e-3  # by how much probabilities may miss a sum of one


@dataclass(frozen=True)
class HtkModel:
    """What a master macro file holds.

    Attributes
    ----------
    topology : phones, states, transition probabilities
    emissions : mixtures of the states
    kind : HTK's name of the features, such as ``MFCC_E_D_A``
    """

    topology: Topology
    emissions: GmmModel
    kind: str


def format_mmf(model: HtkModel) -> str:
    """Return the text of a master macro file; numbers have all their digits."""
    n_columns = model.emissions.n_features
    head = f"~o\n<STREAMINFO> 1 {n_columns}\n<VECSIZE> {n_columns}<NULLD><{model.kind}><DIAGC>\n"
    states = (f'~s "st_{n}"\n{_state_text(model.emissions, n)}' for n in range(model.emissions.n_states))
    topology = model.topology
    phones = (
        f"~h {_quoted(phone)}\n{_phone_text(states_of, loops)}"
        for phone, states_of, loops in zip(
            topology.phones, topology.phone_states, topology.self_loops, strict=True
        )
    )
    return "".join([head, *states, *phones])


def _state_text(emissions: GmmModel, state: int) -> str:
    mixtures = np.flatnonzero(emissions.log_weights[state] > -np.inf)
    lines = [f"<NUMMIXES> {len(mixtures)}"]
    for number, place in enumerate(mixtures, 1):
        mean, variance = emissions.means[state, place], emissions.variances[state, place]
        constant = float(np.sum(np.log(2 * np.pi * variance)))
        lines += [f"<MIXTURE> {number} {math.exp(emissions.log_weights[state, place])!r}"]
        lines += [f"<MEAN> {len(mean)}", _row(mean), f"<VARIANCE> {len(mean)}", _row(variance)]
        lines += [f"<GCONST> {constant!r}"]
    return "".join(f"{line}\n" for line in lines)


def _phone_text(states: Sequence[int], loops: Sequence[float]) -> str:
    n_states = len(states) + 2
    transitions = np.zeros((n_states, n_states))
    transitions[0, 1] = 1.0
    for place, loop in enumerate(loops, 1):
        transitions[place, place : place + 2] = loop, 1.0 - loop
    lines = ["<BEGINHMM>", f"<NUMSTATES> {n_states}"]
    lines += [f'<STATE> {place}\n~s "st_{state}"' for place, state in enumerate(states, 2)]
    lines += [f"<TRANSP> {n_states}", *map(_row, transitions), "<ENDHMM>"]
    return "".join(f"{line}\n" for line in lines)


def _row(values: Floats) -> str:
    return " " + " ".join(repr(float(value)) for value in values)


def _quoted(name: str) -> str:
    return '"' + re.sub(r'["\\]', r"\\\g<0>", name) + '"'


def parse_mmf(text: str, name: str = "MMF") -> HtkModel:
    """Return the models in a text; ``name`` stands for the file in errors.

    Raises
    ------
    ModelError
        The text is no master macro file, or holds what this program has no models of.
    """
    return _Reader(text, name).model()


class _Token(NamedTuple):
    text: str
    line: int


class _Mixture(NamedTuple):
    weight: float
    mean: Floats
    variance: Floats


class _Phone(NamedTuple):
    states: tuple[int, ...]
    loops: tuple[float, ...]


@dataclass
class _Macros:
    """What was defined so far, by kind and name."""

    states: dict[str, int] = field(default_factory=dict)
    mixtures: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    vectors: dict[tuple[str, str], Floats] = field(default_factory=dict)
    transitions: dict[str, Floats] = field(default_factory=dict)


class _Reader:
    """One pass over the tokens of a file."""

    def __init__(self, text: str, name: str) -> None:
        self.name, self.kind, self.n_columns = name, "", 0
        self.macros = _Macros()
        self.states: list[list[_Mixture]] = []
        self.phones: dict[str, _Phone] = {}
        if "\0" in text[:1000] or text[:1] == ":":
            raise ModelError(f"{name}: a binary file, expected text; write it with HHEd, without -B")
        self.tokens = self._tokens(text)
        self.ahead: list[_Token] = []

    @staticmethod
    def _tokens(text: str) -> Iterator[_Token]:
        for number, line in enumerate(text.split("\n"), 1):
            for match in _TOKEN.finditer(line):
                yield _Token(match[0], number)
        yield _Token("", 1 + text.count("\n"))

    def peek(self) -> _Token:
        """Return the next token, the empty one at the end."""
        if not self.ahead:
            self.ahead.append(next(self.tokens))
        return self.ahead[0]

    def take(self) -> _Token:
        """Return the next token and go past it."""
        token = self.peek()
        if token.text:
            self.ahead.clear()
        return token

    def fail(self, expected: str, token: _Token) -> NoReturn:
        """Raise the error that something else was expected."""
        got = token.text[:40] or "the end of the file"
        raise ModelError(f"{self.name}:{token.line}: expected {expected}, got {got}; write the file again")

    def model(self) -> HtkModel:
        """Return what the whole file holds."""
        readers: dict[str, Callable[[str], None]] = {
            "~s": self._state_macro,
            "~h": self._phone,
            "~t": self._transition_macro,
            "~m": self._mixture_macro,
            "~u": lambda name: self._vector_macro("~u", name, "<MEAN>"),
            "~v": lambda name: self._vector_macro("~v", name, "<VARIANCE>"),
        }
        if self.peek().text.casefold() not in ("~o", *readers):
            self.fail("a master macro file of HTK, which begins with ~o", self.peek())
        while (token := self.take()).text:
            if token.text.casefold() == "~o":
                self._options()
            elif token.text.casefold() in readers:
                readers[token.text.casefold()](self._string())
            else:
                self.fail("a macro (~o ~h ~s ~t ~m ~u ~v)", token)
        if not self.phones:
            raise ModelError(
                f"{self.name}: no HMM (~h) in it, expected one for each phone; give hmmdefs, too"
            )
        return HtkModel(self._topology(), self._emissions(), self.kind)

    def _options(self) -> None:
        """Take in the global options."""
        while self.peek().text.startswith("<") and not self._is("<NUMSTATES>"):
            token = self.take()
            word = token.text[1:-1].strip().upper()
            if word == "VECSIZE":
                self.n_columns = self._count(_MOST_COLUMNS)
            elif word == "STREAMINFO":
                if self._count(_MOST_COLUMNS) != 1:
                    self.fail("one stream", token)
                self._count(_MOST_COLUMNS)
            elif word == "HMMSETID":
                self.take()
            elif word in ("FULLC", "LLTC", "XFORMC", "INVDIAGC"):
                self.fail("diagonal covariances", token)
            elif word not in ("NULLD", "DIAGC", "POISSOND", "GAMMAD", "GEND"):
                self.kind = word

    def _string(self) -> str:
        token = self.take()
        if not token.text or token.text[0] in "<~":
            self.fail("a name", token)
        if token.text[0] == '"':
            if len(token.text) < 2 or token.text[-1] != '"':
                self.fail("a name that ends in a quotation mark", token)
            return re.sub(r"\\(.)", r"\1", token.text[1:-1])
        return token.text

    def _number(self) -> float:
        token = self.take()
        try:
            value = float(token.text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.fail("a number", token)
        return value

    def _count(self, most: int) -> int:
        token = self.take()
        if not re.fullmatch(r"\d{1,9}", token.text) or not 1 <= int(token.text) <= most:
            self.fail(f"a count from 1 to {most}", token)
        return int(token.text)

    def _is(self, *keywords: str) -> bool:
        """Return whether one of some keywords is next."""
        return self.peek().text.upper() in keywords

    def _expect(self, keyword: str) -> None:
        if not self._is(keyword):
            self.fail(keyword, self.peek())
        self.take()

    def _known(self, kind: str, macros: Collection[str]) -> str:
        """Return the name of a macro that is used here."""
        token = self.take()
        name = self._string()
        if name not in macros:
            self.fail(f'a macro {kind} "{name}" before it is used', token)
        return name

    def _vector(self, keyword: str, macro: str) -> Floats:
        """Return a mean or variance (D,), written out or by the name of a macro."""
        if self._is(macro.upper()):
            token = self.take()
            key = macro, self._string()
            if key not in self.macros.vectors:
                self.fail(f'a macro {macro} "{key[1]}" before it is used', token)
            return self.macros.vectors[key]
        self._expect(keyword)
        token = self.peek()
        n_columns = self._count(_MOST_COLUMNS)
        self.n_columns = self.n_columns or n_columns
        if n_columns != self.n_columns:
            self.fail(f"{self.n_columns} numbers, as many as elsewhere", token)
        return np.array([self._number() for _ in range(n_columns)])

    def _vector_macro(self, macro: str, name: str, keyword: str) -> None:
        self.macros.vectors[macro, name] = self._vector(keyword, "~-")

    def _density(self) -> tuple[Floats, Floats]:
        """Return mean and variance of a component."""
        if self._is("~M"):
            return self.macros.mixtures[self._known("~m", self.macros.mixtures)]
        mean = self._vector("<MEAN>", "~u")
        token = self.peek()
        variance = self._vector("<VARIANCE>", "~v")
        if not (variance > 0).all():
            self.fail("variances above 0", token)
        if self._is("<GCONST>"):
            self.take()
            self._number()
        return mean, variance

    def _mixture_macro(self, name: str) -> None:
        self.macros.mixtures[name] = self._density()

    def _state(self) -> int:
        """Return the number of a state, written out or by the name of a macro."""
        if self._is("~S"):
            return self.macros.states[self._known("~s", self.macros.states)]
        token = self.peek()
        n_mixtures = 1
        if self._is("<NUMMIXES>"):
            self.take()
            n_mixtures = self._count(_MOST_MIXTURES)
        if self._is("<SWEIGHTS>", "<STREAM>", "<TMIX>", "<DPROB>"):
            self.fail("one stream of mixtures of its own", self.peek())
        mixtures: list[_Mixture] = []
        if not self._is("<MIXTURE>"):
            mixtures = [_Mixture(1.0, *self._density())]
        while self._is("<MIXTURE>"):
            self.take()
            self._count(n_mixtures)
            weight = self._number()
            mixtures.append(_Mixture(weight, *self._density()))
        total = sum(mixture.weight for mixture in mixtures)
        if len(mixtures) > n_mixtures or min(m.weight for m in mixtures) < 0 or abs(total - 1) > 0.01:
            self.fail(f"up to {n_mixtures} mixtures with weights that sum to 1 (got {total:.4g})", token)
        self.states.append(mixtures)
        return len(self.states) - 1

    def _state_macro(self, name: str) -> None:
        self.macros.states[name] = self._state()

    def _transitions(self) -> Floats:
        """Return a matrix of transition probabilities, (N, N)."""
        if self._is("~T"):
            return self.macros.transitions[self._known("~t", self.macros.transitions)]
        self._expect("<TRANSP>")
        n_states = self._count(_MOST_STATES)
        return np.array([[self._number() for _ in range(n_states)] for _ in range(n_states)])

    def _transition_macro(self, name: str) -> None:
        self.macros.transitions[name] = self._transitions()

    def _phone(self, name: str) -> None:
        """Take in an HMM."""
        token = self.peek()
        if name in self.phones:
            self.fail(f'each HMM once ("{name}" again)', token)
        self._expect("<BEGINHMM>")
        if not self._is("<NUMSTATES>"):  # options may stand here, too
            self._options()
        self._expect("<NUMSTATES>")
        n_states = self._count(_MOST_STATES)
        states: list[int] = []
        while self._is("<STATE>"):
            token = self.take()
            if self._count(_MOST_STATES) != len(states) + 2:
                self.fail(f"state {len(states) + 2}", token)
            states.append(self._state())
        token = self.peek()
        loops = _self_loops(self._transitions(), n_states)
        if loops is None or len(states) != n_states - 2:
            what = f'"{name}": {n_states - 2} states, from each on to itself or the next one'
            self.fail(f"{what}, the probabilities of both summing to 1", token)
        self._expect("<ENDHMM>")
        self.phones[name] = _Phone(tuple(states), loops)

    def _topology(self) -> Topology:
        contextual = [name for name in self.phones if "-" in name or "+" in name]
        if contextual:
            raise ModelError(
                f"{self.name}: HMMs of phones in context ({contextual[0]}), expected phones alone; give the "
                "models of monophones"
            )
        # States are numbered in the order of the phones, whatever the order of the macros.
        order = list(dict.fromkeys(state for phone in self.phones.values() for state in phone.states))
        self.states = [self.states[state] for state in order]
        places = {state: n for n, state in enumerate(order)}
        return Topology(
            tuple(self.phones),
            tuple(tuple(places[state] for state in phone.states) for phone in self.phones.values()),
            tuple(phone.loops for phone in self.phones.values()),
        )

    def _emissions(self) -> GmmModel:
        n_mixtures = max(map(len, self.states))
        shape = (len(self.states), n_mixtures)
        log_weights = np.full(shape, -np.inf)
        means, variances = np.zeros((*shape, self.n_columns)), np.ones((*shape, self.n_columns))
        for state, mixtures in enumerate(self.states):
            for place, mixture in enumerate(m for m in mixtures if m.weight > 0):
                log_weights[state, place] = math.log(mixture.weight)
                means[state, place], variances[state, place] = mixture.mean, mixture.variance
        return GmmModel(log_weights, means, variances)


def _self_loops(transitions: Floats, n_states: int) -> tuple[float, ...] | None:
    """Return the probabilities to stay of a chain without skips, None if the matrix is of another model.

    The way past all states, which HTK's ``sp`` has, is disregarded.
    """
    if transitions.shape != (n_states, n_states) or n_states < 3:
        return None
    chain = transitions.copy()
    chain[0, -1] = 0.0
    inner = np.arange(1, n_states - 1)
    loops, onward = chain[inner, inner], chain[inner, inner + 1]
    chain[inner, inner] = chain[inner, inner + 1] = chain[0, 1] = 0.0
    others = np.abs(chain).max()
    if (
        others > 0
        or not ((loops > 0) & (loops < 1) & (np.abs(loops + onward - 1) < _PROBABILITY_ERROR)).all()
    ):
        return None
    return tuple(float(loop / (loop + step)) for loop, step in zip(loops, onward, strict=True))
