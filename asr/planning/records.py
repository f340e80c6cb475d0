"""What a plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asr.corpora.amounts import Amount
from asr.planning.walk import Group


@dataclass(frozen=True)
class ModelPlan:
    """What one model is expected to cost, trained alone.

    Attributes
    ----------
    model : its name
    n_centers : largest number of centres of a state or of a pair; None if it has none
    states : emission states
    all_pairs, pairs : pairs of states, and those that have machines; 0 if there are none
    frames_a_pair : frames that a pair is trained on
    centers : distinct centres of all machines
    stages : CPU seconds of each stage
    groups : CPU seconds of each group of stages
    cpu_s : CPU seconds of all
    wall_s : seconds by the number of workers, if each has a core of its own
    peak_mb : largest memory of the process
    disk_mb : what the experiment directory will hold
    model_mb : what decoding needs of it
    decoding_x : CPU seconds for a second of a new recording, once the model is loaded
    savings : setting -> CPU seconds that it saves
    centers_option : the option that sets the number of centres; empty if there is none
    not_predicted : what is not in these numbers, since nobody can know it
    """

    model: str
    n_centers: int | None
    states: int
    all_pairs: int
    pairs: int
    frames_a_pair: int
    centers: int
    stages: Mapping[str, float]
    groups: Mapping[Group, float]
    cpu_s: float
    wall_s: Mapping[int, float]
    peak_mb: float
    disk_mb: float
    model_mb: float
    decoding_x: float
    savings: Mapping[str, float]
    centers_option: str = ""
    not_predicted: str = ""


@dataclass(frozen=True)
class Plan:
    """What a training is expected to cost.

    Attributes
    ----------
    recipe, preset : what is to be trained
    amounts : hours, speakers, words and utterances of each split
    lexicon : words of the lexicon
    missing_words : words of train and dev that it lacks
    phones, monophone_states : phones, and states of these and of silence
    grammars : grammars that are tuned for and tested
    workers : number of threads that training takes by itself on this machine
    models : the models asked for
    others : the last hybrid of them with other numbers of centres
    together_s : CPU seconds of all models asked for, whose common stages are made once
    unit_costs : what was measured, CPU seconds a frame where the name does not end in "s"
    steps : the steps of training in order: what each is made from, whether it is done, or why not
    """

    recipe: str
    preset: str
    amounts: Mapping[str, Amount]
    lexicon: int
    missing_words: int
    phones: int
    monophone_states: int
    grammars: tuple[str, ...]
    workers: int
    models: tuple[ModelPlan, ...]
    others: tuple[ModelPlan, ...]
    together_s: float
    unit_costs: Mapping[str, float]
    steps: Sequence[Mapping[str, Any]] = ()
