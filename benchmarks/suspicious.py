"""Which planted faults of a corpus are listed as suspicious and left out, and how much else.

AN4's training speakers (without dev): of their utterances 2 % get each other's transcripts, 1 % become
silence (noise 80 dB below full scale) or lose their second half in turn, and one is clipped at a tenth of its
peak.
The corpus as it is, and with --fsdd the free spoken digits, show the false alarms. The model is the aligner
of an experiment with default options; --every K takes every K-th utterance.

A second table has random parts of both corpora, in which some transcripts are replaced by others of the part.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile
from report import argument_parser, cpu_time, print_table, write_report

from acoustic.hmm.training import GmmConfig
from asr.corpora.corpus import Corpus, read_corpus
from asr.corpora.sound_faults import sound_faults, sounds
from asr.corpora.speech_data import compute_cepstra
from asr.training.fit import find_suspicious, fit_curves, hear_apart
from asr.training.gmm import fit_front_end, start_flat, train_components
from asr.training.learned_from import usable_for_training
from benchmarks.papers.layout import table, write_section
from decoder.lexicon import Lexicon
from features.audio import audio_info, read_audio
from features.frontend import FrontEndConfig
from features.mfcc import MfccConfig
from recipes import an4, fsdd

SWAPPED, DAMAGED = 0.02, 0.01
ALIGNER = (1, 2, 4, 8)
KINDS = ("swapped", "silent", "cut", "clipped")
# Utterances, wrong ones, and how many random parts.
SIZES = ((25, 1, 8), (100, 1, 4), (100, 4, 5), (100, 16, 3), (800, 4, 1), (800, 16, 1))
SIZES_HEAD = ("corpus", "utterances", "wrong", "parts", "found", "false alarms", "CPU s a part")
HEAD = ("corpus", "utterances", *KINDS, "all faults", "left out", "false alarms", "wrongly left out", "CPU s")


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--corpus", type=Path, required=True, help="AN4 as published")
    parser.add_argument("--fsdd", type=Path, help="the free spoken digits, for false alarms")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2], help="of the faults")
    parser.add_argument("--every", type=int, nargs="*", default=[1], help="take every K-th utterance")
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as name:
        for label, corpus, lexicon, planted in tasks(options, Path(name)):
            results.append(measured(label, corpus, planted, lexicon))
            print_table(HEAD, [row(results[-1])])
        sized = list(of_sizes(options, Path(name)))
        print_table(SIZES_HEAD, sized)
    write_report(options.out, {"results": results, "sizes": sized})
    if options.page:
        cells = [tuple(map(str, row(result))) for result in results]
        write_section(options.page, "suspicious", table("Planted faults that are listed", HEAD, cells))
        cells = [tuple(map(str, each)) for each in sized]
        write_section(options.page, "sizes", table("Wrong transcripts in small corpora", SIZES_HEAD, cells))


def of_sizes(options, directory):
    """Yield a row for each corpus and size."""
    whole = an4.read_part(options.corpus, "train")
    train = whole.of_speakers(set(whole.speakers) - set(an4.dev_speakers(whole.speakers)))
    corpora = {"AN4": (train, Lexicon.read(options.corpus / "etc" / "an4.dic"))}
    if options.fsdd:
        digits = directory / "fsdd"
        corpora["FSDD"] = read_corpus(digits / "train"), Lexicon.read(digits / "lexicon.txt")
    for label, (corpus, lexicon) in corpora.items():
        for n, n_wrong, n_parts in SIZES:
            parts = [
                measured(label, *with_others(corpus, n, n_wrong, seed), lexicon) for seed in range(n_parts)
            ]
            listed = sum((p["listed"] for p in parts), Counter())
            n_right = n_parts * (n - n_wrong)
            yield (
                *(label, n, n_wrong, n_parts),
                f"{listed['swapped']} of {n_parts * n_wrong}",
                f"{listed['']} of {n_right} ({100 * listed[''] / n_right:.1f} %)",
                f"{sum(p['cpu_s'] for p in parts) / n_parts:.1f}",
            )


def with_others(corpus, n, n_wrong, seed):
    """Return n random utterances, some with the transcript of another of them, and these by id."""
    rng = np.random.default_rng(seed)
    part = [corpus.utterances[k] for k in rng.permutation(len(corpus))[:n]]
    for k in range(n_wrong):
        others = [u.words for u in part[n_wrong:] if u.words != part[k].words]
        part[k] = replace(part[k], words=others[rng.integers(len(others))])
    return Corpus(tuple(part)), {u.utterance_id: "swapped" for u in part[:n_wrong]}


def tasks(options, directory):
    """Yield label, corpus, lexicon and the planted faults by utterance id."""
    whole = an4.read_part(options.corpus, "train")
    train = whole.of_speakers(set(whole.speakers) - set(an4.dev_speakers(whole.speakers)))
    lexicon = Lexicon.read(options.corpus / "etc" / "an4.dic")
    for every in options.every:
        part = Corpus(train.utterances[::every])
        for seed in options.seeds:
            folder = directory / f"{every}-{seed}"
            folder.mkdir()
            yield f"AN4, faults {seed}", *spoilt(part, lexicon, seed, folder)
        yield "AN4 as it is", part, lexicon, {}
    if options.fsdd:
        fsdd.prepare(options.fsdd, directory / "fsdd")
        yield (
            "FSDD as it is",
            read_corpus(directory / "fsdd" / "train"),
            Lexicon.read(directory / "fsdd" / "lexicon.txt"),
            {},
        )


def spoilt(corpus, lexicon, seed, folder):
    """Return a corpus with planted faults, its lexicon, and the faults by utterance id."""
    rng = np.random.default_rng(seed)
    utterances = list(corpus.utterances)
    order = rng.permutation(len(utterances))
    n_swapped, n_damaged = round(SWAPPED * len(utterances)), round(DAMAGED * len(utterances))
    swapped, damaged = order[:n_swapped], order[n_swapped : n_swapped + n_damaged + 1]
    planted = {utterances[a].utterance_id: "swapped" for a in swapped}
    words = {a: utterances[b].words for a, b in zip(swapped, np.roll(swapped, 1), strict=True)}
    for k, a in enumerate(damaged):
        kind = "clipped" if k == n_damaged else ("silent", "cut")[k % 2]
        planted[utterances[a].utterance_id] = kind
        utterances[a] = with_sound(utterances[a], kind, rng, folder)
    for a, others in words.items():
        utterances[a] = replace(utterances[a], words=others)
    return Corpus(tuple(utterances)), lexicon, planted


def with_sound(utterance, kind, rng, folder):
    """Return an utterance with a damaged recording, written into a folder."""
    samples = read_audio(utterance.audio_path, None)
    damaged = {
        "silent": 1e-4 * rng.normal(size=len(samples)),
        "cut": samples[: len(samples) // 2],
        "clipped": np.clip(samples, -0.1 * np.abs(samples).max(), 0.1 * np.abs(samples).max()),
    }[kind]
    path = folder / f"{utterance.utterance_id}.wav"
    soundfile.write(path, damaged, audio_info(utterance.audio_path).sample_rate)
    return replace(utterance, audio_path=path)


def measured(label, corpus, planted, lexicon):
    """Return the numbers of planted, listed and left-out utterances of each kind, "" for no fault."""
    rate = audio_info(corpus.utterances[0].audio_path).sample_rate
    config, gmm, seconds = FrontEndConfig(MfccConfig(sample_rate=rate), "speaker"), GmmConfig(), {}
    data = usable_for_training(compute_cepstra(corpus, config), lexicon)
    model = start_flat(data, fit_front_end(config, data), lexicon)
    for n_components, n_iterations in zip(ALIGNER, gmm.iterations, strict=True):
        model, _ = train_components(data, model, lexicon, n_components, n_iterations, gmm)
    with cpu_time(seconds, "fit"):
        heard = hear_apart(data, model, lexicon, gmm)
        curves, faults = fit_curves(heard), sound_faults(sounds(data.corpus))
        found = find_suspicious(data, heard, curves, faults, model.front_end.frame_shift_s)
    return {
        "corpus": label,
        "utterances": len(data.corpus),
        "planted": Counter(planted.values()),
        "listed": Counter(planted.get(s.utterance_id, "") for s in found),
        "left out": Counter(planted.get(s.utterance_id, "") for s in found if s.is_far_off),
        "false alarms": [str(s) for s in found if s.utterance_id not in planted],
        "missed": sorted(set(planted) - {s.utterance_id for s in found}),
        "cpu_s": seconds["fit"],
    }


def row(result):
    """Return a row of the table."""
    planted, listed, left_out = result["planted"], result["listed"], result["left out"]
    n_faults, n_found, n_left_out = (sum(c[k] for k in KINDS) for c in (planted, listed, left_out))
    return (
        result["corpus"],
        result["utterances"],
        *(f"{listed[k]} of {planted[k]}" if planted[k] else "–" for k in KINDS),
        f"{n_found} of {n_faults}" if n_faults else "–",
        n_left_out,
        listed[""],
        left_out[""],
        f"{result['cpu_s']:.1f}",
    )


if __name__ == "__main__":
    main()
