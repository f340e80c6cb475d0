"""The training as a list of steps, in the order in which they happen.

With train, dev and test, the default model ``pools`` has these::

    task, words                                     # what the recipe prepares
    features-train, features-dev, features-test, grammars
    usable, start-none                              # what can be learned from; one Gaussian for all
    gmm-none-1, gmm-none-2, gmm-none-4, gmm-none-8  # mixtures, which align
    fit-8, fitting                                  # without texts that are far off what is heard
    units-context                                   # tied states, and the state of each frame
    adapted-context                                 # tied anew on frames of adapted speakers; mixtures
    features-train-warp-0.93, features-train-warp-1.07
    hybrid-pools, adapting-hybrid-pools             # discriminants; where the states' frames lie
    tuning-pools                                    # weights of the decoder, on dev

then all from ``usable`` to ``adapting-hybrid-pools`` again on train and dev together (``usable-dev`` …),
and at last ``confidence-pools``, ``grammars-dev``, ``recognizer-pools``, ``test-pools`` and ``judged-test``.

`beginning` returns the first two steps, which prepare the task. They take moments, and what they find
(`asr.training.task.Found`) decides what else there is to do: which splits have utterances, whether the
lexicon lacks words, which grammars the corpus brings. So the list is made in two parts, and `pipeline` adds
the second: each step in it has something to do. That is easier to read, and to plan, than steps that may turn
out empty.

Whatever has to do with a training reads this list: `asr.experiment` makes the outputs that are not there yet,
`asr plan` prices them, `asr sweep` shares them between its points. `asr.store` says what a step is and when
its output is made anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from acoustic.ways import check_way
from asr.config import ExperimentConfig
from asr.corpora.marks import digest_of, source_marks
from asr.errors import ConfigError
from asr.language.grammars import COMMANDS
from asr.progress import Piece
from asr.recipe import LoadedRecipe
from asr.store import Outlook, Step
from asr.systems import GmmSystem, HybridSystem, System, other_code
from asr.training.aligned import (
    adapt_and_tie,
    add_adaptation,
    align_speech,
    choose_options,
    find_units,
    start_with_projection,
    train_discriminants,
)
from asr.training.choice import values_of
from asr.training.gmm import start_mixtures, train_mixtures
from asr.training.heard_words import choose_units, learn_pronunciations
from asr.training.learned_from import (
    choose_fitting,
    find_usable,
    judge_fit,
    judge_others,
    learn_confidence,
    leave_out_fold,
)
from asr.training.recognition import assemble_recognizer, decode_test, hear_commands, tune_decoder
from asr.training.speech import compute_features
from asr.training.task import (
    Found,
    Source,
    find_words,
    may_be_whole,
    prepare,
    read_corrections,
    write_grammars,
)
from decoder.decoder import DecoderConfig
from features.frontend import FrontEndConfig, Projection
from foundation.version import code_behind

Splits = tuple[str, ...]
# What a person is told while steps are made, and CPU seconds that they take for twenty utterances of each
# split they read and each grammar they try: of AN4 and FSDD, on one core (their stage.json).
_SAID: Mapping[Callable[..., None], tuple[str, float]] = {
    prepare: ("reading the corpus", 0.0),
    find_words: ("reading the corpus", 0.0),
    compute_features: ("reading recordings", 0.03),
    learn_pronunciations: ("learning how new words sound", 0.3),
    choose_units: ("comparing letters with whole words", 0.6),
    write_grammars: ("counting words", 0.0),
    find_usable: ("learning Gaussians of phones", 0.0),
    start_mixtures: ("learning Gaussians of phones", 0.01),
    train_mixtures: ("learning Gaussians of phones", 0.05),
    start_with_projection: ("learning Gaussians of phones", 0.02),
    align_speech: ("learning Gaussians of phones", 0.03),
    judge_fit: ("looking for wrong transcripts", 0.2),
    judge_others: ("looking for wrong transcripts", 0.1),
    choose_fitting: ("looking for wrong transcripts", 0.0),
    find_units: ("finding sounds in context", 0.035),
    adapt_and_tie: ("getting ready for new speakers", 0.3),
    choose_options: ("trying options on dev", 0.3),
    train_discriminants: ("learning pairs of states", 0.5),
    add_adaptation: ("getting ready for new speakers", 0.03),
    tune_decoder: ("tuning weights on dev", 0.25),
    learn_confidence: ("learning how sure words are", 0.05),
    assemble_recognizer: ("putting the recogniser together", 0.0),
    decode_test: ("decoding test", 0.1),
    leave_out_fold: ("learning what is no command", 0.0),
    hear_commands: ("learning what is no command", 0.1),
}
_GMM_TIMES = 4.0  # as long as a GMM's take tuning and test of discriminants
_SAID_OF_WAY = {
    **dict.fromkeys(("pools", "npd", "orols", "krls"), "choosing centres for pairs of states"),
    "svm": "choosing support vectors for pairs of states",
}
TRAIN: Splits = ("train",)

N_FOLDS = 4  # in which takes of commands are left out, to be judged by a model that does not know them
MOST_COMMAND_TAKES = 2000  # of which more are trained once, without folds; by feel
_ALIGNER_COMPONENTS = 8  # at most; with more the alignment fits the training data too closely


def beginning(
    loaded: LoadedRecipe, corpus_dir: Path | None, root: Path, config: ExperimentConfig
) -> list[Step]:
    """Return the two steps that prepare the task of a recipe: ``task`` and ``words``."""
    source = Source(loaded, corpus_dir, root, source_marks(corpus_dir) if corpus_dir else {}, config.speakers)
    # The location matters, since a data directory holds the absolute paths of its recordings.
    corpus = f"{corpus_dir.absolute()} {digest_of(source.marks)}" if corpus_dir else ""
    task = Step(
        "task",
        prepare,
        arguments={"source": source},
        decided_by={"corpus": corpus, "recipe": loaded.source, "speakers": config.speakers},
        other_code=(code_behind(getattr(loaded.recipe.prepare, "__module__", "")),),
        says="recordings and transcripts, sorted into train, dev and test by the recipe",
    )
    words = Step(
        "words",
        find_words,
        {"task": task},
        {"text": config.text, "corrections": read_corrections(root)},
        says="transcripts in the words of the lexicon",
    )
    return [task, words]


def pipeline(
    begun: Sequence[Step],
    found: Found,
    config: ExperimentConfig,
    systems: Mapping[str, System],
    *,
    learns_rejection: bool = True,
) -> list[Step]:
    """Return all steps of a training.

    Parameters
    ----------
    begun : the steps of `beginning`
    found : what these have found
    config : resolved configuration
    systems : the models by their names
    learns_rejection : whether anybody will ask which words were not spoken
    """
    judge = judge_of(systems.values(), config)
    training = _Training(begun, found, config, judge)
    # Errors of recordings and grammars come before hours of training.
    for split in found.splits:
        training.features(split)
    training.lexicon()
    training.grammars(TRAIN)
    final = final_splits(found, config)
    for name, system in systems.items():
        # On train alone, so that dev can tune the decoder.
        tried = training.acoustic_model(system, TRAIN)
        tuning = training.tuning(name, tried, learns_rejection=learns_rejection)
        # On all there is, with the weights that were tuned.
        model = training.acoustic_model(system, final)
        confidence = training.confidence(name, model, final)
        heard = training.heard_commands(name, system) if learns_rejection else None
        recognizer = training.recognizer(name, model, tuning, final, confidence, heard)
        if "test" in found.splits:
            training.test(name, recognizer)
    # Which utterances are suspicious; hybrids have had this step made before their units.
    training.fit(judge, final)
    for split in found.splits:
        if split not in final:
            training.fit_of_others(judge, final, split)
    return list(training.steps.values())


def final_splits(found: Found, config: ExperimentConfig) -> Splits:
    """Return the splits that the final models are trained on."""
    return ("train", "dev") if config.retrain_with_dev and "dev" in found.splits else TRAIN


def aligner_of(config: ExperimentConfig) -> GmmSystem:
    """Return the model whose alignment labels the frames that discriminants are learned from."""
    schedule = config.gmm.mixtures
    return GmmSystem(max((n for n in schedule if n <= _ALIGNER_COMPONENTS), default=schedule[0]))


def judge_of(systems: Iterable[System], config: ExperimentConfig) -> GmmSystem:
    """Return the model that says which utterances are suspicious.

    It is the aligner; where all models are mixtures with fewer Gaussians than that, the largest of them.
    """
    most = aligner_of(config).n_components
    largest = max(system.n_components if isinstance(system, GmmSystem) else most for system in systems)
    return GmmSystem(min(largest, most))


def on_splits(name: str, splits: Sequence[str]) -> str:
    """Return a step's name, which includes the splits if it uses more than train."""
    return "-".join([name, *(split for split in splits if split != "train")])


