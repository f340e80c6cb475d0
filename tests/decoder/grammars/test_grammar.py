"""The tables every grammar is compiled to."""

from pathlib import Path

import numpy as np
import pytest

from decoder import GrammarError, WordLoop
from decoder.grammars.grammar import grammar_lines, grammar_text, pack_tables


@pytest.fixture
def tables():
    """Return two words: after A only B is listed, whatever else is looked for in the context of no words."""
    return pack_tables(
        ["A", "B"],
        [
            [
                (1, -0.5, 0),
                (0, -0.7, 1),
            ],
            [(1, -3.0, 0), (0, -np.inf, 1)],
        ],
        [-1.0, -np.inf],
        0,
        backoffs=[(-1, 0.0), (0, -0.2)],
        dropped_words=["Z", "C"],
    )


def test_arcs_are_sorted_and_impossible_ones_left_out(tables):
    assert tables.n_contexts == 2
    assert tables.arc_offsets.tolist() == [0, 2, 3]
    assert tables.arc_words.tolist() == [0, 1, 1]
    assert tables.arc_log_probs.tolist() == [-0.7, -0.5, -3.0]
    assert tables.arc_contexts.tolist() == [1, 0, 0]
    assert tables.dropped_words == ("C", "Z")


def test_a_word_is_looked_for_in_the_backoff_context_only_where_it_is_not_listed(tables):
    assert tables.follow(1, 1) == (-3.0, 0)
    assert tables.follow(1, 0) == (-0.2 - 0.7, 1)
    assert tables.follow(0, 5) is None


def test_sentences_sum_over_words_and_end(tables):
    np.testing.assert_allclose(tables.sentence_log_prob(["A", "A", "B"]), -0.7 - 0.9 - 3.0 - 1.0, rtol=1e-12)
    assert tables.sentence_log_prob(["A"]) == -np.inf
    assert tables.sentence_log_prob(["A", "C"]) == -np.inf


def test_an_impossible_backoff_is_no_backoff():
    tables = pack_tables(["A"], [[(0, -1.0, 0)], []], [0.0, 0.0], 1, backoffs=[(-1, 0.0), (0, -np.inf)])
    assert (tables.backoff_contexts.tolist(), tables.backoff_log_weights.tolist()) == ([-1, -1], [0.0, 0.0])
    assert tables.follow(1, 0) is None


# Every word after every word


def test_loop_is_uniform_and_ends_freely():
    tables = WordLoop(["B", "A", "B", "C"]).compile({"A", "B", "C"})
    assert tables.words == ("A", "B", "C")
    np.testing.assert_allclose(tables.sentence_log_prob(["A", "C"]), -2 * np.log(3), rtol=1e-15, atol=0)
    assert tables.sentence_log_prob([]) == 0.0
    assert tables.sentence_log_prob(["D"]) == -np.inf


def test_an_empty_loop_is_refused():
    with pytest.raises(GrammarError, match="expected at least one word, got none"):
        WordLoop([])


# The text of grammars' files; their errors are tested with each kind of grammar


def test_line_ends_marks_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("\ufeffone\r\n\r\n # two\rthree \n".encode())
    assert grammar_text(path) == "one\n\n # two\nthree \n"
    assert list(grammar_lines(path)) == [(1, "one"), (4, "three")]
