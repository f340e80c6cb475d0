"""The greedy loop with a scorer whose choices are written down beforehand."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.kernels.selection import OrthogonalBasis, select_greedily


class Scripted:
    """Proposes blocks of points one after the other, and keeps a diary."""

    def __init__(self, matrix, blocks, n_enough=10**9):
        self.matrix, self.blocks, self.n_enough = matrix, list(blocks), n_enough
        self.accounts = []

    def choose(self):
        return np.array(self.blocks.pop(0) if self.blocks else [], dtype=np.int64)

    def columns(self, points):
        return self.matrix[:, points]

    def account(self, points, added):
        self.accounts.append((points.tolist(), added.tolist()))

    def is_done(self):
        return sum(sum(added) for _, added in self.accounts) >= self.n_enough


@pytest.fixture
def matrix():
    """Six columns, of which the last is the sum of the first two."""
    found = np.random.default_rng(0).normal(size=(9, 6))
    found[:, 5] = found[:, 0] + found[:, 1]
    return found


def run(scorer, n_most, n_rows=9):
    basis = OrthogonalBasis(n_rows, n_most, np.dtype(np.float64))
    return select_greedily(scorer, basis, n_most), basis


def test_basis_spans_the_selected_columns_in_their_order(matrix):
    selected, basis = run(Scripted(matrix, [[3], [0, 2], [4]]), 9)
    assert_array_equal(selected, [3, 0, 2, 4])
    np.testing.assert_allclose(basis.q @ basis.u, matrix[:, [3, 0, 2, 4]], rtol=0, atol=1e-12)


def test_what_lies_in_the_span_is_left_out_and_the_scorer_is_told(matrix):
    scorer = Scripted(matrix, [[0, 1], [5], [2]])
    selected, basis = run(scorer, 9)
    assert_array_equal(selected, [0, 1, 2])
    assert scorer.accounts == [([0, 1], [True, True]), ([5], [False]), ([2], [True])]
    assert basis.size == 3


def test_a_block_is_cut_to_the_room_there_is(matrix):
    scorer = Scripted(matrix, [[0, 1], [2, 3, 4]])
    selected, _ = run(scorer, 3)
    assert_array_equal(selected, [0, 1, 2])
    assert scorer.accounts[-1] == ([2], [True])


def test_stops_when_the_scorer_is_content_and_asks_it_first(matrix):
    assert_array_equal(run(Scripted(matrix, [[0], [1], [2]], n_enough=2), 9)[0], [0, 1])
    scorer = Scripted(matrix, [[0]], n_enough=0)
    assert_array_equal(run(scorer, 9)[0], [])
    assert len(scorer.blocks) == 1  # was not even asked to choose


def test_no_choice_ends_it(matrix):
    assert_array_equal(run(Scripted(matrix, [[0], [], [2]]), 9)[0], [0])
