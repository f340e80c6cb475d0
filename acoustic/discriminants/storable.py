"""The classes whose objects files of models may hold: each by name, so that no file has another one imported.

Of scikit-learn these are estimators that predict in numpy alone. Those whose compiled code trusts what was
fitted, as trees, libsvm and nearest neighbours do, are left out: a damaged file could end the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

OWN: Mapping[str, tuple[str, ...]] = {
    "acoustic.discriminants.curves": ("QuadraticCurve",),
    "acoustic.discriminants.forward_machine": ("Machine",),
    "acoustic.discriminants.kernel_fisher": ("KernelFisherDiscriminant",),
    "acoustic.discriminants.kmse": ("KMSEClassifier",),
    "acoustic.discriminants.krls": ("KRLSClassifier", "KRLSRegressor"),
    "acoustic.discriminants.linear": ("LinearDiscriminant",),
    "acoustic.discriminants.loo_forward": ("LOOForwardClassifier",),
    "acoustic.discriminants.moments": ("ClassMoments",),
    "acoustic.discriminants.mse_family": ("HoKashyapClassifier", "LMSClassifier", "MSEClassifier"),
    "acoustic.discriminants.npd_orols": (
        "NPDClassifier",
        "NPDRegressor",
        "OROLSClassifier",
        "OROLSRegressor",
    ),
    "acoustic.discriminants.ols": ("OLSClassifier", "OLSRegressor"),
    "acoustic.kernels.forward": ("ForwardPath",),
    "acoustic.kernels.kernel": ("Kernel",),
    "acoustic.pairs.calibration": ("Calibration",),
    "acoustic.pairs.gaussian_outputs": ("GaussianCurve", "MonotoneGaussianCurve"),
    "acoustic.pairs.sparse": ("SparseMachines",),
}
SCIKIT_LEARN: Mapping[str, tuple[str, ...]] = {  # by the public package
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.linear_model": (
        *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lasso"),
        *("LassoCV", "LinearRegression", "LogisticRegression", "LogisticRegressionCV", "Perceptron"),
        *("Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor"),
    ),
    "sklearn.multiclass": ("OneVsOneClassifier", "OneVsRestClassifier"),
    "sklearn.naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.neighbors": ("NearestCentroid",),
    "sklearn.neural_network": ("MLPClassifier", "MLPRegressor"),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": (
        *("LabelBinarizer", "LabelEncoder", "MaxAbsScaler", "MinMaxScaler", "Normalizer"),
        *("PowerTransformer", "RobustScaler", "StandardScaler"),
    ),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
}


def storable_class(path: str) -> type[Any] | None:
    """Return the class of ``module.Class`` if it is on the lists, else None, and then nothing is imported.

    Modules of scikit-learn may be its private ones, which differ from version to version.

    >>> storable_class("sklearn.linear_model._logistic.LogisticRegression").__name__
    'LogisticRegression'
    >>> storable_class("this.Zen")
    """
    module, _, name = path.rpartition(".")
    if name in OWN.get(module, ()):
        found: type[Any] = getattr(import_module(module), name)
        return found
    public = ".".join(module.split(".")[:2])
    if name not in SCIKIT_LEARN.get(public, ()):
        return None
    return getattr(import_module(public), name, None)  # older versions may lack some


def path_of(kind: type[Any]) -> str:
    """Return the name by which `storable_class` finds a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def check_restored(restored: Any) -> None:
    """Raise ModelError if what compiled code would trust in an object from a file is not to be trusted."""
    if hasattr(restored, "check"):
        restored.check()
