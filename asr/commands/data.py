"""The verbs that look at data before a training: ``validate``, ``lexicon``, ``lm``."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asr.commands.parsing import Verb, add_speakers
from asr.commands.printing import print_result, put, to_json
from asr.errors import ConfigError
from asr.files import check_target

if TYPE_CHECKING:
    from asr.errors import Problem
    from asr.language.language_model import LanguageModel, Usage
    from asr.training.fit import Suspicious
    from asr.training.task import Corrections
    from decoder.lexicon import Lexicon

_N_OF_A_KIND, _MOST_LINES = 10, 100  # problems that a person is shown, by feel

logger = logging.getLogger(__name__)


def _takes_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", type=Path, help="the corpus; an experiment directory with --suspicious")
    parser.add_argument("--lexicon", type=Path, help="pronunciations; lexicon.txt of the corpus by default")
    parser.add_argument("--text", default="plain", help="how transcripts are read, as --set text=… of train")
    parser.add_argument(
        "--show-text",
        action="store_true",
        help="show the transcripts that are read as other words, and count those that differ in case and "
        "punctuation alone",
    )
    parser.add_argument(
        "--suspicious", action="store_true", help="list the utterances whose text or sound looks wrong"
    )
    parser.add_argument(
        "--correct",
        nargs=2,
        action="append",
        default=[],
        metavar=("UTT", "WORDS"),
        help="of an experiment directory: the true words of an utterance, for the next training",
    )
    parser.add_argument(
        "--leave-out",
        nargs="+",
        default=[],
        metavar="UTT",
        help="of an experiment directory: utterances that the next training leaves out",
    )
    add_speakers(parser)


def suspicious(experiment: str | Path) -> tuple[list[Suspicious], int]:
    """Return the training utterances whose text or sound looks wrong, the worst first, and of how many."""
    from asr.training.fit import read_suspicious

    return read_suspicious(Path(experiment))


def _run_validate(options: argparse.Namespace) -> int:
    from asr.config import check_text
    from asr.experiment import CONFIG
    from asr.store import STAGES

    if options.correct or options.leave_out:
        return _change_transcripts(options)
    if options.suspicious:
        from asr.training.fit import verdict

        found, n_utterances = suspicious(options.corpus)
        print_result(
            options,
            lambda: {
                "n_utterances": n_utterances,
                "suspicious": [{**asdict(s), **mending(s, options.corpus)} for s in found],
                "verdict": verdict(len(found), n_utterances),
            },
            lambda: suspicious_text(found, n_utterances, options.corpus),
        )
        return 0
    check_text(options.text)
    if all((options.corpus / name).exists() for name in (CONFIG, STAGES)):
        raise ConfigError(
            f"{options.corpus}: an experiment, expected a corpus; give the corpus, or --suspicious to list "
            "what looks wrong in the data of the experiment"
        )
    return _show_text(options) if options.show_text else _show_problems(options)


def _change_transcripts(options: argparse.Namespace) -> int:
    """Keep in the experiment directory what the next training corrects or leaves out."""
    from asr.training.task import CORRECTIONS, change_transcripts, read_corrections

    change_transcripts(options.corpus, {**dict(options.correct), **dict.fromkeys(options.leave_out)})
    found = read_corrections(options.corpus)
    n_out = sum(words is None for words in found.values())
    print_result(
        options,
        lambda: {"corrections": found},
        lambda: (
            f"{options.corpus / CORRECTIONS}: {len(found) - n_out} transcript(s) corrected, "
            f"{n_out} utterance(s) left out; run the same asr train command again to learn from that"
        ),
    )
    return 0


def suspicious_text(found: Sequence[Suspicious], n_utterances: int, directory: Path) -> str:
    """Return the suspicious utterances, each with what mends it, and what can be said of the rest.

    What has been corrected or left out since, for the next training, is only counted.
    """
    from asr.training.fit import verdict
    from asr.training.task import CORRECTIONS, read_corrections

    corrections = read_corrections(directory)
    waiting = [s for s in found if s.utterance_id in corrections and not _is_said(s, corrections)]
    lines = ["probability that the text is spoken, utterance, reasons, text, what is heard"] if found else []
    for each in (s for s in found if s not in waiting):
        lines += [str(each), *(f"       {command}" for command in mending(each, directory).values())]
    if waiting:
        lines.append(f"{len(waiting)} more are mended in {directory / CORRECTIONS}; run asr train again")
    said = verdict(len(found), n_utterances)
    return "\n".join([*lines, f"{directory}: {said or f'none of {n_utterances} utterances looks wrong'}"])


def _is_said(row: Suspicious, corrections: Corrections) -> bool:
    """Return whether an utterance was judged with the transcript that it has been given."""
    return row.text.split() == list(corrections[row.utterance_id] or ())


def mending(row: Suspicious, directory: Path) -> dict[str, str]:
    """Return the commands that leave a suspicious utterance out of the next training, or correct it."""
    command, name = f"asr validate {shlex.quote(str(directory))}", shlex.quote(row.utterance_id)
    return {
        "leave_out": f"{command} --leave-out {name}",
        "correct": f"{command} --correct {name} {shlex.quote(row.heard or 'the true words')}",
    }


def _show_text(options: argparse.Namespace) -> int:
    """Print the transcripts that are read as other words: as they stand, and as they are read.

    Those that differ in case and punctuation alone are counted.
    """
    from asr.corpora.validation import differs_in_words, transcripts_as_read

    all_read = [*transcripts_as_read(options.corpus, lexicon=_lexicon_in(options.lexicon), text=options.text)]
    found = [(name, before, after) for name, before, after in all_read if differs_in_words(before, after)]
    n_others = len(all_read) - len(found)
    lines = [f"{name}: {before}\n{' ' * len(name)}> {after}" for name, before, after in found]
    lines = lines or ["no transcript is read as other words"]
    if n_others:
        lines.append(f"{n_others} transcript(s) differ from what is read in case and punctuation alone")
    print_result(
        options,
        lambda: {
            "changed": [{"utterance": name, "written": w, "read": read} for name, w, read in found],
            "case_and_punctuation": n_others,
        },
        lambda: "\n".join(lines),
    )
    return 0


def _show_problems(options: argparse.Namespace) -> int:
    """Print all that is wrong with a corpus."""
    from asr.corpora.validation import validate
    from asr.progress import with_severity

    found = validate(
        options.corpus,
        lexicon=_lexicon_in(options.lexicon),
        text=options.text,
        speakers=options.speakers or "auto",
    )
    # A person sees the first of each kind, a file gets all.
    n_of_a_kind = _N_OF_A_KIND if sys.stdout.isatty() else None
    print_result(
        options,
        lambda: problems_record(found, options.corpus),
        lambda: "\n".join(
            with_severity(line, sys.stdout) for line in problem_lines(found, options.corpus, n_of_a_kind)
        ),
        is_shown=True,
    )
    return 2 if any(problem.severity == "error" for problem in found) else 0


def _lexicon_in(path: Path | None) -> Lexicon | None:
    from decoder.lexicon import Lexicon

    return None if path is None else Lexicon.read(path)


def problems_record(found: Sequence[Problem], corpus: Path) -> dict[str, Any]:
    """Return the problems of a corpus, and how many are errors and warnings."""
    counts = {f"{kind}s": sum(p.severity == kind for p in found) for kind in ("error", "warning")}
    return {"corpus": corpus, **counts, "problems": list(found)}


def problem_lines(found: Sequence[Problem], corpus: Path, n_of_a_kind: int | None = None) -> list[str]:
    """Return a line for each problem of a corpus, errors first, and three of summary at the end.

    ``n_of_a_kind`` is the number that is listed of problems of one kind, and `_MOST_LINES` are listed of all
    kinds together then; None lists all.
    """
    from asr.corpora.amounts import NEXT
    from asr.corpora.problems import first_of_each_kind
    from asr.corpora.validation import MEND

    name = corpus.resolve().name
    named = [replace(p, where=name) if p.where == "." else p for p in found]
    listed = [p for severity in ("error", "warning", "note") for p in named if p.severity == severity]
    lines, everything = [], f"all of them: asr validate {shlex.quote(str(corpus))} > problems.txt"
    kept = first_of_each_kind(listed, n_of_a_kind or len(found))
    for problem, n_more in kept[: None if n_of_a_kind is None else _MOST_LINES]:
        lines.append(f"{problem.severity}: {problem}")
        if n_more:
            lines.append(f"  and {n_more} more of this kind; {everything}")
    if n_of_a_kind is not None and len(kept) > _MOST_LINES:
        lines.append(f"  and {len(kept) - _MOST_LINES} more of other kinds; {everything}")
    summary = [p for p in named if p.severity == "summary"]
    amounts = [str(p) for p in summary if not p.what.startswith(NEXT)]
    advice = [p.what.removeprefix(NEXT) for p in summary if p.what.startswith(NEXT)]
    n_errors, n_warnings = (sum(p.severity == kind for p in found) for kind in ("error", "warning"))
    if n_errors:
        advice = [a for a in advice if a.startswith(MEND)] or [f"{MEND}, then run this again"]
    elif advice:
        advice = [f"asr train {shlex.quote(str(corpus))}", *advice]
    return [
        *lines,
        *(["; ".join(amounts)] if amounts else []),
        f"{name}: {n_errors} error(s), {n_warnings} warning(s)"
        + ("" if n_errors or n_warnings else ": nothing wrong was found"),
        *([NEXT + "; ".join(advice)] if advice else []),
    ]


def _takes_lexicon(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", type=Path, help="directory of the corpus")
    parser.add_argument("--english", action="store_true", help="phones of the CMU dictionary, not letters")
    parser.add_argument(
        "--from",
        type=Path,
        metavar="LEXICON",
        dest="source",
        help="phones of this lexicon; words that it (or the CMU dictionary) lacks are guessed from it",
    )
    parser.add_argument(
        "--variants", type=int, default=1, metavar="N", help="pronunciations guessed for a word (1)"
    )


def make_lexicon(
    corpus: str | Path, *, english: bool = False, source: str | Path | None = None, variants: int = 1
) -> Lexicon:
    """Return pronunciations for the words of a corpus: their letters, or the phones of a lexicon.

    Words that the lexicon lacks are guessed from it; they are in ``guessed`` of the result. Words that cannot
    be guessed are not in the result. Warnings name both, and say how good the guesses are.

    Parameters
    ----------
    english : take the CMU dictionary
    source : take the lexicon in this file
    variants : pronunciations guessed for each word, at most
    """
    from asr.corpora.corpus import read_parts
    from asr.corpora.wording import forms_for, total, unreadable, worded
    from asr.language.pronunciations import filled_lexicon, guesses_notes
    from asr.text.forms import NOT_WORDS, PLAIN
    from decoder.lexicon import Lexicon, whole_dictionary

    if english and source is not None:
        raise ConfigError("lexicon: got both --english and --from; expected one of them")
    if variants != 1 and not english and source is None:
        raise ConfigError("lexicon: --variants are of guesses; expected --english or --from LEXICON with it")
    known = Lexicon.read(source) if source is not None else whole_dictionary() if english else None
    corpora = list(read_parts(corpus, "recordings").values())  # who speaks does not matter
    forms = forms_for(PLAIN, known, corpora)
    readings = [worded(each, forms) for each in corpora]
    for line in unreadable(total(changes for _, changes in readings)):
        logger.warning("%s", line)
    words = {word for reading, _ in readings for word in reading.vocabulary} - NOT_WORDS
    if known is None:
        return Lexicon.graphemic(words)
    filled, name = filled_lexicon(words, known, variants=variants), str(source or "the CMU dictionary")
    for line in guesses_notes(filled, name):
        logger.warning("%s", line)
    return filled.lexicon


def _run_lexicon(options: argparse.Namespace) -> int:
    found = make_lexicon(
        options.corpus, english=options.english, source=options.source, variants=options.variants
    )
    put(to_json(lexicon_record(found)) + "\n" if options.json else found.format(), end="")
    return 0


def lexicon_record(found: Lexicon) -> dict[str, Any]:
    """Return the pronunciations of a lexicon as JSON can hold them."""
    words = [
        {"word": word, "pronunciations": found.pronunciations(word), "guessed": word in found.guessed}
        for word in found
    ]
    return {"words": words}


def _takes_lm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", type=Path, help="a file with a sentence on each line, or a corpus")
    parser.add_argument("--order", type=int, default=3, metavar="N", help="length of the longest n-grams (3)")
    parser.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="lexicon or list of words; others are unknown"
    )
    parser.add_argument(
        "--prune",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="leave out n-grams without which the perplexity rises by less than this share, such as 1e-6",
    )
    parser.add_argument(
        "--test", type=Path, metavar="TEXT", help="say the perplexity of this text and its unknown words"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.arpa", help="where to write the model (.gz too)")
    parser.add_argument(
        "--text", default="plain", dest="reading", help="how texts are read, as --set text=… of train"
    )


def lm(
    text: str | Path,
    *,
    order: int = 3,
    vocabulary: str | Path | Iterable[str] | None = None,
    prune: float = 0.0,
    test: str | Path | None = None,
    out: str | Path | None = None,
    reading: str = "plain",
) -> LanguageModel:
    """Return the n-gram model of a text: interpolated modified Kneser-Ney, with ``<unk>`` for unknown words.

    Parameters
    ----------
    text : file with a sentence on each line (``.gz`` too), Kaldi's ``text``, or a corpus, of which train is
        taken
    order : length of the longest n-grams
    vocabulary : the words, or a file of them or of their pronunciations; all words of the text by default
    prune : n-grams are left out without which the perplexity rises by less than this share of itself, such as
        1e-5 for texts of ten thousands of words, 1e-8 for millions
    test : a text, or a corpus, of which test is taken, to measure the perplexity on
    out : ARPA file to write (``.gz`` too)
    reading : how words are read, as the option ``text``
    """
    from asr.config import check_text
    from asr.language.language_model import language_model, read_vocabulary

    if not prune >= 0:
        raise ConfigError(f"lm: prune: expected 0 or more, got {prune}; the longer the text, the smaller")
    check_text(reading)
    if isinstance(vocabulary, str | Path):
        vocabulary = read_vocabulary(Path(vocabulary))
    model = language_model(
        Path(text),
        order=order,
        vocabulary=None if vocabulary is None else frozenset(vocabulary),
        threshold=prune,
        test=None if test is None else Path(test),
        text=reading,
    )
    if out is not None:
        model.ngram.write(out)
    return model


def _run_lm(options: argparse.Namespace) -> int:
    if options.out is None and options.test is None:
        raise ConfigError("lm: expected --out FILE.arpa to write the model, --test TEXT to test it, or both")
    if options.out is not None:
        check_target(options.out, "--out")
    model = lm(
        options.text,
        order=options.order,
        vocabulary=options.vocabulary,
        prune=options.prune,
        test=options.test,
        out=options.out,
        reading=options.reading,
    )
    print_result(options, lambda: language_model_record(model), lambda: language_model_text(model))
    return 0


def language_model_record(model: LanguageModel) -> dict[str, Any]:
    """Return the size of a model, and how well it predicts the text that it was tested on."""

    def usage(text: Usage) -> dict[str, Any]:
        return {"sentences": text.n_sentences, "words": text.n_words, "unknown": dict(text.unknown)}

    test = None
    if model.test is not None:
        perplexities = {
            "perplexity": model.test.perplexity,
            "perplexity_with_unknown": model.test.perplexity_with_unknown,
        }
        test = {**usage(model.test), **perplexities}
    ngrams = [len(table) for table in model.ngram.log10_probs]
    return {"ngrams": ngrams, "text": usage(model.text), "test": test}


def language_model_text(model: LanguageModel) -> str:
    """Return size and perplexity of a language model in words, the most frequent unknown words first."""
    from foundation.errors import listed

    def usage(text: Usage) -> str:
        said = f"{text.n_sentences:,} sentence(s), {text.n_words:,} word(s)"
        if not text.unknown:
            return f"{said}, none of them unknown"
        named = listed([f"{word} ({n})" for word, n in text.unknown.items()])
        return f"{said}, {sum(text.unknown.values()):,} of them ({text.unknown_rate:.2f} %) unknown: {named}"

    sizes = (f"{len(table):,} {n}-grams" for n, table in enumerate(model.ngram.log10_probs, start=1))
    lines = [f"text: {usage(model.text)}", f"model: {', '.join(sizes)}"]
    if model.test is not None:
        lines += [
            f"test: {usage(model.test)}",
            f"perplexity: {model.test.perplexity:.2f} without the unknown words, "
            f"{model.test.perplexity_with_unknown:.2f} with them",
        ]
    return "\n".join(lines)


VERBS: Mapping[str, Verb] = {
    "validate": Verb(
        "list everything that is wrong with a corpus",
        _takes_validate,
        _run_validate,
        "asr validate my_recordings",
        prints={
            "corpus": "its path",
            "errors": "number of errors",
            "warnings": "number of warnings",
            "problems": "of each `where`, `what`, `severity` (error, warning, note)",
        },
        also_prints={
            "--suspicious": {
                "n_utterances": "how many were looked at",
                "suspicious": "the worst first: `utterance_id`, `text`, `probability`, `reasons`, "
                "`is_far_off`, `heard` (by who does not know the text), and the commands that mend it: "
                "`leave_out`, `correct`",
                "verdict": "what that says; empty if nothing looks wrong",
            },
            "--correct": {"corrections": "the words of each utterance by its id; null if it is left out"},
            "--show-text": {
                "changed": "of each `utterance`, `written`, `read`",
                "case_and_punctuation": "number of others, which differ in these alone",
            },
        },
    ),
    "lexicon": Verb(
        "print a lexicon for the words of a corpus",
        _takes_lexicon,
        _run_lexicon,
        "asr lexicon my_recordings --english > lexicon.txt",
        prints={"words": "of each `word`, `pronunciations` (lists of phones), `guessed`"},
    ),
    "lm": Verb(
        "make an n-gram model of a text (ARPA), or measure how good one is",
        _takes_lm,
        _run_lm,
        "asr lm text.txt --order 3 --test other.txt --out trigram.arpa",
        prints={
            "ngrams": "number of n-grams of each length",
            "text": "`sentences`, `words`, `unknown` (words and how often)",
            "test": "the same with `perplexity` and `perplexity_with_unknown`; null without --test",
        },
    ),
}
