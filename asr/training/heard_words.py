"""Pronunciations by how recordings sound: of words that a lexicon lacks, and of all words without one.

Words that a lexicon lacks: a small model is trained on what the lexicon knows; the other words are loops over
all phones in it, so that each of them gets a stretch of a recording, and a string of phones that was heard
there. Candidates are the guesses from the spelling and the strings heard. A candidate's score is the sum over
stretches of its log-likelihood less that of the loop, times `ACOUSTIC_SCALE`, plus the log of its share among
the guesses.

Without a lexicon, words are spelled by their letters, or each is a whole: a chain of states of its own, the
longer the more time its takes need. Small models of both are trained on four fifths of the recordings and
recognise the rest, five times; what makes fewer errors is taken, wholes where both make as many
(docs/results/whole_words.md). The more takes, the better wholes are; the more letters words share, letters.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from acoustic.alignment import Alignment, Segment, align, along
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import UtteranceGraph, utterance_graph
from acoustic.hmm.topology import NOISE, SHORT_PAUSE, SILENCE
from acoustic.hmm.training import GmmConfig
from acoustic.model import AcousticModel
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.speech_data import SpeechData
from asr.corpora.wording import is_all_unknown, unknown_words
from asr.language.pronunciations import Filled, guesses_notes, guesses_of
from asr.progress import quietly, say
from asr.scoring.edit_distance import align_words, count_errors
from asr.training.gmm import align_data, fit_front_end, start_flat, train_components
from asr.training.speech import LEXICON, Speech, read_speech
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon, Pronunciation, spelling_fault
from features.frontend import FrontEndConfig
from foundation.arrays import Reals, Singles
from foundation.blocks import block_map
from foundation.errors import listed

logger = logging.getLogger(__name__)

MAX_STRETCHES = 12  # of a word that candidates are tried on; by feel
MOST_FRAMES = 360_000  # that the small model learns from: an hour; by feel
N_GUESSES, N_HEARD = 10, 8
BLOCK_WORDS = 8  # whose results make one file while the stage is under way; by feel
ACOUSTIC_SCALE = 0.1  # neighbouring frames are nearly the same observation ten times; by feel
UNGUESSED = float(np.log(1e-3))  # of a string that is heard and not among the guesses
WORST = -50.0  # a stretch that a candidate does not fit at all says no more than this; by feel
_N_STAGES = 2  # of the mixtures' growth; by feel

UNIT_S = 0.18  # of a word for each unit of three states; of 0.09 to 0.24 good for one voice and for six
MOST_UNITS = 12  # of a word; by feel
N_PARTS = 5  # of which each is recognised by a model of the others
FEWEST_SPEAKERS = 5  # for parts of whole speakers, as in recipes/folder.py
ENOUGH_FRAMES = 60_000  # ten minutes tell letters and wholes apart; by feel
WORD_PENALTY = -32.0  # as where tuning starts
_SILENT = frozenset({SILENCE, SHORT_PAUSE, NOISE})


@dataclass(frozen=True)
class Stretch:
    """Where a word lies in a recording: its frames (T, D), the phones heard, their log-likelihood."""

    frames: Singles
    heard: Pronunciation
    log_likelihood: float


def learn_pronunciations(
    directory: Path, speech: Speech, *, missing: Sequence[str], front_end: FrontEndConfig, gmm: GmmConfig
) -> None:
    """Write the lexicon with pronunciations of missing words, by their spelling and their sound."""
    known = Lexicon.read(speech["words"] / LEXICON)
    learned_lexicon(read_speech(speech), known, missing, front_end, gmm).write(directory / LEXICON)


def learned_lexicon(
    data: SpeechData, lexicon: Lexicon, missing: Collection[str], front_end: FrontEndConfig, gmm: GmmConfig
) -> Lexicon:
    """Return the lexicon with a pronunciation for each missing word of some recordings that can have one."""
    model = _small_model(data, lexicon, front_end, gmm)
    stretches = _stretches(data, model, lexicon, missing, gmm.beam)
    guesses = guesses_of(missing, lexicon, N_GUESSES)
    chosen = dict(
        block_map(
            lambda word: (word, choose(guesses.shares.get(word, {}), stretches.get(word, []), model)),
            sorted(missing),
            BLOCK_WORDS,
            label="pronunciations",
        )
    )
    learned = {word: [pronunciation] for word, pronunciation in chosen.items() if pronunciation}
    _tell(learned, stretches, missing, guesses.filled)
    return lexicon.merged(Lexicon(learned, guessed=frozenset(learned))) if learned else lexicon


# Without a lexicon: letters or whole words


def choose_units(
    directory: Path, speech: Speech, *, wanted: str, front_end: FrontEndConfig, gmm: GmmConfig
) -> None:
    """Write a lexicon of letters or of whole words: what is wanted, or (``auto``) what recognises better."""
    data, known = read_speech(speech), Lexicon.read(speech["words"] / LEXICON)
    letters = in_letters(known)
    if wanted == "letters":
        lexicon, said = letters, "letters"
    else:
        data = _usable(data, letters)
        with quietly():
            lexicon = in_whole_words(data, letters, front_end, gmm)
        said = f"{len(lexicon.wholes)} whole words"
        if wanted == "auto":
            n_all = len(data.corpus)
            data = _enough(data)
            with quietly():
                wrong, by_letters = (
                    held_out_errors(data, each, front_end, gmm) for each in (lexicon, letters)
                )
            n_words = sum(len(u.spoken) for u in data.corpus)
            splits = " and ".join(split for split in SPLITS if split in speech)
            of_all = f"the {n_words} words of" if len(data.corpus) == n_all else f"{n_words} words drawn from"
            tested = f"of {of_all} {splits}, each held out once,"
            if by_letters < wrong:
                lexicon = letters
                said = f"letters: {tested} {by_letters} wrong, as wholes {wrong}"
            else:
                said += f": {tested} {wrong} wrong, by letters {by_letters}"
            said += " (--set without_lexicon=letters or words decides it)"
    say(f"without a lexicon, words are learned as {said}")
    lexicon.write(directory / LEXICON)


def in_letters(known: Lexicon) -> Lexicon:
    """Return the words of a lexicon spelled by their letters; those that cannot be stay as they are."""
    if not known.is_of_wholes:
        return known
    fitting = [word for word in known if not spelling_fault(word)]
    rest = known.restricted_to(set(known).difference(fitting))
    return Lexicon.graphemic(fitting).merged(rest)


def in_whole_words(data: SpeechData, letters: Lexicon, front_end: FrontEndConfig, gmm: GmmConfig) -> Lexicon:
    """Return the words that some recordings say as wholes, others as they are.

    A word has a unit of three states for each `UNIT_S` that it takes.
    """
    model = _small_model(data, letters, front_end, gmm)
    wholes = Lexicon.of_wholes(n_units_of(data, model, letters, gmm.beam))
    return wholes.merged(letters.restricted_to(set(letters) - set(wholes)))


def n_units_of(data: SpeechData, model: AcousticModel, lexicon: Lexicon, beam: float) -> dict[str, int]:
    """Return how many units each word of some recordings is as a whole, by the median time of its takes."""
    alignments, _ = align_data(data, model, lexicon, beam)
    frames: dict[str, list[int]] = {}
    for utterance, alignment in zip(data.corpus, alignments, strict=True):
        for segment in alignment.words if alignment is not None else ():
            frames.setdefault(utterance.words[segment.index], []).append(segment.end - segment.start)
    seconds = {word: float(np.median(n)) * model.front_end.frame_shift_s for word, n in frames.items()}
    return {
        word: int(np.clip(round(s / UNIT_S), 1, MOST_UNITS)) for word, s in seconds.items() if word in lexicon
    }


def held_out_errors(data: SpeechData, lexicon: Lexicon, front_end: FrontEndConfig, gmm: GmmConfig) -> int:
    """Return the word errors in all recordings, each part recognised by a model of the others.

    Any word may follow another that follows it in a transcript.
    """
    texts = [u.spoken for u in data.corpus]
    grammar, config = WordPairGrammar.from_sentences(texts), DecoderConfig(word_penalty=WORD_PENALTY)
    parts, n_errors = parts_of(data.corpus), 0
    for part in range(N_PARTS):
        inside = {i for i, own in zip(data.corpus.ids, parts, strict=True) if own == part}
        held_out = data.without(set(data.corpus.ids) - inside)
        model = _small_model(data.without(inside), lexicon, front_end, gmm)
        decoder = Decoder(lexicon, grammar, model.topology, config)
        frames = model.front_end.transformed(held_out.cepstra, held_out.speakers)
        for utterance, own in zip(held_out.corpus, frames, strict=True):
            found = decoder.decode(model.scores(own)).text
            n_errors += count_errors(align_words(utterance.spoken, found)).errors
    return n_errors


def parts_of(corpus: Corpus) -> list[int]:
    """Return the part of each utterance: each speaker is in one, or where there are few, each text in all."""
    if FEWEST_SPEAKERS <= len(corpus.speakers) < len(corpus):
        return [corpus.speakers.index(u.speaker) % N_PARTS for u in corpus]
    texts, takes, found = sorted({u.words for u in corpus}), Counter[tuple[str, ...]](), []
    for utterance in corpus:
        found.append((texts.index(utterance.words) + takes[utterance.words]) % N_PARTS)
        takes[utterance.words] += 1
    return found


def _enough(data: SpeechData) -> SpeechData:
    """Return so many utterances, drawn at random, as are enough to tell letters and wholes apart."""
    n_frames = np.array(data.n_frames)
    order = np.random.default_rng(0).permutation(len(n_frames))
    unwanted = order[np.cumsum(n_frames[order]) > ENOUGH_FRAMES]
    return data.without({data.corpus.ids[n] for n in unwanted})


# The small model of both


def _small_model(
    data: SpeechData, lexicon: Lexicon, front_end: FrontEndConfig, gmm: GmmConfig
) -> AcousticModel:
    """Return a model with few Gaussians a state, trained on what the lexicon knows."""
    usable = mostly_known(_usable(data, lexicon), lexicon)
    model = start_flat(usable, fit_front_end(front_end, usable), lexicon)
    for stage, n_components in enumerate(gmm.mixtures[:_N_STAGES]):
        n_iterations = gmm.iterations[min(stage, len(gmm.iterations) - 1)]
        model, _ = train_components(usable, model, lexicon, n_components, n_iterations, gmm)
    return model


def _usable(data: SpeechData, lexicon: Lexicon) -> SpeechData:
    """Return the utterances with a word that the lexicon knows."""
    return data.without({u.utterance_id for u in data.corpus if not u.words or is_all_unknown(u, lexicon)})


def mostly_known(usable: SpeechData, lexicon: Lexicon, most_frames: int = MOST_FRAMES) -> SpeechData:
    """Return the utterances all of whose words are known; all, if these are less than half of the frames.

    A loop over all phones costs many times what a word costs. No more are taken when there are
    ``most_frames``: those with the smallest share of unknown words come first, in random order.
    """
    unknown = np.array([unknown_words([u.words], lexicon).total() / len(u.words) for u in usable.corpus])
    n_frames = np.array(usable.n_frames)
    n_known, taken, left_out = n_frames[unknown == 0].sum(), 0, set()
    is_enough = n_known >= min(n_frames.sum() / 2, most_frames)
    shuffled = np.random.default_rng(0).permutation(len(unknown))  # all speakers, where there are hours
    for n in shuffled[np.argsort(unknown[shuffled], kind="stable")]:
        if taken >= most_frames or (unknown[n] and is_enough):
            left_out.add(usable.corpus.ids[n])
        else:
            taken += n_frames[n]
    return usable.without(left_out)


def _stretches(
    data: SpeechData, model: AcousticModel, lexicon: Lexicon, missing: Collection[str], beam: float
) -> dict[str, list[Stretch]]:
    """Return the stretches of each missing word, at most `MAX_STRETCHES` of each."""
    words = set(missing)
    having = data.without({u.utterance_id for u in data.corpus if not words.intersection(u.words)})
    having = _usable(having, lexicon)
    alignments, _ = align_data(having, model, lexicon, beam)
    frames = model.front_end.transformed(having.cepstra, having.speakers)
    found: dict[str, list[Stretch]] = {}
    for utterance, alignment, own in zip(having.corpus, alignments, frames, strict=True):
        for segment in alignment.words if alignment is not None else ():
            word = utterance.words[segment.index]
            if alignment is not None and word in words and len(found.setdefault(word, [])) < MAX_STRETCHES:
                found[word].append(_stretch(alignment, segment, own, model))
    return found


def _stretch(alignment: Alignment, segment: Segment, frames: Singles, model: AcousticModel) -> Stretch:
    """Return a word's stretch of an aligned recording with frames (T, D)."""
    within = [p for p in alignment.phones if segment.start <= p.start < segment.end]
    heard = (model.topology.phones[p.index] for p in within)
    own = frames[segment.start : segment.end].copy()  # the recording's others are not kept
    scores = model.scores(own)
    likelihood = float(along(scores, alignment.states[segment.start : segment.end]).sum())
    return Stretch(own, tuple(p for p in heard if p not in _SILENT), likelihood)


