"""HTK parameter files (HTK Book, 5.10.1): a 12-byte big-endian header, then frames."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from features.errors import FeatureError
from foundation.arrays import Reals, Singles, check_reals
from foundation.files import as_path, content_of, write_whole

HEADER = struct.Struct(">iihh")
PERIOD_UNIT_S = 1e-7
BASE_KINDS = (
    "WAVEFORM", "LPC", "LPREFC", "LPCEPSTRA", "LPDELCEP", "IREFC",
    "MFCC", "FBANK", "MELSPEC", "USER", "DISCRETE", "PLP",
)  # fmt: skip
QUALIFIERS = {
    "E": 0o000100, "N": 0o000200, "D": 0o000400, "A": 0o001000, "C": 0o002000,
    "Z": 0o004000, "K": 0o010000, "0": 0o020000, "V": 0o040000, "T": 0o100000,
}  # fmt: skip
# What holds one integer or index per sample instead of a vector of floats.
INTEGER_KINDS = ("WAVEFORM", "IREFC", "DISCRETE")


@dataclass(frozen=True, eq=False)
class HtkFile:
    """Content of a parameter file.

    Attributes
    ----------
    frames : (T, D) float32
    period_s : float
        Time from one frame to the next.
    kind : str
        HTK's name, such as ``MFCC_E_D_A``; ``_K`` and ``_C`` tell of the storage and are left out.
    """

    frames: Singles
    period_s: float
    kind: str


def read_htk(path: str | os.PathLike[str]) -> HtkFile:
    """Return the frames of an HTK parameter file.

    Compressed files (``_C``) are expanded. The checksum of ``_K`` is stepped over, not verified: the HTK Book
    does not define it.
    """
    path = as_path(path, FeatureError)
    try:
        content = content_of(path)
    except OSError as error:
        raise FeatureError(
            f"{path}: cannot be read; expected an HTK file; got {error.strerror}; check it"
        ) from error
    n_samples, period, sample_bytes, code = _header(path, content)
    base, letters = _kind_names(path, code)
    _check_sample_bytes(path, sample_bytes, 2 if "C" in letters else 4)
    body_end = HEADER.size + n_samples * sample_bytes
    body = content[HEADER.size : body_end]
    frames = (
        _decompressed(path, body, n_samples, sample_bytes) if "C" in letters else _floats(body, sample_bytes)
    )
    if not np.isfinite(frames).all():
        row, column = np.argwhere(~np.isfinite(frames))[0]
        raise FeatureError(
            f"{path}: {frames[row, column]} in frame {row}, column {column}; expected finite numbers; "
            "compute the features again"
        )
    kind = "_".join([base, *(letter for letter in letters if letter not in "CK")])
    return HtkFile(frames, period * PERIOD_UNIT_S, kind)


def write_htk(
    path: str | os.PathLike[str],
    frames: Reals,
    period_s: float = 0.01,
    kind: str = "MFCC_E_D_A",
) -> None:
    """Write ``(T, D)`` frames as an HTK parameter file without compression or checksum."""
    code = kind_code(kind)
    if code & (QUALIFIERS["C"] | QUALIFIERS["K"]):
        raise FeatureError(
            f"kind: expected neither _C nor _K (these are only read), got {kind}; leave them out"
        )
    base = kind.upper().split("_")[0]
    if base in INTEGER_KINDS:
        raise FeatureError(
            f"kind: expected vectors of floats, got {base}, which holds integers; take another"
        )
    check_reals("frames", frames, FeatureError)
    if frames.ndim != 2 or frames.size == 0:
        raise FeatureError(
            f"frames: expected (T, D) with T, D > 0, got shape {frames.shape}; pass one utterance"
        )
    if frames.shape[1] * 4 > 0x7FFF:
        raise FeatureError(
            f"frames: expected at most 8191 columns, got {frames.shape[1]}; HTK's header holds no more"
        )
    period = round(period_s / PERIOD_UNIT_S)
    stored_code = code - 0x10000 if code > 0x7FFF else code
    header = HEADER.pack(frames.shape[0], period, frames.shape[1] * 4, stored_code)
    body = np.ascontiguousarray(frames, dtype=">f4").tobytes()
    write_whole(path, header + body)


def kind_code(kind: str) -> int:
    """Return the number of a parameter kind.

    >>> kind_code("MFCC_E_D_A")
    838
    """
    base, *letters = kind.upper().split("_")
    if base not in BASE_KINDS or not set(letters) <= QUALIFIERS.keys():
        raise FeatureError(
            f"kind: expected one of {', '.join(BASE_KINDS)} with qualifiers of {' '.join(QUALIFIERS)}, "
            f"got {kind!r}; write it as in MFCC_E_D_A"
        )
    return BASE_KINDS.index(base) | sum(QUALIFIERS[letter] for letter in set(letters))


def _header(path: Path, content: bytes) -> tuple[int, int, int, int]:
    """Return samples, period in 100 ns, bytes per sample and kind once they agree with the file's length."""
    cure = "write the file again (HCopy)"
    if len(content) < HEADER.size:
        raise FeatureError(f"{path}: no HTK header; expected {HEADER.size} bytes; got {len(content)}; {cure}")
    n_samples, period, sample_bytes, code = HEADER.unpack_from(content)
    if n_samples <= 0 or period < 0 or sample_bytes <= 0:
        raise FeatureError(
            f"{path}: corrupt HTK header; expected positive counts, big-endian; got {n_samples} samples of "
            f"{sample_bytes} bytes, period {period}; {cure}"
        )
    code &= 0xFFFF  # the header holds it signed, the qualifier _T is the sign bit
    expected = HEADER.size + n_samples * sample_bytes + (2 if code & QUALIFIERS["K"] else 0)
    if len(content) != expected:
        state = "truncated" if len(content) < expected else "longer than its header says"
        raise FeatureError(f"{path}: {state}; expected {expected} bytes; got {len(content)}; {cure}")
    return n_samples, period, sample_bytes, code


