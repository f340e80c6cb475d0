"""What other tools are given of a model and a corpus, read again by them or by another reader."""

from __future__ import annotations

import zipfile
from pathlib import Path

import kaldiio
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.model import log_posteriors
from asr import Recognizer, align, decode, export, import_model, read_corpus
from asr.cli import main
from asr.commands.exchange import STATES
from asr.corpora.speech_data import compute_cepstra
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.formats.arrays import ARRAY_FORMATS
from asr.transcribe import scored_speech
from decoder.lexicon import Lexicon
from features import read_htk, read_scp


@pytest.fixture(scope="module")
def speech(trained: Path, tones: Path):  # type: ignore[no-untyped-def]
    """Return two speakers' utterances with frames and scores, computed as ``asr evaluate`` does."""
    recognizer, corpus = Recognizer.load(trained), read_corpus(tones)
    data = compute_cepstra(corpus, recognizer.model.front_end.config)
    return recognizer, data, scored_speech(data.cepstra, data.speakers, recognizer.model)


@pytest.mark.parametrize("what", ["features", "scores", "posteriors"])
def test_matrices_in_each_format(what: str, trained: Path, tones: Path, speech, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    recognizer, data, scored = speech
    matrices = {
        "features": scored.frames,
        "scores": scored.scores,
        "posteriors": [log_posteriors(s, recognizer.model) for s in scored.scores],
    }[what]
    expected = dict(zip(data.corpus.ids, matrices, strict=True))
    done = {
        f: export(trained, what=what, corpus=tones, format=f, out=tmp_path / f)
        for f in ("kaldi", "htk", "npz")
    }
    assert {(d.n_utterances, d.errors) for d in done.values()} == {(len(expected), ())}
    kaldi = dict(kaldiio.load_scp(str(done["kaldi"].path)))
    with np.load(done["npz"].path, allow_pickle=False) as file:
        npz = {key: file[key] for key in file.files}
    htk = {Path(line).stem: read_htk(line) for line in done["htk"].path.read_text().splitlines()}
    assert list(kaldi) == list(npz) == list(htk) == list(expected)
    for key, matrix in expected.items():
        for found in (kaldi[key], npz[key], htk[key].frames):
            assert_array_equal(found, matrix)
        assert (htk[key].kind, htk[key].period_s) == ("MFCC_E_D_A" if what == "features" else "USER", 0.01)
    assert read_corpus(tmp_path / "kaldi") == read_corpus(tones)
    assert (tmp_path / "npz" / STATES).is_file() == (what != "features")


def test_posteriors_sum_to_one_and_keep_the_order_of_scores_with_priors(speech) -> None:  # type: ignore[no-untyped-def]
    recognizer, _, scored = speech
    scores, occupancy = scored.scores[0], recognizer.model.occupancy
    found = np.exp(log_posteriors(scores, recognizer.model).astype(np.float64))
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5, atol=0)
    joint = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True)) * np.maximum(occupancy, 1)
    assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-12)


