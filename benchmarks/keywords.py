"""Keywords among other sounds: false alarms an hour at 95 % detection; and words that other sounds decode to.

    python benchmarks/keywords.py --an4 AN4 --fsdd FSDD --iban IBAN --experiments exp

``exp/an4`` and ``exp/fsdd`` are experiments that dev did not train: asr train … --set retrain_with_dev=false.
Rules and thresholds are learned on dev, half of the speakers of Iban, and noises (A); what is printed
is of test, of the other half of the speakers and of other noises (B). ``foreign`` is speech of a kind that
nothing was learned from: AN4's test for FSDD, FSDD's for AN4, without what has keywords in it.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from other_sounds import CHANGES, HALVES, link_iban, write_changed, write_noises
from report import argument_parser, print_table, write_report

from asr import Recognizer, keywords
from asr.corpora.corpus import Corpus, read_corpus, write_corpus
from asr.formats.model_directories import model_directory
from asr.spotting.detection import Wanted, operating_point
from asr.spotting.learning import log_odds_of
from asr.spotting.pieces import find_words, pieces_of_corpus, pieces_of_others, withheld
from features.audio import audio_info
from recipes import an4, fsdd

DIGITS = fsdd.DIGITS
TASKS = (
    ("AN4 commands", "an4", ("ENTER", "ERASE", "RUBOUT")),
    ("AN4 long digits", "an4", ("SEVEN", "ZERO", "SIX")),
    ("AN4 digits", "an4", DIGITS),
    ("FSDD long digits", "fsdd", ("SEVEN", "ZERO", "SIX")),
    ("FSDD digits", "fsdd", DIGITS),
)
OTHERS = ("iban", "noise", "foreign")
DETECTION = 95.0  # percent
HEAD = (
    *("keywords", "model", "said in test", "dev detected %", "dev false an hour"),
    *(
        "test detected %",
        "95 % interval",
        "iban an hour",
        "95 % interval",
        "noise an hour",
        "foreign an hour",
    ),
    *("test itself an hour", "at 95 % of test: iban", "noise"),
    *(f"found in {change}, %" for change in CHANGES),
)
REJECTION_HEAD = (
    "sounds",
    "model",
    "minutes",
    "words a minute",
    "rough rule",
    "rule of training",
    "learned rule",
    "without speech",
)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--an4", type=Path, required=True, help="AN4 as published")
    parser.add_argument("--fsdd", type=Path, required=True, help="the free spoken digits")
    parser.add_argument("--iban", type=Path, required=True, help="clone of sarahjuan/iban")
    parser.add_argument("--experiments", type=Path, required=True, help="directory of an4 and fsdd")
    parser.add_argument("--models", nargs="+", default=["pools"])
    parser.add_argument("--tasks", type=int, nargs="+", help="only these, counted from 0")
    parser.add_argument("--minutes", type=float, default=60.0, help="of each half of Iban")
    parser.add_argument("--false-alarms", type=float, help="wanted on dev, instead of 95 %% detection")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        prepare(options, data)
        found = []
        for label, corpus, words in TASKS if options.tasks is None else [TASKS[n] for n in options.tasks]:
            for model in options.models:
                found.append(measured(label, data, options, corpus, words, model))
                print_table(HEAD, [row(found[-1])])
        rejected = [
            r
            for m in options.models
            for corpus in ("an4", "fsdd")
            for r in rejection(options, data, corpus, m)
        ]
        print_table(REJECTION_HEAD, [tuple(r.values()) for r in rejected])
    write_report(options.out, {"keywords": found, "rejection": rejected})


def prepare(options, data):
    """Write the splits of both corpora, and links to, or files of, other sounds."""
    link_iban(options.iban, data / "iban", options.minutes)
    for recipe, source, rate in ((an4, options.an4, 16000), (fsdd, options.fsdd, 8000)):
        task = data / recipe.__name__.rpartition(".")[2]
        recipe.prepare(source, task)
        speech = Corpus(read_corpus(task / "train").utterances[:200])
        for seed, half in enumerate(HALVES):
            write_noises(data / "noise" / task.name / half, rate, speech, seed)
        write_changed(read_corpus(task / "test"), rate, data / "changed" / task.name)


def foreign(data, corpus, words):
    """Write the test set of the other corpus without utterances that have keywords, and return its folder."""
    other = {"an4": "fsdd", "fsdd": "an4"}[corpus]
    target = data / "foreign" / f"{corpus}-{'-'.join(words)}"
    if not target.exists():
        utterances = [u for u in read_corpus(data / other / "test") if not set(u.words) & set(words)]
        write_corpus(Corpus(tuple(replace(u, words=()) for u in utterances)), target)
    return target


def measured(label, data, options, corpus, words, model):
    """Return what a set of keywords reaches on dev and on test."""
    own = data / "models" / model  # a copy, for keywords are kept beside the model
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(model_directory(options.experiments / corpus, model), own)
    halves = [[data / "iban" / half, data / "noise" / corpus / half] for half in HALVES]
    is_rate = options.false_alarms is not None
    chosen = keywords(
        own,
        words,
        corpus=data / corpus / "dev",
        other=halves[0],
        false_alarms=options.false_alarms,
        detection=None if is_rate else DETECTION,
    )
    recognizer = Recognizer.load(own)
    tests = {
        name: pieces_of_others(recognizer, path, own) for name, path in zip(OTHERS, halves[1], strict=False)
    }
    if any(not set(u.words) & set(words) for u in read_corpus(data / other_corpus(corpus) / "test")):
        tests["foreign"] = pieces_of_others(recognizer, foreign(data, corpus, words), own)
    tests["test"] = pieces_of_corpus(recognizer, data / corpus / "test", own)
    for change in CHANGES:
        tests[change] = pieces_of_corpus(recognizer, data / "changed" / corpus / change, own)
    rule = chosen.keywords.rejection
    decoder = recognizer.spotting().decoder
    points, heard = {}, {}
    for name, pieces in tests.items():
        found = find_words(recognizer, pieces, words, [decoder])
        candidates = [c for h in found for c in h.found[0]]
        heard[name] = (
            log_odds_of(rule, candidates),
            np.array([c.is_spoken for c in candidates], dtype=bool),
            sum(h.n_spoken for h in found),
            sum(h.seconds for h in found) / 3600,
        )
        points[name] = asdict(operating_point(rule.threshold, *heard[name])) | {"hours": heard[name][3]}
    at_95 = Wanted(detection=DETECTION).threshold(*heard["test"])
    return {
        "label": label,
        "model": model,
        "words": words,
        "spoken": heard["test"][2],
        "filler_cost": chosen.keywords.filler_cost,
        "dev": asdict(chosen.point),
        "points": points,
        "at_95": {name: asdict(operating_point(at_95, *found)) for name, found in heard.items()},
    }


def other_corpus(corpus):
    """Return the name of the other corpus."""
    return {"an4": "fsdd", "fsdd": "an4"}[corpus]


def row(result):
    """Return a row of the table."""
    points, at_95, dev = result["points"], result["at_95"], result["dev"]
    rates = {name: point["false_alarms_per_hour"] for name, point in points.items()}
    return (
        *(result["label"], result["model"], result["spoken"], dev["detection"], dev["false_alarms_per_hour"]),
        *(points["test"]["detection"], interval(points["test"]["detection_interval"]), rates["iban"]),
        *(
            interval(points["iban"]["false_alarms_interval"]),
            rates["noise"],
            rates.get("foreign"),
            rates["test"],
        ),
        *(at_95[name]["false_alarms_per_hour"] for name in ("iban", "noise")),
        *(points[change]["detection"] for change in CHANGES),
    )


def interval(pair):
    """Return an interval as text."""
    return f"{pair[0]:.1f}–{pair[1]:.1f}"


def rejection(options, data, corpus, model):
    """Yield what words a recogniser finds in sounds, and how many of them are left after rejection."""
    trained = Recognizer.load(options.experiments / corpus, model)
    plain = replace(trained, rule=None)
    own = data / "models" / model
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(model_directory(options.experiments / corpus, model), own)
    keywords(own, corpus=data / corpus / "dev", other=[data / "iban" / "A", data / "noise" / corpus / "A"])
    learned = Recognizer.load(own)
    rules = (plain.with_rejection(), trained.with_rejection(), learned.with_rejection())
    sounds = {
        "test": [u.audio_path for u in read_corpus(data / corpus / "test")],
        "iban": sorted((data / "iban" / "B").glob("*/*.wav"))[:60],
    }
    for change in CHANGES:
        sounds[change] = [u.audio_path for u in read_corpus(data / "changed" / corpus / change)]
    for folder in sorted((data / "noise" / corpus / "B").iterdir()):
        sounds[f"noise {folder.name}"] = [folder / "noise.wav"]
    for name, files in sounds.items():
        found = [r.transcribe_all(files) for r in (plain, *rules)]
        minutes = sum(audio_info(file).duration_s for file in files) / 60
        n_words = [sum(len(h.words) for h in hypotheses) for hypotheses in found]
        yield {
            "sounds": f"{corpus}: {name}",
            "model": model,
            "minutes": minutes,
            "words_a_minute": n_words[0] / minutes,
            "with_rough_rule": n_words[1] / minutes,
            "with_rule_of_training": n_words[2] / minutes,
            "with_learned_rule": n_words[3] / minutes,
            "without_speech": sum(bool(h.no_speech) for h in found[0]),
        }
    yield unknown_words(data, corpus, model, own, plain, rules)


def unknown_words(data, corpus, model, own, plain, judging):
    """Return what is found in test where the search is given none of an utterance's own words."""
    pieces = withheld(plain, pieces_of_corpus(plain, data / corpus / "test", own), without_one=False)
    found = [c for h in find_words(plain, pieces, plain.lexicon.words, [plain.decoder]) for c in h.found[0]]
    minutes = sum(audio_info(u.audio_path).duration_s for u in read_corpus(data / corpus / "test")) / 60
    kept = [(log_odds_of(each.rejection, found) >= each.rejection.threshold).sum() for each in judging]
    names = ("words_a_minute", "with_rough_rule", "with_rule_of_training", "with_learned_rule")
    rates = {name: float(n) / minutes for name, n in zip(names, (len(found), *kept), strict=True)}
    sounds = f"{corpus}: test, its words withheld"
    return {"sounds": sounds, "model": model, "minutes": minutes, **rates, "without_speech": 0}


if __name__ == "__main__":
    main()
