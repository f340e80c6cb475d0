"""Every estimator of ours, fitted, through arrays and JSON and back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import make_blobs

import acoustic.discriminants as discriminants
from acoustic.discriminants.files import load_estimator, pack_estimator, save_estimator, unpack_estimator
from acoustic.errors import ModelError

PUBLIC = [getattr(discriminants, name) for name in discriminants.__all__]
ESTIMATORS = [cls for cls in PUBLIC if issubclass(cls, BaseEstimator)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_bits_again(cls, n_classes, tmp_path):
    x, y = make_blobs(80, 3, centers=n_classes, random_state=0)
    if cls.__name__ == "HoKashyapClassifier" and n_classes > 2:
        y = np.minimum(y, 1)
    target = np.array(["no", "yes", "perhaps"])[y] if is_classifier(cls()) else x.sum(axis=1)
    model = cls().fit(x, target)
    save_estimator(model, tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert_array_equal(again.predict(x), model.predict(x))
    if is_classifier(model):
        assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    if hasattr(model, "partial_fit"):
        assert_array_equal(
            again.partial_fit(x[:5], target[:5]).predict(x),
            model.partial_fit(x[:5], target[:5]).predict(x),
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_nothing_as_large_as_the_training_set_is_stored_unless_all_points_are_centres(cls):
    x, y = make_blobs(83, 3, centers=2, random_state=0)
    limits = {"max_centers": 7, "n_nodes": 7} if cls.__name__ != "KRLSClassifier" else {"nu": 0.5}
    model = cls(**{k: v for k, v in limits.items() if k in cls().get_params()}).fit(x, y)
    tensors, _ = pack_estimator(model)
    assert not [array.shape for array in tensors.values() if 83 in array.shape]


def test_generators_become_none_and_left_out_outputs_stay_behind(tmp_path):
    x, y = make_blobs(80, 3, centers=2, random_state=0)
    model = discriminants.NPDClassifier(max_centers=5, random_state=np.random.RandomState(0)).fit(x, y)
    save_estimator(model, tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert again.random_state is None
    assert hasattr(model, "loo_decision_")
    assert not hasattr(again, "loo_decision_")
    assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_machines_of_pairs_too(tmp_path):
    x, y = make_blobs(80, 3, centers=4, random_state=0)
    model = discriminants.OROLSClassifier(max_centers=5, multiclass="ovo").fit(x, y)
    save_estimator(model, tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert_array_equal(again.predict_proba(x), model.predict_proba(x))


@pytest.mark.parametrize("cls", [discriminants.NPDClassifier, discriminants.OROLSClassifier])
def test_machines_of_the_algorithms_as_printed_too(cls, tmp_path):
    x, y = make_blobs(80, 3, centers=4, random_state=0)
    model = cls(max_centers=5, algorithm="thesis", held_out=0.1).fit(x, y)
    save_estimator(model, tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert again.get_params() == model.get_params()
    assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert_array_equal(again.path_predict(x, [1, 3]), model.path_predict(x, [1, 3]))


def test_other_classes_are_not_made():
    with pytest.raises(ModelError, match=r"subprocess\.Popen: not among the classes that files"):
        unpack_estimator({}, {"class": "subprocess.Popen", "state": {}})


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(ModelError, match="expected a file that save_estimator wrote"):
        load_estimator(path)
    path.write_bytes(b"not one")
    with pytest.raises(ModelError, match="expected a file that save_estimator wrote"):
        load_estimator(path)
    x, y = make_blobs(40, 2, centers=2, random_state=0)
    save_estimator(discriminants.NPDClassifier(max_centers=5).fit(x, y), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="check the path or restore it"):
        load_estimator(path)


@pytest.mark.parametrize("cls", ["NPDClassifier", "NPDRegressor", "OROLSClassifier", "OROLSRegressor"])
@pytest.mark.parametrize("multiclass", ["shared", "ovr", "ovo"])
def test_files_from_before_there_were_algorithms_as_printed(cls, multiclass):
    """They lack two arguments, and their block size may be a word."""
    x, y = make_blobs(80, 3, centers=3, random_state=0)
    cls = getattr(discriminants, cls)
    options = {"multiclass": multiclass} if is_classifier(cls()) else {}
    model = cls(max_centers=10, block_size="auto", **options).fit(x, y)
    tensors, description = pack_estimator(model)
    for name in ("algorithm", "held_out"):
        del description["state"][name]
    again = unpack_estimator(tensors, description)
    assert_array_equal(again.predict(x), model.predict(x))
    assert again.get_params() == model.get_params()
    assert (again.algorithm, again.held_out) == ("stable", 0.0)
    assert_array_equal(clone(again).fit(x, y).predict(x), model.predict(x))
    assert_array_equal(again.fit(x, y).predict(x), model.predict(x))
    assert pack_estimator(again)[1]["class"] == description["class"]
