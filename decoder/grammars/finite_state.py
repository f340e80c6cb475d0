"""Finite-state grammars: states joined by weighted arcs that say a word, or nothing; and HTK's word networks.

JSGF grammars are read by `decoder.grammars.jsgf`. Where words can be read in several ways, the best way
counts, as it does in the search.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decoder.errors import GrammarError
from decoder.grammars.grammar import Arc, GrammarTables, grammar_lines, pack_tables
from foundation.arrays import Floats
from foundation.files import composed, write_whole

# Of one set of places, so many weightings are told apart; beyond, the nearest of them stands for others.
_MOST_WEIGHTINGS = 16  # by feel
_MOST_CONTEXTS = 200_000  # by feel
# Of the states that its contexts stand for, all together, so many more than it has, and steps from one to the
# next, besides some for each arc that is read or made: some ten words said in any order make more contexts
# than there is room for. By feel.
_MOST_PLACES, _PLACES_PER_STATE = 500_000, 10
_MOST_STEPS, _STEPS_PER_ARC = 5_000_000, 20
_SAME = 1e-9  # log weights that differ by less are equal
_DIGITS = 12  # of log weights that are looked up; differences of rounding have fewer


class WordArc(NamedTuple):
    """An arc between states; the word None says nothing."""

    source: int
    word: str | None
    log_weight: float
    target: int


@dataclass(frozen=True)
class FiniteStateGrammar:
    """States 0 … and the arcs between them; words are in Unicode normal form C.

    Attributes
    ----------
    arcs : arcs in any order
    start : state of the empty sentence
    final : states in which a sentence may end, with the log weight of ending

    Examples
    --------
    >>> arcs = [WordArc(0, "GO", 0.0, 1), WordArc(1, "ON", -0.7, 1)]
    >>> tables = FiniteStateGrammar(arcs, 0, {1: -0.5}).compile({"GO", "ON"})
    >>> round(float(tables.sentence_log_prob(["GO", "ON", "ON"])), 4)
    -1.9
    """

    arcs: Sequence[WordArc]
    start: int
    final: Mapping[int, float]

    @classmethod
    def of_sentences(cls, sentences: Iterable[Sequence[str]]) -> FiniteStateGrammar:
        """Return the grammar that allows just some sentences, all alike.

        >>> grammar = FiniteStateGrammar.of_sentences([("LIGHT", "ON"), ("STOP",)])
        >>> grammar.compile({"LIGHT", "ON", "STOP"}).sentence_log_prob(["LIGHT"])
        -inf
        """
        arcs, n_states = list[WordArc](), 2  # every sentence has states of its own between the two ends
        for words in dict.fromkeys(tuple(words) for words in sentences):
            places = [0, *range(n_states, n_states + len(words) - 1), 1]
            n_states += len(words) - 1
            arcs += [
                WordArc(a, word, 0.0, b) for a, word, b in zip(places[:-1], words, places[1:], strict=True)
            ]
        return cls(arcs, 0, {1: 0.0})

    def __post_init__(self) -> None:
        normal = (a if a.word is None else a._replace(word=composed(a.word)) for a in self.arcs)
        object.__setattr__(self, "arcs", tuple(self._useful(a for a in normal if a.log_weight > -np.inf)))
        if not any(state in self.final for state in self._reached(self.arcs)):
            raise GrammarError(
                "grammar: no way from its start to its end, expected at least one sentence; correct the rules"
            )

    def _reached(self, arcs: Iterable[WordArc]) -> set[int]:
        return _connected([self.start], ((a.source, a.target) for a in arcs))

    def _useful(self, arcs: Iterable[WordArc]) -> list[WordArc]:
        """Return the arcs on a way from the start to an end."""
        arcs = list(arcs)
        after = self._reached(arcs)
        before = _connected(self.final, ((a.target, a.source) for a in arcs))
        return [a for a in arcs if a.source in after and a.target in before]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the grammar, sorted."""
        return tuple(sorted({arc.word for arc in self.arcs if arc.word is not None}))

    def renamed(self, names: Mapping[str, str]) -> FiniteStateGrammar:
        """Return the grammar with other names for some words."""
        arcs = [a if a.word is None else a._replace(word=names.get(a.word, a.word)) for a in self.arcs]
        return FiniteStateGrammar(arcs, self.start, self.final)

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return the tables, one context for each set of places; no word is left out."""
        return _Determinizer(self).tables()


class _Determinizer:
    """Sets of states with their weights become contexts, in which each word leads to one context."""

    def __init__(self, grammar: FiniteStateGrammar) -> None:
        self.grammar = grammar
        self.word_ids = {word: n for n, word in enumerate(grammar.words)}
        self.silent: dict[int, list[tuple[float, int]]] = {}
        self.spoken: dict[int, list[tuple[int, float, int]]] = {}
        for source, word, weight, target in grammar.arcs:
            if word is None:
                self.silent.setdefault(source, []).append((weight, target))
            else:
                self.spoken.setdefault(source, []).append((self.word_ids[word], weight, target))
        # States that only lead on without a word tell no contexts apart.
        self.counted = self.spoken.keys() | grammar.final.keys()
        self.contexts: list[tuple[tuple[int, ...], Floats]] = []  # places, and what each weighs
        self.by_places: dict[tuple[int, ...], list[tuple[Floats, int]]] = {}
        # Weight and context of the states that words lead to, each with its weight: most lead to the same.
        self.of_reached: dict[tuple[tuple[int, float], ...], tuple[float, int]] = {}
        self.places_left = _MOST_PLACES + _PLACES_PER_STATE * len(self.silent.keys() | self.spoken.keys())
        self.steps_left = _MOST_STEPS + _STEPS_PER_ARC * len(grammar.arcs)

    def _count(self, *, places: int = 0, steps: int = 0) -> None:
        """Raise an error once more is made of the grammar than a grammar of its size is worth."""
        self.places_left -= places
        self.steps_left -= steps
        if self.places_left < 0 or len(self.contexts) > _MOST_CONTEXTS:
            raise GrammarError(
                f"grammar: more than {len(self.contexts):,} combinations of places a sentence can be at, "
                "expected fewer; simplify rules that can be read in many ways"
            )
        if self.steps_left < 0:
            raise GrammarError(
                f"grammar: more than {_MOST_STEPS:,} steps to find which words may follow which, expected "
                "fewer; put fewer parts that may be left out or repeated behind one another"
            )

    def tables(self) -> GrammarTables:
        """Return the tables of the contexts that can be reached."""
        start_weight, start = self._context({self.grammar.start: 0.0})
        arcs: list[list[Arc]] = []
        final: list[float] = []
        while len(arcs) < len(self.contexts):
            places, weights = self.contexts[len(arcs)]
            weighed = dict(zip(places, weights.tolist(), strict=True))
            arcs.append(self._arcs(weighed))
            self.steps_left += _STEPS_PER_ARC * len(arcs[-1])
            ends = (
                weight + self.grammar.final[s] for s, weight in weighed.items() if s in self.grammar.final
            )
            final.append(max(ends, default=-np.inf))
        return self._started(arcs, final, start, start_weight)

    def _started(
        self, arcs: list[list[Arc]], final: list[float], start: int, start_weight: float
    ) -> GrammarTables:
        """Return the tables; a weight before the first word is put on a start of its own."""
        if start_weight != 0.0:
            arcs.append([(word, weight + start_weight, target) for word, weight, target in arcs[start]])
            final.append(final[start] + start_weight)
            start = len(arcs) - 1
        return pack_tables(self.grammar.words, arcs, final, start)

    def _arcs(self, weights: Mapping[int, float]) -> list[Arc]:
        """Return the arcs of a context."""
        after: dict[int, dict[int, float]] = {}
        for state, weight in weights.items():
            spoken = self.spoken.get(state, ())
            self._count(steps=len(spoken))
            for word, log_weight, target in spoken:
                reached = after.setdefault(word, {})
                reached[target] = max(reached.get(target, -np.inf), weight + log_weight)
        return [(word, *self._context(reached)) for word, reached in sorted(after.items())]

    def _context(self, reached: Mapping[int, float]) -> tuple[float, int]:
        """Return the best weight of some places, and the context of what the weights are beyond it."""
        most = max(reached.values())
        key = tuple(sorted((state, round(weight - most, _DIGITS)) for state, weight in reached.items()))
        if key not in self.of_reached:
            best, context = self._context_of(self._closed(reached))
            self.of_reached[key] = best - most, context
        best, context = self.of_reached[key]
        return most + best, context

    def _context_of(self, closed: Mapping[int, float]) -> tuple[float, int]:
        best = max(closed.values())
        places = tuple(sorted(closed))
        weights = np.array([closed[place] for place in places]) - best
        known = self.by_places.setdefault(places, [])
        distances = [float(np.abs(other - weights).max()) for other, _ in known]
        if distances and (min(distances) < _SAME or len(known) >= _MOST_WEIGHTINGS):
            return best, known[int(np.argmin(distances))][1]
        known.append((weights, len(self.contexts)))
        self.contexts.append((places, weights))
        self._count(places=len(places))
        return best, len(self.contexts) - 1

    def _closed(self, reached: Mapping[int, float]) -> dict[int, float]:
        """Return the places that can be reached without a word, those that tell contexts apart."""
        found = dict(reached)
        waiting = deque(found)
        n_visits: dict[int, int] = {}
        while waiting:
            state = waiting.popleft()
            n_visits[state] = n_visits.get(state, 0) + 1
            if n_visits[state] > len(self.silent) + 1:
                raise GrammarError(
                    "grammar: a loop without a word that gains weight, expected weights up to 1 there; "
                    "correct its weights"
                )
            following = self.silent.get(state, ())
            self._count(steps=1 + len(following))
            for weight, target in following:
                if found[state] + weight > found.get(target, -np.inf) + _SAME:
                    found[target] = found[state] + weight
                    waiting.append(target)
        return {state: weight for state, weight in found.items() if state in self.counted}


def _connected(starts: Iterable[int], edges: Iterable[tuple[int, int]]) -> set[int]:
    """Return what can be reached from some states over edges."""
    following: dict[int, list[int]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    found = set(starts)
    waiting = list(found)
    while waiting:
        for state in following.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found


# Word networks in HTK's standard lattice format (``.slf``), read and written.
#
# Nodes or arcs say words, ``!NULL`` says nothing; ``l=`` is the log weight of an arc, to the ``base`` in the
# header. Times, acoustic scores and numbers of pronunciations are passed over; lattices within lattices are
# an error. A sentence goes from the node without arcs into it (or ``start=``) to the one without arcs out of
# it (or ``end=``).

NULL = "!NULL"
_FIELD = re.compile(r"""\s+|([^\s=]+)=("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\S*)""")
_LONG_NAMES = {"NODES": "N", "LINKS": "L", "WORD": "W", "LANGUAGE": "l", "START": "S", "END": "E"}
_ESCAPE = re.compile(r"\\([0-7]{3})|\\(.)")


