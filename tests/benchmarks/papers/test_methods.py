"""The estimators of the classification tables."""

import numpy as np
import pytest

from acoustic.discriminants import KernelFisherDiscriminant, NPDClassifier, OLSClassifier, OROLSClassifier
from benchmarks.papers.cross_validation import Guess, Method
from benchmarks.papers.methods import fisher, npd, ols, orols, svm


@pytest.mark.parametrize(("method", "estimator"), [(npd(), NPDClassifier), (orols(), OROLSClassifier)])
def test_forward_methods_are_the_papers_algorithms(method: Method, estimator: type[NPDClassifier]) -> None:
    model = method.make(0.7, 0.1, 9)
    assert type(model) is estimator
    assert (model.sigma, model.epsilon, model.max_centers) == (0.7, 0.1, 9)
    assert (model.selection, model.stopping, model.block_size) == ("residual", "size", 1)


def test_options_of_a_table_come_first() -> None:
    model = npd(multiclass="ovr", block_size=32).make(1.0, 0.0, 5)
    assert (model.multiclass, model.block_size) == ("ovr", 32)


def test_the_other_estimators_get_what_is_chosen() -> None:
    found = ols().make(0.7, 0.0, 9)
    assert isinstance(found, OLSClassifier)
    assert (found.sigma, found.max_centers, found.stopping) == (0.7, 9, "size")
    full = fisher().make(0.7, 0.1, 9)
    assert isinstance(full, KernelFisherDiscriminant)
    assert (full.sigma, full.epsilon, full.max_centers) == (0.7, 0.1, None)
    machine = svm().make(0.5, 3.0, 9)
    assert (machine.C, machine.gamma) == (3.0, 2.0)


@pytest.mark.parametrize("method", [npd(), orols(), ols(), fisher(), svm()])
def test_guesses_have_an_axis_of_constants_and_one_of_sizes(method: Method) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    x[:, 0] += 3.0 * np.sign(x[:, 0])  # two clouds far apart
    columns = np.exp(-0.5 * ((x[:30, None] - x) ** 2).sum(axis=2))
    codes = (x[:30, 0] > 0).astype(int)
    sizes = method.sizes(30)
    guessed = method.guess(Guess(columns, codes, 2, np.array(method.constants), sizes))
    assert guessed.shape == (len(method.constants), len(method.shares), 10)
    assert set(np.unique(guessed)) <= {0, 1}
    right = (guessed == (x[30:, 0] > 0)).mean(axis=2)
    assert right.max() >= 0.8
