"""The search with 36,000 words and a trigram: word instances and prefix tree, at several beams, in one run.

    git clone https://github.com/sarahjuan/iban
    python benchmarks/large_vocabulary.py --iban iban --work exp/large --page docs/results/large_vocabulary.md

The task: recordings of Iban's test, its whole lexicon, the trigram of its training transcripts by modified
Kneser-Ney, emission scores of a GMM of 8 Gaussians a state trained on every eleventh training utterance. The
weights of the decoder are fixed, not tuned.

The judge of search errors is the prefix tree with a beam so wide that it drops hardly anything (``JUDGE``).
An error of the search is a path that scores worse than the judge's. Each row is a process of its own, so that
its peak memory is its own; it decodes once for the compiler and then for the clock. One thread, CPU time.
What was measured stays in WORK; a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from report import argument_parser, write_report

from acoustic.model import load_model, save_model
from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus, read_parts
from asr.corpora.speech_data import compute_cepstra
from asr.scoring.edit_distance import align_words, count_errors
from asr.training.gmm import fit_front_end, start_flat, train_components
from asr.transcribe import scored_speech
from benchmarks.papers.layout import table, write_section
from decoder import decoder as networks
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon

MIXTURES = ((1, 8), (2, 4), (4, 4), (8, 6))  # Gaussians a state, and passes
LM_SCALE = 10.0
SAME_SCORE = 1e-6  # nats
TREE, INSTANCES = "prefix tree", "word instances"


@dataclass(frozen=True)
class Setting:
    """A search and its pruning."""

    search: str
    beam: float
    max_active: int | None = 0
    n_best: int = 1

    @property
    def name(self) -> str:
        limit = "default" if self.max_active is None else str(self.max_active or "none")
        return f"{self.search}, beam {self.beam:g}, limit {limit}" + (
            f", {self.n_best} best" if self.n_best > 1 else ""
        )


JUDGE = Setting(TREE, 250.0)  # 150 nats, see `decoder.DecoderConfig`
SETTINGS = (
    JUDGE,
    Setting(TREE, 200.0, None),
    Setting(TREE, 330.0, 1000),
    Setting(TREE, 200.0, 500),
    Setting(TREE, 165.0),
    Setting(TREE, 200.0, None, n_best=10),
    Setting(INSTANCES, 200.0),
    Setting(INSTANCES, 120.0),
)


def prepare(iban: Path, work: Path, n_utterances: int) -> None:
    """Write the acoustic model, the scores and texts of the recordings, and the language model."""
    if (work / "task.json").exists():
        return
    work.mkdir(parents=True, exist_ok=True)
    parts, lexicon = read_parts(iban / "data"), Lexicon.read(iban / "lang/dict/lexicon.txt")
    known = set(lexicon.words)
    train, test = parts["train"], parts["test"]
    usable = [u.utterance_id for u in train if known.issuperset(u.words)][::11]
    config = ExperimentConfig()
    front_end = config.front_end.front_end()
    data = compute_cepstra(train.subset(set(usable)), front_end)
    model = start_flat(data, fit_front_end(front_end, data), lexicon)
    for n_components, n_iterations in MIXTURES:
        model, _ = train_components(data, model, lexicon, n_components, n_iterations, config.gmm)
    save_model(model, work / "model")
    chosen = test.subset(set(test.ids[:: max(1, len(test) // n_utterances)][:n_utterances]))
    write_scores(chosen, model, work)
    ngram = NGram.estimate(
        [u.words for u in train], 3, vocabulary=lexicon.words, smoothing="modified-kneser-ney"
    )
    ngram.write(work / "trigram.arpa")
    lexicon.write(work / "lexicon.txt")
    texts = {u.utterance_id: u.words for u in chosen}
    sizes = [len(ngrams) for ngrams in ngram.log10_probs]
    (work / "task.json").write_text(json.dumps({"texts": texts, "ngrams": sizes}, ensure_ascii=False))


def write_scores(corpus: Corpus, model: Any, work: Path) -> None:
    """Write the emission scores of recordings and the CPU seconds they took."""
    data = compute_cepstra(corpus, model.front_end.config)
    start = time.process_time()
    scores = scored_speech(data.cepstra, data.speakers, model).scores
    seconds = time.process_time() - start
    np.savez(work / "scores.npz", **dict(zip(corpus.ids, scores, strict=True)), cpu_s=seconds)


def measure(setting: Setting, work: Path) -> dict[str, Any]:
    """Return words, scores, CPU seconds and peak memory of one setting."""
    lexicon, model = Lexicon.read(work / "lexicon.txt"), load_model(work / "model")
    networks.MOST_INSTANCES = 0 if setting.search == TREE else sys.maxsize
    start = time.process_time()
    grammar = NGram.read(work / "trigram.arpa")
    read_s = time.process_time() - start
    config = DecoderConfig(
        lm_scale=LM_SCALE, beam=setting.beam, max_active=setting.max_active, n_best=setting.n_best
    )
    start = time.process_time()
    decoder = Decoder(lexicon, grammar, model.topology, config)
    build_s = time.process_time() - start
    archive = np.load(work / "scores.npz")
    ids = [name for name in archive.files if name != "cpu_s"]
    decoder.decode(archive[ids[0]][:100])
    found, seconds, n_frames = {}, 0.0, 0
    for name in ids:
        scores = archive[name]
        start = time.process_time()
        hypothesis = decoder.decode(scores)
        seconds += time.process_time() - start
        n_frames += len(scores)
        found[name] = [list(hypothesis.text), hypothesis.log_score if hypothesis.complete else None]
    return {
        "setting": asdict(setting),
        "read_s": read_s,
        "build_s": build_s,
        "cpu_s": seconds,
        "audio_s": 0.01 * n_frames,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "found": found,
    }


def measured(setting: Setting, work: Path) -> dict[str, Any]:
    """Return what a process of its own measures, or has measured before."""
    path = work / f"{setting.name.replace(' ', '_').replace(',', '')}.json"
    if not path.exists():
        command = [sys.executable, __file__, "--work", str(work), "--row", json.dumps(asdict(setting))]
        path.write_text(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def row_of(result: dict[str, Any], judge: dict[str, Any], texts: dict[str, list[str]]) -> tuple[str, ...]:
    """Return a line of the table."""

    def word_errors(of: dict[str, Any]) -> int:
        return sum(count_errors(align_words(texts[i], text)).errors for i, (text, _) in of["found"].items())

    n_words = sum(map(len, texts.values()))
    errors = word_errors(result)
    worse = sum(
        score is None or score < judge["found"][i][1] - SAME_SCORE
        for i, (_, score) in result["found"].items()
    )
    return (
        Setting(**result["setting"]).name,
        f"{result['cpu_s'] / result['audio_s']:.3f}",
        f"{100 * errors / n_words:.2f}",
        f"{100 * (errors - word_errors(judge)) / n_words:+.2f}",
        str(worse),
        f"{result['peak_mb']:,.0f}",
        f"{result['build_s']:.1f}",
    )


def section(results: list[dict[str, Any]], work: Path) -> str:
    """Return the table of the page."""
    task = json.loads((work / "task.json").read_text())
    judge = next(r for r in results if Setting(**r["setting"]) == JUDGE)
    head = (
        "search",
        "CPU × real time",
        "word error %",
        "above the judge",
        "worse paths",
        "peak MB",
        "to build, CPU s",
    )
    scored_s = float(np.load(work / "scores.npz")["cpu_s"])
    n_words, n_grams = sum(map(len, task["texts"].values())), task["ngrams"]
    title = f"{len(task['texts'])} recordings, {judge['audio_s'] / 60:.1f} minutes, {n_words:,} words"
    note = (
        f"The trigram lists {n_grams[0]:,} words, {n_grams[1]:,} pairs and {n_grams[2]:,} triples. Emission "
        f"scores took {scored_s / judge['audio_s']:.3f} × real time more. The judge is the first row."
    )
    return table(title, head, [row_of(r, judge, task["texts"]) for r in results]) + "\n\n" + note


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--iban", type=Path, help="the corpus; not needed once WORK is prepared")
    parser.add_argument("--work", type=Path, required=True, help="where models and results are kept")
    parser.add_argument("--utterances", type=int, default=100, help="how many recordings are decoded")
    parser.add_argument("--page", type=Path, help="Markdown page whose section is replaced")
    parser.add_argument("--row", help="measure one row in this process (used by the script itself)")
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(Setting(**json.loads(options.row)), options.work)))
        return
    prepare(options.iban, options.work, options.utterances)
    results = [measured(setting, options.work) for setting in SETTINGS]
    print(section(results, options.work))
    write_report(options.out, {"results": results})
    if options.page:
        write_section(options.page, "large-vocabulary", section(results, options.work))


if __name__ == "__main__":
    main()
