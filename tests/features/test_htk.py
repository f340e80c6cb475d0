"""HTK parameter files: round trips, HTK's own files, and damaged ones."""

import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import FeatureError, read_htk, write_htk


def frames(n=20, n_columns=39):
    return np.random.default_rng(0).normal(size=(n, n_columns)).astype(np.float32)


@pytest.mark.parametrize("kind", ["MFCC_E_D_A", "MFCC_0_D_A_Z", "FBANK", "USER", "PLP_E_D_A_T", "MFCC_E_N_D"])
def test_round_trip(tmp_path, kind):
    path = tmp_path / "a.mfc"
    write_htk(path, frames(), period_s=0.0125, kind=kind)
    content = read_htk(path)
    assert_array_equal(content.frames, frames())
    assert content.frames.dtype == np.float32
    assert content.period_s == pytest.approx(0.0125, abs=1e-9)
    assert set(content.kind.split("_")) == set(kind.split("_"))


def test_layout_is_htks(tmp_path):
    write_htk(tmp_path / "a.mfc", np.array([[1.0, 2.0]]), kind="MFCC_E_D_A")
    # 1 sample, 100,000 × 100 ns, 8 bytes, MFCC (6) + E (0o100) + D (0o400) + A (0o1000), floats big-endian
    assert (tmp_path / "a.mfc").read_bytes() == struct.pack(">iihhff", 1, 100000, 8, 0o1506, 1.0, 2.0)


def test_reads_what_htk_wrote(shared):
    content = read_htk(shared / "golden/htk/an251-fash-b.mfc")  # with a checksum: MFCC_E_D_A_K
    assert content.kind == "MFCC_E_D_A"
    assert content.frames.shape == (98, 39)
    assert content.period_s == pytest.approx(0.01, abs=1e-9)


def test_compressed_file(tmp_path):
    # HTK Book, 5.10.1: x_short = A x - B, A = 2 × 32767 / (max - min), B = (max + min) × 32767 / (max - min)
    x = frames(50, 3).astype(np.float64)
    low, high = x.min(axis=0), x.max(axis=0)
    scale, bias = 2 * 32767 / (high - low), (high + low) * 32767 / (high - low)
    body = (
        np.concatenate([scale, bias]).astype(">f4").tobytes()
        + np.round(x * scale - bias).astype(">i2").tobytes()
    )
    header = struct.pack(">iihh", 54, 100000, 6, 6 | 0o2000 | 0o10000)
    (tmp_path / "a.mfc").write_bytes(header + body + b"\0\0")
    content = read_htk(tmp_path / "a.mfc")
    assert content.kind == "MFCC"
    assert_allclose(content.frames, x, rtol=0, atol=2e-4)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "a.mfc"
    write_htk(path, frames())
    return path


@pytest.mark.parametrize("n_bytes", [0, 5, 11])
def test_no_header(good, n_bytes):
    good.write_bytes(good.read_bytes()[:n_bytes])
    with pytest.raises(
        FeatureError, match=rf"a\.mfc: no HTK header; expected 12 bytes; got {n_bytes}; write"
    ):
        read_htk(good)


@pytest.mark.parametrize(
    ("change", "state"), [(-1, "truncated"), (-2000, "truncated"), (4, "longer than its header says")]
)
def test_wrong_length(good, change, state):
    content = good.read_bytes()
    good.write_bytes(content[:change] if change < 0 else content + bytes(change))
    with pytest.raises(
        FeatureError, match=rf"a\.mfc: {state}; expected 3132 bytes; got {3132 + change}; write"
    ):
        read_htk(good)


@pytest.mark.parametrize(
    "header", [(-1, 100000, 156, 838), (20, 100000, 0, 838), (20, 100000, -4, 838), (20, -1, 156, 838)]
)
def test_corrupt_header(good, header):
    good.write_bytes(struct.pack(">iihh", *header) + good.read_bytes()[12:])
    with pytest.raises(
        FeatureError, match=r"a\.mfc: corrupt HTK header; expected positive counts, big-endian; got"
    ):
        read_htk(good)


def test_little_endian_file(good):
    good.write_bytes(struct.pack("<iihh", 20, 100000, 156, 838) + good.read_bytes()[12:])
    with pytest.raises(
        FeatureError, match=r"a\.mfc: (corrupt HTK header|truncated); expected .*; got .*; write"
    ):
        read_htk(good)


def test_columns_that_are_no_floats(tmp_path):
    (tmp_path / "a.mfc").write_bytes(struct.pack(">iihh", 2, 100000, 6, 6) + bytes(12))
    with pytest.raises(
        FeatureError, match=r"a\.mfc: corrupt HTK header; expected samples of a multiple of 4 bytes; got 6"
    ):
        read_htk(tmp_path / "a.mfc")


def test_unknown_kind(good):
    good.write_bytes(struct.pack(">iihh", 20, 100000, 156, 63) + good.read_bytes()[12:])
    with pytest.raises(FeatureError, match=r"a\.mfc: corrupt HTK header; expected a kind below 12; got 63"):
        read_htk(good)


def test_waveform_is_not_features(tmp_path):
    (tmp_path / "a.htk").write_bytes(struct.pack(">iihh", 4, 625, 2, 0) + bytes(8))
    with pytest.raises(
        FeatureError, match=r"a\.htk: WAVEFORM; expected vectors of floats; got integers; convert"
    ):
        read_htk(tmp_path / "a.htk")


def test_compressed_file_without_samples(tmp_path):
    (tmp_path / "a.mfc").write_bytes(struct.pack(">iihh", 4, 100000, 6, 6 | 0o2000) + bytes(24))
    with pytest.raises(FeatureError, match=r"a\.mfc: corrupt _C file; expected over 4 samples; got 4; write"):
        read_htk(tmp_path / "a.mfc")


def test_missing_file(tmp_path):
    with pytest.raises(
        FeatureError, match=r"none\.mfc: cannot be read; expected an HTK file; got No such file"
    ):
        read_htk(tmp_path / "none.mfc")


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "a.mfc"
    with pytest.raises(FeatureError, match=r"^kind: expected neither _C nor _K .*, got MFCC_C; leave"):
        write_htk(path, frames(), kind="MFCC_C")
    with pytest.raises(FeatureError, match=r"^kind: expected one of WAVEFORM, .* got 'MFC_E'; write it as"):
        write_htk(path, frames(), kind="MFC_E")
    with pytest.raises(
        FeatureError, match=r"^kind: expected vectors of floats, got WAVEFORM, which holds integers"
    ):
        write_htk(path, frames(), kind="WAVEFORM")
    with pytest.raises(
        FeatureError, match=r"^frames: expected \(T, D\) with T, D > 0, got shape \(39,\); pass"
    ):
        write_htk(path, frames()[0])
    with pytest.raises(FeatureError, match=r"^frames: expected at most 8191 columns, got 9000; HTK's"):
        write_htk(path, frames(2, 9000))
    assert not path.exists()
