"""Hybrid emission models on synthetic states whose posteriors are known."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from acoustic import (
    AcousticModel,
    ModelError,
    Topology,
    TrainingError,
    load_model,
    save_model,
)
from acoustic.emissions import kinds
from acoustic.emissions.aligned_frames import THESIS, AlignedFrames, HybridConfig, aligned_frames, halves
from acoustic.emissions.emission_model import CombinedModel, uncombined
from acoustic.emissions.kinds import EmissionKind
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.hmm.gmm import single_gaussian
from acoustic.kernels.kernel import CenteredGaussian
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from acoustic.ways import check_way, in_words, promised, train_emissions
from asr.systems import HybridSystem, find_system
from features.frontend import FrontEnd, FrontEndConfig
from features.mfcc import MfccConfig

BEST = HybridConfig(sigma=2.0)
PAIRS = replace(THESIS, sigma=2.0)
POOLS = PoolsConfig(n_centers=40, ridge=1e-4, loss="squared", choice="random")
OWN = {
    "pools": POOLS,
    "npd": PairForwardConfig(15),
    "orols": PairForwardConfig(15),
    "svm": SvmConfig(),
}
OWN["krls"] = KrlsConfig()
MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.5], [3.0, 3.0]])


def front_end(n_columns: int) -> FrontEnd:
    return FrontEnd(FrontEndConfig(MfccConfig(n_cepstra=n_columns, energy=False, derivatives=0)))


def utterances(seed: int, n: int = 24, counts: tuple[int, ...] = (14, 10, 8, 6)):
    """Return frames, states and speakers: every utterance visits the states one after the other."""
    rng = np.random.default_rng(seed)
    labels = [np.repeat(np.arange(len(counts)), counts).astype(np.int32) for _ in range(n)]
    frames = [(MEANS[y] + rng.normal(size=(len(y), 2))).astype(np.float32) for y in labels]
    return frames, labels, [f"s{k % 6}" for k in range(n)]


def chosen_frames(config: HybridConfig, data=None, n_states: int = 4) -> AlignedFrames:
    frames, labels, speakers = utterances(0) if data is None else data
    return aligned_frames(
        lambda: enumerate(frames),
        labels,
        halves(speakers),
        n_states,
        max_frames=config.max_frames,
        min_frames=config.min_frames,
        seed=config.seed,
    )


def trained(config: HybridConfig, way="pools", own=None, data=None, n_states: int = 4):
    return train_emissions(way, chosen_frames(config, data, n_states), config, own or OWN.get(way))


@pytest.mark.parametrize(
    ("config", "way", "own"),
    [
        (BEST, "pools", POOLS),
        (BEST, "pools", replace(POOLS, loss="squared-hinge")),
        (replace(BEST, calibration=Calibration("held-out", "gaussian")), "pools", POOLS),
        (replace(BEST, calibration=Calibration("loo", "logistic")), "pools", POOLS),
        (BEST, "pools", replace(POOLS, choice="npd")),
        (BEST, "pools", replace(POOLS, choice="orols")),
        (PAIRS, "npd", None),
        (PAIRS, "orols", None),
        (replace(PAIRS, calibration=Calibration("held-out", "logistic")), "npd", None),
        (replace(PAIRS, calibration=Calibration("loo", "logistic")), "orols", None),
        (BEST, "svm", None),
        (PAIRS, "svm", None),
        (BEST, "krls", None),
        (PAIRS, "krls", None),
        (replace(BEST, calibration=Calibration("loo", "logistic")), "krls", None),
        (BEST, "sklearn:linear_model.LogisticRegression", None),
        (replace(BEST, coupling="wu-lin-weng"), "pools", POOLS),
        (replace(BEST, coupling="hastie-tibshirani"), "pools", POOLS),
    ],
    ids=lambda value: (
        value
        if isinstance(value, str)
        else value.loss
        if isinstance(value, PoolsConfig)
        else f"{value.calibration.outputs}-{value.calibration.curve}-{value.coupling}"
        if value
        else ""
    ),
)
def test_posteriors_are_close_to_the_true_ones(config, way, own) -> None:
    frames, labels, _ = utterances(1)
    x, y = np.concatenate(frames), np.concatenate(labels)
    priors = np.bincount(y) / len(y)
    joint = np.column_stack([multivariate_normal(m).logpdf(x) for m in MEANS]) + np.log(priors)
    true = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    model = trained(config, way, own)
    found = model.log_posteriors(x)
    assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=0, atol=1e-6)
    best_possible = np.mean(true.argmax(axis=1) == y)
    assert np.mean(found.argmax(axis=1) == y) > best_possible - 0.04
    log_loss = -found[np.arange(len(y)), y].mean()
    allowed = 0.4 if config.calibration.curve == "gaussian" else 0.1
    assert log_loss < -true[np.arange(len(y)), y].mean() + allowed
    scores = model.log_likelihoods(x)
    assert scores.dtype == np.float32
    lowest = -np.inf if config.floor is None else -40
    expected = np.maximum(found, lowest) - config.prior_scale * np.log(priors)
    assert_allclose(scores, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("config", "way"), [(BEST, "pools"), (PAIRS, "npd")], ids=["best", "pairs"])
def test_states_with_few_frames_or_none(config, way) -> None:
    """State 4 has three frames like those of state 1 and shares its class; 5 has none and tells nothing."""
    frames, labels, speakers = utterances(0)
    labels = [y.copy() for y in labels]
    labels[0][14:17] = 4
    model = trained(config, way, data=(frames, labels, speakers), n_states=6)
    scores = model.log_likelihoods(np.concatenate(frames))
    assert np.isfinite(scores).all()
    assert_array_equal(scores[:, 4], scores[:, 1])
    assert np.ptp(scores[:, 5]) == 0
    assert model.n_states == 6


@pytest.mark.parametrize(("config", "way"), [(BEST, "pools"), (PAIRS, "npd")], ids=["best", "pairs"])
def test_two_identical_states_share_the_posterior(config, way) -> None:
    rng = np.random.default_rng(2)
    labels = [np.repeat([0, 1, 2], 20).astype(np.int32) for _ in range(12)]
    means = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    frames = [(means[y] + rng.normal(size=(60, 2))).astype(np.float32) for y in labels]
    model = trained(config, way, data=(frames, labels, [f"s{k % 4}" for k in range(12)]), n_states=3)
    found = np.exp(model.log_posteriors(np.zeros((5, 2), np.float32)))
    assert np.isfinite(found).all()
    assert_allclose(found[:, 0], found[:, 1], rtol=0.5, atol=0)


def test_same_seed_same_bytes_other_seed_other_centers() -> None:
    chosen = chosen_frames(BEST)
    one, two = (train_emissions("pools", chosen, BEST, POOLS, n) for n in (1, 2))
    assert_array_equal(one.machines.weights, two.machines.weights)
    assert_array_equal(one.curves, two.curves)
    other = train_emissions("pools", chosen, replace(BEST, seed=1), POOLS)
    assert not np.array_equal(one.machines.centers, other.machines.centers)


def test_scores_do_not_depend_on_neighbours() -> None:
    model = trained(BEST)
    x = np.concatenate(utterances(3)[0])
    whole = model.log_likelihoods(x)
    for n in (1, 3, 130):
        assert_allclose(model.log_likelihoods(x[:n]), whole[:n], rtol=0, atol=2e-3)
    assert model.log_likelihoods(x[:0]).shape == (0, 4)


@pytest.mark.parametrize("curve", ["gaussian", "logistic"])
@pytest.mark.parametrize("way", ["npd", "pools", "svm"])
def test_prior_odds_of_pairs_are_of_all_frames(way, curve) -> None:
    config = replace(PAIRS, calibration=Calibration("fitted", curve), max_frames=50)
    chosen = chosen_frames(config)
    one = train_emissions(way, chosen, config, OWN[way]).curves
    more = replace(chosen, counts=chosen.counts * [5, 1, 1, 1])
    shifted = train_emissions(way, more, config, OWN[way]).curves
    assert_allclose(shifted - one, np.log(5) * np.outer([1, 1, 1, 0, 0, 0], [0, 0, 1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("coupling", ["wu-lin-weng", "hastie-tibshirani"])
def test_no_coupling_evaluates_the_machines_twice(coupling, monkeypatch) -> None:
    model = trained(replace(BEST, coupling=coupling))
    calls = []
    values = CenteredGaussian.values

    def counted(kernel, left, right):
        calls.append(right)
        return values(kernel, left, right)

    monkeypatch.setattr(CenteredGaussian, "values", counted)
    model.log_posteriors(np.zeros((10, 2), np.float32))
    for found, of_class in zip(calls, model.machines.center_blocks, strict=True):  # once for each class
        assert_array_equal(found, of_class)


def test_a_support_vector_machine_has_no_outputs_of_frames_left_out() -> None:
    with pytest.raises(ModelError, match=r'calibration\.outputs is "loo", expected fitted or held-out'):
        trained(replace(BEST, calibration=Calibration("loo", "logistic")), "svm")


@pytest.mark.parametrize(
    ("config", "way"),
    [
        (BEST, "pools"),
        (PAIRS, "npd"),
        (replace(BEST, coupling="wu-lin-weng"), "svm"),
        (BEST, "krls"),
        (BEST, "sklearn:linear_model.LogisticRegression"),
        (BEST, "sklearn:naive_bayes.GaussianNB"),
        (BEST, "sklearn:discriminant_analysis.LinearDiscriminantAnalysis"),
        (BEST, "sklearn:neural_network.MLPClassifier"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_saved_and_loaded_is_the_same(config, way, tmp_path: Path) -> None:
    topology = Topology.monophones(["A"], n_states=2)
    model = AcousticModel(front_end(2), topology, trained(config, way), np.ones(4))
    save_model(model, tmp_path)
    x = np.concatenate(utterances(4)[0])
    loaded = load_model(tmp_path)
    assert_array_equal(loaded.emissions.log_likelihoods(x), model.emissions.log_likelihoods(x))


def test_a_damaged_description_is_one_line(tmp_path: Path) -> None:
    topology = Topology.monophones(["A"], n_states=2)
    save_model(AcousticModel(FrontEnd(FrontEndConfig()), topology, trained(BEST), np.ones(4)), tmp_path)
    path = tmp_path / "model.json"
    text = path.read_text()
    path.write_text(text.replace('"kind": "pairwise"', '"kind": "forest"'))
    with pytest.raises(ModelError, match='kind "forest" is not known, expected one of: gmm, pairwise'):
        load_model(tmp_path)
    path.write_text(text.replace('"sigma"', '"width"'))
    with pytest.raises(ModelError, match="no 'sigma'; expected a model as asr train writes it"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sklearn:svm.SVR", "SVR: no model file may hold it"),
        ("sklearn:linear_model.Nothing", "no such class; expected a classifier that has posteriors"),
        ("sklearn:os.path", "no such class"),
    ],
)
def test_what_is_no_classifier(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        trained(BEST, name)


def test_a_classifier_that_cannot_be_stored_is_refused_before_it_is_trained() -> None:
    for name in ("sklearn:tree.DecisionTreeClassifier", "sklearn:neighbors.KNeighborsClassifier"):
        with pytest.raises(
            ModelError, match=r"no model file may hold it, .*; expected a classifier that has posteriors"
        ):
            check_way(name, BEST)


def test_errors_name_what_to_change() -> None:
    with pytest.raises(TrainingError, match=r'units is "triphone" .*, expected one of: phone, context'):
        HybridConfig(units="triphone")
    with pytest.raises(TrainingError, match="sigma: expected 1e-6 to 1e6, got 0"):
        HybridConfig(sigma=0)
    with pytest.raises(ModelError, match=r'outputs is "left-out" .*, expected one of: fitted, loo, held-out'):
        Calibration("left-out")
    with pytest.raises(TrainingError, match="0 states have 1000 frames or more"):
        chosen_frames(replace(BEST, min_frames=1000))


def test_combined_with_a_mixture_model_and_stored(tmp_path: Path) -> None:
    hybrid = trained(BEST)
    mixtures = single_gaussian(6, np.zeros(3), np.ones(3))
    states = np.array([5, 0, 0, 2], dtype=np.int32)
    model = CombinedModel(hybrid, mixtures, 2, 1, 0.3, states)
    assert uncombined(model) is hybrid
    assert uncombined(mixtures) is mixtures
    x = np.random.default_rng(5).normal(size=(20, 4)).astype(np.float32)
    expected = hybrid.log_likelihoods(x[:, :2]) + 0.3 * mixtures.log_likelihoods(x[:, 1:])[:, states]
    assert_allclose(model.log_likelihoods(x), expected, rtol=1e-6, atol=1e-5)
    topology = Topology.monophones(["A"], n_states=2)
    save_model(AcousticModel(front_end(4), topology, model, np.ones(4)), tmp_path)
    assert_array_equal(load_model(tmp_path).emissions.log_likelihoods(x), model.log_likelihoods(x))


@dataclass(frozen=True)
class Constant:
    """A plugin's model: the same scores for every frame."""

    scores: np.ndarray

    @property
    def n_states(self) -> int:
        return len(self.scores)

    def log_likelihoods(self, frames: np.ndarray) -> np.ndarray:
        return np.tile(self.scores, (len(frames), 1)).astype(np.float32)


