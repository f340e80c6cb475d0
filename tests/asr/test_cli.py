"""The command line as a hurried user meets it: words on standard output, one line for each mistake."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.cli import main
from asr.commands import COMMANDS
from asr.errors import CorpusError
from asr.experiment import Experiment
from asr.formats.alignments import ALIGN_FORMATS
from asr.formats.hypotheses import DECODE_FORMATS
from asr.own_commands import OWN_COMMANDS
from asr.recipe_scripts import built_in_recipes
from asr.stages.store import StageStore
from asr.systems import PRESETS, SYSTEMS
from asr.training.suspicious import Suspicious, write_suspicious

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a verb and gives exit code, standard output and standard error."""

    def verb(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return verb


@pytest.fixture
def wav(tones: Path) -> Path:
    return tones / "speaker 0" / "0.wav"


@pytest.fixture
def words(wav: Path) -> str:
    return wav.with_suffix(".txt").read_text().strip()


def one_error(result: tuple[int, str, str]) -> str:
    """Return the one line of an error."""
    code, _, errors = result
    assert code == 2
    (line,) = errors.splitlines()
    assert line.startswith("asr: ")
    return line


def write_wav(path: Path, samples: Sequence[float] | np.ndarray, rate: int = 16000) -> Path:
    soundfile.write(path, np.asarray(samples, dtype=np.float32), rate, subtype="FLOAT")
    return path


class TestDecode:
    def test_one(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        assert run("decode", trained, wav) == (0, f"{words}\n", "")

    def test_several_are_told_apart(self, run: Run, trained: Path, wav: Path) -> None:
        code, out, _ = run("decode", trained, wav, wav.with_name("1.wav"))
        assert code == 0
        assert [line.split("\t")[0] for line in out.splitlines()] == [str(wav), str(wav.with_name("1.wav"))]

    def test_one_bad_among_several(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        code, out, errors = run("decode", trained, "nowhere.wav", wav, wav.with_suffix(".txt"))
        assert (code, out) == (2, f"{wav}\t{words}\n")
        assert [line.split(";")[0] for line in errors.splitlines()] == [
            "asr: nowhere.wav: no such file",
            f"asr: {wav.with_suffix('.txt')}: not audio that libsndfile can read",
        ]

    def test_formats(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        (record,) = json.loads(run("decode", trained, wav, "--format", "json")[1])
        assert (record["text"], record["recording"], record["complete"]) == (words, str(wav), True)
        for word, later in zip(record["words"], [*record["words"][1:], None], strict=True):
            assert 0 <= word["confidence"] <= 1
            assert word["start_s"] < word["end_s"] <= (later["start_s"] if later else 2.0)
        assert run("decode", trained, wav, "--format", "trn")[1] == f"{words} (0)\n"
        ctm = run("decode", trained, wav, "--format", "ctm")[1].splitlines()
        assert [line.split()[4] for line in ctm] == words.split()

    def test_n_best(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        (line,) = run("decode", trained, wav, "--nbest", "3")[1].splitlines()
        assert (line.split("\t")[0], line.split("\t")[2]) == ("1", words)  # nothing else is near
        assert "n_best: expected at least 1, got 0" in one_error(run("decode", trained, wav, "--nbest", "0"))

    def test_same_speaker(self, run: Run, trained: Path, wav: Path) -> None:
        """Recordings of one speaker are normalised together: the scores are others, the words the same."""
        both = (wav, wav.with_name("1.wav"))
        together, apart = (
            json.loads(run("decode", trained, *both, *option, "--format", "json")[1])
            for option in (["--same-speaker"], [])
        )
        spoken = [path.with_suffix(".txt").read_text().strip() for path in both]
        assert [found["text"] for found in together] == [found["text"] for found in apart] == spoken
        assert all(a["log_score"] != b["log_score"] for a, b in zip(together, apart, strict=True))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--model", "gmm"], r'no model "gmm" (did you mean "gmm2"?); expected one of: gmm2'),
            (["--grammar", "bigam"], r'no grammar "bigam" (did you mean "bigram"?); expected one of: '),
        ],
    )
    def test_unknown_names(
        self, run: Run, trained: Path, wav: Path, options: list[str], message: str
    ) -> None:
        assert message in one_error(run("decode", trained, wav, *options))

    def test_stereo_mp3_of_another_rate(
        self, run: Run, trained: Path, wav: Path, words: str, tmp_path: Path
    ) -> None:
        samples, rate = soundfile.read(wav)
        times = np.arange(int(len(samples) * 44100 / rate)) / 44100
        mono = np.interp(times, np.arange(len(samples)) / rate, samples)
        soundfile.write(tmp_path / "x.mp3", np.stack([mono, mono], axis=1), 44100)
        assert run("decode", trained, tmp_path / "x.mp3") == (0, f"{words}\n", "")

    @pytest.mark.parametrize(
        ("samples", "message"),
        [
            ([], "no samples"),
            ([0.0, np.nan] * 8000, "sample 1; expected a finite number; got nan"),
            ([0.1] * 160, "audio too short: expected at least one window of 400 samples (25 ms), got 160"),
        ],
    )
    def test_useless_recordings(
        self, run: Run, trained: Path, tmp_path: Path, samples: list[float], message: str
    ) -> None:
        line = one_error(run("decode", trained, write_wav(tmp_path / "bad.wav", samples)))
        assert message in line
        assert "bad.wav" in line

    @pytest.mark.parametrize("n_samples", [400, 600, 1200])
    def test_shorter_than_any_word(self, run: Run, trained: Path, tmp_path: Path, n_samples: int) -> None:
        noise = np.random.default_rng(0).normal(0, 0.1, n_samples)
        assert run("decode", trained, write_wav(tmp_path / "short.wav", noise)) == (0, "\n", "")

    def test_digital_silence(self, run: Run, trained: Path, tmp_path: Path) -> None:
        silent = write_wav(tmp_path / "zero.wav", np.zeros(16000))
        assert "zero.wav: samples: expected a recording, got digital silence" in one_error(
            run("decode", trained, silent)
        )

    def test_a_low_rate_is_said(self, run: Run, trained: Path, tmp_path: Path) -> None:
        low = tmp_path / "low.wav"
        soundfile.write(low, 0.1 * np.hanning(8000) * np.random.default_rng(0).normal(size=8000), 8000)
        code, _, errors = run("decode", trained, low)
        assert code == 0
        assert "low.wav (8000 Hz)" in errors

    def test_a_truncated_file(self, run: Run, trained: Path, wav: Path, tmp_path: Path) -> None:
        (tmp_path / "cut.wav").write_bytes(wav.read_bytes()[:-1000])
        assert "cut.wav: truncated" in one_error(run("decode", trained, tmp_path / "cut.wav"))


DAMAGED_RECORDS = [
    ("models/gmm2/data.json", b"[]", "data.json: holds a list, expected an object"),
    ("models/gmm2/data.json", b'{"splits": 3}', "data.json: not as asr train writes it"),
    (
        "models/gmm2/data.json",
        b'{"recipe": "f", "preset": "best", "trained_on": ["train"], "splits": {"train": {"hours": "x"}}}',
        "data.json: train.: no n_different, n_speakers, n_utterances, n_words; expected hours",
    ),
    (
        "models/gmm2/data.json",
        b'{"recipe": "f", "preset": "best", "trained_on": ["train"], "splits": {}}',
        "data.json: not as asr train writes it (KeyError: 'train')",
    ),
    ("results.json", b"3", "results.json: holds a int, expected an object"),
    ("results.json", b'{"results": 3}', "results.json: not as asr train writes it"),
    ("results.json", b'{"results": [{"model": 1}]}', "results.json: results.: no "),
    ("results.json", b"[" * 100_000, "results.json: cannot be read (lists or objects are too deep"),
    ("suspicious.json", b"{}", "suspicious.json: not as asr train writes it (KeyError"),
    (
        "suspicious.json",
        b'{"suspicious": [3], "n_utterances": 1}',
        "suspicious.json: suspicious.: expected an",
    ),
    ("default.json", b"[]", 'no model ""'),
]


@pytest.mark.parametrize(("name", "content", "message"), DAMAGED_RECORDS)
def test_damaged_records_of_an_experiment_are_one_line(
    run: Run, trained: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    experiment = tmp_path / "exp"
    shutil.copytree(trained, experiment, ignore=shutil.ignore_patterns("stages"))
    (experiment / name).write_bytes(content)
    assert message in one_error(run("info", experiment))


class TestBrokenModels:
    @pytest.fixture
    def model(self, trained: Path, tmp_path: Path) -> Path:
        shutil.copytree(trained / "models", tmp_path / "exp/models")
        shutil.copy(trained / "default.json", tmp_path / "exp")
        return tmp_path / "exp/models/gmm2"

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("model.safetensors", b"garbage", "corrupt, its 7 bytes do not have the checksum"),
            ("model.safetensors", None, "cannot be read (No such file or directory)"),
            ("model.json", b"{", "model.json: cannot be read"),
            ("model.json", b"{}", "model.json: not an acoustic model"),
            ("model.json", None, "model.json: not found"),
            ("decoding.json", b"{", "decoding.json: cannot be read"),
            ("decoding.json", b"[]", "decoding.json: holds a list, expected an object"),
            ("decoding.json", b'{"default_grammar": "loop", "grammars": {"loop": {"x": 1}}}', "train again"),
            ("decoding.json", b'{"default_grammar": "l", "grammars": {}}', 'no grammar "l"'),
            ("wording.json", b"{", "wording.json: cannot be read"),
            ("wording.json", b"[]", "wording.json: holds a list, expected an object"),
            ("wording.json", b'{"text": "plain"}', "wording.json: not as asr train writes it (KeyError"),
            ("fit.json", b'{"word": {"x": 1}}', "fit.json: not as asr train writes it"),
            ("lexicon.txt", None, "lexicon.txt: cannot read the lexicon (No such file or directory)"),
            ("lexicon.txt", b"", 'lexicon.txt: no words, expected lines "WORD PH PH …"'),
            ("bigram.arpa", None, "bigram.arpa: expected a readable ARPA file"),
            ("bigram.arpa", b"nonsense", 'bigram.arpa: expected a line "\\data\\", got none'),
            ("../../default.json", None, "training has not finished"),
            ("../../default.json", b"{}", 'no model "None"; expected one of: gmm2'),
            ("../../default.json", b'{"model": "gone"}', 'no model "gone"; expected one of: gmm2'),
        ],
    )
    def test_one_line(
        self, run: Run, model: Path, wav: Path, name: str, content: bytes | None, message: str
    ) -> None:
        if content is None:
            (model / name).unlink()
        else:
            (model / name).write_bytes(content)
        assert message in one_error(run("decode", model.parents[1], wav))

    def test_a_word_taken_out_of_the_lexicon_is_not_recognised(
        self, run: Run, model: Path, wav: Path, words: str
    ) -> None:
        gone, *others = (model / "lexicon.txt").read_text().splitlines(keepends=True)
        assert gone.split()[0] in words.split()
        (model / "lexicon.txt").write_text("".join(others))
        code, out, errors = run("decode", model, wav)
        assert (code, errors) == (0, "")
        assert set(out.split()) <= {line.split()[0] for line in others}
        assert out.split()[-1] == words.split()[-1]

    def test_no_experiment(self, run: Run, tmp_path: Path, wav: Path) -> None:
        assert "no such directory" in one_error(run("decode", tmp_path / "x", wav))
        assert "no trained model in it" in one_error(run("decode", tmp_path, wav))
        assert "no trained model in it" in one_error(run("info", tmp_path))

    def test_model_named_twice(self, run: Run, model: Path, wav: Path) -> None:
        assert run("decode", model, wav, "--model", "gmm2")[0] == 0
        assert 'no model "gmm"' in one_error(run("decode", model, wav, "--model", "gmm"))


class TestAlign:
    def test_formats_agree(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        """Words with start and end, in seconds, read from each format."""
        grid, ctm, mlf = (
            run("align", trained, wav, words, "--format", name) for name in ("textgrid", "ctm", "mlf")
        )
        assert [(code, errors) for code, _, errors in (grid, ctm, mlf)] == [(0, "")] * 3
        tier = grid[1].split('name = "words"')[1].split("item [2]:")[0]
        bounds = re.findall(r'xmin = (\S+)\s+xmax = (\S+)\s+text = "(.+)"', tier)
        by_grid = [(word, float(start), float(end)) for start, end, word in bounds]
        fields = [line.split() for line in ctm[1].splitlines()]
        assert {(name, channel) for name, channel, *_ in fields} == {("0", "1")}
        by_ctm = [(word, float(start), float(start) + float(length)) for *_, start, length, word, _ in fields]
        assert [word for word, *_ in by_grid] == [word for word, *_ in by_ctm] == words.split()
        assert [times for _, *times in by_ctm] == [pytest.approx(times) for _, *times in by_grid]
        assert all(0.9 < float(confidence) <= 1 for *_, confidence in fields)
        head, name, *states, end = mlf[1].splitlines()
        assert (head, name, end) == ("#!MLF!#", '"*/0.lab"', ".")
        starts = {line.split()[4]: int(line.split()[0]) for line in states if len(line.split()) == 5}
        for word, start, _ in by_grid:
            assert starts[word] == pytest.approx(start * 1e7)  # of 100 ns

    def test_text_from_a_file(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        by_file = run("align", trained, wav, wav.with_suffix(".txt"), "--format", "ctm")
        assert by_file == run("align", trained, wav, words, "--format", "ctm")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("IMMI", 'word "IMMI" is not in the model\'s lexicon (did you mean "IMI"'),
            ("asu", 'word "ASU" is not'),
            ("", "empty transcript, expected the words spoken"),
            ("  ", "empty transcript"),
            ("missing.txt", "missing.txt: No such file or directory; expected a transcript"),
            ("ASA " * 200, "its transcript needs at least"),
            ("A. B.", 'word "A" is not'),
        ],
    )
    def test_refused(self, run: Run, trained: Path, wav: Path, text: str, message: str) -> None:
        assert message in one_error(run("align", trained, wav, text))

    def test_an_unknown_word_among_others_is_aligned(
        self, run: Run, trained: Path, wav: Path, words: str
    ) -> None:
        first, *others = words.split()
        code, out, errors = run("align", trained, wav, " ".join(["ZULU", *others]), "--format", "ctm")
        assert (code, [line.split()[4] for line in out.splitlines()]) == (0, ["ZULU", *others])
        assert errors.startswith("1 word(s) of 1 utterance(s) are not in lexicon.txt and are taken for any")
        known = run("align", trained, wav, words, "--format", "ctm")[1]
        ends = [
            float(t.split()[2]) + float(t.split()[3]) for t in (out.splitlines()[0], known.splitlines()[0])
        ]
        assert ends[0] == pytest.approx(ends[1], abs=0.05), first

    def test_wrong_words_have_less_confidence(self, run: Run, trained: Path, wav: Path, words: str) -> None:
        other = " ".join({"SUS": "IMI"}.get(word, "SUS") for word in words.split())
        lines = run("align", trained, wav, other, "--format", "ctm")[1].splitlines()
        assert min(float(line.split()[5]) for line in lines) < 0.5

    def test_incomplete_command(self, run: Run, trained: Path, wav: Path, tones: Path) -> None:
        assert "expected WAV and TEXT, or --corpus" in one_error(run("align", trained, wav))
        assert "both WAV and --corpus" in one_error(run("align", trained, wav, "ASA", "--corpus", tones))
        assert "expected --out DIR" in one_error(run("align", trained, "--corpus", tones))

    def test_corpus_names_what_cannot_be_aligned(
        self, run: Run, trained: Path, tones: Path, tmp_path: Path
    ) -> None:
        corpus = tmp_path / "corpus"
        shutil.copytree(tones / "speaker 0", corpus)
        write_wav(corpus / "0.wav", [0.1] * 160)
        (corpus / "1.txt").write_text("UNKNOWN\n")
        (corpus / "2.txt").write_text("\n")
        code, out, errors = run("align", trained, "--corpus", corpus, "--format", "ctm")
        assert code == 2
        assert {line.split()[0] for line in out.splitlines()} == {"3", "4"}
        too_short, unknown, empty = errors.splitlines()
        assert too_short.startswith("asr: 0: audio too short")
        assert unknown.startswith('asr: 1: word "UNKNOWN" is not in the model')
        assert empty.startswith("asr: 2: empty transcript")
        assert "--set" not in errors  # an option of train

    def test_out(self, run: Run, trained: Path, tones: Path, tmp_path: Path) -> None:
        grids, mlf = tmp_path / "new/grids", tmp_path / "other/all.mlf"
        assert run("align", trained, "--corpus", tones, "--out", grids) == (
            0,
            "",
            f"40 of 40 utterances aligned: {grids}\n",
        )
        assert len(list(grids.glob("*.TextGrid"))) == 40
        assert run("align", trained, "--corpus", tones, "--out", mlf, "--format", "mlf")[:2] == (0, "")
        assert mlf.read_text().startswith("#!MLF!#")


class TestEvaluate:
    def test_table_json_and_words(self, run: Run, trained: Path, tones: Path, tmp_path: Path) -> None:
        words = tmp_path / "words.txt"
        code, out, errors = run("evaluate", trained, "--corpus", tones, "--hypotheses", words)
        assert "trained this model" in errors
        assert "this is not a test" in errors
        assert (code, len(words.read_text().splitlines())) == (0, 40)
        assert out.startswith(
            "word accuracy 100.00 %, 95 % interval over utterances [100.00, 100.00]\n96 words"
        )
        record = json.loads(run("evaluate", trained, "--corpus", tones, "--json", "--grammar", "loop")[1])
        assert record["word_accuracy"] >= 90
        assert record["incomplete"] == []

    def test_bad_recordings_are_named_and_counted_apart(
        self, run: Run, trained: Path, tones: Path, tmp_path: Path
    ) -> None:
        corpus, words = tmp_path / "corpus", tmp_path / "words.txt"
        shutil.copytree(tones / "speaker 0", corpus)
        for name in ("0.wav", "3.wav"):
            (corpus / name).write_bytes(b"no sound")
        spoken = [len((corpus / f"{n}.txt").read_text().split()) for n in range(5)]
        code, out, errors = run("evaluate", trained, "--corpus", corpus, "--hypotheses", words, "--quiet")
        assert code == 2
        assert [line.split(":")[:2] for line in errors.splitlines()] == [["asr", " 0"], ["asr", " 3"]]
        head, counts, sentences, not_decoded, *_ = out.splitlines()
        assert head.startswith("word accuracy ")
        assert counts.startswith(f"{spoken[1] + spoken[2] + spoken[4]} words, ")
        assert sentences.endswith(" 3 utterances")
        assert not_decoded == (
            f"not decoded, in no count: 2 utterances with {spoken[0] + spoken[3]} words: 0, 3"
        )
        assert [line.split()[0] for line in words.read_text().splitlines()] == ["1", "2", "4"]

        code, out, errors = run("evaluate", trained, "--corpus", corpus, "--json", "--quiet")
        assert (code, len(errors.splitlines())) == (2, 2)
        record = json.loads(out)
        assert record["words"] == spoken[1] + spoken[2] + spoken[4]
        assert [(f["utterance"], f["words"]) for f in record["failed"]] == [
            ("0", spoken[0]),
            ("3", spoken[3]),
        ]
        assert "not audio that libsndfile can read" in record["failed"][0]["error"]

    def test_nothing_but_bad_recordings(self, run: Run, trained: Path, tones: Path, tmp_path: Path) -> None:
        corpus = tmp_path / "corpus"
        shutil.copytree(tones / "speaker 0", corpus)
        for path in corpus.glob("*.wav"):
            path.write_bytes(b"no sound")
        code, out, errors = run("evaluate", trained, "--corpus", corpus)
        assert (code, out) == (2, "")
        head, *named = errors.splitlines()
        assert "none of 5 utterance(s) can be decoded" in head
        assert len(named) == 5

    def test_reject(self, run: Run, trained: Path, tones: Path) -> None:
        code, out, _ = run("evaluate", trained, "--corpus", tones / "speaker 0", "--reject")
        assert (code, out.split(",")[0]) == (0, "word accuracy 100.00 %")


class TestSlips:
    """What people type by mistake is one line that says what to type."""

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("decode WAV EXP", "a file, expected a directory that asr train has finished; give that first"),
            ("decode EXP CORPUS", "not a recording; expected an audio file; got a directory"),
            ("decode EXP WAV --model gmm", '(did you mean "gmm2"?); expected one of: gmm2'),
            ("train CORPUS --out X", "(a corpus? asr train folder --corpus "),
            ("train folder --corpus CORPUS --out X --set gmm.beam", 'no "=", expected key=value'),
            ("score WAV REF", "expected UTF-8, got other bytes; convert the file, or give"),
            ("score REF CORPUS", "Is a directory; check the path"),
            ("evaluate EXP --corpus CORPUS --hypotheses CORPUS", "--hypotheses: "),
            ("evaluate EXP --corpus CORPUS --hypotheses X/y", "no such directory, expected one to write to"),
            ("lm REF --out CORPUS", "is a directory, expected a file; choose another name"),
            ("lm X --out Y", "X: cannot be read"),
            ("align EXP --corpus CORPUS --format ctm --out .", ".: Is a directory; check the path"),
            ("validate CORPUS --text klingon", "expected plain, exact or a language such as en"),
            ("validate EXP", "an experiment, expected a corpus; give the corpus, or --suspicious"),
            ("info CORPUS", "no trained model in it; expected a directory that asr train has finished"),
            ("info EXP --measure REF", "not audio that libsndfile can read"),
            ("clean CORPUS", "no experiment; expected a directory that asr train or asr sweep wrote"),
        ],
    )
    def test_one_line(
        self,
        run: Run,
        trained: Path,
        tones: Path,
        wav: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        line: str,
        expected: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "ref").write_text("u1 A B\n")
        places = {"EXP": trained, "CORPUS": tones, "WAV": wav, "REF": Path("ref")}
        code, out, errors = run(*(places.get(word, word) for word in line.split()))
        assert (code, out) == (2, "")
        last = errors.splitlines()[-1]
        assert last.startswith("asr: ")
        assert expected in last
        assert [path.name for path in tmp_path.iterdir()] == ["ref"]


