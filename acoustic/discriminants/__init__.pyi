from .curves import Calibration, GaussianCurve, GaussianProjection
from .kernel_fisher import KernelFisherDiscriminant
from .kmse import KMSEClassifier
from .krls import KRLSClassifier, KRLSRegressor
from .linear import LinearDiscriminant
from .loo_forward import LOOForwardClassifier
from .mse_family import HoKashyapClassifier, LMSClassifier, MSEClassifier
from .npd_orols import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from .ols import OLSClassifier, OLSRegressor

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