def test_a_plugin_trains_and_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kind = EmissionKind(
        Constant,
        lambda model: ({"scores": model.scores}, {}),
        lambda tensors, _: Constant(tensors["scores"]),
        lambda data: Constant(np.log(data.counts)[data.class_of_state]),
    )
    entry = SimpleNamespace(name="constant", value="plugin:kind", load=lambda: kind)
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    kinds.find_kind.cache_clear()
    assert isinstance(find_system("constant"), HybridSystem)
    model = trained(BEST, "constant")
    topology = Topology.monophones(["A"], n_states=2)
    save_model(AcousticModel(front_end(4), topology, model, np.ones(4)), tmp_path)
    assert_array_equal(load_model(tmp_path).emissions.scores, model.scores)
    kinds.find_kind.cache_clear()


def test_what_no_one_trains() -> None:
    with pytest.raises(TrainingError, match='"gmm" cannot be trained, expected one of: pools, npd, orols, '):
        trained(BEST, "gmm")
    with pytest.raises(ModelError, match='kind "forest" is not known'):
        trained(BEST, "forest")


def test_people_are_told_what_a_model_is_made_of() -> None:
    model = CombinedModel(trained(BEST), single_gaussian(6, np.zeros(3), np.ones(3)), 2, 1, 0.3, np.zeros(4))
    described = kinds.describe(model)
    assert described["kind"] == "combined"
    assert described["second"] == {"kind": "gmm", "gaussians": 6, "gaussians_a_state": 1, "features": 3}
    first = described["first"]
    assert (first["kind"], first["classes"], first["pairs"], first["centers"]) == ("pairwise", 4, 6, 160)
    assert first["centers_are_chosen_by"] == "random"


