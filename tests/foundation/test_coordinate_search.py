"""The search along one axis after the other."""

import itertools

import numpy as np
import pytest

from foundation.coordinate_search import coordinate_search, middle_of_best


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


@pytest.mark.parametrize(
    ("costs", "index"), [([1], 0), ([2, 1, 1], 1), ([1, 1, 1, 2], 1), ([1, 2, 1, 1, 1], 3), ([1, 2, 1], 0)]
)
def test_middle_of_best(costs: list[int], index: int) -> None:
    assert middle_of_best(costs) == index
