"""Models of every kind as tensors and options, and back."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB

from acoustic.emissions import kinds
from acoustic.emissions.emission_model import CombinedModel, PairwiseDiscriminantModel, StatePriors
from acoustic.emissions.kinds import BUILT_IN, find_kind, kind_of
from acoustic.emissions.one_vs_rest import OneVsRestModel
from acoustic.emissions.sklearn_model import SklearnModel
from acoustic.errors import ModelError
from acoustic.hmm.gmm import single_gaussian
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import PooledMachines, SparseMachines
from acoustic.testing import check_emission_model

STATES = StatePriors(np.array([0, 2, 1, -1], dtype=np.int32), np.log([0.5, 0.3, 0.2]), 0.7, -30.0)
FRAMES = np.random.default_rng(9).normal(size=(25, 2)).astype(np.float32)


def gmm():
    return single_gaussian(4, np.zeros(2), np.ones(2))


def pooled():
    rng = np.random.default_rng(0)
    centers, weights = rng.normal(size=(6, 2)).astype(np.float32), rng.normal(size=(6, 3)).astype(np.float32)
    machines = PooledMachines(1.5, centers, np.array([0, 1, 4, 6], np.int32), weights, rng.normal(size=3))
    return PairwiseDiscriminantModel(machines, rng.normal(size=(3, 3)), STATES, "wu-lin-weng", 2)


def own():
    rng = np.random.default_rng(1)
    slots = np.array([[0, 1], [2, -1], [1, 2]], dtype=np.int32)
    weights = np.where(slots < 0, 0.0, rng.normal(size=(3, 2)))
    centers, rows = rng.normal(size=(3, 2)).astype(np.float32), np.array([4, 0, 7], dtype=np.int32)
    kernel, sigmas = Kernel("gaussian", 2.0), np.full(3, 2.0)
    machines = SparseMachines(kernel, all_pairs(3), centers, sigmas, rows, slots, weights, rng.normal(size=3))
    return PairwiseDiscriminantModel(machines, rng.normal(size=(3, 3)), STATES)


def one_vs_rest():
    rng = np.random.default_rng(2)
    centers, weights = rng.normal(size=(5, 2)).astype(np.float32), rng.normal(size=(5, 3)).astype(np.float32)
    return OneVsRestModel(1.2, centers, weights, rng.normal(size=3), rng.normal(size=(3, 3)), STATES)


def sklearn():
    rng = np.random.default_rng(3)
    return SklearnModel(GaussianNB().fit(rng.normal(size=(30, 2)), np.arange(30) % 3), STATES)


def combined():
    return CombinedModel(one_vs_rest(), gmm(), 2, 0, 0.25, np.array([3, 0, 1, 2], dtype=np.int32))


MODELS = {
    "gmm": gmm,
    "pairwise": pooled,
    "pairwise, own centres": own,
    "one-vs-rest": one_vs_rest,
    "sklearn": sklearn,
    "combined": combined,
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def packed(model):
    """Return the kind of a model, its tensors and its options as JSON would hold them."""
    kind = find_kind(kind_of(model))
    tensors, options = kind.pack(model)
    return kind, tensors, json.loads(json.dumps(options))


def test_all_built_in_kinds_are_tried():
    assert {kind_of(make()) for make in MODELS.values()} == set(BUILT_IN)


def test_what_comes_back_scores_the_same(model):
    kind, tensors, options = packed(model)
    assert all(isinstance(tensor, np.ndarray) for tensor in tensors.values())
    back = kind.unpack(tensors, options)
    assert type(back) is type(model) is kind.type
    assert back.n_states == model.n_states == 4
    assert_array_equal(back.log_likelihoods(FRAMES), model.log_likelihoods(FRAMES))


def test_what_comes_back_is_written_the_same(model):
    kind, tensors, options = packed(model)
    _, again, same_options = packed(kind.unpack(tensors, options))
    assert same_options == options
    assert again.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert_array_equal(again[name], tensor, strict=True)


def test_every_kind_does_what_authors_of_others_are_asked_for(model):
    check_emission_model(model, FRAMES, kind=find_kind(kind_of(model)))


@pytest.mark.parametrize("make", [pooled, own, one_vs_rest, sklearn])
def test_states_of_classes_that_are_not_there(make):
    kind, tensors, options = packed(make())
    tensors["states.class_of_state"] = np.array([0, 3], dtype=np.int32)
    with pytest.raises(ModelError, match=r"class_of_state: expected numbers from -1 to 2, got others; train"):
        kind.unpack(tensors, options)


@pytest.mark.parametrize("make", [pooled, own])
def test_curves_of_other_pairs(make):
    kind, tensors, options = packed(make())
    tensors["pairwise.curves"] = tensors["pairwise.curves"][:2]
    with pytest.raises(ModelError, match=r"curves: expected float64 of shape \(3, 3\), got .* \(2, 3\)"):
        kind.unpack(tensors, options)


@pytest.mark.parametrize("states", [[0, 1, 2], [0, 1, 2, 4]])
def test_states_of_the_second_model_that_are_not_there(states):
    kind, tensors, options = packed(combined())
    tensors["combined.second_states"] = np.array(states, dtype=np.int32)
    with pytest.raises(ModelError, match=r"second_states: expected .* (shape \(4\)|0 to 3), got"):
        kind.unpack(tensors, options)


class Other:
    n_states = 1


def test_unknown_kinds_and_models():
    with pytest.raises(
        ModelError, match=r'kind "forest" is not known, expected one of: gmm, pairwise, .*; install'
    ):
        find_kind("forest")
    with pytest.raises(ModelError, match="cannot save a Other; expected a model of one of the kinds: gmm, "):
        kind_of(Other())


def test_an_entry_point_that_is_no_kind(monkeypatch):
    entry = SimpleNamespace(name="other", value="plugin:other", load=Other)
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    with pytest.raises(
        ModelError, match=r"entry point plugin:other .*EmissionKind, got Other; ask its author"
    ):
        find_kind("other")
    assert kinds.plugin_names() == ["other"]
