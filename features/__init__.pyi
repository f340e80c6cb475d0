from .audio import AudioInfo, audio_info, read_audio
from .errors import AsrError, AudioError, FeatureError
from .frontend import FrontEnd, FrontEndConfig
from .htk import HtkFile, read_htk, write_htk
from .kaldi import read_ark, read_scp, write_ark
from .mfcc import MfccConfig, add_derivatives, mfcc, n_frames, static_mfcc
from .normalization import Standardizer, normalize, normalize_groups
from .projection import LinearProjection, fit_lda, splice
from .stream import MfccStream, Resampler, RunningConfig, RunningFrames

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
    "Resampler",
    "RunningConfig",
    "RunningFrames",
    "Standardizer",
    "add_derivatives",
    "audio_info",
    "fit_lda",
    "mfcc",
    "n_frames",
    "normalize",
    "normalize_groups",
    "read_ark",
    "read_audio",
    "read_htk",
    "read_scp",
    "splice",
    "static_mfcc",
    "write_ark",
    "write_htk",
]
