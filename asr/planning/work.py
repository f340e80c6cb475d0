"""How much work each step of a training has, counted before any of it is done.

A step's CPU seconds are taken to be ``a × once + b × units``: what it takes once, and what grows with the
corpus. The units are counted from transcripts, lexicon and the headers of recordings (`Amounts`), and from
the step itself, which says what it is made from; `asr.planning.small_runs` finds a and b.

What only a training knows is estimated (`expected_size`): the states that trees tie, by how often each phone
in context is said; their frames, by dividing those of speech among them; the pairs that have machines, by
those that a small training gave, which grow with the power 1.5 of the number of states where only rivals are
paired, and are all pairs otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import ndtr

from acoustic.hmm.topology import Context, Topology, contexts
from acoustic.ways import WAYS
from asr.config import ExperimentConfig
from asr.corpora.amounts import Amount, amount_of
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.speech_data import SpeechData
from asr.corpora.utterances import Utterance
from asr.errors import CorpusError
from asr.spotting.learning import N_LEARNED_FROM
from asr.store import Step
from asr.training.aligned import (
    adapt_and_tie,
    add_adaptation,
    align_speech,
    choose_options,
    find_units,
    start_with_projection,
    train_discriminants,
)
from asr.training.choice import N_CLASSES
from asr.training.fit import N_WRONG_PAIRS, n_wrong_each
from asr.training.gmm import start_mixtures, train_mixtures
from asr.training.heard_words import MOST_FRAMES, choose_units, learn_pronunciations
from asr.training.hybrid import speak_enough
from asr.training.learned_from import (
    N_HEARD,
    choose_fitting,
    find_usable,
    judge_fit,
    judge_others,
    learn_confidence,
    leave_out_fold,
)
from asr.training.recognition import assemble_recognizer, decode_test, hear_commands, tune_decoder
from asr.training.speech import compute_features
from asr.training.task import find_words, prepare, write_grammars
from decoder.lexicon import Lexicon
from features.audio import audio_info
from foundation.arrays import Floats
from foundation.errors import AsrError
from foundation.threads import parallel_map

Group = Literal["task", "features", "missing words", "GMM", "alignment", "discriminants", "tuning", "test"]
GROUPS: tuple[Group, ...] = get_args(Group)

# Recordings of a split whose headers are read; others are taken to be as long on average; by feel.
MOST_HEADERS = 5000

# A context is a leaf of its tree if it has twice the least number of frames; of the others so many frames
# make a leaf, too. AN4 has 225 states where this gives 231, with dev 242 (246), FSDD 96 (96).
_LEAF = 2.0
_N_POSITIONS = 3  # states of a phone
# Deviation of the logarithm of a state's frames: of at most 4,000 frames a state, AN4 has 2,075, FSDD 2,621.
_SPREAD = 0.5
_PAIRS_POWER = 1.5  # of rivals: 5,742 pairs of AN4's 225 states, 1,721 of FSDD's 96, 14,062 of Iban's 400
# The scores of an utterance and its search through any phones cost as much as so many of its transcripts:
# AN4 6, FSDD 9.
_ANY_PHONES = 6.0
_SVM_POWER = 1.32  # libsvm's time by the frames of a pair: docs/results/an4.md, table 4.2, three sizes


@dataclass(frozen=True)
class Amounts:
    """How much a task holds.

    Attributes
    ----------
    corpora : the splits that have utterances, by name
    seconds : for each split the seconds (N,) of each utterance
    lexicon : pronunciations, without those of missing words
    missing : the words of train and dev that the lexicon lacks
    shift_s : seconds from one frame to the next
    """

    corpora: Mapping[str, Corpus]
    seconds: Mapping[str, Floats]
    lexicon: Lexicon
    missing: tuple[str, ...]
    shift_s: float

    @cached_property
    def of_splits(self) -> dict[str, Amount]:
        """Hours, speakers, words and utterances of each split."""
        return {
            split: amount_of(corpus, dict(zip(corpus.ids, self.seconds[split].tolist(), strict=True)))
            for split, corpus in self.corpora.items()
        }

    @cached_property
    def monophones(self) -> Topology:
        """The phones of the lexicon, three states each, and silence."""
        return Topology.monophones(self.lexicon.phones)

    @cached_property
    def context_counts(self) -> Counter[Context]:
        """How often train says each phone in its context, by the first pronunciation of each word."""
        words = Counter(word for u in self.corpora["train"] for word in u.spoken if word in self.lexicon)
        found: Counter[Context] = Counter()
        for word, n in words.items():
            for context in contexts(self.lexicon.pronunciations(word)[0]):
                found[context] += n
        return found

    def n_frames(self, splits: Iterable[str]) -> int:
        """Return the number of frames of some splits, each as often as it is named."""
        return round(sum(float(self.seconds[s].sum()) for s in splits if s in self.seconds) / self.shift_s)

    def n_utterances(self, splits: Iterable[str]) -> int:
        """Return the number of utterances of some splits."""
        return sum(len(self.corpora.get(split, ())) for split in splits)

    def n_words(self, splits: Iterable[str]) -> int:
        """Return the number of words that are said in some splits."""
        return sum(self.of_splits[split].n_words for split in splits if split in self.of_splits)

    def n_frames_with(self, words: Iterable[str]) -> int:
        """Return the number of frames of the utterances of train and dev that have one of some words."""
        wanted = frozenset(words)
        found = 0.0
        for split in (s for s in ("train", "dev") if s in self.corpora):
            has_any = [bool(wanted.intersection(u.words)) for u in self.corpora[split]]
            found += float(self.seconds[split][has_any].sum())
        return round(found / self.shift_s)


def amounts_of(
    corpora: Mapping[str, Corpus], lexicon: Lexicon, missing: Sequence[str], shift_s: float
) -> Amounts:
    """Return how much the splits hold that have utterances; an error if train has nothing to read."""
    used = {split: corpora[split] for split in SPLITS if len(corpora.get(split, ()))}
    seconds = {split: durations(corpus.utterances) for split, corpus in used.items()}
    if "train" not in used or not seconds["train"].sum():
        n = len(used.get("train", ()))
        raise CorpusError(
            f"train has {n} utterance(s), none of which can be read; expected recordings to learn from; "
            "check the corpus (asr validate)"
        )
    return Amounts(used, seconds, lexicon, tuple(missing), shift_s)


def adapts_training(amounts: Amounts) -> bool:
    """Return whether the speakers of train say enough for training to adapt to them, by its own rule."""
    n_frames = np.round(amounts.seconds["train"] / amounts.shift_s).astype(int)
    silence = [np.broadcast_to(np.float32(0), (n, 1)) for n in n_frames]  # which takes no memory
    return speak_enough(SpeechData(amounts.corpora["train"], silence), amounts.shift_s)


def durations(utterances: Sequence[Utterance]) -> Floats:
    """Return the seconds (N,) of utterances, by the headers of their recordings; 0 of what cannot be read."""
    n = len(utterances)
    asked = np.unique(np.linspace(0, n - 1, min(n, MOST_HEADERS)).astype(int)) if n else np.zeros(0, int)
    found = np.full(n, np.nan)
    found[asked] = list(parallel_map(_seconds, [utterances[i] for i in asked]))
    found[np.isnan(found)] = np.nanmean(found) if n else 0.0
    return found


def _seconds(utterance: Utterance) -> float:
    if utterance.end_s is not None:
        return max(utterance.end_s - utterance.start_s, 0.0)
    try:
        return max(audio_info(utterance.audio_path).duration_s - utterance.start_s, 0.0)
    except AsrError:  # it is left out of training, or stops it
        return 0.0


# Sizes of hybrids


@dataclass(frozen=True)
class HybridSize:
    """How large a hybrid is.

    Attributes
    ----------
    states : emission states
    classes : states that have enough frames to learn from
    pairs : pairs of classes that have machines; 0 of ways that have none
    frames_a_pair : mean number of frames that a pair is trained on
    """

    states: int
    classes: int
    pairs: int
    frames_a_pair: float

    @property
    def all_pairs(self) -> int:
        """Number of pairs of the states."""
        return self.states * (self.states - 1) // 2


def expected_size(
    amounts: Amounts,
    config: ExperimentConfig,
    splits: Sequence[str],
    silence_share: float,
    small: HybridSize,
) -> HybridSize:
    """Return how large a hybrid is expected to become.

    Parameters
    ----------
    amounts, config : of the task
    splits : what it is trained on
    silence_share : share of the frames that are silence
    small : what came out of a small training
    """
    n_speech, hybrid = amounts.n_frames(splits) * (1.0 - silence_share), config.hybrid
    topology = amounts.monophones
    n_silent = int((~topology.is_speech()).sum())
    found = state_frames(amounts, config, n_speech)
    n_said = _N_POSITIONS * len({context.phone for context in amounts.context_counts})
    n_unsaid = max(topology.n_states - n_silent - n_said, 0)
    states = n_silent + len(found) + n_unsaid
    most = max(config.tying.most_states(n_speech), topology.n_states)
    if hybrid.units != "phone" and states > most:
        found, states = found * (len(found) / max(most - n_silent - n_unsaid, 1)), most
    trained = found[found * (1 + len(hybrid.warps)) >= hybrid.min_frames] * (1 + len(hybrid.warps))
    classes = min(len(trained), states - n_silent - n_unsaid) + n_silent
    n_all = classes * (classes - 1) // 2
    is_all = small.pairs == small.classes * (small.classes - 1) // 2
    growth = (classes / max(small.classes, 1)) ** _PAIRS_POWER
    pairs = 0 if not small.pairs else n_all if is_all else min(round(small.pairs * growth), n_all)
    each = mean_up_to(hybrid.max_frames, trained) if len(trained) else 0.0
    return HybridSize(states, classes, pairs, 2 * each)


def mean_up_to(most: float, frames: Floats) -> float:
    """Return the mean number of frames of states, of each of which at most so many are taken.

    Each state's number is drawn from a log-normal distribution around what is expected, ``frames`` (K,).
    """
    place = (np.log(most / frames) + _SPREAD**2 / 2) / _SPREAD
    return float(np.mean(frames * ndtr(place - _SPREAD) + most * ndtr(-place)))


def state_frames(amounts: Amounts, config: ExperimentConfig, n_speech: float) -> Floats:
    """Return the frames (K,) of each state of the phones that train says, before any are too many.

    Without trees these are the states of the phones; with them those of phones in context, as `_LEAF` has it.
    """
    counts = amounts.context_counts
    a_token = n_speech / max(counts.total(), 1) / _N_POSITIONS
    of_phones: dict[str, list[float]] = {}
    for context, n in counts.items():
        of_phones.setdefault(context.phone, []).append(n * a_token)
    leaves: list[float] = []
    enough = _LEAF * config.tying.min_frames
    for frames in of_phones.values():
        if config.hybrid.units == "phone":
            leaves.append(sum(frames))
            continue
        few = [n for n in frames if n < enough]
        own = [n for n in frames if n >= enough]
        n_joint = int(sum(few) / enough) if own else max(int(sum(few) / enough), 1)
        leaves += own + [sum(few) / n_joint for _ in range(n_joint)]
    return np.repeat(np.array(leaves, dtype=np.float64), _N_POSITIONS)


# Work of steps


@dataclass(frozen=True)
class Work:
    """How much a step has to do.

    Attributes
    ----------
    units : what its cost grows with
    once : what is done whatever the units are: 1, or the number of pieces that each have a cost of their own
    """

    units: float
    once: float = 1.0


@dataclass(frozen=True)
class Kind:
    """What is known of the steps that one function makes.

    Attributes
    ----------
    group : what its seconds are part of
    unit : what is counted, for people
    count : returns the work of a step, of a task with such amounts, after a hybrid of such a size, if any
    is_shared : whether threads share what grows
    """

    group: Group
    unit: str
    count: Callable[[Step, Amounts, HybridSize | None], Work]
    is_shared: bool = True


def work_of(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    """Return the work of a step; ``size`` is that of the hybrid that it makes or uses."""
    return kind_of(step).count(step, amounts, size)


def kind_of(step: Step) -> Kind:
    """Return what is known of a step by the function that makes it."""
    return _KINDS[step.make]


def splits_of(step: Step) -> tuple[str, ...]:
    """Return the splits whose cepstra a step reads, once for each copy of them.

    A step names them as its inputs: "train", "train 1.07" for a copy with frequencies warped.
    """
    named = (label.partition(" ")[0] for label in step.made_from)
    return tuple(name for name in named if name in SPLITS)


def hybrid_behind(step: Step) -> Step | None:
    """Return the step that trains the hybrid which a step is or uses; None if there is none."""
    if step.make is train_discriminants:
        return step
    return next((found for given in step.made_from.values() if (found := hybrid_behind(given))), None)


def way_section(hybrid: Step) -> str:
    """Return the section with the options of a hybrid's way of training; empty if there is none."""
    way = WAYS.get(hybrid.arguments["way"])
    return "" if way is None else way.section