def _kind_names(path: Path, code: int) -> tuple[str, list[str]]:
    base = code & 0o77
    if base >= len(BASE_KINDS):
        raise FeatureError(
            f"{path}: corrupt HTK header; expected a kind below {len(BASE_KINDS)}; got {base}; check it"
        )
    if BASE_KINDS[base] in INTEGER_KINDS:
        raise FeatureError(
            f"{path}: {BASE_KINDS[base]}; expected vectors of floats; got integers; convert it with HCopy"
        )
    return BASE_KINDS[base], [letter for letter, bit in QUALIFIERS.items() if code & bit]


def _check_sample_bytes(path: Path, sample_bytes: int, number_bytes: int) -> None:
    if sample_bytes % number_bytes:
        raise FeatureError(
            f"{path}: corrupt HTK header; expected samples of a multiple of {number_bytes} bytes; "
            f"got {sample_bytes}; write the file again (HCopy)"
        )


def _floats(body: bytes, sample_bytes: int) -> Singles:
    return np.frombuffer(body, dtype=">f4").reshape(-1, sample_bytes // 4).astype(np.float32)


def _decompressed(path: Path, body: bytes, n_samples: int, sample_bytes: int) -> Singles:
    """Return the floats of a ``_C`` body: A and B in the room of 4 samples, then x for each (x + B) / A."""
    n_columns = sample_bytes // 2
    if n_samples <= 4:
        raise FeatureError(
            f"{path}: corrupt _C file; expected over 4 samples; got {n_samples}; write it again"
        )
    scale, bias = np.frombuffer(body, dtype=">f4", count=2 * n_columns).reshape(2, n_columns)
    stored = np.frombuffer(body, dtype=">i2", offset=8 * n_columns).reshape(n_samples - 4, n_columns)
    with np.errstate(all="ignore"):  # `read_htk` refuses what is not finite
        frames: Singles = ((stored + bias) / scale).astype(np.float32)
    return frames
