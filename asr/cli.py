"""The command line: ``asr VERB …``. Results go to standard output, everything else to standard error.

Exit codes: 0 done, 2 bad input (one line says which; `validate` found errors; a point of `sweep`, a check of
`doctor` or one recording of several failed), 130, 143, 129 ended by the interrupt key, SIGTERM, SIGHUP.

To add a verb: a function ``_add_…`` below, a row in `GROUPS` and in `EXAMPLES`, its function in
`asr.commands`, its JSON in `asr.command_page`.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, get_args

from asr.completion import SHELLS
from asr.endings import exit_code_of, stopped_at_once, stopped_by_exception
from asr.formats.alignments import ALIGN_FORMATS, MLF_ROWS
from asr.formats.exports import EXPORTS, FORMATS
from asr.formats.hypotheses import DECODE_FORMATS
from asr.formats.transcripts import Format
from asr.parsing import CommandLine, VerbParser
from asr.recipe_scripts import built_in_recipes, installed_recipes
from asr.systems import PRESETS, SPARSITY_SIZES, SYSTEMS
from asr.version import package_version
from foundation.errors import AsrError

GROUPS = {
    "begin": ("doctor", "demo", "completion"),
    "data": ("validate", "lexicon", "lm"),
    "models": ("plan", "train", "info", "report", "sweep", "sparsity", "clean"),
    "recordings": ("decode", "keywords", "align", "evaluate", "score"),
    "live": ("serve", "listen"),
    "other tools": ("export", "import"),
}
EXAMPLES = {
    "doctor": "asr doctor",
    "demo": "asr demo --out exp/demo",
    "completion": "asr completion bash > ~/.local/share/bash-completion/completions/asr",
    "validate": "asr validate my_recordings",
    "lexicon": "asr lexicon my_recordings --english > lexicon.txt",
    "lm": "asr lm text.txt --order 3 --test other.txt --out trigram.arpa",
    "plan": "asr plan folder --corpus my_recordings",
    "train": "asr train folder --corpus my_recordings --out exp/mine",
    "info": "asr info exp/mine --measure my_recordings/anna/u01.wav",
    "report": "asr report exp/mine",
    "sweep": "asr sweep folder --corpus my_recordings --out exp/sweep --set gmm.beam=200,300",
    "sparsity": "asr sparsity exp/mine --centers 25 50 100",
    "clean": "asr clean exp/mine --yes",
    "decode": "asr decode exp/mine my_recordings/anna/*.wav --format ctm",
    "keywords": "asr keywords exp/mine --words YES NO STOP --corpus dev --other radio noise --false-alarms 1",
    "align": "asr align exp/mine anna/u01.wav anna/u01.txt --out u01.TextGrid",
    "evaluate": "asr evaluate exp/mine --corpus new_recordings --hypotheses hyp.txt",
    "export": "asr export exp/mine --what scores --corpus my_recordings --out scores",
    "import": "asr import hmmdefs --dictionary words.dic --out exp/htk",
    "score": "asr score ref.txt hyp.txt --against hyp2.txt",
    "serve": "asr serve exp/mine",
    "listen": "asr listen exp/mine --input my_recordings/anna/u01.wav",
}
WITHOUT_JSON = ("completion",)  # what they print is for programs anyway


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    _speak_utf8()
    with stopped_at_once():
        options = command_line().parse(sys.argv[1:] if arguments is None else arguments)
        return exit_code_of(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    """Run a verb; only now is imported what it needs, for help shall not wait for it."""
    if options.verb == "demo" and not options.quiet:  # imports take seconds
        print("a small corpus is synthesised, two models are trained and tested: minutes", file=sys.stderr)
    command = _command(options.verb)
    from asr.logs import terminal_messages

    with stopped_by_exception(), terminal_messages(verbose=options.verbose, quiet=options.quiet):
        code = command(options)
        sys.stdout.flush()
        return code


def _command(verb: str) -> Callable[[argparse.Namespace], int]:
    """Return what carries out a verb; `doctor` works where other imports fail."""
    from asr.own_commands import OWN_COMMANDS

    if verb in OWN_COMMANDS:
        return lambda options: OWN_COMMANDS[verb](options, command_line())
    try:
        from asr.commands import COMMANDS
    except ImportError as error:
        raise AsrError(
            f"{error}; expected all packages to be installed; asr doctor says what is wrong"
        ) from None
    return COMMANDS[verb]


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale: words, file formats and names are the same everywhere."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def command_line() -> CommandLine:
    """Return the parser of all verbs."""
    line = CommandLine(
        "Speech recognition and forced alignment from small transcribed corpora.", GROUPS, EXAMPLES
    )
    line.parser.add_argument("--version", action="version", version=f"asr {package_version()}")
    for add in (
        _add_demo,
        _add_train,
        _add_sweep,
        _add_decode,
        _add_align,
        _add_keywords,
        _add_score,
        _add_evaluate,
        _add_serve,
        _add_listen,
        _add_export,
        _add_import,
        _add_validate,
        _add_lexicon,
        _add_lm,
        _add_info,
        _add_sparsity,
        _add_plan,
        _add_report,
        _add_clean,
        _add_doctor,
        _add_completion,
    ):
        add(line.verbs)
    for verb, parser in line.parsers.items():
        _add_common_options(verb, parser)
    line.finish()
    return line


def _add_common_options(verb: str, command: VerbParser) -> None:
    """Add what every verb has."""
    if verb not in WITHOUT_JSON:
        command.add_argument("--json", action="store_true", help="print the result as JSON, for programs")
    messages = command.add_mutually_exclusive_group()
    messages.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    messages.add_argument("-v", "--verbose", action="store_true", help="say what is being done")


Verbs: TypeAlias = "argparse._SubParsersAction[VerbParser]"


def _add_demo(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("demo", help="train and test on a small synthetic corpus, made on the spot")
    command.add_argument("--out", type=Path, default=Path("exp/demo"), help="experiment directory (exp/demo)")
    return command


def _add_train(verbs: Verbs) -> VerbParser:
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


def _add_sweep(verbs: Verbs) -> VerbParser:
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
    known = (*built_in_recipes(), *installed_recipes())
    command.add_argument("recipe", help=f"one of {', '.join(known)}, or the path of a recipe script")
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


def _add_decode(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("decode", help="print the words of recordings")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument(
        "recordings", nargs="+", type=Path, metavar="WAV", help="recordings of any usual format"
    )
    _add_model_options(command)
    command.add_argument("--format", choices=DECODE_FORMATS, default="text", help="of the output (text)")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="write one file a recording, instead of to standard output"
    )
    command.add_argument(
        "--nbest", type=int, default=1, metavar="N", help="also print the next best sentences"
    )
    command.add_argument("--same-speaker", action="store_true", help="one person speaks in all recordings")
    _add_judging_options(command)
    return command


def _add_judging_options(command: argparse.ArgumentParser) -> None:
    what = command.add_mutually_exclusive_group()
    _add_reject(what)
    what.add_argument(
        "--keywords", action="store_true", help="find the words chosen by asr keywords, and nothing else"
    )


def _add_reject(options: argparse._ActionsContainer) -> None:
    options.add_argument(
        "--reject", action="store_true", help="leave out words that were probably not spoken"
    )


def _add_align(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("align", help="find when each word and phone of a transcript is spoken")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("recording", nargs="?", type=Path, metavar="WAV", help="a recording")
    command.add_argument("text", nargs="?", metavar="TEXT", help="the transcript, or a file that holds it")
    command.add_argument("--corpus", type=Path, help="align a whole data directory or folder")
    command.add_argument("--model", help="name of the model; the best on dev by default")
    command.add_argument(
        "--format", choices=ALIGN_FORMATS, default="textgrid", help="of the output (textgrid)"
    )
    command.add_argument("--rows", choices=MLF_ROWS, help="what the rows of mlf are; states by default")
    command.add_argument(
        "--out",
        type=Path,
        help="file (ctm, mlf) or directory (textgrid, eaf, srt, vtt); default: standard output",
    )
    return command


def _add_keywords(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "keywords",
        help="choose words to be found among any sounds, and how sure to be",
        description="Choose words that decode --keywords finds among any other sounds. What tells them from "
        "other sounds is learned from transcribed speech and other recordings; the threshold is the one with "
        "the wanted false alarms an hour, or the wanted detection. It is kept beside the model.",
    )
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument(
        "--words",
        nargs="+",
        default=[],
        metavar="WORD",
        help="the keywords; without any a rule for decode --reject is learned",
    )
    command.add_argument(
        "--corpus",
        type=Path,
        required=True,
        help="transcribed speech with them, that did not train the model",
    )
    command.add_argument(
        "--other",
        type=Path,
        nargs="+",
        default=[],
        metavar="PATH",
        help="recordings, or directories of them, without any keyword: other speech and noise",
    )
    wanted = command.add_mutually_exclusive_group()
    wanted.add_argument("--false-alarms", type=float, metavar="N", help="wanted, an hour (1)")
    wanted.add_argument("--detection", type=float, metavar="PERCENT", help="wanted, instead")
    command.add_argument("--model", help="name of the model; the best on dev by default")
    return command


def _add_score(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("score", help="word accuracy of hypotheses against references")
    command.add_argument("reference", type=Path, metavar="REF", help="file of what was said")
    command.add_argument("hypothesis", type=Path, metavar="HYP", help="file of what was recognised")
    command.add_argument("--format", choices=get_args(Format), help="of both files; guessed by default")
    command.add_argument(
        "--against", type=Path, metavar="HYP2", help="compare with a second recogniser, paired"
    )
    command.add_argument("--utt2spk", type=Path, help="speakers, for a table of them")
    command.add_argument("--ignore-case", action="store_true", help="take A and a for one word")
    command.add_argument("--plain", action="store_true", help="disregard case, punctuation and [remarks]")
    return command


def _add_evaluate(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("evaluate", help="decode and score a data directory or folder")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("--corpus", type=Path, required=True, help="directory of the corpus")
    _add_model_options(command)
    _add_reject(command)
    command.add_argument("--hypotheses", type=Path, metavar="FILE", help="also write the words (Kaldi text)")
    return command


def _add_serve(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "serve",
        help="a page on this machine to talk, to transcribe recordings, and to make a recogniser",
        description="Serve a page in the browser, for this machine alone: words appear while one speaks, "
        "recordings are transcribed and aligned. Without a model, commands are recorded on the page "
        "and a recogniser is trained from them. Ends with Ctrl-C. Needs the extra serve.",
    )
    command.add_argument(
        "experiment",
        nargs="?",
        type=Path,
        metavar="EXP",
        help="experiment directory that asr train wrote, or that the page shall train (exp/my_commands)",
    )
    _add_model_options(command)
    _add_judging_options(command)
    command.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, help="port to listen at, 0 for any (8000)")
    command.add_argument(
        "--folder",
        type=Path,
        default=Path("my_commands"),
        metavar="DIR",
        help="where recordings of the page are kept (my_commands)",
    )
    command.add_argument(
        "--streams", type=int, default=8, metavar="N", help="clients that are listened to at a time (8)"
    )
    return command


def _add_listen(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "listen",
        help="print words while one speaks",
        description="Print words while one speaks: the sentence under way on one line of the terminal, each "
        "finished sentence as a line. A microphone needs the extra listen, and ends with Ctrl-C.",
    )
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    _add_model_options(command)
    _add_judging_options(command)
    command.add_argument(
        "--input",
        default="microphone",
        metavar="FILE",
        help="a recording, or - for samples of 16 bits on the standard input; the microphone by default",
    )
    command.add_argument(
        "--rate",
        type=int,
        metavar="HZ",
        help="of the standard input or the microphone; the model's by default",
    )
    command.add_argument("--device", help="number or name of the microphone; the system's own by default")
    return command


def _add_export(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "export", help="write features, scores, alignments, transcripts or the model for other tools"
    )
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("--what", choices=EXPORTS, required=True, help="what to write")
    command.add_argument("--corpus", type=Path, help="the recordings")
    command.add_argument("--format", choices=FORMATS, help="of the files; the first that WHAT has by default")
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write to")
    _add_model_options(command)
    return command


def _add_import(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("import", help="make a model of HTK's HMMs, to decode and align with")
    command.add_argument("mmf", type=Path, metavar="MMF", help="master macro file with the HMMs, in text")
    command.add_argument(
        "--dictionary", type=Path, required=True, metavar="FILE", help="pronunciations, as HTK reads them"
    )
    command.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="experiment directory to write"
    )
    command.add_argument("--config", type=Path, metavar="FILE", help="of HCopy, which made the features")
    command.add_argument(
        "--grammar", type=Path, metavar="FILE", help=".slf, .jsgf or .arpa; any words by default"
    )
    command.add_argument("--sample-rate", type=int, default=16000, metavar="HZ", help="16000 by default")
    command.add_argument(
        "--normalize",
        choices=("none", "utterance", "speaker"),
        default="none",
        help="over what features had been normalised",
    )
    command.add_argument("--lm-scale", type=float, default=1.0, help="HVite's -s (1)")
    command.add_argument("--word-penalty", type=float, default=0.0, help="HVite's -p (0)")
    return command


def _add_validate(verbs: Verbs) -> VerbParser:
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


def _add_lexicon(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("lexicon", help="print a lexicon for the words of a corpus")
    command.add_argument("corpus", type=Path, help="directory of the corpus")
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


def _add_lm(verbs: Verbs) -> VerbParser:
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
    command.add_argument("--out", type=Path, metavar="FILE.arpa", help="where to write the model (.gz too)")
    command.add_argument(
        "--text", default="plain", dest="reading", help="how texts are read, as --set text=… of train"
    )
    return command


def _add_info(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("info", help="say what a model is made of")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("--model", help="name of the model; the best on dev by default")
    command.add_argument("--measure", type=Path, metavar="WAV", help="also measure how fast it decodes this")
    return command


def _add_sparsity(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("sparsity", help="accuracy on dev against the number of centres")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("--model", default="npd", help="npd (default) or orols")
    command.add_argument("--recipe", help="the recipe script, if one trained the experiment")
    command.add_argument(
        "--centers",
        type=int,
        nargs="+",
        default=list(SPARSITY_SIZES),
        help=f"{', '.join(map(str, SPARSITY_SIZES))} by default",
    )
    return command


def _add_report(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "report", help="one page that shows what the models hear and where they go wrong"
    )
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
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


def _add_clean(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("clean", help="list, or remove, what an experiment's results do not need")
    command.add_argument(
        "experiment", type=Path, metavar="EXP", help="experiment directory that asr train wrote"
    )
    command.add_argument("--yes", action="store_true", help="remove it; without this it is only listed")
    return command


def _add_doctor(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "doctor",
        help="check this installation, and train and decode on it",
        description="Check packages, cores, memory, disk, audio formats and compiled code, then train, "
        "decode and align on a few synthetic tones. A line a finding: ok, warning or error, with what to do. "
        "Exit code 2 if there is an error.",
    )
    command.add_argument("--brief", action="store_true", help="leave out training, decoding and aligning")
    return command


def _add_completion(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser(
        "completion",
        help="print a script that completes verbs and options in a shell",
        description="Print a script that completes verbs, options, their values, names of recipes and "
        "models, and the keys of --set. It belongs, for bash, into the file "
        "~/.local/share/bash-completion/completions/asr, for zsh into a file _asr in a folder of $fpath, for "
        "fish into ~/.config/fish/completions/asr.fish. Print it again after an update.",
    )
    command.add_argument("shell", choices=SHELLS, help="the shell")
    return command


def _add_plan(verbs: Verbs) -> VerbParser:
    command = verbs.add_parser("plan", help="say what a training will cost, in time, memory and disk")
    command.add_argument("recipe", help="as of train")
    command.add_argument("--corpus", type=Path, help="directory of the raw corpus")
    command.add_argument("--out", type=Path, help="experiment directory, to keep the prepared task for train")
    command.add_argument("--model", action="append", default=[], help="as of train; may be repeated")
    command.add_argument("--preset", choices=PRESETS, default="best", help="as of train")
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="settings", help="as of train"
    )
    command.add_argument("--workers", type=int, metavar="N", help="threads to tell of, beside 1, 2 and 4")
    return command


def _add_model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", help="name of the model; the best on dev by default")
    command.add_argument("--grammar", help="name of the grammar; the recipe's last by default")


if __name__ == "__main__":
    sys.exit(main())
