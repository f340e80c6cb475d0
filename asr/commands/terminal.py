"""What the other verbs print: word accuracies, tables, problems of a corpus, the description of a model."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from asr.corpora.corpus import Problem
from asr.corpora.problems import first_of_each_kind
from asr.corpora.validation import transcripts_as_read, validate
from asr.errors import ScoringError
from asr.files import as_plain
from asr.formats.transcripts import read_transcripts
from asr.language.language_model import LanguageModel, Usage
from asr.logs import coloured_difference
from asr.scoring.results import (
    RESULTS,
    Result,
    format_accuracy,
    format_comparison,
    format_results,
    is_synthetic,
    to_json,
)
from asr.scoring.scoring import WordAccuracy, compare, score
from asr.text.forms import comparable
from decoder.decoder import Hypothesis
from decoder.lexicon import Lexicon
from foundation.errors import AsrError, listed


def word_times(hypothesis: Hypothesis) -> str:
    """Return a table of words with their times and confidences."""
    lines = [f"{'start s':>8} {'end s':>8}  {'confidence':>10}  word"]
    for w in hypothesis.words:
        sure = "" if w.confidence is None else f"{w.confidence:.2f}"
        lines.append(f"{w.start_s:8.2f} {w.end_s:8.2f}  {sure:>10}  {w.word}")
    return "\n".join(lines)


def accuracy_of_files(
    reference: Path,
    hypothesis: Path,
    *,
    against: Path | None,
    file_format: Any,
    utt2spk: Path | None,
    ignore_case: bool,
    in_plain_form: bool,
    as_json: bool,
) -> str:
    """Return the word accuracy of a file of transcripts, with ``against`` how another compares, too."""

    def read(path: Path) -> dict[str, tuple[str, ...]]:
        found = read_transcripts(path, file_format)
        return {i: comparable(" ".join(words)) for i, words in found.items()} if in_plain_form else found

    references, hypotheses = read(reference), read(hypothesis)
    speakers = None if utt2spk is None else _speakers(utt2spk)
    first = score(references, hypotheses, speakers=speakers, normalize_case=ignore_case)
    if against is None:
        return json.dumps(to_json(first), indent=1, ensure_ascii=False) if as_json else format_accuracy(first)
    others = read(against)
    comparison = compare(references, hypotheses, others, normalize_case=ignore_case)
    if as_json:
        second = score(references, others, speakers=speakers, normalize_case=ignore_case)
        compared = {**as_plain(comparison), "difference": comparison.difference}
        both = {"a": to_json(first), "b": to_json(second), "comparison": compared}
        return json.dumps(both, indent=1, ensure_ascii=False)
    accuracies, by_how_much, *rest = format_comparison(comparison).splitlines()
    lines = [accuracies, coloured_difference(by_how_much, *comparison.interval, sys.stdout), *rest]
    return "\n".join([format_accuracy(first), "", *lines])


def _speakers(path: Path) -> dict[str, str]:
    table = read_transcripts(path, "kaldi")
    wrong = [utterance for utterance, words in table.items() if len(words) != 1]
    if wrong:
        raise ScoringError(f'{path}: "{wrong[0]}" has no single speaker, expected lines "utterance speaker"')
    return {utterance: words[0] for utterance, words in table.items()}


def evaluation(result: WordAccuracy, found: Mapping[str, Hypothesis | AsrError], *, as_json: bool) -> str:
    """Return a word accuracy; what was not decoded, or ended without a complete sentence, is counted."""
    failed = {name: error for name, error in found.items() if isinstance(error, AsrError)}
    incomplete = sorted(i for i, h in found.items() if isinstance(h, Hypothesis) and not h.complete)
    if as_json:
        named = [
            {"utterance": name, "words": result.not_decoded[name], "error": str(error)}
            for name, error in failed.items()
        ]
        record = {**to_json(result), "incomplete": incomplete, "failed": named}
        return json.dumps(record, indent=1, ensure_ascii=False)
    if not incomplete:
        return format_accuracy(result)
    what = "ended without a complete sentence, the best partial words were scored"
    return f"{format_accuracy(result)}\n\n{len(incomplete)} {what}: {listed(incomplete)}"


def after_demo(directory: Path, recording: Path) -> str:
    """Return what to do next."""
    out = shlex.quote(str(directory))
    commands = {
        f"asr info {out}": "what the best model is made from, and how good it is",
        f"asr decode {out} {shlex.quote(str(recording))}": "the words of a recording, this one or yours",
        "asr train folder --corpus MY_RECORDINGS --out exp/mine": "of name.wav with name.txt beside it",
    }
    width = max(map(len, commands))
    return "\n".join(["next:", *(f"  {command:{width}}  # {why}" for command, why in commands.items())])


def results_table(results: Sequence[Result], directory: Path) -> str:
    """Return the table of an experiment's results and where they lie."""
    return f"{format_results(results, synthetic=is_synthetic(directory))}\n\n{directory / RESULTS}"


