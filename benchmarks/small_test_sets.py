"""How often the interval of a small test set's word accuracy covers that of the large set it was drawn from.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model gmm --model pools
    asr train fsdd --corpus ../shared/data/fsdd --out exp/fsdd --model gmm --model pools
    python benchmarks/small_test_sets.py exp/an4 exp/fsdd --page docs/results/an4.md --section small-test-sets

The large sets are all utterances of dev and test that an experiment has decoded, by model and grammar. From
each, test sets of 3 to 100 utterances are drawn with replacement, and for each the percentile interval of the
bootstrap alone and `asr.scoring.scoring.accuracy_interval` are computed. In the last row all utterances of a
draw are of one speaker, the speakers in turn, while the truth is still that of all speakers: intervals do not
promise that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import argument_parser, markdown_table, print_table, write_report

from asr.corpora.corpus import read_corpus
from asr.formats.transcripts import read_transcripts
from asr.scoring.results import read_results
from asr.scoring.scoring import accuracy_interval, interval_of, resample_accuracies, score
from asr.store import name_of, read_used
from benchmarks.papers.layout import write_section
from foundation.arrays import Longs

SIZES = (3, 5, 10, 20, 50, 100)
OF_ONE_SPEAKER = 20
N_RESAMPLES = 1000
STAGES = {"dev": "tuning", "test": "test"}


class Decoded(NamedTuple):
    """The utterances of a large set: errors and words (N,), and whose they are (N,)."""

    name: str
    errors: Longs
    words: Longs
    speakers: tuple[str, ...]

    @property
    def accuracy(self) -> float:
        """Its word accuracy in percent, the truth."""
        return float(100 - 100 * self.errors.sum() / self.words.sum())

    @property
    def correlation(self) -> float:
        """How much errors of two words of an utterance are correlated; not finite of single words."""
        n_words, share = self.words.sum(), self.errors.sum() / self.words.sum()
        effect = ((self.errors - share * self.words) ** 2).sum() / (n_words * share * (1 - share))
        longer = (self.words**2).sum() / n_words - 1
        return float((effect - 1) / longer) if longer else float("nan")


def decoded(experiment: Path) -> Iterator[Decoded]:
    """Yield what an experiment has decoded, by model and grammar."""
    stages = {
        name_of(stage): experiment / "stages" / stage
        for used in read_used(experiment).values()
        for stage in used.stages
    }
    for model, grammar in dict.fromkeys((r.model, r.grammar) for r in read_results(experiment)):
        found = []
        for split, stage in STAGES.items():
            corpus = read_corpus(stages["task"] / split)
            heard = read_transcripts(stages[f"{stage}-{model}"] / f"{grammar}.txt", "kaldi")
            speakers = {u.utterance_id: f"{split} {u.speaker}" for u in corpus}
            scored = score({i: corpus.text[i] for i in heard}, heard, n_resamples=1)
            found += [(u.counts.errors, u.counts.words, speakers[u.utterance_id]) for u in scored.utterances]
        errors, words, of = zip(*found, strict=True)
        yield Decoded(f"{experiment.name}, {model}, {grammar}", np.array(errors), np.array(words), of)


def coverage(large: Decoded, draws: Sequence[Longs]) -> dict[str, float]:
    """Return in percent how often intervals of draws cover the truth, and in points how wide they are."""
    ends = {"bootstrap": [], "ours": []}  # type: dict[str, list[tuple[float, float]]]
    for draw in draws:
        errors, words = large.errors[draw], large.words[draw]
        ends["bootstrap"].append(
            interval_of(resample_accuracies(errors[:, None], words, N_RESAMPLES, 0)[:, 0])
        )
        ends["ours"].append(accuracy_interval(errors, words, N_RESAMPLES))
    found = {}
    for name, intervals in ends.items():
        low, high = np.array(intervals).T
        found[name] = float(100 * np.mean((low <= large.accuracy) & (large.accuracy <= high)))
        found[f"width of {name}"] = float(np.mean(high - low))
    return found


def draws_of(large: Decoded, size: int, n_draws: int, rng: np.random.Generator) -> list[Longs]:
    """Return small test sets, as places (size,) of utterances in the large one."""
    return [rng.integers(0, len(large.words), size) for _ in range(n_draws)]


def draws_of_one_speaker(large: Decoded, n_draws: int, rng: np.random.Generator) -> list[Longs]:
    """Return small test sets of one speaker each."""
    speakers = np.array(large.speakers)
    own = [np.flatnonzero(speakers == speaker) for speaker in np.unique(speakers)]
    return [rng.choice(own[n % len(own)], OF_ONE_SPEAKER) for n in range(n_draws)]


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("experiments", type=Path, nargs="+", help="that asr train has finished")
    parser.add_argument("--draws", type=int, default=1000, help="of each size from each large set")
    parser.add_argument("--page", type=Path, help="page whose section is written")
    parser.add_argument("--section", default="small-test-sets", help="name of the page's section")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for large in (found for experiment in arguments.experiments for found in decoded(experiment)):
        for size in SIZES:
            draws = draws_of(large, size, arguments.draws, rng)
            rows.append({"set": large.name, "utterances": str(size), **coverage(large, draws)})
        draws = draws_of_one_speaker(large, arguments.draws, rng)
        what = f"{OF_ONE_SPEAKER} of one speaker"
        rows.append({"set": large.name, "utterances": what, **coverage(large, draws)})
        print(
            f"{large.name}: {len(large.words)} utterances, {large.accuracy:.1f} %, "
            f"errors correlated by {large.correlation:.3f}",
            flush=True,
        )
    head = (
        "utterances drawn",
        "bootstrap covers",
        "in the worst set",
        "width, points",
        "ours covers",
        "in the worst set",
        "width, points",
    )
    table = [
        (size, *(cell for name in ("bootstrap", "ours") for cell in summary(rows, size, name)))
        for size in dict.fromkeys(row["utterances"] for row in rows)
    ]
    print_table(head, table)
    if arguments.page is not None:
        write_section(arguments.page, arguments.section, markdown_table(head, table))
    write_report(arguments.out, {"rows": rows})


def summary(rows: Sequence[dict[str, Any]], size: str, name: str) -> tuple[str, str, str]:
    """Return mean and lowest coverage over the large sets, and the mean width."""
    own = [row for row in rows if row["utterances"] == size]
    shares = [row[name] for row in own]
    width = np.mean([row[f"width of {name}"] for row in own])
    return f"{np.mean(shares):.1f} %", f"{min(shares):.1f} %", f"{width:.1f}"


if __name__ == "__main__":
    main()
