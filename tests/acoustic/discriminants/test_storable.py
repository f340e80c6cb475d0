"""Files of models name classes: those of the lists are found, and for other names nothing is imported."""

import json
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import acoustic.discriminants as discriminants
from acoustic.discriminants.files import (
    OWN,
    SCIKIT_LEARN,
    load_estimator,
    pack_estimator,
    path_of,
    save_estimator,
    storable_class,
    unpack_estimator,
)
from acoustic.errors import ModelError

LISTED = [
    *(f"acoustic.{path}" for path in OWN),
    *(f"{module}.{name}" for module, names in SCIKIT_LEARN.items() for name in names),
]


def test_files_written_long_ago_name_classes_as_today():
    """A name in a file stays, wherever its class has moved."""
    assert len(OWN) == 26
    for path in OWN:
        assert path_of(storable_class(f"acoustic.{path}")) == f"acoustic.{path}"


@pytest.mark.parametrize("path", LISTED)
def test_every_class_of_the_lists_is_found(path):
    cls = storable_class(path)
    assert cls.__name__ == path.rpartition(".")[2]
    assert storable_class(path_of(cls)) is cls  # by its private module, too


def test_every_estimator_of_ours_is_listed():
    public = [getattr(discriminants, name) for name in discriminants.__all__]
    estimators = [cls for cls in public if issubclass(cls, BaseEstimator)]
    assert len(estimators) > 10
    assert [cls for cls in estimators if storable_class(path_of(cls)) is not cls] == []


@pytest.mark.parametrize(
    "path",
    [
        *("this.X", "this", "", ".", "subprocess.Popen", "os.system", "sklearn.svm.SVC", "antigravity.fly"),
        *("sklearn.linear_model.this", "sklearn.this.LogisticRegression", "acoustic.kernels.kernel.this"),
        *("asr.cli.main", "LogisticRegression", "sklearn.ensemble.RandomForestClassifier"),
    ],
)
def test_for_other_names_nothing_is_imported(path):
    for module in ("this", "antigravity"):
        sys.modules.pop(module, None)
    before = set(sys.modules)
    with pytest.raises(ModelError, match=r"not among the classes that files of models may hold"):
        unpack_estimator({}, {"class": path, "state": {}})
    with pytest.raises(ModelError, match=r"not among the classes that files of models may hold"):
        unpack_estimator({}, {"tuple": [], "record": path})
    assert set(sys.modules) == before


@pytest.fixture(scope="module")
def data():
    return make_blobs(40, 2, centers=2, random_state=0)


def test_a_pipeline_of_listed_classes_comes_back(data, tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*data)
    save_estimator(model, tmp_path / "model")
    again = load_estimator(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


def test_what_could_not_be_read_is_not_written(data, tmp_path):
    with pytest.raises(ModelError, match=r"SVC.* is not among|SVC, which is not among the classes that can"):
        save_estimator(SVC().fit(*data), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("coef_", 3, r"predict fails \(\w+"),
        ("n_features_in_", 10**9, "n_features_in_: expected 1 to 100000, got 1000000000"),
        ("coef_", {"array": "elsewhere"}, "description is damaged"),
        ("coef_", {"list": 5}, "description is damaged"),
        ("coef_", {"class": "this.X", "state": {}}, "not among the classes"),
    ],
)
def test_a_damaged_state_is_one_line(data, tmp_path, monkeypatch, key, value, said):
    tensors, description = pack_estimator(LogisticRegression().fit(*data))
    description["state"][key] = value
    path = tmp_path / "model"
    monkeypatch.setattr(
        "acoustic.discriminants.files.pack_estimator",
        lambda _: (tensors, json.loads(json.dumps(description))),
    )
    save_estimator(None, path)
    with pytest.raises(ModelError, match=rf"\A{path}: [^\n]*{said}[^\n]*; [^\n]+\Z"):
        load_estimator(path)
