"""Archives against kaldiio 2.18, both ways, and damaged ones."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import kaldiio
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import read_ark, read_scp, write_ark
from features.errors import FeatureError


def entries(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "ä-1": rng.normal(size=(7, 3)).astype(np.float32) * 1e3,
        "b/2": rng.normal(size=(1, 39)).astype(np.float32),
        "c": rng.normal(size=5).astype(np.float32) * 1e-9,
        "d": np.array([[-np.inf, 0.0]], dtype=np.float32),
    }


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert list(found) == list(expected)
    for key, entry in expected.items():
        assert found[key].dtype == entry.dtype
        assert_array_equal(found[key], entry)


@pytest.mark.parametrize("text", [False, True])
def test_kaldiio_reads_what_is_written(text: bool, tmp_path: Path) -> None:
    content = entries(1)
    keys = write_ark(tmp_path / "a b.ark", content.items(), tmp_path / "a.scp", text=text)
    assert keys == list(content)
    assert_same(dict(kaldiio.load_ark(str(tmp_path / "a b.ark"))), content)
    assert_same(dict(kaldiio.load_scp(str(tmp_path / "a.scp"))), content)
    assert_same(dict(read_ark(tmp_path / "a b.ark")), content)
    assert_same(dict(read_scp(tmp_path / "a.scp")), content)


def test_integers(tmp_path: Path) -> None:
    content = {"a": np.array([3, 0, -1, 2**31 - 1], dtype=np.int32), "b": np.array([7], dtype=np.int32)}
    write_ark(tmp_path / "a.ark", content.items())
    assert_same(dict(kaldiio.load_ark(str(tmp_path / "a.ark"))), content)
    assert_same(dict(read_ark(tmp_path / "a.ark")), content)
    kaldiio.save_ark(str(tmp_path / "b.ark"), content)
    assert (tmp_path / "b.ark").read_bytes() == (tmp_path / "a.ark").read_bytes()
    # As ``copy-int-vector ark:- ark,t:-`` writes them; kaldiio puts brackets around.
    write_ark(tmp_path / "t.ark", content.items(), text=True)
    assert (tmp_path / "t.ark").read_text() == "a 3 0 -1 2147483647\nb 7\n"
    assert_same(dict(read_ark(tmp_path / "t.ark")), content)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_kaldiio_writes_is_read(dtype: str, tmp_path: Path) -> None:
    content = {key: entry.astype(dtype) for key, entry in entries(2).items()}
    kaldiio.save_ark(str(tmp_path / "a.ark"), content, scp=str(tmp_path / "a.scp"))
    assert_same(dict(read_ark(tmp_path / "a.ark")), content)
    assert_same(dict(read_scp(tmp_path / "a.scp")), content)
    write_ark(tmp_path / "b.ark", content.items())
    assert (tmp_path / "a.ark").read_bytes() == (tmp_path / "b.ark").read_bytes()
    kaldiio.save_ark(str(tmp_path / "t.ark"), content, text=True)
    assert_same(dict(read_ark(tmp_path / "t.ark")), {k: v.astype("f4") for k, v in content.items()})


@pytest.mark.parametrize("method", [1, 2, 3, 5])
def test_compressed_matrices(method: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(method)
    # The kinds for 8 and 16 bits, with a range for each column (1, 2), without (3), for probabilities (5).
    values = rng.random((30, 5)) if method == 5 else rng.normal(size=(30, 5)) * [1, 10, 0.1, 3, 100]
    content = {"a": values.astype(np.float32), "b": values[:9].astype(np.float32)}
    kaldiio.save_ark(str(tmp_path / "a.ark"), content, compression_method=method)
    expected = dict(kaldiio.load_ark(str(tmp_path / "a.ark")))
    found = dict(read_ark(tmp_path / "a.ark"))
    assert found.keys() == expected.keys()
    for key, entry in expected.items():
        assert_allclose(found[key], entry, rtol=1e-5, atol=1e-4)
        assert np.abs(found[key] - content[key]).max() < 10  # of up to hundreds


def test_the_index_finds_archives_that_were_moved(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    content = entries(3)
    write_ark(tmp_path / "old" / "a.ark", content.items(), tmp_path / "old" / "a.scp")
    (tmp_path / "old").rename(tmp_path / "new")
    assert_same(dict(read_scp(tmp_path / "new" / "a.scp")), content)


def binary(body: bytes) -> bytes:
    return b"a \0B" + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            binary(b"FM \4" + struct.pack("<ibi", 2**31 - 1, 4, 2**31 - 1)),
            '"a": truncated, expected 184467.* got 0',
        ),
        (
            binary(b"FM \4" + struct.pack("<ibi", 2, 4, 2) + b"\0" * 15),
            "truncated, expected 16 bytes, got 15",
        ),
        (binary(b"FV \4" + struct.pack("<i", -3)), "expected a count from 0 on, got -3"),
        (binary(b"FV \2" + struct.pack("<i", 3)), "got 3 of 2 bytes"),
        (binary(b"CM " + struct.pack("<ffii", 0, 1, 2**30, 2**30)), "truncated"),
        (binary(b"CM " + struct.pack("<ffii", 0, 1, -1, 2)), "got -1 x 2"),
        (binary(b"\4" + struct.pack("<i", 2**30)), "truncated"),
        (binary(b"\4" + struct.pack("<i", -1)), "got -1"),
        (binary(b"\4" + struct.pack("<ibi", 1, 2, 1)), "expected integers of 4 bytes"),
        (binary(b"FP "), "holds b'FP ', expected a matrix"),
        (binary(b"<T"), "holds b'<T', expected a matrix"),
        (binary(b""), "holds b'', expected a matrix"),
        (binary(b"FV \4" + struct.pack("<if", 1, np.nan)), "NaN in it"),
        (b"a [ 1 nan ]\n", "NaN in it"),
        (b"a [ 1 2\n 3", 'truncated, expected "]"'),
        (b"a [\n 1 2\n 3 ]\n", "rows of one length"),
        (b"a [ 1 x ]\n", "expected numbers, got b' 1 x '"),
        (b"a [ 1 ] 2\n", 'expected nothing after "]"'),
        (b"a 1 2.5\n", "expected integers, or floats in"),
        (b"a nan\n", "expected integers, or floats in"),
        (b"a 99999999999\n", "expected integers, or floats in"),
        ("a [ 1 ]\n".encode("utf-16"), "no Kaldi archive: no key at byte 0"),
        (b"RIFF\0\0\0\0", "no Kaldi archive: no key at byte 0"),
        (b"\xff\xfe\xfd 1", "no Kaldi archive: no key at byte 0"),
        (b"x" * 9999, "no Kaldi archive: no key at byte 0"),
        (b"a 1\nb", "no key at byte 4"),
    ],
)
def test_damaged_archives_are_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ark"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(FeatureError, match=message) as caught:
        list(read_ark(path))
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_every_shortened_archive_ends_in_an_error_or_at_an_entry(tmp_path: Path) -> None:
    content = {"a": np.ones((2, 3), dtype=np.float32), "b": np.array([1, 2], dtype=np.int32)}
    path = tmp_path / "x.ark"
    write_ark(path, content.items())
    whole, n_whole = path.read_bytes(), []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            n_whole.append(len(list(read_ark(path))))
        except FeatureError as error:
            assert str(path) in str(error)  # noqa: PT017
    assert n_whole == [0, 1]


def test_carriage_returns_and_a_mark_of_byte_order(tmp_path: Path) -> None:
    (tmp_path / "x.ark").write_bytes(b"\xef\xbb\xbfa  [\r\n 1 2\r\n 3 4 ]\r\nb 1 2\r\n")
    found = dict(read_ark(tmp_path / "x.ark"))
    assert {key: entry.tolist() for key, entry in found.items()} == {"a": [[1, 2], [3, 4]], "b": [1, 2]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a gzip -c x|", r"x.scp:1: .* expected FILE or FILE:BYTE"),
        ("a x.ark:3[0:1]", r"x.scp:1: .* no range"),
        ("a", r"x.scp:1: "),
        ("a gone.ark:3", r'x.scp:1: archive "gone.ark" does not exist'),
        ("a x.ark:999999", r'x.ark: "a": truncated'),
        ("a x.ark:2\na x.ark:2", r'x.scp:2: key "a" again'),
    ],
)
def test_faulty_indices(line: str, message: str, tmp_path: Path) -> None:
    write_ark(tmp_path / "x.ark", [("a", np.ones(1, dtype=np.float32))])
    (tmp_path / "x.scp").write_text(line + "\n")
    with pytest.raises(FeatureError, match=message):
        read_scp(tmp_path / "x.scp")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("a b", np.ones(1))], "keys without white space, got 'a b'"),
        ([("", np.ones(1))], "keys without white space, got ''"),
        ([("a", np.ones(1)), ("a", np.ones(1))], 'key "a" again'),
        ([("a", np.ones((1, 1, 1)))], r"got float64 of shape \(1, 1, 1\)"),
        ([("a", np.array(["x"]))], "expected a matrix or vector of numbers"),
    ],
)
def test_what_cannot_be_written(given: list[tuple[str, np.ndarray]], message: str, tmp_path: Path) -> None:
    with pytest.raises(FeatureError, match=message):
        write_ark(tmp_path / "x.ark", given)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FeatureError, match=r"none.ark: cannot be read \(No such file"):
        list(read_ark(tmp_path / "none.ark"))
