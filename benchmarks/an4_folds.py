"""Models compared on all 84 speakers of AN4, five folds without a common speaker, paired by utterance.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4
    python benchmarks/an4_folds.py --corpus ../shared/data/an4 --weights exp/an4 --models gmm pools \
        --page docs/results/an4.md --section folds
    python benchmarks/an4_folds.py --corpus ../shared/data/an4 --weights exp/an4 --weights-of pools \
        --models pools@pools.choice=random@pools.n_centers=200 pools

The official train and test sets together; speakers sorted by code point, fold k tests those at k, k + 5, k +
10, … With ``--parts train --set …`` a choice can be made without the official test.

Each fold trains on the other speakers alone, flat start and projection included. Nothing is tuned here:
decoder weights are those the experiment tuned on its dev speakers (ten of these 84, so the level is slightly
optimistic; the comparison is not favoured, each model having its own weights). Models that the experiment
does not have get the weights of the model ``--weights-of``. ``NAME@KEY=VALUE`` is a model with an option of
its own, ``NAME@KEY=VALUE@KEY=VALUE`` one with two. The bigram is of the fold's training text.

Intervals and p values are `asr.scoring.scoring.compare`'s, over utterances; utterances of one speaker are not
independent, so the speakers that are better and worse, with a sign test over them, stand beside.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from made_steps import Made
from report import argument_parser, markdown_table, print_table, write_report
from scipy import stats

from acoustic.model import load_model
from acoustic.ways import meant
from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import Corpus, write_corpus
from asr.engines.clusters import running_on
from asr.experiment import Experiment
from asr.files import as_plain
from asr.formats.model_directories import MODELS
from asr.language.grammars import read_grammar
from asr.recipe import LoadedRecipe, Recipe
from asr.recognizer import Recognizer
from asr.scoring.scoring import WordAccuracy, compare, score
from asr.systems import SYSTEMS, GrammarName, find_system
from asr.transcribe import scored_speech
from benchmarks.papers.layout import write_section
from decoder import Decoder, DecoderConfig, Lexicon
from recipes import an4

GRAMMARS: tuple[GrammarName, ...] = ("loop", "bigram")
Texts = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Fold:
    """One part of the speakers as test, the others as training."""

    index: int
    n_folds: int
    parts: tuple[str, ...]

    def prepare(self, corpus_dir: Path, output_dir: Path) -> None:
        """Write ``train``, ``test`` and ``lexicon.txt``, as a recipe does."""
        corpus = pooled(corpus_dir, self.parts)
        tested = set(corpus.speakers[self.index :: self.n_folds])
        write_corpus(corpus.of_speakers(set(corpus.speakers) - tested), output_dir / "train")
        write_corpus(corpus.of_speakers(tested), output_dir / "test")
        Lexicon.read(corpus_dir / "etc" / "an4.dic").write(output_dir / "lexicon.txt")

    def experiment(self, corpus_dir: Path, work: Path, config: ExperimentConfig) -> Experiment:
        """Return the experiment of this fold in a directory of its own."""
        source = f"{self}\n{inspect.getsource(sys.modules[__name__])}"
        recipe = LoadedRecipe("an4_folds", Recipe(self.prepare, config), source)
        return Experiment(recipe, corpus_dir, work / f"fold-{self.index}", config, "best")


def pooled(corpus_dir: Path, parts: Sequence[str]) -> Corpus:
    """Return all utterances of the official parts."""
    return Corpus(tuple(u for part in parts for u in an4.read_part(corpus_dir, part)))


class Tuned(NamedTuple):
    """Decoder options of a model and grammar; those of the first pass where the model adapts to speakers."""

    decoder: DecoderConfig
    first_pass: DecoderConfig | None


def tuned_configs(
    experiment: Path, models: Sequence[str], otherwise: str | None = None
) -> dict[tuple[str, str], Tuned]:
    """Return the decoder options of each model and grammar in an experiment.

    A model that the experiment does not have gets those of the model ``otherwise``.
    """
    found = {}
    for name, grammar in product(models, GRAMMARS):
        is_there = (experiment / MODELS / name).is_dir()
        recognizer = Recognizer.load(experiment, name if is_there else otherwise or name, grammar)
        first = recognizer.first_pass
        found[name, grammar] = Tuned(recognizer.decoder.config, first.config if first else None)
    return found


def with_own_settings(fold: Experiment, model: str) -> Experiment:
    """Return the experiment with the options of its own that a model ``NAME@KEY=VALUE`` has."""
    _, *settings = model.split("@")
    config = with_settings(fold.config, settings)
    return Experiment(fold.loaded, fold.corpus_dir, fold.out, config, fold.preset, fold.store)


def decode_fold(fold: Experiment, configs: Mapping[tuple[str, str], Tuned]) -> dict[tuple[str, str], Texts]:
    """Return the words of a fold's test utterances by each model and grammar."""
    task = Made(fold)
    data, grammars = task.data("test"), task.path("grammars")
    found: dict[tuple[str, str], Texts] = {}
    for name in dict.fromkeys(name for name, _ in configs):
        own = Made(with_own_settings(fold, name), named={"model": find_system(name.partition("@")[0])})
        model = load_model(own.model("model").path)
        speech = scored_speech(data.cepstra, data.speakers, model)
        for grammar in GRAMMARS:
            loaded = read_grammar(grammar, grammars, task.lexicon)
            tuned = configs[name, grammar]
            decoder = Decoder(task.lexicon, loaded, model.topology, tuned.decoder)
            first = tuned.first_pass and decoder.with_config(**asdict(tuned.first_pass))
            decoded = Recognizer(name, model, task.lexicon, grammar, decoder, first).decode(speech)
            found[name, grammar] = {i: h.text for i, h in zip(data.corpus.ids, decoded, strict=True)}
    return found


