"""What ``asr align`` writes."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import asr
from asr.errors import ConfigError
from asr.formats.aligned import AlignedUtterance
from asr.formats.captions import to_srt, to_vtt
from asr.formats.mlf import from_mlf, to_mlf
from asr.formats.nist import to_ctm
from asr.formats.outputs import ALIGN_FORMATS, ONE_EACH, write_aligned
from asr.formats.praat_elan import to_eaf, to_textgrid


@pytest.fixture
def aligned(spoken: SimpleNamespace) -> list[AlignedUtterance]:
    return [
        AlignedUtterance("u1", spoken.tiers, 0.6, -50.0),
        AlignedUtterance("u2", spoken.tiers, 0.6, -50.0, (0.5, 0.9876)),
    ]


def texts(aligned: list[AlignedUtterance]) -> dict[str, str]:
    """Return what each format makes of all the utterances."""
    return {
        "textgrid": "".join(to_textgrid(a.tiers, 0.6) for a in aligned),
        "ctm": "".join(to_ctm(a.utterance_id, a.tiers["words"], confidences=a.confidences) for a in aligned),
        "mlf": to_mlf({a.utterance_id: a.tiers for a in aligned}, ("states", "phones", "words")),
        "eaf": "".join(to_eaf(a.tiers, a.recording, a.origin_s) for a in aligned),
        "srt": "".join(to_srt(a.tiers["words"]) for a in aligned),
        "vtt": "".join(to_vtt(a.tiers["words"]) for a in aligned),
    }


def test_names_of_the_formats() -> None:
    assert tuple(ALIGN_FORMATS) == ("textgrid", "ctm", "mlf", "eaf", "srt", "vtt")
    assert tuple(ONE_EACH) == ("textgrid", "eaf", "srt", "vtt")


@pytest.mark.parametrize("name", ALIGN_FORMATS)
def test_text_without_a_place(aligned: list[AlignedUtterance], name: str) -> None:
    assert write_aligned(aligned, name, None) == texts(aligned)[name]


@pytest.mark.parametrize("name", ["ctm", "mlf"])
def test_one_file_in_a_folder_that_is_made(
    aligned: list[AlignedUtterance], name: str, tmp_path: Path
) -> None:
    out = tmp_path / "new" / f"all.{name}"
    assert write_aligned(aligned, name, out) == ""
    assert out.read_text() == texts(aligned)[name]


@pytest.mark.parametrize("name", ONE_EACH)
def test_one_file_an_utterance(aligned: list[AlignedUtterance], name: str, tmp_path: Path) -> None:
    assert write_aligned(aligned, name, tmp_path / "each") == ""
    files = sorted((tmp_path / "each").iterdir())
    assert [file.name for file in files] == [f"u1{ONE_EACH[name][0]}", f"u2{ONE_EACH[name][0]}"]
    assert "".join(file.read_text() for file in files) == texts(aligned)[name]


def test_an_id_is_no_path(aligned: list[AlignedUtterance], tmp_path: Path) -> None:
    ids = ("../u", "/u", "a/b", "a%2Fb", "a\0b", "a" * 300, "a" * 299 + "b")
    climbing = [replace(aligned[0], utterance_id=name) for name in ids]
    assert write_aligned(climbing, "vtt", tmp_path / "each") == ""
    names = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    long = {name for name in names if name.startswith("aaa")}
    assert names - long == {"%2E.%2Fu.vtt", "%2Fu.vtt", "a%2Fb.vtt", "a%252Fb.vtt", "a%00b.vtt"}
    assert len(long) == 2
    assert {file.parent for file in tmp_path.rglob("*.vtt")} == {tmp_path / "each"}


@pytest.mark.parametrize(
    ("rows", "tiers"),
    [
        (None, ("states", "phones", "words")),
        ("states", ("states", "phones", "words")),
        ("phones", ("phones", "words")),
        ("words", ("words",)),
    ],
)
def test_rows_of_mlf(aligned: list[AlignedUtterance], rows: str | None, tiers: tuple[str, ...]) -> None:
    text = write_aligned(aligned, "mlf", None, rows=rows)
    found = from_mlf(text, tiers)["u1"]
    assert found[tiers[0]] == aligned[0].tiers[tiers[0]]


def test_rows_are_of_mlf_alone(aligned: list[AlignedUtterance]) -> None:
    with pytest.raises(ConfigError, match="--rows is of mlf, got ctm"):
        write_aligned(aligned, "ctm", None, rows="words")


def test_the_names_of_the_formats_are_had_without_numpy() -> None:
    script = f"""
import sys, types
package = types.ModuleType("asr")  # the package without what it exports
package.__path__ = {list(asr.__path__)}
sys.modules["asr"] = package
import asr.formats.outputs
print(sorted(name for name in ("numpy", "numba", "scipy", "sklearn") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
