"""The sections of a page: what each shows, and how to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from asr.files import as_train_wrote, read_json
from asr.reports import accuracy_charts, cost_charts, phone_charts
from asr.reports.accuracies import pairs_of_models, speaker_rows
from asr.reports.choice import Choice, Sample
from asr.reports.costs import costs, training_curves
from asr.reports.parts import Section, Table, interval, p_value, percent
from asr.scoring.scoring import WordAccuracy
from asr.sparsity import FILE as SPARSITY

_MOST_ROWS = 30
_GAP = "—"


def sections(chosen: Choice, sample: Sample) -> Iterator[Section]:
    """Yield the sections in the order of the page."""
    yield _results(chosen)
    yield _speakers(chosen)
    yield _words(chosen)
    yield from _frames(chosen, sample)
    yield _calibration(chosen, sample)
    yield from _training(chosen)
    yield _sparsity(chosen)
    yield from _costs(chosen)


def _results(chosen: Choice) -> Section:
    finished = chosen.finished
    results = sorted(finished.results, key=lambda r: r.split != chosen.split)  # the split in question first
    rows = tuple(
        (
            r.model,
            r.grammar,
            r.split,
            percent(r.word_accuracy),
            interval(r.interval),
            r.substitutions,
            r.deletions,
            r.insertions,
            r.words,
            percent(r.sentence_accuracy),
        )
        for r in results
    )
    looked_into = (chosen.model, chosen.grammar, chosen.split)
    marked = tuple(n for n, r in enumerate(results) if (r.model, r.grammar, r.split) == looked_into)
    head = (
        "model",
        "grammar",
        "split",
        "word acc. %",
        "95 % interval",
        "sub",
        "del",
        "ins",
        "words",
        "sent. acc. %",
    )
    tables = [Table("Word accuracy of all models", head, rows, n_texts=3, marked=marked)]
    pairs = list(pairs_of_models(finished, chosen.split, chosen.corpus))
    if pairs:
        tables.append(
            Table(
                f"The models compared in pairs on the same utterances of {chosen.split}",
                (
                    "compared",
                    "grammar",
                    "difference, points",
                    "95 % interval",
                    "p, bootstrap",
                    "p, signs",
                    "better : worse",
                ),
                tuple(
                    (
                        f"{pair.second} − {pair.first}",
                        pair.grammar,
                        f"{pair.comparison.difference:+.1f}".replace("-", "−"),
                        interval(pair.comparison.interval),
                        p_value(pair.comparison.p_value),
                        p_value(pair.comparison.sign_test_p_value),
                        f"{pair.comparison.n_better_b} : {pair.comparison.n_better_a}",
                    )
                    for pair in pairs
                ),
                n_texts=2,
            )
        )
    intro = (
        "Word accuracy is 100 − 100 (substitutions + deletions + insertions) / words. Intervals and p "
        "values come from drawing the utterances anew 10,000 times; they say nothing of other speakers or "
        "of another training. The marked row is what the rest of the page is about."
    )
    if finished.synthetic:
        intro = "The speech is SYNTHETIC: no figure is comparable with that of recordings of people. " + intro
    incomplete = sum(r.incomplete for r in finished.results)
    if incomplete:
        intro += f" {incomplete} decodings ended without a complete sentence; what they had was scored."
    chart = accuracy_charts.results_chart([r for r in results if r.split == chosen.split])
    return Section("results", "Results", intro, tables=tuple(tables), charts=(chart,))


def _speakers(chosen: Choice) -> Section:
    rows = speaker_rows(chosen.accuracies, chosen.corpus)
    return Section(
        "speakers",
        "Speakers",
        f"On {chosen.split}, with the grammar {chosen.grammar}. One speaker far below the others is worth a "
        f"look at the recordings: rate, loudness, noise, accent, or a transcript that is not theirs.",
        charts=(accuracy_charts.speakers_chart(rows),),
    )


def _words(chosen: Choice) -> Section:
    found = chosen.accuracy
    return Section(
        "words",
        "Words",
        f"What {chosen.model} makes of words on {chosen.split}. A button shows the utterances with the word.",
        tables=(confusions_table(found), words_table(found)),
    )


def confusions_table(found: WordAccuracy) -> Table:
    """Return the errors that occur most often."""
    rows = tuple(
        (c.reference or _GAP, c.hypothesis or _GAP, _kind(c.reference, c.hypothesis), c.count)
        for c in found.confusions[:_MOST_ROWS]
    )
    n_kinds = len(found.confusions)
    more = f", the {len(rows)} most frequent of {n_kinds} kinds" if n_kinds > len(rows) else ""
    return Table(f"Errors by word{more}", ("said", "heard", "error", "times"), rows, n_texts=3, n_words=2)


def words_table(found: WordAccuracy) -> Table:
    """Return the words that were said and not recognised most often."""
    said: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for spoken, heard in (pair for utterance in found.utterances for pair in utterance.pairs):
        if spoken is not None:
            said[spoken] += 1
            wrong[spoken] += spoken != heard
    worst = sorted((word for word in wrong if wrong[word]), key=lambda word: (-wrong[word], said[word], word))
    rows = tuple(
        (word, wrong[word], said[word], percent(100 * wrong[word] / said[word]))
        for word in worst[:_MOST_ROWS]
    )
    more = f", the first {len(rows)} of {len(worst)}" if len(worst) > len(rows) else ""
    return Table(
        f"Words not recognised{more}", ("said", "missed", "times said", "missed, %"), rows, n_words=1
    )


def _kind(said: str | None, heard: str | None) -> str:
    if said is None:
        return "insertion"
    return "deletion" if heard is None else "substitution"


def _frames(chosen: Choice, sample: Sample) -> Iterator[Section]:
    if not sample.confusions.sum():
        return
    names, counts = sample.phones.names, sample.confusions
    yield Section(
        "phones",
        "Phones",
        f"Frame by frame, {chosen.model} on {sample.n_utterances} utterances of {chosen.split}. What was "
        f"said is the model's own alignment of the transcript, so these figures are better than against one "
        f"by hand.",
        charts=(
            phone_charts.confusions_chart(counts, names),
            phone_charts.separability_chart(sample.separability, names, counts),
        ),
    )


def _calibration(chosen: Choice, sample: Sample) -> Section:
    charts = []
    if sample.of_words.count:
        charts.append(
            phone_charts.reliability_chart(
                "of-words", "Confidences of words", sample.of_words, with_intervals=True
            )
        )
    if sample.of_frames.count:
        what = "Posteriors of frames, the largest of each"
        charts.append(
            phone_charts.reliability_chart("of-frames", what, sample.of_frames, with_intervals=False)
        )
    return Section(
        "calibration",
        "Calibration",
        f"Is what {chosen.model} calls 80 % sure right eight times in ten? Confidences of words are the "
        f"decoder's, with lexicon and grammar; posteriors of frames are the acoustic model's alone. "
        f"Neighbouring frames are no independent events, hence no intervals there.",
        charts=tuple(charts),
    )


def _training(chosen: Choice) -> Iterator[Section]:
    curves = training_curves(chosen.finished)
    if curves:
        intro = "The mixtures are trained first; they label the frames from which all else is learned."
        yield Section("training", "Training", intro, charts=(cost_charts.training_chart(curves),))


def _sparsity(chosen: Choice) -> Section:
    path = chosen.finished.directory / SPARSITY
    if not path.is_file():
        what = (
            "Accuracy against the number of centres. No curve has been made yet; this makes it, with the "
            "experiment's directory for EXP:"
        )
        return Section("sparsity", "Sparsity", what, command="asr sparsity EXP")
    record = read_json(path)
    with as_train_wrote(path):
        chart = accuracy_charts.sparsity_chart(record["rows"], str(record["model"]))
    return Section("sparsity", "Sparsity", "How many centres the discriminants need.", charts=(chart,))


def _costs(chosen: Choice) -> Iterator[Section]:
    found = costs(chosen.finished)
    if found:
        intro = "What the results were made from, and what that took. Memory is not recorded."
        yield Section("costs", "Time", intro, charts=(cost_charts.costs_chart(found),))
