"""The benchmark of RM1's size: its generated states, its measures, and what it computes from unit costs."""

import hours_960
import numpy as np
import pytest
import rm1_frames
import rm1_measures
import rm1_sized
from hours_960 import Plan, UnitCosts, costs_of, hours_table
from numpy.testing import assert_allclose, assert_array_equal
from rm1_overlap import overlap, parts_of_halves

from acoustic.pairs.class_frames import LabelledFrames

UNIT = UnitCosts(
    npd=((100, 0.2), (400, 1.6)),
    svm=(100, 2.0, 2.0),
    rivals_s=1e-3,
    rivals_bytes=(50.0, 7.0),
    centers=10.0,
    distinct=0.5,
)


class TestFrames:
    def test_each_state_has_as_many(self):
        frames = rm1_frames.generated_frames(6, 5)
        assert frames.x.shape == (30, 39)
        assert frames.x.dtype == np.float32
        assert_array_equal(frames.counts, np.bincount(frames.codes))
        assert_array_equal(frames.codes, np.repeat(np.arange(5), 6))

    def test_few_states_are_the_first_of_many(self):
        few, many = (rm1_frames.generated_frames(4, n).x for n in (3, 7))
        assert_array_equal(few, many[:12])

    def test_new_frames_are_others_of_the_same_states(self):
        frames, new = (rm1_frames.generated_frames(3000, 6, part).x for part in (0, 1))
        assert (frames != new).any(axis=1).all()
        means, new_means = (x.reshape(6, 3000, 39).mean(axis=1) for x in (frames, new))
        between = np.linalg.norm(means[:, None] - new_means, axis=2)
        assert_array_equal(between.argmin(axis=1), np.arange(6))
        assert between.diagonal().max() < 0.5

    def test_states_of_a_phone_are_nearer_than_those_of_others(self):
        means = rm1_frames.generated_frames(300, 60).x.reshape(60, 300, 39).mean(axis=1)
        distance = np.linalg.norm(means[:, None] - means, axis=2)
        of_phone = np.arange(60) // 3 == np.arange(60)[:, None] // 3
        np.fill_diagonal(of_phone, False)
        other = np.arange(60) // 3 != np.arange(60)[:, None] // 3
        assert distance[of_phone].mean() < 0.7 * distance[other].mean()


class TestOverlap:
    @staticmethod
    def found(shift):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(400, 39)).astype(np.float32)
        codes = np.repeat([0, 1], 200).astype(np.int32)
        x[codes == 1] += shift
        folds = (np.arange(400) % 2).astype(np.int32)
        return overlap(parts_of_halves(LabelledFrames(x, codes, folds, np.full(2, 200.0)), 100))

    def test_of_distant_states(self):
        found = self.found(3.0)
        assert (found.below_1, found.below_10, found.above, found.error) == (1, 0, 0, 0)
        assert (found.states, found.pairs, found.svm_error) == (2, 1, 0)
        assert 2 <= found.support_vectors < 200

    def test_of_the_same_state_twice(self):
        found = self.found(0.0)
        assert found.above == 1
        assert found.error == pytest.approx(0.5, abs=0.15)
        assert found.training_error < found.error


def test_errors_are_counted_among_the_frames_of_a_pair():
    pairs, codes = np.array([[0, 1], [0, 2], [1, 2]]), np.array([0, 0, 1, 2, 2])
    outputs = np.array([[1, 1, 9], [-1, 1, 9], [-1, 9, -1], [9, 1, -1], [9, -1, 1]], dtype=np.float32)
    found = rm1_measures.pair_errors(outputs, pairs, codes)
    assert_allclose(found, [1 / 3, 1 / 4, 2 / 3], rtol=1e-12, atol=0)