class _Training:
    """The list under way: each method adds a step after those it is made from, unless it is there."""

    def __init__(
        self, begun: Sequence[Step], found: Found, config: ExperimentConfig, judge: GmmSystem
    ) -> None:
        self.task, self.words = begun
        self.steps = {step.name: step for step in begun}
        self.found = found
        self.config = config
        self.judge = judge
        self.folds = folds_of(found)

    def add(self, step: Step) -> Step:
        """Return the step of that name in the list, which is this one if there was none."""
        return self.steps.setdefault(step.name, step)

    # What is heard and said

    def features(self, split: str, warp: float = 1.0) -> Step:
        """Cepstra of one split, their frequencies warped beyond what the front end does."""
        label = split if warp == 1.0 else f"{split}-warp-{warp:g}"
        if f"features-{label}" in self.steps:  # it is asked for thousands of times, and has all recordings
            return self.steps[f"features-{label}"]
        front_end = self.config.front_end.front_end()
        front_end = replace(front_end, mfcc=replace(front_end.mfcc, warp=front_end.mfcc.warp * warp))
        return self.add(
            Step(
                f"features-{label}",
                compute_features,
                {"task": self.task},
                {
                    "corpus": self.found.corpora[split],
                    "marks": self.found.recordings[split],
                    "source": self.task.arguments["source"],
                    "split": split,
                    "label": label,
                    "front_end": front_end,
                    "most_unusable": self.config.most_unusable,
                    "n_all": self.found.n_utterances,
                },
                f"cepstra of {split}" + ("" if warp == 1.0 else f", frequencies × {warp:g}"),
                # Where the recordings lie, and what the front end makes of cepstra later, decide no cepstra.
                decided_by={
                    "mfcc": front_end.mfcc,
                    "unusable": self.config.most_unusable,
                    "recordings": self.found.marks_of(split),
                },
            )
        )

    def lexicon(self) -> Step:
        """The lexicon of the words; where train and dev have others, with pronunciations by their sound.

        Without one, it has letters or whole words, if there is a choice.
        """
        missing, wanted = self.found.missing, self.config.without_lexicon
        if not missing and not may_be_whole(self.found, wanted):
            return self.words
        decided_by = {"front_end": self.config.front_end.front_end(), "gmm": self.config.gmm}
        splits = [split for split in self.found.splits if split != "test"]
        speech = {"task": self.task, "words": self.words, **{split: self.features(split) for split in splits}}
        if not missing:
            options, says = {**decided_by, "wanted": wanted}, "words as wholes or by their letters"
            return self.add(Step("pronunciations", choose_units, {"speech": speech}, options, says))
        return self.add(
            Step(
                "pronunciations",
                learn_pronunciations,
                {"speech": speech},
                {"missing": missing, **decided_by},
                f"pronunciations of {len(missing)} words that the lexicon lacks",
                decided_by=decided_by,  # the words that lack are those of `words`
            )
        )

    def speech(self, splits: Splits, *, left_out: Step | None = None) -> dict[str, Step]:
        """Return what a step is made from that uses the data of some splits, and the lexicon.

        A step ``left_out`` names the utterances that are not used.
        """
        text = {"task": self.task, "words": self.words, "lexicon": self.lexicon()}
        cepstra = {split: self.features(split) for split in splits if split in self.found.splits}
        return {**text, **cepstra, **({} if left_out is None else {"left_out": left_out})}

    def spoken(self, splits: Splits, learned_from: Splits) -> dict[str, Step]:
        """Return `speech` of some splits, with a lexicon that knows how words are used, if that counts."""
        speech = self.speech(splits)
        return {**speech, "lexicon": self.fit(self.judge, learned_from)} if self.config.word_usage else speech

    def grammars(self, splits: Splits) -> Step:
        """Grammars; n-grams are estimated from the text of some splits."""
        names = self.found.grammars
        return self.add(
            Step(
                on_splits("grammars", splits),
                write_grammars,
                {"speech": self.speech(())},
                {"names": names, "splits": splits, "text": self.config.text},
                f"grammars ({', '.join(names)}) from {_said(splits)}",
            )
        )

    # What is learned from

    def usable(self, splits: Splits) -> Step:
        """Utterances that can be learned from, of each split after the other."""
        *before, split = splits
        base = self.usable(tuple(before)) if before else None
        if base is not None and split in self.folds:
            return self.add(
                Step(
                    on_splits("usable", splits),
                    leave_out_fold,
                    {"speech": self.speech(splits, left_out=base)},
                    {"fold": self.folds.index(split), "n_folds": len(self.folds)},
                    f"utterances of {_said(splits)} that can be learned from",
                )
            )
        return self.add(
            Step(
                on_splits("usable", splits),
                find_usable,
                {"speech": self.speech((split,), left_out=base)},
                {
                    "split": split,
                    "most_unusable": self.config.most_unusable,
                    "n_all": self.found.n_utterances,
                },
                f"utterances of {_said(splits)} that can be learned from",
                decided_by={"split": split, "most_unusable": self.config.most_unusable},
            )
        )

    def fit(self, system: GmmSystem, splits: Splits) -> Step:
        """How well transcripts fit, and which are suspicious, by the alignment of a GMM."""
        return self.add(
            Step(
                on_splits(f"fit-{system.n_components}", splits),
                judge_fit,
                {
                    "speech": self.speech(splits, left_out=self.usable(splits)),
                    "model": self.gmm(system, splits),
                },
                {"gmm": self.config.gmm, "shift_s": self.config.front_end.shift_ms / 1000},
                f"how well the texts of {_said(splits)} fit",
            )
        )

    def fit_of_others(self, system: GmmSystem, splits: Splits, other: str) -> Step:
        """How well the transcripts of a split fit that nothing is learned from."""
        return self.add(
            Step(
                f"judged-{other}",
                judge_others,
                {
                    "speech": self.speech(splits, left_out=self.usable(splits)),
                    "others": self.speech((other,)),
                    "model": self.gmm(system, splits),
                    "fit": self.fit(system, splits),
                },
                {"gmm": self.config.gmm, "shift_s": self.config.front_end.shift_ms / 1000},
                f"how well the texts of {other} fit",
            )
        )

    def fitting(self, splits: Splits) -> Step:
        """Utterances whose transcripts are not far off what is heard, by the aligner."""
        fit = self.fit(aligner_of(self.config), splits)
        return self.add(
            Step(
                on_splits("fitting", splits),
                choose_fitting,
                {"left_out": self.usable(splits), "fit": fit},
                {"most_unusable": self.config.most_unusable},
                f"utterances of {_said(splits)} whose text is not far off",
            )
        )

    # Mixtures

    def gmm(self, system: GmmSystem, splits: Splits) -> Step:
        """Mixtures of as many Gaussians a state as a system has, grown by one number after the other."""
        gmm, most = self.config.gmm, aligner_of(self.config).n_components
        model = self.start(system.projection, splits)
        for stage, n_components in enumerate(gmm.mixtures[: gmm.mixtures.index(system.n_components) + 1]):
            # What does not fit is known as soon as the aligner is trained.
            is_known = system.projection != "none" or n_components > most
            n_iterations = gmm.iterations[min(stage, len(gmm.iterations) - 1)]
            data = self.speech(splits, left_out=self.fitting(splits) if is_known else self.usable(splits))
            model = self.add(
                Step(
                    on_splits(f"gmm-{system.projection}-{n_components}", splits),
                    train_mixtures,
                    {"speech": data, "start": model},
                    {"n_components": n_components, "n_iterations": n_iterations, "gmm": gmm},
                    f"mixtures of {n_components} Gaussian{'s' * (n_components > 1)} a state "
                    f"on {_said(splits)}{_on(system.projection)}",
                    # The rest of the schedule decides other steps.
                    decided_by={**asdict(gmm), "mixtures": n_components, "iterations": n_iterations},
                )
            )
        return model

    def start(self, projection: Projection, splits: Splits) -> Step:
        """The model that a training of mixtures begins with."""
        name = on_splits(f"start-{projection}", splits)
        front_end = self.config.front_end.front_end(projection)
        if projection == "none":
            data = self.speech(splits, left_out=self.usable(splits))
            says = f"one Gaussian for all states on {_said(splits)}"
            return self.add(Step(name, start_mixtures, {"speech": data}, {"front_end": front_end}, says))
        aligner = aligner_of(self.config)
        return self.add(
            Step(
                name,
                start_with_projection,
                {
                    "speech": self.speech(splits, left_out=self.fitting(splits)),
                    "aligner": self.gmm(aligner, splits),
                    "alignment": self.alignment(aligner, splits),
                },
                {"front_end": front_end},
                f"discriminant projection from the alignment of {_said(splits)}",
            )
        )

    def alignment(self, system: GmmSystem, splits: Splits) -> Step:
        """The state of each training frame by a GMM."""
        return self.add(
            Step(
                on_splits(f"alignment-{system.n_components}", splits),
                align_speech,
                {
                    "speech": self.speech(splits, left_out=self.fitting(splits)),
                    "model": self.gmm(system, splits),
                },
                {"beam": self.config.gmm.beam},
                f"alignment of {_said(splits)}",
            )
        )

    # Models

    def acoustic_model(self, system: System, splits: Splits) -> Step:
        """The acoustic model of a system, with adaptation to speakers if it adapts."""
        self.usable(splits)
        if isinstance(system, HybridSystem):
            # Mixtures align; what does not fit its transcript is left out; units are tied, and tied anew on
            # frames adapted to speakers; discriminants learn from frames of each unit, warped copies, too.
            aligner = aligner_of(self.config)
            self.gmm(aligner, splits)
            self.fit(aligner, splits)
            self.fitting(splits)
            self.units(splits)
            model, hybrid = self.hybrid(system, splits), self.config.hybrid
            tied = self.adapted(splits) if self.learns_adapted else self.units(splits)
            labels = tied if hybrid.adaptation != "none" else None
        else:
            model = self.gmm(system, splits)
            labels = self.alignment(system, splits) if system.adapts else None
        if labels is None:
            return model
        return self.add(
            Step(
                f"adapting-{model.name}",
                add_adaptation,
                {
                    "speech": self.speech(splits, left_out=self.fitting(splits)),
                    "model": model,
                    "labels": labels,
                },
                says=f"where the frames of the states of {model.name} lie, for adaptation to speakers",
            )
        )

    def units(self, splits: Splits) -> Step:
        """The states that hybrids tell apart, and the state of each training frame."""
        units = self.config.hybrid.units
        tying = None if units == "phone" else self.config.tying
        return self.add(
            Step(
                on_splits(f"units-{units}", splits),
                find_units,
                {
                    "speech": self.speech(splits, left_out=self.fitting(splits)),
                    "model": self.gmm(aligner_of(self.config), splits),
                },
                {"units": units, "beam": self.config.gmm.beam, "tying": tying},
                f"states of hybrids ({units}) and the alignment of {_said(splits)} to them",
            )
        )

    def adapted(self, splits: Splits) -> Step:
        """The states that hybrids tell apart, tied anew on frames adapted to their speakers, and mixtures."""
        units = self.config.hybrid.units
        return self.add(
            Step(
                on_splits(f"adapted-{units}", splits),
                adapt_and_tie,
                {
                    "speech": self.speech(splits, left_out=self.fitting(splits)),
                    "units": self.units(splits),
                    "aligner": self.gmm(aligner_of(self.config), splits),
                },
                {
                    "front_end": self.config.front_end.front_end(self.config.hybrid.input_projection),
                    "tying": self.config.tying,
                    "gmm": self.config.gmm,
                },
                f"states ({units}) and mixtures on {_said(splits)}, adapted to speakers who say enough",
            )
        )

    def hybrid(self, system: HybridSystem, splits: Splits) -> Step:
        """Discriminants of the states of aligned frames."""
        way, hybrid, own = system.way, self.config.hybrid, self.config.of_way(system.way)
        if self.learns_adapted:
            units = mixtures = self.adapted(splits)
        else:
            units, mixtures = self.units(splits), self.gmm(aligner_of(self.config), splits)
        data = self.speech(splits, left_out=self.fitting(splits))
        copies = {
            f"{split} {warp:g}": self.features(split, warp)
            for warp in hybrid.warps
            for split in splits
            if split in self.found.splits
        }
        choice = self.choice(system)
        return self.add(
            Step(
                on_splits(f"hybrid-{way.replace(':', '-')}", splits),
                train_discriminants,
                {
                    "speech": {**data, **copies},
                    "units": units,
                    "mixtures": mixtures,
                    **({} if choice is None else {"choice": choice}),
                },
                {"way": way, "hybrid": hybrid.of_training(), "own": own, "front_end": self.hybrid_front_end},
                f"discriminants ({way}) on {_said(splits)}",
                other_code=tuple(other_code(way)),
            )
        )

    @property
    def learns_adapted(self) -> bool:
        """Whether hybrids learn from adapted frames; where a list of commands is heard, none are adapted."""
        return self.config.hybrid.learns_adapted and COMMANDS not in self.found.grammars

    def choice(self, system: HybridSystem) -> Step | None:
        """Options of a hybrid chosen on the dev set; None where there is nothing to choose, or no dev set."""
        way, values = system.way, values_of(system.way, self.config)
        if not values or "dev" not in self.found.splits:
            return None
        return self.add(
            Step(
                f"choice-{way}",
                choose_options,
                {
                    "speech": self.speech(TRAIN, left_out=self.fitting(TRAIN)),
                    "dev": self.speech(("dev",)),
                    "units": self.units(TRAIN),
                    "aligner": self.gmm(aligner_of(self.config), TRAIN),
                },
                {
                    "way": way,
                    "values": values,
                    "hybrid": self.config.hybrid.of_training(),
                    "own": self.config.of_way(way),
                    "front_end": self.hybrid_front_end,
                    "beam": self.config.gmm.beam,
                },
                f"{', '.join(values)} of {way}, chosen on dev",
                other_code=tuple(other_code(way)),
            )
        )

    @property
    def hybrid_front_end(self) -> FrontEndConfig:
        """The front end of hybrids; the aligner's mixtures that are added to one see the cepstra."""
        hybrid = self.config.hybrid
        return self.config.front_end.front_end(hybrid.input_projection, keep_cepstra=hybrid.gmm_weight > 0)

    # Words

    def tuning(self, name: str, model: Step, *, learns_rejection: bool) -> Step:
        """Weights of the decoder, tuned on dev."""
        options = {
            "names": self.found.grammars,
            "decoder": self.decoder,
            "tuning": self.config.tuning,
            "learns_rejection": learns_rejection,
        }
        return self.add(
            Step(
                f"tuning-{name}",
                tune_decoder,
                {"dev": self.spoken(("dev",), TRAIN), "model": model, "grammars": self.grammars(TRAIN)},
                {"name": name, **options},
                f"weights of the decoder with {name}, tuned on dev",
                decided_by=options,  # the name is for messages
            )
        )

    def confidence(self, name: str, model: Step, splits: Splits) -> Step:
        """How probable words are by how well they fit the model."""
        return self.add(
            Step(
                f"confidence-{name}",
                learn_confidence,
                {"speech": self.speech(splits, left_out=self.usable(splits)), "model": model},
                {"beam": self.config.gmm.beam},
                f"how probable aligned words are with {name}",
            )
        )

    def heard_commands(self, name: str, system: System) -> Step | None:
        """What models hear in takes that did not train them; None where there is no list of commands."""
        if not self.folds:
            return None
        every = self.found.splits
        models = {fold: self.acoustic_model(system, (*every, fold)) for fold in self.folds}
        known = {f"{fold} left out": self.usable((*every, fold)) for fold in self.folds}
        return self.add(
            Step(
                f"heard-{name}",
                hear_commands,
                {
                    "speech": self.speech(every, left_out=self.usable(every)),
                    "grammars": self.grammars(TRAIN),
                    "models": models,
                    "left_out": known,
                },
                says=f"what {name} hears in takes that did not train it, and which sounds are no command",
            )
        )

    def recognizer(
        self, name: str, model: Step, tuning: Step, splits: Splits, confidence: Step, heard: Step | None
    ) -> Step:
        """All that decoding needs, in one directory."""
        made_from = {"model": model, "tuning": tuning, "grammars": self.grammars(splits), "fit": confidence}
        made_from |= {} if heard is None else {"heard": heard}
        return self.add(
            Step(
                f"recognizer-{name}",
                assemble_recognizer,
                {"speech": self.spoken(splits, splits), **made_from},
                {"names": self.found.grammars, "decoder": self.decoder, "text": self.config.text},
                f"all that decoding with {name} needs",
            )
        )

    def test(self, name: str, recognizer: Step) -> Step:
        """Words of the test set."""
        return self.add(
            Step(
                f"test-{name}",
                decode_test,
                {"test": self.speech(("test",)), "recognizer": recognizer},
                {"names": self.found.grammars},
                f"words of test with {name}",
            )
        )

    @property
    def decoder(self) -> DecoderConfig:
        """The decoder's configuration before its weights are tuned."""
        return self.config.decoder.decoder(self.config.front_end.shift_ms / 1000)


