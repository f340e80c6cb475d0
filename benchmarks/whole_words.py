"""Whole-word models beside letters, for words and commands without a dictionary, from few takes of each.

    python benchmarks/whole_words.py --fsdd ../shared/data/fsdd

Sets: FSDD's digits by each speaker alone and by all six, the words of the demo by its voices, and twenty
commands of a home, by one voice and by those of the demo; the last three are synthetic (espeak-ng). Of each
word or command some takes are drawn, the same for all models. Tested on takes of FSDD's official test set, of
the demo's test voices, and on takes of the one voice that nothing was trained on: which of all words or
commands is spoken. ``hmmlearn`` is one GaussianHMM for each word or command, left to right, with as many
states as our whole words have and two of silence, on the same frames.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
from hmmlearn.hmm import GaussianHMM
from report import argument_parser, print_table, write_report

from acoustic.emissions.aligned_frames import HybridConfig
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from acoustic.model import AcousticModel
from acoustic.pairs.train_pools import PoolsConfig
from asr import train
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData, compute_cepstra
from asr.language.pronunciations import spelled
from asr.recognizer import Recognizer
from asr.spotting.rejection import USUAL_REJECTION
from asr.training.gmm import fit_front_end, start_flat, train_components
from asr.training.heard_words import held_out_errors, n_units_of
from asr.training.hybrid import context_units, hybrid_front_end, train_hybrid
from benchmarks.papers.layout import table, write_section
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from features.frontend import FrontEndConfig
from features.mfcc import MfccConfig
from recipes import demo, fsdd
from recipes.demo_corpus import SAMPLE_RATE as DEMO_RATE
from recipes.demo_corpus import (
    DemoCorpusConfig,
    PlannedUtterance,
    Speaker,
    babble_noise,
    draw_speakers,
    render,
)
from recipes.espeak import EspeakVoice

COMMANDS = (
    "light on",
    "light off",
    "fan on",
    "fan off",
    "heating on",
    "heating off",
    "radio on",
    "radio off",
    "open door",
    "close door",
    "open window",
    "close window",
    "louder",
    "quieter",
    "stop",
    "help me",
    "good night",
    "call my sister",
    "what time is it",
    "all lights off",
)
WARPS = HybridConfig().warps
MIXTURES = (1, 2, 4, 8)
_TEST_TAKES = 5


@dataclass(frozen=True)
class Task:
    """A set: recordings with cepstra, plain and warped, and which of them are for testing."""

    name: str
    config: FrontEndConfig
    copies: tuple[SpeechData, ...]
    tested: frozenset[str]

    @property
    def data(self) -> SpeechData:
        return self.copies[0]

    @property
    def sentences(self) -> list[tuple[str, ...]]:
        return sorted({u.words for u in self.data.corpus})

    def of_speakers(self, name: str, speakers: Sequence[str]) -> Task:
        others = {u.utterance_id for u in self.data.corpus if u.speaker not in speakers}
        return replace(self, name=name, copies=tuple(copy.without(others) for copy in self.copies))

    def test(self) -> SpeechData:
        return self.data.without(set(self.data.corpus.ids) - self.tested)

    def drawn(self, n_takes: int, seed: int) -> tuple[SpeechData, ...]:
        """Return some takes of each word or command, drawn at random, and warped copies of them."""
        rng, takes = np.random.default_rng(seed), {}
        for u in self.data.corpus:
            if u.utterance_id not in self.tested:
                takes.setdefault(u.words, []).append(u.utterance_id)
        chosen = {take for words in sorted(takes) for take in rng.permutation(takes[words])[:n_takes]}
        return tuple(copy.without(set(copy.corpus.ids) - chosen) for copy in self.copies)


def task_of(name: str, utterances: Sequence[Utterance], tested: set[str], rate: int) -> Task:
    """Return a set with its cepstra."""
    config, corpus = FrontEndConfig(MfccConfig(sample_rate=rate), "speaker"), Corpus(tuple(utterances))
    warped = [replace(config, mfcc=replace(config.mfcc, warp=warp)) for warp in (1.0, *WARPS)]
    return Task(name, config, tuple(compute_cepstra(corpus, w) for w in warped), frozenset(tested))


def tasks(fsdd_dir: Path, directory: Path, names: Sequence[str]) -> Iterator[Task]:
    """Yield the sets whose names are wanted."""
    if "fsdd" in names:
        yield from digits(fsdd_dir)
    voices = [v for v in draw_speakers(0) if v.split != "dev"]
    words = [tuple(w.split()) for w in COMMANDS]
    if "demo" in names:
        some = [
            *[v for v in voices if v.split == "train"][:12],
            *[v for v in voices if v.split == "test"][:4],
        ]
        yield voiced("demo's words", [(w.lower(),) for w in demo_words()], some, directory / "demo")
    if "commands" in names:
        yield voiced("commands, 35 voices", words, voices, directory / "commands")
    if "voice" in names:
        yield voiced("commands, one voice", words, list(takes_of_one_voice()), directory / "voice")


def digits(fsdd_dir: Path) -> Iterator[Task]:
    """Yield FSDD's digits by each speaker, and by all."""
    utterances, tested = [], set()
    for path in sorted((fsdd_dir / "recordings").glob("*.wav")):
        digit, speaker, index = path.stem.split("_")
        utterance_id = f"{speaker}_{digit}_{int(index):02d}"
        utterances.append(Utterance(utterance_id, path, (fsdd.DIGITS[int(digit)].lower(),), speaker))
        if fsdd.part_of(int(index)) == "test":
            tested.add(utterance_id)
    whole = task_of("digits, six speakers", utterances, tested, 8000)
    for speaker in whole.data.corpus.speakers:
        yield whole.of_speakers(f"digits, {speaker}", [speaker])
    yield whole