@dataclass
class _Parsed:
    """What the lines of a file say."""

    header: dict[str, str] = field(default_factory=dict)
    words: dict[int, str | None] = field(default_factory=dict)
    links: list[tuple[int, int, str | None, float]] = field(default_factory=list)


def read_slf(path: str | Path) -> FiniteStateGrammar:
    """Return the word network in a file.

    Raises
    ------
    GrammarError
        The file is no word network, in one line with its place.
    """
    path = Path(path)
    parsed = _Parsed()
    for number, line in grammar_lines(path):
        _take(parsed, _fields(line, f"{path}:{number}"), f"{path}:{number}")
    for name, found in (("N", parsed.words), ("L", parsed.links)):
        if parsed.header.get(name) != str(len(found)):
            raise GrammarError(
                f"{path}: {name}={parsed.header.get(name, '')} in its header, expected {len(found)}, as "
                "many as there are; the file is cut off or no lattice: write it again"
            )
    arcs = [WordArc(2 * n, word, 0.0, 2 * n + 1) for n, word in parsed.words.items()]
    for source, target, word, weight in parsed.links:
        for node in (source, target):
            if node not in parsed.words:
                raise GrammarError(f"{path}: an arc at node {node}, which is not there; write the file again")
        arcs.append(WordArc(2 * source + 1, word, weight, 2 * target))
    start, end = _ends(parsed, path)
    try:
        return FiniteStateGrammar(arcs, 2 * start, {2 * end + 1: 0.0})
    except GrammarError as error:
        raise GrammarError(f"{path}: {error}") from None


