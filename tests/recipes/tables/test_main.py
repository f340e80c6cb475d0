"""The tables as printed, on small synthetic data; real numbers: docs/tables.md."""

from pathlib import Path

import pytest

from recipes.tables.__main__ import main


@pytest.mark.slow
def test_rows_of_what_is_there_and_what_is_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = "optdigits,satimage,heart,thyroid,sinc,boston,abalone"
    assert main([str(folder), "--only", only, "--quick"]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    found = {tuple(cell.strip() for cell in row[:2]): [cell.strip() for cell in row[2:]] for row in rows}
    for name in ("satimage", "thyroid", "abalone"):
        assert (name, "not in the folder") in found
    svm, paper, error, centers, distinct = found["optdigits", "OROLS one-vs-rest"][:5]
    assert (svm, paper) == ("2.73 (12.1)", "1.11 (10.2)")
    assert float(error) < 10.0  # three blobs four deviations apart
    assert float(centers) == pytest.approx(10.2, abs=1.0)
    assert float(centers) <= float(distinct) <= 3 * float(centers) + 0.1
    cv_errors = [cells[-1] for (name, _), cells in found.items() if name == "optdigits"]
    least = min(float(text.rstrip("*")) for text in cv_errors)
    assert {float(text[:-1]) for text in cv_errors if text.endswith("*")} == {least}
    assert found["heart", "2 of ours, 170 / 100"]
    assert float(found["OROLS error_reduction loo", "0.0431"][0].split(" ±")[0]) < 0.1


def test_same_numbers_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for jobs in ("1", "2"):
        assert main([str(folder), "--only", "heart", "--quick", "--jobs", jobs]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_unknown_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "--only", "usps,mnist"]) == 2
    assert 'no table has "mnist"' in capsys.readouterr().err


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    figures = folder / "figures"
    assert main([str(folder), "--only", "spirals,ripley", "--quick", "--figures", str(figures)]) == 0
    assert (figures / "two_spirals.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "Ripley's data (synth): not in the folder" in out
    assert "| 120     | 0 " in out
