"""What a task's steps are made from, and that their outputs are what they say."""

import json
import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from asr.corpora import speech_data
from asr.corpora.corpus import SPLITS, Corpus, Utterance, read_corpus, write_corpus
from asr.corpora.marks import recording_marks
from asr.corpora.speech_data import compute_cepstra
from asr.errors import CorpusError, ExperimentError
from asr.experiment import Experiment
from asr.files import read_json
from asr.pipeline import on_splits
from asr.store import StageOutput
from asr.systems import HybridSystem
from asr.training.task import Found, change_transcripts, read_corrections
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon

Tasks = Callable[..., Experiment]
MadeOf = Callable[..., Any]  # see conftest.py


def record(output: StageOutput) -> dict:
    return read_json(output.path / "stage.json")


class TestPrepared:
    def test_splits_and_lexicon_are_those_the_recipe_wrote(self, made: Any, tones: Path) -> None:
        whole = read_corpus(tones)
        parts = {split: set(made.corpus(split).speakers) for split in SPLITS}
        first, fifth = whole.speakers[0], whole.speakers[4]
        assert (parts["test"], parts["dev"]) == ({first}, {fifth})
        assert parts["train"] == set(whole.speakers) - {first, fifth}
        assert made.lexicon.words == Lexicon.graphemic(whole.vocabulary).words
        assert made.experiment.found.grammars == ("loop", "bigram")

    def test_it_is_made_from_corpus_and_recipe(self, made: Any, tones: Path) -> None:
        inputs = record(made["task"])["config"]
        assert inputs.keys() == {"corpus", "recipe", "speakers"}
        assert inputs["corpus"].startswith(f"{tones.absolute()} ")
        assert inputs["recipe"] == made.experiment.loaded.source

    def test_a_split_that_is_not_there_is_empty(self, made: Any) -> None:
        found = made.experiment.found
        assert replace(found, corpora={**found.corpora, "dev": Corpus(())}).splits == ("train", "test")

    def test_a_recipe_that_fails_is_one_line(
        self, task_of: Tasks, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            raise KeyError("speaker")

        caplog.set_level(logging.INFO, "asr.training.task")
        message = (
            r"\Arecipe mine: prepare fails \(KeyError: 'speaker'\); correct the script; where .*log\.txt\Z"
        )
        with pytest.raises(ExperimentError, match=message):
            task_of(prepare).begin()
        assert "Traceback" in caplog.text
        assert list((tmp_path / "exp/stages").iterdir()) == []

    def test_what_a_recipe_finds_wrong_comes_through(self, task_of: Tasks) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            raise CorpusError("text:3: no words")

        with pytest.raises(CorpusError, match=r"\Atext:3: no words\Z"):
            task_of(prepare).begin()

    def test_a_recipe_that_forgets_something(self, task_of: Tasks) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            (output_dir / "test").mkdir()

        with pytest.raises(ExperimentError, match="prepare wrote no train; expected it, and dev"):
            task_of(prepare).begin()


class TestWorded:
    """Ordinary text over a lexicon in capitals, with words it lacks."""

    @pytest.fixture
    def task(self, task_of: Tasks, tones: Path) -> Experiment:
        return task_of(self.prepare, corpus=tones)

    @staticmethod
    def prepare(corpus_dir: Path, output_dir: Path) -> None:
        first, second, third, *_ = read_corpus(corpus_dir)
        corpus = [
            replace(first, words=("Asa,", "imi!", "[coughs]")),
            replace(second, words=("“Sus”", "7", "asasa")),
            replace(third, words=("ASA",)),
        ]
        write_corpus(Corpus(tuple(corpus)), output_dir / "train")
        write_corpus(Corpus((replace(third, words=("unseen",)),)), output_dir / "test")
        every = ["".join(letters) for n in (1, 2, 3) for letters in product("AIMS", repeat=n)]
        entries = {word: [tuple(word.lower())] for word in {*every, "SUS"}} | {"<UNK>": [("spn",)]}
        Lexicon(entries).write(output_dir / "lexicon.txt")

    def test_words_are_those_of_the_lexicon(self, task: Experiment) -> None:
        assert [u.words for u in task.begin().corpora["train"]] == [
            ("ASA", "IMI", "[noise]"),
            ("SUS", "[unknown]", "ASASA"),
            ("ASA",),
        ]
        assert [u.spoken for u in task.begin().corpora["train"]][1] == ("SUS", "ASASA")
        assert task.begin().corpora["train"].utterances[0].written == ("Asa", "imi", "[coughs]")

    def test_what_the_lexicon_lacks_is_learned_by_its_sound(
        self, task_of: Tasks, made_of: MadeOf, tones: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            write_corpus(read_corpus(corpus_dir), output_dir / "train")
            (first, *_) = read_corpus(corpus_dir)
            write_corpus(Corpus((replace(first, words=("unseen",)),)), output_dir / "test")
            lines = ["ASA a s a", "IMI i m i", "SUS s u s", "<UNK> spn"]
            (output_dir / "lexicon.txt").write_text("\n".join(lines))

        made = made_of(task_of(prepare, corpus=tones))
        lexicon = made.lexicon
        assert record(made["start-none"])["inputs"]["lexicon"] == made["pronunciations"].digest
        assert lexicon.pronunciations("MAUI") == (("m", "a", "u", "i"),)
        assert lexicon.guessed == {"MAUI"}
        assert lexicon.words == ("ASA", "IMI", "MAUI", "SUS")
        assert lexicon.phones == ("a", "i", "m", "s", "u")
        assert "1 of 1 words that the lexicon lacks have got a pronunciation" in caplog.text
        assert "MAUI m a u i (12×)" in caplog.text

    def test_changes_are_said_once(self, task: Experiment, caplog: pytest.LogCaptureFixture) -> None:
        task.begin()
        task.begin()
        said = [message for message in caplog.messages if message.startswith("transcripts are compared")]
        assert len(said) == 1
        assert "of 8 words 5 in another case, 3 with punctuation" in said[0]

    def test_exact_takes_them_as_they_stand(self, task_of: Tasks, tones: Path) -> None:
        task = task_of(self.prepare, "text=exact", corpus=tones)
        with pytest.raises(CorpusError, match=r"6 of 7 words .* not in lexicon\.txt.*\"Asa,\" \(did"):
            task.begin()

    def test_nothing_that_can_be_read_is_an_error(self, task_of: Tasks, tones: Path) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            first = read_corpus(corpus_dir).utterances[0]
            write_corpus(Corpus((replace(first, words=("7", "!")),)), output_dir / "train")

        with pytest.raises(CorpusError, match=r"no transcript has a word that can be read; .* --set text=en"):
            task_of(prepare, corpus=tones).begin()


class TestFeatures:
    @pytest.fixture
    def warped(self, made: Any) -> Any:
        settings = ("hybrid.warps=0.9", "hybrid.units=phone")
        return made.configured(*settings, models=[HybridSystem("npd")])

    @pytest.mark.parametrize("warp", [None, 0.9])
    def test_they_are_the_cepstra_of_the_split(self, warped: Any, warp: float | None) -> None:
        front_end = warped.config.front_end.front_end()
        mfcc = replace(front_end.mfcc, warp=warp or 1.0)
        expected = compute_cepstra(warped.corpus("dev"), replace(front_end, mfcc=mfcc))
        found = warped.data("dev", warp=warp)
        assert found.corpus == expected.corpus
        for own, other in zip(found.cepstra, expected.cepstra, strict=True):
            assert_array_equal(own, other)

    def test_they_are_made_from_the_task_and_its_recordings(self, warped: Any) -> None:
        found = record(warped["features-dev"])
        assert found["inputs"] == {"task": warped["task"].digest}
        named = [line.rsplit(" ", 2)[0] for line in json.loads(found["config"]["recordings"])]
        assert named == [str(u.audio_path) for u in warped.corpus("dev")]
        assert found["stage"] == "features-dev"
        assert record(warped["features-dev-warp-0.9"])["stage"] == "features-dev-warp-0.9"

    def test_splits_together_are_in_the_order_of_their_names(self, made: Any) -> None:
        both, train, dev = made.data("train", "dev"), made.data("train"), made.data("dev")
        assert both.corpus.ids == tuple(sorted([*train.corpus.ids, *dev.corpus.ids]))
        expected = {u.utterance_id: c for u, c in [*train, *dev]}
        for utterance, cepstra in both:
            assert_array_equal(cepstra, expected[utterance.utterance_id])

    def test_a_damaged_recording_stops_it_or_is_left_out(
        self, task_of: Tasks, made_of: MadeOf, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        corpus = tmp_path / "corpus"
        shutil.copytree(tones / "speaker 0", corpus)
        (corpus / "3.wav").write_bytes(b"no sound")

        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            write_corpus(read_corpus(corpus_dir), output_dir / "train")
            Lexicon.graphemic(["ASA", "IMI", "MAUI", "SUS"]).write(output_dir / "lexicon.txt")

        with pytest.raises(CorpusError, match=r"1 of 5 recordings of train cannot be used(.|\n)*3\.wav"):
            made_of(task_of(prepare, corpus=corpus)).path("features-train")
        made = made_of(task_of(prepare, "unusable=skip", corpus=corpus))
        assert made.data("train").corpus.ids == ("0", "1", "2", "4")
        assert "3.wav" in caplog.text


class TestGrammars:
    @pytest.mark.parametrize("splits", [("train",), ("train", "dev")])
    def test_they_are_estimated_from_the_text_of_the_splits(
        self, made: Any, splits: tuple[str, ...], tmp_path: Path
    ) -> None:
        output = made[on_splits("grammars", splits)]
        sentences = [u.words for split in splits for u in made.corpus(split)]
        NGram.estimate(sentences, 2, vocabulary=made.lexicon.words).write(tmp_path / "bigram.arpa")
        assert (output.path / "bigram.arpa").read_bytes() == (tmp_path / "bigram.arpa").read_bytes()
        assert {path.name for path in output.path.iterdir()} == {"bigram.arpa", "stage.json"}
        found = record(output)
        assert (found["stage"], found["config"]["names"]) == (output.path.name[:-13], ["loop", "bigram"])
        assert found["inputs"] == made.digests()


class TestChangesUnderARun:
    """Nothing is mixed of before and after, and what has changed is named."""

    @pytest.fixture
    def raw(self, tones: Path, tmp_path: Path) -> Path:
        return shutil.copytree(tones, tmp_path / "raw")

    @staticmethod
    def prepare(corpus_dir: Path, output_dir: Path) -> None:
        write_corpus(read_corpus(corpus_dir), output_dir / "train")

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("speaker 3/1.txt", lambda path: path.write_text("other words")),
            ("speaker 3/1.wav", lambda path: path.unlink()),
            ("speaker 3/1.wav", lambda path: shutil.copy(path.with_name("2.wav"), path)),
            ("speaker 3/new.wav", lambda path: path.touch()),
        ],
        ids=["transcript", "gone", "replaced", "new"],
    )
    def test_between_stages(
        self,
        task_of: Tasks,
        made_of: MadeOf,
        raw: Path,
        tmp_path: Path,
        name: str,
        change: Callable[[Path], None],
    ) -> None:
        made = made_of(task_of(self.prepare, corpus=raw))
        assert len(made.corpus("train")) > 0
        change(raw / name)
        with pytest.raises(CorpusError, match=rf"\A[^ ]*{name}: changed while the corpus was read"):
            made.path("features-train")
        assert made.steps["task"].arguments["source"].changed() == [name]
        assert not list((tmp_path / "exp/stages").glob("features-*"))

    def test_while_the_recipe_reads(self, task_of: Tasks, raw: Path, tmp_path: Path) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            self.prepare(corpus_dir, output_dir)
            (corpus_dir / "speaker 3/1.txt").write_text("other words")

        with pytest.raises(CorpusError, match=r"\Aspeaker 3/1\.txt: changed while the corpus was read"):
            task_of(prepare, corpus=raw).begin()
        assert list((tmp_path / "exp/stages").iterdir()) == []

    def test_while_a_recording_is_read_nothing_of_it_is_kept(
        self, task_of: Tasks, made_of: MadeOf, raw: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A recording that is replaced and put back has the same key: no block may hold other frames."""
        changed = raw / "speaker 3/1.wav"
        content, times = changed.read_bytes(), changed.stat()
        read = speech_data.read_audio

        def replaced(path: Path, *options: object) -> object:
            if path == changed:
                shutil.copy(changed.with_name("2.wav"), changed)
            return read(path, *options)  # type: ignore[arg-type]

        monkeypatch.setattr("asr.corpora.speech_data.read_audio", replaced)
        monkeypatch.setattr("foundation.blocks.LOSS_S", 0.0)
        with pytest.raises(CorpusError, match=r"speaker 3/1\.wav: changed while the corpus was read"):
            made_of(task_of(self.prepare, corpus=raw)).path("features-train")
        monkeypatch.setattr("asr.corpora.speech_data.read_audio", read)
        changed.write_bytes(content)
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
        made = made_of(task_of(self.prepare, corpus=raw))
        expected = compute_cepstra(made.corpus("train"), made.config.front_end.front_end())
        for found, wanted in zip(made.data("train").cepstra, expected.cepstra, strict=True):
            assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("splits", "expected"),
    [(("train",), "units"), (("train", "dev"), "units-dev"), (("dev", "test"), "units-dev-test")],
)
def test_a_name_says_what_is_used_beside_train(splits: tuple[str, ...], expected: str) -> None:
    assert on_splits("units", splits) == expected


def marked(corpus: Corpus, task: Path) -> list[str]:
    """Return the marks that the features of a corpus are made from."""
    found = Found({"train": corpus}, (), (), {"train": recording_marks(corpus, task)})
    return json.loads(found.marks_of("train"))


class TestMarksOfRecordings:
    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Corpus:
        paths = [tmp_path / "raw/a.wav", tmp_path / "raw/b.wav", tmp_path / "task/c.wav"]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"sound")
        return Corpus(tuple(Utterance(path.stem, path, ("ASA",), "s") for path in paths))

    def test_recordings_in_the_task_are_in_its_own_digest(self, corpus: Corpus, tmp_path: Path) -> None:
        first, second = marked(corpus, tmp_path / "task")
        assert first.startswith(f"{tmp_path / 'raw/a.wav'} 5 ")
        assert second.startswith(f"{tmp_path / 'raw/b.wav'} 5 ")

    @pytest.mark.parametrize(
        "change",
        [
            lambda path: path.write_bytes(b"other sound"),
            lambda path: os.utime(path, ns=(1, 1)),
            lambda path: path.unlink(),
        ],
        ids=["size", "time", "gone"],
    )
    def test_a_changed_recording_is_seen(
        self, corpus: Corpus, tmp_path: Path, change: Callable[[Path], None]
    ) -> None:
        before = marked(corpus, tmp_path / "task")
        assert marked(corpus, tmp_path / "task") == before
        change(tmp_path / "task/c.wav")
        assert marked(corpus, tmp_path / "task") == before
        change(tmp_path / "raw/b.wav")
        kept, changed = marked(corpus, tmp_path / "task")
        assert kept == before[0]
        assert changed != before[1]

    def test_a_missing_recording_is_said(self, corpus: Corpus, tmp_path: Path) -> None:
        (tmp_path / "raw/a.wav").unlink()
        first, _ = marked(corpus, tmp_path / "task")
        assert first == f"{tmp_path / 'raw/a.wav'} missing"


class TestCorrections:
    """What a person corrects or leaves out is applied by the next training, and the corpus stays as it is."""

    @pytest.fixture
    def changed(self, experiment: Experiment, tmp_path: Path) -> Experiment:
        """Return a copy of the trained experiment, with one transcript corrected and one left out."""
        out = tmp_path / "exp"
        shutil.copytree(experiment.out, out)
        first, second = self.words_of(experiment, "train").ids[:2]
        change_transcripts(out, {first: "SUS  ASA", second: None})
        return Experiment(experiment.loaded, experiment.corpus_dir, out, experiment.config, "best")

    def words_of(self, experiment: Experiment, split: str) -> Corpus:
        return experiment.begin().corpora[split]

    def test_they_are_applied(
        self, experiment: Experiment, changed: Experiment, caplog: pytest.LogCaptureFixture
    ) -> None:
        before, after = self.words_of(experiment, "train"), self.words_of(changed, "train")
        first, second = before.ids[:2]
        assert set(before.ids) - set(after.ids) == {second}
        assert after.text[first] == ("SUS", "ASA")
        assert {i: w for i, w in after.text.items() if i != first} == {
            i: w for i, w in before.text.items() if i not in (first, second)
        }
        assert "corrections.txt: 1 transcript(s) corrected, 1 utterance(s) left out" in caplog.messages
        assert changed.found.corpora["test"].text == experiment.found.corpora["test"].text

    def test_ids_that_look_like_remarks(
        self, changed: Experiment, monkeypatch: pytest.MonkeyPatch, tones: Path
    ) -> None:
        ids = ("#a", "#", ";;b", "##")
        utterances = tuple(Utterance(name, tones / "a.wav", ("ASA",), "anna") for name in ids)
        monkeypatch.setattr("asr.training.task.corpus_as_prepared", lambda task, split: Corpus(utterances))
        change_transcripts(changed.out, {"#a": "SUS", ";;b": None, "##": "IMI"})
        written = (changed.out / "corrections.txt").read_text()
        assert {name: read_corrections(changed.out)[name] for name in ("#a", ";;b", "##")} == {
            "#a": ("SUS",),
            ";;b": None,
            "##": ("IMI",),
        }
        with pytest.raises(CorpusError, match=r'the id "#" cannot stand in corrections\.txt'):
            change_transcripts(changed.out, {"#": "SUS"})
        assert (changed.out / "corrections.txt").read_text() == written

    def test_words_that_nothing_else_has_are_named(
        self, changed: Experiment, caplog: pytest.LogCaptureFixture
    ) -> None:
        first, second = sorted(read_corrections(changed.out))
        for _ in range(2):  # its own correction of before is no other transcript
            caplog.clear()
            change_transcripts(changed.out, {first: "SUSS, asa! [noise] SUSS qqqq"})
            (line,) = caplog.messages
            where, _, what = line.partition(": ")
            assert where == first
            assert what.casefold() == (
                'in no other transcript: "suss" (did you mean "sus"?), "qqqq"; if mistyped, correct it again'
            )
        caplog.clear()
        change_transcripts(changed.out, {second: "qqqq"})
        assert caplog.messages == []
        task = max((changed.out / "stages").glob("task-*"), key=lambda path: path.stat().st_mtime)
        (task / "lexicon.txt").write_text("GRO G R O\nSUS S U S\n")
        change_transcripts(changed.out, {first: "gro grro", second: None})
        (line,) = caplog.messages
        assert line.casefold().endswith(
            'in no other transcript and not in lexicon.txt: "grro" (did you mean "gro"?); if mistyped, '
            "correct it again"
        )

    def test_only_what_follows_is_made_again(self, experiment: Experiment, changed: Experiment) -> None:
        second = self.words_of(experiment, "train").ids[1]
        change_transcripts(changed.out, {second: " ".join(experiment.found.corpora["train"].text[second])})
        again = {each.step.name for each in changed.outlook(changed.systems(["gmm2"])) if each.path is None}
        assert {"words", "usable", "gmm-none-1"} <= again
        assert not {name for name in again if name.startswith(("task", "features"))}

    def test_the_file_can_be_read_and_edited(self, changed: Experiment) -> None:
        path = changed.out / "corrections.txt"
        first, second = sorted(read_corrections(changed.out))
        assert [line for line in path.read_text().splitlines() if not line.startswith("#")] == [
            f"{first} SUS ASA",
            second,
        ]
        path.write_text(f"# nothing left out any more\n\n{first} IMI\n")
        assert read_corrections(changed.out) == {first: ("IMI",)}
        path.unlink()
        assert read_corrections(changed.out) == {}

    def test_what_is_not_in_the_corpus(self, changed: Experiment, caplog: pytest.LogCaptureFixture) -> None:
        path = changed.out / "corrections.txt"
        path.write_text("nobody SUS\n")
        self.words_of(changed, "train")
        assert caplog.messages == ["corrections.txt: not in the corpus, and ignored: nobody"]

    def test_mistakes(self, changed: Experiment, tmp_path: Path) -> None:
        first = min(read_corrections(changed.out))
        with pytest.raises(
            CorpusError,
            match=r'no utterance ".*" \(did you mean ".*"\?\), expected one of .*; not there either: nobody',
        ):
            change_transcripts(changed.out, {first: None, first[:-1]: None, "nobody": None})
        with pytest.raises(CorpusError, match="the corrected transcript is empty, expected words"):
            change_transcripts(changed.out, {first: " "})
        with pytest.raises(ExperimentError, match="nowhere: no training was begun there"):
            change_transcripts(tmp_path / "nowhere", {first: None})
        (changed.out / "corrections.txt").write_bytes(b"\xff\xfe\xfa")
        with pytest.raises(ExperimentError, match=r"corrections\.txt: cannot be read .*, expected text"):
            read_corrections(changed.out)