class TestQuiet:
    def test_warnings_are_not_said_and_errors_are(self, run: Run, trained: Path, tmp_path: Path) -> None:
        low = tmp_path / "low.wav"
        soundfile.write(low, 0.1 * np.hanning(8000) * np.random.default_rng(0).normal(size=8000), 8000)
        code, words, errors = run("decode", trained, low, "nowhere.wav")
        assert (code, len(errors.splitlines())) == (2, 2)
        assert run("decode", trained, low, "nowhere.wav", "--quiet") == (
            2,
            words,
            errors.splitlines()[-1] + "\n",
        )
        assert run("decode", trained, low, "-q")[2] == ""

    def test_training(self, run: Run, train_arguments: list[str], trained: Path) -> None:
        code, table, errors = run(*train_arguments, "--out", trained, "--quiet")
        assert (code, errors) == (0, "")
        assert table.startswith("model  grammar  split  words  word acc %")


class TestColour:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        (tmp_path / "a.txt").write_text("A\n")
        return tmp_path

    @pytest.mark.parametrize(
        ("variables", "is_coloured"),
        [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    )
    def test_of_problems(
        self,
        run: Run,
        broken: Path,
        monkeypatch: pytest.MonkeyPatch,
        variables: dict[str, str],
        is_coloured: bool,
    ) -> None:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        code, out, _ = run("validate", broken)
        assert code == 2
        assert out.startswith("\033[31merror\033[0m: a.txt: " if is_coloured else "error: a.txt: ")
        assert "\033" not in run("validate", broken, "--json")[1]


class TestSuspicious:
    def test_listed_by_probability(self, run: Run, trained: Path, tmp_path: Path) -> None:
        assert run("validate", trained, "--suspicious") == (
            0,
            f"{trained}: 0 of 35 utterances look as if something were wrong\n",
            "",
        )
        write_suspicious([Suspicious("u1", "A B", 0.25, ("text does not fit",), False)], 9, tmp_path)
        _, out, _ = run("validate", tmp_path, "--suspicious")
        assert out.splitlines()[1:] == [
            '0.250  u1: text does not fit: "A B"',
            f"{tmp_path}: 1 of 9 utterances look as if something were wrong",
        ]

    def test_a_directory_without_a_list(self, run: Run, tones: Path) -> None:
        assert "no suspicious.json in it" in one_error(run("validate", tones, "--suspicious"))


class TestTrain:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["foldr", "--corpus", "."], 'recipe "foldr" is not built in (did you mean "folder"?)'),
            (["folder", "--corpus", "nowhere"], "nowhere: no such directory; expected the corpus"),
            (["folder"], 'recipe "folder" needs a corpus; expected --corpus DIR'),
            (["nowhere.py", "--corpus", "."], "nowhere.py: no such file; expected a recipe script"),
            (["folder", "--corpus", ".", "--set", "speed=3"], "--set speed: unknown option"),
        ],
    )
    def test_refused(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
    ) -> None:
        (tmp_path / "in").mkdir()
        monkeypatch.chdir(tmp_path / "in")
        assert message in one_error(run("train", *arguments, "--out", tmp_path / "exp"))
        assert not (tmp_path / "exp").exists()

    def test_out_is_a_file(self, run: Run, train_arguments: list[str], tmp_path: Path) -> None:
        (tmp_path / "exp").touch()
        line = one_error(run(*train_arguments, "--out", tmp_path / "exp"))
        assert f"{tmp_path / 'exp'}/stages: Not a directory; expected to read and write there" in line

    def test_table(self, run: Run, train_arguments: list[str], trained: Path) -> None:
        code, out, errors = run(*train_arguments, "--out", trained)
        assert code == 0
        first, *amounts = errors.splitlines()
        assert re.fullmatch(r"gmm\S* by the recipe \w+; the log is .*log\.txt", first)
        assert str(trained) in first
        assert {line.split(":")[0] for line in amounts} == {"train", "dev", "test"}
        assert out.startswith("model  grammar  split  words  word acc %  95 % interval")
        assert out.rstrip().endswith(str(trained / "results.json"))

    def test_verbose_names_the_stages(self, run: Run, train_arguments: list[str], trained: Path) -> None:
        assert "task: unchanged, kept\n" in run(*train_arguments, "--out", trained, "-v")[2]


