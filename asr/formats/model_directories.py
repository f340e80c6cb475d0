"""The directories of trained models: where a model lies in an experiment, and what lies in its directory.

Training assembles ``EXP/models/NAME`` (`asr.training.recognition.assemble_recognizer`, `asr.experiment`), and
`asr.recognizer.Recognizer.load` reads it. A file is written and read by functions of one module:

=========================  ==================================================  ======================
file                       holds                                               module
=========================  ==================================================  ======================
``model.json``             front end, topology, kind of emissions, options     `acoustic.model`
``model.safetensors``      their arrays                                        `acoustic.model`
``lexicon.txt``            pronunciations                                      `decoder.lexicon`
``*.arpa, *.slf, *.txt``   grammars                                            `asr.language.grammars`
``decoding.json``          the decoder's options for each grammar              this
``wording.json``           how transcripts are read, and words written         this
``fit.json``               how probable words are by how well they fit         this
``trained_on.json``        ids of the utterances it was trained on             this
``data.json``              how much it was trained and tested on               `asr.corpora.amounts`
``usual_rejection.json``   the rule of rejection that training has learned     `asr.spotting.rejection`
``commands.json``          what was heard in takes, and what is no command     `asr.spotting.rejection`
``rejection.json``         the rule that ``asr keywords`` has learned since    `asr.spotting.rejection`
``keywords.json``          the keywords that were chosen                       `asr.spotting.rejection`
=========================  ==================================================  ======================
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acoustic.alignment import FitCurve
from acoustic.emissions.kinds import describe
from acoustic.model import DIGEST, JSON_NAME, AcousticModel, load_model, save_model
from acoustic.ways import in_words, meant
from asr.corpora.amounts import read_data
from asr.errors import ConfigError, ExperimentError
from asr.files import as_train_wrote, read_json, read_object, write_json
from decoder.decoder import DecoderConfig
from decoder.lexicon import Lexicon
from foundation.arrays import check_number
from foundation.errors import suggestion
from foundation.records import record_of

if TYPE_CHECKING:
    from asr.config import Speakers
    from asr.systems import GrammarName

DECODING = "decoding.json"
LEXICON = "lexicon.txt"
CURVES = "fit.json"  # how probable words are by how well they fit
TRAINED_ON = "trained_on.json"  # ids of the utterances
WORDING = "wording.json"  # how transcripts are read, and words written
MODELS = "models"
DEFAULT_MODEL = "default.json"
POINTS = "points"  # of a sweep, each with models of its own
SWEEP = "sweep.json"  # the rows of the table of a sweep
SPARSITY = "sparsity.json"  # accuracies with other numbers of centres


def model_directory(directory: Path, model: str | None) -> Path:
    """Return where a model lies, given the experiment directory (or the model's own).

    A name that an experiment does not have, and that is another name of one that it has, means that one.
    """
    if (directory / DECODING).is_file():
        own_name = directory.resolve().name
        if model not in (None, own_name) and _meant(str(model), {own_name: directory}) != own_name:
            raise _not_one_of(directory, "model", str(model), [own_name])
        return directory
    models = sorted(p.name for p in (directory / MODELS).glob("[!.]*") if (p / DECODING).is_file())
    if not models:
        points = sorted(p.parent.as_posix() for p in (directory / POINTS).glob(f"*/{MODELS}"))
        if points:
            raise ExperimentError(
                f"{directory}: a sweep, expected one of its points; choose one: {', '.join(points)}"
            )
        if directory.is_file():
            raise ExperimentError(
                f"{directory}: a file, expected a directory that asr train has finished; give that first"
            )
        what = "no trained model in it" if directory.is_dir() else "no such directory"
        raise ExperimentError(
            f"{directory}: {what}; expected a directory that asr train has finished; "
            "check the path or run asr train"
        )
    name = model or _default_model(directory, models)
    name = _meant(name, {known: directory / MODELS / known for known in models})
    if name not in models:
        raise _not_one_of(directory, "model", name, models)
    return directory / MODELS / name


def speakers_as_trained(directory: Path) -> Speakers:
    """Return who spoke in the data of a model, given its own directory, as `asr train` was told."""
    data = read_data(directory)
    return "auto" if data is None else data.speakers


def _default_model(directory: Path, models: Sequence[str]) -> str:
    """Return the model that was best on dev."""
    if not (directory / DEFAULT_MODEL).is_file():
        raise ExperimentError(
            f"{directory}: training has not finished, no model is the best one yet; "
            f"run asr train again, or choose with --model: {', '.join(models)}"
        )
    record = read_json(directory / DEFAULT_MODEL)
    return str(record.get("model")) if isinstance(record, dict) else ""


def _meant(name: str, models: Mapping[str, Path]) -> str:
    """Return which of some models, given with their directories, is meant by a name; else the name itself."""
    for other, directory in models.items() if name not in models else ():
        data = read_data(directory)
        if data is not None and meant(name, data.preset) == other:
            return other
    return name


def trained_in_words(directory: Path) -> str:
    """Return what the model in a directory is (of a system to be trained: `asr.config.trained_in_words`)."""
    return in_words(describe(load_model(directory).emissions))


def trained_by(directory: Path, ids: Collection[str]) -> set[str]:
    """Return which utterances, given by their ids, trained the model in a directory."""
    path = directory / TRAINED_ON
    if not path.is_file():
        return set()
    with as_train_wrote(path):
        return set(ids) & set(read_json(path))


def decoding_options(path: Path, grammar: str | None) -> tuple[str, DecoderConfig, DecoderConfig | None]:
    """Return the grammar's name (the default if None), its decoder options and those of the first pass."""
    record = read_object(path)
    with as_train_wrote(path):
        name = grammar or str(record["default_grammar"])
        configs, firsts = (
            {
                known: record_of(DecoderConfig, options, ExperimentError, f"{known}.")
                for known, options in dict(found).items()
            }
            for found in (record["grammars"], record.get("first_pass", {}))
        )
    if name not in configs:
        raise _not_one_of(path.parent, "grammar", name, list(configs))
    return name, configs[name], firsts.get(name)


class _Wording(NamedTuple):
    """What the file of wording holds."""

    text: str
    spelling: Sequence[tuple[str, str]]


def read_wording(directory: Path) -> tuple[str, dict[str, str]]:
    """Return how transcripts are read, and the words that are written in another way than the lexicon's."""
    path = directory / WORDING
    record = read_object(path)
    with as_train_wrote(path):
        record = record | {"spelling": list(record["spelling"].items())}
        found = record_of(_Wording, record, ExperimentError)
        return found.text, dict(found.spelling)


def check_belongs(directory: Path) -> None:
    """Raise an error if the decoder's options were tuned for another model: they would make words worse.

    Models that were made before the file said so are taken as they are.
    """
    tuned_for = read_object(directory / DECODING).get(DIGEST)
    if tuned_for is not None and tuned_for != read_object(directory / JSON_NAME).get(DIGEST):
        raise ExperimentError(
            f"{directory / DECODING}: was tuned for another model than the one beside it, expected the files "
            "of one model; restore the one that was replaced, or train again"
        )


def check_shift(directory: Path, options: DecoderConfig | None, frame_shift_s: float) -> None:
    """Raise an error unless the decoder counts time by the frames that the front end makes."""
    if options is not None and abs(options.frame_shift_s - frame_shift_s) > 1e-3 * frame_shift_s:
        raise ExperimentError(
            f"{directory / DECODING}: frame_shift_s is {options.frame_shift_s:g}, expected the "
            f"{frame_shift_s:g} s of the front end; train again or restore the file"
        )


def _not_one_of(directory: Path, what: str, name: str, known: Sequence[str]) -> ConfigError:
    hint = suggestion(name, known)
    return ConfigError(f'{directory}: no {what} "{name}"{hint}; expected one of: {", ".join(known)}')


def write_recognizer(
    directory: Path,
    model: AcousticModel,
    lexicon: Lexicon,
    grammars: Mapping[GrammarName, Mapping[str, Any]],
    first_pass: Mapping[GrammarName, Mapping[str, Any]],
    default: str,
    *,
    text: str = "plain",
    spelling: Mapping[str, str] | None = None,
) -> None:
    """Write a model's own directory; the grammars' files are the caller's.

    Parameters
    ----------
    directory : directory to write, made if it does not exist
    model, lexicon : what is written
    grammars : decoder options of each grammar
    first_pass : decoder options of each grammar in the first pass; empty for a model that does not adapt
    default : name of the default grammar
    text, spelling : those of `Recognizer`
    """
    save_model(model, directory)
    lexicon.write(directory / LEXICON)
    write_json(directory / WORDING, {"text": text, "spelling": spelling or {}})
    options = {"default_grammar": default, "grammars": grammars, "first_pass": first_pass}
    write_json(directory / DECODING, {**options, DIGEST: read_object(directory / JSON_NAME)[DIGEST]})


@dataclass(frozen=True)
class FitCurves:
    """Curves that say how probably a transcript, or one word of it, was spoken; None where unknown."""

    utterance: FitCurve | None
    word: FitCurve | None


def save_curves(curves: FitCurves, directory: Path) -> None:
    """Write ``fit.json``."""
    write_json(directory / CURVES, curves)


def load_curves(directory: Path) -> FitCurves:
    """Return what `save_curves` wrote; curves that tell nothing where there is no file."""
    if not (directory / CURVES).is_file():
        return FitCurves(None, None)
    record = read_object(directory / CURVES)
    with as_train_wrote(directory / CURVES):
        return FitCurves(*(_curve(record[name], name) for name in ("utterance", "word")))


def _curve(record: object, name: str) -> FitCurve | None:
    """Return the curve of a name in ``fit.json``."""
    if record is None:
        return None
    curve = record_of(FitCurve, record, ExperimentError, f"{name}.")
    for field, number in vars(curve).items():
        check_number(f"{name}.{field}", number, ExperimentError)
    return curve
