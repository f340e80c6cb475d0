"""Language models as corpora publish them."""

import gzip
import logging
import tarfile
from pathlib import Path

import pytest

from asr.errors import CorpusError
from recipes.published_models import published_model, unpack_model


def packed(directory: Path, *names: str) -> Path:
    """Write a tar archive with files of these names that hold their names, and return it."""
    (directory / "in").mkdir()
    with tarfile.open(directory / "m.arpa.tar.gz", "w:gz") as archive:
        for name in names:
            (directory / "in" / name).write_text(name)
            archive.add(directory / "in" / name, name)
    return directory / "m.arpa.tar.gz"


def test_the_smallest_of_the_first_folder_that_has_any(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, size in {"b/large.arpa": 9, "b/small.arpa.gz": 3, "b/x.tar.gz": 1, "c/tiny.arpa": 1}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    places = [tmp_path / "none", tmp_path / "b", tmp_path / "c"]
    with caplog.at_level(logging.WARNING):
        assert published_model(places) == tmp_path / "b/small.arpa.gz"
    assert "the smallest; left aside: large.arpa" in caplog.text
    assert published_model(places[:1]) is None


def test_unpacked(tmp_path: Path) -> None:
    plain = tmp_path / "m.arpa"
    plain.write_text("model")
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress(b"model of gzip"))
    archive = packed(tmp_path, "README", "x.arpa")
    for source, text in {
        plain: "model",
        tmp_path / "m.arpa.gz": "model of gzip",
        archive: "x.arpa",
    }.items():
        unpack_model(source, tmp_path / "out.arpa")
        assert (tmp_path / "out.arpa").read_text() == text


def test_what_cannot_be_unpacked(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"m\.arpa\.tar\.gz: 2 \.arpa files in it, expected one"):
        unpack_model(packed(tmp_path, "x.arpa", "y.arpa"), tmp_path / "out.arpa")
    for name in ("m.arpa.gz", "m.arpa.tar.gz"):
        (tmp_path / name).write_bytes(b"no gzip")
        with pytest.raises(CorpusError, match=rf"{name}: cannot be unpacked .*get it again"):
            unpack_model(tmp_path / name, tmp_path / "out.arpa")
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress(bytes(10_000))[:30])
    with pytest.raises(CorpusError, match="expected a whole file"):
        unpack_model(tmp_path / "m.arpa.gz", tmp_path / "out.arpa")