@pytest.mark.parametrize(
    ("config", "way", "own", "said"),
    [
        (BEST, "pools", POOLS, "random"),
        (BEST, "pools", replace(POOLS, choice="npd"), "npd"),
        (BEST, "pools", replace(POOLS, choice="orols"), "orols"),
        (PAIRS, "npd", None, "npd"),
        (PAIRS, "orols", None, "orols"),
        (PAIRS, "svm", None, "svm"),
    ],
)
def test_people_are_told_how_centers_were_chosen(config, way, own, said) -> None:
    model = trained(config, way, own)
    tensors, options = kinds.find_kind("pairwise").pack(model)
    again = kinds.find_kind("pairwise").unpack(tensors, options)
    assert kinds.describe(again)["centers_are_chosen_by"] == said
    del options["chosen_by"]
    older = kinds.find_kind("pairwise").unpack(tensors, options)
    assert kinds.describe(older)["centers_are_chosen_by"] == "unknown"


@pytest.mark.parametrize(
    ("config", "way", "own", "said"),
    [
        (
            BEST,
            "pools",
            POOLS,
            "pairs of states share up to 40 centres a state, drawn at random; least squares",
        ),
        (
            BEST,
            "pools",
            replace(POOLS, choice="npd", loss="squared-hinge"),
            "pairs of states share up to 40 centres a state, chosen by NPD in blocks; squared hinge",
        ),
        (PAIRS, "npd", None, "thesis Algorithm 1 (NPD), own centres for each pair"),
        (PAIRS, "orols", None, "thesis Algorithm 2 (OROLS), own centres for each pair"),
        (PAIRS, "svm", None, "a support vector machine for each pair"),
        (BEST, "krls", None, "kernel recursive least squares (KRLS), each state against all others"),
        (BEST, "sklearn:linear_model.LogisticRegression", None, "LogisticRegression of scikit-learn"),
        (
            BEST,
            "sklearn:acoustic.discriminants.MSEClassifier",
            None,
            "MSEClassifier of acoustic.discriminants",
        ),
    ],
)
def test_what_is_trained_is_said_in_the_same_words_before_and_afterwards(config, way, own, said) -> None:
    own = own or OWN.get(way)
    assert in_words(promised(way, own)) == said
    assert in_words(kinds.describe(trained(config, way, own))) == said


