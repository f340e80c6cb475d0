"""HTK's word networks: read, written, read again."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from decoder.errors import GrammarError
from decoder.grammars.finite_state import FiniteStateGrammar, WordArc, format_slf, read_slf, write_slf
from decoder.grammars.jsgf import parse_jsgf
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar

# As HParse writes them, with weights added: (one | two) {three}, base 10.
NETWORK = """# comment
VERSION=1.0 base=10
N=6    L=7
I=0  W=!NULL
I=1  W=one    v=2 t=0.10
I=2  W="t\\"w\\157"
I=3  W=!NULL
I=4  W=three
I=5  W=!NULL
J=0  S=0 E=1 l=-1 a=-3.5
J=1  S=0 E=2 l=-2.0
J=2  S=1 E=3
J=3  S=2 E=3 n=1.0
J=4  S=3 E=4 l=-0.5
J=5  S=4 E=3
J=6  S=3 E=5 l=-0.25
"""


def read(tmp_path: Path, text: str | bytes) -> FiniteStateGrammar:
    (tmp_path / "x.slf").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_slf(tmp_path / "x.slf")


@pytest.mark.parametrize("change", [None, ("\n", "\r\n"), ("VERSION", "\ufeffVERSION"), ("S=", "START=")])
def test_sentences_and_weights(tmp_path: Path, change: tuple[str, str] | None) -> None:
    text = NETWORK if change is None else NETWORK.replace("# comment\n", "").replace(*change)
    tables = read(tmp_path, text).compile(())
    assert tables.words == ("one", 't"wo', "three") or tables.words == tuple(sorted(("one", 't"wo', "three")))
    weights = {
        ("one",): -1.25,
        ('t"wo',): -2.25,
        ("one", "three", "three"): -2.25,
        ("three",): -np.inf,
        (): -np.inf,
    }
    for sentence, log10 in weights.items():
        assert tables.sentence_log_prob(sentence) == pytest.approx(log10 * math.log(10), abs=1e-12)


def test_words_on_arcs_probabilities_and_named_ends(tmp_path: Path) -> None:
    text = "base=0 start=1 end=0\nN=2 L=3\nI=0\nI=1\nJ=0 S=1 E=0 W=a l=0.5\nJ=1 S=1 E=1 W=b l=0.25\n"
    tables = read(tmp_path, text + "J=2 S=0 E=1 l=0\n").compile(())
    assert math.exp(tables.sentence_log_prob(["b", "b", "a"])) == pytest.approx(0.5 / 16)
    assert tables.sentence_log_prob(["a", "a"]) == -np.inf


SENTENCES = [s for n in range(5) for s in itertools.product("abc", repeat=n)]


@pytest.mark.parametrize(
    "grammar",
    [
        parse_jsgf("#JSGF V1.0; public <s> = (/3/ a | /1/ b c)+ [a] c*;"),
        WordPairGrammar.from_sentences([("a", "b"), ("b", "b", "c"), ("c",)]),
        FiniteStateGrammar([WordArc(0, "a", 0.0, 0), WordArc(0, "b", -1 / 3, 1)], 0, {1: -0.1, 0: -2.0}),
    ],
)
def test_what_is_written_is_read_as_the_same(grammar: FiniteStateGrammar, tmp_path: Path) -> None:
    tables = grammar.compile(("a", "b", "c"))
    write_slf(tmp_path / "x.slf", tables)
    again = read_slf(tmp_path / "x.slf").compile(())
    for sentence in SENTENCES:
        expected = tables.sentence_log_prob(sentence)
        assert again.sentence_log_prob(sentence) == pytest.approx(expected, abs=1e-12), sentence
    text = format_slf(tables)
    assert text == format_slf(tables)


def test_backoff_is_an_arc_that_says_nothing(tmp_path: Path) -> None:
    model = NGram.estimate([tuple("ab"), tuple("abc"), tuple("ca")], 2)
    tables = model.compile(("a", "b", "c"))
    write_slf(tmp_path / "x.slf", tables)
    again = read_slf(tmp_path / "x.slf").compile(())
    for sentence in SENTENCES:
        # Interpolated models list what is more probable than backed off.
        expected = tables.sentence_log_prob(sentence)
        assert again.sentence_log_prob(sentence) == pytest.approx(expected, abs=1e-9), sentence


def test_ends_of_sentences(tmp_path: Path) -> None:
    tables = parse_jsgf("#JSGF V1.0; public <s> = a;").compile(())
    assert read(tmp_path, format_slf(tables, ("<s>", "</s>"))).compile(()).sentence_log_prob(
        ["<s>", "a", "</s>"]
    ) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L=7", "L=8", r"x.slf: L=8 in its header, expected 7, as many as there are; the file is cut off"),
        ("N=6    L=7", "N=2000000000 L=2000000000", r"N=2000000000 in its header, expected 6"),
        ("J=6  S=3 E=5 l=-0.25\n", "", r"L=7 in its header, expected 6"),
        ("E=4", "E=9", r"x.slf: an arc at node 9, which is not there"),
        ("S=3 E=4", "S=3", r"x.slf:14: an arc without S= or E="),
        ("S=3 E=4", "S=x E=4", r'x.slf:14: expected the number of a node or arc, got "x"'),
        ("l=-0.5", "l=nan", r"x.slf:14: expected a log weight .* got l=nan, base=10"),
        ("l=-0.5", "l=inf", r"x.slf:14: expected a log weight"),
        ("l=-0.5", "l=x", r"x.slf:14: expected a log weight"),
        ("base=10", "base=-3", r"x.slf:10: expected a log weight to a base above 1 .* base=-3"),
        ("W=three", "L=other", r"x.slf:8: a lattice within the lattice"),
        ("VERSION=1.0", "SUBLAT=x", r"x.slf:2: a lattice within the lattice"),
        ("I=4", "I=3", r"x.slf:8: node 3 again"),
        ("J=6  S=3 E=5", "J=6  S=3 E=3", r"x.slf: 2 nodes that may be its start"),
        ("J=6  S=3 E=5", "J=6  S=5 E=5", r"no way from its start|nodes that may be its"),
        ("VERSION=1.0", "VERSION=1.0 start=77", r"x.slf: 1 nodes that may be its start"),
        ("W=three", "W=three and more", r'x.slf:8: expected fields NAME=VALUE of a lattice, got "and more"'),
        ("E=1 l=-1", "E=1 l=", r"."),
    ],
)
def test_errors_are_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in NETWORK
    if message == ".":
        assert read(tmp_path, NETWORK.replace(old, new)).words
        return
    with pytest.raises(GrammarError, match=message) as caught:
        read(tmp_path, NETWORK.replace(old, new))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (NETWORK.encode("utf-16"), r"x.slf:1: not UTF-8"),
        (b"", r"x.slf: N= in its header, expected 0"),
        (b"\x00\x01", r"x.slf: zero bytes"),
        (b"#JSGF V1.0;\ngrammar x;", r"x.slf:2: expected fields NAME=VALUE"),
    ],
)
def test_other_files(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(GrammarError, match=message):
        read(tmp_path, content)
