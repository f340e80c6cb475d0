"""One machine a pair against `fit_pairs`, fits of the pairs alone, and leaving points out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from acoustic.discriminants import Calibration, NPDClassifier, OROLSClassifier
from acoustic.discriminants.base import coefficients_of
from acoustic.discriminants.forward_machine import coupled
from acoustic.kernels.forward import ForwardConfig, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.calibration import quadratics
from acoustic.pairs.coupling import all_pairs, coupled_log_posteriors
from acoustic.pairs.train_forward import fit_pairs

SIGMA = 3.0
CONFIG = ForwardConfig(Kernel("gaussian", SIGMA), (SIGMA,), 20)
CLASSIFIERS = [NPDClassifier, OROLSClassifier]


def sounds(overlapping, counts=(120, 90, 100, 80)):
    x, codes = overlapping(list(counts), spread=1.5)
    return x, codes


def paths_of_pairs(x, codes, config, size):
    """Return rows and the separate forward selection of each pair."""
    for i, j in all_pairs(codes.max() + 1):
        rows = np.concatenate([np.flatnonzero(codes == i), np.flatnonzero(codes == j)])
        targets = np.where(codes[rows] == i, 1.0, -1.0)[:, None]
        yield rows, forward_selection(x[rows], targets, replace(config, max_centers=size))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
def test_decisions_are_those_of_fit_pairs(overlapping, estimator, curve):
    x, codes = sounds(overlapping)
    labels = np.array(["ah", "eh", "ih", "oh"])[codes]
    model = estimator(SIGMA, 20, epsilon=1e-6, multiclass="ovo", calibration=Calibration("loo", curve)).fit(
        x, labels
    )
    config = replace(CONFIG, regularize=estimator is OROLSClassifier)
    machines, curves = fit_pairs(x, codes, 4, config, calibration=Calibration("loo", curve))
    expected = coupled_log_posteriors(quadratics(machines.outputs(x), curves), 4)
    assert_array_equal(coefficients_of(model.curves_), curves)
    assert_allclose(model.decision_function(x), expected, rtol=1e-12, atol=0)
    assert_allclose(model.predict_proba(x), softmax(expected, axis=1), rtol=1e-12, atol=0)
    assert_array_equal(model.predict(x), model.classes_[expected.argmax(axis=1)])
    assert np.mean(model.predict(x) == labels) > 0.8
    assert model.n_distinct_centers_ == len(model.centers_)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_dense_weights_are_the_machines_of_all_pairs(overlapping, estimator):
    x, codes = sounds(overlapping)
    model = estimator(SIGMA, 20, epsilon=1e-6, multiclass="ovo").fit(x, codes)
    assert model.dual_coef_.shape == (6, len(model.center_indices_))
    assert_array_equal(model.centers_, x[model.center_indices_])
    outputs = CONFIG.kernel.block(x.astype(float), model.centers_.astype(float)) @ model.dual_coef_.T
    assert_allclose(outputs + model.intercept_, model.pairwise_.outputs(x), rtol=0, atol=2e-4)
    for p, chosen in enumerate(model.machine_center_indices_):
        assert_array_equal(np.sort(chosen), np.sort(model.center_indices_[model.dual_coef_[p] != 0]))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_paths_and_ridges_are_those_of_separate_selections(overlapping, estimator):
    x, codes = sounds(overlapping)
    model = estimator(SIGMA, 20, epsilon=1e-6, multiclass="ovo").fit(x, codes)
    config = replace(CONFIG, regularize=estimator is OROLSClassifier)
    for size in (3, 20):
        outputs = np.empty((len(x), 6))
        for p, (rows, path) in enumerate(paths_of_pairs(x, codes, config, size)):
            alpha, bias = path.weights()
            outputs[:, p] = (config.kernel.block(x, x[rows][path.indices]) @ alpha + bias)[:, 0]
            assert_array_equal(model.machine_center_indices_[p][:size], rows[path.indices])
            if size == 20 and config.regularize:
                assert_allclose(model.ridge_[p], path.ridges[-1], rtol=5e-3, atol=1e-9)
        expected = coupled(outputs, model.curves_, 4)
        found = model.path_predict(x, [size])[0]
        is_clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-2
        assert is_clear.mean() > 0.9
        assert_array_equal(found[is_clear], expected.argmax(axis=1)[is_clear])
    assert np.mean(model.path_predict(x, [99])[0] == model.predict(x)) > 0.99


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_left_out_decisions_have_the_left_out_outputs_of_each_points_own_pairs(overlapping, estimator):
    x, codes = sounds(overlapping)
    model = estimator(SIGMA, 20, epsilon=1e-6, multiclass="ovo").fit(x, codes)
    outputs = model.pairwise_.outputs(x).astype(float)
    config = replace(CONFIG, regularize=estimator is OROLSClassifier)
    for p, (rows, path) in enumerate(paths_of_pairs(x, codes, config, 20)):
        outputs[rows, p] = np.clip(path.leave_one_out[:, 0], -3.0, 3.0)
    expected = coupled(outputs, model.curves_, 4)
    assert_allclose(model.loo_decision_, expected, rtol=2e-3, atol=2e-2)
    left_out, seen = (np.mean(d.argmax(axis=1) == codes) for d in (model.loo_decision_, expected))
    assert left_out == pytest.approx(seen, abs=0.01)


def test_left_out_decisions_err_more_than_those_of_points_seen(overlapping):
    x, codes = overlapping([30, 30, 30], spread=0.4)
    model = NPDClassifier(1.5, 25, epsilon=1e-6, multiclass="ovo").fit(x, codes)
    decisions = model.loo_decision_, model.decision_function(x)
    left_out, seen = (np.mean(decision.argmax(axis=1) == codes) for decision in decisions)
    assert left_out < seen


@pytest.mark.parametrize("options", [{"sigma": (1.5, 3.0)}, {"block_size": 4}, {"stopping": "loo"}], ids=str)
def test_general_selections_too(overlapping, options):
    x, codes = sounds(overlapping)
    model = OROLSClassifier(
        **{"sigma": SIGMA, "max_centers": 30, "epsilon": 1e-6, "multiclass": "ovo"} | options
    )
    model.set_params(random_state=0).fit(x, codes)
    widths = np.unique(model.center_sigmas_)
    assert set(widths) <= ({1.5, 3.0} if "sigma" in options else {SIGMA})
    block = Kernel().block(x.astype(float), model.centers_.astype(float), model.center_sigmas_)
    outputs = block @ model.dual_coef_.T + model.intercept_
    assert_allclose(outputs, model.pairwise_.outputs(x), rtol=0, atol=1e-3)
    assert np.mean(model.path_predict(x, [30])[0] == model.predict(x)) > 0.99
    assert np.mean(model.loo_decision_.argmax(axis=1) == codes) > 0.7


def test_fitted_outputs_make_surer_curves(overlapping):
    x, codes = overlapping([40, 40, 40], spread=0.5)
    sure, modest = (
        NPDClassifier(1.5, 30, multiclass="ovo", calibration=Calibration(outputs)).fit(x, codes)
        for outputs in ("fitted", "loo")
    )
    assert sure.predict_proba(x).max(axis=1).mean() > modest.predict_proba(x).max(axis=1).mean()


def test_two_classes_are_the_binary_machine(overlapping):
    x, codes = overlapping([50, 40])
    pairwise = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x, codes)
    binary = NPDClassifier(SIGMA, 10).fit(x, codes)
    assert_array_equal(pairwise.decision_function(x), binary.decision_function(x))
    assert_array_equal(pairwise.predict_proba(x), binary.predict_proba(x))
    assert_array_equal(pairwise.loo_decision_, binary.loo_decision_)


def test_frames_without_weight_are_not_there(overlapping):
    x, codes = overlapping([40, 40, 40])
    weight = (np.arange(120) % 4 > 0).astype(float)
    weighted = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x, codes, weight)
    without = NPDClassifier(SIGMA, 10, multiclass="ovo").fit(x[weight > 0], codes[weight > 0])
    assert_array_equal(weighted.predict_proba(x), without.predict_proba(x))
    assert_array_equal(weighted.center_indices_, np.flatnonzero(weight)[without.center_indices_])
    assert_array_equal(weighted.pairwise_.center_rows, np.flatnonzero(weight)[without.pairwise_.center_rows])
    assert_array_equal(weighted.loo_decision_, without.loo_decision_)
