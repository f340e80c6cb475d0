"""Speech synthesised by espeak-ng, from the shared library of the ``espeakng-loader`` wheel (extra ``demo``).

The library keeps its state (phase of the glottal wave, flutter, random numbers) in globals that no call
resets, so the same sentence comes out a little different each time. A library that is loaded anew for every
sentence, with its random seed set, starts from the same globals: the same text and voice give the same
samples, whatever was spoken before. That costs 3 ms a sentence. Only variants that draw from the C library's
``rand`` escape this; they are refused by name.
"""

import _ctypes
import ctypes
import difflib
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from asr.errors import ConfigError, ExperimentError
from foundation.arrays import Singles
from foundation.errors import did_you_mean
from foundation.files import folder_until_exit
from foundation.version import how_to_install

SAMPLE_RATE = 22050
MAX_DATA_PATH_BYTES = (
    140  # espeak-ng cuts its data path at 160 bytes, and puts "/espeak-ng-data" behind it to try
)
UNREPEATABLE_VARIANTS = frozenset({"Reed", "caleb"})
RANGES = {"pitch": (0, 99), "pitch_range": (0, 99), "rate_wpm": (80, 450), "volume": (0, 200)}

# speak_lib.h of espeak-ng 1.52
_AUDIO_OUTPUT_SYNCHRONOUS, _DONT_EXIT, _POS_CHARACTER, _CHARS_UTF8 = 2, 0x8000, 1, 1
_PARAMETERS = {"rate_wpm": 1, "volume": 2, "pitch": 3, "pitch_range": 4}
_SynthCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)

_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class EspeakVoice:
    """Who speaks: an accent, a voice variant (vocal tract and source), and a manner.

    Parameters
    ----------
    language
        A voice of espeak-ng: ``en-us``, ``en`` (British), ``en-gb-scotland``, ``en-029`` (Caribbean), …
    variant
        A file of its ``voices/!v``: ``m1`` … ``m8``, ``f1`` … ``f5``, ``Annie``, …; empty = the plain voice.
    pitch, pitch_range
        0 to 99, relative to the variant; 50 is its own.
    rate_wpm
        80 to 450 words a minute.
    volume
        0 to 200; loud variants clip at 100, which is espeak-ng's default.
    """

    language: str = "en-us"
    variant: str = ""
    pitch: int = 50
    pitch_range: int = 50
    rate_wpm: int = 175
    volume: int = 60


def synthesize(text: str, voice: EspeakVoice) -> Singles:
    """Return the samples (T,) float32 in [-1, 1) at `SAMPLE_RATE` of `text` read by `voice`.

    The same arguments give the same samples, in any order and any process of one machine. Threads wait for
    each other.
    """
    if not text.strip():
        raise ConfigError(f"espeak-ng: expected text to speak, got {text!r}; give at least one word")
    library_path, data_path = _installed_paths()
    _check_voice(voice, data_path)
    blocks: list[bytes] = []
    raised: list[BaseException] = []

    def keep(samples: int | None, n_samples: int, _events: int | None) -> int:
        # ctypes swallows what a callback raises, Ctrl-C too: it is kept and raised after the call.
        try:
            if samples and n_samples > 0:
                blocks.append(ctypes.string_at(samples, 2 * n_samples))
        except BaseException as error:
            raised.append(error)
        return len(raised)  # not 0 stops the synthesis

    with _one_at_a_time, _fresh_library(library_path, data_path) as library:
        callback = _SynthCallback(keep)
        library.espeak_SetSynthCallback(callback)
        _select_voice(library, voice)
        library.espeak_ng_SetRandSeed(ctypes.c_long(1))
        encoded = text.encode() + b"\0"
        status = library.espeak_Synth(
            encoded, ctypes.c_size_t(len(encoded)), 0, _POS_CHARACTER, 0, _CHARS_UTF8, None, None
        )
    if raised:
        raise raised[0]
    if status != 0 or not blocks:
        raise ExperimentError(
            f"espeak-ng: expected speech for {text!r}, got status {status}; reinstall espeakng-loader"
        )
    return np.frombuffer(b"".join(blocks), dtype=np.int16).astype(np.float32) / np.float32(32768)


