"""The search along one axis after the other."""

import itertools

import numpy as np
import pytest

from foundation.coordinate_search import coordinate_search, middle_of_best, widened


class TestCoordinateSearch:
    def test_finds_the_least_of_a_sum(self) -> None:
        """Where the axes do not interact, the coordinates are found one by one: as all combinations say."""
        rng = np.random.default_rng(0)
        for _ in range(20):
            tables = rng.permutation(20).reshape(4, 5)
            axes = {f"w{i}": tuple(float(v) for v in range(5)) for i in range(4)}

            def cost(weights: dict[str, float], tables: np.ndarray = tables) -> int:
                return int(sum(tables[i, int(weights[f"w{i}"])] for i in range(4)))

            found = coordinate_search(cost, axes, dict.fromkeys(axes, 0.0), 3)
            combinations = (dict(zip(axes, v, strict=True)) for v in itertools.product(*axes.values()))
            assert found.errors == min(map(cost, combinations)) == cost(found.weights)

    def test_nothing_is_tried_twice_and_all_trials_are_told(self) -> None:
        seen: list[tuple[float, ...]] = []

        def cost(weights: dict[str, float]) -> int:
            seen.append(tuple(weights.values()))
            return int(abs(weights["a"] - weights["b"]))

        found = coordinate_search(cost, {"a": (0.0, 1.0, 2.0), "b": (0.0, 2.0)}, {"a": 5.0, "b": 2.0}, 9)
        assert len(seen) == len(set(seen)) == len(found.trials)
        assert found.errors == 0

    def test_rounds_are_limited(self) -> None:
        found = coordinate_search(lambda w: int(w["a"]), {"a": (3.0, 2.0)}, {"a": 7.0}, 1)
        assert (found.weights, found.errors) == ({"a": 2.0}, 2)

    def test_grows_only_where_the_best_is_the_outermost(self) -> None:
        """As a search over the whole list finds it, with costs that have one valley."""
        rng = np.random.default_rng(1)
        wide = tuple(float(v) for v in range(-6, 7))
        for valley in wide:
            heights = dict(zip(wide, np.abs(np.array(wide) - valley) ** rng.uniform(0.5, 2.0), strict=True))
            tried: list[float] = []

            def cost(weights: dict[str, float], heights: dict[float, float] = heights) -> float:
                tried.append(weights["a"])  # noqa: B023 (it is asked before the next round)
                return heights[weights["a"]]

            found = coordinate_search(cost, {"a": (-1.0, 0.0, 1.0)}, {"a": 0.0}, 5, {"a": wide})
            assert found.weights == {"a": valley}
            furthest = min(abs(valley) + 1.0, 6.0)
            inner = {-1.0, 0.0, 1.0} | {v for v in wide if 0 <= v * np.sign(valley) <= furthest}
            assert set(tried) == (inner if abs(valley) >= 1 else {-1.0, 0.0, 1.0})

    def test_what_was_grown_stays_in_the_later_rounds(self) -> None:
        axes = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
        wider = dict.fromkeys(axes, (0.0, 1.0, 2.0, 3.0))
        found = coordinate_search(
            lambda w: 2 * abs(w["a"] - 2) + abs(w["b"] - w["a"]), axes, dict.fromkeys(axes, 0.0), 9, wider
        )
        assert (found.weights, found.errors) == ({"a": 2.0, "b": 2.0}, 0)

    def test_is_never_worse_than_its_start(self) -> None:
        """A start beyond the listed values is reached from them, even across a hill."""
        costs = {-5: 9, 0: 9, 5: 9, 10: 6, 15: 7, 20: 5, 25: 1}
        axes = {"a": (5, 10, 15)}
        for start in costs:
            found = coordinate_search(lambda w: costs[int(w["a"])], axes, {"a": start}, 3, {"a": list(costs)})
            assert found.errors == (1 if start >= 20 else 6)
            assert found.weights == {"a": 25 if start >= 20 else 10}


@pytest.mark.parametrize(
    ("values", "wide"),
    [
        ((4.0,), [4.0]),
        ((1.0, 2.0), [0.0, 1.0, 2.0, 3.0]),
        ((0.0, -8.0, -16.0, -40.0), [32.0, 24.0, 16.0, 8.0, 0.0, -8.0, -16.0, -40.0, -64.0]),
        ((0.1, 0.2, 0.3), [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ((0.7, 0.8, 0.9, 1.0), [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3]),
        ((0.0, 1e-300, 1.0), [-3e-300, -2e-300, -1e-300, 0.0, 1e-300, 1.0, 2.0]),
    ],
)
def test_widened(values: tuple[float, ...], wide: list[float]) -> None:
    np.testing.assert_allclose(widened(values), wide, rtol=1e-12, atol=0)
    assert "99999" not in repr(widened(values))


@pytest.mark.parametrize(
    ("costs", "index"), [([1], 0), ([2, 1, 1], 1), ([1, 1, 1, 2], 1), ([1, 2, 1, 1, 1], 3), ([1, 2, 1], 0)]
)
def test_middle_of_best(costs: list[int], index: int) -> None:
    assert middle_of_best(costs) == index
