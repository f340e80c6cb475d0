"""Discriminants as scikit-learn estimators: so far the classical linear and whole-Gram ones."""

from acoustic.discriminants.kernel_fisher import KernelFisherDiscriminant, KMSEClassifier
from acoustic.discriminants.linear import (
    HoKashyapClassifier,
    LinearDiscriminant,
    LMSClassifier,
    MSEClassifier,
)
from acoustic.discriminants.projection import GaussianProjection

__all__ = [
    "GaussianProjection",
    "HoKashyapClassifier",
    "KMSEClassifier",
    "KernelFisherDiscriminant",
    "LMSClassifier",
    "LinearDiscriminant",
    "MSEClassifier",
]