def demo_words() -> list[str]:
    """Return every word of the demo."""
    return sorted({entry.split()[0] for entry in demo.PRONUNCIATIONS.replace(";", "\n").strip().split("\n")})


def takes_of_one_voice() -> Iterator[Speaker]:
    """Yield one voice, which speaks a little higher, lower, faster or slower each time."""
    rng = np.random.default_rng(1)
    for n in range(15 + _TEST_TAKES):
        voice = EspeakVoice(
            "en-gb-scotland", "f2", pitch=int(rng.integers(42, 59)), rate_wpm=int(rng.integers(145, 200))
        )
        yield Speaker(f"t{n:02d}", "train" if n < 15 else "test", voice)


def voiced(
    name: str, sentences: Sequence[tuple[str, ...]], voices: Sequence[Speaker], directory: Path
) -> Task:
    """Return sentences as voices of espeak-ng say them, in noise as the demo has it."""
    config = DemoCorpusConfig()
    plans = [
        PlannedUtterance(n, voice, words, Path(f"{voice.name}-{k:03d}.wav"))
        for n, (voice, (k, words)) in enumerate((v, kw) for v in voices for kw in enumerate(sentences))
    ]
    trained = [plan for plan in plans if plan.speaker.split == "train"]
    babble = babble_noise(trained[: max(400, 10 * len(sentences))], config.seed)  # of ten voices at least
    directory.mkdir(parents=True)
    utterances = []
    is_one = len({plan.speaker.voice.variant for plan in plans}) == 1
    for plan in plans:
        soundfile.write(directory / plan.wav_path, render(plan, babble, config), DEMO_RATE)
        speaker = "one" if is_one else plan.speaker.name
        utterances.append(Utterance(plan.utterance_id, directory / plan.wav_path, plan.words, speaker))
    tested = {plan.utterance_id for plan in plans if plan.speaker.split == "test"}
    return task_of(name, utterances, tested, DEMO_RATE)


# Models


def gmm_of(data: SpeechData, config: FrontEndConfig, lexicon: Lexicon) -> AcousticModel:
    """Return the mixtures that ``asr train --model gmm`` trains."""
    gmm = GmmConfig()
    model = start_flat(data, fit_front_end(config, data), lexicon)
    for n_components, n_iterations in zip(MIXTURES, gmm.iterations, strict=True):
        model, _ = train_components(data, model, lexicon, n_components, n_iterations, gmm)
    return model


def pools_of(copies: Sequence[SpeechData], aligner: AcousticModel, lexicon: Lexicon) -> AcousticModel:
    """Return the discriminants that ``asr train --model pools`` trains, before they adapt to speakers."""
    hybrid = HybridConfig()
    units = context_units(copies[0], aligner, lexicon, GmmConfig().beam, TyingConfig(), False)
    projected = replace(
        aligner.front_end.config, projection="lda", context=6, n_components=60, keep_cepstra=True
    )
    front_end = hybrid_front_end(copies, units, projected)
    return train_hybrid("pools", copies, units, front_end, hybrid, PoolsConfig(), aligner)


