"""What a model hears in single utterances: words with times and confidences, states, posteriors of phones.

Axes: T frames, S states, P phones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from acoustic.alignment import Alignment, align
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import utterance_graph
from acoustic.hmm.topology import SHORT_PAUSE, Topology, base_phone
from acoustic.model import AcousticModel, load_model
from asr.corpora.corpus import Utterance
from asr.corpora.speech_data import SpeechData
from asr.language.grammars import read_grammar
from asr.recognizer import Recognizer
from asr.reports.finished import Finished
from asr.transcribe import Scores, adapted, decode_all, emission_scores, scored_speech
from decoder.decoder import Decoder, Hypothesis
from foundation.arrays import Floats, Integers, Ints, Reals


@dataclass(frozen=True)
class StatePhones:
    """The phones without context that states stand for.

    Attributes
    ----------
    names : (P,) names; a short pause is a silence
    of_state : (S,) int32 number of each state's phone
    """

    names: tuple[str, ...]
    of_state: Ints

    @classmethod
    def of(cls, topology: Topology) -> StatePhones:
        """Return the phones of a topology."""
        found = dict[int, str]()
        for phone, states in zip(topology.phones, topology.phone_states, strict=True):
            if phone != SHORT_PAUSE:
                found |= {state: found.get(state, base_phone(phone)) for state in states}
        names = tuple(dict.fromkeys(found.values()))
        numbers = {name: n for n, name in enumerate(names)}
        own = [numbers[found[state]] for state in range(topology.n_states)]
        return cls(names, np.array(own, dtype=np.int32))

    def log_posteriors(self, scores: Reals, model: AcousticModel) -> Floats:
        """Return log P(phone | frame), (T, P), from scores (T, S).

        Scores are log-likelihoods of states up to a constant of the frame; Bayes' rule with the share of each
        state in the training frames makes posteriors of them.
        """
        joint = np.asarray(scores, dtype=np.float64) + np.log(np.maximum(model.occupancy, 1.0))
        joint -= logsumexp(joint, axis=1, keepdims=True)
        return np.column_stack(
            [logsumexp(joint[:, self.of_state == phone], axis=1) for phone in range(len(self.names))]
        )

    def labels(self, states: Integers) -> Ints:
        """Return the phone of each frame (T,) from its state, −1 where that is unknown (−1)."""
        return np.where(states >= 0, self.of_state[states], -1).astype(np.int32)


@dataclass(frozen=True)
class HeardUtterance:
    """One utterance as a model hears it.

    Attributes
    ----------
    utterance : what was said
    hypothesis : what was recognised, in the lexicon's words, with confidences
    alignment : where the words of the transcript lie; None if they cannot be aligned
    log_posteriors : (T, P) of the phones at each frame
    """

    utterance: Utterance
    hypothesis: Hypothesis
    alignment: Alignment | None
    log_posteriors: Floats


def evaluated_recognizer(finished: Finished, model: str, split: str, grammar: str) -> Recognizer:
    """Return the recogniser that has decoded a split; that of dev has not learned from dev."""
    published = Recognizer.load(finished.directory, model, grammar)
    if split == "test":
        return published
    tuning = finished.stage(f"tuning-{model}")
    trained = load_model(finished.made_from(tuning, "model"))
    grammars, lexicon = finished.made_from(tuning, "grammars"), published.lexicon
    loaded = read_grammar(grammar, grammars, lexicon)
    decoder = Decoder(lexicon, loaded, trained.topology, published.decoder.config)
    first = published.first_pass and Decoder(lexicon, loaded, trained.topology, published.first_pass.config)
    return replace(published, model=trained, decoder=decoder, first_pass=first)


def heard_utterances(
    recognizer: Recognizer, data: SpeechData, wanted: Collection[str], phones: StatePhones
) -> Iterator[HeardUtterance]:
    """Yield what is heard in the wanted utterances of a split, in order of their ids.

    What is normalised by speaker and adapted to speakers is so by all utterances of theirs, as in the
    evaluation.
    """
    speakers = {u.speaker for u in data.corpus if u.utterance_id in wanted}
    theirs = data.without({u.utterance_id for u in data.corpus if u.speaker not in speakers})
    places = [n for n, u in enumerate(theirs.corpus) if u.utterance_id in wanted]
    scores = _scores(recognizer, theirs, places)
    decoder = recognizer.decoder.with_config(confidence=True)
    found = decode_all(scores, decoder)
    for place, own, hypothesis in zip(places, scores, found, strict=True):
        utterance = theirs.corpus.utterances[place]
        alignment = _aligned(own, utterance, recognizer)
        yield HeardUtterance(utterance, hypothesis, alignment, phones.log_posteriors(own, recognizer.model))


def _scores(recognizer: Recognizer, data: SpeechData, places: list[int]) -> Scores:
    """Return the emission scores (T, S) of the utterances at some places; others are scored if that helps."""
    model = recognizer.model
    if recognizer.first_pass is None:
        frames = model.front_end.transformed(data.cepstra, data.speakers)
        return emission_scores([frames[n] for n in places], model)
    speech = scored_speech(data.cepstra, data.speakers, model)
    scores = adapted(speech, model, recognizer.first_pass, recognizer.lexicon).scores
    return [scores[n] for n in places]


def _aligned(scores: Reals, utterance: Utterance, recognizer: Recognizer) -> Alignment | None:
    spoken = recognizer.lexicon.spoken(utterance.words)
    if all(ways is None for ways in spoken):
        return None
    topology = recognizer.model.topology
    try:
        return align(scores, utterance_graph(spoken, topology), topology)
    except AlignmentError:
        return None
