"""CPU seconds of our 39 features against librosa, python_speech_features and kaldi-native-fbank, same audio.

    python benchmarks/frontend.py --corpus ../shared/data/an4/wav/an4test_clstk --out frontend.json

Every peer computes 13 static cepstra with 25/10 ms windows, a 512-point FFT and 26 mel channels; librosa also
with the window sizes its function has by default. BLAS is held to one thread and CPU time, not wall time, is
counted; each figure is the median of the repeats after one warm-up, the peers taking turns so that a busy
machine is fair to all. kaldi-native-fbank's time includes its copying of the samples from Python.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import kaldi_native_fbank
import librosa
import numpy as np
import python_speech_features
from machine import machine_description
from threadpoolctl import threadpool_limits

from features import MfccConfig, mfcc, read_audio

SAMPLE_RATE = 16000
OURS = "ours, 39 components"
TARGET = "librosa, 13 static"


def ours(samples: np.ndarray) -> None:
    mfcc(samples)


def ours_static(samples: np.ndarray) -> None:
    mfcc(samples, MfccConfig(derivatives=0))


def librosa_same_windows(samples: np.ndarray) -> None:
    librosa.feature.mfcc(
        y=samples, sr=SAMPLE_RATE, n_mfcc=13, n_fft=512, win_length=400, hop_length=160, n_mels=26, lifter=22
    )


def librosa_default(samples: np.ndarray) -> None:
    librosa.feature.mfcc(y=samples, sr=SAMPLE_RATE, n_mfcc=13)


def psf(samples: np.ndarray) -> None:
    python_speech_features.mfcc(samples * 32768, SAMPLE_RATE)


def kaldi(samples: np.ndarray) -> None:
    options = kaldi_native_fbank.MfccOptions()
    options.frame_opts.dither = 0.0
    options.frame_opts.window_type = "hamming"
    options.mel_opts.num_bins = 26
    options.num_ceps = 13
    extractor = kaldi_native_fbank.OnlineMfcc(options)
    extractor.accept_waveform(SAMPLE_RATE, (samples * 32768).tolist())
    extractor.input_finished()
    for t in range(extractor.num_frames_ready):
        extractor.get_frame(t)


SYSTEMS: dict[str, Callable[[np.ndarray], None]] = {
    OURS: ours,
    "ours, 13 static": ours_static,
    TARGET: librosa_same_windows,
    "librosa, its default (2048/512, 128 mel)": librosa_default,
    "python_speech_features, 13 static": psf,
    "kaldi-native-fbank, 13 static": kaldi,
}


def load_recordings(corpus: Path | None, n_recordings: int) -> tuple[str, list[np.ndarray]]:
    """Return a description and recordings of a folder's wav files, or of noise if there is none."""
    paths = sorted(corpus.rglob("*.wav"))[:n_recordings] if corpus is not None and corpus.is_dir() else []
    if paths:
        return str(corpus), [read_audio(path, SAMPLE_RATE) for path in paths]
    rng = np.random.default_rng(0)
    lengths = rng.integers(SAMPLE_RATE, 5 * SAMPLE_RATE, n_recordings)
    return "noise", [(rng.normal(size=n) * 0.1).astype(np.float32) for n in lengths]


def cpu_seconds(system: Callable[[np.ndarray], None], recordings: list[np.ndarray]) -> float:
    """Return the CPU time of one pass over all recordings."""
    start = time.process_time()
    for samples in recordings:
        system(samples)
    return time.process_time() - start


def measure(recordings: list[np.ndarray], n_repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of each system."""
    times: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    with threadpool_limits(limits=1):
        for repeat in range(n_repeats + 1):
            for name, system in SYSTEMS.items():
                seconds = cpu_seconds(system, recordings)
                if repeat > 0:  # the first pass fills caches and compiles
                    times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def print_table(seconds: dict[str, float], audio_s: float) -> None:
    print(f"{'system':42s} {'CPU s':>9s} {'x real time':>12s} {'ours = 1':>9s}")
    for name, value in seconds.items():
        print(f"{name:42s} {value:9.4f} {value / audio_s:12.6f} {value / seconds[OURS]:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="folder with wav files; noise if absent")
    parser.add_argument("--recordings", type=int, default=130)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("frontend.json"))
    arguments = parser.parse_args()
    source, recordings = load_recordings(arguments.corpus, arguments.recordings)
    audio_s = sum(samples.size for samples in recordings) / SAMPLE_RATE
    seconds = measure(recordings, arguments.repeats)
    print(f"{len(recordings)} recordings, {audio_s:.0f} s of {source}")
    print_table(seconds, audio_s)
    is_met = seconds[OURS] <= seconds[TARGET]
    print(f"target (ours, 39 components <= librosa, 13 static): {'met' if is_met else 'MISSED'}")
    peers = ("librosa", "python_speech_features", "kaldi-native-fbank")
    result = {
        "audio": {"source": source, "recordings": len(recordings), "seconds": audio_s},
        "repeats": arguments.repeats,
        "cpu_seconds": seconds,
        "target_met": is_met,
        "machine": machine_description(peers),
    }
    arguments.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
