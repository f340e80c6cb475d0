from .base import GaussianProjection
from .forward_estimators import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from .kernel_fisher import KernelFisherDiscriminant
from .kmse import KMSEClassifier
from .krls import KRLSClassifier, KRLSRegressor
from .linear import LinearDiscriminant
from .loo_forward import LOOForwardClassifier
from .minimum_squared_error import HoKashyapClassifier, LMSClassifier, MSEClassifier
from .ols import OLSClassifier, OLSRegressor

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