def _nothing(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(0.0)


def _frames(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_frames(splits_of(step)))


def _own_frames(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_frames([step.arguments["split"]]))


def _words(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_words(step.arguments["splits"]))


def _utterances(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_utterances(splits_of(step)))


def _heard(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    """All of a small model's training data, and the utterances whose missing words are looked for."""
    n_frames = min(amounts.n_frames(splits_of(step)), MOST_FRAMES)
    return Work(n_frames + amounts.n_frames_with(amounts.missing))


def _passes(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    n_passes, n_components = step.arguments["n_iterations"], step.arguments["n_components"]
    return Work(amounts.n_frames(splits_of(step)) * n_passes * n_components)


def _judged(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    """Each utterance with its own transcript, after any phones, and some with those of others."""
    splits = splits_of(step)
    return _with_others(amounts.n_frames(splits), amounts.n_utterances(splits))


def _judged_some(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    splits = splits_of(step)
    n = amounts.n_utterances(splits)
    n_heard = min(n, N_HEARD)
    work = _with_others(amounts.n_frames(splits) * n_heard / max(n, 1), n_heard)
    return Work(work.units * _scored(size))


def _with_others(n_frames: float, n: int) -> Work:
    """Frames, each counted for the search through any phones, for its transcript, and for those of others."""
    n_others = min(n, N_WRONG_PAIRS) * n_wrong_each(n) / max(n, 1)
    return Work(n_frames * (_ANY_PHONES + 1 + n_others))


def _pairs(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    """The machines of pairs, and the frames that these see.

    Where the pairs of a state share its centres, what grows with the frames is done once for each state. Of
    ways that train no pairs, the frames count for each class.
    """
    if size is None or not size.pairs:
        return Work(amounts.n_frames(splits_of(step)) * (size.classes if size else 1))
    n = size.classes if way_section(step) == "pools" else size.pairs
    return Work(n * size.frames_a_pair ** _power(step), size.pairs)


def _few_pairs(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    if size is None:
        return Work(amounts.n_frames(splits_of(step)))
    few = min(size.classes, N_CLASSES)
    n_pairs = max(few * (few - 1) // 2, 1)
    return Work(
        (few if way_section(step) == "pools" else n_pairs) * size.frames_a_pair ** _power(step), n_pairs
    )


def _power(step: Step) -> float:
    return _SVM_POWER if way_section(step) == "svm" else 1.0


def _tuned(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    """Frames of dev for each grammar, and for the words that were not spoken, of which some are enough."""
    splits = splits_of(step)
    n_words, n_grammars = amounts.n_words(splits), len(step.arguments["names"])
    rejection = min(1.0, N_LEARNED_FROM / n_words) if n_words and step.arguments["learns_rejection"] else 0.0
    return Work(amounts.n_frames(splits) * (n_grammars + rejection) * _scored(size))


def _decoded(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_frames(splits_of(step)) * len(step.arguments["names"]) * _scored(size))


def _heard_again(step: Step, amounts: Amounts, size: HybridSize | None) -> Work:
    return Work(amounts.n_frames(splits_of(step)) * _scored(size))


def _scored(size: HybridSize | None) -> float:
    """Return how many pairs score a class.

    It is 1 of mixtures and one-vs-rest models, and where rivals are paired: a frame is scored by the pairs of
    the few classes that come near it, whatever their number.
    """
    if size is None or not size.classes or size.pairs < size.classes * (size.classes - 1) // 2:
        return 1.0
    return max(size.pairs, 1) / size.classes


_KINDS: Mapping[Callable[..., Any], Kind] = {
    prepare: Kind("task", "made", _nothing),
    find_words: Kind("task", "made", _nothing),
    compute_features: Kind("features", "frames", _own_frames),
    learn_pronunciations: Kind("missing words", "frames", _heard),
    choose_units: Kind("GMM", "frames", _heard),
    write_grammars: Kind("task", "words", _words, is_shared=False),
    find_usable: Kind("GMM", "utterances", _utterances, is_shared=False),
    leave_out_fold: Kind("task", "utterances", _utterances, is_shared=False),
    start_mixtures: Kind("GMM", "frames", _frames, is_shared=False),
    start_with_projection: Kind("GMM", "frames", _frames, is_shared=False),
    train_mixtures: Kind("GMM", "frames × passes × Gaussians", _passes),
    judge_fit: Kind("alignment", "frames × transcripts", _judged),
    judge_others: Kind("alignment", "frames × transcripts", _judged),
    choose_fitting: Kind("alignment", "utterances", _utterances, is_shared=False),
    align_speech: Kind("alignment", "frames", _frames),
    find_units: Kind("alignment", "frames", _frames),
    learn_confidence: Kind("alignment", "frames × transcripts × pairs of a class", _judged_some),
    adapt_and_tie: Kind("discriminants", "frames", _frames),
    choose_options: Kind("discriminants", "frames of pairs", _few_pairs),
    train_discriminants: Kind("discriminants", "frames of pairs", _pairs),
    add_adaptation: Kind("discriminants", "frames", _frames, is_shared=False),
    tune_decoder: Kind("tuning", "frames × grammars × pairs of a class", _tuned),
    assemble_recognizer: Kind("task", "once", _nothing),
    hear_commands: Kind("tuning", "frames × pairs of a class", _heard_again),
    decode_test: Kind("test", "frames × grammars × pairs of a class", _decoded),
}
