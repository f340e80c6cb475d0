"""Discriminants as scikit-learn estimators; NPD and OROLS are still to come."""

from acoustic.discriminants.kernel_fisher import KernelFisherDiscriminant, KMSEClassifier
from acoustic.discriminants.krls import KRLSClassifier, KRLSRegressor
from acoustic.discriminants.linear import (
    HoKashyapClassifier,
    LinearDiscriminant,
    LMSClassifier,
    MSEClassifier,
)
from acoustic.discriminants.loo_forward import LOOForwardClassifier
from acoustic.discriminants.ols import OLSClassifier, OLSRegressor
from acoustic.discriminants.projection import GaussianProjection

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
    "OLSClassifier",
    "OLSRegressor",
]