def problems(
    corpus: Path, lexicon: Path | None, text: str, *, n_of_a_kind: int | None = None
) -> tuple[list[str], bool]:
    """Return a line for each problem of a corpus with a summary at the end, and whether any is an error.

    ``n_of_a_kind`` is the number that is listed of problems of one kind, None for all.
    """
    found = problems_of(corpus, lexicon, text)
    lines = []
    for problem, n_more in first_of_each_kind(found, n_of_a_kind or len(found)):
        lines.append(_problem_line(problem))
        if n_more:
            lines.append(
                f"  and {n_more} more of this kind; all of them: asr validate {corpus} > problems.txt"
            )
    n_errors, n_warnings = (sum(p.severity == kind for p in found) for kind in ("error", "warning"))
    return [*lines, f"{corpus}: {n_errors} error(s), {n_warnings} warning(s)"], n_errors > 0


def problems_of(corpus: Path, lexicon: Path | None, text: str) -> tuple[Problem, ...]:
    """Return the problems of a corpus, with the lexicon in a file."""
    return validate(corpus, lexicon=None if lexicon is None else Lexicon.read(lexicon), text=text)


def transcripts_of(corpus: Path, lexicon: Path | None, text: str) -> Iterator[tuple[str, str, str]]:
    """Return id, transcript and words of what is read as other words, with the lexicon in a file."""
    brought = None if lexicon is None else Lexicon.read(lexicon)
    return transcripts_as_read(corpus, lexicon=brought, text=text)


def changed_transcripts(corpus: Path, lexicon: Path | None, text: str) -> list[str]:
    """Return for each transcript that is read as other words two lines: what is written, and what is read."""
    found = transcripts_of(corpus, lexicon, text)
    return [f"{name}: {before}\n{' ' * len(name)}> {after}" for name, before, after in found]


def suspicious(found: Sequence[object], n_utterances: int, directory: Path) -> str:
    """Return a line for each suspicious utterance, with the probability that its text belongs to it first."""
    head = ["probability that the text is spoken, utterance, reasons, text"] if found else []
    tail = f"{directory}: {len(found)} of {n_utterances} utterances look as if something were wrong"
    return "\n".join([*head, *map(str, found), tail])


def language_model(model: LanguageModel) -> str:
    """Return the size of a model, and how well it predicts the text that it was tested on."""
    sizes = (f"{len(table):,} {n}-grams" for n, table in enumerate(model.ngram.log10_probs, start=1))
    lines = [f"text: {_usage(model.text)}", f"model: {', '.join(sizes)}"]
    if model.test is not None:
        lines += [
            f"test: {_usage(model.test)}",
            f"perplexity: {model.test.perplexity:.2f} without the unknown words, "
            f"{model.test.perplexity_with_unknown:.2f} with them",
        ]
    return "\n".join(lines)


def _usage(text: Usage) -> str:
    """Return the size of a text and its unknown words, the most frequent first."""
    said = f"{text.n_sentences:,} sentence(s), {text.n_words:,} word(s)"
    if not text.unknown:
        return f"{said}, none of them unknown"
    named = listed([f"{word} ({n})" for word, n in text.unknown.items()])
    return f"{said}, {sum(text.unknown.values()):,} of them ({text.unknown_rate:.2f} %) unknown: {named}"


def _problem_line(problem: Problem) -> str:
    return f"{problem.severity}: {problem}"
