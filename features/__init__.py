"""The front end: recordings to frames, their normalisation and projection, feature files."""

from features.audio import AudioInfo, audio_info, read_audio
from features.derivatives import add_derivatives
from features.errors import AudioError, FeatureError
from features.frontend import FrontEnd, FrontEndConfig
from features.htk import HtkFile, read_htk, write_htk
from features.mfcc import MfccConfig, mfcc, n_frames, static_mfcc
from features.normalization import Standardizer, normalize, normalize_groups
from features.projection import LinearProjection, fit_lda, splice
from features.stream import MfccStream
from foundation.errors import AsrError

__all__ = [
    "AsrError",
    "AudioError",
    "AudioInfo",
    "FeatureError",
    "FrontEnd",
    "FrontEndConfig",
    "HtkFile",
    "LinearProjection",
    "MfccConfig",
    "MfccStream",
    "Standardizer",
    "add_derivatives",
    "audio_info",
    "fit_lda",
    "mfcc",
    "n_frames",
    "normalize",
    "normalize_groups",
    "read_audio",
    "read_htk",
    "splice",
    "static_mfcc",
    "write_htk",
]
