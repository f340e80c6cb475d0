"""The command line: ``asr VERB …``. Results go to standard output, everything else to standard error.

Exit codes: 0 done, 2 bad input (one line says which; `validate` found errors; a point of `sweep` failed), 130
interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, get_args

from asr.formats.alignments import ALIGN_FORMATS
from asr.formats.hypotheses import DECODE_FORMATS
from asr.formats.transcripts import Format
from asr.recipe_scripts import built_in_recipes
from asr.systems import PRESETS, SPARSITY_SIZES, SYSTEMS
from asr.version import package_version
from foundation.errors import AsrError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    _speak_utf8()
    try:
        return _run(_parser().parse_args(arguments))
    except AsrError as error:
        print(f"asr: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("asr: interrupted; run the same command again, training goes on where it was", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        print(
            f"asr: {name}{error.strerror or error}; check the path and the space on the disk", file=sys.stderr
        )
        return 2
    except MemoryError:
        print("asr: not enough memory; use fewer or shorter recordings at once", file=sys.stderr)
        return 2
    except UnicodeEncodeError as error:  # bytes of a file name or an argument that are no UTF-8
        line_start = error.object.rfind("\n", 0, error.start) + 1
        line = error.object[line_start:].partition("\n")[0]
        print(
            f'asr: "{line}" is not UTF-8, expected names and words in UTF-8; rename it, or set PYTHONUTF8=1 '
            "where the locale is not UTF-8",
            file=sys.stderr,
        )
        return 2


def _run(options: argparse.Namespace) -> int:
    """Run a verb; only now is imported what it needs, for help shall not wait for it."""
    if options.verb == "demo":  # imports take seconds
        print("a small corpus is synthesised, two models are trained and tested: minutes", file=sys.stderr)
    from asr.commands import COMMANDS
    from asr.logs import terminal_messages

    with terminal_messages(verbose=options.verbose):
        code = COMMANDS[options.verb](options)
        sys.stdout.flush()
        return code


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale: words, file formats and names are the same everywhere."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="asr", description="Speech recognition and forced alignment from small transcribed corpora."
    )
    parser.add_argument("--version", action="version", version=f"asr {package_version()}")
    verb = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (
        _add_demo,
        _add_train,
        _add_sweep,
        _add_decode,
        _add_align,
        _add_score,
        _add_evaluate,
        _add_validate,
        _add_lexicon,
        _add_lm,
        _add_info,
        _add_sparsity,
        _add_report,
        _add_clean,
    ):
        command = add(verb)
        command.add_argument("-v", "--verbose", action="store_true", help="say what is being done")
    return parser


Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _add_demo(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("demo", help="train and test on a small synthetic corpus, made on the spot")
    command.add_argument("--out", type=Path, default=Path("exp/demo"), help="experiment directory (exp/demo)")
    return command


def _add_train(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("train", help="train, tune and test by a recipe; goes on where it stopped")
    _add_training_options(command)
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="change an option; may be repeated",
    )
    return command


def _add_sweep(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser(
        "sweep",
        help="train every combination of some settings, and compare them",
        description="Train every combination of some settings, sharing what they have in common, and print "
        "a table that compares them. Goes on where it stopped. Exit code 2 if a point failed; the others "
        "are in the table all the same.",
    )
    _add_training_options(command)
    command.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="KEY=VALUE,VALUE",
        dest="settings",
        help="values of an option, separated by commas; those of an option that is itself a list by "
        'semicolons: "mixtures=1,2;1,2,4"; one value is common to all points; may be repeated',
    )
    command.add_argument(
        "--against",
        metavar='"KEY=VALUE …"',
        help="the point that the others are compared with; the first by default",
    )
    return command


def _add_training_options(command: argparse.ArgumentParser) -> None:
    """Add what ``train`` and ``sweep`` have in common."""
    command.add_argument(
        "recipe", help=f"one of {', '.join(built_in_recipes())}, or the path of a recipe script"
    )
    command.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    command.add_argument("--out", type=Path, required=True, help="experiment directory")
    command.add_argument(
        "--model", action="append", default=[], help=f"one of {', '.join(SYSTEMS)}; may be repeated"
    )
    command.add_argument(
        "--preset", choices=PRESETS, default="best", help="best (default), or as in the thesis"
    )
    _add_engine_options(command)


def _add_engine_options(command: argparse.ArgumentParser) -> None:
    """Add where the work is done; the results do not depend on it."""
    engine = command.add_mutually_exclusive_group()
    engine.add_argument("--workers", type=int, metavar="N", help="threads of this machine (one a core)")
    engine.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute")
    engine.add_argument("--cluster", type=Path, metavar="FILE", help="TOML that describes a cluster to start")


def _add_decode(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("decode", help="print the words of recordings")
    command.add_argument("experiment", type=Path)
    command.add_argument("recordings", nargs="+", type=Path, metavar="WAV")
    _add_model_options(command)
    command.add_argument("--format", choices=DECODE_FORMATS, default="text")
    command.add_argument(
        "--nbest", type=int, default=1, metavar="N", help="also print the next best sentences"
    )
    command.add_argument("--same-speaker", action="store_true", help="one person speaks in all recordings")
    return command


def _add_align(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("align", help="find when each word and phone of a transcript is spoken")
    command.add_argument("experiment", type=Path)
    command.add_argument("recording", nargs="?", type=Path, metavar="WAV")
    command.add_argument("text", nargs="?", metavar="TEXT", help="the transcript, or a file that holds it")
    command.add_argument("--corpus", type=Path, help="align a whole data directory or folder")
    command.add_argument("--model")
    command.add_argument("--format", choices=ALIGN_FORMATS, default="textgrid")
    command.add_argument(
        "--out", type=Path, help="file (ctm, mlf) or directory (textgrid); default: standard output"
    )
    return command


def _add_score(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("score", help="word accuracy of hypotheses against references")
    command.add_argument("reference", type=Path)
    command.add_argument("hypothesis", type=Path)
    command.add_argument("--format", choices=get_args(Format), help="of both files; guessed by default")
    command.add_argument(
        "--against", type=Path, metavar="HYP2", help="compare with a second recogniser, paired"
    )
    command.add_argument("--utt2spk", type=Path, help="speakers, for a table of them")
    command.add_argument("--ignore-case", action="store_true")
    command.add_argument("--plain", action="store_true", help="disregard case, punctuation and [remarks]")
    command.add_argument("--json", action="store_true")
    return command


def _add_evaluate(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("evaluate", help="decode and score a data directory or folder")
    command.add_argument("experiment", type=Path)
    command.add_argument("--corpus", type=Path, required=True)
    _add_model_options(command)
    command.add_argument("--hypotheses", type=Path, metavar="FILE", help="also write the words (Kaldi text)")
    command.add_argument("--json", action="store_true")
    return command


def _add_validate(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("validate", help="list everything that is wrong with a corpus")
    command.add_argument("corpus", type=Path, help="the corpus; an experiment directory with --suspicious")
    command.add_argument("--lexicon", type=Path, help="pronunciations; lexicon.txt of the corpus by default")
    command.add_argument("--text", default="plain", help="how transcripts are read, as --set text=… of train")
    command.add_argument(
        "--show-text", action="store_true", help="show the transcripts that are read as other words"
    )
    command.add_argument(
        "--suspicious", action="store_true", help="list the utterances whose text or sound looks wrong"
    )
    return command


def _add_lexicon(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("lexicon", help="print a lexicon for the words of a corpus")
    command.add_argument("corpus", type=Path)
    command.add_argument("--english", action="store_true", help="phones of the CMU dictionary, not letters")
    command.add_argument(
        "--from",
        type=Path,
        metavar="LEXICON",
        dest="source",
        help="phones of this lexicon; words that it (or the CMU dictionary) lacks are guessed from it",
    )
    command.add_argument(
        "--variants", type=int, default=1, metavar="N", help="pronunciations guessed for a word (1)"
    )
    return command


def _add_lm(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("lm", help="make an n-gram model of a text (ARPA), or measure how good one is")
    command.add_argument("text", type=Path, help="a file with a sentence on each line, or a corpus")
    command.add_argument(
        "--order", type=int, default=3, metavar="N", help="length of the longest n-grams (3)"
    )
    command.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="lexicon or list of words; others are unknown"
    )
    command.add_argument(
        "--prune",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="leave out n-grams without which the perplexity rises by less than this share, such as 1e-6",
    )
    command.add_argument(
        "--test", type=Path, metavar="TEXT", help="say the perplexity of this text and its unknown words"
    )
    command.add_argument("--out", type=Path, metavar="FILE.arpa")
    command.add_argument(
        "--text", default="plain", dest="reading", help="how texts are read, as --set text=… of train"
    )
    return command


def _add_info(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("info", help="say what a model is made of")
    command.add_argument("experiment", type=Path)
    command.add_argument("--model")
    return command


def _add_sparsity(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("sparsity", help="accuracy on dev against the number of centres")
    command.add_argument("experiment", type=Path)
    command.add_argument("--model", default="npd", help="npd (default) or orols")
    command.add_argument(
        "--centers",
        type=int,
        nargs="+",
        default=list(SPARSITY_SIZES),
        help=f"{', '.join(map(str, SPARSITY_SIZES))} by default",
    )
    return command


def _add_report(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser(
        "report", help="one page that shows what the models hear and where they go wrong"
    )
    command.add_argument("experiment", type=Path)
    command.add_argument("--model", help="the model that is looked into; the best on dev by default")
    command.add_argument("--out", type=Path, metavar="FILE.html", help="the page; EXP/report.html by default")
    command.add_argument("--split", choices=("test", "dev"), help="test by default, where there is one")
    command.add_argument(
        "--utterances",
        type=int,
        default=100,
        metavar="N",
        help="show so many, the worst, with their sound (100)",
    )
    command.add_argument(
        "--audio",
        choices=("beside", "embed", "none"),
        help="sounds beside the page, in it, or none; in it by default if they are small",
    )
    return command


def _add_clean(verbs: Verbs) -> argparse.ArgumentParser:
    command = verbs.add_parser("clean", help="list, or remove, what an experiment's results do not need")
    command.add_argument("experiment", type=Path)
    command.add_argument("--yes", action="store_true", help="remove it; without this it is only listed")
    return command


def _add_model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", help="name of the model; the best on dev by default")
    command.add_argument("--grammar", help="name of the grammar; the recipe's last by default")


if __name__ == "__main__":
    sys.exit(main())
