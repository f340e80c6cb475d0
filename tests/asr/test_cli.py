"""The command line as a hurried user meets it: words on standard output, one line for each mistake."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.cli import main

Run = Callable[..., tuple[int, str, str]]
OneError = Callable[[tuple[int, str, str]], str]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


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
    run: Run, one_error: OneError, trained: Path, tmp_path: Path, name: str, content: bytes, message: str
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
        self,
        run: Run,
        one_error: OneError,
        model: Path,
        wav: Path,
        name: str,
        content: bytes | None,
        message: str,
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

    def test_no_experiment(self, run: Run, one_error: OneError, tmp_path: Path, wav: Path) -> None:
        assert "no such directory" in one_error(run("decode", tmp_path / "x", wav))
        assert "no trained model in it" in one_error(run("decode", tmp_path, wav))
        assert "no trained model in it" in one_error(run("info", tmp_path))

    def test_model_named_twice(self, run: Run, one_error: OneError, model: Path, wav: Path) -> None:
        assert run("decode", model, wav, "--model", "gmm2")[0] == 0
        assert 'no model "gmm"' in one_error(run("decode", model, wav, "--model", "gmm"))


class TestSlips:
    """What people type by mistake is one line that says what to type."""

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("decode WAV EXP", "a file, expected a directory that asr train has finished; give that first"),
            ("decode EXP CORPUS", "not a recording; expected an audio file; got a directory"),
            ("decode EXP WAV --model gmm", '(did you mean "gmm2"?); expected one of: gmm2'),
            (
                "train EXP --out X",
                "an experiment, expected a recipe or a folder of recordings; to train more",
            ),
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


class TestOthers:
    @pytest.mark.parametrize(
        ("arguments", "code", "text"),
        [
            (["decode"], 2, "arguments are required: EXP, WAV"),
            ([], 0, "usage: asr VERB"),
            (["--help"], 0, "usage: asr"),
            (["--version"], 0, f"asr {version('asr-sparse-kernel')}\n"),
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

    @pytest.mark.parametrize(
        ("arguments", "most"), [(["decode", "EXP", "WAV"], 120), (["score", "TXT", "TXT"], 70)]
    )
    def test_a_verb_imports_what_it_needs(
        self, trained: Path, wav: Path, arguments: list[str], most: int
    ) -> None:
        places = {"EXP": trained, "WAV": wav, "TXT": trained / "results.json"}
        given = [str(places.get(word, word)) for word in arguments]
        code = f"import sys\nfrom asr.cli import main\nmain({given!r})\nprint(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        modules = [name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()]
        packages = ("asr", "acoustic", "decoder", "features", "foundation", "recipes")
        assert 30 < sum(map(modules.count, packages)) <= most

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
        begun, gmm, pools, *error = done.stderr.splitlines()
        assert done.returncode == 2
        assert [line.partition(":")[0] for line in (gmm, pools)] == ["gmm", "pools"]
        assert begun == f"gmm, pools by the recipe folder; the log is {tmp_path / 'exp' / 'log.txt'}"
        assert [name in line for name, line in zip("äö", error[1:], strict=True)] == [True, True]
        for line in error[1:]:
            assert "is not UTF-8, expected names and words in UTF-8" in line
            assert "set PYTHONUTF8=1 where the locale is not UTF-8" in line
            assert re.search(r"[0-9a-f]{40}", line) is None  # the digest of a file

    def test_what_is_printed_has_the_same_bytes_on_windows(
        self, monkeypatch: pytest.MonkeyPatch, trained: Path, wav: Path, words: str
    ) -> None:
        printed = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="cp1252", newline="\r\n"))
        assert main(["decode", str(trained), str(wav)]) == 0
        assert printed.getvalue() == f"{words}\n".encode()

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
