"""The verbs that exchange files with other tools: ``export``, ``import``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from asr.commands.parsing import Verb, add_experiment, add_model_and_grammar
from asr.commands.printing import print_result
from asr.formats.outputs import EXPORT_FORMATS, EXPORTS
from foundation.endings import complain


def _takes_export(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    parser.add_argument("--what", choices=EXPORTS, required=True, help="what to write")
    parser.add_argument("--corpus", type=Path, help="the recordings")
    parser.add_argument(
        "--format", choices=EXPORT_FORMATS, help="of the files; the first that WHAT has by default"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write to")
    add_model_and_grammar(parser)


def _run_export(options: argparse.Namespace) -> int:
    from asr.commands.exchange import export

    found = export(
        options.experiment,
        what=options.what,
        out=options.out,
        corpus=options.corpus,
        format=options.format,
        model=options.model,
        grammar=options.grammar,
    )
    what = f"{found.path}: {found.n_utterances} utterance(s)"
    print_result(
        options,
        lambda: {
            "path": found.path,
            "n_utterances": found.n_utterances,
            "failed": list(map(str, found.errors)),
        },
        lambda: str(found.path) if options.what == "model" else what,
    )
    for error in found.errors:
        complain(str(error))
    return 2 if found.errors else 0


def _takes_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mmf", type=Path, metavar="MMF", help="master macro file with the HMMs, in text")
    parser.add_argument(
        "--dictionary", type=Path, required=True, metavar="FILE", help="pronunciations, as HTK reads them"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="experiment directory to write"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="of HCopy, which made the features")
    parser.add_argument(
        "--grammar", type=Path, metavar="FILE", help=".slf, .jsgf or .arpa; any words by default"
    )
    parser.add_argument("--sample-rate", type=int, default=16000, metavar="HZ", help="16000 by default")
    parser.add_argument(
        "--normalize",
        choices=("none", "utterance", "speaker"),
        default="none",
        help="over what features had been normalised",
    )
    parser.add_argument("--lm-scale", type=float, default=1.0, help="HVite's -s (1)")
    parser.add_argument("--word-penalty", type=float, default=0.0, help="HVite's -p (0)")


def _run_import(options: argparse.Namespace) -> int:
    from asr.commands.exchange import import_model

    path = import_model(
        options.mmf,
        dictionary=options.dictionary,
        out=options.out,
        config=options.config,
        grammar=options.grammar,
        sample_rate=options.sample_rate,
        normalize=options.normalize,
        lm_scale=options.lm_scale,
        word_penalty=options.word_penalty,
    )
    print_result(options, lambda: {"path": path}, lambda: str(path))
    return 0


VERBS: Mapping[str, Verb] = {
    "export": Verb(
        "write features, scores, alignments, transcripts or the model for other tools",
        _takes_export,
        _run_export,
        "asr export exp/mine --what scores --corpus my_recordings --out scores",
        prints={
            "path": "what was written",
            "n_utterances": "how many utterances it holds",
            "failed": "the errors of those that it does not hold",
        },
    ),
    "import": Verb(
        "make a model of HTK's HMMs, to decode and align with",
        _takes_import,
        _run_import,
        "asr import hmmdefs --dictionary words.dic --out exp/htk",
        prints={"path": "the experiment directory that was made"},
    ),
}
