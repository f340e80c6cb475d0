"""A clean corpus and its messy twin: word accuracy of both, and which of the planted faults were found.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm
    python benchmarks/messy.py --task exp/an4 --work exp/messy --page docs/results/messy.md

The twin has sentences with capitals and punctuation, a lexicon without 5 % of its words, 2 % wrong
transcripts, and 1 % silent or cut recordings in train; dev and test keep their recordings. Both are trained
by the recipe ``folder`` with default options. False alarms are utterances of train left out without a fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from messy_corpus import Mess, write_twin
from report import argument_parser, markdown_table, print_table, write_report

from asr import train
from asr.corpora.corpus import SPLITS, read_corpus, write_corpus
from asr.files import read_json
from asr.scoring.results import Result
from benchmarks.papers.layout import write_section
from decoder.lexicon import Lexicon

FAULT_HEAD = ("planted in train", "number", "named", "left out of training")
NAME = re.compile(r"[\w.-]+")


def main() -> None:
    """Train both, and print and write what came of it."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--task", type=Path, required=True, help="experiment whose prepared task is taken")
    parser.add_argument("--work", type=Path, required=True, help="directory of both experiments")
    parser.add_argument("--models", nargs="+", default=["gmm"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, help="page whose section is written")
    options = parser.parse_args()
    mess = write_corpora(options.task, options.work, options.seed)
    rows = {name: trained(options.work, name, options.models) for name in ("clean", "messy")}
    accuracies = accuracy_rows(rows["clean"], rows["messy"])
    faults = fault_rows(mess, options.work / "messy")
    head, fault_head = ("model, grammar", "clean", "messy", "difference"), FAULT_HEAD
    print_table(head, accuracies)
    print_table(fault_head, faults)
    write_report(options.out, {"accuracies": accuracies, "faults": faults})
    if options.page is not None:
        tables = [markdown_table(head, accuracies), markdown_table(fault_head, faults)]
        write_section(options.page, "messy", "\n\n".join(tables))


def write_corpora(task: Path, work: Path, seed: int) -> Mess:
    """Write the task that an experiment prepared, clean and messy."""
    (prepared,) = sorted((task / "stages").glob("task-*"))
    corpora = {split: read_corpus(prepared / split) for split in SPLITS}
    lexicon = Lexicon.read(prepared / "lexicon.txt")
    for split, corpus in corpora.items():
        write_corpus(corpus, work / "clean-corpus" / split)
    lexicon.write(work / "clean-corpus" / "lexicon.txt")
    return write_twin(corpora, lexicon, work / "messy-corpus", seed=seed)


def trained(work: Path, name: str, models: Collection[str]) -> tuple[Result, ...]:
    """Return the results of one of the two corpora."""
    return train("folder", corpus=work / f"{name}-corpus", out=work / name, models=list(models))


Row = tuple[str, float, float, float]


def accuracy_rows(clean: Collection[Result], messy: Collection[Result]) -> list[Row]:
    """Return a row for each model and grammar on test."""
    of_messy = {(r.model, r.split, r.grammar): r.word_accuracy for r in messy}
    return [
        (f"{r.model}, {r.grammar}", r.word_accuracy, other, other - r.word_accuracy)
        for r in clean
        if r.split == "test"
        for other in [of_messy[r.model, r.split, r.grammar]]
    ]


def fault_rows(mess: Mess, experiment: Path) -> list[tuple[str, int, int, int]]:
    """Return a row for each kind of planted fault: how many, how many named, how many left out of train."""
    suspicious = read_json(experiment / "suspicious.json")["suspicious"]
    doubted = {found["utterance_id"] for found in suspicious}
    far_off = {found["utterance_id"] for found in suspicious if found["is_far_off"]}
    lines = (experiment / "log.txt").read_text(encoding="utf-8").splitlines()
    unreadable = {name for line in lines if "cannot be used" in line for name in NAME.findall(line)}
    (heard,) = (set(NAME.findall(line)) for line in lines if "have got a pronunciation" in line)
    words = set(mess.missing)
    rows = [("words missing in the lexicon", len(words), len(words & heard), 0)]
    planted = {"wrong transcripts": mess.wrong, "silent": mess.silent, "cut in half": mess.cut}
    for what, names in planted.items():
        n_named = len(set(names) & (doubted | unreadable))
        rows.append((what, len(names), n_named, len(set(names) & (far_off | unreadable))))
    fine = doubted - {name for names in planted.values() for name in names}
    return [*rows, ("nothing wrong planted", 0, len(fine), len(fine & far_off))]


if __name__ == "__main__":
    main()