def speaker_accuracies(accuracy: WordAccuracy) -> list[float]:
    return [speaker.counts.word_accuracy for speaker in accuracy.speakers]


def comparison_row(
    reference: Texts,
    texts: Mapping[tuple[str, str], Texts],
    accuracies: Mapping[tuple[str, str], WordAccuracy],
    names: tuple[str, str],
    grammar: str,
) -> dict[str, Any]:
    """Return how much better the second model is than the first, over utterances and over speakers."""
    first, second = ((name, grammar) for name in names)
    paired = compare(reference, texts[first], texts[second])
    by_speaker = list(
        zip(speaker_accuracies(accuracies[first]), speaker_accuracies(accuracies[second]), strict=True)
    )
    better, worse = sum(a < b for a, b in by_speaker), sum(a > b for a, b in by_speaker)
    return {
        "grammar": grammar,
        "first": names[0],
        "second": names[1],
        "difference": paired.difference,
        "interval": paired.interval,
        "p_value": paired.p_value,
        "speakers_better": better,
        "speakers_worse": worse,
        "speaker_sign_test_p_value": float(stats.binomtest(better, better + worse).pvalue)
        if better + worse
        else 1.0,
    }


def fold_accuracies(accuracy: WordAccuracy, folds: Sequence[frozenset[str]]) -> list[float]:
    """Return the word accuracy of each fold's utterances."""
    by_fold = []
    for ids in folds:
        counts = [u.counts for u in accuracy.utterances if u.utterance_id in ids]
        n_errors, n_words = sum(c.errors for c in counts), sum(c.words for c in counts)
        by_fold.append(100.0 - 100.0 * n_errors / n_words)
    return by_fold


def print_report(rows: Sequence[dict[str, Any]], comparisons: Sequence[dict[str, Any]]) -> None:
    n_folds = len(rows[0]["folds"])
    head = ("model, grammar", "word acc %", "low", "high", *(f"fold {k}" for k in range(n_folds)))
    print_table(
        head,
        [(f"{r['model']}, {r['grammar']}", r["word_accuracy"], *r["interval"], *r["folds"]) for r in rows],
    )
    print_table(
        ("second against first", "points", "low", "high", "p", "speakers +", "speakers -", "sign test p"),
        [
            (
                f"{c['second']} against {c['first']}, {c['grammar']}",
                c["difference"],
                *c["interval"],
                c["p_value"],
                c["speakers_better"],
                c["speakers_worse"],
                c["speaker_sign_test_p_value"],
            )
            for c in comparisons
        ],
    )


def page_section(rows: Sequence[dict[str, Any]], comparisons: Sequence[dict[str, Any]]) -> str:
    """Return the accuracies and their paired differences as tables of a page, a column for each grammar."""

    def columns(found: Sequence[dict[str, Any]], cell: Callable[[dict[str, Any]], str]) -> list[str]:
        by_grammar = {row["grammar"]: cell(row) for row in found}
        return [by_grammar[g] for g in GRAMMARS]

    models = list(dict.fromkeys(row["model"] for row in rows))
    pairs = list(dict.fromkeys((c["first"], c["second"]) for c in comparisons))
    body = [
        (f"`{m}`", *columns([r for r in rows if r["model"] == m], _accuracy_cell), *_nothing(GRAMMARS))
        for m in models
    ]
    body += [
        (f"`{b}` − `{a}`", *columns(found, _difference_cell), *columns(found, _speakers_cell))
        for a, b in pairs
        for found in [[c for c in comparisons if (c["first"], c["second"]) == (a, b)]]
    ]
    return markdown_table(("", *GRAMMARS, *(f"speakers better / worse, {g}" for g in GRAMMARS)), body)


