"""What the verbs take that hear speech while it is spoken: ``serve``, ``listen``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.arguments.trained import add_experiment, add_judging, add_model_and_grammar
from asr.parsing import Entry, Verbs


def _add_serve(verbs: Verbs) -> None:
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
    add_model_and_grammar(command)
    add_judging(command)
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


def _add_listen(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "listen",
        help="print words while one speaks",
        description="Print words while one speaks: the sentence under way on one line of the terminal, each "
        "finished sentence as a line. A microphone needs the extra listen, and ends with Ctrl-C.",
    )
    add_experiment(command)
    add_model_and_grammar(command)
    add_judging(command)
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


VERBS: Mapping[str, Entry] = {
    "serve": Entry(_add_serve, "asr serve exp/mine"),
    "listen": Entry(_add_listen, "asr listen exp/mine --input my_recordings/anna/u01.wav"),
}
