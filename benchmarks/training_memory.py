"""Peak memory and CPU seconds of each stage of training on some hours of speech.

    python benchmarks/training_memory.py --corpus ../shared/data/an4 --hours 10 --model npd

AN4's training recordings, each again and again under other names and speakers until they are so many hours;
its dev recordings are dev and test as they are. A stage's peak is that of the whole process while the stage
runs (Linux; pages of files count). ``--set`` are options of ``asr train``; few passes change no peak.
``--checkout DIR`` trains with the code of another checkout, to compare.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from report import argument_parser, print_table, write_report

_RECIPE = """
from pathlib import Path

import soundfile

from asr.corpora.corpus import Corpus, Utterance, write_corpus
from asr.recipe import Recipe
from decoder.lexicon import Lexicon
from recipes import an4

HOURS = {hours!r}


def prepare(corpus_dir, output_dir):
    corpus = an4.read_part(corpus_dir, "train")
    held_out = set(an4.dev_speakers(corpus.speakers))
    train = corpus.of_speakers(set(corpus.speakers) - held_out)
    hours = sum(soundfile.info(u.audio_path).duration for u in train) / 3600
    n_copies = max(round(HOURS / hours), 1)
    copies = [
        Utterance(f"{{u.utterance_id}}-{{k}}", u.audio_path, u.words, f"{{u.speaker}}-{{k}}")
        for k in range(n_copies)
        for u in train
    ]
    write_corpus(Corpus(tuple(copies)), output_dir / "train")
    write_corpus(corpus.of_speakers(held_out), output_dir / "dev")
    write_corpus(an4.read_part(corpus_dir, "test"), output_dir / "test")
    Lexicon.read(corpus_dir / "etc" / "an4.dic").write(output_dir / "lexicon.txt")


RECIPE = Recipe(prepare, an4.RECIPE.config)
"""
_TRAIN = """
import json, sys, time
from asr.cli import main
from asr.store import StageStore

made = StageStore._made
rows = []


def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def watched(self, path, name, *others):
    open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
    cpu = time.process_time()
    found = made(self, path, name, *others)
    rows.append((name, round(peak()), round(time.process_time() - cpu, 1)))
    json.dump(rows, open(report, "w"))
    return found


StageStore._made = watched
report = sys.argv.pop(1)
sys.exit(main())
"""


def trained(checkout: Path, corpus: Path, hours: float, model: str, options: list[str]) -> list[list[object]]:
    """Return name, peak in MB and CPU seconds of each stage of one training."""
    with tempfile.TemporaryDirectory() as folder:
        recipe, rows = Path(folder) / "hours.py", Path(folder) / "rows.json"
        recipe.write_text(_RECIPE.format(hours=hours))
        train = ["train", recipe, "--corpus", corpus, "--out", Path(folder) / "exp", "--model", model]
        settings = [part for option in options for part in ("--set", option)]
        command = [sys.executable, "-c", _TRAIN, rows, *train, *settings]
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        subprocess.run(list(map(str, command)), env=environment, cwd=checkout, check=True)
        found: list[list[object]] = json.loads(rows.read_text())
    return found


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--hours", type=float, default=10.0, help="of training data")
    parser.add_argument("--model", default="gmm", help="as of asr train")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument(
        "--checkout", type=Path, default=Path(__file__).resolve().parents[1], help="code that trains"
    )
    arguments = parser.parse_args()
    checkout, corpus = arguments.checkout.resolve(), arguments.corpus.resolve()
    rows = trained(checkout, corpus, arguments.hours, arguments.model, arguments.set)
    print_table(("stage", "peak MB", "CPU s"), rows)
    print(f"peak of all: {max(int(str(row[1])) for row in rows)} MB")
    write_report(arguments.out, {"hours": arguments.hours, "model": arguments.model, "stages": rows})


if __name__ == "__main__":
    main()