class TestSweep:
    def test_table_and_exit_code(
        self,
        run: Run,
        tones: Path,
        trained: Path,
        settings: tuple[str, ...],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        out, run_point = tmp_path / "exp", Experiment.run
        shutil.copytree(trained / "stages", out / "stages")
        monkeypatch.setenv("COLUMNS", "120")
        options = [word for setting in settings for word in ("--set", setting)]
        arguments = ["sweep", "folder", "--corpus", tones, "--out", out, "--model", "gmm2", *options]
        arguments += ["--set", "retrain_with_dev=true,false", "--set", "grammars=loop,bigram"]
        code, table, errors = run(*arguments, "--against", "retrain_with_dev=false")
        assert code == 0
        head, *lines = table.splitlines()
        assert head.split()[:3] == ["retrain_with_dev", "model", "grammar"]
        assert "test over 2 [95 %]" in head
        assert [line.split()[:4] for line in lines[:4]] == [
            ["1*", "true", "gmm2", "loop"],
            ["1*", "true", "gmm2", "bigram"],
            ["2", "false", "gmm2", "loop"],
            ["2", "false", "gmm2", "bigram"],
        ]
        assert lines[-1] == str(out / "sweep.json")
        said = [line for line in errors.splitlines() if " so far" not in line]  # of a busy machine
        assert [line for line in said if line.startswith("point")] == [
            "point 1 of 2: retrain_with_dev=true",
            "point 2 of 2: retrain_with_dev=false",
        ]
        assert sum(line.startswith("train: ") for line in said) < 9
        assert said[-1].startswith("point 2 of 2")

        def failing(experiment: Experiment, *given: object, **named: object) -> object:
            if experiment.config.retrain_with_dev:
                raise CorpusError("u1: no sound\nu2: no sound")
            return run_point(experiment, *given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Experiment, "run", failing)
        monkeypatch.setenv("COLUMNS", "70")
        code, table, errors = run(*arguments)
        assert code == 2
        assert "\n1 failed: u1: no sound\n" in table
        assert "point retrain_with_dev=true failed: u1: no sound\nu2: no sound\n" in errors
        assert "no differences to point 1: it failed" in table
        assert max(map(len, table.splitlines()[:-1])) <= 70

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (["gmm.beam="], "a value is empty"),
            (["gmm.bean=1,2"], "did you mean gmm.beam"),
            (["gmm.beam=1"], "no option has several values"),
        ],
    )
    def test_refused(self, run: Run, tones: Path, tmp_path: Path, settings: list[str], message: str) -> None:
        options = [word for setting in settings for word in ("--set", setting)]
        result = run("sweep", "folder", "--corpus", tones, "--out", tmp_path / "exp", *options)
        assert message in one_error(result)
        assert not (tmp_path / "exp").exists()


