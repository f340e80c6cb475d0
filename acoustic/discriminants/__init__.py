"""Sparse kernel discriminants and their classics as scikit-learn estimators."""

from acoustic.discriminants.forward_estimators import (
    NPDClassifier,
    NPDRegressor,
    OROLSClassifier,
    OROLSRegressor,
)
from acoustic.discriminants.kernel_fisher import KernelFisherDiscriminant
from acoustic.discriminants.kmse import KMSEClassifier
from acoustic.discriminants.krls import KRLSClassifier, KRLSRegressor
from acoustic.discriminants.linear import LinearDiscriminant
from acoustic.discriminants.loo_forward import LOOForwardClassifier
from acoustic.discriminants.minimum_squared_error import HoKashyapClassifier, LMSClassifier, MSEClassifier
from acoustic.discriminants.ols import OLSClassifier, OLSRegressor
from acoustic.pairs.gaussian_outputs import GaussianProjection

__all__ = [
    "GaussianProjection",
    "HoKashyapClassifier",
    "KMSEClassifier",
    "KRLSClassifier",
    "KRLSRegressor",
    "KernelFisherDiscriminant",
    "LMSClassifier",
    "LOOForwardClassifier",
    "LinearDiscriminant",
    "MSEClassifier",
    "NPDClassifier",
    "NPDRegressor",
    "OLSClassifier",
    "OLSRegressor",
    "OROLSClassifier",
    "OROLSRegressor",
]
