"""What the steps after an acoustic model are made from, and that words and weights are what they say."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from acoustic.model import load_model
from asr.corpora.corpus import read_corpus, write_corpus
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.recognizer import Recognizer
from asr.scoring.results import read_results
from asr.scoring.scoring import score
from asr.spotting.learning import learned_rule
from asr.spotting.rejection import USUAL_REJECTION, read_keywords
from asr.store import StageOutput
from asr.systems import GmmSystem
from asr.training.recognition import assemble_recognizer, read_rows
from asr.transcribe import scored_speech
from decoder.lexicon import Lexicon

Tasks = Callable[..., Experiment]
GRAMMARS = ("loop", "bigram")
TRIED = {"word_penalty": {0.0, -20.0}, "lm_scale": {5.0, 10.0}, "silence_log_prob": {0.0, -5.0, -10.0, -20.0}}


@pytest.fixture(scope="module")
def made(made: Any) -> Any:
    return made.configured(models=["gmm2", "gmm2-cmllr"])


@pytest.fixture(scope="module")
def tuning(made: Any) -> StageOutput:
    return made["tuning-gmm2"]


@pytest.fixture(scope="module")
def recognizer(made: Any) -> StageOutput:
    return made["recognizer-gmm2"]


def record(output: StageOutput) -> dict:
    return read_json(output.path / "stage.json")


def words_of(output: StageOutput, grammar: str) -> dict[str, tuple[str, ...]]:
    """Return the words a stage has written for a grammar, by utterance id."""
    lines = (output.path / f"{grammar}.txt").read_text().splitlines()
    return {name: tuple(words) for name, *words in map(str.split, lines)}


def assert_row(output: StageOutput, grammar: str, made: Any, split: str) -> None:
    """Assert that the row a stage has written counts the words beside it."""
    row, found = read_json(output.path / f"score-{grammar}.json"), words_of(output, grammar)
    references = {u.utterance_id: u.words for u in made.corpus(split)}
    accuracy = score(references, found)
    assert found.keys() == references.keys()
    assert (row["grammar"], row["utterances"], row["words"]) == (grammar, len(found), accuracy.words)
    assert row["word_accuracy"] == pytest.approx(accuracy.word_accuracy, abs=1e-3)


class TestTuning:
    def test_it_is_made_from_model_grammars_and_dev(self, made: Any, tuning: StageOutput) -> None:
        found = record(tuning)
        assert found["inputs"] == {
            "model": made["gmm-none-2"].digest,
            "grammars": made["grammars"].digest,
            **made.digests("dev"),
        }
        assert found["config"].keys() == {"tuning", "decoder", "names", "learns_rejection"}

    def test_weights_are_among_those_tried(self, tuning: StageOutput) -> None:
        for grammar in GRAMMARS:
            weights = read_json(tuning.path / f"{grammar}.json")["weights"]
            assert weights["word_penalty"] in TRIED["word_penalty"]
            assert weights["silence_log_prob"] in TRIED["silence_log_prob"]
        assert weights["lm_scale"] in TRIED["lm_scale"]
        assert "lm_scale" not in read_json(tuning.path / "loop.json")["weights"]

    def test_the_words_of_dev_are_counted(self, made: Any, tuning: StageOutput) -> None:
        for grammar in GRAMMARS:
            assert_row(tuning, grammar, made, "dev")
        files = {path.name for path in tuning.path.iterdir()}
        kinds = ("{}.json", "{}.txt", "score-{}.json")
        assert files == {"stage.json", USUAL_REJECTION, *(kind.format(g) for kind in kinds for g in GRAMMARS)}

    def test_the_rule_for_words_that_were_not_spoken_is_learned_from_dev(
        self, made: Any, tuning: StageOutput, recognizer: StageOutput
    ) -> None:
        trained = replace(Recognizer.load(recognizer.path), model=load_model(made.path("gmm-none-2")))
        found = learned_rule(trained, made.data("dev"))
        assert found is not None
        assert read_keywords(tuning.path, USUAL_REJECTION) == found
        assert trained.rule == found.rejection
        steps = made.experiment.steps({"gmm2": GmmSystem(2)}, learns_rejection=False)
        other = made.experiment.path(next(step for step in steps if step.name == "tuning-gmm2"))
        assert read_keywords(other, USUAL_REJECTION) is None
        assert (other / "bigram.json").read_bytes() == (tuning.path / "bigram.json").read_bytes()

    def test_without_dev_weights_are_next_to_those_that_suit_most(
        self, task_of: Tasks, made_of: Any, tones: Path
    ) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            corpus = read_corpus(tones)
            write_corpus(corpus.of_speakers(corpus.speakers[:1]), output_dir / "train")
            Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")

        options = ("tuning.word_penalties=-30,-10", "silence_log_probs=-20,-3", "tuning.lm_scales=1,7,20")
        output = made_of(task_of(prepare, *options), "gmm2")["tuning-gmm2"]
        weights = read_json(output.path / "bigram.json")["weights"]
        assert weights == {"word_penalty": -10.0, "silence_log_prob": -3.0, "lm_scale": 7.0}
        assert {path.name for path in output.path.iterdir()} == {"stage.json", "loop.json", "bigram.json"}


class TestRecognizer:
    def test_it_decodes_with_what_was_tuned(self, recognizer: StageOutput, tuning: StageOutput) -> None:
        for grammar in GRAMMARS:
            loaded = Recognizer.load(recognizer.path, grammar=grammar)
            weights = read_json(tuning.path / f"{grammar}.json")["weights"]
            assert asdict(loaded.decoder.config) | weights == asdict(loaded.decoder.config)
            assert loaded.decoder.config.frame_shift_s == 0.01
            assert loaded.first_pass is None
        assert Recognizer.load(recognizer.path).grammar == GRAMMARS[-1]

    def test_all_it_needs_is_there(self, recognizer: StageOutput, made: Any) -> None:
        splits = ("train", "dev")
        heard = [name for split in splits for name in made.corpus(split).ids]
        assert read_json(recognizer.path / "trained_on.json") == sorted(heard)
        own, estimated = (d / "bigram.arpa" for d in (recognizer.path, made.path("grammars-dev")))
        assert own.read_bytes() == estimated.read_bytes()
        assert Lexicon.read(recognizer.path / "lexicon.txt").words == made.lexicon.words

    def test_it_is_what_was_published(self, recognizer: StageOutput, trained: Path) -> None:
        for file in (trained / "models/gmm2").iterdir():
            if file.name not in ("stage.json", "data.json"):
                assert (recognizer.path / file.name).read_bytes() == file.read_bytes()


class TestEvaluation:
    def test_words_are_those_the_recogniser_hears(self, made: Any, recognizer: StageOutput) -> None:
        output, data = made["test-gmm2"], made.data("test")
        assert record(output)["inputs"] == {
            "recognizer": recognizer.digest,
            **made.digests("test"),
        }
        speech = scored_speech(data.cepstra, data.speakers, load_model(recognizer.path))
        for grammar in GRAMMARS:
            heard = Recognizer.load(recognizer.path, grammar=grammar).decode(speech)
            expected = {name: tuple(h.text) for name, h in zip(data.corpus.ids, heard, strict=True)}
            assert words_of(output, grammar) == expected
            assert_row(output, grammar, made, "test")

    def test_rows_are_those_of_the_results(self, made: Any, tuning: StageOutput, trained: Path) -> None:
        names, of_test = made.experiment.found.grammars, made["test-gmm2"]
        rows = [
            row
            for split, output in (("dev", tuning), ("test", of_test))
            for row in read_rows(output.path, names, model="gmm2", preset="best", split=split)
        ]
        assert tuple(rows) == read_results(trained)


def test_a_model_that_adapts_is_tuned_for_both_passes(made: Any) -> None:
    tuned, loaded, plain = (
        made[name] for name in ("tuning-gmm2-cmllr", "recognizer-gmm2-cmllr", "tuning-gmm2")
    )
    for grammar in GRAMMARS:
        found = Recognizer.load(loaded.path, grammar=grammar)
        first, second = (
            read_json(tuned.path / f"{grammar}{which}.json")["weights"] for which in ("-first-pass", "")
        )
        assert first == read_json(plain.path / f"{grammar}.json")["weights"]  # frames are not adapted yet
        for decoder, weights in ((found.first_pass, first), (found.decoder, second)):
            assert asdict(decoder.config) | weights == asdict(decoder.config)
        assert_row(tuned, grammar, made, "dev")


def test_each_pass_has_its_own_weights(made: Any, tmp_path: Path) -> None:
    step = made.steps["recognizer-gmm2-cmllr"]
    inputs = {label: made.path(given.name) for label, given in step.made_from.items() if label != "tuning"}
    changed = tmp_path / "tuning"
    shutil.copytree(made.path("tuning-gmm2-cmllr"), changed)
    for name, penalty in (("loop-first-pass", -3.0), ("loop", -4.0)):
        write_json(changed / f"{name}.json", {"weights": {"word_penalty": penalty}})
    (tmp_path / "recognizer").mkdir()
    model, grammars = inputs.pop("model"), inputs.pop("grammars")
    inputs.pop("fit")
    assemble_recognizer(tmp_path / "recognizer", inputs, model, changed, grammars, **step.arguments)
    found = Recognizer.load(tmp_path / "recognizer", grammar="loop")
    assert found.first_pass is not None
    assert (found.first_pass.config.word_penalty, found.decoder.config.word_penalty) == (-3.0, -4.0)
