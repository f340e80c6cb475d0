"""What the verbs that make models, and look into them, hand over and print."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from asr import train
from asr.cli import main
from asr.commands.models import format_sizes, results_table
from asr.commands.sparsity import SparsityRow, format_sparsity, sparsity
from asr.errors import CorpusError
from asr.experiment import Experiment
from asr.recipe import built_in_recipes
from asr.reports.finished import ModelSize
from asr.scoring.results import Result, read_results
from asr.store import StageStore
from asr.systems import PRESETS, SYSTEMS

Run = Callable[..., tuple[int, str, str]]
OneError = Callable[[tuple[int, str, str]], str]
Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        (
            "plan an4 --corpus c --model gmm --model pools --set gmm.beam=300 --workers 8 --out e",
            "plan",
            ("an4",),
            {
                "corpus": Path("c"),
                "out": Path("e"),
                "models": ["gmm", "pools"],
                "preset": "best",
                "settings": ["gmm.beam=300"],
                "workers": 8,
            },
        ),
        (
            "train folder --corpus c --out o --model gmm --model pools --preset thesis --set a=1 "
            "--speakers one",
            "train",
            ("folder",),
            {
                "corpus": Path("c"),
                "out": Path("o"),
                "models": ["gmm", "pools"],
                "preset": "thesis",
                "settings": ["a=1", "speakers=one"],
            },
        ),
        (
            "train demo --out o",
            "train",
            ("demo",),
            {"corpus": None, "out": Path("o"), "models": [], "preset": "best", "settings": []},
        ),
        ("info e --model m", "info", (Path("e"),), {"model": "m", "measure": None}),
        ("info e --measure w", "info", (Path("e"),), {"model": None, "measure": Path("w")}),
        (
            "report e",
            "report",
            (Path("e"),),
            {"model": None, "out": None, "split": None, "utterances": None, "audio": None},
        ),
        (
            "report e --model m --out x.html --split dev --utterances 7 --audio beside",
            "report",
            (Path("e"),),
            {"model": "m", "out": Path("x.html"), "split": "dev", "utterances": 7, "audio": "beside"},
        ),
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
            "sparsity e",
            "sparsity",
            (Path("e"),),
            {"model": "pools", "sizes": [25, 50, 100, 200], "recipe": None},
        ),
        (
            "sparsity e --model orols --centers 5 9 --recipe mine.py",
            "sparsity",
            (Path("e"),),
            {"model": "orols", "sizes": [5, 9], "recipe": "mine.py"},
        ),
        ("clean e", "clean", (Path("e"),), {"yes": False}),
        ("clean e --yes", "clean", (Path("e"),), {"yes": True}),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, function) == (arguments, options)


def test_the_table_of_a_training(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = read_results(trained)
    monkeypatch.setattr("asr.commands.models.train", lambda *given, **named: rows)
    assert main(["train", "folder", "--out", str(trained)]) == 0
    assert capsys.readouterr().out == results_table(rows, trained) + "\n"
    assert main(["train", "folder", "--out", str(trained), "--json"]) == 0
    (cost,) = json.loads(capsys.readouterr().out)["models"]
    assert (cost["model"], cost["n_centers"]) == ("gmm2", 36)  # 18 states of two Gaussians
    n_bytes = sum(path.stat().st_size for path in (trained / "models" / "gmm2").iterdir())
    assert cost["megabytes"] == pytest.approx(n_bytes / 1e6, abs=0.006)
    assert 0 < cost["decoding_cpu_s_per_s"] < 1
    steps = [json.loads(path.read_text()) for path in trained.glob("stages/*/stage.json")]
    behind_none = ("fit", "judged", "test", "features-test")  # of a GMM of all recordings
    expected = sum(s["seconds"]["cpu"] for s in steps if not s["stage"].startswith(behind_none))
    assert cost["training_cpu_s"] == pytest.approx(expected, abs=0.06)  # it is rounded to a tenth


def test_accuracy_stands_beside_size_in_a_hundred_columns() -> None:
    def row(model: str, split: str, accuracy: float) -> Result:
        bounds = (accuracy - 1, accuracy + 1)
        return Result(model, "best", split, "loop", accuracy, 1, 2, 3, 773, bounds, 70.0, 130, 0)

    sizes = [
        ModelSize("gmm", 793, 0.59, 37.2, 0.0009),
        ModelSize("svm", 27_338, 77.5, 12_345.0, None),
        ModelSize("gone"),
        ModelSize("npd", 5_100, 1.2, None, 0.0113),
    ]
    rows = [row(s.model, split, a) for s in sizes for split, a in (("dev", 90.0), ("test", 96.28))]
    lines = format_sizes(sizes, rows, Path("exp/mine")).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["gmm", "96.28", "793", "0.6", "37", "0.001"],
        ["svm", "96.28", "27,338", "77.5", "12,345", "–"],
        ["npd", "96.28", "5,100", "1.2", "–", "0.011"],
    ]
    assert lines[0].split("  ")[0] == "model"
    assert "accuracy with loop; centres of an SVM are its support vectors, of a GMM its Gaussians" in lines
    assert lines[-1] == "accuracy with fewer centres: asr sparsity exp/mine --model npd"
    assert max(map(len, lines)) <= 100
    assert format_sizes(sizes[2:3], rows, Path("exp/mine")) == ""
    assert "asr sparsity" not in format_sizes(sizes[:2], rows, Path("exp/mine"))


class TestTrain:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["foldr", "--corpus", "."], 'no folder or recipe "foldr" (did you mean "folder"?)'),
            (["folder", "--corpus", "nowhere"], "nowhere: no such directory; expected the corpus"),
            (["folder"], 'recipe "folder" needs a corpus; expected --corpus DIR'),
            ([".", "--corpus", "x"], ".: a corpus in the place of the recipe, and --corpus x, expected one;"),
            (["nowhere.py", "--corpus", "."], "nowhere.py: no such file; expected a recipe script"),
            (["folder", "--corpus", ".", "--set", "speed=3"], "--set speed: unknown option"),
        ],
    )
    def test_refused(
        self,
        run: Run,
        one_error: OneError,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        message: str,
    ) -> None:
        (tmp_path / "in").mkdir()
        monkeypatch.chdir(tmp_path / "in")
        assert message in one_error(run("train", *arguments, "--out", tmp_path / "exp"))
        assert not (tmp_path / "exp").exists()

    def test_a_misspelt_folder(
        self, run: Run, one_error: OneError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "hungarian").mkdir()
        (tmp_path / ".hungarain").mkdir()
        monkeypatch.chdir(tmp_path)
        for path, meant in {
            "hungarain": "hungarian",
            "./hungarain/": "./hungarian",
            f"{tmp_path}/hungarain": f"{tmp_path}/hungarian",
        }.items():
            said = f'asr: no folder or recipe "{path}" (did you mean "{meant}"?); expected a folder of'
            assert one_error(run("train", path)).startswith(said)
        assert one_error(run("plan", "xyz/abc")).startswith('asr: no folder or recipe "xyz/abc"; expected')

    def test_a_folder_of_recordings_in_the_place_of_the_recipe(
        self,
        run: Run,
        one_error: OneError,
        tones: Path,
        train_arguments: list[str],
        settings: tuple[str, ...],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """It is read by the recipe folder, and goes into exp/NAME, where nothing else is replaced."""
        options = train_arguments[4:]  # without ``train folder --corpus tones``
        (tmp_path / "a").mkdir()
        shutil.copytree(tones, tmp_path / "a" / tones.name)
        monkeypatch.chdir(tmp_path)
        code, out, errors = run("train", tones, *options)
        assert code == 0
        assert errors.startswith(f"no --out is given: models and results go into {Path('exp/corpus')}\n")
        assert out.rstrip().endswith(str(Path("exp/corpus/results.json")))
        rows = read_results(Path("exp/corpus"))
        assert rows == train("folder", corpus=tones, out="again", models=["gmm2"], settings=settings)
        # The same once more is the same experiment; another corpus of that name is not.
        link = tmp_path / "link"
        link.symlink_to(tones.parent)
        assert run("train", link / tones.name, *options)[0] == 0
        line = one_error(run("train", tmp_path / "a" / tones.name, *options))
        assert (
            f"{Path('exp/corpus')}: holds an experiment of {link / tones.name}, expected a new place or"
            in line
        )
        assert "choose another with --out" in line
        assert one_error(run("train", "exp/corpus")).startswith("asr: exp/corpus: an experiment, expected")
        Path("exp/an4").mkdir()
        assert "exp/an4: holds something else, expected a new place" in one_error(
            run("train", "an4", "--corpus", tones)
        )

    def test_a_recipe_comes_before_a_directory_of_its_name(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "iban").mkdir()
        monkeypatch.chdir(tmp_path)
        code, out, errors = run("train", "iban", "--out", "x")
        said, line = errors.splitlines()
        assert (code, out) == (2, "")
        assert said == "iban: the recipe of this name is meant, not the directory; write ./iban for that"
        assert line == 'asr: recipe "iban" needs a corpus; expected --corpus DIR'
        assert "iban: no utterances, expected wav.scp" in run("train", "./iban", "--out", "x")[2]

    def test_out_is_a_file(
        self, run: Run, one_error: OneError, train_arguments: list[str], tmp_path: Path
    ) -> None:
        (tmp_path / "exp").touch()
        line = one_error(run(*train_arguments, "--out", tmp_path / "exp"))
        assert f"{tmp_path / 'exp'}/stages: Not a directory; expected to read and write there" in line

    def test_table(self, run: Run, train_arguments: list[str], trained: Path, tmp_path: Path) -> None:
        code, out, errors = run(*train_arguments, "--out", trained)
        assert code == 0
        assert errors == f"{trained}: gmm2 is already done, with this corpus and these options\n"
        _, _, errors = run(*train_arguments, "--out", tmp_path / "new")
        first, what, *steps = errors.splitlines()
        assert re.fullmatch(r"gmm\S*: Gaussian mixtures, up to \d a state", what)
        assert re.fullmatch(r"gmm\S* by the recipe \w+; the log is .*log\.txt", first)
        assert str(tmp_path / "new") in first
        assert {"train", "dev", "test"} <= {line.split(":")[0] for line in steps}
        assert {"learning Gaussians of phones", "tuning weights on dev"} <= {s.split(";")[0] for s in steps}
        assert steps[-2].startswith("done in ")
        assert steps[-1].startswith(
            "40 utterances are too few to tell which transcripts are wrong: asr validate "
        )
        assert len(steps) < 20
        assert out.startswith("model  grammar  split  words  word acc %  95 % interval")
        assert out.rstrip().endswith(str(trained / "results.json"))

    def test_verbose_names_the_stages(self, run: Run, train_arguments: list[str], trained: Path) -> None:
        assert "task: unchanged, kept\n" in run(*train_arguments, "--out", trained, "-v")[2]


def test_info(run: Run, trained: Path) -> None:
    code, out, errors = run("info", trained)
    assert (code, errors) == (0, "")
    assert out.startswith(f"gmm2 of {trained}, by the recipe folder, preset best\n\n")
    record = json.loads(run("info", trained, "--json")[1])
    assert (record["model"], record["words"], record["features"]) == ("gmm2", 4, 39)


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
    def test_refused(
        self, run: Run, one_error: OneError, tones: Path, tmp_path: Path, settings: list[str], message: str
    ) -> None:
        options = [word for setting in settings for word in ("--set", setting)]
        result = run("sweep", "folder", "--corpus", tones, "--out", tmp_path / "exp", *options)
        assert message in one_error(result)
        assert not (tmp_path / "exp").exists()


def test_the_table_of_centres(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (SparsityRow(25, 100, "loop", 50.0, (40.0, 60.0), "pairs"),)
    monkeypatch.setattr(sys.modules[sparsity.__module__], "sparsity", lambda *given, **named: rows)
    assert main(["sparsity", str(tmp_path)]) == 0
    assert capsys.readouterr().out == format_sparsity(rows, tmp_path) + "\n"


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

    def test_refused(self, run: Run, one_error: OneError, tones: Path, trained: Path, tmp_path: Path) -> None:
        assert "no experiment; expected a directory" in one_error(run("clean", tones, "--yes"))
        with StageStore(trained).locked():
            assert "another run is using" in one_error(run("clean", trained, "--yes"))


Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "plan folder",
            {
                "corpus": None,
                "out": None,
                "model": [],
                "preset": "best",
                "settings": [],
                "speakers": None,
                "workers": None,
                "recipe": "folder",
            },
        ),
        (
            "train folder --out o",
            {
                "corpus": None,
                "out": Path("o"),
                "model": [],
                "preset": "best",
                "workers": None,
                "scheduler": None,
                "cluster": None,
                "settings": [],
                "speakers": None,
                "recipe": "folder",
            },
        ),
        ("info e", {"model": None, "measure": None, "experiment": Path("e")}),
        (
            "report e",
            {
                "model": None,
                "out": None,
                "split": None,
                "utterances": None,
                "audio": None,
                "experiment": Path("e"),
            },
        ),
        (
            "sweep folder --out o --set a=1",
            {
                "corpus": None,
                "out": Path("o"),
                "model": [],
                "preset": "best",
                "workers": None,
                "scheduler": None,
                "cluster": None,
                "settings": ["a=1"],
                "against": None,
                "recipe": "folder",
            },
        ),
        (
            "sparsity e",
            {"model": "pools", "recipe": None, "centers": [25, 50, 100, 200], "experiment": Path("e")},
        ),
        ("clean e", {"yes": False, "experiment": Path("e")}),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("train", f"one of {', '.join(SYSTEMS)}; may"),
        ("train", f"one of {', '.join(built_in_recipes())}, or the path of"),
        ("train", f"{{{','.join(PRESETS)}}}"),
        ("sparsity", "25, 50, 100, 200 by default"),
        ("sweep", "Exit code 2 if a point failed"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sweep folder --out x", "arguments are required: --set"),
        ("train folder --out x --workers 2 --scheduler a", "not allowed with argument --workers"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