def folds_of(found: Found) -> Splits:
    """Return the names of the folds in which takes are left out, where there is a list of commands."""
    takes = Counter(u.words for split in found.splits for u in found.corpora[split])
    if COMMANDS not in found.grammars or not 1 < max(takes.values()) <= takes.total() <= MOST_COMMAND_TAKES:
        return ()
    return tuple(f"fold{n + 1}" for n in range(min(N_FOLDS, max(takes.values()))))


def check_system(name: str, system: System, config: ExperimentConfig) -> None:
    """Raise an error if a system cannot be trained with this configuration."""
    schedule = config.gmm.mixtures
    projection = config.hybrid.input_projection
    if isinstance(system, GmmSystem):
        projection = system.projection
        if system.n_components not in schedule:
            stem = "gmm-lda" if system.projection == "lda" else "gmm"
            raise ConfigError(
                f'model "{name}" has {system.n_components} Gaussians a state, expected a number in '
                f"gmm.mixtures, got {', '.join(map(str, schedule))}; "
                f"train {' or '.join(f'{stem}{n}' for n in schedule)}, "
                "or change gmm.mixtures"
            )
    else:
        check_way(system.way, config.hybrid)
        values, units = values_of(system.way, config), config.hybrid.units
        if values and units != "phone":
            raise ConfigError(
                f"chosen_on_dev: {', '.join(values)} with hybrid.units={units}, expected "
                "hybrid.units=phone, since only phones are aligned on dev; set them instead"
            )
    config.front_end.front_end(projection).check()


