"""JSGF against the enumerated language of random grammars, and against pyjsgf."""

from __future__ import annotations

import itertools
import math
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoder.errors import GrammarError
from decoder.grammars.finite_state import _Determinizer
from decoder.grammars.jsgf import _Network, parse_jsgf, read_jsgf
from foundation.arrays import Reals

with warnings.catch_warnings():  # it calls functions of pyparsing by their old names
    warnings.simplefilter("ignore")
    import jsgf

HEAD = "#JSGF V1.0 UTF-8 en;\ngrammar test;\n"
LONGEST = 4
SENTENCES = [s for n in range(LONGEST + 1) for s in itertools.product("abc", repeat=n)]

Language = dict[tuple[str, ...], float]  # probability of the best way to read each sentence


def joined(first: Language, second: Language) -> Language:
    found: Language = {}
    for a, p in first.items():
        for b, q in second.items():
            if len(a) + len(b) <= LONGEST:
                found[a + b] = max(found.get(a + b, 0.0), p * q)
    return found


def either(*scaled: tuple[float, Language]) -> Language:
    found: Language = {}
    for share, language in scaled:
        for sentence, p in language.items():
            found[sentence] = max(found.get(sentence, 0.0), share * p)
    return found


def repeated(once: Language) -> Language:
    """Return the language of ``+``: one time, then again in one of two cases."""
    found, times = {}, once
    for n in range(LONGEST + 3):
        found = either((1.0, found), (0.5 ** (n + 1), times))
        times = joined(times, once)
    return found


def random_rule(rng: np.random.Generator, depth: int) -> tuple[str, Language]:
    """Return the text of an expansion, and the sentences of up to four words it has."""
    kind = rng.choice(["word", "sequence", "choice", "weighted", "optional", "star", "plus", "rule"])
    if depth == 0 or kind == "word":
        word = str(rng.choice(list("abc")))
        return word, {(word,): 1.0}
    if kind == "rule":
        return [("<NULL>", {(): 1.0}), ("<x>", {("a", "b"): 0.25, ("a",): 0.5}), ("<VOID>", {})][
            rng.integers(3)
        ]
    parts = [random_rule(rng, depth - 1) for _ in range(rng.integers(2, 4))]
    (text, language), *_ = parts
    if kind == "sequence":
        whole = {(): 1.0}
        for _, inner in parts:
            whole = joined(whole, inner)  # type: ignore[arg-type]
        return "(" + " ".join(t for t, _ in parts) + ")", whole
    if kind == "choice":
        return "(" + " | ".join(t for t, _ in parts) + ")", either(*((1 / len(parts), i) for _, i in parts))
    if kind == "weighted":
        weights = rng.integers(1, 5, len(parts)).tolist()
        pieces = " | ".join(f"/{w}/ {t}" for w, (t, _) in zip(weights, parts, strict=True))
        shares = [w / sum(weights) for w in weights]
        return f"({pieces})", either(*((s, i) for s, (_, i) in zip(shares, parts, strict=True)))
    if kind == "optional":
        return f"[{text}]", either((0.5, {(): 1.0}), (0.5, language))
    if kind == "star":
        # Not at all, in one of two cases, or once, and then as with a plus.
        return f"({text})*", either((0.5, {(): 1.0}), (0.5, repeated(language)))
    return f"({text})+", repeated(language)


