import os
import pickle
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from asr.errors import CorpusError
from decoder.decoder import Hypothesis
from foundation.blocks import Threads
from foundation.packing import DamagedFileError, pack, unpack, unpack_trusted


class Outsider(NamedTuple):
    """A record that is none of the package's own."""

    x: int


class Runs:
    """Runs a function when it is unpickled."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def same(a, b):
    """Return whether two values are equal in kind and content, arrays in every bit and in their order."""
    if isinstance(a, np.ndarray):
        laid = a.flags.f_contiguous == b.flags.f_contiguous
        return a.dtype == b.dtype and a.shape == b.shape and laid and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or a != a)


def test_plain_values_and_arrays_come_back_bit_by_bit(tmp_path):
    rng = np.random.default_rng(0)
    value = {
        "plain": [
            None,
            True,
            -3,
            2**70,
            float("nan"),
            float("-inf"),
            "größe",
            b"\0\xff",
            (1, ()),
            frozenset(),
        ],
        "single": rng.normal(size=(3, 5)).astype(np.float32),
        "columns": np.asfortranarray(rng.normal(size=(3, 5))),
        "cut": rng.normal(size=(6, 5))[::2, 1:3].copy(),
        "empty": np.empty((0, 4), np.int32),
        "flags": rng.normal(size=7) > 0,
        "one": np.float32(0.1),
        "place": Path("a") / "b",
    }
    pack(value, tmp_path / "x")
    assert same(unpack(tmp_path / "x"), value)
    assert same(unpack_trusted(tmp_path / "x"), value)


def test_a_view_with_gaps_comes_back_with_its_numbers(tmp_path):
    view = np.arange(24.0).reshape(4, 6)[:, ::2]
    pack(view, tmp_path / "x")
    np.testing.assert_array_equal(unpack(tmp_path / "x"), view)


def test_records_and_errors_of_our_own_come_back(tmp_path):
    topology = Topology.monophones(["A", "B"])
    assert topology.flat_self_loops().size  # what a record computed once is no obstacle
    error = CorpusError("text:3: what is wrong")
    pytest.importorskip("distributed")  # which has errors written with their tracebacks
    pack([topology, error], tmp_path / "x")
    found, found_error = unpack(tmp_path / "x")
    assert found == topology
    assert (type(found_error), str(found_error)) == (CorpusError, str(error))


@pytest.mark.parametrize("read", [unpack, unpack_trusted])
def test_arrays_can_be_written_to_and_the_file_stays_as_it_is(tmp_path, read):
    pack(np.zeros(3), tmp_path / "x")
    found = read(tmp_path / "x")
    found[0] = 1
    np.testing.assert_array_equal(found, [1, 0, 0])
    np.testing.assert_array_equal(read(tmp_path / "x"), np.zeros(3))


@pytest.mark.parametrize(
    "value",
    [
        Runs(os.system, "touch {}"),
        Runs(eval, "__import__('os').mkdir('{}')"),
        Runs(getattr, "{}", "upper"),
        Runs(np.load, "{}"),
        Outsider(3),
        Hypothesis.__init__,
        Threads,  # a class, and no record
    ],
)
def test_nothing_is_called_and_no_foreign_record_is_built(tmp_path, value):
    target = tmp_path / "made"
    if isinstance(value, Runs):
        value.arguments = tuple(a.format(target) if isinstance(a, str) else a for a in value.arguments)
    pack([value], tmp_path / "x")
    with pytest.raises(DamagedFileError, match="is not expected in it"):
        unpack(tmp_path / "x")
    assert not target.exists()


def test_damage_is_seen(tmp_path):
    path = tmp_path / "x"
    pack({"a": np.arange(100.0), "b": "text"}, path)
    whole = path.read_bytes()
    for n in (0, 5, 40, 64, 80, len(whole) - 1):
        path.write_bytes(whole[:n])
        with pytest.raises(DamagedFileError, match=r"too early|has \d+ bytes|no file of packed"):
            unpack(path)
    for n in range(0, len(whole), 7):
        if 28 <= n < 64:  # behind the head
            continue
        path.write_bytes(whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :])
        with pytest.raises(DamagedFileError, match=r"changed|bytes, expected|too early|no file of packed"):
            unpack(path)
    path.write_bytes(struct.pack("<8sQQI", b"asrpack1", 2**61, 2**62, 0).ljust(64, b"\0"))
    with pytest.raises(DamagedFileError, match="too early"):
        unpack(path)


def test_a_pickle_is_no_packed_file(tmp_path):
    (tmp_path / "x").write_bytes(pickle.dumps(list(range(100))))
    with pytest.raises(DamagedFileError, match="no file of packed values"):
        unpack(tmp_path / "x")


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path):
    pack("before", tmp_path / "x")
    with pytest.raises(TypeError, match="pickle"):
        pack((n for n in range(3)), tmp_path / "x")
    assert unpack(tmp_path / "x") == "before"
    assert os.listdir(tmp_path) == ["x"]


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        unpack(tmp_path / "x")