def recognised(model: AcousticModel, lexicon: Lexicon, task: Task) -> float:
    """Return the percentage of words or commands that are recognised."""
    grammar, test = WordPairGrammar.from_sentences(task.sentences), task.test()
    decoder = Decoder(lexicon, grammar, model.topology, DecoderConfig(frame_shift_s=0.01))
    frames = model.front_end.transform(list(test.cepstra), test.speakers)
    right = [
        decoder.decode(model.scores(f)).text == u.words for u, f in zip(test.corpus, frames, strict=True)
    ]
    return 100 * mean(right)


def recognised_by_hmmlearn(data: SpeechData, model: AcousticModel, lexicon: Lexicon, task: Task) -> float:
    """Return the same for a GaussianHMM of each word or command, with as many states as the lexicon has."""
    frames, takes = model.front_end.transform(list(data.cepstra), data.speakers), {}
    for utterance, own in zip(data.corpus, frames, strict=True):
        takes.setdefault(utterance.words, []).append(own)
    hmms = {}
    for words, own in takes.items():
        n_units = sum(len(lexicon.pronunciations(word)[0]) for word in words)
        hmms[words] = left_to_right([f.astype(np.float64) for f in own], 3 * n_units + 2)
    test = task.test()
    right = []
    tested = model.front_end.transform(list(test.cepstra), test.speakers)
    for utterance, own in zip(test.corpus, tested, strict=True):
        scores = {words: hmm.score(own.astype(np.float64)) for words, hmm in hmms.items()}
        right.append(max(scores, key=scores.__getitem__) == utterance.words)
    return 100 * mean(right)


def left_to_right(takes: Sequence[np.ndarray], n_states: int) -> GaussianHMM:
    """Return a chain of Gaussians, which begins with takes cut into equal parts.

    Transitions stay as they begin: those of states that few frames reach end in no numbers.
    """
    n_states = min(n_states, min(map(len, takes)))
    hmm = GaussianHMM(n_states, "diag", n_iter=12, init_params="", params="mc", min_covar=0.01)
    hmm.startprob_ = np.eye(n_states)[0]
    hmm.transmat_ = 0.6 * np.eye(n_states) + 0.4 * np.eye(n_states, k=1)
    hmm.transmat_[-1, -1] = 1.0
    parts = [np.array_split(take, n_states) for take in takes]
    cut = [np.concatenate([own[k] for own in parts]) for k in range(n_states)]
    hmm.means_ = np.array([part.mean(axis=0) for part in cut])
    hmm.covars_ = np.array([np.maximum(part.var(axis=0), 0.05) for part in cut])
    return hmm.fit(np.concatenate(takes), [len(take) for take in takes])


def measured(task: Task, n_takes: int, seed: int, with_pools: bool) -> dict[str, float]:
    """Return the percentages recognised of one draw, by model."""
    copies, found = task.drawn(n_takes, seed), {}
    words = {word for sentence in task.sentences for word in sentence}
    letters = spelled(words)
    aligner = gmm_of(copies[0], task.config, letters)
    whole = Lexicon.of_wholes(n_units_of(copies[0], aligner, letters, GmmConfig().beam))
    for name, lexicon in (("letters", letters), ("words", whole)):
        model = aligner if name == "letters" else gmm_of(copies[0], task.config, lexicon)
        found[f"gmm, {name}"] = recognised(model, lexicon, task)
        if with_pools:
            found[f"pools, {name}"] = recognised(pools_of(copies, model, lexicon), lexicon, task)
    found["words"] = sum(len(u.spoken) for u in copies[0].corpus)
    found["wrong held out, letters"], found["wrong held out, words"] = (
        held_out_errors(copies[0], lexicon, task.config, GmmConfig()) for lexicon in (letters, whole)
    )
    found["hmmlearn"] = recognised_by_hmmlearn(copies[0], aligner, whole, task)
    return found


