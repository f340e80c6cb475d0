"""A trial of the whole on synthetic tones: train a small model, decode and align with it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from asr.corpora.tones import RATE, speak, write_tones
from asr.errors import ExperimentError
from asr.logs import muted
from asr.verbs import align, decode, train
from foundation.errors import AsrError

_SETTINGS = (
    *("gmm.mixtures=1,2", "gmm.iterations=3,2", "grammars=loop", "retrain_with_dev=false"),
    *("tuning.word_penalties=0,-20", "tuning.silence_log_probs=0"),
)
_SAID = ("MAUI", "ASA", "SUS", "IMI")
_SILENCE_S = 0.2  # behind the last word, at most


def self_test() -> str:
    """Return what was done; that anything came out wrong is an error."""
    import soundfile

    with tempfile.TemporaryDirectory(prefix="asr-doctor-") as folder, muted():
        corpus, out, recording = (Path(folder) / name for name in ("corpus", "exp", "new.wav"))
        write_tones(corpus, n_speakers=5, n_each=4)
        soundfile.write(recording, speak(_SAID, 1.0, np.random.default_rng(1)), RATE)
        train("folder", corpus=corpus, out=out, models=["gmm2"], settings=_SETTINGS)
        (heard,) = decode(out, [recording])
        if isinstance(heard, AsrError):
            raise ExperimentError(str(heard))
        if heard.text != _SAID:
            raise ExperimentError(f'decoded "{" ".join(heard.text)}", expected "{" ".join(_SAID)}"')
        _check_times(out, recording)
    return "trained on synthetic tones, decoded and aligned a new recording"


def _check_times(out: Path, recording: Path) -> None:
    """Raise an error if the words are not aligned where they were said."""
    aligned = align(out, recording, _SAID)
    words = aligned.tiers["words"]
    found = [(word.label, round(word.start_s, 2), round(word.end_s, 2)) for word in words]
    starts = [word.start_s for word in words]
    ends_in_time = abs(words[-1].end_s - aligned.duration_s) < _SILENCE_S
    if tuple(word.label for word in words) != _SAID or starts != sorted(starts) or not ends_in_time:
        raise ExperimentError(f"aligned {found}, expected {', '.join(_SAID)} one after the other")
