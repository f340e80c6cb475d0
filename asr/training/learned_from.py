"""The steps that say what is learned from: usable utterances, and of these what fits its transcript."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from acoustic.alignment import Alignment
from acoustic.hmm.training import GmmConfig
from acoustic.model import load_model
from asr.corpora.problems import leave_out
from asr.corpora.sound_faults import sound_faults, sounds
from asr.corpora.speech_data import SpeechData
from asr.corpora.wording import (
    check_lexicon_belongs,
    is_all_unknown,
    named_unknown,
    unknown_words,
    unknown_words_note,
)
from asr.formats.model_directories import FitCurves, load_curves, save_curves
from asr.training.fit import (
    TOO_FEW,
    Heard,
    find_suspicious,
    fit_curves,
    hear,
    hear_apart,
    read_suspicious,
    write_suspicious,
)
from asr.training.speech import LEXICON, Speech, read_left_out, read_lexicon, read_speech, write_left_out
from decoder.lexicon import Lexicon, Pronunciation, Usage
from foundation.errors import listed

_SMOOTHING = 2.0  # words that behave as the average one, for each word (λ₂ = λ₃ of the paper)
_SMOOTHING_OF_VARIANTS = 1.0  # times that each pronunciation counts more than it was heard (λ₁)
N_HEARD = 100  # utterances that say how confident words of a model's alignments are; by feel

_N_HINTS = 10  # utterances whose unknown words are named with what they may be misspelled for; by feel

Variant = tuple[str, Pronunciation]

logger = logging.getLogger(__name__)


def find_usable(directory: Path, speech: Speech, *, split: str, most_unusable: float, n_all: int) -> None:
    """Write which utterances cannot be learned from: those of a split, and what is left out before.

    Only in train can an unusable utterance be an error. What may be unusable is a share of ``n_all``, the
    utterances of all splits.
    """
    shared = ("task", "words", "lexicon")
    data = read_speech({name: speech[name] for name in (*shared, split)})
    is_train = split == "train"
    before = read_left_out(speech["left_out"]) if "left_out" in speech else frozenset[str]()
    usable = usable_for_training(
        data,
        read_lexicon(speech),
        most_left_out=most_unusable if is_train else 1.0,
        n_all=n_all,
        needed=is_train,
    )
    write_left_out(directory, before | (set(data.corpus.ids) - set(usable.corpus.ids)))


def leave_out_fold(directory: Path, speech: Speech, *, fold: int, n_folds: int) -> None:
    """Write which utterances are left out of a training that shall not know a fold of them.

    The utterances of one text are dealt to the folds in turn, so that every fold has some of each text.
    """
    rest = read_left_out(speech["left_out"])
    mine, before = set[str](), Counter[tuple[str, ...]]()
    for utterance in read_speech(speech).corpus:
        if before[utterance.words] % n_folds == fold:
            mine.add(utterance.utterance_id)
        before[utterance.words] += 1
    write_left_out(directory, rest | mine)


def usable_for_training(
    data: SpeechData,
    lexicon: Lexicon,
    *,
    most_left_out: float = 0.0,
    n_all: int | None = None,
    needed: bool = True,
) -> SpeechData:
    """Return the utterances of which a word is known at least.

    The log names the problems of the others; if these are more than the share ``most_left_out`` of all
    (``n_all``, with those of other parts), or all
    where some are ``needed``, one error does. It also names the unknown words of the utterances that are
    returned; where words are ``needed``, more unknown than known ones are an error.
    """
    if needed:
        check_lexicon_belongs(data.corpus, lexicon)
    problems = {u.utterance_id: "empty transcript, expected words" for u in data.corpus if not u.words}
    for n, utterance in enumerate(u for u in data.corpus if is_all_unknown(u, lexicon)):
        # A hint is a search of the whole lexicon: only the first have any.
        unknown = unknown_words([utterance.words], lexicon)
        words = (
            named_unknown(unknown, lexicon)
            if n < _N_HINTS
            else listed([f'"{word}"' for word in sorted(unknown)])
        )
        problems[utterance.utterance_id] = f"no word of it is in lexicon.txt: {words}"
    what, lines = "transcripts cannot be trained on", [f"{i}: {problem}" for i, problem in problems.items()]
    n_most = most_left_out * (len(data.corpus) if n_all is None else n_all)
    leave_out(what, lines, len(problems), len(data.corpus), most_left_out, n_most, needed=needed)
    usable = data.without(problems)
    if message := unknown_words_note([u.words for u in usable.corpus], lexicon):
        logger.warning("%s", message)
    return usable


def judge_fit(directory: Path, speech: Speech, model: Path, *, gmm: GmmConfig, shift_s: float) -> None:
    """Write which utterances are suspicious, and how probable words are, by who has not learned from them."""
    data, lexicon = read_speech(speech), read_lexicon(speech)
    heard = hear_apart(data, load_model(model), lexicon, gmm)
    _write_judgement(directory, data, heard, fit_curves(heard), shift_s)
    said = [(h.words, h.alignment) for h in heard if h.alignment is not None]
    as_used(lexicon, said).write(directory / LEXICON)


def as_used(lexicon: Lexicon, said: Iterable[tuple[Sequence[str], Alignment]]) -> Lexicon:
    """Return the lexicon with the usage of its pronunciations in transcripts that are aligned.

    Silences are counted between words: behind a word, and before one beside as many as the words before it
    let expect. G. Chen et al. 2015, see `decoder.lexicon.Usage`, with counts instead of lattices. A word that
    was not heard keeps the usage that the lexicon gives it.
    """
    variants, after, before = Counter[Variant](), Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
    pairs = Counter[tuple[str, str]]()
    for words, alignment in said:
        for segment, variant in zip(alignment.words, alignment.variants, strict=True):
            if variant >= 0 and words[segment.index] in lexicon:
                word = words[segment.index]
                variants[word, lexicon.pronunciations(word)[variant]] += 1
        for one, other in pairwise(alignment.words):
            word, following = words[one.index], words[other.index]
            if word in lexicon and following in lexicon:
                pauses = one.end < other.start
                after[word, pauses] += 1
                before[following, pauses] += 1
                pairs[word, following] += 1
    overall = sum(n for (_, pauses), n in after.items() if pauses) / max(after.total(), 1)
    silence_after = {
        word: (after[word, True] + _SMOOTHING * overall)
        / (after[word, True] + after[word, False] + _SMOOTHING)
        for word in lexicon
    }
    expected = dict.fromkeys(lexicon, 0.0)  # silences before each word
    for (word, following), n in pairs.items():
        expected[following] += n * silence_after[word]
    usage = {}
    for word in lexicon:
        ways = lexicon.pronunciations(word)
        most = max(variants[word, way] for way in ways)
        n_before, silent = before[word, True] + before[word, False], expected[word]
        for way in ways:
            if not most and (word, way) in lexicon.usage:
                usage[word, way] = lexicon.usage[word, way]
                continue
            usage[word, way] = Usage(
                (variants[word, way] + _SMOOTHING_OF_VARIANTS) / (most + _SMOOTHING_OF_VARIANTS),
                silence_after[word] if pairs else None,
                (before[word, True] + _SMOOTHING) / (silent + _SMOOTHING),
                (before[word, False] + _SMOOTHING) / (n_before - silent + _SMOOTHING),
            )
    return Lexicon(dict(lexicon.entries), guessed=lexicon.guessed, usage=usage)


def judge_others(
    directory: Path, speech: Speech, others: Speech, model: Path, fit: Path, *, gmm: GmmConfig, shift_s: float
) -> None:
    """Write which utterances of a split are suspicious that nothing is learned from."""
    data, lexicon = read_speech(others), read_lexicon(speech)
    heard = hear_apart(read_speech(speech), load_model(model), lexicon, gmm, others=data)
    curves = fit_curves(heard) if len(heard) >= TOO_FEW else load_curves(fit)
    _write_judgement(directory, data, heard, curves, shift_s)


def _write_judgement(
    directory: Path, data: SpeechData, heard: Sequence[Heard], curves: FitCurves, shift_s: float
) -> None:
    faults = sound_faults(sounds(data.corpus))
    save_curves(curves, directory)
    write_suspicious(find_suspicious(data, heard, curves, faults, shift_s), len(data.corpus), directory)


def choose_fitting(directory: Path, left_out: Path, fit: Path, *, most_unusable: float) -> None:
    """Write what is not learned from: what is unusable, and what is far off unless that is too much."""
    found, n_utterances = read_suspicious(fit)
    far_off = {s.utterance_id: str(s) for s in found if s.is_far_off}
    n_unfit = len(far_off) if len(far_off) <= most_unusable * n_utterances else 0
    what = "transcripts are far from what is heard (asr validate EXP --suspicious)"
    leave_out(what, list(far_off.values()), n_unfit, n_utterances, most_unusable)
    before = read_left_out(left_out)
    write_left_out(directory, before | set(far_off) if n_unfit else before)


def learn_confidence(directory: Path, speech: Speech, model: Path, *, beam: float) -> None:
    """Write how probable words are by how well they fit a model, from some of its training data."""
    data, trained = read_speech(speech), load_model(model)
    heard = hear(data, trained, read_lexicon(speech), beam, n_utterances=N_HEARD)
    save_curves(fit_curves(heard), directory)