class TestClean:
    def test_lists_then_removes(self, run: Run, trained: Path, tmp_path: Path) -> None:
        out = tmp_path / "exp"
        shutil.copytree(trained, out)
        assert run("clean", out) == (0, f"{out}: nothing to remove\n", "")
        unfinished = out / "stages/.gmm-none-2-0123456789ab.blocks"
        unfinished.mkdir()
        (unfinished / "1.bin").write_bytes(bytes(1500))
        line = f"  1.5 kB  stages/{unfinished.name}: unfinished work, lost if removed\n"
        line += f"{out}: 1 thing(s), 1.5 kB: "
        assert run("clean", out) == (
            0,
            f"{line}not removed; run it again with --yes to remove them\n",
            "",
        )
        assert unfinished.exists()
        assert run("clean", out, "--yes") == (0, f"{line}removed\n", "")
        assert not unfinished.exists()

    def test_refused(self, run: Run, tones: Path, trained: Path, tmp_path: Path) -> None:
        assert "no experiment; expected a directory" in one_error(run("clean", tones, "--yes"))
        with StageStore(trained).locked():
            assert "another run is using" in one_error(run("clean", trained, "--yes"))


class TestOthers:
    @pytest.mark.parametrize(
        ("arguments", "code", "text"),
        [
            (["decode"], 2, "arguments are required: EXP, WAV"),
            ([], 2, "asr: a verb is missing, expected asr VERB"),
            (["--help"], 0, "usage: asr"),
            (["--version"], 0, f"asr {version('asr-sparse-kernel')}\n"),
            (["train", "--help"], 0, f"one of {', '.join(SYSTEMS)}; may"),
            (["train", "--help"], 0, f"one of {', '.join(built_in_recipes())}, or the path of"),
            (["train", "--help"], 0, f"{{{','.join(PRESETS)}}}"),
            (["decode", "--help"], 0, f"{{{','.join(DECODE_FORMATS)}}}"),
            (["align", "--help"], 0, f"{{{','.join(ALIGN_FORMATS)}}}"),
            (["sparsity", "--help"], 0, "25, 50, 100, 200 by default"),
            (["sweep", "--help"], 0, "Exit code 2 if a point failed"),
            (["sweep", "folder", "--out", "x"], 2, "arguments are required: --set"),
        ],
    )
    def test_usage(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        code: int,
        text: str,
    ) -> None:
        monkeypatch.setenv("COLUMNS", "400")  # argparse breaks no line
        with pytest.raises(SystemExit, match=f"^{code}$"):
            main(arguments)
        assert text in "".join(capsys.readouterr())

    def test_every_verb_is_carried_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            main(["--help"])
        verbs = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
        assert sorted(verbs) == sorted([*COMMANDS, *OWN_COMMANDS])

    def test_lexicon(self, run: Run, tones: Path) -> None:
        lines = "ASA a s a\nIMI i m i\nMAUI m a u i\nSUS s u s\n"
        assert run("lexicon", tones) == (0, lines, "")

    def test_lexicon_with_guesses_marks_them_and_says_what_is_missing(
        self, run: Run, tones: Path, tmp_path: Path
    ) -> None:
        own = tmp_path / "own.txt"
        own.write_text("MAMI M A M I\nIMAMI I M A M I\nAMI A M I\nASA A S A\nSIMSI S I M S I\n")
        code, out, errors = run("lexicon", tones, "--from", own)
        assert (code, out) == (0, "ASA A S A\nIMI I M I  # guessed\n")
        lines = [line for line in errors.splitlines() if " so far" not in line]  # of a busy machine
        assert lines[0] == f"1 of 4 words are not in {own}, guessed from it (marked # guessed): IMI"
        assert re.fullmatch(
            rf"of 5 words of {own}, held out as a test, [\d.]+ % came out wrong, .*", lines[1]
        )
        assert lines[3:] == [
            '  word "MAUI" has "u", which no word of the lexicon has',
            '  word "SUS" has "u", which no word of the lexicon has',
        ]
        (tmp_path / "lexicon.txt").write_text(out)
        assert run("lexicon", tones, "--from", tmp_path / "none.txt")[0] == 2

    def test_info(self, run: Run, trained: Path) -> None:
        code, out, errors = run("info", trained)
        assert (code, errors) == (0, "")
        assert out.startswith(f"gmm2 of {trained}, by the recipe folder, preset best\n\n")
        record = json.loads(run("info", trained, "--json")[1])
        assert (record["model"], record["words"], record["features"]) == ("gmm2", 4, 39)

    def test_validate(self, run: Run, tones: Path, tmp_path: Path) -> None:
        code, out, _ = run("validate", tones)
        *notes, last = out.splitlines()
        assert (code, last) == (0, f"{tones}: 0 error(s), 0 warning(s)")
        assert notes[0].startswith("note: .: 35 seconds of 8 speaker(s), 96 words, 4 of them different")
        (tmp_path / "a.wav").write_bytes(b"")
        (tmp_path / "a.txt").write_text("A\n")
        code, out, _ = run("validate", tmp_path)
        assert code == 2
        assert out.splitlines()[0].startswith(
            f"error: a: {tmp_path / 'a.wav'}: empty file; expected an audio"
        )
        assert out.splitlines()[-1] == f"{tmp_path}: 1 error(s), 1 warning(s)"
        assert "no such directory" in one_error(run("validate", tmp_path / "x"))

    def test_score(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "ref").write_text("u1 A B C\nu2 D\n")
        (tmp_path / "hyp").write_text("u1 A X C\nu2 D\n")
        code, out, errors = run("score", tmp_path / "ref", tmp_path / "hyp")
        assert (code, errors) == (0, "")
        assert out.startswith("word accuracy 75.00 %, 95 % interval")
        assert "4 words, 1 substituted, 0 deleted, 0 inserted\nsentence accuracy 50.00 %, 2 utterances" in out
        assert str(tmp_path / "nil") in one_error(run("score", tmp_path / "ref", tmp_path / "nil"))


