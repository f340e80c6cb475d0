"""Fitted estimators as arrays and JSON, without pickle.

The attributes of an estimator are written: arrays, numbers, texts, lists, dictionaries and further
estimators. ``biased_loo_decision_`` is left out: it has the size of the training set and predictions do
not need it; random generators among the parameters become None. An estimator with other objects, for example
trees compiled in C, cannot be stored and raises an error.

Reading makes objects of the classes on two lists, `OWN` and `SCIKIT_LEARN`, and of no others: a file can
neither have another module imported nor anything executed. Of scikit-learn the list has estimators that
predict in numpy alone. Those whose compiled code trusts what was fitted, as trees, libsvm and nearest
neighbours do, are left out: a damaged file could end the interpreter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from sklearn.base import BaseEstimator

from acoustic.errors import ModelError
from foundation.files import check_regular, write_whole
from foundation.records import CONTENT_ERRORS, first_line, parsed_json

Tensors = dict[str, NDArray[Any]]

MOST_FEATURES = 100_000  # by feel
_PLAIN = (bool, int, float, str, np.ndarray, np.generic, tuple, list, dict, BaseEstimator)
_GENERATORS = (np.random.RandomState, np.random.Generator)
_LARGE = ("loo_decision_", "biased_loo_decision_")  # they have the size of the training set
_HEADER = "estimator"

# Files call our classes by the module that they stood in when the format was made, here without "acoustic.".
# A class that moves keeps this name: only the module behind it changes.
_OURS = "acoustic."
OWN: Mapping[str, str] = {
    "discriminants.curves.QuadraticCurve": "acoustic.discriminants.base",
    "discriminants.forward_machine.Machine": "acoustic.discriminants.forward_machine",
    "discriminants.kernel_fisher.KernelFisherDiscriminant": "acoustic.discriminants.kernel_ridge",
    "discriminants.kmse.KMSEClassifier": "acoustic.discriminants.kernel_ridge",
    "discriminants.krls.KRLSClassifier": "acoustic.discriminants.krls",
    "discriminants.krls.KRLSRegressor": "acoustic.discriminants.krls",
    "discriminants.linear.LinearDiscriminant": "acoustic.discriminants.linear",
    "discriminants.loo_forward.LOOForwardClassifier": "acoustic.discriminants.loo_forward",
    "discriminants.moments.ClassMoments": "acoustic.discriminants.linear",
    "discriminants.mse_family.HoKashyapClassifier": "acoustic.discriminants.linear",
    "discriminants.mse_family.LMSClassifier": "acoustic.discriminants.linear",
    "discriminants.mse_family.MSEClassifier": "acoustic.discriminants.linear",
    "discriminants.npd_orols.NPDClassifier": "acoustic.discriminants.npd_orols",
    "discriminants.npd_orols.NPDRegressor": "acoustic.discriminants.npd_orols",
    "discriminants.npd_orols.OROLSClassifier": "acoustic.discriminants.npd_orols",
    "discriminants.npd_orols.OROLSRegressor": "acoustic.discriminants.npd_orols",
    "discriminants.ols.OLSClassifier": "acoustic.discriminants.ols",
    "discriminants.ols.OLSRegressor": "acoustic.discriminants.ols",
    "discriminants.residual_sampled.ResidualSampledClassifier": "acoustic.discriminants.residual_sampled",
    "discriminants.residual_sampled.ResidualSampledRegressor": "acoustic.discriminants.residual_sampled",
    "kernels.forward.ForwardPath": "acoustic.kernels.forward",
    "kernels.kernel.Kernel": "acoustic.kernels.kernel",
    "pairs.calibration.Calibration": "acoustic.pairs.calibration",
    "pairs.gaussian_outputs.GaussianCurve": "acoustic.pairs.calibration",
    "pairs.gaussian_outputs.MonotoneGaussianCurve": "acoustic.pairs.calibration",
    "pairs.sparse.SparseMachines": "acoustic.pairs.machines",
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
    """Return the class of a name in a file if it is on the lists, else None; no other class is ever imported.

    Modules of scikit-learn may be its private ones, which differ from version to version.

    >>> storable_class("sklearn.linear_model._logistic.LogisticRegression").__name__
    'LogisticRegression'
    >>> storable_class("this.Zen")
    """
    module, _, name = path.rpartition(".")
    home = OWN.get(path.removeprefix(_OURS)) if path.startswith(_OURS) else None
    if home is not None:
        found: type[Any] = getattr(import_module(home), name)
        return found
    public = ".".join(module.split(".")[:2])
    if name not in SCIKIT_LEARN.get(public, ()):
        return None
    return getattr(import_module(public), name, None)  # older versions may lack some


def path_of(kind: type[Any]) -> str:
    """Return the name by which `storable_class` finds a class."""
    for path, home in OWN.items():
        if kind.__module__ == home and path.endswith(f".{kind.__qualname__}"):
            return _OURS + path
    return f"{kind.__module__}.{kind.__qualname__}"


def save_estimator(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator as one safetensors file, its description in the header."""
    tensors, description = pack_estimator(estimator)
    write_whole(path, save(tensors, metadata={_HEADER: json.dumps(description)}))


