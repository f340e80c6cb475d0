from .base import Calibration, GaussianCurve, GaussianProjection
from .kernel_ridge import KernelFisherDiscriminant, KMSEClassifier
from .krls import KRLSClassifier, KRLSRegressor
from .linear import HoKashyapClassifier, LinearDiscriminant, LMSClassifier, MSEClassifier
from .loo_forward import LOOForwardClassifier
from .npd_orols import NPDClassifier, NPDRegressor, OROLSClassifier, OROLSRegressor
from .ols import OLSClassifier, OLSRegressor
from .residual_sampled import ResidualSampledClassifier, ResidualSampledRegressor

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
    "ResidualSampledClassifier",
    "ResidualSampledRegressor",
]