def test_older_models_are_described_as_far_as_they_tell() -> None:
    model = trained(BEST, "pools", replace(POOLS, choice="orols"))
    tensors, options = kinds.find_kind("pairwise").pack(model)
    del options["loss"]
    older = kinds.find_kind("pairwise").unpack(tensors, options)
    said = "pairs of states share up to 40 centres a state, chosen by OROLS in blocks"
    assert in_words(kinds.describe(older)) == said
    del options["chosen_by"]
    oldest = kinds.find_kind("pairwise").unpack(tensors, options)
    assert in_words(kinds.describe(oldest)).endswith("chosen in a way that its files do not name")


def test_the_dictionary_of_krls_covers_all_classes(caplog: pytest.LogCaptureFixture) -> None:
    """Frames lie class by class; taken in that order, a full dictionary has seen one class alone."""
    frames = [np.random.default_rng(k).normal(size=(400, 2)).astype(np.float32) for k in range(6)]
    labels = [np.repeat([0, 1], 200).astype(np.int32)] * 6
    for f in frames:
        f[200:] += 0.5
    config = replace(BEST, sigma=0.02)
    with caplog.at_level(logging.INFO, "acoustic.emissions.one_vs_rest"):
        trained(config, "krls", data=(frames, labels, list("abcdef")), n_states=2)
    assert "a dictionary of 1000 frames of 2 of 2 classes" in caplog.text


