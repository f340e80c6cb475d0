"""What the verbs take that exchange files with other tools: ``export``, ``import``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.arguments.trained import add_experiment, add_model_and_grammar
from asr.formats.outputs import EXPORT_FORMATS, EXPORTS
from asr.parsing import Entry, Verbs


def _add_export(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "export", help="write features, scores, alignments, transcripts or the model for other tools"
    )
    add_experiment(command)
    command.add_argument("--what", choices=EXPORTS, required=True, help="what to write")
    command.add_argument("--corpus", type=Path, help="the recordings")
    command.add_argument(
        "--format", choices=EXPORT_FORMATS, help="of the files; the first that WHAT has by default"
    )
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write to")
    add_model_and_grammar(command)


def _add_import(verbs: Verbs) -> None:
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


VERBS: Mapping[str, Entry] = {
    "export": Entry(_add_export, "asr export exp/mine --what scores --corpus my_recordings --out scores"),
    "import": Entry(_add_import, "asr import hmmdefs --dictionary words.dic --out exp/htk"),
}
