"""What ``asr align`` writes."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import asr
from asr.formats.alignments import ALIGN_FORMATS, write_aligned
from asr.formats.ctm import to_ctm
from asr.formats.mlf import to_mlf
from asr.formats.textgrid import to_textgrid
from asr.formats.tiers import AlignedUtterance


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
    }


def test_names_of_the_formats() -> None:
    assert tuple(ALIGN_FORMATS) == ("textgrid", "ctm", "mlf")


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


def test_one_textgrid_an_utterance(aligned: list[AlignedUtterance], tmp_path: Path) -> None:
    assert write_aligned(aligned, "textgrid", tmp_path / "grids") == ""
    files = sorted((tmp_path / "grids").iterdir())
    assert [file.name for file in files] == ["u1.TextGrid", "u2.TextGrid"]
    assert "".join(file.read_text() for file in files) == texts(aligned)["textgrid"]


@pytest.mark.parametrize("module", ["alignments", "hypotheses"])
def test_the_names_of_the_formats_are_had_without_numpy(module: str) -> None:
    script = f"""
import sys, types
package = types.ModuleType("asr")  # the package without what it exports
package.__path__ = {list(asr.__path__)}
sys.modules["asr"] = package
import asr.formats.{module}
print(sorted(name for name in ("numpy", "numba", "scipy", "sklearn") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
