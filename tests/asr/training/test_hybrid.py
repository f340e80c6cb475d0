"""Hybrids from recordings to words on the tone language."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.emissions.adaptation import adapted_frames
from acoustic.emissions.aligned_frames import HybridConfig
from acoustic.hmm.topology import Topology
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from asr import Recognizer, align, clean, info, sparsity, train
from asr.cli import main
from asr.commands.sparsity import config_of
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.corpora.utterances import Corpus, Utterance
from asr.errors import ConfigError, ExperimentError
from asr.files import as_plain
from asr.recipe import load_recipe, models_of
from asr.scoring.results import read_results
from asr.training.hybrid import (
    Units,
    adapted_mixtures,
    context_units,
    own_units,
    speak_enough,
    train_hybrid,
)
from asr.transcribe import adapted, heard_states, scored_speech
from features.frontend import FrontEnd, FrontEndConfig

SMALL = ("hybrid.min_frames=5", "tying.min_frames=60", "tying.min_gain=20", "pools.n_centers=20")
CHECKED = "speaker 1/2.wav"


@pytest.fixture(scope="module")
def hybrids(tones: Path, trained: Path, settings: tuple[str, ...], tmp_path_factory) -> Path:
    """Return an experiment with three hybrids of phones in context."""
    out = tmp_path_factory.mktemp("hybrids") / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    options = (*settings, *SMALL, "hybrid.units=context", "hybrid.warps=0.95,1.05")
    models = ["pools", "krls", "sklearn:discriminant_analysis.LinearDiscriminantAnalysis"]
    train("folder", corpus=tones, out=out, models=models, settings=options)
    return out


def test_tones_are_recognised(hybrids: Path) -> None:
    rows = read_results(hybrids)
    assert {row.model for row in rows} == {
        "pools",
        "krls",
        "sklearn-discriminant_analysis.LinearDiscriminantAnalysis",
    }
    assert all(row.word_accuracy >= 90 for row in rows)


def test_a_second_run_changes_nothing(hybrids: Path, tones: Path, settings: tuple[str, ...]) -> None:
    before = {p: p.stat().st_mtime_ns for p in (hybrids / "stages").rglob("*") if p.is_file()}
    options = (*settings, *SMALL, "hybrid.units=context", "hybrid.warps=0.95,1.05")
    train("folder", corpus=tones, out=hybrids, models=["pools"], settings=options)
    assert {p: p.stat().st_mtime_ns for p in (hybrids / "stages").rglob("*") if p.is_file()} == before


def test_decoded_and_aligned_like_any_other(hybrids: Path, tones: Path) -> None:
    recognizer = Recognizer.load(hybrids, "pools")
    assert recognizer.model.topology.is_contextual
    text = (tones / CHECKED).with_suffix(".txt").read_text().split()
    assert list(recognizer.transcribe(tones / CHECKED).text) == text
    aligned = align(hybrids, tones / CHECKED, text, model="pools")
    spoken = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
    assert spoken == list("".join(text).lower())


def test_a_silent_file_and_one_of_three_frames(hybrids: Path) -> None:
    recognizer = Recognizer.load(hybrids, "pools")
    noise = np.random.default_rng(0).normal(size=3 * 160 + 400).astype(np.float32) * 1e-4
    assert np.isfinite(recognizer.transcribe(noise).log_score)
    frames = recognizer.model.front_end.transform([recognizer.model.front_end.cepstra(noise)])[0]
    assert np.isfinite(recognizer.model.emissions.log_likelihoods(frames)).all()


def test_contexts_may_reach_across_words(
    tones: Path, trained: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    options = (*settings, *SMALL, "hybrid.warps=", "hybrid.units=cross-word")
    train("folder", corpus=tones, out=out, models=["pools"], settings=options)
    recognizer = Recognizer.load(out)
    assert recognizer.model.topology.crosses_words
    text = (tones / CHECKED).with_suffix(".txt").read_text().split()
    assert list(recognizer.with_options(n_best=3, confidence=True).transcribe(tones / CHECKED).text) == text
    aligned = align(out, tones / CHECKED, text)
    spoken = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
    assert spoken == list("".join(text).lower())
    assert all(row.word_accuracy >= 90 for row in read_results(out))


@pytest.mark.parametrize("crosses_words", [False, True])
def test_nothing_is_learned_from_unknown_words(trained: Path, tones: Path, crosses_words: bool) -> None:
    recognizer = Recognizer.load(trained)
    model, config = recognizer.model, TyingConfig(min_frames=60, min_gain=20.0)
    speech = read_corpus(tones)
    data = compute_cepstra(speech.of_speakers(speech.speakers[:3]), model.front_end.config)
    known = recognizer.lexicon.restricted_to(["ASA", "IMI", "SUS"])
    own = own_units(data, model, known, 400.0)
    tied = context_units(data, model, known, 400.0, config, crosses_words)
    expected = [
        sum(w.end - w.start for w in recognizer.align_frames(f, u.words).words if u.words[w.index] == "MAUI")
        for u, f in zip(data.corpus, model.front_end.transform(data.cepstra, data.speakers), strict=True)
    ]
    assert sum(expected) > 200
    for units in (own, tied):
        assert units.failures == {}
        n_unknown = [np.count_nonzero(labels < 0) for labels in units.labels]
        assert n_unknown == pytest.approx(expected, abs=12)
        has_unknown = ["MAUI" in u.words for u in data.corpus]
        assert [n > 0 for n in n_unknown] == has_unknown


def test_words_and_phones_never_heard_stay_reachable(
    tones: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "exp"
    shutil.copytree(tones, corpus)
    known = ("ASA", "IMI", "SUS", "MAUI")
    lines = [f"{word} {' '.join(word.lower())}" for word in known]
    (corpus / "lexicon.txt").write_text("\n".join([*lines, "SAMI s a m i", "XU x u"]) + "\n")
    options = (*settings, *SMALL, "grammars=loop")
    train("folder", corpus=corpus, out=out, models=["pools"], settings=options)
    recognizer = Recognizer.load(out)
    assert np.isfinite(recognizer.align(tones / CHECKED, ["SAMI", "XU"]).log_likelihood)
    allowed = {
        recognizer.decoder.network.words[w] for w in recognizer.decoder.network.graph.chain_words if w >= 0
    }
    assert allowed == {*known, "SAMI", "XU"}
    assert all(row.word_accuracy >= 80 for row in read_results(out))


def test_frames_are_adapted_to_the_speaker(hybrids: Path, tones: Path) -> None:
    recognizer = Recognizer.load(hybrids, "pools")
    assert recognizer.first_pass is not None
    assert recognizer.model.adaptation is not None
    data = compute_cepstra(read_corpus(tones), recognizer.model.front_end.config)
    speech = scored_speech(data.cepstra, data.speakers, recognizer.model)
    moved = adapted(speech, recognizer.model, recognizer.first_pass, recognizer.lexicon)
    n_columns = recognizer.model.adaptation.n_columns
    targets = recognizer.model.adaptation.means

    def overlap(frames: list[np.ndarray]) -> float:
        """Return how far speech is from the means of its states, as a share of its variance."""
        pairs = zip(data.corpus, frames, strict=True)
        states = np.concatenate([recognizer.align_frames(f, u.words).states for u, f in pairs])
        is_speech = recognizer.model.topology.is_speech()[states]
        x = np.concatenate(frames)[is_speech, :n_columns]
        return float(np.mean(np.mean((x - targets[states[is_speech]]) ** 2, axis=0) / x.var(axis=0)))

    assert overlap(moved.frames) < 0.96 * overlap(speech.frames)
    for before, after in zip(speech.frames, moved.frames, strict=True):
        assert_array_equal(before[:, n_columns:], after[:, n_columns:])  # what the mixtures see
    unadapted = replace(recognizer.model, adaptation=None)
    assert adapted(speech, unadapted, recognizer.first_pass, recognizer.lexicon) is speech


def test_a_gmm_may_adapt_too(tones: Path, trained: Path, settings: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    train("folder", corpus=tones, out=out, models=["gmm2-cmllr"], settings=settings)
    plain, adapting = Recognizer.load(trained), Recognizer.load(out, "gmm2-cmllr")
    assert plain.first_pass is None
    assert adapting.first_pass is not None
    assert_array_equal(plain.model.emissions.means, adapting.model.emissions.means)  # type: ignore[attr-defined]
    before, after = ({(r.grammar, r.split): r.word_accuracy for r in read_results(e)} for e in (trained, out))
    assert all(after[key] >= before[key] - 3 for key in before)


def test_without_weights_for_the_first_pass_nothing_is_decoded(hybrids: Path, tmp_path: Path) -> None:
    shutil.copytree(hybrids / "models" / "pools", tmp_path / "pools")
    path = tmp_path / "pools" / "decoding.json"
    record = json.loads(path.read_text())
    del record["first_pass"]["loop"]
    path.write_text(json.dumps(record))
    with pytest.raises(ExperimentError, match=r'no "first_pass" for grammar "loop".*run asr train again'):
        Recognizer.load(tmp_path / "pools", grammar="loop")


def test_adaptation_without_projection_or_mixtures(
    tones: Path, trained: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    options = (*settings, *SMALL, "hybrid.warps=", "hybrid.input_projection=none", "hybrid.gmm_weight=0")
    train("folder", corpus=tones, out=out, models=["pools"], settings=options)
    recognizer = Recognizer.load(out)
    assert recognizer.model.adaptation is not None
    assert recognizer.model.adaptation.n_columns == 39
    assert all(row.word_accuracy >= 90 for row in read_results(out))


def test_nothing_heard_adapts_nothing(hybrids: Path) -> None:
    recognizer = Recognizer.load(hybrids, "pools")
    scores = np.zeros((9, recognizer.model.topology.n_states), dtype=np.float32)
    assert_array_equal(heard_states(scores, (), recognizer.lexicon, recognizer.model), -1)
    assert_array_equal(heard_states(scores[:2], ("MAUI",), recognizer.lexicon, recognizer.model), -1)


def test_adaptation_may_be_left_out(
    hybrids: Path, tones: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "exp"
    shutil.copytree(hybrids, out)
    options = (*settings, *SMALL, "hybrid.warps=0.95,1.05", "hybrid.adaptation=none")
    train("folder", corpus=tones, out=out, models=["pools"], settings=options)
    recognizer = Recognizer.load(out, "pools")
    assert recognizer.first_pass is None
    assert recognizer.model.adaptation is None
    assert Recognizer.load(hybrids, "pools").first_pass is not None
    assert (
        list(recognizer.transcribe(tones / CHECKED).text)
        == (tones / CHECKED).with_suffix(".txt").read_text().split()
    )


def test_sparsity_trains_every_size_and_goes_on(
    hybrids: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "exp"
    shutil.copytree(hybrids, out)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # not installed
    with caplog.at_level("INFO", "asr.progress"):
        rows = sparsity(out, sizes=[2, 10])
    first, *steps, missing = caplog.messages
    assert first.startswith("pools is trained with 2, 10 centres, one after the other, and tuned on dev; ")
    assert [line for line in steps if line.startswith("10 centres: choosing centres for pairs of states; ")]
    assert missing.startswith("no sparsity.png: matplotlib is not installed; run: pip install matplotlib")
    assert [row.n_centers for row in rows] == [2, 2, 10, 10]
    assert rows[0].distinct_centers < rows[2].distinct_centers
    assert rows[2].word_accuracy >= 90
    assert json.loads((out / "sparsity.json").read_text())["rows"][0]["grammar"] == "loop"
    gone = {leftover.path.name.rpartition("-")[0] for leftover in clean(out, yes=True).found}
    assert gone >= {"tuning-gmm2", "recognizer-gmm2", "test-gmm2", "confidence-gmm2"}  # of the run before
    assert not any("pools" in name for name in gone)
    stages = {p.name for p in (out / "stages").iterdir()}
    assert main(["sparsity", str(out), "--centers", "2", "10"]) == 0
    assert {p.name for p in (out / "stages").iterdir()} == stages
    assert "centres  distinct       loop" in capsys.readouterr().out
    assert main(["sparsity", str(out), "--model", "gmm2"]) == 2
    assert "expected pools, npd or orols" in capsys.readouterr().err


def test_options_of_other_models_are_refused_before_anything_is_made(tones: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"svm\.cost: belongs to svm; got pools, which it does not change"):
        train("folder", corpus=tones, out=tmp_path / "exp", models="pools", settings=["svm.cost=3"])
    assert not (tmp_path / "exp").exists()


def test_people_see_pairs_centres_and_states(hybrids: Path) -> None:
    found = info(hybrids, model="pools")
    assert found["kind"] == "combined"
    assert found["second"]["kind"] == "gmm"
    first = found["first"]
    assert first["classes"] - 1 < first["pairs"] < first["classes"] * (first["classes"] - 1) // 2
    assert 0 < first["centers"] <= 20 * first["classes"]
    assert first["classes"] <= found["states"]


def test_config_comes_back_from_its_json(hybrids: Path) -> None:
    record = json.loads((hybrids / "config.json").read_text())
    assert as_plain(config_of(record)) == record["config"]


class TestOtherNames:
    """`npd` and `orols` of the preset best are `pools`; what was made under its old name keeps that name."""

    def test_of_what_is_trained(self, caplog: pytest.LogCaptureFixture) -> None:
        loaded = load_recipe("folder")
        with caplog.at_level("INFO", "asr.progress"):
            assert models_of(loaded, ["npd", "orols", "gmm"], "best") == ("pools", "gmm")
        first, second = caplog.messages
        assert first.startswith("npd is another name of pools here: all pairs of a state share its centres")
        assert first.endswith("the npd of the thesis is trained with --preset thesis")
        assert second.startswith("orols is another name of pools here")
        assert models_of(loaded, ["npd", "orols"], "thesis") == ("npd", "orols")
        assert models_of(loaded, [], "best") == ("gmm", "pools")

    @pytest.mark.parametrize("name", ["npd", "orols"])
    def test_of_what_is_used(self, hybrids: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO", "asr.progress"):
            assert info(hybrids, model=name)["model"] == "pools"
            assert Recognizer.load(hybrids / "models" / "pools", name).name == "pools"
        said = f"{name} is another name of pools here: pairs of states share up to "
        assert [message.startswith(said) for message in caplog.messages] == [True, True]

    def test_of_an_experiment_that_was_made_before(self, hybrids: Path, tmp_path: Path) -> None:
        copy = tmp_path / "exp"
        shutil.copytree(hybrids, copy, ignore=shutil.ignore_patterns("stages"))
        shutil.copytree(copy / "models" / "pools", copy / "models" / "npd")
        assert Recognizer.load(copy, "npd").name == "npd"
        shutil.rmtree(copy / "models" / "pools")
        assert info(copy, model="npd")["what"] == info(hybrids, model="pools")["what"]
        with pytest.raises(ConfigError, match='no model "orols"'):
            Recognizer.load(copy, "orols")

    def test_of_the_thesis_they_are_names_of_their_own(self, hybrids: Path, tmp_path: Path) -> None:
        copy = tmp_path / "exp"
        shutil.copytree(hybrids, copy, ignore=shutil.ignore_patterns("stages"))
        path = copy / "models" / "pools" / "data.json"
        path.write_text(path.read_text().replace('"best"', '"thesis"'))
        with pytest.raises(ConfigError, match='no model "npd"'):
            Recognizer.load(copy, "npd")


@pytest.mark.parametrize("model", ["npd", "orols", "svm", "krls"])
def test_thesis_preset(
    model: str, tones: Path, trained: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "exp"
    own = ("forward.n_centers=20",) if model in ("npd", "orols") else ()
    options = (*settings, "hybrid.min_frames=5", *own)
    train("folder", corpus=tones, out=out, models=[model], preset="thesis", settings=options)
    assert all(row.word_accuracy >= 80 for row in read_results(out))
    recognizer = Recognizer.load(out)
    assert recognizer.model.front_end.projection is None
    assert recognizer.model.front_end.config.normalize == "global"


def test_unknown_classifier(tones: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'npdd.*did you mean "npd"'):
        train("folder", corpus=tones, out=tmp_path / "exp", models=["npdd"])


@pytest.mark.parametrize("n", [4, 5])
def test_a_recording_of_one_speaker_and_its_copies_are_in_one_half(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the half that is held out has been heard, only with another vocal tract."""
    topology = Topology.monophones(["a"])
    corpus = Corpus(tuple(Utterance(f"u{k}", Path(f"/{k}.wav"), ("A",), "one") for k in range(n)))
    data = SpeechData(corpus, tuple(np.zeros((3, 39), np.float32) for _ in range(n)))
    units = Units(topology, [np.zeros(3, np.int32)] * n, {})
    asked: list[np.ndarray] = []

    def keep(frames: object, labels: object, folds: np.ndarray, n_states: int, **options: object) -> None:
        asked.append(folds)
        raise LookupError

    monkeypatch.setattr("asr.training.hybrid.aligned_frames", keep)
    with pytest.raises(LookupError, match=r"^$"):
        train_hybrid(
            "pools",
            [data] * 3,
            units,
            FrontEnd(FrontEndConfig()),
            HybridConfig(),
            None,
            SimpleNamespace(adaptation=None),  # type: ignore[arg-type]  # nothing else is asked for
        )
    of_copies = asked[0].reshape(3, n)
    assert_array_equal(of_copies, np.tile(np.arange(n) % 2, (3, 1)))


