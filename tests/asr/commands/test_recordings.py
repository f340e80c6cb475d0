"""What the verbs that use a model on recordings hand over and print."""

import errno
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

import asr
from asr.cli import main
from asr.errors import CorpusError
from asr.formats.outputs import ALIGN_FORMATS, DECODE_FORMATS

Run = Callable[..., tuple[int, str, str]]
OneError = Callable[[tuple[int, str, str]], str]
Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        (
            "decode e a b --model m --grammar g --nbest 3 --same-speaker",
            "decode",
            (Path("e"), [Path("a"), Path("b")]),
            {
                "model": "m",
                "grammar": "g",
                "n_best": 3,
                "same_speaker": True,
                "speakers": "auto",
                "reject": None,
                "keywords": False,
            },
        ),
        (
            "decode e a --reject",
            "decode",
            (Path("e"), [Path("a")]),
            {
                "model": None,
                "grammar": None,
                "n_best": 1,
                "same_speaker": False,
                "speakers": "auto",
                "reject": True,
                "keywords": False,
            },
        ),
        (
            "keywords e --words A B --corpus c --other n o --false-alarms 2 --model m",
            "keywords",
            (Path("e"), ["A", "B"]),
            {
                "corpus": Path("c"),
                "other": [Path("n"), Path("o")],
                "false_alarms": 2.0,
                "detection": None,
                "model": "m",
            },
        ),
        ("align e a.wav ASA --model m", "align", (Path("e"), Path("a.wav"), "ASA"), {"model": "m"}),
        (
            "align e --corpus c --format ctm --speakers prefix",
            "align_corpus",
            (Path("e"), Path("c")),
            {"model": None, "speakers": "prefix"},
        ),
        (
            "decode e a --speakers folders",
            "decode",
            (Path("e"), [Path("a")]),
            {
                "model": None,
                "grammar": None,
                "n_best": 1,
                "same_speaker": False,
                "speakers": "folders",
                "reject": None,
                "keywords": False,
            },
        ),
        (
            "evaluate e --corpus c --model m --grammar g --reject",
            "evaluate",
            (Path("e"), Path("c")),
            {"model": "m", "grammar": "g", "reject": True, "speakers": "auto"},
        ),
        (
            "score r h --against i --format trn --as htk --utt2spk u --ignore-case --plain --json",
            "asr.commands.recordings.accuracy_of_files",
            (Path("r"), Path("h")),
            {
                "against": Path("i"),
                "rule": "htk",
                "file_format": "trn",
                "utt2spk": Path("u"),
                "ignore_case": True,
                "in_plain_form": True,
                "as_json": True,
            },
        ),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, function) == (arguments, options)


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

    def test_n_best(self, run: Run, one_error: OneError, trained: Path, wav: Path, words: str) -> None:
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
        self, run: Run, one_error: OneError, trained: Path, wav: Path, options: list[str], message: str
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
        self, run: Run, one_error: OneError, trained: Path, tmp_path: Path, samples: list[float], message: str
    ) -> None:
        line = one_error(run("decode", trained, write_wav(tmp_path / "bad.wav", samples)))
        assert message in line
        assert "bad.wav" in line

    @pytest.mark.parametrize("n_samples", [400, 600, 1200])
    def test_shorter_than_any_word(self, run: Run, trained: Path, tmp_path: Path, n_samples: int) -> None:
        noise = np.random.default_rng(0).normal(0, 0.1, n_samples)
        assert run("decode", trained, write_wav(tmp_path / "short.wav", noise)) == (0, "\n", "")

    def test_digital_silence(self, run: Run, one_error: OneError, trained: Path, tmp_path: Path) -> None:
        silent = write_wav(tmp_path / "zero.wav", np.zeros(16000))
        assert "zero.wav: samples: expected a recording, got digital silence" in one_error(
            run("decode", trained, silent)
        )

    def test_channels_that_cancel_each_other(
        self, run: Run, one_error: OneError, trained: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "antiphase.wav"
        soundfile.write(path, np.outer(np.hanning(16000), [0.5, -0.5]), 16000)
        line = one_error(run("decode", trained, path))
        assert "antiphase.wav: its channels cancel each other" in line
        assert "silence" not in line

    def test_a_low_rate_is_said(self, run: Run, trained: Path, tmp_path: Path) -> None:
        low = tmp_path / "low.wav"
        soundfile.write(low, 0.1 * np.hanning(8000) * np.random.default_rng(0).normal(size=8000), 8000)
        code, _, errors = run("decode", trained, low)
        assert code == 0
        assert "low.wav (8000 Hz)" in errors

    def test_a_truncated_file(
        self, run: Run, one_error: OneError, trained: Path, wav: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "cut.wav").write_bytes(wav.read_bytes()[:-1000])
        assert "cut.wav: truncated" in one_error(run("decode", trained, tmp_path / "cut.wav"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("align e", "align: expected WAV and TEXT, or --corpus DIR"),
        ("align e a.wav", "align: expected WAV and TEXT, or --corpus DIR"),
        ("align e a.wav ASA --corpus c", "align: got both WAV and --corpus; expected one of them"),
        ("align e --corpus c", "align: textgrid is one file an utterance; expected --out DIR for a corpus"),
        (
            "decode e a.wav b.wav --format srt",
            "decode: srt is one file a recording; expected --out DIR for several",
        ),
    ],
)
def test_what_align_and_decode_need(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr() == ("", f"asr: {message}\n")


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
    def test_refused(
        self, run: Run, one_error: OneError, trained: Path, wav: Path, text: str, message: str
    ) -> None:
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

    def test_incomplete_command(
        self, run: Run, one_error: OneError, trained: Path, wav: Path, tones: Path
    ) -> None:
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
        who, too_short, unknown, empty = errors.splitlines()
        assert who.startswith(f"{corpus}: speakers are not known, each recording is taken by itself; ")
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

    def test_out_of_one_recording_is_the_file_of_that_name(
        self, run: Run, one_error: OneError, trained: Path, wav: Path, words: str, tmp_path: Path
    ) -> None:
        grid, captions, folder = tmp_path / "new/u01.TextGrid", tmp_path / "u01.SRT", tmp_path / "grids"
        code, _, errors = run("align", trained, wav, words, "--out", grid)
        assert (code, errors) == (0, f"1 of 1 utterances aligned: {grid}\n")
        assert grid.read_text() == run("align", trained, wav, words)[1]
        assert run("align", trained, wav, words, "--format", "srt", "--out", captions)[0] == 0
        assert captions.read_text() == run("align", trained, wav, words, "--format", "srt")[1]
        assert run("align", trained, wav, words, "--out", folder)[0] == 0
        assert [file.name for file in folder.iterdir()] == [f"{wav.stem}.TextGrid"]
        line = one_error(run("align", trained, wav, words, "--out", tmp_path / "u01.eaf"))
        assert line.endswith(
            "u01.eaf: a name of eaf, expected one that ends in .TextGrid; change it, or take --format eaf"
        )
        assert not (tmp_path / "u01.eaf").exists()


def test_an_aligned_corpus_is_written_but_for_what_failed(
    trained: Path, tones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tones / "speaker 0/0.wav"
    text = recording.with_suffix(".txt").read_text()
    aligned = asr.align(trained, recording, text)
    pairs = [("a", CorpusError("a: empty transcript")), ("b", aligned)]
    monkeypatch.setattr("asr.commands.recordings.align_corpus", lambda *given, **named: iter(pairs))
    assert main(["align", "exp", "--corpus", "c", "--format", "ctm"]) == 2
    out, errors = capsys.readouterr()
    assert errors == "asr: a: empty transcript\n"
    assert main(["align", str(trained), str(recording), text, "--format", "ctm"]) == 0
    assert capsys.readouterr().out == out
    assert [line.split()[4] for line in out.splitlines()] == text.split()


class TestEvaluate:
    def test_table_json_and_words(self, run: Run, trained: Path, tones: Path, tmp_path: Path) -> None:
        words = tmp_path / "words.txt"
        code, out, errors = run("evaluate", trained, "--corpus", tones, "--hypotheses", words)
        assert "trained this model" in errors
        assert "this is not a test" in errors
        assert (code, len(words.read_text().splitlines())) == (0, 40)
        assert out.startswith(
            "word accuracy 100.00 %, 95 % interval over utterances [95.68, 100.00]\n96 words"
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
        head, caution, counts, sentences, not_decoded, *_ = out.splitlines()
        assert (head.split()[:2], caution) == (["word", "accuracy"], "3 sentences: too few to tell")
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
        who, head, *named = errors.splitlines()
        assert "speakers are not known" in who
        assert "none of 5 utterance(s) can be decoded" in head
        assert len(named) == 5

    def test_reject(self, run: Run, trained: Path, tones: Path) -> None:
        code, out, _ = run("evaluate", trained, "--corpus", tones / "speaker 0", "--reject")
        assert (code, out.split(",")[0]) == (0, "word accuracy 100.00 %")


def test_evaluate_writes_the_words_if_asked_to(
    trained: Path, tones: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, words = tones / "speaker 0", tmp_path / "words.txt"
    assert main(["evaluate", str(trained), "--corpus", str(corpus)]) == 0
    table = capsys.readouterr().out
    assert not words.exists()
    assert main(["evaluate", str(trained), "--corpus", str(corpus), "--hypotheses", str(words)]) == 0
    assert capsys.readouterr().out == table
    assert table.startswith("word accuracy ")
    spoken = [path.read_text().split() for path in sorted(corpus.glob("*.txt"))]
    assert [line.split()[1:] for line in words.read_text().splitlines()] == spoken


def test_words_that_cannot_be_written_cost_no_accuracy(
    trained: Path,
    tones: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: Path, found: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("asr.formats.outputs.write_transcripts", full)
    words = str(tmp_path / "words.txt")
    assert main(["evaluate", str(trained), "--corpus", str(tones / "speaker 0"), "--hypotheses", words]) == 2
    out, errors = capsys.readouterr()
    assert out.startswith("word accuracy ")
    assert "No space left on device" in errors


def test_score(run: Run, one_error: OneError, tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("u1 A B C\nu2 D\n")
    (tmp_path / "hyp").write_text("u1 A X C\nu2 D\n")
    code, out, errors = run("score", tmp_path / "ref", tmp_path / "hyp")
    assert (code, errors) == (0, "")
    assert out.startswith("word accuracy 75.00 %, 95 % interval")
    assert "4 words, 1 substituted, 0 deleted, 0 inserted\nsentence accuracy 50.00 %, 2 utterances" in out
    assert str(tmp_path / "nil") in one_error(run("score", tmp_path / "ref", tmp_path / "nil"))


Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "decode e a",
            {
                "model": None,
                "grammar": None,
                "format": "text",
                "out": None,
                "nbest": 1,
                "same_speaker": False,
                "speakers": None,
                "reject": None,
                "keywords": False,
                "experiment": Path("e"),
                "recordings": [Path("a")],
            },
        ),
        (
            "keywords e --corpus c",
            {
                "words": [],
                "corpus": Path("c"),
                "other": [],
                "false_alarms": None,
                "detection": None,
                "model": None,
                "experiment": Path("e"),
            },
        ),
        (
            "align e",
            {
                "corpus": None,
                "speakers": None,
                "model": None,
                "format": "textgrid",
                "rows": None,
                "out": None,
                "experiment": Path("e"),
                "recording": None,
                "text": None,
            },
        ),
        (
            "evaluate e f --corpus c --model m --model n",
            {
                "corpus": Path("c"),
                "model": ["m", "n"],
                "grammar": None,
                "speakers": None,
                "reject": None,
                "hypotheses": None,
                "experiment": [Path("e"), Path("f")],
            },
        ),
        (
            "score r h",
            {
                "format": None,
                "against": None,
                "rule": "nist",
                "utt2spk": None,
                "ignore_case": False,
                "plain": False,
                "reference": Path("r"),
                "hypothesis": Path("h"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("decode", f"{{{','.join(DECODE_FORMATS)}}}"),
        ("align", f"{{{','.join(ALIGN_FORMATS)}}}"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("decode", "arguments are required: EXP, WAV"),
        ("decode e a --reject --keywords", "not allowed with argument --reject"),
        ("keywords e --corpus c --false-alarms 1 --detection 90", "not allowed with argument --false-alarms"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
