"""Parameters of the wrong kind: one clear error, whatever they hold."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from acoustic import discriminants
from acoustic.errors import ModelError

ESTIMATORS = [
    found
    for found in (getattr(discriminants, name) for name in discriminants.__all__)
    if issubclass(found, BaseEstimator)
]
KERNEL_ESTIMATORS = [estimator for estimator in ESTIMATORS if "kernel" in estimator().get_params()]
WRONG = {
    "sigma": [0.0, -1.0, np.nan, np.inf, None, "wide", (), (1.0, -1.0), ([1.0], [1.0, 2.0])],
    "max_centers": [0, -1, 2.5, np.nan, "many", True],
    "n_nodes": [0, 2.5, "many"],
    "n_candidates": [0, 2.5, "many"],
    "max_iter": [0, 2.5, np.nan, None],
    "patience": [0, 2.5, None],
    "block_size": [0, 2.5, None],
    "epsilon": [-1.0, np.nan, None, "small"],
    "ridge": [-1.0, np.nan, None, "small"],
    "nu": [0.0, -1.0, np.nan, None],
    "held_out": [-0.1, 1.0, np.nan, None, "some"],
}
WRONG_OF_KERNELS = {
    ("polynomial", "theta"): [np.nan, np.inf, None],
    ("polynomial", "degree"): [0, -1, 2.5, "cubic"],
    ("sigmoid", "theta"): [np.nan, "none"],
    ("compact", "radius"): [0.0, -1.0, np.nan, None],
}


def points():
    x = np.random.default_rng(0).normal(size=(30, 2))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_wrong_parameters_are_named_with_their_value(estimator):
    for name in WRONG.keys() & estimator().get_params().keys():
        for value in WRONG[name]:
            with pytest.raises(ValueError, match=f"^{name} is .*, expected ") as caught:
                estimator(**{name: value}).fit(*points())
            assert isinstance(caught.value, ModelError)


@pytest.mark.parametrize("estimator", KERNEL_ESTIMATORS)
def test_wrong_kernel_parameters_are_named_with_their_value(estimator):
    for (kernel, name), values in WRONG_OF_KERNELS.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} is .*, expected "):
                estimator(kernel=kernel, kernel_params={name: value}).fit(*points())


@pytest.mark.parametrize("estimator", KERNEL_ESTIMATORS)
@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("gaussian", {"degree": 2}, "kernel_params has 'degree', expected of the gaussian kernel none"),
        ("compact", {"theta": 2}, "kernel_params has 'theta', expected of the compact kernel only radius"),
        ("polynomial", {"order": 2}, "has 'order', expected of the polynomial kernel only theta and degree"),
        ("polynomial", 3, "kernel_params is 3, expected a dictionary or None"),
    ],
)
def test_kernel_parameters_are_those_of_the_kernel(estimator, kernel, params, message):
    with pytest.raises(ValueError, match=message):
        estimator(kernel=kernel, kernel_params=params).fit(*points())


def test_at_most_fourteen_arguments():
    kernel, ols = "kernel kernel_params sigma", "algorithm epsilon max_centers stopping tol"
    path = f"{kernel} {ols} block_size held_out random_state selection"
    sampled = "epsilon held_out max_centers random_state selection sigma stopping"
    ols = f"{kernel} {ols}"
    pairs, krls = f"{path} calibration multiclass", f"{kernel} max_centers nu"
    expected = {
        "HoKashyapClassifier": "eta max_iter tol",
        "KMSEClassifier": f"{kernel} epsilon n_candidates n_nodes random_state selection",
        "KRLSClassifier": krls,
        "KRLSRegressor": krls,
        "KernelFisherDiscriminant": f"{kernel} epsilon max_centers random_state",
        "LMSClassifier": "eta max_iter random_state schedule shuffle tol",
        "LOOForwardClassifier": (
            f"{kernel} fit_intercept max_centers n_candidates patience random_state ridge stopping"
        ),
        "LinearDiscriminant": "shrinkage tol",
        "MSEClassifier": "",
        "NPDClassifier": pairs,
        "NPDRegressor": path,
        "OLSClassifier": ols,
        "OLSRegressor": ols,
        "OROLSClassifier": pairs,
        "OROLSRegressor": path,
        "ResidualSampledClassifier": f"{sampled} calibration multiclass",
        "ResidualSampledRegressor": sampled,
    }
    found = {estimator.__name__: sorted(estimator().get_params()) for estimator in ESTIMATORS}
    assert found == {name: sorted(arguments.split()) for name, arguments in expected.items()}
    assert max(map(len, found.values())) == 14


@pytest.mark.parametrize("name", ["OROLSClassifier", "KRLSClassifier", "LOOForwardClassifier"])
def test_max_centers_is_a_number(name):
    with pytest.raises(ValueError, match="max_centers is None, expected a whole number of at least 1"):
        getattr(discriminants, name)(max_centers=None).fit(*points())