@pytest.mark.parametrize("form", ["single", "half"])
def test_stored_forms_are_the_same_machines(form, tmp_path, monkeypatch):
    monkeypatch.setattr(
        rm1_measures, "generated_frames", lambda n, *_, **__: rm1_frames.generated_frames(n, 4)
    )
    monkeypatch.setattr(rm1_measures, "drawn_pairs", lambda _: rm1_measures.all_pairs(4))
    path = tmp_path / "machines.safetensors"
    record = rm1_measures.train(6, 60, path)
    assert (record["pairs"], record["frames"]) == (6, 240)
    assert record["file_mb"] == path.stat().st_size / 1e6
    tensors = rm1_measures.load_file(path)
    machines, curves = rm1_measures._loaded(tensors)
    others, other_curves = rm1_measures._loaded(rm1_measures.stored_forms(tensors)[form])
    x = rm1_frames.generated_frames(60, 4).x
    assert (machines.outputs(x)[:60, 0] > 0).mean() > 0.95
    monkeypatch.setattr(rm1_measures, "_NEW_OF_SAMPLE", 60)
    codes = np.repeat(np.arange(4), 60)
    assert_allclose(
        rm1_measures.sample_errors(machines),
        rm1_measures.pair_errors(machines.outputs(x), machines.pairs, codes),
        rtol=1e-12,
        atol=0,
    )
    tolerance = {"single": 1e-5, "half": 0.2}[form]
    assert_allclose(others.outputs(x), machines.outputs(x), rtol=0, atol=tolerance)
    assert_allclose(other_curves, curves, rtol=1e-6, atol=1e-6)


class TestHours:
    def test_seconds_of_a_pair_are_those_measured(self):
        assert_allclose([UNIT.npd_s(n) for n in (100, 400)], [0.2, 1.6], rtol=1e-12, atol=0)
        assert UNIT.npd_s(200) == pytest.approx(200 * 0.003)  # between 0.002 and 0.004 a frame
        assert UNIT.npd_s(4000) == pytest.approx(16.0)  # a frame costs what it did at most
        assert UNIT.svm_s(300) == pytest.approx(18.0)

    def test_rivals_go_through_the_models_that_were_trained(self):
        for n_states, n_pairs in hours_960.RIVALS_FOUND:
            assert hours_960.n_rivals(n_states) == pytest.approx(n_pairs)

    def test_a_plan(self):
        found = costs_of(Plan(10, 400), UNIT)
        assert found["pairs, all"] == 45
        assert found["frames kept, millions"] == pytest.approx(0.004)
        assert found["CPU hours, NPD, all pairs"] == pytest.approx(45 * 1.6 / 3600)
        assert found["CPU hours, libsvm, all pairs"] == pytest.approx(45 * 32 / 3600)
        assert found["CPU hours, rivals"] == pytest.approx(found["pairs of rivals"] * 0.4 / 3600)
        assert found["tasks of 16 pairs"] == 3
        assert found["cores that one scheduler keeps busy, 1 ms a task"] == pytest.approx(25_600)
        assert found["GB of fitted pairs that one process gathers"] == pytest.approx(450 * 24 / 1e9)
        assert found["MB a task reads"] == pytest.approx(17 * 400 * 156 / 1e6)
        assert found["model GB, NPD, half"] == pytest.approx((450 * 6 + 225 * 78) / 1e9)
        assert found["MB a second and core, 4 × 4 pairs"] == pytest.approx(8 * 400 * 156 / 16 / 1.6 / 1e6)
        assert found["GB of a thread's basis"] == pytest.approx(800 * 11 * 4 / 1e9)

    def test_all_frames_are_those_of_960_hours(self):
        assert Plan(147).n_each * 147 == pytest.approx(960 * 360_000)
        assert Plan(10**6, 9000).n_each == pytest.approx(345.6)

    def test_costs_of_a_pair(self):
        rows = hours_960.unit_table(UNIT).splitlines()
        assert "| 400 | 1.6 | 4,000 | 32 (E) | 0.4 (E) |" in rows
        assert "| 9,000 | 36 (E) | 4,000 (E) | 16,200 (E) | 9 (E) |" in rows

    def test_the_table_has_a_column_for_each_plan(self):
        rows = hours_table(UNIT, [Plan(147, 9000), Plan(5000)]).splitlines()
        assert rows[0] == "|  | 147 states, at most 9,000 frames a state | 5,000 states, all frames |"
        assert {row.count("|") for row in rows} == {4}


