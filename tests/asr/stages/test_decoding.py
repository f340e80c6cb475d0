"""What the stages after an acoustic model are made from, and that words and weights are what they say."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from acoustic.emissions.model_files import load_model
from asr.corpora.corpus import read_corpus, write_corpus
from asr.decoding.keywords import USUAL_REJECTION, read_keywords
from asr.decoding.passes import scored_speech
from asr.experiment import Experiment
from asr.files import read_json, write_json
from asr.recognizer import Recognizer
from asr.rules.choosing import learned_rule
from asr.scoring.results import read_results
from asr.scoring.scoring import score
from asr.stages.decoding import DecodingStages
from asr.stages.task import TaskStages
from asr.store import StageOutput
from asr.systems import GmmSystem
from decoder.lexicon import Lexicon

Tasks = Callable[..., TaskStages]
GRAMMARS = ("loop", "bigram")
TRIED = {"word_penalty": {0.0, -20.0}, "lm_scale": {5.0, 10.0}, "silence_log_prob": {0.0, -5.0, -10.0, -20.0}}


@pytest.fixture(scope="module")
def stages(experiment: Experiment) -> DecodingStages:
    return experiment.decoding


@pytest.fixture(scope="module")
def model(experiment: Experiment) -> StageOutput:
    return experiment.models.acoustic_model(GmmSystem(2), ("train",))


@pytest.fixture(scope="module")
def tuning(stages: DecodingStages, model: StageOutput) -> StageOutput:
    return stages.tuning("gmm2", model)


@pytest.fixture(scope="module")
def recognizer(experiment: Experiment, stages: DecodingStages, tuning: StageOutput) -> StageOutput:
    splits = ("train", "dev")
    trained = experiment.models.acoustic_model(GmmSystem(2), splits)
    fit = experiment.models.fitting.confidence("gmm2", trained, splits)
    return stages.recognizer("gmm2", trained, tuning, splits, fit)


def record(output: StageOutput) -> dict:
    return read_json(output.path / "stage.json")


def words_of(output: StageOutput, grammar: str) -> dict[str, tuple[str, ...]]:
    """Return the words a stage has written for a grammar, by utterance id."""
    lines = (output.path / f"{grammar}.txt").read_text().splitlines()
    return {name: tuple(words) for name, *words in map(str.split, lines)}


def assert_row(output: StageOutput, grammar: str, task: TaskStages, split: str) -> None:
    """Assert that the row a stage has written counts the words beside it."""
    row, found = read_json(output.path / f"score-{grammar}.json"), words_of(output, grammar)
    references = {u.utterance_id: u.words for u in task.corpus(split)}
    accuracy = score(references, found)
    assert found.keys() == references.keys()
    assert (row["grammar"], row["utterances"], row["words"]) == (grammar, len(found), accuracy.words)
    assert row["word_accuracy"] == pytest.approx(accuracy.word_accuracy, abs=1e-3)


class TestTuning:
    def test_it_is_made_from_model_grammars_and_dev(
        self, stages: DecodingStages, tuning: StageOutput, model: StageOutput
    ) -> None:
        found = record(tuning)
        grammars = stages.task.grammar_files(("train",))
        assert found["inputs"] == {
            "model": model.digest,
            "grammars": grammars.digest,
            **stages.task.digests(("dev",)),
        }
        assert found["config"].keys() == {"tuning", "decoder", "grammars", "learns_rejection"}

    def test_weights_are_among_those_tried(self, tuning: StageOutput) -> None:
        for grammar in GRAMMARS:
            weights = read_json(tuning.path / f"{grammar}.json")["weights"]
            assert weights["word_penalty"] in TRIED["word_penalty"]
            assert weights["silence_log_prob"] in TRIED["silence_log_prob"]
        assert weights["lm_scale"] in TRIED["lm_scale"]
        assert "lm_scale" not in read_json(tuning.path / "loop.json")["weights"]

    def test_the_words_of_dev_are_counted(self, stages: DecodingStages, tuning: StageOutput) -> None:
        for grammar in GRAMMARS:
            assert_row(tuning, grammar, stages.task, "dev")
        files = {path.name for path in tuning.path.iterdir()}
        kinds = ("{}.json", "{}.txt", "score-{}.json")
        assert files == {"stage.json", USUAL_REJECTION, *(kind.format(g) for kind in kinds for g in GRAMMARS)}

    def test_the_rule_for_words_that_were_not_spoken_is_learned_from_dev(
        self, stages: DecodingStages, tuning: StageOutput, recognizer: StageOutput, model: StageOutput
    ) -> None:
        trained = replace(Recognizer.load(recognizer.path), model=load_model(model.path))
        found = learned_rule(trained, stages.task.data(("dev",)))
        assert found is not None
        assert read_keywords(tuning.path, USUAL_REJECTION) == found
        assert trained.rule == found.rejection
        other = stages.tuning("gmm2", model, learns_rejection=False)
        assert read_keywords(other.path, USUAL_REJECTION) is None
        assert (other.path / "bigram.json").read_bytes() == (tuning.path / "bigram.json").read_bytes()

    def test_without_dev_weights_are_next_to_those_that_suit_most(
        self, task_of: Tasks, tones: Path, model: StageOutput
    ) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            corpus = read_corpus(tones)
            write_corpus(corpus.of_speakers(corpus.speakers[:1]), output_dir / "train")
            Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")

        options = ("tuning.word_penalties=-30,-10", "silence_log_probs=-20,-3", "tuning.lm_scales=1,7,20")
        output = DecodingStages(task_of(prepare, *options)).tuning("gmm2", model)
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

    def test_all_it_needs_is_there(self, recognizer: StageOutput, stages: DecodingStages) -> None:
        task, splits = stages.task, ("train", "dev")
        heard = [name for split in splits for name in task.corpus(split).ids]
        assert read_json(recognizer.path / "trained_on.json") == sorted(heard)
        own, estimated = (d / "bigram.arpa" for d in (recognizer.path, task.grammar_files(splits).path))
        assert own.read_bytes() == estimated.read_bytes()
        assert Lexicon.read(recognizer.path / "lexicon.txt").words == task.lexicon.words

    def test_it_is_what_was_published(self, recognizer: StageOutput, trained: Path) -> None:
        for file in (trained / "models/gmm2").iterdir():
            if file.name not in ("stage.json", "data.json"):
                assert (recognizer.path / file.name).read_bytes() == file.read_bytes()


class TestEvaluation:
    def test_words_are_those_the_recogniser_hears(
        self, stages: DecodingStages, recognizer: StageOutput
    ) -> None:
        output, data = stages.evaluation("gmm2", recognizer), stages.task.data(("test",))
        assert record(output)["inputs"] == {
            "recognizer": recognizer.digest,
            **stages.task.digests(("test",)),
        }
        speech = scored_speech(data.cepstra, data.speakers, load_model(recognizer.path))
        for grammar in GRAMMARS:
            heard = Recognizer.load(recognizer.path, grammar=grammar).decode(speech)
            expected = {name: tuple(h.text) for name, h in zip(data.corpus.ids, heard, strict=True)}
            assert words_of(output, grammar) == expected
            assert_row(output, grammar, stages.task, "test")

    def test_rows_are_those_of_the_results(
        self, stages: DecodingStages, tuning: StageOutput, recognizer: StageOutput, trained: Path
    ) -> None:
        of_test = stages.evaluation("gmm2", recognizer)
        rows = [
            row
            for split, output in (("dev", tuning), ("test", of_test))
            for row in stages.rows(output, model="gmm2", preset="best", split=split)
        ]
        assert tuple(rows) == read_results(trained)


def test_a_model_that_adapts_is_tuned_for_both_passes(experiment: Experiment, stages: DecodingStages) -> None:
    model = experiment.models.acoustic_model(GmmSystem(2, adapts=True), ("train",))
    tuned = stages.tuning("gmm2-cmllr", model)
    loaded = stages.recognizer("gmm2-cmllr", model, tuned, ("train",))
    plain = stages.tuning("gmm2", experiment.models.acoustic_model(GmmSystem(2), ("train",)))
    for grammar in GRAMMARS:
        found = Recognizer.load(loaded.path, grammar=grammar)
        first, second = (
            read_json(tuned.path / f"{grammar}{which}.json")["weights"] for which in ("-first-pass", "")
        )
        assert first == read_json(plain.path / f"{grammar}.json")["weights"]  # frames are not adapted yet
        for decoder, weights in ((found.first_pass, first), (found.decoder, second)):
            assert asdict(decoder.config) | weights == asdict(decoder.config)
        assert_row(tuned, grammar, stages.task, "dev")


def test_each_pass_has_its_own_weights(
    experiment: Experiment, stages: DecodingStages, tmp_path: Path
) -> None:
    model = experiment.models.acoustic_model(GmmSystem(2, adapts=True), ("train",))
    changed = tmp_path / "tuning"
    shutil.copytree(stages.tuning("gmm2-cmllr", model).path, changed)
    for name, penalty in (("loop-first-pass", -3.0), ("loop", -4.0)):
        write_json(changed / f"{name}.json", {"weights": {"word_penalty": penalty}})
    output = stages.recognizer("gmm2-cmllr", model, StageOutput(changed, "changed"), ("train",))
    found = Recognizer.load(output.path, grammar="loop")
    assert found.first_pass is not None
    assert (found.first_pass.config.word_penalty, found.decoder.config.word_penalty) == (-3.0, -4.0)
