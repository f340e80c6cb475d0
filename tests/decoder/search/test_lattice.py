"""The lattice holds what is within the beam, and its best path is that of the search."""

import numpy as np

from decoder.search.lattice import best_remaining, edge_slacks


def test_every_edge_lies_on_a_path_within_the_beam(task, lattice_of):
    for beam in (0.0, 10.0, 80.0):
        result, lattice = lattice_of(task.scores[2], beam)
        remaining = best_remaining(lattice)
        slacks = edge_slacks(lattice, remaining)
        np.testing.assert_allclose(remaining[lattice.start], result.log_score, rtol=1e-12, atol=1e-8)
        assert slacks.max() <= beam + 1e-6
        assert np.count_nonzero(slacks < 1e-8) >= 1


def test_remaining_scores_and_slacks_by_hand(by_hand):
    remaining = best_remaining(by_hand)
    np.testing.assert_allclose(remaining, [-3.0, -2.0, -2.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(edge_slacks(by_hand, remaining), [0, 1, 4.5, 0, 0.5, 3, 0.5], rtol=1e-12)


def test_edges_are_in_order_and_join_at_boundaries(task, lattice_of):
    _, lattice = lattice_of(task.scores[1], 60.0)
    assert np.all(np.diff(lattice.sources) >= 0)
    starts, ends = lattice.boundaries[lattice.sources], lattice.boundaries[lattice.targets]
    assert np.all(starts < ends)
    assert (lattice.boundaries[lattice.start], ends.max()) == (0, len(task.scores[1]))


def test_a_wider_lattice_has_the_edges_of_a_narrower_one(task, lattice_of):
    def edges(beam):
        _, lattice = lattice_of(task.scores[1], beam)
        spans = lattice.boundaries[lattice.sources], lattice.boundaries[lattice.targets]
        return set(zip(*(part.tolist() for part in (*spans, lattice.words)), strict=True))

    narrow, wide = edges(20.0), edges(80.0)
    assert narrow < wide