def rejected(fsdd_dir: Path, directory: Path, n_draws: int) -> Iterator[tuple]:
    """Yield rows: digits 0 to 4 by two speakers are learned, of others 0 to 4 and 5 to 9 are recognised."""
    speakers, tests = ("george", "theo"), [*product(("george", "theo"), range(10), range(8))]
    for n_takes, model, units in product((6, 15), ("gmm", "pools"), ("letters", "words")):
        kept = taken = n_learned = 0
        for seed in range(n_draws):
            place = directory / f"{n_takes}-{seed}"
            takes = np.random.default_rng(seed).permutation(np.arange(10, 50))[:n_takes]
            for speaker, digit, take in product(speakers, range(5), takes):
                stem = place / "takes" / speaker / f"{fsdd.DIGITS[digit].lower()}-{take}"
                stem.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(fsdd_dir / "recordings" / f"{digit}_{speaker}_{take}.wav", f"{stem}.wav")
                Path(f"{stem}.txt").write_text(f"{fsdd.DIGITS[digit].lower()}\n", encoding="utf-8")
            settings, out = (f"without_lexicon={units}", "sample_rate=8000"), place / units
            train("folder", corpus=place / "takes", out=out, models=[model], settings=settings)
            recognizer = Recognizer.load(out, model).with_rejection()
            n_learned += (out / "models" / model / USUAL_REJECTION).exists()
            for speaker, digit, take in tests:
                found = recognizer.transcribe(fsdd_dir / "recordings" / f"{digit}_{speaker}_{take}.wav").text
                kept += found == (fsdd.DIGITS[digit].lower(),) and digit < 5
                taken += bool(found) and digit >= 5
        n = n_draws * len(tests) // 2
        rule = f"{n_learned} of {n_draws}"
        yield n_takes, model, units, rule, f"{kept} of {n}", f"{taken} of {n}"


COLUMNS = ("gmm, letters", "gmm, words", "pools, letters", "pools, words", "hmmlearn")
HEAD = ("set", "takes", "draws", *COLUMNS, "held out: letters", "words", "auto takes")
HEAD_REJECTION = ("takes", "model", "learned as", "rule learned", "right words kept", "other words taken")


def row(results: Sequence[dict], name: str, n_takes: int) -> tuple:
    """Return means over the draws, and what training takes by the words of each draw that are held out."""
    own = [r for r in results if (r["set"], r["takes"]) == (name, n_takes)]
    means = [mean(r[c] for r in own if c in r) if any(c in r for r in own) else None for c in COLUMNS]
    wrong = [(r["wrong held out, letters"], r["wrong held out, words"]) for r in own]
    of_words = sum(words <= letters for letters, words in wrong)
    sums = (f"{sum(each)} of {sum(r['words'] for r in own)}" for each in zip(*wrong, strict=True))
    return name, n_takes, len(own), *means, *sums, f"words {of_words} of {len(own)}"


def _said(value: object) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--fsdd", type=Path, required=True, help="the free spoken digits")
    parser.add_argument("--sets", nargs="*", default=["fsdd", "voice", "commands", "demo", "rejection"])
    parser.add_argument("--takes", type=int, nargs="*", default=[3, 5, 10], help="of each word or command")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--draws-pools", type=int, default=1, help="of which discriminants are trained, too")
    parser.add_argument("--page", type=Path, help="Markdown page whose sections are replaced")
    options = parser.parse_args()
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # of gains in the seventh digit
    results, rows = [], []
    with TemporaryDirectory() as name:
        for task in tasks(options.fsdd, Path(name), options.sets):
            for n_takes in options.takes:
                for seed in range(options.draws):
                    found = measured(task, n_takes, seed, seed < options.draws_pools)
                    results.append({"set": task.name, "takes": n_takes, "draw": seed, **found})
                rows.append(row(results, task.name, n_takes))
                print_table(HEAD, rows[-1:])
                write_report(options.out, {"results": results})
        of_rejection = (
            list(rejected(options.fsdd, Path(name), options.draws)) if "rejection" in options.sets else []
        )
        print_table(HEAD_REJECTION, of_rejection)
    write_report(options.out, {"results": results, "rejection": of_rejection})
    if options.page:
        name = ", ".join(options.sets)
        for section, title, head, found in (
            (f"sets {name}", f"Recognised, % ({name})", HEAD, rows),
            ("rejection", "With `--reject`", HEAD_REJECTION, of_rejection),
        ):
            if found:
                cells = [tuple(map(_said, cells)) for cells in found]
                write_section(options.page, section, table(title, head, cells))


if __name__ == "__main__":
    main()
