"""NPD and OROLS as scikit-learn estimators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from acoustic import ModelError
from acoustic.discriminants import Calibration, NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from acoustic.discriminants.files import load_estimator, pack_estimator, save_estimator

CLASSIFIERS = [NPDClassifier, OROLSClassifier]
REGRESSORS = [NPDRegressor, OROLSRegressor]
KERNELS = ["gaussian", "polynomial", "sigmoid", "compact"]

REASON = (
    "ε is added to one row of a repeated point, calibration leaves a row out with all its weight, "
    "and M of the generalised cross-validation counts rows"
)


def expected_failures(estimator):
    return {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("default::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [E() for E in CLASSIFIERS + REGRESSORS], expected_failed_checks=expected_failures, xfail_strict=False
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def moons(n=200, dtype=np.float64, seed=0):
    x, y = make_moons(n, noise=0.2, random_state=seed)
    return x.astype(dtype), y


def blobs(n=300, n_classes=4, dtype=np.float64, seed=0):
    x, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    return x.astype(dtype), np.array(["ah", "b", "sil", "zh"])[y]


def waves(n=200, n_outputs=2, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = np.column_stack([np.sin((r + 1) * x[:, 0]) + x[:, 1] for r in range(n_outputs)])
    return x.astype(dtype), y + 0.1 * rng.normal(size=y.shape)


class TestClassifiers:
    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    @pytest.mark.parametrize("block_size", [1, 16])
    def test_two_moons_like_a_support_vector_machine(self, estimator, block_size):
        x, y = moons(600)
        train, test, y_train, y_test = train_test_split(x, y, random_state=0)
        model = estimator(0.5, 40, block_size=block_size).fit(train, y_train)
        reference = SVC(gamma=1 / (2 * 0.5**2)).fit(train, y_train)
        assert model.score(test, y_test) >= reference.score(test, y_test) - 0.02

    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    def test_many_classes(self, estimator, multiclass):
        x, y = blobs(600)
        train, test, y_train, y_test = train_test_split(x, y, random_state=0)
        model = estimator(1.5, 40, multiclass=multiclass).fit(train, y_train)
        assert model.score(test, y_test) > SVC().fit(train, y_train).score(test, y_test) - 0.03
        probability = model.predict_proba(test)
        assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12, atol=0)
        assert_array_equal(model.classes_[probability.argmax(axis=1)], model.predict(test))

    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    def test_one_vs_rest_is_a_machine_a_class(self, estimator):
        x, y = blobs()
        together = estimator(1.0, 12, multiclass="ovr").fit(x, y)
        outputs = together.decision_function(x)
        for r, label in enumerate(together.classes_):
            alone = estimator(1.0, 12).fit(x, y == label)
            assert_array_equal(together.machine_center_indices_[r], alone.center_indices_)
            assert_allclose(outputs[:, r], alone.decision_function(x), rtol=0, atol=1e-9)
            assert_allclose(together.loo_decision_[:, r], alone.loo_decision_[:, 0], rtol=0, atol=1e-9)
            if together._regularize:
                assert together.ridge_[r] == alone.ridge_[0]
        assert together.n_distinct_centers_ == len(set(np.concatenate(together.machine_center_indices_)))
        columns = together.machines_[0].kernel.block(x, together.centers_)
        assert_allclose(columns @ together.dual_coef_.T + together.intercept_, outputs, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    def test_learned_values_predict(self, estimator):
        x, y = blobs()
        model = estimator(1.2, 15).fit(x, y)
        distances = np.sum((x[:, None] - model.centers_) ** 2, axis=2)
        expected = np.exp(-distances / (2 * 1.2**2)) @ model.dual_coef_.T + model.intercept_
        assert_allclose(model.decision_function(x), expected, rtol=0, atol=1e-9)
        assert_array_equal(model.centers_, x[model.center_indices_])
        assert model.dual_coef_.shape == (4, 15)
        assert model.loo_decision_.shape == (300, 4)

    def test_probability_follows_the_output(self):
        x, y = moons()
        model = NPDClassifier(0.5, 20).fit(x, y)
        order = np.argsort(model.decision_function(x))
        assert (np.diff(model.predict_proba(x)[order, 1]) >= 0).all()

    def test_calibration_from_left_out_outputs_is_less_sure(self):
        x, y = moons(80, seed=3)
        sure, modest = (
            NPDClassifier(0.2, 60, epsilon=1e-6, calibration=Calibration(c)).fit(x, y)
            for c in ("fitted", "loo")
        )
        assert np.ptp(sure.curves_[0].means_) > np.ptp(modest.curves_[0].means_)

    def test_one_extreme_left_out_output_does_not_spoil_the_calibration(self):
        x, y = moons(100)
        model = NPDClassifier(2.0, 60, epsilon=1e-9).fit(x, y)
        assert model.curves_[0].variances_.max() < 9.0

    def test_left_out_outputs_are_those_of_fits_without_the_point(self):
        x, y = moons(60)
        model = NPDClassifier(0.6, 8, epsilon=0.0).fit(x, y)
        k = np.column_stack([np.ones(60), model.machines_[0].kernel.block(x, model.centers_)])
        for i in np.setdiff1d(np.arange(60), model.center_indices_):
            others = np.delete(np.arange(60), i)
            alpha = np.linalg.lstsq(k[others], 2.0 * y[others] - 1.0, rcond=None)[0]
            assert_allclose(model.loo_decision_[i, 0], k[i] @ alpha, rtol=0, atol=1e-8)

    @pytest.mark.parametrize("multiclass", ["shared", "ovr"])
    def test_path_is_the_models_of_every_size(self, multiclass):
        x, y = blobs()
        model = OROLSClassifier(1.0, 12, multiclass=multiclass).fit(x, y)
        sizes = [1, 5, 12, 99]
        found = model.path_predict(x, sizes)
        assert found.shape == (4, 300)
        for size, labels in zip(sizes, found, strict=True):
            alone = OROLSClassifier(1.0, size if size < 99 else 12, multiclass=multiclass).fit(x, y)
            assert_array_equal(labels, alone.predict(x))

    @pytest.mark.parametrize("sizes", [[-1], [1.5]])
    def test_path_of_impossible_sizes(self, sizes):
        model = NPDClassifier(1.0, 3).fit(*moons())
        with pytest.raises(ValueError, match="expected whole numbers of at least 0"):
            model.path_predict(moons()[0], sizes)

    def test_size_zero_is_the_bias(self):
        x, y = moons()
        model = NPDRegressor(1.0, 3).fit(x, y)
        assert_allclose(model.path_predict(x, [0])[0, :, 0], y.mean(), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    def test_one_class_is_an_error(self, estimator):
        with pytest.raises(ValueError, match="1 class"):
            estimator().fit(np.zeros((4, 2)), np.ones(4))
        with pytest.raises(ValueError, match="1 class"):
            estimator().fit(np.zeros((4, 2)), [0, 0, 1, 1], [1, 1, 0, 0])

    def test_unknown_options_are_named(self):
        with pytest.raises(ValueError, match='multiclass is "all", expected one of: auto, shared, ovr, ovo'):
            NPDClassifier(multiclass="all").fit(*moons())


class TestRegressors:
    @pytest.mark.parametrize("estimator", REGRESSORS)
    def test_outputs_share_centres(self, estimator):
        x, y = waves()
        model = estimator(0.8, 40).fit(x, y)
        assert model.dual_coef_.shape == (2, 40)
        assert model.center_indices_.shape == (40,)
        assert model.predict(x).shape == y.shape
        assert model.score(x, y) > 0.97

    @pytest.mark.parametrize("estimator", REGRESSORS)
    def test_one_output_keeps_its_shape(self, estimator):
        x, y = waves()
        flat, column = estimator(0.8, 10).fit(x, y[:, 0]), estimator(0.8, 10).fit(x, y[:, :1])
        assert flat.predict(x).shape == (200,)
        assert_array_equal(flat.predict(x), column.predict(x)[:, 0])

    def test_equal_outputs_get_equal_weights(self):
        x, y = waves()
        model = NPDRegressor(0.8, 10).fit(x, np.column_stack([y[:, 0], y[:, 0]]))
        assert_allclose(model.dual_coef_[0], model.dual_coef_[1], rtol=1e-9, atol=1e-9)
        assert_array_equal(model.center_indices_, NPDRegressor(0.8, 10).fit(x, y[:, 0]).center_indices_)

    def test_gcv_stops_before_noise_is_learned(self):
        x, y = waves(noise := 150, 1)
        y = y + np.random.default_rng(1).normal(size=(noise, 1))
        model = OROLSRegressor(0.7, 150, stopping="gcv", epsilon=1e-6).fit(x, y[:, 0])
        truth = waves(2000, 1, seed=9)
        full = NPDRegressor(0.7, 150, epsilon=1e-6).fit(x, y[:, 0])
        assert len(model.centers_) < 100
        assert model.score(truth[0], truth[1][:, 0]) > full.score(truth[0], truth[1][:, 0])


class TestSampleWeight:
    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    def test_zero_weight_is_not_there(self, estimator):
        x, y = blobs()
        weight = np.random.default_rng(0).integers(0, 2, 300).astype(float)
        kept = np.flatnonzero(weight)
        one, other = estimator(1.0, 20).fit(x, y, weight), estimator(1.0, 20).fit(x[kept], y[kept])
        assert_array_equal(one.center_indices_, kept[other.center_indices_])
        assert_allclose(one.predict_proba(x), other.predict_proba(x), rtol=1e-9, atol=1e-12)
        assert len(one.loo_decision_) == len(kept)

    @pytest.mark.parametrize("estimator", REGRESSORS)
    def test_zero_weight_is_not_there_in_regression(self, estimator):
        x, y = waves()
        weight = np.random.default_rng(0).integers(0, 2, 200).astype(float)
        kept = np.flatnonzero(weight)
        one, other = estimator(1.0, 20).fit(x, y, weight), estimator(1.0, 20).fit(x[kept], y[kept])
        assert_array_equal(one.center_indices_, kept[other.center_indices_])
        assert_allclose(one.predict(x), other.predict(x), rtol=0, atol=1e-9)

    def test_weights_are_copies_without_epsilon_and_with_all_centres(self):
        """NPD on every distinct point does not depend on the order of selection."""
        x, y = waves(25)
        counts = np.random.default_rng(0).integers(1, 4, 25)
        rows = np.repeat(np.arange(25), counts)
        weighted = NPDRegressor(0.5, 10, epsilon=0.0, selection="random", random_state=0).fit(x, y, counts)
        order = weighted.center_indices_
        k = np.column_stack([np.ones(25), weighted.machines_[0].kernel.block(x, x[order])])[rows]
        expected = np.linalg.lstsq(k, y[rows], rcond=None)[0]
        assert_allclose(weighted.dual_coef_.T, expected[1:], rtol=1e-7, atol=1e-8)

    @pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
    @pytest.mark.parametrize("weight", [-1.0, 0.0])
    def test_negative_and_missing_weights_are_errors(self, estimator, weight):
        x, y = moons(20)
        with pytest.raises(ValueError, match=r"[Nn]egative|zero"):
            estimator().fit(x, y, np.full(20, weight))


@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
class TestAll:
    def data(self, estimator, dtype=np.float64):
        return waves(dtype=dtype) if estimator in REGRESSORS else blobs(dtype=dtype)

    def output(self, model):
        return model.predict if isinstance(model, tuple(REGRESSORS)) else model.decision_function

    @pytest.mark.parametrize("block_size", [1, 32])
    def test_single_precision_agrees(self, estimator, block_size):
        x, y = self.data(estimator, np.float32)
        single = estimator(1.0, 20, block_size=block_size, selection="random", random_state=1)
        double = clone(single).fit(x.astype(np.float64), y)
        single.fit(x, y)
        assert single.centers_.dtype == np.float32
        assert_array_equal(single.center_indices_, double.center_indices_)
        assert_allclose(self.output(single)(x), self.output(double)(x.astype(np.float64)), rtol=0, atol=2e-3)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_kernels(self, estimator, kernel):
        x, y = self.data(estimator)
        params = {"polynomial": {"theta": 0.2, "degree": 2}, "sigmoid": {"theta": 0.2}}.get(kernel)
        model = estimator(3.0, 20, kernel=kernel, kernel_params=params).fit(x, y)
        assert np.isfinite(self.output(model)(x)).all()
        assert model.score(x, y) > 0.6

    def test_compact_columns_are_sparse(self, estimator):
        x, y = self.data(estimator)
        model = estimator(0.3, 20, kernel="compact").fit(x, y)
        assert np.mean(model.machines_[0].kernel.block(x, model.centers_) == 0) > 0.5

    def test_several_widths(self, estimator):
        x, y = self.data(estimator)
        model = estimator((0.3, 1.0, 4.0), 20).fit(x, y)
        assert set(model.machines_[0].path.sigmas) <= {0.3, 1.0, 4.0}
        assert len(set(model.machines_[0].path.sigmas)) > 1
        assert model.score(x, y) > 0.7

    @pytest.mark.parametrize("selection", ["residual", "error_reduction", "random"])
    @pytest.mark.parametrize("block_size", [1, 8])
    def test_same_seed_same_bits(self, estimator, selection, block_size):
        x, y = self.data(estimator)
        model = estimator(1.0, 20, selection=selection, block_size=block_size, random_state=3)
        one, other = (self.output(clone(model).fit(x, y))(x) for _ in range(2))
        assert_array_equal(one, other)

    @pytest.mark.parametrize("n_constant", [1, 3])
    def test_constant_features_change_nothing(self, estimator, n_constant):
        x, y = self.data(estimator)
        more = np.column_stack([x, np.full((len(x), n_constant), 1e3)])
        one, other = estimator(1.0, 20).fit(x, y), estimator(1.0, 20).fit(more, y)
        assert_array_equal(one.center_indices_, other.center_indices_)
        assert_allclose(self.output(one)(x), self.output(other)(more), rtol=0, atol=1e-6)

    def test_duplicated_rows(self, estimator):
        x, y = self.data(estimator)
        model = estimator(1.0, 500, block_size=16).fit(
            np.repeat(x[:30], 4, axis=0), np.repeat(y[:30], 4, axis=0)
        )
        assert np.isfinite(self.output(model)(x)).all()
        assert model.score(x[:30], y[:30]) > 0.95

    @pytest.mark.parametrize("sigma", [1e-150, 1e-8, 1e8, 1e150])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_huge_and_tiny_sigma(self, estimator, sigma, dtype):
        x, y = self.data(estimator, dtype)
        with pytest.warns(UserWarning, match="the kernel is nearly"):
            model = estimator(sigma, 20).fit(x, y)
        assert np.isfinite(self.output(model)(x)).all()
        assert np.isfinite(model.loo_decision_).all()
        if hasattr(model, "predict_proba"):
            assert np.isfinite(model.predict_proba(x)).all()
        elsewhere = self.output(model)((x + dtype(0.1)).astype(dtype))
        if sigma < 1:  # no centre is near
            assert_array_equal(elsewhere, np.tile(model.intercept_, (len(x), 1)))
        else:  # all points look alike
            assert_allclose(elsewhere, np.tile(elsewhere[:1], (len(x), 1)), rtol=0, atol=1e-3)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_nan_is_an_error(self, estimator, value):
        x, y = self.data(estimator)
        x[3, 1] = value
        with pytest.raises(ValueError, match="contains"):
            estimator().fit(x, y)

    @pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, (), (1.0, 0.0)])
    def test_bad_sigma_is_named(self, estimator, sigma):
        said = "expected a finite number above 0, or several, or one of: loo, scale, median$"
        with pytest.raises(ModelError, match=said):
            estimator(sigma).fit(*self.data(estimator))

    def test_bad_options_are_named(self, estimator):
        with pytest.raises(ModelError, match='selection is "best", expected one of: residual'):
            estimator(selection="best").fit(*self.data(estimator))

    def test_more_centres_than_points(self, estimator):
        x, y = self.data(estimator)
        model = estimator(1.0, 10_000).fit(x[:25], y[:25])
        assert len(model.centers_) <= 25
        assert np.isfinite(self.output(model)(x)).all()
        assert model.score(x[:25], y[:25]) > 0.95

    def test_parameters(self, estimator):
        model = estimator((0.5, 2.0), 7, stopping="gcv", random_state=3)
        assert clone(model).get_params() == model.get_params()
        assert model.set_params(max_centers=9, kernel="compact").get_params()["max_centers"] == 9

    @pytest.mark.filterwarnings("ignore:sigma is:UserWarning")
    def test_grid_search(self, estimator):
        x, y = self.data(estimator)
        pipeline = make_pipeline(StandardScaler(), estimator(max_centers=15))
        grid = {f"{estimator.__name__.lower()}__sigma": [0.01, 1.0]}
        search = GridSearchCV(pipeline, grid, cv=3).fit(x, y)
        assert search.best_params_ == {next(iter(grid)): 1.0}

    def test_what_is_kept_does_not_grow_with_the_training_set_but_for_its_outputs(self, estimator):
        x, y = self.data(estimator)
        model = estimator(1.0, 10).fit(x, y)
        tensors, _ = pack_estimator(model)
        assert not [array.shape for array in tensors.values() if len(x) in array.shape]
        kept = [a for m in model.machines_ for a in [*vars(m.path).values(), m.centers] if np.ndim(a)]
        n_outputs = model.loo_decision_.shape[1]
        assert sum(a.size for a in kept) < 2 * 11**2 + 10 * x.shape[1] + 11 * (n_outputs + 8)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_stored_is_the_same_bits(self, estimator, dtype, tmp_path):
        x, y = self.data(estimator, dtype)
        model = estimator(
            np.array([0.7, 1.5]),
            np.int64(20),
            stopping="gcv",
            block_size=2,
            random_state=np.random.RandomState(0),
        ).fit(x, y)
        save_estimator(model, tmp_path / "model.safetensors")
        again = load_estimator(tmp_path / "model.safetensors")
        assert_array_equal(self.output(again)(x), self.output(model)(x))
        assert_array_equal(again.predict(x), model.predict(x))
        assert_array_equal(again.path_predict(x, [0, 3, 9]), model.path_predict(x, [0, 3, 9]))
        for name in ("center_indices_", "center_sigmas_", "centers_", "dual_coef_", "intercept_"):
            assert getattr(again, name).dtype == getattr(model, name).dtype
            assert_array_equal(getattr(again, name), getattr(model, name))
        assert again.n_features_in_ == x.shape[1]
        if hasattr(model, "predict_proba"):
            assert_array_equal(again.predict_proba(x), model.predict_proba(x))

    def test_an_argument_without_effect_is_named(self, estimator):
        x, y = self.data(estimator)
        with pytest.warns(UserWarning, match='tol is 0.5, which has no effect with stopping="size"'):
            estimator(max_centers=3, tol=0.5).fit(x, y)
        estimator(max_centers=3, tol=0.5, stopping="tol").fit(x, y)  # warnings are errors here

    def test_arguments_are_those_of_the_path_and_of_a_classifier(self, estimator):
        of_path = {"sigma", "max_centers", "epsilon", "kernel", "kernel_params", "block_size"}
        of_path |= {"selection", "stopping", "tol", "random_state", "algorithm", "held_out"}
        of_classes = {"multiclass", "calibration"} if is_classifier(estimator()) else set()
        assert estimator().get_params().keys() == of_path | of_classes

    def test_ridge_is_that_of_orols(self, estimator):
        x, y = self.data(estimator)
        model = estimator(1.0, 12).fit(x, y)
        if model._regularize:
            expected = model.machines_[0].path.ridges[-1]
            assert expected > 0
            assert_array_equal(model.ridge_, np.full(len(model.dual_coef_), expected))
        else:
            with pytest.raises(AttributeError, match="has no ridge_: only OROLS learns λ"):
                _ = model.ridge_


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 5, 7, 8]),
        np.array([0.0, 1.0, 2.0, 4.0]),
        np.array(["ah", "b", "sil", "zh"]),
        np.array(["ah", "b", "sil", "zh"], dtype=object),
    ],
    ids=["int", "float", "str", "object"],
)
def test_several_machines_and_any_labels_are_stored(labels, multiclass, tmp_path):
    x, y = blobs()
    y = labels[np.unique(y, return_inverse=True)[1]]
    model = OROLSClassifier(1.0, 12, multiclass=multiclass, calibration=Calibration(curve="logistic"))
    save_estimator(model.fit(x, y), tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.calibration == model.calibration
    assert_array_equal(again.predict(x), model.predict(x))
    assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert_array_equal(again.path_predict(x, [4]), model.path_predict(x, [4]))
    assert_array_equal(again.ridge_, model.ridge_)
    assert again.n_distinct_centers_ == model.n_distinct_centers_


class TestCalibration:
    @pytest.mark.parametrize("multiclass", ["shared", "ovr"])
    @pytest.mark.parametrize("held_out", [0.0, 0.25])
    def test_logistic_curves_are_platts_of_left_out_outputs(self, multiclass, held_out):
        x, y = blobs(600)
        rule = Calibration(curve="logistic")
        model = NPDClassifier(
            1.0, 40, epsilon=1e-3, multiclass=multiclass, held_out=held_out, calibration=rule
        )
        model.fit(x, y)
        for r, curve in enumerate(model.curves_):
            is_positive, q = y == model.classes_[r], np.clip(model.loo_decision_[:, r], -3.0, 3.0)
            # Platt: classes of equal weight, targets (n + 1)/(n + 2) and 1/(n + 2); then the prior odds
            n = is_positive.sum(), (~is_positive).sum()
            target = np.where(is_positive, (n[0] + 1) / (n[0] + 2), 1 / (n[1] + 2))
            weight = np.where(is_positive, 0.5 / n[0], 0.5 / n[1])

            def loss(a, q=q, t=target, w=weight):
                d = a[0] * q + a[1]
                return np.sum(w * (np.logaddexp(0.0, d) - t * d))

            best = minimize(loss, [1.0, 0.0], tol=1e-10).x
            expected = best[0] * q + best[1] + np.log(n[0] / n[1])
            assert_allclose(curve.log_odds(q), expected, rtol=0, atol=2e-3)
            assert_allclose(curve.predict_proba(q), 1 / (1 + np.exp(-curve.log_odds(q))), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
    @pytest.mark.parametrize("estimator", CLASSIFIERS)
    def test_none_is_gaussians_of_left_out_outputs(self, estimator, multiclass):
        x, y = blobs()
        one, other = (
            estimator(1.0, 10, multiclass=multiclass, calibration=c).fit(x, y)
            for c in (None, Calibration("loo", "gaussian"))
        )
        assert_array_equal(one.predict_proba(x), other.predict_proba(x))
        logistic = estimator(1.0, 10, multiclass=multiclass, calibration=Calibration("loo", "logistic"))
        assert np.abs(logistic.fit(x, y).predict_proba(x) - one.predict_proba(x)).max() > 1e-3

    def test_held_out_outputs_are_refused_with_advice(self):
        with pytest.raises(
            ValueError, match=r'"held-out", expected "fitted" or "loo"; wrap .* CalibratedClassifierCV'
        ):
            NPDClassifier(calibration=Calibration("held-out")).fit(*moons())

    def test_the_old_words_are_refused(self):
        with pytest.raises(ValueError, match="calibration is 'loo', expected a Calibration or None"):
            NPDClassifier(calibration="loo").fit(*moons())


@pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_conventions_are_those_of_every_multiclass(estimator, multiclass):
    x, y = blobs()
    model = estimator((0.7, 1.5), 10, epsilon=1e-6, multiclass=multiclass).fit(x, y)
    n_outputs = 6 if multiclass == "ovo" else 4
    assert model.dual_coef_.shape == (n_outputs, len(model.center_indices_))
    assert len(model.intercept_) == len(model.curves_) == n_outputs
    assert model.loo_decision_.shape == model.decision_function(x).shape == (300, 4)
    assert len(model.machine_center_indices_) == {"shared": 1, "ovr": 4, "ovo": 6}[multiclass]
    distinct = set(zip(model.center_indices_.tolist(), model.center_sigmas_.tolist(), strict=True))
    assert len(distinct) == len(model.center_indices_)
    assert set(np.concatenate(model.machine_center_indices_)) == set(model.center_indices_)
    assert model.path_predict(x, [0, 5, 10]).shape == (3, 300)
    assert np.mean(model.classes_[model.loo_decision_.argmax(axis=1)] == y) > 0.7


@pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
def test_centres_are_rows_of_x_under_weights(multiclass):
    x, y = blobs()
    weight = np.ones(300)
    weight[:100] = 0.0
    model = NPDClassifier(1.0, 5, multiclass=multiclass).fit(x, y, weight)
    assert min(rows.min() for rows in model.machine_center_indices_) >= 100
    assert_allclose(model.centers_, x[model.center_indices_], rtol=1e-6, atol=0)
    assert len(model.loo_decision_) == 200
