"""Evaluation: decoding and scoring of a corpus, whatever of it cannot be used."""

import json
import shutil
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import soundfile

from asr import AsrError, decode, evaluate
from asr.cli import main
from asr.commands.recordings import evaluate_together
from asr.corpora.corpus import read_corpus
from asr.corpora.tones import RATE, WORDS, speak
from asr.errors import CorpusError, ScoringError
from asr.scoring.scoring import compare, score
from decoder import Decoder
from decoder.decoder import Hypothesis, HypothesisWord
from decoder.errors import DecodingError


@pytest.fixture
def corpus(tones: Path, tmp_path: Path) -> Path:
    """Return one speaker's recordings, to be spoilt."""
    shutil.copytree(tones / "speaker 2", tmp_path / "corpus")
    return tmp_path / "corpus"


def test_is_decoding_and_scoring(trained: Path, tones: Path) -> None:
    speaker = tones / "speaker 2"
    found, hypotheses = evaluate(trained, speaker)
    corpus = read_corpus(speaker)
    decoded = decode(trained, [u.audio_path for u in corpus], same_speaker=True)
    assert [hypotheses[i].text for i in corpus.ids] == [h.text for h in decoded]  # type: ignore[union-attr]
    texts = {i: h.text for i, h in hypotheses.items()}  # type: ignore[union-attr]
    assert found.counts == score(corpus.text, texts).counts
    assert found.not_decoded == {}


