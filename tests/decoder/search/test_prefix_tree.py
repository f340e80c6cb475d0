"""The tree by hand, and against the beginnings of random pronunciations."""

import numpy as np
import pytest

from decoder.search.tree_network import best_below, build_prefix_tree


def beginnings(tree):
    """Return the units on the way to each node."""
    found = [()] * len(tree.units)
    for node in range(len(tree.units)):
        if node < tree.n_roots:
            found[node] = (int(tree.units[node]),)
        for child in range(tree.child_first[node], tree.child_stop[node]):
            found[child] = (*found[node], int(tree.units[child]))
    return found


def test_tree_by_hand():
    tree = build_prefix_tree([[1, 2], [1], [3, 1, 2], [1, 2], [1, 2, 3]])
    assert tree.order.tolist() == [1, 0, 3, 4, 2]
    assert tree.n_roots == 2
    assert beginnings(tree) == [(1,), (3,), (1, 2), (3, 1), (1, 2, 3), (3, 1, 2)]
    assert tree.leaf_first.tolist() == [0, 4, 1, 4, 3, 4]
    assert tree.own_stop.tolist() == [1, 4, 3, 4, 4, 5]
    assert tree.leaf_stop.tolist() == [4, 5, 4, 5, 4, 5]
    assert best_below(tree, np.arange(5.0)).tolist() == [3, 4, 3, 4, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_each_beginning_is_one_node_over_the_leaves_that_begin_so(seed):
    rng = np.random.default_rng(seed)
    words = [tuple(rng.integers(0, 3, size=rng.integers(1, 6)).tolist()) for _ in range(40)]
    tree, values = build_prefix_tree(words), rng.normal(size=40)
    leaves = [words[i] for i in tree.order]
    found = beginnings(tree)
    assert sorted(found) == sorted({word[:n] for word in words for n in range(1, len(word) + 1)})
    best = best_below(tree, values)
    for node, beginning in enumerate(found):
        below = [k for k, leaf in enumerate(leaves) if leaf[: len(beginning)] == beginning]
        assert below == list(range(tree.leaf_first[node], tree.leaf_stop[node]))
        own = [k for k in below if leaves[k] == beginning]
        assert own == list(range(tree.leaf_first[node], tree.own_stop[node]))
        assert best[node] == values[below].max()
