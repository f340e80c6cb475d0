"""Hybrid emission models on synthetic states whose posteriors are known."""

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
from acoustic.emissions.combined import CombinedModel, uncombined
from acoustic.emissions.hybrid import THESIS, HybridConfig, aligned_frames, train_emissions
from acoustic.emissions.kinds import EmissionKind
from acoustic.hmm.gmm import single_gaussian
from asr.systems import HybridSystem, find_system
from features.frontend import FrontEnd, FrontEndConfig

BEST = HybridConfig(n_centers=40, sigma=2.0, ridge=1e-4)
PAIRS = replace(THESIS, n_centers=15, sigma=2.0)
MEANS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.5], [3.0, 3.0]])


def utterances(seed: int, n: int = 24, counts: tuple[int, ...] = (14, 10, 8, 6)):
    """Return frames, states and speakers: every utterance visits the states one after the other."""
    rng = np.random.default_rng(seed)
    labels = [np.repeat(np.arange(len(counts)), counts).astype(np.int32) for _ in range(n)]
    frames = [(MEANS[y] + rng.normal(size=(len(y), 2))).astype(np.float32) for y in labels]
    return frames, labels, [f"s{k % 6}" for k in range(n)]


def trained(config: HybridConfig, classifier="npd", data=None, n_states: int = 4):
    chosen = aligned_frames(*(utterances(0) if data is None else data), n_states, config)
    return train_emissions(classifier, chosen, config)


