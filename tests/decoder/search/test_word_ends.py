"""The outcome of a search by hand: which end is the best, and the path to it."""

import numpy as np
import pytest

from decoder.search.word_ends import (
    ArcTable,
    Seams,
    WordEnds,
    best_result,
    final_log_probs_at,
    final_scores,
    first_nodes,
    trace,
)


@pytest.fixture
def records():
    """Return the start, a word (context 1) at 3, another (context 0) at 3, and a third after it at 8."""
    return WordEnds(
        words=np.array([-1, 4, 7, 2]),
        labels=np.array([-1, 4, 7, 2]),
        destinations=np.array([-1, 4, 7, 2]),
        contexts=np.array([0, 1, 0, 1]),
        seams=np.array([0, 0, 0, 1]),
        ends=np.array([0, 3, 3, 8]),
        predecessors=np.array([-1, 0, 0, 1]),
        scores=np.array([0.0, -1.0, -2.0, -3.0]),
    )


def test_trace_gives_the_records_of_a_path_in_order_of_time(records):
    assert trace(records, 3) == [1, 3]
    assert trace(records, 2) == [2]
    assert trace(records, 0) == []


def test_the_sentence_ends_in_the_best_context_that_allows_it(records):
    found = best_result(records, 3, True, 0, np.array([-0.5, -np.inf, -0.5, -np.inf]))
    assert (found.best, found.complete, found.log_score) == (2, True, -2.5)
    found = best_result(records, 3, True, 0, np.array([-0.5, -0.2, -0.5, -0.2]))
    assert (found.best, found.complete, found.log_score) == (1, True, -1.2)


def test_without_a_complete_path_the_best_partial_one_is_taken(records):
    nowhere = np.full(4, -np.inf)
    assert best_result(records, 3, True, 0, nowhere)[1:] == (
        1,
        False,
        -1.0,
    )  # ends a word at the last boundary
    assert best_result(records, 3, False, 0, np.zeros(4))[1:] == (1, False, -1.0)  # frames are left
    assert best_result(records, 5, False, 2, np.zeros(4))[1:] == (
        2,
        False,
        -2.0,
    )  # the words of the best token


def test_final_scores_are_scaled_and_nothing_becomes_possible():
    log_probs = np.array([-0.5, -np.inf, 0.0])
    np.testing.assert_array_equal(final_scores(log_probs, 1.5), [-0.75, -np.inf, 0.0])
    np.testing.assert_array_equal(final_scores(log_probs, 0.0), [0.0, -np.inf, 0.0])


def test_which_node_a_word_begins_with_depends_on_the_seam():
    # Behind seam 0 the words with nodes 2, 3 or 4, 5 begin with 2 or 5, behind seam 1 the former with 3.
    seams = Seams(
        offsets=np.array([0, 2, 3], dtype=np.int32),
        nodes=np.array([2, 5, 3], dtype=np.int32),
        pauses=np.array([True, False]),
        label_first=np.array([0, 2, 4], dtype=np.int32),
        label_stop=np.array([2, 4, 6], dtype=np.int32),
    )
    behind, labels = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    assert first_nodes(seams, behind, labels).tolist() == [-1, 2, 5, -1, 3, -1]
    assert first_nodes(None, behind, labels).tolist() == [-1] * 6
    nothing = np.zeros(0)
    table = ArcTable(*(nothing,) * 7, np.array([-0.5, -np.inf]), seams)
    found = final_log_probs_at(table, np.array([0, 1, 0]), np.array([0, 0, 1]))
    assert found.tolist() == [-0.5, -np.inf, -np.inf]
    assert final_log_probs_at(table._replace(seams=None), np.array([0, 1]), np.zeros(2)).tolist() == [
        -0.5,
        -np.inf,
    ]
