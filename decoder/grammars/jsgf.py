"""Grammars in the Java Speech Grammar Format (``.jsgf``), a W3C note of 2000.

Read are rules, alternatives with and without weights, sequences, groups, optional parts, ``*`` and ``+``,
``<NULL>`` and ``<VOID>``; tags are passed over. A rule may refer to itself at its end. Imports are an error.

Probabilities: of alternatives by their weights, all alike if there are none; an optional part is said in one
of two cases; after each time that a part with ``*`` or ``+`` is said, it is said again in one of two. A
sentence is in one of the public rules, all alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from decoder.errors import GrammarError
from decoder.grammars.finite_state import FiniteStateGrammar, WordArc
from decoder.grammars.grammar import grammar_text
from foundation.errors import suggestion

_MOST_STATES = 200_000  # by feel
_MOST_NESTED = 100  # by feel
_HALF = math.log(0.5)
_HEADER = re.compile(r"\s*#JSGF\b[^;\n]*;?")
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<open>/\*)
    |(?P<weight>/[^/\n]*/)
    |(?P<tag>\{(?:\\.|[^}\\])*\})
    |(?P<quoted>"(?:\\.|[^"\\])*")
    |(?P<rule><[^<>\n]*>)
    |(?P<mark>[;=|*+()\[\]])
    |(?P<word>(?:\\.|[^\s;=|*+<>()\[\]{}/"\\])+)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of the text, and its line."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Part:
    """A part of a rule.

    Attributes
    ----------
    kind : ``word``, ``rule``, ``sequence``, ``choice``, ``optional``, ``star`` or ``plus``
    parts : what it is made of
    text : the word, or the name of the rule
    weights : log probability of each alternative
    line : where it stands
    """

    kind: str
    parts: tuple[Part, ...] = ()
    text: str = ""
    weights: tuple[float, ...] = ()
    line: int = 0


def read_jsgf(path: str | Path) -> FiniteStateGrammar:
    """Return the grammar in a file.

    Raises
    ------
    GrammarError
        The file is no grammar of this kind, in one line with its place.
    """
    return parse_jsgf(grammar_text(Path(path)), str(path))


def parse_jsgf(text: str, name: str = "grammar") -> FiniteStateGrammar:
    """Return the grammar in a text; ``name`` stands for the file in errors.

    Examples
    --------
    >>> grammar = parse_jsgf("#JSGF V1.0; grammar g; public <s> = (GO | STOP) [NOW];")
    >>> grammar.words
    ('GO', 'NOW', 'STOP')
    >>> tables = grammar.compile(grammar.words)
    >>> round(math.exp(tables.sentence_log_prob(["GO"])), 4)
    0.25
    """
    parser = _Parser(text, name)
    try:
        parser.parse()
        network = _Network(parser)
        network.check_size()
        start, end = network.state(), network.state()
        for rule in parser.public:
            begin = network.state()
            network.silent(start, begin, -math.log(len(parser.public)))
            network.build(Part("rule", text=rule), begin, end, ())
    except RecursionError:
        raise GrammarError(f"{name}: rules and groups nested too deep, expected fewer levels") from None
    try:
        return FiniteStateGrammar(network.arcs, start, {end: 0.0})
    except GrammarError as error:
        raise GrammarError(f"{name}: {error}") from None


class _Parser:
    """The rules of a text by name."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.rules: dict[str, Part] = {}
        self.public: list[str] = []
        self.grammar = ""
        header = _HEADER.match(text)
        if header is None:
            raise GrammarError(f'{name}:1: expected "#JSGF V1.0;" at its beginning, got "{_start(text)}"')
        self.tokens = self._tokens(text, header.end())
        self.place = 0

    def _tokens(self, text: str, place: int) -> list[Token]:
        found: list[Token] = []
        line = 1 + text.count("\n", 0, place)
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup == "open":
                raise GrammarError(
                    f'{self.name}:{line}: expected words and rules, got "{_start(text[place:])}"; correct it'
                )
            kind = str(match.lastgroup)
            if kind != "space":
                found.append(Token(kind, match[0], line))
            line += match[0].count("\n")
            place = match.end()
        return [*found, Token("end", "the end of the file", line)]

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.place]

    def fail(self, expected: str, token: Token | None = None) -> NoReturn:
        """Raise a GrammarError that says what was expected here instead of the next token."""
        token = token or self.next
        raise GrammarError(
            f'{self.name}:{token.line}: expected {expected}, got "{_start(token.text)}"; correct the grammar'
        )

    def take(self, kind: str, text: str | None = None, expected: str = "") -> Token:
        """Return the next token if it is of a kind (and text), else raise."""
        token = self.next
        if token.kind != kind or (text is not None and token.text != text):
            self.fail(expected or f'"{text}"')
        self.place += 1
        return token

    def parse(self) -> None:
        """Read all declarations and rules."""
        while self.next.kind != "end":
            token = self.next
            if token.text == "grammar" and not self.rules:
                self.place += 1
                self.grammar = self.take("word", expected="the name of the grammar").text
                self.take("mark", ";")
            elif token.text == "import":
                raise GrammarError(
                    f"{self.name}:{token.line}: imports another grammar, expected rules of this file alone; "
                    "copy the rules that are needed"
                )
            else:
                self._rule()
        if not self.public:
            self.fail('a rule "public <NAME> = …;"')

    def _rule(self) -> None:
        is_public = self.next.text == "public"
        self.place += is_public
        token = self.take("rule", expected='a rule "<NAME> = …;"')
        name = self.local(token)
        if name in self.rules or name in ("NULL", "VOID"):
            self.fail("each rule once, and none called NULL or VOID", token)
        self.take("mark", "=")
        self.rules[name] = self._choice(0)
        self.take("mark", ";", 'words, rules, or ";" at the end of the rule')
        if is_public:
            self.public.append(name)

    def local(self, token: Token) -> str:
        """Return the name of a rule of this grammar, without the grammar's name before it."""
        name = token.text[1:-1].strip()
        grammar, _, last = name.rpartition(".")
        if not name or (grammar and grammar != self.grammar):
            self.fail("a rule of this grammar", token)
        return last

    def _choice(self, depth: int) -> Part:
        """Return alternatives."""
        if depth > _MOST_NESTED:
            self.fail(f"at most {_MOST_NESTED} groups within each other")
        line = self.next.line
        parts, weights = [], []
        while True:
            weights.append(self._weight() if self.next.kind == "weight" else None)
            parts.append(self._sequence(depth))
            if self.next.text != "|" or self.next.kind != "mark":
                break
            self.place += 1
        given = [weight for weight in weights if weight is not None]
        if given and (len(given) < len(parts) or sum(given) <= 0):
            raise GrammarError(
                f"{self.name}:{line}: {len(given)} weights of {len(parts)} alternatives, expected one for "
                "each and not all 0; correct them"
            )
        if len(parts) == 1:
            return parts[0]
        total = sum(given)
        shares = [w / total for w in given] if given else [1 / len(parts)] * len(parts)
        logs = tuple(math.log(share) if share > 0 else -math.inf for share in shares)
        return Part("choice", tuple(parts), weights=logs, line=line)

    def _weight(self) -> float:
        token = self.take("weight")
        try:
            value = float(token.text.strip("/"))
        except ValueError:
            value = math.nan
        if not 0 <= value < 1e30:
            self.fail("a weight from 0 on between strokes", token)
        return value

    def _sequence(self, depth: int) -> Part:
        parts = []
        line = self.next.line
        while (part := self._repeated(depth)) is not None:
            parts.append(part)
        if not parts:
            self.fail("words, a rule or a group")
        return parts[0] if len(parts) == 1 else Part("sequence", tuple(parts), line=line)

    def _repeated(self, depth: int) -> Part | None:
        """Return a part with what stands behind it, None where there is no part."""
        part = self._single(depth)
        while part is not None:
            if self.next.kind == "mark" and self.next.text in "*+":
                kind = "star" if self.next.text == "*" else "plus"
                part = Part(kind, (part,), line=self.next.line)
            elif self.next.kind != "tag":
                break
            self.place += 1
        return part

    def _single(self, depth: int) -> Part | None:
        token = self.next
        if token.kind == "word":
            self.place += 1
            return Part("word", text=re.sub(r"\\(.)", r"\1", token.text), line=token.line)
        if token.kind == "quoted":
            self.place += 1
            words = re.sub(r"\\(.)", r"\1", token.text[1:-1]).split()
            return Part(
                "sequence", tuple(Part("word", text=w, line=token.line) for w in words), line=token.line
            )
        if token.kind == "rule":
            self.place += 1
            return Part("rule", text=self.local(token), line=token.line)
        if token.kind == "mark" and token.text in "([":
            self.place += 1
            inner = self._choice(depth + 1)
            self.take("mark", ")" if token.text == "(" else "]")
            return inner if token.text == "(" else Part("optional", (inner,), line=token.line)
        return None


