"""Keywords and fillers after each other, at the cost of fillers."""

import pytest

from decoder import GrammarError, Lexicon
from decoder.fillers import KeywordLoop
from decoder.testing import check_grammar


def test_it_is_a_grammar():
    lexicon = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")], "~0": [("a",)], "~1": [("b",)]})
    check_grammar(KeywordLoop(["AB", "BA"], ["~0", "~1"], 5.0), lexicon)


def test_what_it_gives():
    tables = KeywordLoop(["B", "A"], ["~0"], 5.0).compile({"A", "B", "~0"})
    assert tables.words == ("A", "B", "~0")
    assert tables.sentence_log_prob(["~0", "A", "B", "~0"]) == -10.0
    assert tables.sentence_log_prob([]) == 0.0


def test_none_and_both():
    with pytest.raises(GrammarError, match="expected at least one keyword, got none"):
        KeywordLoop([], ["~0"], 5.0)
    with pytest.raises(GrammarError, match='"A" is both a keyword and a filler'):
        KeywordLoop(["A"], ["A"], 5.0)
    with pytest.raises(GrammarError, match="expected fillers that cost 0 or more, got -1"):
        KeywordLoop(["A"], ["~0"], -1.0)
