"""Models of HTK in use here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr import Recognizer, align, decode, export, import_model, read_corpus
from asr.cli import main
from asr.errors import ConfigError
from features import read_htk


@pytest.fixture(scope="module")
def exported(trained: Path, tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files for HVite, with the features of a corpus."""
    out = tmp_path_factory.mktemp("htk")
    done = export(trained, what="model", corpus=tones / "speaker 0", grammar="bigram", out=out)
    assert (done.path, done.n_utterances) == (out / "command.txt", 5)
    return out


def test_an_exported_model_that_is_imported_scores_as_before(
    exported: Path, trained: Path, tones: Path, tmp_path: Path
) -> None:
    out = import_model(
        exported / "hmmdefs",
        dictionary=exported / "dict",
        config=exported / "hcopy.cfg",
        grammar=_renamed(exported / "wdnet", tmp_path / "net.slf"),
        normalize="utterance",
        out=tmp_path / "imported",
    )
    before, after = Recognizer.load(trained, grammar="bigram"), Recognizer.load(out)
    assert after.grammar == "slf"
    assert after.lexicon == before.lexicon
    for line in (exported / "features.scp").read_text().splitlines():
        frames = read_htk(line).frames
        expected = before.model.emissions.log_likelihoods(frames)
        np.testing.assert_allclose(
            after.model.emissions.log_likelihoods(frames), expected, rtol=1e-5, atol=1e-3
        )
        options = {"lm_scale": 5.0, "word_penalty": -20.0}
        heard = [r.decoder.with_config(**options).decode(expected) for r in (before, after)]
        assert heard[0].text == heard[1].text
        assert heard[0].log_score == pytest.approx(heard[1].log_score, abs=0.01)
    (found,) = decode(out, [tones / "speaker 0" / "0.wav"])
    assert found.text == tuple((tones / "speaker 0" / "0.txt").read_text().split())  # type: ignore[union-attr]
    aligned = align(out, tones / "speaker 0" / "0.wav", " ".join(found.text))  # type: ignore[union-attr]
    assert [i.label for i in aligned.tiers["words"]] == list(found.text)  # type: ignore[union-attr]


def _renamed(path: Path, new: Path) -> Path:
    new.write_text(path.read_text())
    return new


def test_the_command(exported: Path, tones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "model"
    files = ["--dictionary", str(exported / "dict"), "--config", str(exported / "hcopy.cfg")]
    options = ["--normalize", "utterance", "--word-penalty", "-10"]
    assert main(["import", str(exported / "hmmdefs"), *files, *options, "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    recognizer = Recognizer.load(out)
    assert (recognizer.grammar, recognizer.decoder.config.word_penalty) == ("loop", -10.0)
    again = export(out, what="model", out=tmp_path / "again")
    assert (again.path.parent / "dict").read_text() == (exported / "dict").read_text()
    assert not (again.path.parent / "features.scp").exists()
    assert len(read_corpus(tones)) == 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": None}, None),
        ({"grammar": "x.txt"}, r"x.txt: expected a grammar called .arpa, .jsgf or .slf"),
        ({"dictionary": "none"}, r"none: cannot be read \(No such file"),
        ({"mmf": "none"}, r"none: cannot be read"),
        ({"dictionary": "phones"}, r"hmmdefs: no HMM of zz, expected one for each phone of "),
        ({"config": "narrow"}, r"hmmdefs: 39 columns, expected 33 of MFCC_E_D_A by the configuration"),
        ({"mmf": "binary"}, r"binary: not UTF-8|binary: a binary file, expected text"),
    ],
)
def test_what_cannot_be_imported(
    options: dict[str, str | None], message: str | None, exported: Path, tmp_path: Path
) -> None:
    (tmp_path / "phones").write_text("A zz\n")
    (tmp_path / "narrow").write_text("NUMCEPS = 10\n")
    (tmp_path / "binary").write_bytes(b":\x00\xff\xfe\x00")
    given = {"mmf": str(exported / "hmmdefs"), "dictionary": str(exported / "dict")}
    given |= {name: str(tmp_path / value) for name, value in options.items() if value is not None}
    if message is None:
        assert import_model(**given, out=tmp_path / "out") == tmp_path / "out"  # type: ignore[arg-type]
        return
    with pytest.raises(Exception, match=message) as caught:
        import_model(**given, out=tmp_path / "out")  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_discriminants_are_not_for_htk(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asr.exports.GmmModel", int)
    with pytest.raises(ConfigError, match=r"model gmm2 is of discriminants, expected Gaussian mixtures"):
        export(trained, what="model", out=tmp_path)
