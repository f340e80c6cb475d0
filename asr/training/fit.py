"""How well the transcripts of a corpus fit their recordings, and which look as if something were wrong.

Who has learned a wrong transcript believes it. So each utterance is judged by a model that has not learned
from it: the corpus is divided into folds, and for each a mixture model forgets the fold in a few passes of
training without it (`hear_apart`). That model aligns the utterance with its transcript, and finds words for
it without knowing the transcript; the measure is by how much the transcript scores less than those words. In
hours of speech one utterance more or less is not noticed: there the model that has heard all judges, by the
margins of words (`acoustic.alignment`).

Some utterances are aligned with the transcripts of others that have about as many phones, too. From both
groups a curve learns what transcripts score that were not spoken.

A transcript is suspicious if it more probably does not belong to its recording than it does; it is far off if
a hundred to one speak against it, or three times as many to one as the corpus has utterances if these are
more; among fewer than fifty utterances, a thousand to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from acoustic.alignment import (
    PRIOR_WRONG,
    Alignment,
    Margins,
    Segment,
    align,
    fit_curve,
    loop_scores,
    margins,
)
from acoustic.errors import AlignmentError
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import loop_graph, utterance_graph
from acoustic.hmm.training import GmmConfig, train_stage
from acoustic.model import AcousticModel
from asr.corpora.speech_data import BLOCK_UTTERANCES, SpeechData
from asr.corpora.utterances import Utterance
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from asr.formats.model_directories import FitCurves
from asr.progress import progress_bar
from asr.training.gmm import acoustic_model, gmm_hmm, start_flat, train_components, training_utterances
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.grammar import WordLoop
from decoder.lexicon import Lexicon
from foundation.arrays import Floats, Reals, Singles
from foundation.blocks import block_map
from foundation.records import record_of
from foundation.sequences import kept

N_WRONG_PAIRS = 600  # enough for a curve; by feel
_MOST_WRONG = 4  # for each utterance; by feel
# How many utterances of nearly the same number of phones a wrong transcript is drawn from; by feel.
_N_NEAR = 25

# Up to an hour, utterances are judged by models that have not learned from them; what it does at which size:
# docs/results/suspicious.md.
MOST_APART = 360_000
_N_FOLDS, _FEW, _N_FOLDS_OF_FEW = 4, 200, 10  # few utterances need all there are to learn from; by feel
_N_FORGETTING = 3  # passes of training without a fold; by feel
_FRAMES_OF_GAUSSIAN = 60  # at least; by feel
_FLOOR = 0.3  # of variances of a model of little speech; 0.1 and 0.01 find less (FSDD, 100 utterances)
_WORD_PENALTY = -20.0  # of words that are found freely; by feel
_MOST_WRONG_SHARE = 0.5  # of the transcripts, where models judge that have not learned from them; by feel
TOO_FEW = 50  # utterances, below which the rest is not said to be right; by feel

SUSPICIOUS = "suspicious.json"
# Probability below which a transcript is not learned from; by feel, what it does: docs/results/suspicious.md.
FAR_OFF = 0.01
_FAR_OFF_OF_FEW = 0.001  # by feel
_MOST_BY_CHANCE = 0.3  # right utterances that are far off in a corpus; two of FSDD are with 1
_DOUBTFUL = 0.5  # by feel
_LONG_S, _LONG_DEVIATIONS = 1.0, 6.0  # a word is too long only if both are passed
_N_NAMED = 5  # by feel

Words = tuple[str, ...]


@dataclass(frozen=True)
class Heard:
    """How well an utterance fits its own transcript, and those of other utterances.

    Attributes
    ----------
    words : its own transcript
    alignment, right : with its own transcript; None where there is no path, or no word that is known
    wrong : words and margins of each of the others that could be aligned
    freely : words that are heard without knowing the transcript; None where nobody has listened
    """

    words: Words
    alignment: Alignment | None
    right: Margins | None
    wrong: tuple[tuple[Words, Margins], ...]
    freely: Words | None = None


def hear(
    data: SpeechData,
    model: AcousticModel,
    lexicon: Lexicon,
    beam: float,
    *,
    n_utterances: int | None = None,
) -> list[Heard]:
    """Return how well transcripts fit, of all utterances or of some that lie evenly in the corpus."""
    chosen = _evenly(len(data.corpus), n_utterances)
    frames = model.front_end.transformed(data.cepstra, data.speakers)
    partners = _partners([u.words for u in data.corpus], lexicon, chosen)
    return _hear(data, frames, model, lexicon, beam, chosen, partners)


def hear_apart(
    data: SpeechData,
    model: AcousticModel,
    lexicon: Lexicon,
    config: GmmConfig,
    others: SpeechData | None = None,
) -> list[Heard]:
    """Return how well all transcripts fit, each by a model that has not learned from it.

    Parameters
    ----------
    data : what the model was trained on
    model : mixtures; of little speech others with fewer Gaussians are trained in its place
    lexicon : pronunciations
    config : how mixtures are trained
    others : utterances that the model was not trained on; given these, they are judged and not ``data``
    """
    n_frames = sum(data.n_frames)
    if n_frames > MOST_APART:
        return hear(data if others is None else others, model, lexicon, config.beam)
    model, config = _of_size(data, model, lexicon, config)
    known = [word for word in {w for u in data.corpus for w in u.words} if word in lexicon]
    decoder = Decoder(
        lexicon.restricted_to(known),
        WordLoop(known),
        model.topology,
        DecoderConfig(word_penalty=_WORD_PENALTY, frame_shift_s=model.front_end.frame_shift_s),
    )
    judged = data if others is None else others
    numbers = range(len(judged.corpus))
    partners = _partners([u.words for u in judged.corpus], lexicon, numbers)
    frames = model.front_end.transformed(judged.cepstra, judged.speakers)
    if others is not None:
        return _hear(others, frames, model, lexicon, config.beam, numbers, partners, decoder)
    utterances = training_utterances(data, kept(frames), lexicon, model.topology)
    found: dict[int, Heard] = {}
    for fold in _folds(len(judged.corpus)):
        rest = [utterances[n] for n in sorted(set(numbers).difference(fold))]
        apart = acoustic_model(model.front_end, train_stage(gmm_hmm(model), rest, _N_FORGETTING, config))
        heard = _hear(data, frames, apart, lexicon, config.beam, fold, partners, decoder)
        found |= zip(fold, heard, strict=True)
    return [found[n] for n in numbers]


def _of_size(
    data: SpeechData, model: AcousticModel, lexicon: Lexicon, config: GmmConfig
) -> tuple[AcousticModel, GmmConfig]:
    """Return the model, or one of as many Gaussians as there are frames for, and how to train it."""
    most = sum(data.n_frames) / (_FRAMES_OF_GAUSSIAN * model.topology.n_states)
    n_own = model.emissions.n_components if isinstance(model.emissions, GmmModel) else 1
    if n_own <= most or n_own == 1:
        return model, config
    smaller = replace(config, variance_floor=max(config.variance_floor, _FLOOR))
    found = start_flat(data, model.front_end, lexicon)
    for stage, n_components in enumerate(config.mixtures):
        if stage == 0 or n_components <= most:
            n_iterations = config.iterations[min(stage, len(config.iterations) - 1)]
            found, _ = train_components(data, found, lexicon, n_components, n_iterations, smaller)
    return found, smaller


def _folds(n: int) -> list[list[int]]:
    """Return some numbers below n in random parts of about the same size."""
    n_folds = min(_N_FOLDS_OF_FEW if n < _FEW else _N_FOLDS, n)
    order = np.random.default_rng(0).permutation(n)
    return [sorted(order[k::n_folds].tolist()) for k in range(n_folds)]


def _hear(
    data: SpeechData,
    frames: Sequence[Singles],
    model: AcousticModel,
    lexicon: Lexicon,
    beam: float,
    chosen: Sequence[int],
    partners: Mapping[int, Sequence[int]],
    decoder: Decoder | None = None,
) -> list[Heard]:
    """Return how well some transcripts fit; with a decoder, beside the words that it finds."""
    texts, loop = [u.words for u in data.corpus], loop_graph(model.topology)

    def one(n: int) -> Heard:
        scores = model.scores(frames[n])
        of_loop = loop_scores(scores, loop, model.topology, beam)
        freely = None if decoder is None else decoder.decode(scores).text
        best = None if freely is None else _log_likelihood(scores, freely, model, lexicon, beam)

        def fits(words: Words) -> tuple[Alignment | None, Margins | None]:
            alignment, found = _heard(scores, of_loop, words, model, lexicon, beam)
            if alignment is not None and found is not None and best is not None:
                # A sum of T frames varies as √T; the outer root keeps what is far behind from deciding alone
                # where the curve lies.
                lead = max(best - alignment.log_likelihood, 0.0)
                found = replace(found, behind=-float(np.sqrt(lead / np.sqrt(max(len(scores), 1)))))
            return alignment, found

        alignment, right = fits(texts[n])
        others = [(texts[k], fits(texts[k])[1]) for k in partners.get(n, ())]
        wrong = tuple((words, m) for words, m in others if m is not None)
        return Heard(texts[n], alignment, right, wrong, freely)

    found = block_map(one, chosen, BLOCK_UTTERANCES, label="fit", names=data.corpus.ids.__getitem__)
    return list(progress_bar(found, len(chosen), "how well texts fit"))


def _log_likelihood(
    scores: Reals, words: Words, model: AcousticModel, lexicon: Lexicon, beam: float
) -> float | None:
    """Return that of the best path through some words; None if there is no path."""
    try:
        graph = utterance_graph(lexicon.spoken(words), model.topology)
        return align(scores, graph, model.topology, beam=beam).log_likelihood
    except AlignmentError:
        return None


def _heard(
    scores: Reals, of_loop: Reals, words: Words, model: AcousticModel, lexicon: Lexicon, beam: float
) -> tuple[Alignment | None, Margins | None]:
    try:
        alignment = align(
            scores, utterance_graph(lexicon.spoken(words), model.topology), model.topology, beam=beam
        )
    except AlignmentError:
        return None, None
    found = margins(scores, of_loop, alignment)
    return alignment, found if np.isfinite(found.words).any() else None


def fit_curves(heard: Sequence[Heard]) -> FitCurves:
    """Return the curves learned from what was heard."""
    right = [h.right for h in heard if h.right is not None]
    wrong = [(h.words, words, m) for h in heard for words, m in h.wrong]
    right_words = _known(np.concatenate([m.words for m in right] or [np.empty(0)]))
    # A word of another transcript may be one of the utterance's own, too.
    wrong_words = _known(
        np.array([x for own, words, m in wrong for w, x in zip(words, m.words, strict=True) if w not in own])
    )
    # Of few utterances nobody can tell how many are wrong.
    is_apart = len(right) >= TOO_FEW and right[0].behind is not None
    return FitCurves(
        fit_curve(
            np.array([m.utterance for m in right]),
            np.array([m.utterance for *_, m in wrong]),
            most_wrong=_MOST_WRONG_SHARE if is_apart else PRIOR_WRONG,
        ),
        fit_curve(right_words, wrong_words),
    )


def _known(margins_of_words: Floats) -> Floats:
    """Return the margins of words whose pronunciation is known."""
    return margins_of_words[np.isfinite(margins_of_words)]


def _evenly(n: int, n_chosen: int | None) -> list[int]:
    """Return at most so many numbers below n, evenly spread."""
    if n_chosen is None or n_chosen >= n:
        return list(range(n))
    return [k * n // n_chosen for k in range(n_chosen)]


def n_wrong_each(n_utterances: int) -> int:
    """Return the number of other utterances' transcripts with which each of some utterances is aligned."""
    return min(_MOST_WRONG, -(-N_WRONG_PAIRS // max(n_utterances, 1)))


def _partners(texts: Sequence[Words], lexicon: Lexicon, chosen: Sequence[int]) -> dict[int, list[int]]:
    """Return for some of the utterances chosen those whose transcripts are aligned with them, too."""
    known = [[p for p in lexicon.spoken(words) if p is not None] for words in texts]
    n_phones = np.array([sum(min(map(len, p)) for p in ways) for ways in known])
    n_each = n_wrong_each(len(chosen))
    with_partners = {chosen[k] for k in _evenly(len(chosen), N_WRONG_PAIRS)}
    found: dict[int, list[int]] = {}
    for n in with_partners:
        near = np.argsort(np.abs(n_phones - n_phones[n]), kind="stable")
        others = list(islice((int(k) for k in near if texts[k] != texts[n]), _N_NEAR))
        drawn = np.random.default_rng(n).choice(others or [n], min(n_each, len(others)), replace=False)
        found[n] = sorted(drawn.tolist())
    return found


@dataclass(frozen=True)
class Suspicious:
    """An utterance to be looked at.

    Attributes
    ----------
    utterance_id : its id
    text : what was written
    probability : that the text belongs to the recording; None if that cannot be told
    reasons : what is suspicious
    is_far_off : whether nothing should be learned from it
    heard : the words that a recogniser finds that does not know the text; None where none has listened
    """

    utterance_id: str
    text: str
    probability: float | None
    reasons: tuple[str, ...]
    is_far_off: bool
    heard: str | None = None

    def __str__(self) -> str:
        shown = "  ?  " if self.probability is None else f"{self.probability:.3f}"
        heard = "" if self.heard is None else f', heard "{self.heard}"'
        return f'{shown}  {self.utterance_id}: {"; ".join(self.reasons)}: "{self.text}"{heard}'


def find_suspicious(
    data: SpeechData,
    heard: Sequence[Heard],
    curves: FitCurves,
    sound_faults: Mapping[str, str],
    frame_shift_s: float,
) -> list[Suspicious]:
    """Return the suspicious utterances, the worst first.

    Parameters
    ----------
    data : utterances
    heard : how well the transcript of each fits
    curves : how probable that makes it
    sound_faults : what is wrong with the sound of some, by id
    frame_shift_s : seconds from one frame to the next
    """
    longest = _longest_for_phones([h.alignment for h in heard if h.alignment is not None])
    # In a large corpus something right is one in a hundred; of few utterances each is needed.
    far_off = min(FAR_OFF, _MOST_BY_CHANCE / max(len(heard), 1)) if len(heard) >= TOO_FEW else _FAR_OFF_OF_FEW
    found = []
    for utterance, h in zip(data.corpus, heard, strict=True):
        probability = _probability(h, curves)
        reasons = [*_reasons_of_text(utterance, h, curves, probability)]
        if h.alignment is not None:
            reasons += _long_words(utterance.words, h.alignment, longest, frame_shift_s)
        reasons += [sound_faults[utterance.utterance_id]] if utterance.utterance_id in sound_faults else []
        if reasons:
            # Where nothing is heard the sound is to be mended, and says little of the text.
            is_far_off = probability is not None and probability < far_off and h.freely != ()
            text = " ".join(utterance.written or utterance.words)
            freely = None if h.freely is None else " ".join(h.freely)
            row = Suspicious(utterance.utterance_id, text, probability, tuple(reasons), is_far_off, freely)
            found.append(row)
    return in_order(found)


def in_order(found: Iterable[Suspicious]) -> list[Suspicious]:
    """Return suspicious utterances, the worst first."""
    return sorted(found, key=lambda s: (1.0 if s.probability is None else s.probability, s.utterance_id))


def verdict(n_found: int, n_utterances: int) -> str:
    """Return what can be said of so many suspicious utterances among all; nothing where all look right."""
    if not n_found:
        few = f"{n_utterances} utterances are too few to tell which transcripts are wrong"
        return few if n_utterances < TOO_FEW else ""
    said = f"{n_found} of {n_utterances} utterances look wrong, in text or sound"
    return f"{said}; too little speech to tell about the others" if n_utterances < TOO_FEW else said


def write_suspicious(found: Sequence[Suspicious], n_utterances: int, directory: Path) -> None:
    """Write ``suspicious.json``."""
    write_json(directory / SUSPICIOUS, {"n_utterances": n_utterances, "suspicious": found})


def read_suspicious(directory: Path) -> tuple[list[Suspicious], int]:
    """Return what `write_suspicious` wrote: the suspicious utterances, and the number of all."""
    if not (directory / SUSPICIOUS).is_file():
        raise ExperimentError(
            f"{directory}: no {SUSPICIOUS} in it, expected a directory that asr train has finished; "
            "check the path or run asr train"
        )
    record = read_object(directory / SUSPICIOUS)
    with as_train_wrote(directory / SUSPICIOUS):
        rows = [record_of(Suspicious, row, ExperimentError, "suspicious.") for row in record["suspicious"]]
        return rows, int(record["n_utterances"])


def _probability(heard: Heard, curves: FitCurves) -> float | None:
    if curves.utterance is None or heard.right is None:
        return None
    return round(float(curves.utterance(np.array(heard.right.utterance))), 6)


def _reasons_of_text(
    utterance: Utterance, heard: Heard, curves: FitCurves, probability: float | None
) -> list[str]:
    """Return why the text is doubtful: some words of it, or all."""
    if heard.alignment is None:
        return ["text cannot be aligned"]
    if heard.right is None or probability is None or probability >= _DOUBTFUL:
        return []
    of_words = np.ones(0) if curves.word is None else curves.word(heard.right.words)
    wrong = [word for word, p in zip(utterance.words, of_words, strict=False) if p < _DOUBTFUL]
    if not 0 < len(wrong) <= min(_N_NAMED, len(utterance.words) - 1):
        return ["text does not fit"]
    return [f"text does not fit at {', '.join(wrong)}"]


def _longest_for_phones(alignments: Sequence[Alignment]) -> float:
    """Return how many frames a phone takes in the longest word that is no exception, as a factor of words."""
    logs = np.array([np.log(frames) for a in alignments for _, frames in _frames_of_phones(a)])
    if not len(logs):
        return np.inf
    median = np.median(logs)
    spread = 1.4826 * np.median(np.abs(logs - median))  # the standard deviation of a normal distribution
    return float(np.exp(median + _LONG_DEVIATIONS * spread))


def _frames_of_phones(alignment: Alignment) -> list[tuple[Segment, float]]:
    """Return each word with the mean number of frames of its phones."""
    starts = np.array([phone.start for phone in alignment.phones])
    return [
        (w, (w.end - w.start) / np.count_nonzero((starts >= w.start) & (starts < w.end)))
        for w in alignment.words
    ]


def _long_words(
    words: Sequence[str], alignment: Alignment, longest: float, frame_shift_s: float
) -> list[str]:
    found = []
    for word, frames in _frames_of_phones(alignment):
        seconds = (word.end - word.start) * frame_shift_s
        if frames > longest and seconds > _LONG_S:
            found.append(f"word {words[word.index]} lasts {seconds:.1f} s")
    return found
