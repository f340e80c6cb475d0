"""What ``asr export`` can write, and the formats of each; the first is the default."""

from collections.abc import Mapping

_ARRAYS = ("kaldi", "htk", "npz")

EXPORTS: Mapping[str, tuple[str, ...]] = {
    "features": _ARRAYS,
    "scores": _ARRAYS,
    "posteriors": _ARRAYS,
    "alignments": ("kaldi", "npz"),
    "transcripts": ("kaldi", "sphinx", "stm", "trn"),
    "model": ("htk",),
}
FORMATS = tuple(dict.fromkeys(name for formats in EXPORTS.values() for name in formats))
