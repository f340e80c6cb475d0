"""Forward selection against the papers' algorithms written out, brute force and direct solutions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import ModelError
from acoustic.kernels.forward import ForwardConfig, forward_selection, path_of_centers
from acoustic.kernels.kernel import Kernel

GAUSSIAN = Kernel("gaussian", 1.0)
NPD = ForwardConfig(GAUSSIAN, (1.0,), 15)
OROLS = replace(NPD, regularize=True)


def pseudodiscriminant(gram_matrix, y, n_centers):
    """Return the centres, pseudoinverse, weights and residual by thesis Algorithm 1, word for word."""
    n = len(y)
    k, pseudoinverse = np.ones((n, 1)), np.full((1, n), 1.0 / n)
    q_pseudo, q, residual, chosen = pseudoinverse[0], k[:, 0], y, []
    for _ in range(n_centers):
        residual = residual - (q_pseudo @ y) * q  # (3.64)
        free = np.setdiff1d(np.arange(n), chosen)
        chosen.append(int(free[np.argmax(np.abs(residual[free]))]))
        column = gram_matrix[:, chosen[-1]]
        q = column - k @ (pseudoinverse @ column)  # (3.54)
        q_pseudo = q / (q @ q)  # (3.56)
        upper = pseudoinverse - np.outer(pseudoinverse @ column, q_pseudo)
        pseudoinverse = np.vstack([upper, q_pseudo])  # (3.62)
        k = np.column_stack([k, column])
    return chosen, k, pseudoinverse, pseudoinverse @ y, residual - (q_pseudo @ y) * q


class TestNpd:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("make", ["problem", "labels"])
    def test_is_algorithm_1(self, request, gram, make, seed):
        x, y = request.getfixturevalue(make)(seed=seed)
        config = replace(NPD, sigmas=(0.5,), kernel=replace(GAUSSIAN, sigma=0.5))  # wider is ill-conditioned
        chosen, k, pseudoinverse, alpha, residual = pseudodiscriminant(gram(x, config), y[:, 0], 15)
        # (3.62) is the pseudoinverse
        assert_allclose(pseudoinverse, np.linalg.pinv(k), rtol=1e-9, atol=1e-10)
        path = forward_selection(x, y, config)
        weights, bias = path.weights()
        assert path.indices.tolist() == chosen
        assert_allclose(np.append(bias, weights), alpha, rtol=1e-10, atol=1e-11)
        assert_allclose(y[:, 0] - path.fitted[:, 0], residual, rtol=0, atol=1e-11)

    def test_weights_are_least_squares_for_every_size(self, problem, design):
        x, y = problem(n_targets=3)
        path = forward_selection(x, y, NPD)
        for size in range(16):
            weights, bias = path.weights(size)
            expected = np.linalg.lstsq(design(x, path, NPD, size), y, rcond=None)[0]
            assert_allclose(np.vstack([bias, weights]), expected, rtol=1e-7, atol=1e-8)

    def test_path_is_the_decomposition_of_the_design(self, problem, design, orthogonal):
        x, y = problem()
        path = forward_selection(x, y, NPD)
        q, u = orthogonal(design(x, path, NPD))
        assert_allclose(path.u, u, rtol=1e-7, atol=1e-8)
        assert_allclose(path.kappa, np.sum(q**2, axis=0), rtol=1e-9, atol=0)
        assert_allclose(path.products, q.T @ y, rtol=1e-8, atol=1e-10)

    def test_next_centre_has_the_largest_residual(self, problem, design):
        x, y = problem(n_targets=2)
        path = forward_selection(x, y, NPD)
        for size in range(15):
            k = design(x, path, NPD, size)
            residual = np.sum((y - k @ np.linalg.lstsq(k, y, rcond=None)[0]) ** 2, axis=1)
            residual[path.indices[:size]] = -1.0
            assert residual.argmax() == path.indices[size]

    def test_first_of_equal_residuals_is_taken(self, labels):
        x, y = labels(seed=3)
        majority = np.sign(y.mean())
        assert forward_selection(x, y, NPD).indices[0] == np.flatnonzero(y[:, 0] == -majority)[0]


class TestOrols:
    def test_weights_are_ridge_in_the_orthogonal_basis(self, problem, design, orthogonal):
        x, y = problem(n_targets=2)
        path = forward_selection(x, y, OROLS)
        assert path.ridges[-1] > 0
        for size in range(16):
            q, u = orthogonal(design(x, path, OROLS, size))
            ridge = path.ridges[size]
            tilde = np.linalg.solve(q.T @ q + ridge * np.eye(size + 1), q.T @ y)
            weights, bias = path.weights(size)
            assert_allclose(np.vstack([bias, weights]), np.linalg.solve(u, tilde), rtol=1e-7, atol=1e-8)
        assert_allclose(path.fitted, q @ tilde, rtol=0, atol=1e-11)

    def test_next_centre_has_the_largest_residual_for_the_present_ridge(self, problem, design):
        x, y = problem()
        path = forward_selection(x, y, OROLS)
        for size in range(15):
            weights, bias = path.weights(size)
            residual = np.abs(y - design(x, path, OROLS, size) @ np.vstack([bias, weights]))[:, 0]
            residual[path.indices[:size]] = -1.0
            assert residual.argmax() == path.indices[size]


CONFIGS = {
    "npd": NPD,
    "orols": OROLS,
    "blocks": replace(NPD, block_size=4),
    "orols in blocks": replace(OROLS, block_size=4),
    "random": replace(NPD, selection="random", block_size=3),
    "error reduction": replace(NPD, selection="error_reduction", block_size=2, n_candidates=9),
    "widths": replace(NPD, sigmas=(0.5, 1.0, 2.0)),
    "npd as printed": replace(NPD, algorithm="thesis"),
    "orols as printed": replace(OROLS, algorithm="thesis"),
}


class TestHeldOut:
    HELD_OUT = np.arange(0, 80, 3)

    @pytest.mark.parametrize("name", CONFIGS)
    def test_no_point_becomes_a_centre(self, problem, name):
        x, y = problem(n_targets=2)
        path = forward_selection(x, y, replace(CONFIGS[name], max_centers=30), held_out=self.HELD_OUT)
        assert len(path.indices) == 30
        assert not np.isin(path.indices, self.HELD_OUT).any()

    @pytest.mark.parametrize("algorithm", ["stable", "thesis"])
    def test_next_centre_has_the_largest_residual_of_the_others(self, problem, design, algorithm):
        x, y = problem(n_targets=2)
        config = replace(NPD, algorithm=algorithm)
        path = forward_selection(x, y, config, held_out=self.HELD_OUT)
        for size in range(15):
            k = design(x, path, config, size)
            residual = np.sum((y - k @ np.linalg.lstsq(k, y, rcond=None)[0]) ** 2, axis=1)
            residual[path.indices[:size]] = residual[self.HELD_OUT] = -1.0
            assert residual.argmax() == path.indices[size]

    def test_weights_are_least_squares_at_all_points(self, problem, design):
        x, y = problem()
        path = forward_selection(x, y, NPD, held_out=self.HELD_OUT)
        k = design(x, path, NPD)
        weights, bias = path.weights()
        expected = np.linalg.lstsq(k, y, rcond=None)[0]
        assert_allclose(np.vstack([bias, weights]), expected, rtol=1e-7, atol=1e-8)
        for i in self.HELD_OUT[:5]:
            others = np.delete(np.arange(len(x)), i)
            without = np.linalg.lstsq(k[others], y[others], rcond=None)[0]
            assert_allclose(path.leave_one_out[i], k[i] @ without, rtol=0, atol=1e-7)

    def test_all_others_and_none_may_be_taken(self, problem):
        x, y = problem()
        found = forward_selection(x, y, replace(NPD, max_centers=500), held_out=self.HELD_OUT)
        assert_array_equal(np.sort(found.indices), np.setdiff1d(np.arange(80), self.HELD_OUT))
        nobody = forward_selection(x, y, NPD, held_out=np.arange(80))
        assert len(nobody.indices) == 0
        assert_allclose(nobody.fitted, np.full((80, 1), y.mean()), rtol=1e-12, atol=0)


class TestPath:
    @pytest.mark.parametrize("name", CONFIGS)
    def test_every_size_is_a_fit_of_its_own(self, problem, name):
        x, y = problem(n_targets=2)
        config = CONFIGS[name]
        path = forward_selection(x, y, config, rng=np.random.default_rng(7))
        for size in range(1, 16):
            alone = forward_selection(x, y, replace(config, max_centers=size), rng=np.random.default_rng(7))
            assert_array_equal(alone.indices, path.indices[:size])
            assert_array_equal(alone.sigmas, path.sigmas[:size])
            assert_allclose(alone.ridges, path.ridges[: size + 1], rtol=1e-6, atol=1e-14)
            for found, expected in zip(path.weights(size), alone.weights(), strict=True):
                assert_allclose(found, expected, rtol=1e-6, atol=1e-8)

    def test_residual_recursion_is_the_recomputed_residual(self, problem, design):
        x, y = problem(n_targets=2)
        for config in CONFIGS.values():
            path = forward_selection(x, y, config)
            weights, bias = path.weights()
            expected = design(x, path, config) @ np.vstack([bias, weights])
            assert_allclose(path.fitted, expected, rtol=0, atol=1e-9)

    def test_blocks_are_orthogonal_and_equal_single_centres_in_the_same_order(self, problem):
        x, y = problem(n_targets=2)
        paths = [
            forward_selection(
                x, y, replace(NPD, selection="random", block_size=b), rng=np.random.default_rng(3)
            )
            for b in (1, 4, 15)
        ]
        for path in paths[1:]:
            assert_array_equal(path.indices, paths[0].indices)
            assert_allclose(path.u, paths[0].u, rtol=1e-7, atol=1e-7)
            assert_allclose(path.fitted, paths[0].fitted, rtol=0, atol=1e-10)

    def test_blocks_are_as_good_as_single_centres(self, problem):
        x, y = problem(400, noise=0.05)
        one = forward_selection(x, y, replace(NPD, max_centers=32))
        blocks = forward_selection(x, y, replace(NPD, max_centers=32, block_size=8))
        assert np.mean((y - blocks.fitted) ** 2) < 1.1 * np.mean((y - one.fitted) ** 2)

    def test_same_seed_same_centres(self, problem):
        x, y = problem()
        for name in ("blocks", "random", "error reduction"):
            runs = [forward_selection(x, y, CONFIGS[name], rng=np.random.default_rng(s)) for s in (1, 1, 2)]
            assert_array_equal(runs[0].indices, runs[1].indices)
            assert runs[0].indices.tolist() != runs[2].indices.tolist()

    def test_without_points_predicts_alike_and_names_rows(self, problem):
        x, y = problem()
        path = forward_selection(x, y, NPD)
        rows = 10 * np.arange(80)
        small = path.without_points(rows)
        assert small.fitted.shape == small.leave_one_out.shape == (0, 1)
        assert_array_equal(small.indices, 10 * path.indices)
        assert_array_equal(small.weights()[0], path.weights()[0])


class TestPathOfCenters:
    @pytest.mark.parametrize("name", CONFIGS)
    def test_is_the_path_that_selected_them(self, problem, name):
        x, y = problem(n_targets=2)
        weight = np.random.default_rng(3).uniform(0.3, 2.0, 80)
        config = replace(CONFIGS[name], epsilon=1e-3)
        path = forward_selection(x, y, config, sample_weight=weight)
        again = path_of_centers(x, y, path.indices, path.sigmas, config, weight)
        assert_array_equal(again.indices, path.indices)
        assert_array_equal(again.sigmas, path.sigmas)
        assert again.size == path.size
        for field in ("kappa", "products", "u", "ridges", "gcv", "fitted", "leave_one_out"):
            assert_allclose(getattr(again, field), getattr(path, field), rtol=1e-6, atol=1e-8)

    def test_nothing_is_chosen_or_stopped(self, problem, design):
        x, y = problem()
        config = replace(OROLS, stopping="gcv", patience=1)
        path = path_of_centers(x, y, np.array([7, 3, 40]), np.array([0.5, 1.0, 2.0]), config)
        assert_array_equal(path.indices, [7, 3, 40])
        assert path.size == 3
        weights, bias = path.weights()
        columns = design(x, path, config)
        assert_allclose(path.fitted, columns @ np.vstack([bias, weights]), rtol=0, atol=1e-10)
        assert_allclose(
            columns[:, 1], config.kernel.block(x, x[[7]], np.array([0.5]))[:, 0], rtol=0, atol=2e-6
        )

    def test_no_centres_leave_the_bias(self, problem):
        x, y = problem()
        path = path_of_centers(x, y, np.zeros(0, dtype=int), np.zeros(0), NPD)
        assert path.size == 0
        assert_allclose(path.fitted, y.mean(), rtol=1e-12, atol=0)


class TestSelection:
    def test_error_reduction_takes_the_largest_reduction(self, problem, gram):
        x, y = problem(40)
        config = replace(NPD, selection="error_reduction", n_candidates=40, max_centers=6)
        path = forward_selection(x, y, config)
        k = gram(x, config)
        for size in range(6):
            errors = {}
            for i in np.setdiff1d(np.arange(40), path.indices[:size]):
                candidate = np.column_stack([np.ones(40), k[:, path.indices[:size]], k[:, i]])
                errors[i] = np.sum((y - candidate @ np.linalg.lstsq(candidate, y, rcond=None)[0]) ** 2)
            assert min(errors, key=errors.get) == path.indices[size]

    def test_widths_are_chosen_by_error_reduction(self, problem, design):
        x, y = problem(40)
        config = replace(NPD, sigmas=(0.3, 1.0, 4.0), max_centers=5)
        path = forward_selection(x, y, config)
        assert len(set(path.sigmas)) > 1
        for size in range(5):
            before, index = design(x, path, config, size), path.indices[size]
            errors = []
            for sigma in config.sigmas:
                column = config.kernel.block(x, x[[index]], np.array([sigma]))
                column[index] += config.epsilon
                k = np.column_stack([before, column])
                errors.append(np.sum((y - k @ np.linalg.lstsq(k, y, rcond=None)[0]) ** 2))
            assert config.sigmas[int(np.argmin(errors))] == path.sigmas[size]


class TestWeights:
    """A weight is a number of copies where that can be compared: ε = 0, the centres fixed."""

    @pytest.mark.parametrize("block_size", [1, 15])
    def test_weights_are_repeated_rows(self, problem, design, block_size):
        x, y = problem(40)
        counts = np.random.default_rng(0).integers(1, 4, 40)
        rows = np.repeat(np.arange(40), counts)
        config = replace(NPD, epsilon=0.0, selection="random", max_centers=40, block_size=block_size)
        weighted = forward_selection(x, y, config, sample_weight=counts.astype(float))
        k = design(x, weighted, config)
        repeated = np.linalg.lstsq(k[rows], y[rows], rcond=1e-13)[0]
        assert_allclose(weighted.fitted, k @ repeated, rtol=0, atol=1e-5)
        few = weighted.weights(10)
        expected = np.linalg.lstsq(k[rows, :11], y[rows], rcond=None)[0]
        assert_allclose(np.vstack([few[1], few[0]]), expected, rtol=1e-7, atol=1e-8)

    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    def test_only_ratios_count(self, problem, config):
        x, y = problem()
        weight = np.random.default_rng(1).uniform(0.2, 2.0, 80)
        one, other = (forward_selection(x, y, config, sample_weight=w) for w in (weight, 1e-3 * weight))
        assert_array_equal(one.indices, other.indices)
        assert_allclose(one.leave_one_out, other.leave_one_out, rtol=0, atol=1e-9)
        equal = forward_selection(x, y, config, sample_weight=np.full(80, 7.0))
        assert_allclose(equal.fitted, forward_selection(x, y, config).fitted, rtol=0, atol=1e-10)


class TestStopping:
    def test_size(self, problem):
        x, y = problem()
        path, longer = forward_selection(x, y, NPD), forward_selection(x, y, replace(NPD, max_centers=30))
        assert (path.size, longer.size) == (15, 30)
        assert_array_equal(path.indices, longer.indices[:15])

    def test_tol_stops_at_the_first_size_within(self, problem, design):
        x, y = problem(noise=0.0)
        config = replace(NPD, stopping="tol", tol=0.05, max_centers=60)
        path = forward_selection(x, y, config)
        assert 0 < path.size < 60
        assert np.abs(y - path.fitted).max() <= 0.05
        before = design(x, path, config, path.size - 1)
        assert np.abs(y - before @ np.linalg.lstsq(before, y, rcond=None)[0]).max() > 0.05

    def test_tol_needs_no_centre_for_a_constant(self, problem):
        x, _ = problem()
        path = forward_selection(x, np.full((80, 1), -2.0), replace(NPD, stopping="tol", tol=1e-9))
        assert path.size == 0
        assert_allclose(path.fitted, -2.0, rtol=1e-12, atol=0)
        assert_allclose(path.leave_one_out, -2.0, rtol=1e-12, atol=0)

    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    @pytest.mark.parametrize("rule", ["gcv", "loo"])
    def test_gcv_and_loo_take_the_best_size(self, problem, config, rule):
        x, y = problem(60, noise=0.8)
        path = forward_selection(x, y, replace(config, stopping=rule, max_centers=60, patience=5))
        assert len(path.indices) == path.size + 5
        scores = []
        for size in range(len(path.indices) + 1):
            part = forward_selection(x, y, replace(config, max_centers=size)) if size else None
            if rule == "gcv":
                scores.append(path.gcv[size])
            elif part is not None:
                scores.append(np.sum((y - part.leave_one_out) ** 2))
            else:
                scores.append(np.sum(((y - y.mean()) * 60 / 59) ** 2))
        assert np.argmin(scores) == path.size
        if path.size:
            alone = forward_selection(x, y, replace(config, max_centers=path.size))
            assert_allclose(path.fitted, alone.fitted, rtol=0, atol=1e-9)
            assert_allclose(path.leave_one_out, alone.leave_one_out, rtol=0, atol=1e-8)

    def test_loo_takes_whole_blocks(self, problem):
        x, y = problem(60, noise=0.8)
        path = forward_selection(x, y, replace(NPD, stopping="loo", max_centers=60, patience=4, block_size=4))
        assert path.size % 4 == 0

    def test_lambda_stops_where_it_has_settled(self, problem):
        x, y = problem(200)
        config = replace(OROLS, stopping="lambda", tol=0.5, patience=6, max_centers=150)
        path = forward_selection(x, y, config)
        assert 6 <= path.size < 150

        def settled(ridges):
            return ridges.min() > 0 and np.ptp(ridges) <= 0.5 * ridges.max()

        assert settled(path.ridges[-7:])
        assert not any(settled(path.ridges[a : a + 7]) for a in range(len(path.ridges) - 7))

    def test_lambda_that_is_still_zero_has_not_settled(self):
        """(3.88) runs away at first: λ stays 0, which is no convergence."""
        rng = np.random.default_rng(3)
        x, y = rng.normal(size=(60, 3)), np.tile([[1.0], [-1.0]], (30, 1))
        path = forward_selection(x, y, replace(OROLS, stopping="lambda", tol=0.9, patience=1, max_centers=59))
        assert_array_equal(path.ridges[:2], 0.0)
        assert path.size > 1

    def test_lambda_is_not_for_npd(self):
        with pytest.raises(ModelError, match='stopping is "lambda", but NPD has no λ; use OROLS'):
            replace(NPD, stopping="lambda")


class TestUnusualData:
    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    @pytest.mark.parametrize("block_size", [1, 8])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("epsilon", [0.0, 1e-6])
    def test_duplicates(self, problem, config, block_size, dtype, epsilon):
        x, y = problem(20)
        config = replace(config, block_size=block_size, epsilon=epsilon, max_centers=60)
        path = forward_selection(np.repeat(x, 3, axis=0).astype(dtype), np.repeat(y, 3, axis=0), config)
        for values in (path.fitted, path.leave_one_out, *path.weights(), path.ridges):
            assert np.isfinite(values).all()
        if epsilon == 0:  # a copy of a centre lies in the span
            assert len(set(path.indices // 3)) == len(path.indices) <= 20

    def test_contradicting_duplicates_get_their_mean(self):
        x = np.array([[0.0], [0.0], [5.0], [5.0]])
        y = np.array([[1.0], [-1.0], [3.0], [1.0]])
        path = forward_selection(x, y, replace(NPD, epsilon=0.0))
        assert_allclose(path.fitted[:, 0], [0.0, 0.0, 2.0, 2.0], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    def test_all_points_equal(self, config):
        y = np.array([[1.0], [2.0], [6.0]])
        path = forward_selection(np.zeros((3, 2)), y, replace(config, epsilon=0.0))
        assert path.size == 0
        shrunk = 2 / (2 + path.ridges[0])  # OROLS shrinks the bias too, docs/papers.md
        assert_allclose(path.leave_one_out[:, 0], shrunk * np.array([4.0, 3.5, 1.5]), rtol=1e-12, atol=0)

    @pytest.mark.parametrize("sigma", [1e-200, 1e-30, 1e-3, 1e3, 1e30, 1e200])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    def test_huge_and_tiny_sigma(self, problem, config, dtype, sigma):
        x, y = problem(30)
        config = replace(config, kernel=replace(GAUSSIAN, sigma=sigma), sigmas=(sigma,), max_centers=30)
        path = forward_selection(x.astype(dtype), y, config)
        for values in (path.fitted, path.leave_one_out, *path.weights(), path.gcv[:-1]):
            assert np.isfinite(values).all()
        if sigma < 1e-2 and not config.regularize:  # every point its own centre
            assert_allclose(path.fitted, y, rtol=0, atol=10 * np.finfo(dtype).eps)

    def test_more_centres_than_points(self, problem):
        x, y = problem(12)
        path = forward_selection(x, y, replace(NPD, max_centers=500, epsilon=1e-3))
        assert path.size == 11  # with the bias that is the whole space
        assert_allclose(path.fitted, y, rtol=0, atol=1e-8)
        assert np.isfinite(path.leave_one_out).all()

    def test_one_point(self):
        path = forward_selection(np.zeros((1, 2)), np.array([[4.0]]), NPD)
        assert path.size == 0
        assert path.fitted.item() == 4.0
        assert np.isfinite(path.leave_one_out).all()

    def test_overflow_is_an_error(self, problem):
        x, y = problem(10)
        config = replace(NPD, kernel=Kernel("polynomial", 1.0, degree=9))
        with pytest.raises(ModelError, match="kernel columns are not finite"):
            forward_selection(1e30 * x, y, config)

    @pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
    def test_single_precision_agrees(self, problem, config):
        x, y = problem(300, n_targets=2)
        x = x.astype(np.float32)
        single, double = (forward_selection(x.astype(t), y, config) for t in (np.float32, np.float64))
        assert_array_equal(single.indices, double.indices)
        assert_allclose(single.fitted, double.fitted, rtol=0, atol=2e-5)
        assert_allclose(single.leave_one_out, double.leave_one_out, rtol=0, atol=2e-5)
        assert_allclose(single.ridges, double.ridges, rtol=1e-3, atol=1e-9)
        assert_allclose(single.gcv, double.gcv, rtol=1e-4, atol=0)

    def test_single_precision_scores_small_errors(self, problem):
        """‖y‖² minus what is explained would cancel to nothing."""
        x, y = problem(300, noise=1e-3)
        x = x.astype(np.float32)
        config = replace(OROLS, max_centers=60)
        single, double = (forward_selection(x.astype(t), 1e3 + y, config) for t in (np.float32, np.float64))
        assert_allclose(single.gcv[-1], double.gcv[-1], rtol=0.2, atol=0)

    def test_far_from_the_origin(self, problem):
        x, y = problem(100)
        there = forward_selection((x + 1000).astype(np.float32), y, NPD)
        here = forward_selection((x + 1000).astype(np.float32).astype(float) - 1000, y, NPD)
        assert_allclose(there.fitted, here.fitted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["gaussian", "polynomial", "sigmoid", "compact"])
@pytest.mark.parametrize("config", [NPD, OROLS], ids=["npd", "orols"])
def test_kernels(problem, design, orthogonal, config, name):
    x, y = problem()
    config = replace(config, kernel=Kernel(name, 2.0, theta=0.5, degree=2), sigmas=(2.0,))
    path = forward_selection(x, y, config)
    q, _ = orthogonal(design(x, path, config))
    expected = q @ np.linalg.solve(q.T @ q + path.ridges[-1] * np.eye(q.shape[1]), q.T @ y)
    assert_allclose(path.fitted, expected, rtol=0, atol=1e-7)


def test_polynomial_stops_at_its_rank(problem):
    x, y = problem()
    config = replace(NPD, kernel=Kernel("polynomial", 1.0, degree=2), epsilon=0.0, max_centers=40)
    path = forward_selection(x, y, config)
    assert path.size == 5  # x, y, x², xy, y² beside the bias
    first, second = x.T
    monomials = np.column_stack([np.ones(len(x)), first, second, first**2, first * second, second**2])
    expected = monomials @ np.linalg.lstsq(monomials, y, rcond=None)[0]
    assert_allclose(path.fitted, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selection": "best"}, 'selection is "best", expected one of: residual, error_reduction, random'),
        ({"stopping": "late"}, 'stopping is "late", expected one of: size, tol, gcv, lambda, loo'),
        ({"max_centers": 0}, "max_centers is 0, expected a whole number of at least 1"),
        ({"block_size": 0}, "block_size is 0, expected a whole number"),
        ({"block_size": 1.5}, "block_size is 1.5, expected a whole number"),
        ({"patience": -1}, "patience is -1, expected a whole number"),
        ({"n_candidates": 0}, "n_candidates is 0, expected a whole number"),
        ({"epsilon": -1e-6}, "epsilon is -1e-06, expected a finite number of at least 0"),
        ({"tol": np.nan}, "tol is nan, expected a finite number of at least 0"),
    ],
)
def test_bad_configuration_is_named(change, message):
    with pytest.raises(ModelError, match=message):
        replace(NPD, **change)
