"""Plans of the tone language: what they hold, what changes them, and what hurried users give."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import asr
from asr.cli import main
from asr.errors import AsrError
from asr.planning import small_runs
from asr.planning.plan import Plan, plan
from asr.planning.small_runs import SmallTask
from asr.planning.table import plan_json, plan_table
from asr.planning.work import GROUPS, Work
from asr.store import Step
from asr.training import hybrid

SETTINGS = ("gmm.mixtures=1,2", "gmm.iterations=2,2", "pools.n_centers=20", "hybrid.warps=0.95")


@pytest.fixture(scope="module")
def found(tones: Path) -> Plan:
    """Return the plan of a GMM and of a hybrid."""
    return plan("folder", corpus=tones, models=["gmm2", "pools"], settings=SETTINGS, workers=3)


def test_what_is_in_it(found: Plan) -> None:
    gmm, pools = found.models
    assert (found.recipe, found.preset, found.grammars) == ("folder", "best", ("loop", "bigram"))
    assert {split: a.n_utterances for split, a in found.amounts.items()} == {"train": 30, "dev": 5, "test": 5}
    assert (found.lexicon, found.phones, found.monophone_states, found.missing_words) == (4, 5, 18, 0)
    assert (gmm.model, gmm.n_centers, gmm.pairs, gmm.states) == ("gmm2", None, 0, 18)
    assert (pools.model, pools.n_centers, pools.centers_option) == ("pools", 20, "pools.n_centers")
    assert pools.all_pairs == pools.states * (pools.states - 1) // 2
    assert 0 < pools.pairs <= pools.all_pairs
    assert pools.frames_a_pair > 0
    assert [other.n_centers for other in found.others] == [50, 100, 200]
    for model in (*found.models, *found.others):
        assert set(model.groups) == set(GROUPS)
        assert sum(model.groups.values()) == pytest.approx(model.cpu_s)
        assert sum(model.stages.values()) == pytest.approx(model.cpu_s)
        assert all(seconds >= 0 for seconds in model.stages.values())
        assert list(model.wall_s) == [1, 2, 3, 4]
        assert model.wall_s[1] == pytest.approx(model.cpu_s)
        assert model.wall_s[1] > model.wall_s[2] > model.wall_s[4] > model.cpu_s / 4
        assert model.peak_mb > 250
        assert 0 < model.model_mb < model.disk_mb
        assert 0 < model.decoding_x < 1
        assert model.not_predicted == ""


def test_common_stages_count_once(found: Plan) -> None:
    gmm, pools = found.models
    assert max(gmm.cpu_s, pools.cpu_s) < found.together_s < gmm.cpu_s + pools.cpu_s
    assert gmm.groups["GMM"] == pytest.approx(pools.groups["GMM"])
    assert gmm.groups["discriminants"] == 0 < pools.groups["discriminants"]


def test_more_centres_are_never_cheaper(found: Plan) -> None:
    few, many = found.models[1], found.others[-1]
    assert many.groups["discriminants"] >= few.groups["discriminants"]
    assert many.model_mb > few.model_mb


def test_more_hours_are_never_cheaper(found: Plan, many_tones: Path) -> None:
    more = plan("folder", corpus=many_tones, models=["gmm2"], settings=SETTINGS[:2])
    less, most = found.models[0], more.models[0]
    assert more.amounts["train"].hours > 2 * found.amounts["train"].hours
    assert most.peak_mb > less.peak_mb
    assert most.disk_mb > less.disk_mb


def test_json(found: Plan) -> None:
    record = json.loads(json.dumps(plan_json(found)))
    assert set(record) == {
        *("recipe", "preset", "amounts", "lexicon", "missing_words", "phones", "monophone_states"),
        *("grammars", "workers", "models", "others", "together_s", "unit_costs", "steps"),
    }
    assert set(record["amounts"]["train"]) == {
        "hours",
        "n_speakers",
        "n_words",
        "n_different",
        "n_utterances",
    }
    first = record["models"][0]
    assert set(first["groups"]) == set(GROUPS)
    assert first["wall_s"]["2"] == pytest.approx(found.models[0].wall_s[2])
    assert record["unit_costs"]["features-train"] >= 0
    names = [step["name"] for step in record["steps"]]
    assert names[:3] == ["task", "words", "features-train"]
    for n, step in enumerate(record["steps"]):
        assert set(step["from"]) <= set(names[:n])
        assert (step["done"], step["why"]) == (False, "not made yet")
        assert step["cpu_s"] == found.models[1].stages.get(step["name"], step["cpu_s"])


def test_table(found: Plan) -> None:
    lines = plan_table(found).splitlines()
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    for said in ("train  ", "CPU time", "discriminants", "wall, 3 workers (here)", "peak memory", "model"):
        assert said in text
    assert re.search(r"^pools: of .* of CPU time \S.* \d+ %, \S.* \d+ %$", text, re.MULTILINE)
    assert "too much? Of the CPU time of all, these would save:" in text
    assert "  --model gmm2 " in text
    assert re.search(r"pools, 20 centres +pools, 50 centres +pools, 100 centres$", text, re.MULTILINE)


def test_where_speakers_say_enough_the_small_trainings_adapt_to_them(
    found: Plan, tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        hybrid, "_ENOUGH_S", 1.5
    )  # of all, but too much for the few seconds of small trainings
    monkeypatch.setattr(small_runs, "WARM_S", 4.0)
    settings = (*SETTINGS, "hybrid.warps=", "tying.min_frames=60", "tying.min_gain=20")
    rich = plan("folder", corpus=tones, models="pools", settings=settings).models[0]
    poor = found.models[1]
    for name in ("adapted-context", "adapted-context-dev"):
        assert rich.stages[name] > 3 * poor.stages[name]
    asr.train("folder", corpus=tones, out=tmp_path / "exp", models="pools", settings=settings)
    (made,) = tmp_path.glob("exp/models/pools/model.safetensors")
    assert rich.model_mb == pytest.approx(small_runs.size_of(made.parent) / 1e6, rel=0.4)


def test_by_a_clock_that_goes_by_work(tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where steps take what their work says, the plan says what the training's own steps will take."""
    settings = (*SETTINGS, "hybrid.min_frames=5", "tying.min_frames=60", "tying.min_gain=20")
    run = SmallTask.run

    def taken(work: Work) -> float:
        return 2.0 * work.once + 0.001 * work.units

    def ticking(self: SmallTask, steps: list[Step], into: small_runs.SmallRun) -> None:
        run(self, steps, into)
        into.cpu_s = {name: taken(work) for name, work in into.work.items()}

    monkeypatch.setattr(SmallTask, "run", ticking)
    monkeypatch.setattr(small_runs, "SMALL_S", 4.0)
    found = plan("folder", corpus=tones, models=["gmm2", "pools"], settings=settings)
    by_hand = {step["name"]: step["units"] for step in found.steps if step["unit"] != "made"}
    for step in found.steps:
        if step["unit"] not in ("made", "frames of pairs"):
            assert step["cpu_s"] == pytest.approx(taken(Work(by_hand[step["name"]])), rel=0.3, abs=2.1)
    asr.train("folder", corpus=tones, out=tmp_path / "exp", models=["gmm2", "pools"], settings=settings)
    made = {path.parent.name.rpartition("-")[0] for path in tmp_path.glob("exp/stages/*/stage.json")}
    assert made == {step["name"] for step in found.steps}
    pools = asr.info(tmp_path / "exp", model="pools")
    assert 0.5 < found.models[1].states / pools["states"] < 2
    again = plan("folder", corpus=tones, models=["gmm2", "pools"], settings=settings, out=tmp_path / "exp")
    assert all(step["done"] for step in again.steps)
    real = {
        path.parent.name.rpartition("-")[0]: json.loads(path.read_text())["seconds"]["cpu"]
        for path in tmp_path.glob("exp/stages/*/stage.json")
    }
    assert again.together_s == pytest.approx(sum(real.values()))
    assert "are done" in plan_table(again)