def test_alignments_are_those_of_the_recogniser(trained: Path, tones: Path, speech, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    recognizer, data, scored = speech
    found = export(trained, what="alignments", corpus=tones, out=tmp_path)
    states = dict(kaldiio.load_scp(str(found.path)))
    assert list(states) == list(data.corpus.ids)
    for utterance, frames in zip(data.corpus, scored.frames, strict=True):
        words = [word.word for word in recognizer.read(" ".join(utterance.words))]
        assert_array_equal(states[utterance.utterance_id], recognizer.align_frames(frames, words).states)
    names = [line.split("\t") for line in (tmp_path / STATES).read_text().splitlines()]
    assert [int(number) for number, _ in names] == list(range(recognizer.model.topology.n_states))
    assert tuple(name for _, name in names) == recognizer.model.topology.state_names()


def test_transcripts_for_sphinx_are_read_as_the_same_corpus(
    trained: Path, tones: Path, tmp_path: Path
) -> None:
    done = export(trained, what="transcripts", corpus=tones, format="sphinx", out=tmp_path / "tones")
    assert done.path == tmp_path / "tones" / "etc"
    before = {u.utterance_id: (u.words, u.audio_path.resolve()) for u in read_corpus(tones)}
    read = read_corpus(tmp_path / "tones")
    assert {u.utterance_id: (u.words, u.audio_path.resolve()) for u in read} == before
    lexicon = Recognizer.load(trained).lexicon
    found = Lexicon.read(done.path / "tones.dic")
    assert found == lexicon.restricted_to(found.words)
    assert (done.path / "tones.phone").read_text().split() == [*found.phones, "SIL"]


def test_transcripts_in_other_formats(trained: Path, tones: Path, tmp_path: Path) -> None:
    corpus = read_corpus(tones)
    kaldi = export(trained, what="transcripts", corpus=tones, out=tmp_path / "kaldi")
    assert read_corpus(kaldi.path) == corpus
    trn = export(trained, what="transcripts", corpus=tones, format="trn", out=tmp_path)
    assert trn.path.read_text().splitlines() == [f"{' '.join(u.words)} ({u.utterance_id})" for u in corpus]
    stm = export(trained, what="transcripts", corpus=tones, format="stm", out=tmp_path)
    lines = [line.split() for line in stm.path.read_text().splitlines()]
    assert sorted((speaker, tuple(words)) for _, _, speaker, _, _, *words in lines) == sorted(
        (u.speaker, u.words) for u in corpus
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"what": "nothing"}, 'export: "nothing" is not known; expected one of: features, '),
        (
            {"what": "alignments", "format": "htk"},
            "alignments as htk is not known; expected one of: kaldi, npz",
        ),
        ({"what": "features"}, "features are of recordings; expected --corpus DIR"),
    ],
)
def test_what_cannot_be_asked_for(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        export(tmp_path, out=tmp_path, **options)  # type: ignore[arg-type]


def test_the_command_names_what_was_left_out(
    trained: Path, tones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("0", "1"):
        for suffix in (".wav", ".txt"):
            (corpus / f"{name}{suffix}").write_bytes((tones / "speaker 0" / f"{name}{suffix}").read_bytes())
    (corpus / "1.wav").write_bytes(b"RIFF")
    out = tmp_path / "out"
    command = ["export", str(trained), "--what", "features", "--corpus", str(corpus), "--out", str(out)]
    assert main(command) == 2
    said = capsys.readouterr()
    assert said.out == f"{out / 'features.scp'}: 1 utterance(s)\n"
    assert said.err.splitlines()[-1].startswith("asr: 1: ")
    assert list(read_scp(out / "features.scp")) == ["0"]


def test_the_same_export_gives_the_same_bytes(trained: Path, tones: Path, tmp_path: Path) -> None:
    archives = []
    for name in ("a", "b"):
        done = export(trained, what="scores", corpus=tones / "speaker 0", format="npz", out=tmp_path / name)
        archives.append(done.path.read_bytes())
    assert archives[0] == archives[1]
    assert zipfile.ZipFile(done.path).testzip() is None


@pytest.mark.parametrize(
    ("what", "format", "gone"),
    [("posteriors", "kaldi", ["states.txt", "wav.scp"]), ("transcripts", "kaldi", ["wav.scp"])],
)
def test_an_export_that_is_broken_off_leaves_no_part_of_an_earlier_one(
    trained: Path,
    tones: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    format: str,
    gone: list[str],
) -> None:
    """What readers begin with is gone before the rest changes, and comes when all is there."""
    out = tmp_path / "out"
    export(trained, what=what, corpus=tones / "speaker 0", format=format, out=out)
    before = {path.name for path in out.iterdir()}
    full = OSError(28, "No space left on device")

    def broken_off(*_: object, **__: object) -> None:
        raise full

    monkeypatch.setitem(ARRAY_FORMATS, "kaldi", broken_off)
    monkeypatch.setattr("asr.commands.exchange.write_corpus", broken_off)
    with pytest.raises(ExperimentError, match="no space left"):
        export(trained, what=what, corpus=tones / "speaker 1", format=format, out=out)
    assert before - {path.name for path in out.iterdir()} == set(gone)


def test_nothing_is_written_among_the_recordings(trained: Path, tones: Path) -> None:
    before = sorted(tones.rglob("*"))
    for out in (tones, tones / "new", tones / "speaker 1"):
        with pytest.raises(ConfigError, match=r"lies in the corpus .* or take their place; choose"):
            export(trained, what="transcripts", out=out, corpus=tones)
    assert sorted(tones.rglob("*")) == before


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
    monkeypatch.setattr("asr.commands.exchange.GmmModel", int)
    out = tmp_path / "ex/model"
    with pytest.raises(ConfigError, match=r"model gmm2 is of discriminants, expected Gaussian mixtures"):
        export(trained, what="model", out=out)
    assert list(tmp_path.iterdir()) == []
    out.mkdir(parents=True)
    (out / "features.scp").write_text("of an earlier export")
    with pytest.raises(ConfigError, match="is of discriminants"):
        export(trained, what="model", corpus=tmp_path / "corpus", out=out)
    assert (out / "features.scp").read_text() == "of an earlier export"


@pytest.mark.parametrize("is_there", [False, True])
def test_a_refused_export_leaves_no_empty_folder(trained: Path, tmp_path: Path, is_there: bool) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "ex/features"
    corpus.mkdir()
    (corpus / "0.wav").write_bytes(b"RIFF")
    (corpus / "0.txt").write_text("some words")
    if is_there:
        out.mkdir(parents=True)
    with pytest.raises(CorpusError, match="no utterance can be used"):
        export(trained, what="features", corpus=corpus, out=out)
    assert (out.is_dir(), out.parent.is_dir()) == (is_there, is_there)
