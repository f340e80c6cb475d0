"""Classifiers of scikit-learn as emission models."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from acoustic.discriminants.files import load_estimator, save_estimator
from acoustic.emissions.emission_model import StatePriors
from acoustic.emissions.sklearn_model import SklearnModel, make_classifier, names_of_classifiers
from acoustic.errors import ModelError

STATES = StatePriors(np.array([1, 0, 2, -1], dtype=np.int32), np.log([0.5, 0.25, 0.25]), floor=-9.0)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], (40, 20, 20))
    return (3.0 * np.eye(3, 2)[y] + rng.normal(size=(80, 2))).astype(np.float32), y


def test_scores_are_the_classifiers_posteriors_over_priors(data):
    x, y = data
    classifier = GaussianNB().fit(x, y)
    model = SklearnModel(classifier, STATES)
    assert model.n_states == 4
    posteriors = classifier.predict_proba(x)
    assert_allclose(np.exp(model.log_posteriors(x)), posteriors, rtol=1e-6, atol=1e-30)  # of single precision
    expected = np.maximum(np.log(posteriors), -9.0) - 0.5 * np.log([0.5, 0.25, 0.25])
    assert_allclose(model.log_likelihoods(x)[:, :3], expected[:, [1, 0, 2]], rtol=1e-6, atol=1e-6)


def test_a_posterior_of_nought_is_the_floor(data):
    x, y = data
    model = SklearnModel(
        KNeighborsClassifier(1).fit(x, y), StatePriors(STATES.class_of_state, STATES.log_priors, 0.0, -9.0)
    )
    found = model.log_likelihoods(x)
    assert_array_equal(np.unique(found[:, :3]), np.float32([-9.0, 0.0]))
    assert_array_equal(found[:, [1, 0, 2]].argmax(axis=1), y)


def test_no_frames(data):
    model = SklearnModel(GaussianNB().fit(*data), STATES)
    nothing = np.empty((0, 2), dtype=np.float32)
    assert_array_equal(model.log_likelihoods(nothing), np.empty((0, 4), dtype=np.float32), strict=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sklearn:linear_model.LogisticRegression", LogisticRegression),
        ("linear_model.LogisticRegression", None),
        ("sklearn.linear_model.LogisticRegression", LogisticRegression),
        ("sklearn:sklearn.naive_bayes.GaussianNB", GaussianNB),
    ],
)
def test_classifiers_by_name_have_their_own_defaults(name, expected):
    if expected is None:
        with pytest.raises(ModelError, match=r"linear_model\.LogisticRegression: no such class"):
            make_classifier(name)
        return
    found = make_classifier(name)
    assert type(found) is expected
    assert found.get_params() == expected().get_params()


def refused(name):
    """Return the line by which a name is refused; it says where all that are allowed stand."""
    with pytest.raises(ModelError, match="expected a classifier that has posteriors") as error:
        make_classifier(name)
    said = str(error.value)
    assert "\n" not in said
    assert said.endswith(f"docs/plugins.md lists all {len(names_of_classifiers())}")
    assert len(said) < 330
    return said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sklearn:linear_model.logisticregression", "sklearn:linear_model.LogisticRegression"),
        ("sklearn:LogisticRegresion", "sklearn:linear_model.LogisticRegression"),
        ("sklearn:acoustic.discriminants.MSEClasifier", "sklearn:acoustic.discriminants.MSEClassifier"),
    ],
)
def test_a_name_written_wrongly_gets_the_nearest(name, meant):
    assert f'no such class (did you mean "{meant}"?); expected' in refused(name)


@pytest.mark.parametrize(
    "name",
    [
        "sklearn:svm.SVC",
        "sklearn:sklearn.svm.SVC",
        "sklearn:svm.SVR",
        "sklearn:ensemble.RandomForestClassifier",
        "sklearn:neighbors.KNeighborsClassifier",
    ],
)
def test_what_no_file_may_hold_is_refused(name):
    assert refused(name).startswith(f"{name.removeprefix('sklearn:')}: no model file may hold it")


def test_a_classifier_must_have_posteriors():
    assert refused("sklearn:svm.LinearSVC").startswith("svm.LinearSVC: it has no predict_proba")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("linear_model.Ridge", "no classifier"),
        ("acoustic.discriminants.Kernel", "no classifier"),
        ("multiclass.OneVsRestClassifier", "cannot be made without arguments"),
        ("naive_bayes.MultinomialNB", "it takes no negative numbers"),
        ("linear_model.Logistic", "no such class"),
        ("os.path", "no such class"),
    ],
)
def test_what_else_is_refused(name, fault):
    assert refused(f"sklearn:{name}").startswith(f"{name}: {fault}")


def test_the_page_on_plugins_has_the_list():
    page = Path("docs/plugins.md").read_text(encoding="utf-8")
    for name in names_of_classifiers():
        assert f"`{name.removeprefix('acoustic.discriminants.')}`" in page


def test_all_that_are_named_learn_from_frames_and_can_be_stored(tmp_path):
    assert {"linear_model.LogisticRegression", "acoustic.discriminants.NPDClassifier"} < set(
        names_of_classifiers()
    )
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 30)
    x = (rng.normal(size=(90, 2)) + 2 * y[:, None]).astype(np.float32)
    for name in names_of_classifiers():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few points
            classifier = make_classifier(f"sklearn:{name}").fit(x, y)
        save_estimator(classifier, tmp_path / "classifier")
        again = load_estimator(tmp_path / "classifier")
        assert_array_equal(again.predict_proba(x), classifier.predict_proba(x))