@pytest.fixture(scope="module")
def bent(trained: Path, tones: Path) -> SpeechData:
    """Return tones whose spectra each speaker bends in a way of his own."""
    found = compute_cepstra(read_corpus(tones), Recognizer.load(trained).model.front_end.config)
    rng = np.random.default_rng(4)
    n = found.cepstra[0].shape[1]
    bends = {s: np.eye(n) + 0.15 * rng.normal(size=(n, n)) for s in found.corpus.speakers}
    frames = [(c @ bends[s]).astype(np.float32) for c, s in zip(found.cepstra, found.speakers, strict=True)]
    return SpeechData(found.corpus, frames)


@pytest.fixture(scope="module")
def bent_units(trained: Path, bent: SpeechData) -> Units:
    recognizer = Recognizer.load(trained)
    config = TyingConfig(min_frames=60, min_gain=20.0)
    return context_units(bent, recognizer.model, recognizer.lexicon, 400.0, config, crosses_words=False)


def test_frames_of_adapted_speakers_meet_in_the_states(
    trained: Path, bent: SpeechData, bent_units: Units
) -> None:
    recognizer = Recognizer.load(trained)
    front_end = FrontEndConfig(
        recognizer.model.front_end.config.mfcc, projection="lda", context=2, n_components=12
    )
    config = TyingConfig(min_frames=60, min_gain=20.0)
    monophones = recognizer.model.topology
    tied, model = adapted_mixtures(
        bent, bent_units, monophones, recognizer.lexicon, front_end, config, GmmConfig()
    )
    assert model.topology.phones == tied.topology.phones == bent_units.topology.phones
    assert model.front_end.projection is not None
    assert model.front_end.projection.n_components == model.emissions.n_features == 12  # type: ignore[attr-defined]
    assert [len(labels) for labels in tied.labels] == bent.n_frames
    assert tied.failures == {}
    assert model.adaptation is not None
    frames = model.front_end.transform(bent.cepstra, bent.speakers)
    moved = adapted_frames(frames, tied.labels, bent.speakers, model.adaptation)
    labels = np.concatenate(tied.labels)
    known = labels >= 0

    def share_right(of_all: Sequence[np.ndarray]) -> float:
        best = model.emissions.log_likelihoods(np.concatenate(of_all)[known]).argmax(axis=1)
        return float(np.mean(best == labels[known]))

    assert share_right(moved) > 0.7
    assert share_right(moved) > share_right(frames) + 0.02


def test_speakers_are_adapted_in_training_if_they_say_enough(bent: SpeechData) -> None:
    n_speakers = len(bent.corpus.speakers)
    assert n_speakers > 1
    assert not speak_enough(bent, 0.01)
    each = 18_000 * n_speakers // len(bent.cepstra) + 1
    long = SpeechData(bent.corpus, [np.zeros((each, 1), np.float32)] * len(bent.cepstra))
    assert speak_enough(long, 0.01)
    assert not speak_enough(long, 0.005)
    only = bent.corpus.speakers[0]
    of_one = [np.zeros((10**6 if s == only else 10, 1), np.float32) for s in bent.speakers]
    assert not speak_enough(SpeechData(bent.corpus, of_one), 0.01)  # the others hardly say a word
    one = bent.corpus.of_speakers([only])
    assert not speak_enough(SpeechData(one, [np.zeros((10**6, 1), np.float32)] * len(one)), 0.01)