@pytest.fixture
def records():
    """Return records as `rm1_sized` keeps them: seconds grow with pairs, and libsvm's with squared frames."""

    def npd(pairs, n):
        return {
            "pairs": pairs,
            "frames_a_state": n,
            "frames": 147 * n,
            "cpu_s": 1e-6 * pairs * n,
            "wall_s": 9.0,
            "workers": 2,
            "peak_mb": 500.0,
            "peak_before_mb": 300.0,
            "centers_a_pair": 100.0,
            "distinct_centers": 40 * pairs,
        }

    def svm(n):
        seconds = [1e-6 * n**2, 3e-6 * n**2]
        return {
            "pairs": [[0, 1], [0, 2]],
            "frames_a_state": n,
            "cpu_s_a_pair": seconds,
            "support_vectors": [300, 500],
            "scoring_us": [10.0, 30.0],
            "errors": [0.01, 0.03],
            "peak_mb": 250.0,
        }

    sizes = [(200, 1000), (400, 1000), (400, 500)]
    found = {f"npd-{p}-{n}": npd(p, n) for p, n in sizes} | {f"svm-{n}": svm(n) for n in (500, 1000)}
    found["rivals-1000"] = {
        "pairs": 50,
        "frames_a_state": 1000,
        "cpu_s": 5.0,
        "bytes_a_pair": 400.0,
        "bytes_a_state": 9.0,
    }
    found["far-4000"] = {"pairs": 3, "frames_a_state": 4000, "cpu_s": 0.024}
    found["score"] = {
        "scoring_1": {"cpu_us_a_frame": 500.0},
        "sizes_mb": {"as saved": 20.0, "single": 15.0, "half": 10.0},
        "error": 0.02,
        "error_of_sample": 0.015,
        "frames_right": 0.7,
        "other_best_half": 0.001,
    }
    return found


class TestTables:
    def test_slopes(self, records):
        assert rm1_sized.slopes(records) == {"pairs": 1.0, "frames": 1.0, "svm_frames": 2.0}

    def test_libsvm_is_extrapolated_from_its_sample(self, records):
        table = rm1_sized.cost_table(records)
        assert "| training, CPU s | 0.4 | 800 ± 400 (E) |" in table
        assert "| scoring, × real time | 0.050 | 0.8 (E) |" in table
        assert "| error of the 2 sampled pairs on new frames, % | 1.50 | 2.00 |" in table

    def test_growth(self, records):
        table = rm1_sized.growth_table(records)
        assert "| 200 | 1,000 | 0.2 | 1.00 | 500 | 8,000 | 400 |" in table
        assert "| 400 | 500 | 0.2 | 0.50 | 500 | 16,000 | 200 |" in table
        assert table.count("| 400 | 1,000 |") == 1

    def test_unit_costs(self, records):
        unit = hours_960.unit_costs(records, 2.0)
        assert_allclose(unit.npd, [(500, 5e-4), (1000, 1e-3), (4000, 8e-3)], rtol=1e-12, atol=0)
        assert unit.svm == (1000, 2.0, 2.0)
        assert unit.rivals_s == pytest.approx(1e-4)
        assert unit.distinct == pytest.approx(0.4)

    def test_the_figure_is_drawn(self, records, tmp_path):
        rm1_sized.draw(records, tmp_path / "growth.png")
        assert (tmp_path / "growth.png").stat().st_size > 10_000

    def test_sections_replace_those_of_the_page(self, records, tmp_path, monkeypatch):
        page = tmp_path / "page.md"
        page.write_text("Head.\n\n<!-- begin cost -->\nold\n<!-- end cost -->\n\nTail.\n")
        monkeypatch.setattr(rm1_sized, "PAGE", page)
        rm1_sized.write_page(rm1_sized.tables(records))
        text = page.read_text()
        assert text.startswith("Head.")
        assert "old" not in text
        assert "Tail." in text
        assert "<!-- end hours-960 -->" in text
