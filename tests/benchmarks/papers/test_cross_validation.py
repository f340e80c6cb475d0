"""Cross-validation of several hyper-parameters against a loop over estimators."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from benchmarks.papers.cross_validation import Method, choose, grid_errors
from benchmarks.papers.methods import fisher, npd, ols, orols, svm
from benchmarks.papers.width_search import Search, median_distance

WIDTHS = (1.0, 0.5, 0.2)
METHODS = {
    "npd": npd((5.0, 12.0, 30.0)),
    "orols": orols((5.0, 12.0, 30.0)),
    "ols": ols((5.0, 12.0, 30.0)),
    "fisher": fisher(),
    "svm": svm(),
}


def noisy_classes(seed: int, n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the plane in sectors about the middle, a tenth of them with a random label."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 2))
    y = np.floor((np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) / 2 * n_classes).astype(int)
    noisy = rng.random(n) < 0.1
    y[noisy] = rng.integers(n_classes, size=noisy.sum())
    return x, y


def looped_errors(method: Method, x: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    """Return the errors (E, S) of one width, by fitting an estimator for each combination and fold."""
    errors = np.zeros((len(method.constants), len(method.shares)))
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(x, y))
    for train, held_out in folds:
        for e, constant in enumerate(method.constants):
            for s, share in enumerate(method.shares):
                model = method.make(sigma, constant, max(1, round(share * len(train) / 100)))
                predicted = model.fit(x[train], y[train]).predict(x[held_out])
                errors[e, s] += np.mean(predicted != y[held_out]) / len(folds)
    return errors


# The estimator of OLS shares its centres among the classes, and no table needs more than two.
@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, n) for name in METHODS for n in (2, 3) if (name, n) != ("ols", 3)]
)
def test_the_choice_is_the_least_error_of_a_loop(name: str, n_classes: int) -> None:
    method = replace(METHODS[name], widths=WIDTHS, constants=METHODS[name].constants[1::2] or (0.0,))
    if n_classes > 2 and name in ("npd", "orols"):
        one_vs_rest = {"npd": npd, "orols": orols}[name](method.shares, multiclass="ovr")
        method = replace(method, make=one_vs_rest.make)
    sets = [noisy_classes(seed, 60, n_classes) for seed in (1, 2)]
    looped = np.array(
        [[looped_errors(method, x, y, width * median_distance(x, 0)) for width in WIDTHS] for x, y in sets]
    )
    for (x, y), expected in zip(sets, looped, strict=True):
        np.testing.assert_allclose(grid_errors(method, x, y, Search()), expected, rtol=0, atol=1e-12)
    mean = looped.mean(axis=0)
    best = np.unravel_index(np.argmin(np.round(mean, 12)), mean.shape)
    choice = choose(method, sets, Search())
    chosen = (choice.width, choice.constant, choice.share)
    assert chosen == (WIDTHS[best[0]], method.constants[best[1]], method.shares[best[2]])
    assert choice.error == pytest.approx(mean.min(), abs=1e-12)
    unit = np.median([median_distance(x, 0) for x, _ in sets])
    assert choice.sigma == pytest.approx(choice.width * unit, rel=1e-12)


def test_the_model_has_the_chosen_share_of_all_training_points() -> None:
    x, y = noisy_classes(3, 80, 2)
    method = replace(npd((10.0,)), widths=(0.5,), constants=(0.1,))
    choice = choose(method, [(x, y)], Search())
    model = choice.model(method, 80)
    assert (model.max_centers, model.epsilon, model.sigma) == (8, 0.1, choice.sigma)


def test_sizes_grow_with_the_points_up_to_the_most() -> None:
    method = npd((1.0, 10.0, 50.0))
    np.testing.assert_array_equal(method.sizes(200), [2, 20, 100])
    np.testing.assert_array_equal(method.sizes(30), [1, 3, 15])
    np.testing.assert_array_equal(method.sizes(2000), [20, 200, 300])


def test_same_errors_with_two_processes() -> None:
    x, y = noisy_classes(4, 50, 2)
    method = replace(npd((10.0, 20.0)), widths=(1.0, 0.5))
    one, two = (grid_errors(method, x, y, Search(n_jobs)) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