def pieces(outlook: Sequence[Outlook], n_utterances: Mapping[str, int]) -> list[Piece]:
    """Return the steps that are not done yet as pieces of one work, by the utterances of each split."""
    return [_piece(each.step, n_utterances) for each in outlook if each.path is None]


def _piece(step: Step, n_utterances: Mapping[str, int]) -> Piece:
    says, cost = _SAID[step.make]
    way = step.arguments.get("way", "")
    if step.make is train_discriminants:
        says = _SAID_OF_WAY.get(way, says)
    if "names" in step.arguments and "gmm" not in step.name:
        cost *= _GMM_TIMES  # discriminants score longer
    cost *= len(step.arguments.get("names", [""]))
    read = [step, *step.made_from.values()]
    splits = [given.arguments["split"] for given in read if given.make is compute_features]
    if "-warp-" in step.name:
        says = "reading recordings at other pitches"
    if step.name.endswith("-dev") and step.make is not compute_features:
        says += ", now with dev"
    return Piece(
        step.name,
        says,
        f"{step.make.__name__} {way} {step.arguments.get('n_components', '')}",
        0.05 + cost * sum(n_utterances.get(split, 0) for split in splits) / 20,
        is_counted=step.make is train_discriminants,
    )


def listing(outlook: Sequence[Outlook]) -> list[dict[str, object]]:
    """Return for each step what a plan says of it, in a form that JSON can hold."""
    return [
        {
            "name": each.step.name,
            "says": each.step.says,
            "from": list(dict.fromkeys(step.name for step in each.step.made_from.values())),
            "done": each.path is not None,
            "why": each.why,
        }
        for each in outlook
    ]


def _said(splits: Sequence[str]) -> str:
    *parts, last = splits
    is_fold = last.startswith("fold")
    return f"{' and '.join(parts)} without {last}" if is_fold else " and ".join(splits)


def _on(projection: Projection) -> str:
    return "" if projection == "none" else f", projected ({projection})"