def _nothing(columns: Sequence[str]) -> list[str]:
    return [""] * len(columns)


def _accuracy_cell(row: Mapping[str, Any]) -> str:
    low, high = row["interval"]
    return f"{row['word_accuracy']:.1f} ({low:.1f}–{high:.1f})"


def _difference_cell(row: Mapping[str, Any]) -> str:
    low, high = (f"{bound:+.1f}".replace("-", "−") for bound in row["interval"])
    difference = f"{row['difference']:+.1f}".replace("-", "−")
    return f"{difference} ({low}, {high}), p {row['p_value']:.2g}"


def _speakers_cell(row: Mapping[str, Any]) -> str:
    return f"{row['speakers_better']} / {row['speakers_worse']}"


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument(
        "--weights", type=Path, required=True, help="experiment with the tuned decoder weights"
    )
    parser.add_argument(
        "--weights-of", metavar="MODEL", help="whose weights models have that are not in the experiment"
    )
    known = [name for name in SYSTEMS if meant(name, "best") == name]
    parser.add_argument("--models", nargs="+", default=known, help=f"among {', '.join(known)}")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument(
        "--tested", type=int, nargs="+", metavar="FOLD", help="folds that are run; all by default"
    )
    parser.add_argument("--parts", nargs="+", default=["train", "test"], choices=["train", "test"])
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="as of asr train")
    parser.add_argument("--work", type=Path, help="keep the models here, to resume; by default thrown away")
    parser.add_argument("--page", type=Path, help="page whose section is written")
    parser.add_argument("--section", default="folds", help="name of the page's section")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, whose workers compute")
    arguments = parser.parse_args()
    with running_on(scheduler=arguments.scheduler):
        compare_models(arguments)


def compare_models(arguments: argparse.Namespace) -> None:
    """Train and test all models in all folds, and report."""
    configs = tuned_configs(arguments.weights, arguments.models, arguments.weights_of)
    config = replace(with_settings(an4.RECIPE.config, arguments.set), grammars=GRAMMARS)
    parts = tuple(arguments.parts)
    corpus = pooled(arguments.corpus, parts)
    texts: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {key: {} for key in configs}
    folds: list[frozenset[str]] = []
    started = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as temporary:
        for k in arguments.tested or range(arguments.folds):
            work = arguments.work or Path(temporary)
            fold = Fold(k, arguments.folds, parts).experiment(arguments.corpus, work, config)
            for key, found in decode_fold(fold, configs).items():
                texts[key] |= found
            folds.append(frozenset(fold.found.corpora["test"].ids))
            n_speakers = len(fold.found.corpora["test"].speakers)
            print(
                f"fold {k}: {len(folds[-1])} utterances of {n_speakers} speakers",
                flush=True,
            )
    wall, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    corpus = Corpus(tuple(u for u in corpus if any(u.utterance_id in ids for ids in folds)))
    speakers = {u.utterance_id: u.speaker for u in corpus}
    accuracies = {key: score(corpus.text, found, speakers=speakers) for key, found in texts.items()}
    rows = [
        {
            "model": name,
            "grammar": grammar,
            "word_accuracy": s.word_accuracy,
            "interval": s.interval,
            "words": s.words,
            "folds": fold_accuracies(s, folds),
        }
        for (name, grammar), s in accuracies.items()
    ]
    in_pairs = partial(comparison_row, corpus.text, texts, accuracies)
    comparisons = [in_pairs(pair, g) for g in GRAMMARS for pair in combinations(arguments.models, 2)]
    print(f"{len(corpus)} utterances, {len(corpus.speakers)} speakers; {wall:.0f} s, {cpu:.0f} CPU s")
    print_report(rows, comparisons)
    if arguments.page is not None:
        write_section(arguments.page, arguments.section, page_section(rows, comparisons))
    weights = {f"{name}, {grammar}": as_plain(tuned._asdict()) for (name, grammar), tuned in configs.items()}
    report = {"accuracies": rows, "comparisons": comparisons, "decoder": weights, "cpu_seconds": cpu}
    write_report(arguments.out, {**report, "wall_seconds": wall})


if __name__ == "__main__":
    main()