def write_slf(path: str | Path, tables: GrammarTables) -> None:
    """Write the tables of a grammar; reading them gives the same sentences with the same weights.

    Backoff becomes an arc that says nothing: a sentence that is listed may then be read as backed off, too.
    """
    write_whole(path, format_slf(tables).encode())


def format_slf(tables: GrammarTables, ends: tuple[str, str] = (NULL, NULL)) -> str:
    """Return the text of a word network.

    Parameters
    ----------
    tables : what it allows
    ends : words that stand before and after each sentence
    """
    node_of = {context: 2 + n for n, context in enumerate(_reached(tables))}
    words = [*ends, *([NULL] * len(node_of))]  # of each node: the start, the end, the contexts, then the arcs
    links = [(0, node_of[tables.start_context], 0.0)]
    for context, node in node_of.items():
        for arc in range(tables.arc_offsets[context], tables.arc_offsets[context + 1]):
            links.append((node, len(words), float(tables.arc_log_probs[arc])))
            links.append((len(words), node_of[int(tables.arc_contexts[arc])], 0.0))
            words.append(tables.words[tables.arc_words[arc]])
        if (backoff := int(tables.backoff_contexts[context])) >= 0:
            links.append((node, node_of[backoff], float(tables.backoff_log_weights[context])))
        if tables.final_log_probs[context] > -np.inf:
            links.append((node, 1, float(tables.final_log_probs[context])))
    lines = ["VERSION=1.0", f"base={math.e!r}", f"N={len(words)} L={len(links)}"]
    lines += [f"I={n} W={_quoted(word)}" for n, word in enumerate(words)]
    for n, (source, target, weight) in enumerate(links):
        lines.append(f"J={n} S={source} E={target}" + (f" l={weight!r}" if weight else ""))
    return "".join(f"{line}\n" for line in lines)