@pytest.mark.parametrize("seed", range(60))
def test_the_language_of_random_grammars(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text, language = random_rule(rng, 3)
    source = f"{HEAD}public <s> = {text}; <x> = a /* or */ {{t\\}}ag}} [b /* twice */] | a;"
    source = source.replace("[b /* twice */]", "[b]")
    if not language:
        with pytest.raises(GrammarError, match="no way from its start to its end"):
            parse_jsgf(source)
        return
    grammar = parse_jsgf(source)
    tables = grammar.compile(grammar.words)
    for sentence in SENTENCES:
        expected = language.get(sentence, 0.0)
        found = math.exp(tables.sentence_log_prob(sentence))
        assert found == pytest.approx(expected, rel=1e-6), (text, sentence)


# pyjsgf takes the first way that it finds, and repeats more than the last word: no sentence of these can
# begin in two ways, and what is repeated is in parentheses.
@pytest.mark.parametrize(
    "text",
    [
        "(a | b) c",
        "a [b] (c | a a)",
        "(a | b)+ c",
        "[a] (b | c)",
        "a (b)* c",
        "<x>+ c",
        "(/2/ <x> | /1/ c) [c]",
        "a ((b (c | a)))* ",
    ],
)
def test_pyjsgf_accepts_the_same_sentences(text: str) -> None:
    source = f"{HEAD}public <s> = {text}; <x> = a [b];"
    grammar = parse_jsgf(source)
    tables = grammar.compile(grammar.words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = jsgf.parse_grammar_string(source)
        accepts = {s: bool(other.find_matching_rules(" ".join(s))) for s in SENTENCES[1:]}
    assert {s for s in accepts if tables.sentence_log_prob(s) > -np.inf} == {s for s in accepts if accepts[s]}
    assert any(accepts.values())


def test_a_rule_may_begin_anew_at_its_end() -> None:
    grammar = parse_jsgf(f"{HEAD}public <s> = <list>; <list> = a | a and <list> | <test.other>; <other> = b;")
    tables = grammar.compile(grammar.words)
    found = {n: tables.sentence_log_prob(("a and " * n + "a").split()) for n in range(4)}
    assert_allclose(
        [math.exp(found[n]) for n in range(4)], [3.0 ** -(n + 1) for n in range(4)], rtol=1e-9, atol=0
    )
    assert math.exp(tables.sentence_log_prob(["a", "and", "b"])) == pytest.approx(1 / 9)
    assert tables.sentence_log_prob(["a", "and"]) == -np.inf


def test_public_rules_tags_quotes_comments_and_accents() -> None:
    grammar = parse_jsgf(
        f'{HEAD}// one\npublic <a> = "go on" {{tag}} ; /* two\n lines */ '
        "public <b> = e\u0301\\;x {a} {b}*;"
    )
    assert grammar.words == ("go", "on", "é;x")
    tables = grammar.compile(grammar.words)
    assert math.exp(tables.sentence_log_prob(["go", "on"])) == pytest.approx(0.5)
    assert math.exp(tables.sentence_log_prob([])) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("public <s> = ;", r'x.jsgf:3: expected words, a rule or a group, got ";"'),
        ("public <s> = a", r'x.jsgf:3: expected words, rules, or ";" at the end of the rule, got "the end'),
        ("public <s> = (a;", r'x.jsgf:3: expected "\)", got ";"'),
        ("public <s> = a);", r'x.jsgf:3: expected words, rules, or ";".* got "\)"'),
        ("<s> = a;", r'expected a rule "public <NAME> = …;"'),
        (
            "import <other.*>;\npublic <s> = a;",
            r"x.jsgf:3: imports another grammar",
        ),
        ("public <s> = <other.rule>;", r'expected a rule of this grammar, got "<other.rule>"'),
        ("public <s> =\n <digt>;\n<digit> = a;", r'x.jsgf:4: <digt> is no rule .*did you mean "digit"\?'),
        ("public <s> = a; <s> = b;", r"each rule once"),
        ("public <NULL> = a;", r"none called NULL or VOID"),
        ("public <s> = /2/ a | b;", r"1 weights of 2 alternatives"),
        ("public <s> = /0/ a | /0/ b;", r"not all 0"),
        ("public <s> = /nan/ a | /1/ b;", r'a weight from 0 on between strokes, got "/nan/"'),
        ("public <s> = /-1/ a | /1/ b;", r'a weight from 0 on between strokes, got "/-1/"'),
        ("public <s> = <s> a | a;", r"<s> refers to itself before its end"),
        ("public <s> = a <s>;", r"no way from its start to its end"),
        ("public <s> = <VOID>;", r"no way from its start to its end"),
        ("public <s> = a } b;", r'x.jsgf:3: expected words and rules, got "} b;"'),
        ('public <s> = "a;', r'expected words and rules, got ""a;"'),
        ("public <s> = " + "(" * 500 + "a" + ")" * 500 + ";", r"at most 100 groups within each other"),
        (
            "".join(f"<r{n}> = <r{n + 1}> <r{n + 1}>;\n" for n in range(40))
            + "<r40> = a; public <s> = <r0>;",
            r"make more than 200,000 states",
        ),
        (
            "".join(f"<r{n}> = ((([<r{n + 1}>])));\n" for n in range(900)) + "<r900> = a; public <s> = <r0>;",
            r"nested too deep|more than 100 rules within each other",
        ),
        (
            "public <s> = <r0>;" + "".join(f"\n<r{n}> = <r{n + 1}>;" for n in range(5000)) + "\n<r5000> = a;",
            r"x.jsgf:103: more than 100 rules within each other",
        ),
    ],
)
def test_errors_are_one_line_with_file_and_place(body: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsgf"
    path.write_text(HEAD + body, encoding="utf-8")
    with pytest.raises(GrammarError, match=message) as caught:
        read_jsgf(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r'x.jsgf:1: expected "#JSGF V1.0;" at its beginning, got ""'),
        (b"hello", r'x.jsgf:1: expected "#JSGF V1.0;"'),
        ((HEAD + "public <s> = a;").encode("utf-16"), r"x.jsgf:1: not UTF-8"),
        ((HEAD + "public <s> = a;").encode("utf-16-be"), r"x.jsgf: zero bytes in it"),
        ((HEAD + "public <s> = é;").encode("latin-1"), r"x.jsgf:3: not UTF-8"),
    ],
)
def test_other_files(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsgf").write_bytes(content)
    with pytest.raises(GrammarError, match=message):
        read_jsgf(tmp_path / "x.jsgf")


def test_line_ends_and_a_mark_of_byte_order(tmp_path: Path) -> None:
    (tmp_path / "x.jsgf").write_bytes(
        ("\ufeff" + HEAD + "public <s> = a // b\n c;").replace("\n", "\r\n").encode()
    )
    assert read_jsgf(tmp_path / "x.jsgf").words == ("a", "c")
    with pytest.raises(GrammarError, match=r"none.jsgf: cannot be read \(No such file"):
        read_jsgf(tmp_path / "none.jsgf")


def _peak_mb(call: Callable[[], object]) -> float:
    """Return the memory that a call takes at most, in MB."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def _doubled(rule: str, n: int) -> str:
    rules = "".join(f"<r{i}> = {rule.format(f'<r{i + 1}>')};" for i in range(n))
    return f"{HEAD}public <s> = <r0>; {rules} <r{n}> = a;"


@pytest.mark.parametrize(
    "rule", ["{0} {0}", "{0} | {0}", "[{0}] {0}", "({0} {0})*", "(/2/ {0} | /1/ {0} b)+"]
)
def test_rules_that_double_are_counted_before_anything_is_made(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr("decoder.grammars.jsgf._Network.state", lambda self: made.append(0) or len(made))

    def refused() -> None:
        with pytest.raises(GrammarError, match="rules within rules make more than 200,000 states, expected"):
            parse_jsgf(_doubled(rule, 60), "g")

    assert _peak_mb(refused) < 1
    assert made == []


def test_the_states_that_are_counted_are_those_that_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    check = _Network._check
    monkeypatch.setattr(_Network, "_check", lambda self, n: (counted.append(n), check(self, n))[1])
    text = "public <s> = (<t> | /1/ a [<t>]) <t>* | b <u>+; <t> = a [b] (c | <u>) c; <u> = c | a <u>;"
    parse_jsgf(HEAD + text.replace("/1/ ", ""))
    before, *made = counted
    assert made == list(range(1, len(made) + 1))
    assert before == len(made) - 3  # the start, the end and where the rule begins


@pytest.mark.parametrize("words", ["(a | b)", "(a | b | c | d | e | f)"])
def test_what_can_be_read_in_many_ways_is_refused_while_it_grows(words: str) -> None:
    """After ``a`` there may be so many words more: any of two to the power of that sets of places."""
    grammar = parse_jsgf(f"{HEAD}public <s> = {words}* a {words * 40};")

    def refused() -> None:
        with pytest.raises(GrammarError, match="combinations of places a sentence can be at"):
            grammar.compile(grammar.words)

    assert _peak_mb(refused) < 120


@pytest.mark.parametrize(
    ("text", "most_per_word"),
    [("({})*", 8), ("[{}] x", None)],
)
def test_ways_without_a_word_are_gone_once_for_each_place(
    text: str, most_per_word: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of a loop all lead to one place; each of a row of optional words leads to its own."""
    steps: dict[int, int] = {}
    count = _Determinizer._count
    for n in (50, 100, 200):
        steps[n] = 0

        def counted(self: _Determinizer, *, places: int = 0, steps_: int = n, **more: int) -> None:
            steps[steps_] += more.get("steps", 0)
            count(self, places=places, **more)

        monkeypatch.setattr(_Determinizer, "_count", counted)
        inner = (" | " if "*" in text else "] [").join(f"w{i}" for i in range(n))
        grammar = parse_jsgf(f"{HEAD}public <s> = {text.format(inner)};")
        tables = grammar.compile(grammar.words)
        assert len(tables.arc_words) >= n
    if most_per_word is not None:
        assert all(found <= most_per_word * n + 20 for n, found in steps.items())
    else:  # as many as there are arcs in the end, half the square of the words
        assert all(found <= 4 * n * n for n, found in steps.items())


NAMES = [f"w{i}" for i in range(300)]
_WEIGHTED = [f"/{i + 1}/ {name}" for i, name in enumerate(NAMES)]
_RULES = [f"<r{i}>" for i in range(300)]
_OF_RULES = ";".join(f"<r{i}> = {name}" for i, name in enumerate(NAMES))


@pytest.mark.parametrize(
    ("text", "n_arcs", "shares"),
    [
        (" | ".join(NAMES), 1800, np.full(300, 1 / 300)),
        (" | ".join(_WEIGHTED), 1800, np.arange(1, 301) / 45150),
        (" | ".join(_RULES) + ";" + _OF_RULES, 1800, np.full(300, 1 / 300)),
    ],
    ids=["names", "weighted names", "names that are rules"],
)
def test_names_in_a_loop_of_some_that_may_be_left_out(text: str, n_arcs: int, shares: Reals) -> None:
    """The names all lead to the same places: what may follow them is found once."""
    grammar = parse_jsgf(f"{HEAD}public <s> = (<n> [<n>] [<n>] [<n>])+; <n> = {text};")
    tables = grammar.compile(grammar.words)
    assert len(tables.arc_words) == n_arcs
    for said in ([7], [7, 150], [299, 0, 7, 7]):  # three optional ones, said or not, and then no other time
        found = math.exp(tables.sentence_log_prob([NAMES[n] for n in said]))
        assert found == pytest.approx(0.5**4 * np.prod(shares[said]), rel=1e-6)


def test_a_row_of_names_that_may_be_left_out() -> None:
    grammar = parse_jsgf(f"{HEAD}public <s> = {'[<n>] ' * 12}; <n> = {' | '.join(NAMES[:200])};")
    tables = grammar.compile(grammar.words)
    for n in range(14):
        expected = 0.5**12 * 200.0**-n if n <= 12 else 0.0
        assert math.exp(tables.sentence_log_prob(["w7"] * n)) == pytest.approx(expected, rel=1e-6)


def test_steps_that_run_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoder.grammars.finite_state._MOST_STEPS", 1000)
    grammar = parse_jsgf(f"{HEAD}public <s> = {'[a] ' * 200} b;")
    with pytest.raises(GrammarError, match="more than 1,000 steps to find which words may follow which"):
        grammar.compile(grammar.words)


def test_comments_that_do_not_end_are_looked_for_once() -> None:
    with pytest.raises(GrammarError, match=r"^g:2: expected words and rules, got \"/\*\)/\*"):
        parse_jsgf("#JSGF V1.0;\n/*" + ")/*" * 300_000, "g")
