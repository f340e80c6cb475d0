"""Sparse kernel discriminants and their classics as scikit-learn estimators."""

from acoustic.discriminants.kernel_fisher import KernelFisherDiscriminant
from acoustic.discriminants.kmse import KMSEClassifier
from acoustic.discriminants.krls import KRLSClassifier, KRLSRegressor
from acoustic.discriminants.linear import LinearDiscriminant
from acoustic.discriminants.loo_forward import LOOForwardClassifier
from acoustic.discriminants.mse_family import HoKashyapClassifier, LMSClassifier, MSEClassifier
from acoustic.discriminants.npd_orols import (
    NPDClassifier,
    NPDRegressor,
    OROLSClassifier,
    OROLSRegressor,
)
from acoustic.discriminants.ols import OLSClassifier, OLSRegressor
from acoustic.pairs.calibration import Calibration
from acoustic.pairs.gaussian_outputs import GaussianCurve

GaussianProjection = GaussianCurve  # the name it had

__all__ = [
    "Calibration",
    "GaussianCurve",
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