def choose(
    shares: Mapping[Pronunciation, float], stretches: Sequence[Stretch], model: AcousticModel
) -> Pronunciation | None:
    """Return the best candidate for a word, None if there is none.

    Parameters
    ----------
    shares : guesses from the spelling with their shares
    stretches : where the word is spoken
    model : model of the stretches' scores
    """
    heard = Counter(s.heard for s in stretches if s.heard)
    strings = [string for string, _ in sorted(heard.items(), key=lambda item: (-item[1], item[0]))[:N_HEARD]]
    candidates = [*shares, *(string for string in strings if string not in shares)]
    if not candidates:
        return None
    graphs = [utterance_graph([[candidate]], model.topology) for candidate in candidates]
    heard_at = [(model.scores(s.frames), s.log_likelihood) for s in stretches]
    scores = [
        _prior(shares.get(c, 0.0)) + ACOUSTIC_SCALE * sum(_fit(graph, *at, model) for at in heard_at)
        for c, graph in zip(candidates, graphs, strict=True)
    ]
    return candidates[int(np.argmax(scores))]


def _prior(share: float) -> float:
    return max(float(np.log(share)), UNGUESSED) if share > 0 else UNGUESSED


def _fit(graph: UtteranceGraph, scores: Reals, of_loop: float, model: AcousticModel) -> float:
    """Return a candidate's log-likelihood by scores (T, S) less that of the loop, no less than `WORST`."""
    try:
        alignment = align(scores, graph, model.topology)
    except AlignmentError:
        return WORST
    likelihood = float(along(scores, alignment.states).sum())
    return max(likelihood - of_loop, WORST)


def _tell(
    learned: Mapping[str, Sequence[Pronunciation]],
    stretches: Mapping[str, Sequence[Stretch]],
    missing: Collection[str],
    filled: Filled | None,
) -> None:
    """Log which words have got a pronunciation, what they sound like, and how good guesses are."""
    said = [f"{word} {' '.join(p)} ({len(stretches.get(word, ()))}×)" for word, (p,) in learned.items()]
    if said:
        logger.warning(
            "%d of %d words that the lexicon lacks have got a pronunciation by spelling and sound (marked "
            "# guessed in lexicon.txt): %s",
            len(said),
            len(missing),
            listed(said),
        )
    for line in guesses_notes(filled, "the lexicon") if filled is not None else ():
        logger.info("%s", line)
    if others := sorted(set(missing) - set(learned)):
        logger.warning(
            "%d word(s) cannot be recognised, no pronunciation was found: %s", len(others), listed(others)
        )
