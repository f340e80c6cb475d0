"""What the verbs take that use a model on recordings, from ``decode`` to ``score``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from asr.arguments.trained import (
    add_experiment,
    add_judging,
    add_model,
    add_model_and_grammar,
    add_reject,
)
from asr.formats.outputs import ALIGN_FORMATS, DECODE_FORMATS, MLF_ROWS
from asr.formats.transcripts import Format
from asr.parsing import Entry, Verbs


def _add_decode(verbs: Verbs) -> None:
    command = verbs.add_parser("decode", help="print the words of recordings")
    add_experiment(command)
    command.add_argument(
        "recordings", nargs="+", type=Path, metavar="WAV", help="recordings of any usual format"
    )
    add_model_and_grammar(command)
    command.add_argument("--format", choices=DECODE_FORMATS, default="text", help="of the output (text)")
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="write one file a recording, instead of to standard output"
    )
    command.add_argument(
        "--nbest", type=int, default=1, metavar="N", help="also print the next best sentences"
    )
    command.add_argument("--same-speaker", action="store_true", help="one person speaks in all recordings")
    add_judging(command)


def _add_keywords(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "keywords",
        help="choose words to be found among any sounds, and how sure to be",
        description="Choose words that decode --keywords finds among any other sounds. What tells them from "
        "other sounds is learned from transcribed speech and other recordings; the threshold is the one with "
        "the wanted false alarms an hour, or the wanted detection. It is kept beside the model.",
    )
    add_experiment(command)
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
    add_model(command)


def _add_align(verbs: Verbs) -> None:
    command = verbs.add_parser("align", help="find when each word and phone of a transcript is spoken")
    add_experiment(command)
    command.add_argument("recording", nargs="?", type=Path, metavar="WAV", help="a recording")
    command.add_argument("text", nargs="?", metavar="TEXT", help="the transcript, or a file that holds it")
    command.add_argument("--corpus", type=Path, help="align a whole data directory or folder")
    add_model(command)
    command.add_argument(
        "--format", choices=ALIGN_FORMATS, default="textgrid", help="of the output (textgrid)"
    )
    command.add_argument("--rows", choices=MLF_ROWS, help="what the rows of mlf are; states by default")
    command.add_argument(
        "--out",
        type=Path,
        help="file (ctm, mlf) or directory (textgrid, eaf, srt, vtt); default: standard output",
    )


def _add_evaluate(verbs: Verbs) -> None:
    command = verbs.add_parser("evaluate", help="decode and score a data directory or folder")
    add_experiment(command)
    command.add_argument("--corpus", type=Path, required=True, help="directory of the corpus")
    add_model_and_grammar(command)
    add_reject(command)
    command.add_argument("--hypotheses", type=Path, metavar="FILE", help="also write the words (Kaldi text)")


def _add_score(verbs: Verbs) -> None:
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


VERBS: Mapping[str, Entry] = {
    "decode": Entry(_add_decode, "asr decode exp/mine my_recordings/anna/*.wav --format ctm"),
    "keywords": Entry(
        _add_keywords,
        "asr keywords exp/mine --words YES NO STOP --corpus dev --other radio noise --false-alarms 1",
    ),
    "align": Entry(_add_align, "asr align exp/mine anna/u01.wav anna/u01.txt --out u01.TextGrid"),
    "evaluate": Entry(_add_evaluate, "asr evaluate exp/mine --corpus new_recordings --hypotheses hyp.txt"),
    "score": Entry(_add_score, "asr score ref.txt hyp.txt --against hyp2.txt"),
}
