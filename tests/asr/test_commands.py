"""What each verb of the command line hands to its function, and what it prints of what comes back."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from asr import verbs
from asr.cli import command_line, main
from asr.commands import COMMANDS
from asr.errors import CorpusError
from asr.formats.terminal import after_demo, results_table, word_times
from asr.own_commands import OWN_COMMANDS
from asr.scoring.results import read_results
from asr.sparsity import SparsityRow, format_sparsity
from decoder.decoder import Hypothesis
from decoder.grammars.ngram import NGram
from foundation.errors import AsrError

Heard = Callable[[str], Hypothesis]
ALL_OF_A_KIND = {"n_of_a_kind": None}  # where the output is no terminal


@pytest.fixture
def heard(trained: Path, tones: Path) -> Heard:
    """Return a function that gives what is heard in a recording of the tone language."""

    def one(name: str) -> Hypothesis:
        (found,) = verbs.decode(trained, [tones / f"{name}.wav"])
        assert not isinstance(found, AsrError)
        return found

    return one


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        ("demo", "verbs.demo", (Path("exp/demo"),), {}),
        ("demo --out x", "verbs.demo", (Path("x"),), {}),
        (
            "train folder --corpus c --out o --model gmm --model npd --preset thesis --set a=1 --set b=2",
            "verbs.train",
            ("folder",),
            {
                "corpus": Path("c"),
                "out": Path("o"),
                "models": ["gmm", "npd"],
                "preset": "thesis",
                "settings": ["a=1", "b=2"],
            },
        ),
        (
            "train demo --out o",
            "verbs.train",
            ("demo",),
            {"corpus": None, "out": Path("o"), "models": [], "preset": "best", "settings": []},
        ),
        (
            "decode e a b --model m --grammar g --nbest 3 --same-speaker",
            "verbs.decode",
            (Path("e"), [Path("a"), Path("b")]),
            {
                "model": "m",
                "grammar": "g",
                "n_best": 3,
                "same_speaker": True,
                "reject": False,
                "keywords": False,
            },
        ),
        (
            "decode e a --reject",
            "verbs.decode",
            (Path("e"), [Path("a")]),
            {
                "model": None,
                "grammar": None,
                "n_best": 1,
                "same_speaker": False,
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
        (
            "export e --what scores --corpus c --format npz --out o --grammar g",
            "export",
            (Path("e"),),
            {
                "what": "scores",
                "out": Path("o"),
                "corpus": Path("c"),
                "format": "npz",
                "model": None,
                "grammar": "g",
            },
        ),
        ("align e a.wav ASA --model m", "verbs.align", (Path("e"), Path("a.wav"), "ASA"), {"model": "m"}),
        (
            "align e --corpus c --format ctm",
            "verbs.align_corpus",
            (Path("e"), Path("c")),
            {"model": None},
        ),
        (
            "score r h --against i --format trn --utt2spk u --ignore-case --plain --json",
            "terminal.accuracy_of_files",
            (Path("r"), Path("h")),
            {
                "against": Path("i"),
                "file_format": "trn",
                "utt2spk": Path("u"),
                "ignore_case": True,
                "in_plain_form": True,
                "as_json": True,
            },
        ),
        (
            "evaluate e --corpus c --model m --grammar g --reject",
            "evaluate",
            (Path("e"), Path("c")),
            {"model": "m", "grammar": "g", "reject": True},
        ),
        (
            "validate c --lexicon l",
            "terminal.problems",
            (Path("c"), Path("l"), "plain"),
            ALL_OF_A_KIND,
        ),
        ("validate c --text en", "terminal.problems", (Path("c"), None, "en"), ALL_OF_A_KIND),
        ("validate c --show-text", "terminal.changed_transcripts", (Path("c"), None, "plain"), {}),
        (
            "lexicon c --english --variants 2",
            "verbs.make_lexicon",
            (Path("c"),),
            {"english": True, "source": None, "variants": 2},
        ),
        (
            "lexicon c --from l",
            "verbs.make_lexicon",
            (Path("c"),),
            {"english": False, "source": Path("l"), "variants": 1},
        ),
        ("info e --model m", "verbs.info", (Path("e"),), {"model": "m", "measure": None}),
        ("info e --measure w", "verbs.info", (Path("e"),), {"model": None, "measure": Path("w")}),
        (
            "sweep folder --corpus c --out o --model gmm --preset thesis --set a=1,2 --set b=3 --against a=2",
            "sweep",
            ("folder",),
            {
                "corpus": Path("c"),
                "out": Path("o"),
                "models": ["gmm"],
                "preset": "thesis",
                "settings": ["a=1,2", "b=3"],
                "against": "a=2",
            },
        ),
        (
            "report e",
            "report",
            (Path("e"),),
            {"model": None, "out": None, "split": None, "utterances": 100, "audio": None},
        ),
        (
            "report e --model m --out x.html --split dev --utterances 7 --audio beside",
            "report",
            (Path("e"),),
            {"model": "m", "out": Path("x.html"), "split": "dev", "utterances": 7, "audio": "beside"},
        ),
        ("clean e", "clean", (Path("e"),), {"yes": False}),
        ("clean e --yes", "clean", (Path("e"),), {"yes": True}),
        (
            "sparsity e",
            "sparsity",
            (Path("e"),),
            {"model": "npd", "sizes": [25, 50, 100, 200], "recipe": None},
        ),
        (
            "sparsity e --model orols --centers 5 9 --recipe mine.py",
            "sparsity",
            (Path("e"),),
            {"model": "orols", "sizes": [5, 9], "recipe": "mine.py"},
        ),
        (
            "plan an4 --corpus c --model gmm --model npd --set gmm.beam=300 --workers 8 --out e",
            "plan",
            ("an4",),
            {
                "corpus": Path("c"),
                "out": Path("e"),
                "models": ["gmm", "npd"],
                "preset": "best",
                "settings": ["gmm.beam=300"],
                "workers": 8,
            },
        ),
    ],
)
def test_options_reach_the_function(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    function: str,
    arguments: tuple[object, ...],
    options: dict[str, object],
) -> None:
    calls = []

    def called(*given: object, **named: object) -> None:
        calls.append((given, named))
        raise CorpusError("that is enough")

    monkeypatch.setattr(f"asr.commands.{function}", called)
    assert main(line.split()) == 2
    assert calls == [(arguments, options)]
    out, errors = capsys.readouterr()
    *before, error = errors.splitlines()
    assert (out, error) == ("", "asr: that is enough")
    assert before == (
        ["a small corpus is synthesised, two models are trained and tested: minutes"]
        if line.startswith("demo")
        else []
    )


def test_each_verb_has_a_command() -> None:
    assert COMMANDS.keys() | OWN_COMMANDS.keys() == command_line().parsers.keys()
    assert not COMMANDS.keys() & OWN_COMMANDS.keys()


@pytest.mark.parametrize("command", ["demo", "train"])
def test_the_table_of_an_experiment(
    command: str,
    trained: Path,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, hypothesis = read_results(trained), heard("speaker 0/0")
    monkeypatch.setattr(verbs, "train", lambda *given, **named: rows)
    monkeypatch.setattr(verbs, "demo", lambda out: (rows, hypothesis, "ASA IMI"))
    monkeypatch.setattr(verbs, "new_recording", lambda out: out / "new.wav")
    assert main([command, *(["folder"] if command == "train" else []), "--out", str(trained)]) == 0
    table, _, rest = capsys.readouterr().out.partition("\na new synthetic recording, spoken: ASA IMI\n")
    assert table == results_table(rows, trained) + "\n"
    expected = f"{word_times(hypothesis)}\n\n{after_demo(trained, trained / 'new.wav')}\n"
    assert rest == (expected if command == "demo" else "")


@pytest.mark.parametrize(
    ("names", "failing", "n_best", "starts"),
    [
        (["0"], [], 1, [""]),
        (["0", "1"], [], 1, ["0\t", "1\t"]),
        (["0", "1"], ["0"], 1, ["1\t"]),
        (["0", "1"], ["0", "1"], 1, []),
        (["0"], [], 2, ["1\t"]),
    ],
)
def test_what_was_heard_is_printed_and_what_was_not_is_named(
    names: list[str],
    failing: list[str],
    n_best: int,
    starts: list[str],
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = {name: CorpusError(f"{name}: no sound") if name in failing else heard(f"speaker 0/{name}")
             for name in names}  # fmt: skip
    monkeypatch.setattr(verbs, "decode", lambda *given, **named: list(found.values()))
    code = main(["decode", "exp", *names, "--nbest", str(n_best)])
    out, errors = capsys.readouterr()
    assert code == (2 if failing else 0)
    assert errors == "".join(f"asr: {name}: no sound\n" for name in failing)
    heard_words = [" ".join(h.text) for h in found.values() if not isinstance(h, AsrError)]
    for line, start, words in zip(out.splitlines(), starts, heard_words, strict=True):
        assert line.startswith(start)
        assert line.endswith(words)


def test_an_aligned_corpus_is_written_but_for_what_failed(
    trained: Path, tones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = tones / "speaker 0/0.wav"
    text = recording.with_suffix(".txt").read_text()
    aligned = verbs.align(trained, recording, text)
    pairs = [("a", CorpusError("a: empty transcript")), ("b", aligned)]
    monkeypatch.setattr(verbs, "align_corpus", lambda *given, **named: iter(pairs))
    assert main(["align", "exp", "--corpus", "c", "--format", "ctm"]) == 2
    out, errors = capsys.readouterr()
    assert errors == "asr: a: empty transcript\n"
    assert main(["align", str(trained), str(recording), text, "--format", "ctm"]) == 0
    assert capsys.readouterr().out == out
    assert [line.split()[4] for line in out.splitlines()] == text.split()


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


@pytest.mark.parametrize("has_errors", [False, True])
def test_a_corpus_with_errors_is_bad_input(
    has_errors: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = (["one", "two"], has_errors)
    monkeypatch.setattr("asr.commands.terminal.problems", lambda *given, **options: said)
    assert main(["validate", "c"]) == (2 if has_errors else 0)
    assert capsys.readouterr() == ("one\ntwo\n", "")


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

    monkeypatch.setattr("asr.formats.hypotheses.write_transcripts", full)
    words = str(tmp_path / "words.txt")
    assert main(["evaluate", str(trained), "--corpus", str(tones / "speaker 0"), "--hypotheses", words]) == 2
    out, errors = capsys.readouterr()
    assert out.startswith("word accuracy ")
    assert "No space left on device" in errors


def test_the_table_of_centres(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (SparsityRow(25, 100, "loop", 50.0, (40.0, 60.0)),)
    monkeypatch.setattr("asr.commands.sparsity", lambda *given, **named: rows)
    assert main(["sparsity", str(tmp_path)]) == 0
    assert capsys.readouterr().out == format_sparsity(rows, tmp_path) + "\n"


def test_lm_says_the_sizes_and_the_perplexity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A A\nA\n")
    (tmp_path / "test.txt").write_text("A B\n")
    out = tmp_path / "m.arpa"
    options = ["--order", "1", "--out", str(out), "--test", str(tmp_path / "test.txt")]
    assert main(["lm", str(text), *options]) == 0
    # Counts 3 and 2 of 5, discounts 1.5 and 1, in three equal parts: A 1.4 / 3, </s> 1.1 / 3, <unk> 0.5 / 3.
    assert capsys.readouterr().out == (
        "text: 2 sentence(s), 3 word(s), none of them unknown\n"
        "model: 4 1-grams\n"
        "test: 1 sentence(s), 2 word(s), 1 of them (50.00 %) unknown: B (1)\n"
        f"perplexity: {(9 / 1.4 / 1.1) ** (1 / 2):.2f} without the unknown words, "
        f"{(27 / 1.4 / 1.1 / 0.5) ** (1 / 3):.2f} with them\n"
    )
    assert set(NGram.read(out).log10_probs[0]) == {("A",), ("<s>",), ("</s>",), ("<unk>",)}


def test_lm_has_something_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lm", "text.txt"]) == 2
    message = "lm: expected --out FILE.arpa to write the model, --test TEXT to test it, or both"
    assert capsys.readouterr() == ("", f"asr: {message}\n")
