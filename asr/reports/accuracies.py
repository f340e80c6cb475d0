"""How many words the models get right, by pair, speaker, word: figures, charts and sections of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from asr.corpora.corpus import Corpus
from asr.files import as_train_wrote, read_json
from asr.formats.model_directories import SPARSITY
from asr.reports.finished import Choice, Finished, ModelSize, spoken_in
from asr.reports.page import Chart, Section, Table, error_bars, interval, p_value, percent, plot_of, seconds
from asr.scoring.results import Result
from asr.scoring.scoring import (
    Comparison,
    UtteranceErrors,
    WordAccuracy,
    accuracy_interval,
    compare,
)

_MOST_SPEAKERS = 40  # by feel
_N_RESAMPLES = 2000  # for each speaker; by feel
_MOST_ROWS = 30  # by feel
_GAP = "—"


def results_section(chosen: Choice) -> Section:
    """Return the results of all models, and the models compared in pairs."""
    finished = chosen.finished
    results = sorted(finished.results, key=lambda r: r.split != chosen.split)  # the split in question first
    rows = tuple(
        (
            r.model,
            r.grammar,
            r.split,
            percent(r.word_accuracy),
            interval(r.interval),
            percent(r.sentence_accuracy),
            r.words,
            r.substitutions,
            r.deletions,
            r.insertions,
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
        "sent. acc. %",
        "words",
        "sub",
        "del",
        "ins",
    )
    what = tuple((model, finished.in_words(model)) for model in finished.models)
    tables = [
        Table("Word accuracy of all models", head, rows, n_texts=3, marked=marked),
        sizes_table(finished),
        Table("What the models are", ("model", "what was trained"), what, n_texts=2),
    ]
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
                    "p",
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
        "values are those of other sentences alike; they say nothing of other speakers or of another "
        "training. The marked row is what the rest of the page is about. Centres are the distinct ones of "
        "all discriminants (an SVM's support vectors), or a GMM's Gaussians; training is the processor time "
        "of all steps that led to the model, decoding the processor's seconds for a second of speech."
    )
    incomplete = sum(r.incomplete for r in finished.results)
    if incomplete:
        intro += f" {incomplete} decodings ended without a complete sentence; what they had was scored."
    own = [r for r in results if r.split == chosen.split]
    charts = [results_chart(own)]
    with_grammar = [r for r in own if r.grammar == chosen.grammar]
    if sum(bool(finished.sizes[r.model].megabytes) for r in with_grammar) > 1:  # one has no rival
        charts.append(size_chart(with_grammar, finished.sizes))
    return Section("models", "Models", intro, tables=tuple(tables), charts=tuple(charts))


def sizes_table(finished: Finished) -> Table:
    """Return what each model costs."""
    rows = tuple(
        (
            size.model,
            _GAP if size.n_centers is None else f"{size.n_centers:,}",
            _GAP if size.megabytes is None else f"{size.megabytes:.1f}",
            _GAP if size.training_cpu_s is None else seconds(size.training_cpu_s),
            _GAP if size.decoding_cpu_s_per_s is None else f"{size.decoding_cpu_s_per_s:.3f}",
        )
        for size in finished.sizes.values()
    )
    return Table(
        "What the models cost",
        ("model", "centres", "MB", "training", "decoding, s a second"),
        rows,
    )


def size_chart(results: Sequence[Result], sizes: Mapping[str, ModelSize]) -> Chart:
    """Return the word accuracy of each model against its size."""
    rows = [(row, sizes[row.model]) for row in results if sizes[row.model].megabytes]
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "marker": {"size": 11},
            "x": [size.megabytes],
            "y": [row.word_accuracy],
            "label": [f"{percent(row.word_accuracy)} %"],
            "name": row.model,
            "error_y": error_bars([(row.word_accuracy, row.interval)]),
            "hover": f"{row.model}: {percent(row.word_accuracy)} % ({interval(row.interval)}) with "
            f"{size.n_centers or 0:,} centres in {{x}} MB",
        }
        for row, size in reversed(rows)  # in the colours of the other chart
    ]
    said = "; ".join(
        f"{row.model}: {percent(row.word_accuracy)} percent, {s.megabytes} MB" for row, s in rows
    )
    first = rows[0][0]
    return Chart(
        "sizes",
        f"Word accuracy on {first.split} with the grammar {first.grammar} against the size of the model; "
        f"lines are 95 % intervals. Best is above and to the left.",
        said,
        plot_of(
            traces,
            xaxis={"title": "size of the model, MB (log scale)", "type": "log"},
            yaxis={"title": "word accuracy, %", "most": 100},
            legend={"traceorder": "reversed"},
        ),
        Table(
            "Word accuracy and size",
            ("model", "word accuracy, %", "centres", "MB"),
            tuple(
                (row.model, percent(row.word_accuracy), size.n_centers or _GAP, f"{size.megabytes:.2f}")
                for row, size in rows
            ),
        ),
    )


def results_chart(results: Sequence[Result]) -> Chart:
    """Return the word accuracies of one split with their intervals, model by model."""
    models = list(dict.fromkeys(row.model for row in results))
    grammars = list(dict.fromkeys(row.grammar for row in results))
    traces = []
    for n, model in enumerate(reversed(models)):
        own = [row for row in results if row.model == model]
        shift = 0.18 * (n - (len(models) - 1) / 2)
        traces.append(
            {
                "type": "scatter",
                "name": model,
                "mode": "markers",
                "marker": {"size": 10},
                "x": [row.word_accuracy for row in own],
                "y": [len(grammars) - 1 - grammars.index(row.grammar) + shift for row in own],
                "text": [
                    f"{row.grammar}: {percent(row.word_accuracy)} % ({interval(row.interval)})" for row in own
                ],
                "hover": f"{model}, {{text}}",
                "error_x": error_bars([(row.word_accuracy, row.interval) for row in own]),
            }
        )
    best = max(results, key=lambda row: row.word_accuracy)
    split = results[0].split
    return Chart(
        "accuracies",
        f"Word accuracy on {split} with 95 % intervals.",
        f"The best on {split} is {best.model} with the grammar {best.grammar}: "
        f"{percent(best.word_accuracy)} percent, interval {interval(best.interval)}.",
        plot_of(
            traces,
            xaxis={"title": "word accuracy, %", "most": 100},
            yaxis={
                "tickvals": list(range(len(grammars))),
                "ticktext": grammars[::-1],
                "range": [-0.6, len(grammars) - 0.4],
            },
            legend={"traceorder": "reversed"},
        ),
        Table(
            f"Word accuracy on {split}",
            ("model", "grammar", "word accuracy, %", "95 % interval"),
            tuple((r.model, r.grammar, percent(r.word_accuracy), interval(r.interval)) for r in results),
            n_texts=2,
        ),
        height=110 + max(50, 22 * len(models)) * len(grammars),
    )


@dataclass(frozen=True)
class Pair:
    """Two models with the same grammar on the same utterances."""

    grammar: str
    first: str
    second: str
    comparison: Comparison


def pairs_of_models(finished: Finished, split: str, corpus: Corpus) -> Iterator[Pair]:
    """Yield the comparison of every two models, grammar by grammar."""
    for grammar in finished.grammars(split):
        models = finished.models_with(split, grammar)
        found = {model: finished.recognised(model, split, grammar) for model in models}
        for first, second in combinations(models, 2):
            said = spoken_in(corpus, found[first])
            yield Pair(grammar, first, second, compare(said, found[first], found[second]))


def speakers_section(chosen: Choice) -> Section:
    """Return the word accuracy of each speaker."""
    rows = speaker_rows(chosen.accuracies, chosen.corpus)
    return Section(
        "speakers",
        "Speakers",
        f"On {chosen.split}, with the grammar {chosen.grammar}. One speaker far below the others is worth a "
        f"look at the recordings: rate, loudness, noise, accent, or a transcript that is not theirs.",
        charts=(speakers_chart(rows),),
    )


@dataclass(frozen=True)
class SpeakerRow:
    """One speaker with one model.

    Attributes
    ----------
    speaker, model : names
    words : number of words said
    word_accuracy : in percent
    interval : its 95 % interval over the speaker's utterances
    """

    speaker: str
    model: str
    words: int
    word_accuracy: float
    interval: tuple[float, float]


def speaker_rows(accuracies: Mapping[str, WordAccuracy], corpus: Corpus) -> list[SpeakerRow]:
    """Return the speakers, the worst on average first, each with all models."""
    speaker_of = {u.utterance_id: u.speaker for u in corpus}
    rows = [row for model, found in accuracies.items() for row in _of_model(model, found, speaker_of)]
    means = {
        speaker: float(np.mean([row.word_accuracy for row in rows if row.speaker == speaker]))
        for speaker in {row.speaker for row in rows}
    }
    return sorted(rows, key=lambda row: (means[row.speaker], row.speaker))


def _of_model(model: str, found: WordAccuracy, speaker_of: Mapping[str, str]) -> Iterator[SpeakerRow]:
    theirs: dict[str, list[UtteranceErrors]] = {}
    for utterance in found.utterances:
        theirs.setdefault(speaker_of[utterance.utterance_id], []).append(utterance)
    for speaker, utterances in theirs.items():
        counts = np.array([(u.counts.errors, u.counts.words) for u in utterances], dtype=np.int64)
        errors, words = counts.sum(axis=0).tolist()
        if words:
            bounds = accuracy_interval(counts[:, 0], counts[:, 1], _N_RESAMPLES)
            yield SpeakerRow(speaker, model, words, 100 - 100 * errors / words, bounds)


def speakers_chart(rows: Sequence[SpeakerRow]) -> Chart:
    """Return bars of each speaker, the worst on top, a bar for each model."""
    speakers = list(dict.fromkeys(row.speaker for row in rows))
    shown = speakers[:_MOST_SPEAKERS]
    models = list(dict.fromkeys(row.model for row in rows))
    found = {(row.speaker, row.model): row for row in rows}
    bars = []
    for model in reversed(models):
        own = [found[speaker, model] for speaker in reversed(shown) if (speaker, model) in found]
        bars.append(
            {
                "type": "bar",
                "name": model,
                "y": [row.speaker for row in own],
                "x": [row.word_accuracy for row in own],
                "text": [f"{percent(row.word_accuracy)} % of {row.words} words" for row in own],
                "hover": f"{{y}}: {{text}}, {model}",
                "error_x": error_bars([(row.word_accuracy, row.interval) for row in own]),
            }
        )
    left_out = f" The {len(shown)} worst of {len(speakers)} speakers." if len(speakers) > len(shown) else ""
    lowest, best = rows[0], max(rows, key=lambda row: row.word_accuracy)
    return Chart(
        "speakers",
        "Word accuracy of each speaker in percent, the lowest on top; lines are 95 % intervals over the "
        "speaker's utterances." + left_out,
        f"Bars of {len(shown)} speakers. The lowest are those of {lowest.speaker}, the highest of "
        f"{best.speaker} with {percent(best.word_accuracy)} percent.",
        plot_of(
            bars,
            xaxis={"title": "word accuracy, %", "range": [_lowest_tick(rows), 100]},
            yaxis={"type": "category"},
            legend={"traceorder": "reversed"},
        ),
        Table(
            "Word accuracy by speaker",
            ("speaker", "model", "word accuracy, %", "95 % interval", "words"),
            tuple(
                (r.speaker, r.model, percent(r.word_accuracy), interval(r.interval), r.words) for r in rows
            ),
            n_texts=2,
        ),
        height=90 + len(shown) * (14 + 12 * len(models)),
    )


def _lowest_tick(rows: Sequence[SpeakerRow]) -> float:
    """Return where the axis begins: at 0, or below it where more is wrong than was said."""
    return min(0.0, *(10.0 * float(np.floor(row.word_accuracy / 10)) for row in rows))


def words_section(chosen: Choice) -> Section:
    """Return which words are taken for which, and which are missed."""
    found = chosen.accuracy
    if not found.confusions:
        said = f"All words of {chosen.split} were recognised, and none was heard that was not said."
        return Section("words", "Words", said)
    return Section(
        "words",
        "Words",
        f"What {chosen.model} makes of words on {chosen.split}. A button shows the utterances with the word.",
        tables=(confusions_table(found), words_table(found)),
    )


def confusions_table(found: WordAccuracy) -> Table:
    """Return the errors that occur most often."""
    rows = tuple(
        (c.reference or _GAP, c.hypothesis or _GAP, _kind_of_error(c.reference, c.hypothesis), c.count)
        for c in found.confusions[:_MOST_ROWS]
    )
    n_kinds = len(found.confusions)
    more = f", the {len(rows)} most frequent of {n_kinds} kinds" if n_kinds > len(rows) else ""
    return Table(f"Errors by word{more}", ("said", "heard", "error", "times"), rows, n_texts=3, n_words=2)


def _kind_of_error(said: str | None, heard: str | None) -> str:
    if said is None:
        return "insertion"
    return "deletion" if heard is None else "substitution"


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


def worst_first(utterances: Sequence[UtteranceErrors]) -> list[UtteranceErrors]:
    """Return utterances, those with most errors first; of equals that with the larger share of errors."""
    return sorted(
        utterances,
        key=lambda u: (-u.counts.errors, -u.counts.errors / max(u.counts.words, 1), u.utterance_id),
    )


def sparsity_section(chosen: Choice) -> Section:
    """Return the accuracy against the number of centres, or how to get that curve."""
    path = chosen.finished.directory / SPARSITY
    if not path.is_file():
        what = (
            "Accuracy against the number of centres. No curve has been made yet; this trains the model with "
            "several numbers of centres, and makes it:"
        )
        return Section("sparsity", "Sparsity", what, command=f"asr sparsity {chosen.finished.typed}")
    record = read_json(path)
    with as_train_wrote(path):
        chart = sparsity_chart(record["rows"], str(record["model"]))
    return Section("sparsity", "Sparsity", "How many centres the discriminants need.", charts=(chart,))


def sparsity_chart(rows: Sequence[Mapping[str, Any]], model: str) -> Chart:
    """Return the word accuracy on dev against the number of centres."""
    grammars = list(dict.fromkeys(str(row["grammar"]) for row in rows))
    traces = []
    for grammar in grammars:
        own = [row for row in rows if row["grammar"] == grammar]
        traces.append(
            {
                "type": "scatter",
                "name": grammar,
                "x": [row["n_centers"] for row in own],
                "y": [row["word_accuracy"] for row in own],
                "mode": "lines+markers",
                "error_y": error_bars([(row["word_accuracy"], tuple(row["interval"])) for row in own]),
                "text": [row["distinct_centers"] for row in own],
                "hover": f"{grammar}: {{x}} centres ({{text}} distinct): {{y}} %",
            }
        )
    best = max(rows, key=lambda row: row["word_accuracy"])
    return Chart(
        "sparsity",
        f"Word accuracy of {model} on dev against the number of centres of a state or of a pair; lines are "
        f"95 % intervals. The fewer centres, the smaller and faster the model.",
        f"The best is {percent(best['word_accuracy'])} percent with {best['n_centers']} centres.",
        plot_of(
            traces,
            xaxis={
                "title": "centres (log scale)",
                "type": "log",
                "tickvals": sorted({row["n_centers"] for row in rows}),
            },
            yaxis={"title": "word accuracy on dev, %", "most": 100},
        ),
        Table(
            "Word accuracy by number of centres",
            ("grammar", "centres", "distinct centres", "word accuracy, %", "95 % interval"),
            tuple(
                (
                    str(r["grammar"]),
                    int(r["n_centers"]),
                    int(r["distinct_centers"]),
                    percent(r["word_accuracy"]),
                    interval(tuple(r["interval"])),
                )
                for r in rows
            ),
        ),
    )
