"""Parameters of the wrong kind: one clear error, whatever they hold."""

import numpy as np
import pytest

from acoustic import discriminants
from acoustic.errors import ModelError

ESTIMATORS = [getattr(discriminants, name) for name in discriminants.__all__ if name != "GaussianProjection"]
WRONG = {
    "sigma": [0.0, -1.0, np.nan, np.inf, None, "scale", (), (1.0, -1.0), ([1.0], [1.0, 2.0])],
    "max_centers": [0, -1, 2.5, np.nan, "many", True],
    "n_nodes": [0, 2.5, "many"],
    "n_candidates": [0, 2.5, "many"],
    "max_iter": [0, 2.5, np.nan, None],
    "patience": [0, 2.5, None],
    "block_size": [0, 2.5, None],
    "epsilon": [-1.0, np.nan, None, "small"],
    "ridge": [-1.0, np.nan, None, "small"],
    "theta": [np.nan, np.inf, None],
    "degree": [0, -1, 2.5, "cubic"],
    "radius": [0.0, -1.0, np.nan, None],
    "nu": [0.0, -1.0, np.nan, None],
}


def points():
    x = np.random.default_rng(0).normal(size=(30, 2))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_parameters_are_named_with_their_value(estimator):
    for name in WRONG.keys() & estimator().get_params().keys():
        for value in WRONG[name]:
            with pytest.raises(ModelError, match=f"^{name} is .*, expected "):
                estimator(**{name: value}).fit(*points())


@pytest.mark.parametrize("name", ["OROLSClassifier", "KRLSClassifier", "LOOForwardClassifier"])
def test_max_centers_is_a_number(name):
    with pytest.raises(ModelError, match="max_centers is None, expected a whole number of at least 1"):
        getattr(discriminants, name)(max_centers=None).fit(*points())