@pytest.mark.parametrize(
    ("config", "classifier"),
    [
        (BEST, "npd"),
        (replace(BEST, loss="squared-hinge"), "npd"),
        (replace(BEST, calibration="gaussian"), "npd"),
        (replace(BEST, pool="kmeans"), "npd"),
        (replace(BEST, pool="npd"), "npd"),
        (replace(BEST, pool="orols"), "orols"),
        (PAIRS, "npd"),
        (PAIRS, "orols"),
        (BEST, "svm"),
        (PAIRS, "svm"),
        (BEST, "krls"),
        (PAIRS, "krls"),
        (BEST, "sklearn:linear_model.LogisticRegression"),
        (replace(BEST, coupling="wu-lin-weng"), "npd"),
        (replace(BEST, coupling="hastie-tibshirani", n_coupled=3), "npd"),
    ],
    ids=lambda value: (
        value
        if isinstance(value, str)
        else f"{value.centers}-{value.pool}-{value.loss}-{value.coupling}-{value.calibration}"
    ),
)
def test_posteriors_are_close_to_the_true_ones(config, classifier) -> None:
    frames, labels, _ = utterances(1)
    x, y = np.concatenate(frames), np.concatenate(labels)
    priors = np.bincount(y) / len(y)
    joint = np.column_stack([multivariate_normal(m).logpdf(x) for m in MEANS]) + np.log(priors)
    true = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    model = trained(config, classifier)
    found = model.log_posteriors(x)
    assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=0, atol=1e-6)
    best_possible = np.mean(true.argmax(axis=1) == y)
    assert np.mean(found.argmax(axis=1) == y) > best_possible - 0.04
    log_loss = -found[np.arange(len(y)), y].mean()
    allowed = 0.4 if config.calibration == "gaussian" else 0.1
    assert log_loss < -true[np.arange(len(y)), y].mean() + allowed
    scores = model.log_likelihoods(x)
    assert scores.dtype == np.float32
    expected = np.maximum(found, config.floor) - config.prior_scale * np.log(priors)
    assert_allclose(scores, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("config", [BEST, PAIRS], ids=["best", "pairs"])
def test_states_with_few_frames_or_none(config) -> None:
    """State 4 has three frames like those of state 1 and shares its class; 5 has none and tells nothing."""
    frames, labels, speakers = utterances(0)
    labels = [y.copy() for y in labels]
    labels[0][14:17] = 4
    model = trained(config, data=(frames, labels, speakers), n_states=6)
    scores = model.log_likelihoods(np.concatenate(frames))
    assert np.isfinite(scores).all()
    assert_array_equal(scores[:, 4], scores[:, 1])
    assert np.ptp(scores[:, 5]) == 0
    assert model.n_states == 6


@pytest.mark.parametrize("config", [BEST, PAIRS], ids=["best", "pairs"])
def test_two_identical_states_share_the_posterior(config) -> None:
    rng = np.random.default_rng(2)
    labels = [np.repeat([0, 1, 2], 20).astype(np.int32) for _ in range(12)]
    means = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    frames = [(means[y] + rng.normal(size=(60, 2))).astype(np.float32) for y in labels]
    model = trained(config, data=(frames, labels, [f"s{k % 4}" for k in range(12)]), n_states=3)
    found = np.exp(model.log_posteriors(np.zeros((5, 2), np.float32)))
    assert np.isfinite(found).all()
    assert_allclose(found[:, 0], found[:, 1], rtol=0.5, atol=0)


def test_same_seed_same_bytes_other_seed_other_centers() -> None:
    chosen = aligned_frames(*utterances(0), 4, BEST)
    one, two = (train_emissions("npd", chosen, BEST, n) for n in (1, 2))
    assert_array_equal(one.machines.weights, two.machines.weights)
    assert_array_equal(one.curves, two.curves)
    other = train_emissions("npd", chosen, replace(BEST, seed=1))
    assert not np.array_equal(one.machines.centers, other.machines.centers)


def test_scores_do_not_depend_on_neighbours() -> None:
    model = trained(BEST)
    x = np.concatenate(utterances(3)[0])
    whole = model.log_likelihoods(x)
    for n in (1, 3, 130):
        assert_allclose(model.log_likelihoods(x[:n]), whole[:n], rtol=0, atol=2e-3)
    assert model.log_likelihoods(x[:0]).shape == (0, 4)


def test_few_frames_are_drawn_but_priors_are_of_all() -> None:
    chosen = aligned_frames(*utterances(0), 4, replace(BEST, max_frames=50))
    assert_array_equal(np.bincount(chosen.codes), [50] * 4)
    assert_array_equal(chosen.counts, [14 * 24, 10 * 24, 8 * 24, 6 * 24])
    assert set(chosen.folds) == {0, 1}
    alone = aligned_frames(*utterances(0)[:2], ["one"] * 24, 4, BEST)
    assert set(alone.folds) == {0, 1}


@pytest.mark.parametrize("calibration", ["gaussian", "logistic"])
@pytest.mark.parametrize("centers", ["pair", "state"])
def test_prior_odds_of_pairs_are_of_all_frames(centers, calibration) -> None:
    config = replace(PAIRS, centers=centers, calibration=calibration, max_frames=50)
    chosen = aligned_frames(*utterances(0), 4, config)
    one = train_emissions("npd", chosen, config).curves
    more = train_emissions("npd", chosen._replace(counts=chosen.counts * [5, 1, 1, 1]), config).curves
    assert_allclose(more - one, np.log(5) * np.outer([1, 1, 1, 0, 0, 0], [0, 0, 1]), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("config", "classifier"),
    [
        (BEST, "npd"),
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
def test_saved_and_loaded_is_the_same(config, classifier, tmp_path: Path) -> None:
    topology = Topology.monophones(["A"], n_states=2)
    model = AcousticModel(FrontEnd(FrontEndConfig()), topology, trained(config, classifier), np.ones(4))
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
        ("sklearn:svm.SVR", "expected a classifier with predict_proba, got SVR"),
        ("sklearn:linear_model.Nothing", "no such class; expected module.Class"),
        ("sklearn:os.path", "no such class"),
    ],
)
def test_what_is_no_classifier(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        trained(BEST, name)


def test_a_classifier_that_cannot_be_stored_without_pickle(tmp_path: Path) -> None:
    topology = Topology.monophones(["A"], n_states=2)
    emissions = trained(BEST, "sklearn:tree.DecisionTreeClassifier")
    assert np.isfinite(emissions.log_likelihoods(utterances(1)[0][0])).all()
    with pytest.raises(ModelError, match=r"Classifier\.tree_ is a Tree: models are stored without"):
        save_model(AcousticModel(FrontEnd(FrontEndConfig()), topology, emissions, np.ones(4)), tmp_path)


def test_errors_name_what_to_change() -> None:
    with pytest.raises(TrainingError, match='units is "triphone", expected one of: phone, context'):
        HybridConfig(units="triphone")
    with pytest.raises(TrainingError, match="n_centers: expected at least 1, got 0"):
        HybridConfig(n_centers=0)
    frames, labels, speakers = utterances(0)
    with pytest.raises(TrainingError, match="0 states have 1000 frames or more"):
        aligned_frames(frames, labels, speakers, 4, replace(BEST, min_frames=1000))


def test_combined_with_a_mixture_model_and_stored(tmp_path: Path) -> None:
    frames, labels, speakers = utterances(0)
    chosen = aligned_frames(frames, labels, speakers, 4, BEST)
    hybrid = train_emissions("npd", chosen, BEST)
    mixtures = single_gaussian(6, np.zeros(3), np.ones(3))
    states = np.array([5, 0, 0, 2], dtype=np.int32)
    model = CombinedModel(hybrid, mixtures, 2, 1, 0.3, states)
    assert uncombined(model) is hybrid
    assert uncombined(mixtures) is mixtures
    x = np.random.default_rng(5).normal(size=(20, 4)).astype(np.float32)
    expected = hybrid.log_likelihoods(x[:, :2]) + 0.3 * mixtures.log_likelihoods(x[:, 1:])[:, states]
    assert_allclose(model.log_likelihoods(x), expected, rtol=1e-6, atol=1e-5)
    topology = Topology.monophones(["A"], n_states=2)
    save_model(AcousticModel(FrontEnd(FrontEndConfig()), topology, model, np.ones(4)), tmp_path)
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
    save_model(AcousticModel(FrontEnd(FrontEndConfig()), topology, model, np.ones(4)), tmp_path)
    assert_array_equal(load_model(tmp_path).emissions.scores, model.scores)
    kinds.find_kind.cache_clear()


def test_what_no_one_trains() -> None:
    with pytest.raises(TrainingError, match='classifier "gmm" cannot be trained here'):
        trained(BEST, "gmm")
    with pytest.raises(ModelError, match='kind "forest" is not known'):
        trained(BEST, "forest")
