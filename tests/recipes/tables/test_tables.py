"""The papers' tables: search, splits and layout on small synthetic data; real: docs/results/tables.md."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

from acoustic.discriminants import OROLSClassifier
from asr.errors import CorpusError
from recipes.tables import classification
from recipes.tables.__main__ import main
from recipes.tables.classification import evaluate
from recipes.tables.datasets import Split, fixed_split, partitions, sinc, two_spirals
from recipes.tables.published import BENCHMARKS, CHARACTERS
from recipes.tables.width_search import (
    HIGHEST,
    LOWEST,
    PER_OCTAVE,
    Search,
    Width,
    choose_width,
    median_distance,
)


def blobs(rng: np.random.Generator, n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 2)) + 4.0 * np.column_stack([y, y % 2]), y


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    train, test = blobs(rng, 90, 3), blobs(rng, 60, 3)
    values = rng.normal(size=(506, 3))
    files = {
        "optdigits": {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]},
        "ida_heart": dict(zip(("X", "y"), blobs(rng, 270, 2), strict=True)),
        "boston": {"X": values, "y": values.sum(axis=1)},
    }
    for name, arrays in files.items():
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / f"{name}.npz", **arrays)
    return tmp_path


class TestPrintedTables:
    def test_rows_of_what_is_there_and_what_is_not(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        only = "optdigits,satimage,heart,thyroid,sinc,boston,abalone"
        assert main([str(folder), "--only", only, "--quick"]) == 0
        rows = [
            line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")
        ]
        found = {tuple(cell.strip() for cell in row[:2]): [cell.strip() for cell in row[2:]] for row in rows}
        for name in ("satimage", "thyroid", "abalone"):
            assert (name, "not in the folder") in found
        svm, paper, error, centers, distinct = found["optdigits", "OROLS one-vs-rest"][:5]
        assert (svm, paper) == ("2.73 (12.1)", "1.11 (10.2)")
        assert float(error) < 10.0  # three blobs four deviations apart
        assert float(centers) == pytest.approx(10.2, abs=1.0)
        assert float(centers) <= float(distinct) <= 3 * float(centers) + 0.1
        cv_errors = [cells[-1] for (name, _), cells in found.items() if name == "optdigits"]
        least = min(float(text.rstrip("*")) for text in cv_errors)
        assert {float(text[:-1]) for text in cv_errors if text.endswith("*")} == {least}
        assert found["heart", "2 of ours, 170 / 100"]
        assert float(found["OROLS error_reduction loo", "0.0431"][0].split(" ±")[0]) < 0.1

    def test_same_numbers_again(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        printed = []
        for jobs in ("1", "2"):
            assert main([str(folder), "--only", "optdigits,heart", "--quick", "--jobs", jobs]) == 0
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1]

    def test_unknown_name(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(folder), "--only", "usps,mnist"]) == 2
        assert 'no table has "mnist"' in capsys.readouterr().err

    def test_no_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(tmp_path / "nowhere")]) == 2
        assert "no such folder" in capsys.readouterr().err

    def test_figures(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("matplotlib")
        figures = folder / "figures"
        assert main([str(folder), "--only", "spirals,ripley", "--quick", "--figures", str(figures)]) == 0
        assert (figures / "two_spirals.png").read_bytes().startswith(b"\x89PNG")
        out = capsys.readouterr().out
        assert "Ripley's data (synth): not in the folder" in out
        assert "| 120     | 0 " in out


class TestWidthSearch:
    def test_is_grid_search_of_scikit_learn_on_a_smooth_error(self) -> None:
        rng = np.random.default_rng(3)
        split = sinc(60, 1, 0.05, rng)
        unit = median_distance(split.x, 0)
        factors = 2.0 ** (np.arange(LOWEST, HIGHEST + 1) / PER_OCTAVE)
        model = KernelRidge(alpha=0.01, kernel="rbf")
        grid = GridSearchCV(
            model,
            {"gamma": 0.5 / (unit * factors) ** 2},
            scoring="neg_mean_squared_error",
            cv=KFold(5, shuffle=True, random_state=0),
        ).fit(split.x, split.y)
        chosen = choose_width(
            lambda sigma, _: KernelRidge(alpha=0.01, kernel="rbf", gamma=0.5 / sigma**2),
            [(split.x, split.y)],
            Search(),
        )
        assert 0.5 / chosen.sigma**2 == pytest.approx(grid.best_params_["gamma"], rel=1e-9)
        assert chosen.error == pytest.approx(-grid.best_score_, rel=1e-9)

    def test_never_sees_test_points(self) -> None:
        rng = np.random.default_rng(4)
        x, y = blobs(rng, 80, 2)
        seen: list[int] = []

        def make(sigma: float, n_train: int) -> OROLSClassifier:
            seen.append(n_train)
            return OROLSClassifier(sigma, 5)

        choose_width(make, [(x, y)], Search(is_coarse=True))
        assert set(seen) == {64, 80}  # the folds, and the look at the estimator's kind

    def test_large_sets_are_tuned_on_a_part(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[int] = []

        def choose(make: object, sets: list[tuple[np.ndarray, np.ndarray]], search: Search) -> Width:
            seen.extend(len(x) for x, _ in sets)
            return Width(1.0, 1.0, 0.0)

        monkeypatch.setattr(classification, "choose_width", choose)
        monkeypatch.setattr(classification, "MOST_TUNED", 60)
        classification.characters_table(folder, ["optdigits"], Search())
        assert seen == [60] * 6
        monkeypatch.setattr(classification, "MOST_TUNED", 90)
        classification.characters_table(folder, ["optdigits"], Search())
        assert seen[6:] == [90] * 6 * classification.N_ORDERS


class TestData:
    def test_partitions_are_disjoint_seeded_and_standardised(self, tmp_path: Path) -> None:
        x = np.column_stack([np.arange(50.0), np.arange(50) % 2])
        (tmp_path / "made").mkdir()
        np.savez(tmp_path / "made" / "made.npz", X=x, y=np.arange(50))
        first, second = partitions(tmp_path, "made", 30, 15, 2, seed=1)
        again = next(partitions(tmp_path, "made", 30, 15, 1, seed=1))
        np.testing.assert_array_equal(first.y, again.y)
        assert set(first.y) != set(second.y)
        assert len(set(first.y) | set(first.y_test)) == 45
        assert first.x[:, 0].mean() == pytest.approx(0.0, abs=1e-12)
        assert first.x[:, 0].std() == pytest.approx(1.0, abs=1e-12)
        assert set(first.x[:, 1]) == {0.0, 1.0}  # codes stay

    def test_too_few_points_for_the_papers_sizes(self, folder: Path) -> None:
        with pytest.raises(CorpusError, match="270 points, expected the paper's 200 \\+ 77"):
            next(partitions(folder, "ida_heart", 200, 77, 1, seed=0))

    def test_one_scale_for_all_features_of_a_fixed_split(self, folder: Path) -> None:
        with np.load(folder / "optdigits" / "optdigits.npz") as file:
            scale = np.abs(file["X_train"]).max()
            expected = file["X_test"] / scale
        split = fixed_split(folder, "optdigits")
        assert split.x.dtype == np.float32
        np.testing.assert_allclose(split.x_test, expected, rtol=1e-6, atol=1e-7)

    def test_sinc_has_noise_on_training_points_only(self) -> None:
        split = sinc(2000, 2000, 0.1, np.random.default_rng(0))
        noise, none = (
            y - np.sin(x[:, 0]) / x[:, 0] for x, y in ((split.x, split.y), (split.x_test, split.y_test))
        )
        assert noise.std() == pytest.approx(0.1, rel=0.05)
        np.testing.assert_allclose(none, 0.0, atol=1e-12)

    def test_two_spirals(self) -> None:
        x, y = two_spirals()
        assert x.shape == (194, 2)
        np.testing.assert_allclose(x[y == 0], -x[y == 1], atol=0.0)
        np.testing.assert_allclose(x[0], [0.0, 6.5], atol=1e-12)

    def test_published_sparsity_is_turned_into_centres(self) -> None:
        assert BENCHMARKS["banana"].npd.centers == 13
        assert str(BENCHMARKS["banana"].kfd) == "10.8 ± 0.5"
        assert str(CHARACTERS["optdigits"][1]) == "1.11 (10.2)"


def test_distinct_centres_are_those_of_all_machines_together() -> None:
    rng = np.random.default_rng(5)
    x, y = blobs(rng, 120, 3)
    outcome = evaluate(OROLSClassifier(2.0, 10, multiclass="ovr"), Split(x, y, x, y))
    model = OROLSClassifier(2.0, 10, multiclass="ovr").fit(x, y)
    assert outcome.n_centers == 10
    assert (
        outcome.n_distinct
        == model.n_distinct_centers_
        == len({*np.concatenate(model.machine_center_indices_)})
    )