def load_estimator(path: str | Path) -> Any:
    """Return the estimator that `save_estimator` wrote.

    Raises
    ------
    ModelError : the file is damaged or was not written by `save_estimator`
    """
    try:
        check_regular(path)
        with safe_open(path, framework="numpy") as file:
            description = parsed_json((file.metadata() or {})[_HEADER])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError, *CONTENT_ERRORS) as error:
        raise ModelError(
            f"{path}: {first_line(error)}; expected a file that save_estimator wrote; check the path or "
            "restore it"
        ) from error
    try:
        estimator = unpack_estimator(tensors, description)
        _check_prediction(estimator)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    return estimator


def pack_estimator(estimator: Any) -> tuple[Tensors, dict[str, Any]]:
    """Return the arrays of an estimator by number, and a description that refers to them."""
    tensors: Tensors = {}
    return tensors, _described(estimator, tensors, type(estimator).__name__)


def unpack_estimator(tensors: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> Any:
    """Return the estimator that `pack_estimator` described.

    Raises
    ------
    ModelError : the description is damaged, or names a class that is not on the two lists
    """
    try:
        return _restored(description, tensors)
    except CONTENT_ERRORS as error:
        raise ModelError(
            f"the estimator's description is damaged ({type(error).__name__}: {first_line(error)}), expected "
            "it as save_estimator writes it; train again or restore the file"
        ) from error


def _described(value: Any, tensors: Tensors, where: str) -> Any:
    """Return a value in the form of JSON; kinds that JSON lacks become dictionaries with one key."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, _GENERATORS):
        return None
    if isinstance(value, np.generic):
        return _described(np.asarray(value), tensors, where) | {"is_scalar": True}
    if isinstance(value, np.ndarray):
        if value.dtype == object and all(v is None or isinstance(v, str) for v in value.flat):
            return {"texts": value.tolist(), "is_object": True}
        if value.dtype.kind not in "biufU":
            raise _cannot_store(where, f"an array of {value.dtype}")
        if value.dtype.kind == "U":
            return {"texts": value.tolist()}
        name = f"estimator.{len(tensors)}"
        tensors[name] = np.array(value, order="C")  # safetensors writes the memory unchanged
        return {"array": name}
    if isinstance(value, list | tuple):
        parts = [_described(v, tensors, f"{where}[{k}]") for k, v in enumerate(value)]
        if hasattr(value, "_fields"):
            return {"record": path_of(type(value)), "tuple": parts}
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if isinstance(value, dict):
        parts = [
            [_described(k, tensors, where), _described(v, tensors, f"{where}[{k!r}]")]
            for k, v in value.items()
        ]
        return {"dict": parts}
    cls = type(value)
    if isinstance(value, BaseEstimator) or storable_class(path_of(cls)) is cls:
        names = [f.name for f in fields(cls)] if is_dataclass(cls) else list(vars(value))
        kept = {name: getattr(value, name) for name in names if _is_kept(name, vars(value)[name])}
        state = {k: _described(v, tensors, f"{where}.{k}") for k, v in kept.items()}
        if storable_class(path_of(cls)) is not cls:
            raise _cannot_store(where, f"a {path_of(cls)}, which is not among the classes that can be read")
        return {"class": path_of(cls), "state": state}
    raise _cannot_store(where, f"a {type(value).__name__}")


def _is_kept(name: str, value: Any) -> bool:
    """Return whether prediction may need an attribute; it does not need random generators and optimisers."""
    return name not in _LARGE and (not name.startswith("_") or isinstance(value, _PLAIN))


def _restored(value: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "array" in value:
        array = tensors[value["array"]]
        return array[()] if value.get("is_scalar") else array
    if "texts" in value:
        return np.array(value["texts"], dtype=object if value.get("is_object") else None)
    if "list" in value:
        return [_restored(v, tensors) for v in value["list"]]
    if "tuple" in value:
        parts = tuple(_restored(v, tensors) for v in value["tuple"])
        return _found_class(value["record"])(*parts) if "record" in value else parts
    if "dict" in value:
        return {_restored(k, tensors): _restored(v, tensors) for k, v in value["dict"]}
    cls: Any = _found_class(value["class"])
    state = value["state"]
    if is_dataclass(cls):  # made as it is anywhere else; other attributes are what it had computed
        restored = _made(cls, {f.name: _restored(state[f.name], tensors) for f in fields(cls)})
    else:
        restored = object.__new__(cls)
        vars(restored).update({k: _restored(v, tensors) for k, v in state.items()})
    if hasattr(restored, "check"):  # what compiled code would trust
        restored.check()
    return restored


def _made(cls: Any, values: dict[str, Any]) -> Any:
    return cls(**values)


def _found_class(path: object) -> Any:
    cls = storable_class(path) if isinstance(path, str) else None
    if cls is None:
        raise ModelError(
            f"{str(path)[:100]}: not among the classes that files of models may hold, expected one of "
            "acoustic.discriminants or scikit-learn (docs/discriminants.md lists them); train again with "
            "such a class, or restore the file"
        )
    return cls


def _cannot_store(where: str, what: str) -> ModelError:
    return ModelError(
        f"{where} is {what}: models are stored without pickle, expected arrays, numbers, texts and "
        "estimators of these; choose another classifier"
    )


def tried(estimator: Any, method: str, x: Any) -> NDArray[Any]:
    """Return the result of a method, called with points (M, D), of an estimator that was read from a file.

    Raises
    ------
    ModelError : it fails, as that of an estimator that does not fit together
    """
    try:
        with np.errstate(all="ignore"):
            return np.asarray(getattr(estimator, method)(x))
    except Exception as error:  # whatever code of other packages makes of a state that cannot be
        raise ModelError(
            f"{type(estimator).__name__}.{method} fails ({type(error).__name__}: {first_line(error)}); "
            "expected an estimator as it was fitted; train again or restore the file"
        ) from error


def n_features_of(estimator: Any) -> int:
    """Return the number of columns of the points that an estimator from a file was fitted to; 0 if unknown.

    Raises
    ------
    ModelError : it is no number of columns
    """
    try:
        found = getattr(estimator, "n_features_in_", 0)
    except Exception as error:  # a pipeline asks its first step
        raise ModelError(
            f"{type(estimator).__name__}: its number of columns cannot be told ({first_line(error)}), "
            "expected an estimator as it was fitted; train again or restore the file"
        ) from error
    if not isinstance(found, int | np.integer) or not 0 <= found <= MOST_FEATURES:
        raise ModelError(
            f"n_features_in_: expected 1 to {MOST_FEATURES}, got {str(found)[:60]}; train again or restore "
            "the file"
        )
    return int(found)


def _check_prediction(estimator: Any) -> None:
    """Raise ModelError if an estimator that knows how many columns points have cannot predict one."""
    n_features = n_features_of(estimator)
    if n_features and hasattr(type(estimator), "predict"):
        tried(estimator, "predict", np.zeros((1, n_features)))
