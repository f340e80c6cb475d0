"""The verbs that hear speech while it is spoken: ``serve``, ``listen``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from asr.commands.parsing import Verb, add_experiment, add_judging, add_model_and_grammar
from asr.commands.printing import WORD_KEYS
from foundation.errors import shown

if TYPE_CHECKING:
    from decoder.decoder import HypothesisWord
    from decoder.stream import PartialWord

    Words = Sequence[HypothesisWord] | Sequence[PartialWord]

_NOT_SPOKEN = "something else"  # where a sentence is rejected
_CLEAR = "\r\x1b[K"


def _takes_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        nargs="?",
        type=Path,
        metavar="EXP",
        help="experiment directory that asr train wrote, or that the page shall train (exp/my_commands)",
    )
    add_model_and_grammar(parser)
    add_judging(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen at, 0 for any (8000)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("my_commands"),
        metavar="DIR",
        help="where recordings of the page are kept (my_commands)",
    )
    parser.add_argument(
        "--streams", type=int, default=8, metavar="N", help="clients that are listened to at a time (8)"
    )


def _run_serve(options: argparse.Namespace) -> int:
    from asr.progress import say
    from asr.serving.limits import Limits
    from asr.serving.serve import serve

    def ready(address: str, has_model: bool) -> None:
        # One line, for whoever reads it does not wait for the end.
        print(json.dumps({"address": address, "ready": has_model}) if options.json else address, flush=True)
        if not has_model:
            say("there is no model yet: record commands on the page, and train there")
        say("stop with Ctrl-C")

    serve(
        options.experiment,
        model=options.model,
        grammar=options.grammar,
        reject=options.reject,
        keywords=options.keywords,
        host=options.host,
        port=options.port,
        folder=options.folder,
        limits=Limits(streams=options.streams),
        when_ready=ready,
    )
    say("stopped")
    return 0


def _takes_listen(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser)
    add_model_and_grammar(parser)
    add_judging(parser)
    parser.add_argument(
        "--input",
        default="microphone",
        metavar="FILE",
        help="a recording, or - for samples of 16 bits on the standard input; the microphone by default",
    )
    parser.add_argument(
        "--rate",
        type=int,
        metavar="HZ",
        help="of the standard input or the microphone; the model's by default",
    )
    parser.add_argument("--device", help="number or name of the microphone; the system's own by default")


def _run_listen(options: argparse.Namespace) -> int:
    from asr.live.listen import listen

    found = listen(
        options.experiment,
        source=options.input,
        sample_rate=options.rate,
        device=options.device,
        model=options.model,
        grammar=options.grammar,
        reject=options.reject,
        keywords=options.keywords,
    )
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for heard in found:
        if options.json:
            line = shown(heard_json(heard.kind, heard.words, heard.heard_s), sys.stdout)
        else:
            line = heard_text(heard.kind, heard.words, width)
        print(line, end="", flush=True)
    return 0


def heard_json(kind: str, words: Words, heard_s: float) -> str:
    """Return one line of JSON."""
    rows = [
        {
            "word": w.word,
            "start_s": round(w.start_s, 3),
            "end_s": round(w.end_s, 3),
            "confidence": _rounded(getattr(w, "confidence", None)),
        }
        for w in words
    ]
    text = " ".join(w.word for w in words)
    return (
        json.dumps(
            {"type": kind, "text": text, "words": rows, "heard_s": round(heard_s, 3)}, ensure_ascii=False
        )
        + "\n"
    )


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def heard_text(kind: str, words: Words, width: int | None) -> str:
    """Return what is written to a terminal so many characters wide, or to a file (None): final lines alone.

    A partial sentence stands on a line of its own that the next one replaces; its end is shown if it is long.
    """
    text = " ".join(w.word for w in words)
    if width is not None:
        text = shown(text)
    if width is None:
        return f"{text}\n" if kind == "final" else ""
    if kind == "rejected":
        return f"{_CLEAR}({_NOT_SPOKEN})\n"
    if kind == "final":
        return f"{_CLEAR}{text}\n"
    room = max(width - 1, 2)
    return _CLEAR + (text if len(text) < room else f"…{text[-(room - 2) :]}")


VERBS: Mapping[str, Verb] = {
    "serve": Verb(
        "a page on this machine to talk, to transcribe recordings, and to make a recogniser",
        _takes_serve,
        _run_serve,
        "asr serve exp/mine",
        prints={"address": "of the page", "ready": "whether there is a model already"},
        description="Serve a page in the browser, for this machine alone: words appear while one speaks, "
        "recordings are transcribed and aligned. Without a model, commands are recorded on the page "
        "and a recogniser is trained from them. Ends with Ctrl-C. Needs the extra serve.",
    ),
    "listen": Verb(
        "print words while one speaks",
        _takes_listen,
        _run_listen,
        "asr listen exp/mine --input my_recordings/anna/u01.wav",
        prints={
            "type": "partial: these words may still change; final: a finished sentence; rejected: one "
            "that was probably not spoken, such as none of the commands",
            "text": "the words",
            "words": f"of each word {WORD_KEYS}",
            "heard_s": "seconds of sound so far",
        },
        each="as it listens a line for each change, an object",
        description="Print words while one speaks: the sentence under way on one line of the terminal, each "
        "finished sentence as a line. A microphone needs the extra listen, and ends with Ctrl-C.",
    ),
}