# The signal of the interrupt key comes when numpy is looked for.
INTERRUPTED_IMPORT = """
import importlib.abc, os, signal, sys

class Interrupts(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
sys.meta_path.insert(0, Interrupts())
from asr.cli import main
sys.exit(main(["info", "exp"]))
"""


class TestProcess:
    """What only a process of its own shows: locale, pipes, working directory, what a terminal would see."""

    def test_relative_paths_from_elsewhere(
        self, asr_command: Command, trained: Path, wav: Path, words: str
    ) -> None:
        elsewhere = wav.parent
        experiment = os.path.relpath(trained, elsewhere)
        done = asr_command("decode", experiment, wav.name, cwd=elsewhere)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{words}\n", "")

    def test_locale_without_utf8(
        self, asr_command: Command, trained: Path, wav: Path, tmp_path: Path, tones: Path
    ) -> None:
        env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        path = shutil.copy(wav, tmp_path / "grün.wav")
        done = asr_command("decode", trained, path, "--format", "json", env=env)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)[0]["recording"] == str(path)
        done = asr_command("decode", trained, tmp_path / "weiß.wav", env=env)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "weiß.wav: no such file" in done.stderr
        corpus = tmp_path / "corpus"
        corpus.mkdir()
        for name in ("ä", "ö"):
            shutil.copy(wav, corpus / f"{name}.wav")
            (corpus / f"{name}.txt").write_text("ÄÖ", encoding="utf-8")
        done = asr_command("train", "folder", "--corpus", corpus, "--out", tmp_path / "exp", env=env)
        begun, error = done.stderr.splitlines()
        assert done.returncode == 2
        assert begun == f"gmm, npd by the recipe folder; the log is {tmp_path / 'exp' / 'log.txt'}"
        assert "is not UTF-8, expected names and words in UTF-8" in error
        assert "set PYTHONUTF8=1 where the locale is not UTF-8" in error
        assert re.search(r"[0-9a-f]{40}", error) is None  # the digest of a file

    def test_interrupt_key_while_modules_are_imported(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (130, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("asr: interrupted; run the same command again")

    def test_reader_that_has_seen_enough(self, trained: Path, tones: Path) -> None:
        command = [sys.executable, "-m", "asr.cli", "align", trained, "--corpus", tones, "--format", "mlf"]
        with subprocess.Popen(command, stdout=-1, stderr=-1) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"#!MLF!#\n"
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == b""
            assert process.wait(60) == 0
