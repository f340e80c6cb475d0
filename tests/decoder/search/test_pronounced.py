"""Only what the grammar allows is looked up, each variant once; what is missing is named."""

import pytest

from acoustic.hmm.topology import Topology
from decoder import GrammarError, Lexicon, LexiconError, WordLoop
from decoder.grammars.grammar import pack_tables
from decoder.search.network import pronounced_words

TOPOLOGY = Topology.monophones("ab")


def test_variants_are_those_of_the_grammars_words():
    lexicon = Lexicon({"A": [("a",), ("a", "b")], "B": [("b",)], "C": [("a",)]})
    tables = WordLoop(["A", "C"]).compile(set(lexicon.words))
    assert pronounced_words(lexicon, tables, TOPOLOGY) == {0: (("a",), ("a", "b")), 1: (("a",),)}


def test_what_is_missing_is_named():
    lexicon = Lexicon({"A": [("a",)], "B": [("b", "x")]})
    with pytest.raises(LexiconError, match=r"got none for 1: C; add them"):
        pronounced_words(lexicon, WordLoop(["A", "C"]).compile(set()), TOPOLOGY)
    with pytest.raises(LexiconError, match=r"got 1 others: x \(in B\)"):
        pronounced_words(lexicon, WordLoop(["A", "B"]).compile(set()), TOPOLOGY)
    with pytest.raises(GrammarError, match="expected at least one word with a pronunciation"):
        pronounced_words(lexicon, pack_tables([], [[]], [0.0], 0), TOPOLOGY)