def test_with_out_the_task_is_there_for_training(tones: Path, tmp_path: Path) -> None:
    out = tmp_path / "exp"
    plan("folder", corpus=tones, models="gmm2", settings=SETTINGS[:2], out=out)
    stages = {path.name.rpartition("-")[0] for path in (out / "stages").iterdir()}
    assert stages == {"task", "words"}
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.txt")}
    plan("folder", corpus=tones, models="gmm2", settings=SETTINGS[:2], out=out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.txt")} == before


def test_it_is_a_verb(tones: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [word for setting in SETTINGS[:2] for word in ("--set", setting)]
    line = ["plan", "folder", "--corpus", str(tones), "--model", "gmm2", *options]
    assert main([*line, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [m["model"] for m in record["models"]] == ["gmm2"]
    assert record["others"] == []
    assert asr.plan is plan


def test_words_that_the_lexicon_lacks(tones: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(tones, corpus)
    (corpus / "lexicon.txt").write_text("ASA A S A\nIMI I M I\nSUS S U S\n")
    found = plan("folder", corpus=corpus, models="gmm2", settings=SETTINGS[:2])
    (model,) = found.models
    assert found.missing_words == 1
    assert "pronunciations" in model.stages
    assert "lexicon: 3 words and 1 that it lacks" in plan_table(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "preset", "settings"),
    [
        ("svm", "best", ()),
        ("krls", "best", ()),
        ("orols", "thesis", ()),
        ("pools", "best", ("hybrid.units=cross-word", "hybrid.adaptation=none")),
        ("sklearn:linear_model.LogisticRegression", "best", ()),
        ("gmm-lda2-cmllr", "best", ()),
    ],
)
def test_every_kind_of_model(tones: Path, model: str, preset: str, settings: tuple[str, ...]) -> None:
    found = plan("folder", corpus=tones, models=model, preset=preset, settings=(*SETTINGS[:2], *settings))
    assert found.models[0].cpu_s > 0
    assert bool(found.models[0].not_predicted) == model.startswith("sklearn")
    assert max(map(len, plan_table(found).splitlines())) <= 100


class TestHostile:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"recipe": "foldr"}, 'no folder or recipe "foldr" .did you mean "folder"'),
            ({"corpus": None}, 'recipe "folder" needs a corpus; expected --corpus DIR'),
            ({"corpus": "nowhere"}, "nowhere: no such directory; expected the corpus"),
            ({"models": "nmpd"}, 'model "nmpd" is not known .did you mean "npd"'),
            ({"models": "gmm3"}, 'model "gmm3" has 3 Gaussians a state, expected a number in gmm.mixtures'),
            ({"preset": "worst"}, 'preset "worst" is not known'),
            ({"settings": ("nothing=1",)}, "--set nothing: unknown option"),
            ({"models": "gmm", "settings": ("svm.cost=1",)}, "--set svm.cost: belongs to svm"),
            ({"workers": 0}, "workers: expected a number from 1 on, got 0"),
        ],
    )
    def test_options(self, tones: Path, options: dict[str, object], message: str) -> None:
        given = {"recipe": "folder", "corpus": tones, **options}
        with pytest.raises(AsrError, match=message):
            plan(**given)  # type: ignore[arg-type]

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(AsrError, match="no utterances, expected"):
            plan("folder", corpus=tmp_path)

    def test_a_directory_in_the_corpus(self, tones: Path) -> None:
        with pytest.raises(AsrError, match="lies in the corpus"):
            plan("folder", corpus=tones, out=tones / "exp")

    def test_broken_recordings(self, tones: Path, tmp_path: Path) -> None:
        corpus = tmp_path / "corpus"
        shutil.copytree(tones, corpus)
        for path in corpus.rglob("*.wav"):
            path.write_bytes(b"RIFF")
        with pytest.raises(AsrError, match="none of which can be read"):
            plan("folder", corpus=corpus, models="gmm2", settings=SETTINGS[:2])

    @pytest.mark.parametrize(
        ("unusable", "fate"),
        [("0.1", "training leaves out what"), ("0.01", "training stops where more than 1 %")],
    )
    def test_a_broken_recording_is_named(
        self, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, unusable: str, fate: str
    ) -> None:
        corpus = tmp_path / "corpus"
        shutil.copytree(tones, corpus)
        (corpus / "speaker 0/0.wav").write_bytes(b"")
        plan("folder", corpus=corpus, models="gmm2", settings=[*SETTINGS[:2], f"unusable={unusable}"])
        (line,) = (each for each in caplog.messages if "recordings cannot be used" in each)
        assert re.match(rf"1 of 40 recordings cannot be used: \w+/speaker_0-0; {fate} .*; asr validate", line)

    def test_nothing_is_said_of_sound_recordings(self, tones: Path, caplog: pytest.LogCaptureFixture) -> None:
        plan("folder", corpus=tones, models="gmm2", settings=SETTINGS[:2])
        assert [each for each in caplog.messages if "cannot be used" in each] == []
