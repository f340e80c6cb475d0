"""What it costs to take a corpus whose speakers are not known for one person, or each recording for another.

    python benchmarks/unknown_speakers.py --data DATA --work /tmp/unknown --out unknown_speakers.json

Digits of FSDD and AN4's training speakers lie flat, in names that tell nothing: the recogniser is told the
true speakers, that all are one person, or that each recording is by a person of its own. FSDD's official test
and AN4's stay unheard: what is decoded are takes 10 to 14, and ten of AN4's training speakers, those of dev
put aside. The recordings are decoded with the speakers taken in each way, too: `asr evaluate` takes them as
the training did, `asr decode` each for itself unless it is told otherwise. Rows that are there are kept.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from report import argument_parser, markdown_table, print_table, write_report

import asr
from asr.corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from asr.errors import AsrError
from recipes import an4, fsdd

WAYS = ("true", "one", "recordings")
SINGLE_TAKES = (2, 5, 35)
# How it was trained, and how it was decoded.
SHOWN = (
    *(("true", "true"), ("one", "one"), ("recordings", "recordings")),
    *(("true", "recordings"), ("one", "recordings"), ("recordings", "one")),
    *(("one", "true"), ("recordings", "true")),
)
Parts = Mapping[str, Corpus]
SETTINGS = {"fsdd": ("sample_rate=8000", "grammars=loop"), "an4": ("grammars=loop",)}


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--data", type=Path, required=True, help="folder with an4 and fsdd as published")
    parser.add_argument("--work", type=Path, required=True, help="where experiments go, and rows are kept")
    parser.add_argument("--models", nargs="+", default=["gmm", "pools"])
    parser.add_argument("--only", default="*", help="the corpora whose names fit, as fsdd-*")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows, said_of_itself = [], []
    for name, parts, settings in corpora(options.data):
        if not fnmatch(name, options.only):
            continue
        for model in options.models:
            rows += measured(name, parts, model, settings, options.work)
            if not name.startswith("fsdd-") or "x" in name:
                said_of_itself.append((name, model, own_figure(name, parts, model, settings, options.work)))
    table = [*summed(rows)]
    head = ("corpus", "model", "words", *(f"{a}/{b}" for a, b in SHOWN))
    print_table(head, table)
    print(markdown_table(head, table))
    print_table(("laid flat, its own test", "model", "right"), said_of_itself)
    write_report(options.out, {"rows": rows, "said_of_itself": said_of_itself})


def summed(rows):
    """Yield the accuracies by corpus and model, one-speaker corpora together; trained as / decoded as."""
    found = {}
    for row in rows:
        corpus, _, takes = row["corpus"].rpartition("-")
        label = f"{corpus.split('-')[0]}-1x{takes}" if row["speakers"] == 1 else row["corpus"]
        cell = found.setdefault((label, row["model"]), {})
        right, words = cell.get((row["trained as"], row["decoded as"]), (0.0, 0))
        right += row["right"] * row["words"]
        cell[row["trained as"], row["decoded as"]] = right, words + row["words"]
    for (label, model), cell in sorted(found.items()):
        accuracies = [round(cell[way][0] / cell[way][1], 2) if way in cell else None for way in SHOWN]
        yield label, model, max(words for _, words in cell.values()), *accuracies


def corpora(data: Path):
    """Yield name, splits and settings of each corpus."""
    with tempfile.TemporaryDirectory() as folder:
        for name, recipe in (("fsdd", fsdd), ("an4", an4)):
            recipe.prepare(data / name, Path(folder) / name)
        digits = Corpus(
            tuple(u for part in ("train", "dev", "test") for u in read_corpus(Path(folder) / "fsdd" / part))
        )
        train, dev = (read_corpus(Path(folder) / "an4" / part) for part in ("train", "dev"))
        tested = train.speakers[1::7][:10]
        rest = train.of_speakers(set(train.speakers) - set(tested))
        lexicon = (Path(folder) / "an4" / "lexicon.txt").read_text(encoding="utf-8")
        digit_lexicon = (Path(folder) / "fsdd" / "lexicon.txt").read_text(encoding="utf-8")
    for n_takes in SINGLE_TAKES[1:]:
        yield f"fsdd-6x{n_takes}", (of_takes(digits, n_takes), digit_lexicon), SETTINGS["fsdd"]
    for n_takes in SINGLE_TAKES:
        for speaker in digits.speakers:
            own = digits.of_speakers([speaker])
            yield f"fsdd-{speaker}-{n_takes}", (of_takes(own, n_takes), digit_lexicon), SETTINGS["fsdd"]
    yield "an4-64", ({"train": rest, "dev": dev, "test": train.of_speakers(tested)}, lexicon), SETTINGS["an4"]


def of_takes(digits: Corpus, n_takes: int) -> Parts:
    """Return the first takes from 15 on to train with, of 5 to 9 as many as a sixth, and 10 to 14 to test."""
    n_dev = max(1, min(5, n_takes // 6))
    bounds = {"train": (15, 15 + n_takes), "dev": (5, 5 + n_dev), "test": (10, 15)}
    return {
        part: Corpus(tuple(u for u in digits if low <= int(u.utterance_id.rsplit("_", 1)[1]) < high))
        for part, (low, high) in bounds.items()
    }


def measured(name, corpus, model, settings, work):
    """Yield the rows of a corpus and a model; each is kept in a file of its own."""
    parts, lexicon = corpus
    n_speakers = len({u.speaker for part in parts.values() for u in part})
    ways = [way for way in WAYS if n_speakers > 1 or way != "true"]
    for trained_as in ways:
        directory = work / f"{name}-{trained_as}"
        for way in WAYS:
            for part, utterances in parts.items():
                write_corpus(laid_flat(utterances, part, way), directory / way / part)
                (directory / way / "lexicon.txt").write_text(lexicon, encoding="utf-8")
        kept = work / f"{name}-{model}-{trained_as}.json"
        if not kept.is_file():
            exp = directory / "exp"
            asr.train(
                "folder", corpus=directory / trained_as, out=exp, models=[model], settings=list(settings)
            )
            rows = []
            for decoded_as in ways:
                accuracy, found = asr.evaluate(exp, directory / decoded_as / "test", model=model)
                assert not any(isinstance(h, AsrError) for h in found.values())
                rows.append(
                    {
                        "corpus": name,
                        "speakers": n_speakers,
                        "recordings": len(parts["train"]) + len(parts["dev"]),
                        "model": model,
                        "trained as": trained_as,
                        "decoded as": decoded_as,
                        "words": accuracy.counts.words,
                        "right": accuracy.word_accuracy,
                    }
                )
            kept.write_text(json.dumps(rows), encoding="utf-8")
        yield from json.loads(kept.read_text(encoding="utf-8"))


def own_figure(name, corpus, model, settings, work):
    """Return what a training says of its own test, cut from the recordings as they lie in one folder."""
    parts, lexicon = corpus
    folder, kept = work / f"{name}-flat", work / f"{name}-{model}-flat.txt"
    if not kept.is_file():
        folder.mkdir(exist_ok=True)
        (folder / "lexicon.txt").write_text(lexicon, encoding="utf-8")
        for part in ("train", "dev"):
            for u in laid_flat(parts[part], part, "true"):
                link = folder / f"{u.utterance_id}{u.audio_path.suffix}"
                link.unlink(missing_ok=True)
                link.symlink_to(u.audio_path)
                link.with_suffix(".txt").write_text(" ".join(u.words), encoding="utf-8")
        out = work / f"{name}-flat-exp"
        rows = asr.train("folder", corpus=folder, out=out, models=[model], settings=list(settings))
        kept.write_text(str(next(r.word_accuracy for r in rows if r.split == "test" and r.model == model)))
    return float(kept.read_text())


def laid_flat(corpus: Corpus, part: str, way: str) -> Corpus:
    """Return the utterances under names that tell nothing, with speakers taken in one of `WAYS`."""
    shuffled = random.Random(0).sample(corpus.utterances, len(corpus))
    named: list[Utterance] = []
    for n, utterance in enumerate(shuffled):
        name = f"{part}{n:04d}"
        speaker = {"true": utterance.speaker, "one": "one", "recordings": name}[way]
        named.append(replace(utterance, utterance_id=name, speaker=speaker))
    return Corpus(tuple(named))


if __name__ == "__main__":
    main()