@dataclass
class _Network:
    """The arcs of the rules that have been built so far."""

    parser: _Parser
    arcs: list[WordArc] = field(default_factory=list)
    n_states: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def check_size(self) -> None:
        """Raise an error before anything is built if the rules make too many states."""
        self._check(sum(self._size(Part("rule", text=rule)) for rule in self.parser.public))

    def _size(self, part: Part, n_within: int = 0) -> int:
        """Return how many states are made between those where a part, within some rules, begins and ends."""
        if part.kind == "rule":
            if part.text not in self.sizes:
                self._check_depth(part, n_within)
                self.sizes[part.text] = 0  # within itself, where it leads back
                rule = self.parser.rules.get(part.text)
                self.sizes[part.text] = self._size(rule, n_within + 1) if rule is not None else 0
            return self.sizes[part.text]
        own = {
            "sequence": len(part.parts) - 1,
            "choice": len(part.parts),
            "optional": 1,
            "star": 2,
            "plus": 2,
        }
        return max(own.get(part.kind, 0), 0) + sum(self._size(inner, n_within) for inner in part.parts)

    def state(self) -> int:
        """Return a new state."""
        self.n_states += 1
        self._check(self.n_states)
        return self.n_states - 1

    def _check(self, n_states: int) -> None:
        if n_states > _MOST_STATES:
            raise GrammarError(
                f"{self.parser.name}: rules within rules make more than {_MOST_STATES:,} states, expected "
                "fewer; simplify the rules"
            )

    def _check_depth(self, part: Part, n_within: int) -> None:
        """Raise an error of a rule within too many others."""
        if n_within > _MOST_NESTED:
            raise GrammarError(
                f"{self.parser.name}:{part.line}: more than {_MOST_NESTED} rules within each other, expected "
                "fewer; write some of them out where they stand"
            )

    def silent(self, source: int, target: int, log_weight: float = 0.0) -> None:
        """Add an arc that says nothing."""
        self.arcs.append(WordArc(source, None, log_weight, target))

    def build(self, part: Part, start: int, end: int, within: Within) -> None:
        """Add what a part says between two states.

        Parameters
        ----------
        part : what is said
        start, end : the states
        within : the rules that it is a part of, each with its states; one that ends in ``end`` may begin anew
        """
        if part.kind == "word":
            self.arcs.append(WordArc(start, part.text, 0.0, end))
        elif part.kind == "rule":
            self._build_rule(part, start, end, within)
        elif part.kind == "sequence":
            self._build_sequence(part.parts, start, end, within)
        elif part.kind == "choice":
            for inner, weight in zip(part.parts, part.weights, strict=True):
                begin = self.state()
                self.silent(start, begin, weight)
                self.build(inner, begin, end, within)
        elif part.kind == "optional":
            begin = self.state()
            self.silent(start, end, _HALF)
            self.silent(start, begin, _HALF)
            self.build(part.parts[0], begin, end, within)
        else:
            self._build_repeated(part, start, end, within)

    def _build_sequence(self, parts: Sequence[Part], start: int, end: int, within: Within) -> None:
        if not parts:
            self.silent(start, end)
        for inner in parts[:-1]:
            following = self.state()
            self.build(inner, start, following, within)
            start = following
        for inner in parts[-1:]:
            self.build(inner, start, end, within)

    def _build_repeated(self, part: Part, start: int, end: int, within: Within) -> None:
        """Add a part that is said again and again: from a state where it begins to one where it has ended."""
        begin, ended = self.state(), self.state()
        self.silent(ended, begin, _HALF)
        self.silent(ended, end, _HALF)
        self.silent(start, begin if part.kind == "plus" else ended)
        self.build(part.parts[0], begin, ended, within)

    def _build_rule(self, part: Part, start: int, end: int, within: Within) -> None:
        name = part.text
        if name == "NULL":
            self.silent(start, end)
        if name in ("NULL", "VOID"):
            return
        where = f"{self.parser.name}:{part.line}"
        if name not in self.parser.rules:
            hint = suggestion(name, self.parser.rules)
            raise GrammarError(f"{where}: <{name}> is no rule of this grammar{hint}; add it")
        for outer, begin, outer_end in within:
            if outer == name and outer_end == end:
                self.silent(start, begin)
                return
            if outer == name:
                raise GrammarError(
                    f"{where}: <{name}> refers to itself before its end, expected that at its end alone, or "
                    "* or +; write it so"
                )
        self._check_depth(part, len(within))
        self.build(self.parser.rules[name], start, end, (*within, (name, start, end)))


Within = tuple[tuple[str, int, int], ...]


def _start(text: str) -> str:
    return text.strip().partition("\n")[0][:40]
