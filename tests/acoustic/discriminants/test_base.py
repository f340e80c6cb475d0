"""What all classifiers share, by one whose outputs are given."""

import inspect
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import BaseEstimator

from acoustic import discriminants
from acoustic.discriminants.base import (
    DiscriminantClassifier,
    checked_weight,
    class_targets,
    predicted_codes,
    warn_without_effect,
)


class Columns(DiscriminantClassifier):
    """Its outputs are the columns of X."""

    def _fit_outputs(self, X, targets, sample_weight):
        self.seen = X, targets, sample_weight
        return self._outputs(X)

    def _outputs(self, X):
        return np.asarray(X, dtype=float)


def labelled(n_classes, n=300, seed=0):
    """Return one column of outputs, or one a class, in favour of the classes; and labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    x = class_targets(codes, n_classes) + rng.normal(size=(n, 1 if n_classes == 2 else n_classes))
    return x, np.array(["ah", "eh", "oh"])[codes], codes


def test_targets_are_plus_one_for_the_class():
    assert_array_equal(class_targets(np.array([0, 1, 1]), 2), [[-1], [1], [1]])
    assert_array_equal(class_targets(np.array([0, 2]), 3), [[1, -1, -1], [-1, -1, 1]])


def test_codes_are_the_sign_or_the_largest():
    assert_array_equal(predicted_codes(np.array([[-1.0], [0.0], [2.0]])), [0, 0, 1])
    assert_array_equal(predicted_codes(np.array([[-1.0, 0.0, -3.0], [1.0, 0.0, 3.0]])), [1, 2])
    assert_array_equal(predicted_codes(np.zeros((2, 4, 3))), np.zeros((2, 4)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_and_outputs(n_classes):
    x, y, _ = labelled(n_classes)
    model = Columns().fit(x, y)
    expected = (x[:, 0] > 0).astype(int) if n_classes == 2 else x.argmax(axis=1)
    assert_array_equal(model.predict(x), model.classes_[expected])
    assert_array_equal(model.decision_function(x), x[:, 0] if n_classes == 2 else x)


def test_probabilities_of_three_classes_are_normalised_posteriors_by_bayes_rule():
    x, y, codes = labelled(3)
    found = Columns().fit(x, y).predict_proba(x)
    posteriors = np.empty((300, 3))
    for c in range(3):
        q, inside = x[:, c], codes == c
        joint = [m.mean() * norm.pdf(q, q[m].mean(), q[m].std()) for m in (inside, ~inside)]
        posteriors[:, c] = joint[0] / (joint[0] + joint[1])
    agree = posteriors.argmax(axis=1) == x.argmax(axis=1)
    # Where the variances differ, the odds are held beyond the vertex: compare what lies in between.
    inner = agree & (np.abs(x) < 1.5).all(axis=1)
    assert inner.sum() > 50
    expected = posteriors / posteriors.sum(axis=1, keepdims=True)
    assert_allclose(found[inner], expected[inner], rtol=1e-9, atol=1e-12)
    assert_array_equal(found.argmax(axis=1), x.argmax(axis=1))


def test_points_without_weight_are_not_there():
    x, y, _ = labelled(2, 6)
    weight = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0])
    y[:] = ["ah", "eh", "eh", "ah", "ah", "eh"]
    model = Columns().fit(x, y, weight)
    kept = weight > 0
    for found, expected in zip(model.seen, (x[kept], [[-1], [1], [-1], [1]], weight[kept]), strict=True):
        assert_array_equal(found, expected)
    with pytest.raises(
        ValueError, match=r"y has 1 class \(among the samples with a weight\), expected at least"
    ):
        Columns().fit(x, y, (y == "ah").astype(float))


def test_weights_are_checked():
    x = np.zeros((3, 1))
    assert checked_weight(None, x) is None
    assert_array_equal(checked_weight([1, 0, 2], x), [1.0, 0.0, 2.0])
    with pytest.raises(ValueError, match=r"(?i)sample.weight.* (0 everywhere|non-zero)"):
        checked_weight([0, 0, 0], x)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        checked_weight([1, -1, 1], x)


class Two(BaseEstimator):
    def __init__(self, first=1, second=None):
        self.first, self.second = first, second


def test_only_what_differs_from_its_default_is_warned_of():
    warn_without_effect(Two(), ["first", "second"], "mode=0")  # warnings are errors here
    with pytest.warns(
        UserWarning, match="Two: second is 'x', which has no effect with mode=0; leave it out"
    ) as found:
        warn_without_effect(Two(second="x"), ["first", "second"], "mode=0")
    assert len(found) == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: discriminants.OROLSClassifier(max_centres=3),
            "OROLSClassifier.__init__() got an unexpected keyword argument 'max_centres' "
            '(did you mean "max_centers"?)',
        ),
        (
            lambda: discriminants.KRLSRegressor(Nu=0.1),
            "KRLSRegressor.__init__() got an unexpected keyword argument 'Nu' (did you mean \"nu\"?)",
        ),
        (
            lambda: discriminants.OLSRegressor(xyzzy=1),
            "OLSRegressor.__init__() got an unexpected keyword argument 'xyzzy'; "
            "expected some of: sigma, max_centers, algorithm, epsilon, stopping, tol, kernel, kernel_params",
        ),
        (
            lambda: discriminants.MSEClassifier(ridge=1),  # it has no constructor of its own
            "MSEClassifier.__init__() got an unexpected keyword argument 'ridge'; expected none",
        ),
        (
            lambda: discriminants.NPDClassifier(1, 2, 3),
            "NPDClassifier.__init__() too many positional arguments",
        ),
    ],
)
def test_a_wrong_argument_is_said_of_the_class_that_was_made(make, said):
    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        make()


def test_constructors_keep_their_signature():
    assert list(inspect.signature(discriminants.OROLSClassifier).parameters)[:2] == ["sigma", "max_centers"]
    assert discriminants.OROLSClassifier(tol=0.2).get_params()["tol"] == 0.2
    assert discriminants.MSEClassifier().get_params() == {}