def _installed_paths() -> tuple[Path, Path]:
    """Return the paths of the shared library and of the voice data of the installed wheel."""
    try:
        import espeakng_loader  # an optional extra: imported only where it is used
    except ImportError as error:
        raise ExperimentError(
            "espeak-ng: expected the package espeakng-loader, which is not installed;"
            f" run {how_to_install('demo')}"
        ) from error
    return Path(espeakng_loader.get_library_path()), _short_data_path(Path(espeakng_loader.get_data_path()))


@cache
def _short_data_path(path: Path) -> Path:
    """Return `path`, or that of a temporary copy where `path` is longer than espeak-ng can hold."""
    if len(str(path).encode()) <= MAX_DATA_PATH_BYTES:
        return path
    return Path(shutil.copytree(path, folder_until_exit("asr-espeak-") / path.name))


def _check_voice(voice: EspeakVoice, data_path: Path) -> None:
    """Raise unless `voice` can be used: espeak-ng itself passes over an unknown variant in silence."""
    for name, (low, high) in RANGES.items():
        value = getattr(voice, name)
        if not low <= value <= high:
            raise ConfigError(
                f"espeak-ng: {name}: expected {low} to {high}, got {value}; choose a value in between"
            )
    variants = {file.name for file in (data_path / "voices" / "!v").iterdir()} - UNREPEATABLE_VARIANTS
    if voice.variant and voice.variant not in variants:
        nearest = difflib.get_close_matches(voice.variant, sorted(variants), n=1, cutoff=0.0)
        raise ConfigError(
            f'espeak-ng: variant: expected one of {len(variants)} that repeat exactly, got "{voice.variant}"'
            f"{did_you_mean(nearest)}; choose a file of {data_path / 'voices' / '!v'}"
        )


@contextmanager
def _fresh_library(library_path: Path, data_path: Path) -> Iterator[ctypes.CDLL]:
    """Yield espeak-ng with its global state as at program start, and unload it afterwards."""
    try:
        library = ctypes.CDLL(str(library_path))
    except OSError as error:
        raise ExperimentError(
            f"espeak-ng: expected a library for this system, got {error}; reinstall espeakng-loader"
        ) from error
    try:
        _initialize(library, data_path)
        try:
            yield library
        finally:
            library.espeak_Terminate()
    finally:
        _unload(library)


def _initialize(library: ctypes.CDLL, data_path: Path) -> None:
    encoding = "mbcs" if sys.platform == "win32" else sys.getfilesystemencoding()
    path = str(data_path).encode(encoding)
    rate = library.espeak_Initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, path, _DONT_EXIT)
    if rate != SAMPLE_RATE:
        raise ExperimentError(
            f"espeak-ng: expected speech at {SAMPLE_RATE} Hz with the data of {data_path}, got {rate};"
            " reinstall espeakng-loader"
        )


def _unload(library: ctypes.CDLL) -> None:
    if sys.platform == "win32":
        _ctypes.FreeLibrary(library._handle)
    else:
        _ctypes.dlclose(library._handle)


def _select_voice(library: ctypes.CDLL, voice: EspeakVoice) -> None:
    name = f"{voice.language}+{voice.variant}" if voice.variant else voice.language
    if library.espeak_SetVoiceByName(name.encode()) != 0:
        raise ConfigError(
            f'espeak-ng: language: expected one such as en-us, en, en-gb-scotland, got "{voice.language}";'
            " choose one of https://github.com/espeak-ng/espeak-ng/blob/master/docs/languages.md"
        )
    for parameter, number in _PARAMETERS.items():
        library.espeak_SetParameter(number, getattr(voice, parameter), 0)