def test_classes_that_cannot_be_held_out_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    chosen = chosen_frames(BEST)
    alone = replace(chosen, folds=np.where(chosen.codes == 1, 0, chosen.folds).astype(np.int32))
    assert_array_equal(alone.classes_of_one_fold(), [1])
    with caplog.at_level(logging.INFO, "acoustic.ways"):
        train_emissions("pools", chosen, BEST, POOLS)
        assert caplog.text == ""
        train_emissions("pools", alone, BEST, POOLS)
    assert "1 of 4 classes have frames in one half of the speakers only" in caplog.text


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_of_others_draw_by_the_seed() -> None:
    x = np.concatenate(utterances(4)[0])
    first, again, other = (
        trained(replace(BEST, seed=seed), "sklearn:neural_network.MLPClassifier") for seed in (3, 3, 4)
    )
    assert_array_equal(first.log_likelihoods(x), again.log_likelihoods(x))
    assert np.abs(first.log_likelihoods(x) - other.log_likelihoods(x)).max() > 1e-3


def test_what_cannot_be_trained_is_refused_before_training() -> None:
    with pytest.raises(TrainingError, match='"gmm" cannot be trained, expected one of: pools, npd, orols, '):
        check_way("gmm", BEST)
    with pytest.raises(ModelError, match=r'calibration\.outputs is "loo", expected fitted or held-out'):
        check_way("svm", replace(BEST, calibration=Calibration("loo", "logistic")))
    with pytest.raises(TrainingError, match="seed: expected at least 0, got -1"):
        HybridConfig(seed=-1)