def _reached(tables: GrammarTables) -> list[int]:
    """Return the contexts that a sentence can come to."""
    found = {tables.start_context: None}
    waiting = [tables.start_context]
    while waiting:
        context = waiting.pop()
        first, stop = tables.arc_offsets[context], tables.arc_offsets[context + 1]
        following = [*tables.arc_contexts[first:stop].tolist(), int(tables.backoff_contexts[context])]
        new = [c for c in dict.fromkeys(following) if c >= 0 and c not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return sorted(found)


def _fields(line: str, where: str) -> dict[str, str]:
    """Return the fields of a line by name."""
    found, place = {}, 0
    while place < len(line):
        match = _FIELD.match(line, place)
        if match is None:
            rest = line[place:].strip()
            raise GrammarError(f'{where}: expected fields NAME=VALUE of a lattice, got "{rest[:40]}"')
        if match[1]:
            found[_LONG_NAMES.get(match[1], match[1])] = _unquoted(match[2])
        place = match.end()
    return found


def _take(parsed: _Parsed, fields: Mapping[str, str], where: str) -> None:
    """Take in one line."""
    if "SUBLAT" in fields or ("I" in fields and "L" in fields):
        raise GrammarError(f"{where}: a lattice within the lattice, expected one alone; expand it (HBuild)")
    if "I" in fields:
        node = _number(fields["I"], where)
        if node in parsed.words:
            raise GrammarError(f"{where}: node {node} again, expected each once; remove the line")
        parsed.words[node] = _word(fields)
    elif "J" in fields:
        try:
            source, target = (_number(fields[name], where) for name in ("S", "E"))
        except KeyError:
            raise GrammarError(f"{where}: an arc without S= or E=, expected both nodes; add them") from None
        weight = _log_weight(fields.get("l", ""), parsed.header.get("base", ""), where)
        parsed.links.append((source, target, _word(fields), weight))
    else:
        # "start" and "end" of the header are in small letters.
        parsed.header.update(fields)


def _word(fields: Mapping[str, str]) -> str | None:
    word = fields.get("W", NULL)
    return None if word in (NULL, "") else "_".join(word.split())


def _number(text: str, where: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise GrammarError(f'{where}: expected the number of a node or arc, got "{text[:40]}"; correct it')
    return int(text)


def _log_weight(text: str, base: str, where: str) -> float:
    """Return the natural logarithm of a weight."""
    if not text:
        return 0.0
    try:
        value, of = float(text), float(base or math.e)
    except ValueError:
        value = of = math.nan
    if (
        math.isnan(value)
        or not (of == 0 or (1 < of < math.inf))
        or value == math.inf
        or (of == 0 and value < 0)
    ):
        raise GrammarError(
            f"{where}: expected a log weight to a base above 1 (or base=0), got l={text[:40]}, base={base}"
        )
    if of == 0:
        return math.log(value) if value > 0 else -math.inf
    return value if of == math.e else value * math.log(of)


def _ends(parsed: _Parsed, path: Path) -> tuple[int, int]:
    """Return the first node and the last."""
    sources, targets = {link[0] for link in parsed.links}, {link[1] for link in parsed.links}
    found = []
    for name, others in (("start", targets), ("end", sources)):
        if name in parsed.header:
            nodes = [_number(parsed.header[name], str(path))]
        else:
            nodes = [node for node in parsed.words if node not in others]
        if len(nodes) != 1 or nodes[0] not in parsed.words:
            raise GrammarError(
                f"{path}: {len(nodes)} nodes that may be its {name}, expected one; say {name}=NODE "
                "in the header"
            )
        found += nodes
    return found[0], found[1]


def _quoted(word: str) -> str:
    """Return a word as HTK reads it."""
    if re.fullmatch(r"""[^\s"'\\=]+""", word):
        return word
    return '"' + re.sub(r'["\\]', r"\\\g<0>", word) + '"'


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return _ESCAPE.sub(lambda m: chr(int(m[1], 8)) if m[1] else m[2], text) if "\\" in text else text