def test_says_that_it_knows_the_recordings(
    trained: Path, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluate(trained, tones)
    assert "40 utterances trained this model (by their ids): this is not a test" in caplog.text
    caplog.clear()
    shutil.copytree(tones / "speaker 2", tmp_path / "someone else")
    evaluate(trained, tmp_path / "someone else")
    assert "this is not a test" not in caplog.text


def test_a_model_is_not_compared_with_itself(
    trained: Path, tones: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (name,) = [place.name for place in (trained / "models").iterdir()]
    for line in ([str(trained), f"{trained}/"], [str(trained), "--model", name, "--model", name]):
        assert main(["evaluate", *line, "--corpus", str(tones)]) == 2
        out, errors = capsys.readouterr()
        assert out == ""
        assert errors == (
            f"asr: evaluate: {trained / 'models' / name} twice, expected different models to compare; give "
            "another EXP or --model, or this one alone\n"
        )


class TestUnusable:
    def test_costs_no_others(self, trained: Path, corpus: Path) -> None:
        good = {f"{n}": (corpus / f"{n}.txt").read_text().split() for n in (2, 4)}
        n_words = {f"{n}": len((corpus / f"{n}.txt").read_text().split()) for n in (0, 1, 3)}
        (corpus / "0.wav").write_bytes(b"")
        (corpus / "1.wav").write_bytes((corpus / "1.wav").read_bytes()[:4000])
        soundfile.write(corpus / "3.wav", np.full(2000, 0.1), 2000)
        accuracy, found = evaluate(trained, corpus)
        assert list(found) == ["0", "1", "2", "3", "4"]
        problems = {name: str(f) for name, f in found.items() if isinstance(f, AsrError)}
        assert [*problems] == ["0", "1", "3"]
        for name, problem in zip(problems, ["empty file", "truncated", "2000 Hz"], strict=True):
            assert problems[name].startswith(f"{name}: ")
            assert problem in problems[name]
        assert accuracy.not_decoded == n_words
        assert [u.utterance_id for u in accuracy.utterances] == ["2", "4"]
        assert accuracy.words == sum(map(len, good.values()))
        assert accuracy.missing == ()
        assert accuracy.counts == score(good, {n: found[n].text for n in good}).counts  # type: ignore[union-attr]

    def test_what_only_the_search_cannot_take(
        self, trained: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        samples, _ = soundfile.read(corpus / "1.wav")
        soundfile.write(corpus / "1.wav", np.tile(samples, 20), RATE)
        decoded = Decoder.decode

        def refuse_long(self: Decoder, scores: np.ndarray) -> object:
            if len(scores) > 500:
                raise DecodingError("no path")
            return decoded(self, scores)

        monkeypatch.setattr(Decoder, "decode", refuse_long)
        accuracy, found = evaluate(trained, corpus)
        assert {name: str(f) for name, f in found.items() if isinstance(f, AsrError)} == {"1": "1: no path"}
        assert list(accuracy.not_decoded) == ["1"]
        assert len(accuracy.utterances) == 4

    def test_all_is_an_error_with_each(self, trained: Path, corpus: Path) -> None:
        for path in corpus.glob("*.wav"):
            path.write_bytes(b"")
        with pytest.raises(CorpusError, match=r"none of 5 utterance\(s\) can be decoded") as caught:
            evaluate(trained, corpus)
        head, *named = str(caught.value).splitlines()
        assert head.startswith(f"{corpus}: ")
        assert [line.split(":")[0] for line in named] == ["0", "1", "2", "3", "4"]

    def test_of_many_the_first_are_named(self, trained: Path, corpus: Path) -> None:
        shutil.rmtree(corpus)
        corpus.mkdir()
        for name in "abcdefghijkl":
            (corpus / f"{name}.wav").write_bytes(b"")
            (corpus / f"{name}.txt").write_text("ASA")
        with pytest.raises(CorpusError, match=r"none of 12 utterance\(s\)") as caught:
            evaluate(trained, corpus)
        _, *named, last, more = str(caught.value).splitlines()
        assert (len(named), last[:3], more) == (9, "j: ", "  and 2 more of this kind")

    def test_where_all_that_is_said_cannot_be_decoded(self, trained: Path, corpus: Path) -> None:
        names = sorted(path.stem for path in corpus.glob("*.txt"))
        (corpus / f"{names[0]}.txt").write_text("")
        for name in names[1:]:
            (corpus / f"{name}.wav").write_bytes(b"")
        with pytest.raises(CorpusError, match=r"none of 4 utterance\(s\) can be decoded"):
            evaluate(trained, corpus)

    def test_nothing_is_said(self, trained: Path, corpus: Path) -> None:
        for path in corpus.glob("*.txt"):
            path.write_text("")
        with pytest.raises(ScoringError, match="expected at least one word, got none in 5"):
            evaluate(trained, corpus)


class TestWarnings:
    def test_of_low_rates(self, trained: Path, corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
        samples, _ = soundfile.read(corpus / "1.wav")
        soundfile.write(corpus / "1.wav", samples[::2], RATE // 2)
        evaluate(trained, corpus)
        assert "1 of 5 recordings have fewer samples a second than the front end expects" in caplog.text

    def test_of_words_that_the_model_has_not(
        self, trained: Path, corpus: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (corpus / "1.txt").write_text("ASA OTHER\n")
        evaluate(trained, corpus)
        what = "1 word(s) of 1 utterance(s) are not in the model's lexicon and cannot be recognised"
        assert f'{what}: "OTHER" 1 time(s)' in caplog.text

    def test_of_transcripts_without_speech(
        self, trained: Path, corpus: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        soundfile.write(corpus / "1.wav", np.full(RATE, 0.1), RATE)
        accuracy, _ = evaluate(trained, corpus)
        assert f"1: {corpus / '1.wav'}: no speech in it, expected the " in caplog.text
        assert len(accuracy.utterances) == 5


def test_words_that_were_not_spoken_are_rejected(trained: Path, corpus: Path) -> None:
    rng = np.random.default_rng(9)
    others = sum(speak(WORDS, scale, rng)[8000:16000] for scale in (0.6, 1.4))
    soundfile.write(corpus / "1.wav", others, RATE)
    plain, rejecting = (evaluate(trained, corpus, reject=reject)[1] for reject in (False, True))
    assert plain["1"].text != ()  # type: ignore[union-attr]
    assert rejecting["1"].text == ()  # type: ignore[union-attr]
    assert rejecting["0"].text == tuple((corpus / "0.txt").read_text().split())  # type: ignore[union-attr]


class TestTogether:
    """Several models on the same utterances."""

    SPOKEN: ClassVar = {"a": "ONE TWO", "b": "THREE", "c": "FOUR FIVE", "d": "SIX"}

    @pytest.fixture
    def systems(self, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        """Return three experiments: one is right, one has errors, one cannot decode d and writes b small."""
        heard: dict[str, dict[str, str | AsrError]] = {
            "x": {**self.SPOKEN},
            "y": {**self.SPOKEN, "a": "ONE", "c": "FOUR FOUR"},
            "z": {**self.SPOKEN, "b": "three", "d": AsrError("d: empty file")},
        }

        def evaluated(experiment: Path, corpus: Path, **options: object) -> object:
            said = {**self.SPOKEN, **({"b": "three"} if experiment.name == "z" else {})}
            found = {
                name: text if isinstance(text, AsrError) else hypothesis(text)
                for name, text in heard[experiment.name].items()
            }
            words = {name: h.text for name, h in found.items() if not isinstance(h, AsrError)}
            return score({name: said[name].split() for name in words}, words), found

        monkeypatch.setattr("asr.commands.recordings.evaluate", evaluated)
        for name in heard:
            shutil.copytree(trained / "models", tmp_path / name / "models")
            shutil.copy(trained / "default.json", tmp_path / name)
        return [tmp_path / name for name in heard]

    def test_each_is_compared_with_the_first(self, systems: list[Path]) -> None:
        found, left_out = evaluate_together([(place, None) for place in systems], "corpus")
        assert left_out == {"d": "empty file"}  # nobody is scored on it
        assert [(c.model, c.grammar, c.accuracy.words) for c in found] == [("gmm2", "bigram", 5)] * 3
        assert [c.accuracy.word_accuracy for c in found] == [100.0, 60.0, 100.0]
        assert found[0].comparison is None
        three = {name: words.split() for name, words in self.SPOKEN.items() if name != "d"}
        expected = compare(three, three, {**three, "a": ["ONE"], "c": ["FOUR", "FOUR"]})
        assert found[1].comparison == expected
        assert expected.difference == -40.0
        assert found[2].comparison is not None
        assert found[2].comparison.n_equal == 3  # another case of letters is no error

    def test_transcripts_read_as_different_words_are_left_out(
        self, systems: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(self.SPOKEN, "c", "45")
        first, second = systems[:2]
        before = {**self.SPOKEN}

        def evaluated(experiment: Path, corpus: Path, **options: object) -> object:
            said = {**before, **({"c": "FOUR FIVE"} if experiment == second else {})}
            words = {name: text.split() for name, text in said.items()}
            return score(words, words), {name: hypothesis(text) for name, text in said.items()}

        monkeypatch.setattr("asr.commands.recordings.evaluate", evaluated)
        found, left_out = evaluate_together([(first, None), (second, None)], "corpus")
        assert left_out == {"c": "its transcript is read as different words"}
        assert [len(c.accuracy.utterances) for c in found] == [3, 3]

    def test_the_table(self, systems: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
        first, second, third = map(str, systems)
        assert main(["evaluate", first, second, third, "--corpus", "c", "--quiet"]) == 0
        head, one, two, three, _, note, rest = capsys.readouterr().out.splitlines()
        assert head.split()[:4] == ["experiment", "model", "grammar", "word"]
        assert one.split()[:5] == ["1", first, "gmm2", "bigram", "100.00"]
        assert one.rstrip().endswith("100.0")
        assert two.split()[:5] == ["2", second, "gmm2", "bigram", "60.00"]
        assert "-40.00" in two
        assert "+0.00" in three
        assert note.startswith("3 utterances with 5 words, the same for all.")
        assert rest == "left out: 1 utterance: d (empty file)"

    def test_models_of_one_experiment(self, systems: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
        shutil.copytree(systems[1] / "models/gmm2", systems[1] / "models/other")
        arguments = ["--model", "gmm2", "--model", "other", "--corpus", "c", "--json", "-q"]
        assert main(["evaluate", str(systems[1]), *arguments]) == 0
        record = json.loads(capsys.readouterr().out)
        assert [each["model"] for each in record["systems"]] == ["gmm2", "other"]
        assert record["systems"][0]["difference"] is None
        assert record["systems"][1]["difference"]["points"] == 0
        assert record["utterances"] == 4

    def test_refused(self, systems: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        both = ["evaluate", str(systems[0]), str(systems[1]), "--corpus", "c"]
        assert main([*both, "--hypotheses", str(tmp_path / "h")]) == 2
        assert "--hypotheses takes the words of one model" in capsys.readouterr().err
        assert main([*both, "--model", "gmm3"]) == 2
        assert 'no model "gmm3" (did you mean "gmm2"?)' in capsys.readouterr().err


def hypothesis(text: str) -> Hypothesis:
    return Hypothesis(tuple(HypothesisWord(word, 0.0, 0.1, -1.0) for word in text.split()), -1.0, True, ())
