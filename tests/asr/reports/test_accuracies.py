"""Comparisons of models and speakers, their charts, and what the sections say."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from asr.corpora.corpus import Corpus
from asr.corpora.utterances import recording_names
from asr.errors import ExperimentError
from asr.reports.accuracies import (
    SpeakerRow,
    confusions_table,
    pairs_of_models,
    results_chart,
    size_chart,
    sparsity_chart,
    speaker_rows,
    speakers_chart,
    words_table,
    worst_first,
)
from asr.reports.building import learned_from, sections, verdict
from asr.reports.costs import transcripts_section
from asr.reports.finished import Choice, Finished, LeftOut, ModelSize, scored, spoken_in
from asr.reports.hearing import StatePhones
from asr.reports.page import Section
from asr.reports.phones import Sample
from asr.scoring.edit_distance import align_words, count_errors
from asr.scoring.results import Result
from asr.scoring.scoring import UtteranceErrors, compare, score
from asr.training.fit import Suspicious, write_suspicious


def test_every_two_models_are_compared_with_each_grammar(finished: Finished) -> None:
    corpus = finished.corpus("test")
    found = list(pairs_of_models(finished, "test", corpus))
    assert [(p.grammar, p.first, p.second) for p in found] == [
        ("loop", "gmm1", "gmm2"),
        ("bigram", "gmm1", "gmm2"),
    ]
    words = [finished.recognised(model, "test", "bigram") for model in ("gmm1", "gmm2")]
    assert found[1].comparison == compare(corpus.text, *words)


def test_errors_are_those_of_the_transcripts(finished: Finished) -> None:
    corpus = finished.corpus("test")
    found = scored(finished, "test", "loop", corpus)
    assert list(found) == ["gmm1", "gmm2"]
    counts = found["gmm1"].counts
    assert (counts.substitutions, counts.deletions, counts.insertions) == (1, 1, 1)


def test_only_what_was_decoded_was_said(finished: Finished) -> None:
    corpus = finished.corpus("test")
    assert spoken_in(corpus, {corpus.ids[1]: ()}) == {corpus.ids[1]: corpus.text[corpus.ids[1]]}


def test_a_row_for_each_speaker_and_model(chosen: Choice) -> None:
    rows = speaker_rows(chosen.accuracies, chosen.corpus)
    (speaker,) = chosen.corpus.speakers
    assert [(row.speaker, row.model) for row in rows] == [(speaker, "gmm1"), (speaker, "gmm2")]
    assert rows[0].word_accuracy == pytest.approx(chosen.accuracy.word_accuracy)
    assert rows[0].words == sum(len(u.spoken) for u in chosen.corpus)
    assert rows[0].interval[0] <= rows[0].word_accuracy <= rows[0].interval[1]


def test_the_worst_come_first() -> None:
    def errors(name: str, said: str, heard: str) -> UtteranceErrors:
        pairs = align_words(said.split(), heard.split())
        return UtteranceErrors(name, pairs, count_errors(pairs), False)

    utterances = [
        errors("right", "a b", "a b"),
        errors("one of three", "a b c", "a b"),
        errors("one of one", "a", "b"),
        errors("two", "a b c d", "a"),
    ]
    shuffled = [utterances[n] for n in np.random.default_rng(0).permutation(4)]
    names = [u.utterance_id for u in worst_first(shuffled)]
    assert names == ["two", "one of one", "one of three", "right"]


def result(model: str, grammar: str, accuracy: float) -> Result:
    bounds = (accuracy - 2, accuracy + 1)
    return Result(model, "best", "test", grammar, accuracy, 1, 1, 1, 50, bounds, 50.0, 9, 0)  # type: ignore[arg-type]


def test_results_have_a_line_a_grammar() -> None:
    rows = [result(m, g, a) for m, g, a in [("x", "loop", 80.0), ("x", "bigram", 90.0), ("y", "loop", 85.0)]]
    found = results_chart(rows)
    traces = {trace["name"]: trace for trace in found.plot["data"]}
    assert list(traces["x"]["x"]) == [80.0, 90.0]
    assert [round(y) for y in traces["x"]["y"]] == [1, 0]
    assert list(found.plot["layout"]["yaxis"]["ticktext"]) == ["bigram", "loop"]
    assert found.table.rows[2] == ("y", "loop", "85.0", "83.0–86.0")
    assert "90.0 percent" in found.spoken


def test_speakers_are_bars_from_the_worst_on() -> None:
    rows = [
        SpeakerRow(speaker, model, 10, accuracy, (accuracy - 5, accuracy))
        for speaker, accuracy in [("ben", -20.0), ("anna", 90.0)]
        for model in ("x", "y")
    ]
    found = speakers_chart(rows)
    assert [trace["name"] for trace in found.plot["data"]] == ["y", "x"]
    assert list(found.plot["data"][0]["y"]) == ["anna", "ben"]  # drawn from below
    assert list(found.plot["data"][0]["x"]) == [90.0, -20.0]
    assert found.plot["layout"]["xaxis"]["range"] == [-20.0, 100]
    assert found.table.rows[0] == ("ben", "x", "-20.0", "−25.0 to −20.0", 10)


def test_only_the_worst_of_many_speakers() -> None:
    rows = [SpeakerRow(f"s{n:02d}", "x", 10, 50.0 + n / 10, (0.0, 100.0)) for n in range(50)]
    found = speakers_chart(rows)
    assert len(found.plot["data"][0]["x"]) == 40
    assert "The 40 worst of 50 speakers." in found.caption
    assert len(found.table.rows) == 50


def test_sparsity_has_a_line_a_grammar() -> None:
    rows = [
        {
            "grammar": g,
            "n_centers": n,
            "distinct_centers": 9 * n,
            "word_accuracy": a,
            "interval": [a - 1, a + 1],
        }
        for g, n, a in [("loop", 25, 70.0), ("loop", 50, 80.0), ("bigram", 25, 90.0)]
    ]
    found = sparsity_chart(rows, "pools")
    assert [(t["name"], list(t["x"]), list(t["y"])) for t in found.plot["data"]] == [
        ("loop", [25, 50], [70.0, 80.0]),
        ("bigram", [25], [90.0]),
    ]
    assert found.table.rows[1] == ("loop", 50, 450, "80.0", "79.0–81.0")


@pytest.fixture
def empty() -> Sample:
    return Sample(StatePhones.of(Topology.monophones("ab")))


def test_results_say_which_row_is_looked_into(chosen: Choice, empty: Sample) -> None:
    found = {section.key: section for section in sections(chosen, empty)}
    assert list(found) == [
        *("words", "calibration", "transcripts"),
        *("models", "training", "sparsity", "costs"),
    ]
    rows, costs, what, pairs = found["models"].tables
    assert [row[:2] for row in costs.rows] == [("gmm1", "18"), ("gmm2", "36")]  # 18 states
    (marked,) = rows.marked
    assert rows.rows[marked][:3] == ("gmm1", "bigram", "test")
    assert [row[2] for row in rows.rows] == ["test"] * 4 + ["dev"] * 4
    assert [row[:2] for row in pairs.rows] == [("gmm2 − gmm1", "loop"), ("gmm2 − gmm1", "bigram")]
    assert what.rows == tuple((f"gmm{n}", f"Gaussian mixtures, up to {n} a state") for n in (1, 2))
    assert found["calibration"].charts == ()


def with_speakers(chosen: Choice, *names: str) -> Choice:
    """Return the choice with other speakers of its split, in turn."""
    corpus = chosen.corpus
    other = replace(chosen)
    other.__dict__["corpus"] = Corpus(
        tuple(replace(u, speaker=names[n % len(names)]) for n, u in enumerate(corpus))
    )
    return other


def test_speakers_are_compared_if_there_are_some(chosen: Choice, empty: Sample) -> None:
    first, *_ = sections(with_speakers(chosen, "anna", "ben"), empty)
    assert first.key == "speakers"
    assert {row[0] for row in first.charts[0].table.rows} == {"anna", "ben"}
    first, *_ = sections(with_speakers(chosen, "anna"), empty)
    assert first.key == "words"


def test_what_is_said_of_the_voices_is_true(chosen: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*names: str) -> str:
        return verdict(with_speakers(chosen, *names)).split(" words of ")[1].split("; ")[0]

    one, two, *_ = chosen.finished.corpus("train").speakers
    assert said("anna") == "1 speaker, whom it has not learned from"
    assert said(one) == "1 speaker, whom it has learned from"
    assert said("anna", "ben") == "2 speakers, none of whom it has learned from"
    assert said("anna", one) == "2 speakers, some of whom it has learned from"
    assert said(one, two) == "2 speakers, whom it has learned from"
    found = with_speakers(chosen, one)
    found.__dict__["is_one_person"] = True
    assert "words of the one speaker, whom it has learned from; " in verdict(found)
    apart = recording_names(chosen.corpus)
    unknown = replace(chosen)
    unknown.__dict__["corpus"] = Corpus(tuple(replace(u, speaker=apart[u.audio_path]) for u in chosen.corpus))
    assert "words of speakers who are not known, perhaps those it has learned from; " in verdict(unknown)
    trained = {split: chosen.finished.corpus(split) for split in ("train", "dev")}

    def nobody(self: Finished, split: str) -> Corpus:
        names = recording_names(trained[split])
        return Corpus(tuple(replace(u, speaker=names[u.audio_path]) for u in trained[split]))

    monkeypatch.setattr(Finished, "corpus", nobody)
    assert said("anna") == "1 speaker, whom it has perhaps learned from"


def test_synthetic_speech_is_named(chosen: Choice, empty: Sample) -> None:
    synthetic = replace(chosen, finished=replace(chosen.finished, synthetic=True))
    assert any(line.startswith("The speech is SYNTHETIC") for line in learned_from(synthetic))
    assert not any("SYNTHETIC" in line for line in learned_from(chosen))


def test_the_verdict_has_interval_speakers_and_grammar(chosen: Choice) -> None:
    low, high = chosen.accuracy.interval
    n_words, n_errors = chosen.accuracy.words, chosen.accuracy.counts.errors
    assert verdict(chosen) == (
        f"gmm1 reaches a word accuracy of {chosen.accuracy.word_accuracy:.1f} % on test (95 % interval "
        f"{low:.1f}–{high:.1f}): {n_errors} errors in {n_words} words of 1 speaker, whom it has not "
        "learned from; it knows which words followed which in the training text (bigram). "
        "5 sentences: too few to tell."
    )
    assert "whom it has not learned from" in verdict(replace(chosen, split="dev"))


def test_what_it_learned_from_and_what_was_left_out(chosen: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    learned, left_out = learned_from(chosen)
    assert re.match(r"Learned on \d+ \w+ 20\d\d from corpus: train, \d+ seconds of 6 speaker", learned)
    assert left_out == "Of 35 utterances of train and dev none was left out."
    some = LeftOut(("train", "dev"), ("u1", "u2"), 1, 35, ("u7",))
    monkeypatch.setattr(Finished, "left_out", lambda self, model: some)
    assert learned_from(chosen)[1] == (
        "Of 35 utterances of train and dev left out: 2 whose text is not what is heard, or in no known words "
        "(u1, u2), 1 by hand (u7) and 1 that cannot be read."
    )


def test_what_was_corrected_and_what_cannot_be_read_have_names(compared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)
    finished = Finished.read(copy)
    first, second, third = finished.corpus("train").ids[:3]
    heard_in_test = finished.corpus("test").ids[0]
    record = json.loads((finished.stage("words") / "stage.json").read_text())
    record["config"]["corrections"] = {first: ["SUS"], second: None, heard_in_test: ["IMI"]}
    (finished.stage("words") / "stage.json").write_text(json.dumps(record))
    (copy / "corrections.txt").write_text(f"{third} SUS\n")  # for the next training
    data = copy / "models" / "gmm1" / "data.json"
    amounts = json.loads(data.read_text())
    amounts["splits"]["train"]["n_utterances"] -= 1
    data.write_text(json.dumps(amounts))
    lengths = finished.stage("features-train") / "train.json"
    frames = json.loads(lengths.read_text())
    last = list(frames)[-1]
    read = {name: n for name, n in frames.items() if name != last}
    lengths.write_text(json.dumps(read))
    cepstra = lengths.with_suffix(".npy")
    np.save(cepstra, np.load(cepstra)[: sum(read.values())])
    told = learned_from(Choice.of(Finished.read(copy), "gmm1", None))
    assert told[1] == (
        f"Of 35 utterances of train and dev left out: 1 that cannot be read ({last}). "
        f"Corrected by hand: 1 transcript ({first})."
    )


def test_suspicious_transcripts_have_commands_that_mend_them(compared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "my exp"
    shutil.copytree(compared, copy)
    chosen = Choice.of(Finished.read(copy), "gmm1", None)

    def section(n_utterances: int, *found: Suspicious) -> Section:
        write_suspicious(found, n_utterances, copy)
        (section,) = transcripts_section(chosen)
        return section

    assert section(35).intro.startswith(
        "35 utterances of train and dev are too few"
    )  # as of earlier versions
    assert section(40).intro == (
        "40 utterances of train, dev and test are too few to tell which transcripts are wrong. "
        "Listen to some."
    )
    assert section(400).intro.startswith("Of 400 utterances of train, dev and test none looks")
    wrong = Suspicious("u 7", "go left", 0.0031, ("text does not fit",), True, heard="stop")
    quiet = Suspicious("u8", "stop", None, ("no speech",), False)
    found = section(400, wrong, quiet)
    assert found.intro.startswith("2 of 400 utterances of train, dev and test look wrong, in text")
    assert found.command == ""
    assert found.tables[0].commands == (
        ("asr validate 'my exp' --correct 'u 7' stop", "asr validate 'my exp' --leave-out 'u 7'"),
        ("asr validate 'my exp' --correct u8 stop", "asr validate 'my exp' --leave-out u8"),
    )
    assert found.tables[0].rows == (
        ("u 7", "go left", "stop", "text does not fit", "0.003", "yes"),
        ("u8", "stop", "—", "no speech", "—", "yes"),
    )


def test_models_stand_where_their_size_and_accuracy_are() -> None:
    rows = [result("x", "loop", 80.0), result("y", "loop", 85.0), result("gone", "loop", 70.0)]
    sizes = {"x": ModelSize("x", 100, 1.5), "y": ModelSize("y", 27_338, 77.5), "gone": ModelSize("gone")}
    found = size_chart(rows, sizes)
    assert [(t["name"], t["x"], t["y"]) for t in found.plot["data"]] == [
        ("y", [77.5], [85.0]),
        ("x", [1.5], [80.0]),
    ]
    assert [t["label"] for t in found.plot["data"]] == [["85.0 %"], ["80.0 %"]]
    assert found.plot["layout"]["xaxis"]["title"] == "size of the model, MB (log scale)"
    assert found.plot["data"][0]["hover"] == "y: 85.0 % (83.0–86.0) with 27,338 centres in {x} MB"
    assert found.table.rows == (("x", "80.0", 100, "1.50"), ("y", "85.0", 27_338, "77.50"))


def test_one_model_is_not_drawn_against_its_size(chosen: Choice, empty: Sample) -> None:
    def charts(finished: Finished) -> list[str]:
        found = sections(replace(chosen, finished=finished), empty)
        return [chart.key for section in found if section.key == "models" for chart in section.charts]

    assert charts(chosen.finished) == ["accuracies", "sizes"]
    rows = tuple(row for row in chosen.finished.results if row.model == "gmm1")
    assert charts(replace(chosen.finished, results=rows)) == ["accuracies"]


def test_a_sparsity_curve_if_there_is_one(compared: Path, empty: Sample, tmp_path: Path) -> None:
    copy = tmp_path / "exp"
    shutil.copytree(compared, copy)

    def sparsity() -> Section:
        found = sections(Choice.of(Finished.read(copy), None, None), empty)
        return next(section for section in found if section.key == "sparsity")

    assert sparsity().command == "asr sparsity exp"
    row = {
        "n_centers": 5,
        "distinct_centers": 9,
        "grammar": "loop",
        "word_accuracy": 50.0,
        "interval": [40, 60],
    }
    (copy / "sparsity.json").write_text(json.dumps({"model": "orols", "rows": [row]}))
    (chart,) = sparsity().charts
    assert "Word accuracy of orols on dev" in chart.caption
    for wrong in (
        "[]",
        '{"model": "orols"}',
        '{"model": "orols", "rows": []}',
        '{"model": "m", "rows": [{}]}',
    ):
        (copy / "sparsity.json").write_text(wrong)
        with pytest.raises(ExperimentError, match=r"sparsity\.json: not as asr train writes it"):
            sparsity()


def test_confusions_name_what_went_wrong() -> None:
    found = score({"u": ["a", "b", "c"], "v": ["a", "b"]}, {"u": ["a", "x", "c", "d"], "v": ["a", "x"]})
    table = confusions_table(found)
    assert table.rows == (("b", "x", "substitution", 2), ("—", "d", "insertion", 1))
    assert table.n_words == 2


def test_words_that_are_missed_most_often_come_first() -> None:
    said = {"u": ["a", "b", "c", "b"], "v": ["a", "b", "c"]}
    found = score(said, {"u": ["a", "x", "c", "d"], "v": ["a", "b"]})
    assert words_table(found).rows == (("b", 2, 3, "66.7"), ("c", 1, 2, "50.0"))
