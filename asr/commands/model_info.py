"""``asr info``: what a trained model was made from, how good and how fast it is, what to do next."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import Any

from acoustic.emissions.kinds import describe
from acoustic.hmm.topology import base_phone
from acoustic.ways import in_words
from asr.corpora.amounts import Amount, read_data, said_duration
from asr.errors import ExperimentError
from asr.files import read_object, said_size
from asr.formats.model_directories import DECODING, MODELS, model_directory
from asr.recognizer import Recognizer
from asr.reports.finished import Finished
from asr.scoring.results import RESULTS, Result, is_synthetic, read_results
from asr.training.fit import SUSPICIOUS, read_suspicious
from features.audio import audio_info
from foundation.errors import listed

logger = logging.getLogger(__name__)

_WIDTH = 100
_KINDS = {
    "gmm": "Gaussian mixtures",
    "pairwise": "discriminants of pairs",
    "one-vs-rest": "one discriminant a class",
    "sklearn": "a scikit-learn classifier",
}


def info(
    experiment: str | Path, *, model: str | None = None, measure: str | Path | None = None
) -> dict[str, Any]:
    """Return what a model is made of, what it was trained on, how good and how fast it is.

    Of models that earlier versions trained, and of a model's directory without its experiment, some entries
    are None.

    Parameters
    ----------
    experiment : experiment directory, or a model's own
    model : name; by default the one that was best on dev
    measure : recording that is decoded now to see how fast that is
    """
    place = Path(experiment)
    directory = model_directory(place, model)
    recognizer = Recognizer.load(place, model)
    root = _root_of(directory)
    acoustic, data = recognizer.model, read_data(directory)
    grammars = list(read_object(directory / DECODING)["grammars"])
    rows = [] if root is None else _rows_of(root, recognizer.name, grammars)
    found: dict[str, Any] = {
        "experiment": place,
        "model": recognizer.name,
        "recipe": None if data is None else data.recipe,
        "preset": None if data is None else data.preset,
        "trained_on": None if data is None else list(data.trained_on),
        "data": None if data is None else {name: a._asdict() for name, a in data.amounts.items()},
        "training_minutes": round(float(acoustic.occupancy.sum()) * acoustic.front_end.frame_shift_s / 60, 2),
        "suspicious": None if root is None else _n_suspicious(root),
        "words": len(recognizer.lexicon),
        "phones": len({base_phone(name) for name in acoustic.topology.phones}),
        "units": len(acoustic.topology.phones),
        "states": acoustic.topology.n_states,
        "bytes": sum(path.stat().st_size for path in directory.iterdir() if path.is_file()),
        "adapts_to_speakers": acoustic.adaptation is not None,
        "sample_rate": acoustic.front_end.config.mfcc.sample_rate,
        "front_end": acoustic.front_end.config,
        "text": recognizer.text,
        "grammars": grammars,
        "grammar": recognizer.grammar,
        "decoder": recognizer.decoder.config,
        "results": rows,
        "synthetic": None if root is None else is_synthetic(root),
        "tested_cpu_s_per_s": None if root is None else _cpu_when_tested(root, recognizer.name),
        "measured": None if measure is None else _measured(recognizer, Path(measure)),
    }
    described = describe(acoustic.emissions)
    return found | {"what": in_words(described)} | described


def _root_of(directory: Path) -> Path | None:
    """Return the experiment directory of a model's own directory, if it lies in a finished one."""
    root = directory.resolve().parents[1]
    return root if directory.resolve().parent.name == MODELS and (root / RESULTS).is_file() else None


def _rows_of(root: Path, model: str, grammars: Sequence[str]) -> list[Result]:
    """Return a model's rows of ``results.json``, but for those of grammars that it does not have."""
    rows = [row for row in read_results(root) if row.model == model]
    others = sorted({row.grammar for row in rows} - set(grammars))
    if others:
        logger.warning(
            "%s: has rows of %s with %s, expected the grammars of the model (%s); they are left out: "
            "restore the file, or run asr train again",
            *(root / RESULTS, model, listed(others), ", ".join(grammars)),
        )
    return [row for row in rows if row.grammar in grammars]


def _n_suspicious(root: Path) -> int | None:
    path = root / SUSPICIOUS
    return len(read_suspicious(root)[0]) if path.is_file() else None


def _cpu_when_tested(root: Path, model: str) -> float | None:
    """Return CPU seconds for a second of the test set and a grammar."""
    with suppress(ExperimentError):  # its stages are gone
        return Finished.read(root).decoding_cpu_s_per_s(model)
    return None


def _measured(recognizer: Recognizer, recording: Path) -> dict[str, Any]:
    """Return how long decoding takes, once all is compiled and read."""
    recognizer = recognizer.with_options(confidence=True)
    recognizer.transcribe(recording)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    recognizer.transcribe(recording)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    return {
        "recording": recording,
        "duration_s": round(audio_info(recording).duration_s, 3),
        "wall_s": round(wall_s, 4),
        "cpu_s": round(cpu_s, 4),
    }


def format_info(found: Mapping[str, Any]) -> str:
    """Return the description of a model in words."""
    lines = [_paragraph(label, text) for label, text in _paragraphs(found)]
    return "\n".join([_title(found), "", *lines])


def _paragraph(label: str, text: str) -> str:
    return fill(
        text,
        _WIDTH,
        initial_indent=f"{label:12}",
        subsequent_indent=" " * 12,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _title(found: Mapping[str, Any]) -> str:
    recipe = f", by the recipe {found['recipe']}, preset {found['preset']}" if found["recipe"] else ""
    return f"{found['model']} of {found['experiment']}{recipe}"


def _paragraphs(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield labels and texts, each to be wrapped."""
    yield "trained on", _said_training(found)
    if found["suspicious"]:
        yield "", f"{found['suspicious']} utterances of it look wrong (see below)"
    yield "what", found["what"]
    yield "made of", _said_model(found)
    rate = f"{found['sample_rate']:,} Hz"
    yield "expects", f"recordings at {rate}; others are resampled, and are recognised worse below {rate}"
    adapts = (
        "is adapted to the speaker of each recording" if found["adapts_to_speakers"] else "is not adapted"
    )
    yield "", f"features are normalised over {_OVER[found['front_end'].normalize]}; the model {adapts}"
    others = [name for name in found["grammars"] if name != found["grammar"]]
    also = f"; also --grammar {', '.join(others)}" if others else ""
    yield "grammar", f"{found['grammar']}, over {found['words']:,} words{also}"
    for label, texts in (
        ("accuracy", _said_accuracies(found)),
        ("speed", _said_speeds(found)),
        ("next", _next(found)),
    ):
        yield from ((label if n == 0 else "", text) for n, text in enumerate(texts))


_OVER = {
    "speaker": "all recordings of a speaker",
    "utterance": "each recording",
    "global": "the training data",
    "none": "nothing",
}


def _said_training(found: Mapping[str, Any]) -> str:
    if found["data"] is None:
        return f"{found['training_minutes']:.1f} minutes; an earlier version trained it, and recorded no more"
    amounts = [Amount(**found["data"][split]) for split in found["trained_on"]]
    splits = " and ".join(found["trained_on"])
    if len(amounts) == 1:
        return f"{amounts[0]} ({splits})"
    hours, n_words, n_utterances = (
        sum(getattr(a, name) for a in amounts) for name in ("hours", "n_words", "n_utterances")
    )
    parts = "; ".join(
        f"{split}: {amount}" for split, amount in zip(found["trained_on"], amounts, strict=True)
    )
    return f"{said_duration(hours)}, {n_words:,} words in {n_utterances:,} utterances of {splits} ({parts})"


def _said_model(found: Mapping[str, Any]) -> str:
    kinds = [found[name] for name in ("first", "second")] if found["kind"] == "combined" else [found]
    units = f"{found['units']:,} in context, " if found["units"] != found["phones"] else ""
    size = f"{found['phones']:,} phones, {units}{found['states']:,} states; {said_size(found['bytes'])}"
    return f"{' and '.join(map(_said_emissions, kinds))}; {size}"


def _said_emissions(found: Mapping[str, Any]) -> str:
    """Return the kind of an emission model and its sizes."""
    sizes = {"gaussians": "Gaussians", "classes": "classes", "pairs": "pairs", "centers": "centres"}
    parts = [f"{found[key]:,} {name}" for key, name in sizes.items() if key in found]
    kind = _KINDS.get(found["kind"], found["kind"])
    return f"{kind} ({', '.join(parts)})" if parts else kind


def _said_accuracies(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the accuracy of each grammar, on test where there is one."""
    rows = found["results"]
    split = "test" if any(row.split == "test" for row in rows) else "dev"
    for row in (row for row in rows if row.split == split):
        low, high = row.interval
        yield (
            f"{row.word_accuracy:.1f} % [{low:.1f}, {high:.1f}] of {row.words:,} words of {split} "
            f"with the grammar {row.grammar}"
        )
    if not rows:
        yield "not known here: no results beside this model, or no dev and test"
    elif split == "dev":
        yield "dev also chose the decoder's weights: new recordings are recognised worse"
    if found["synthetic"]:
        yield "SYNTHETIC speech, not recordings of people"


def _said_speeds(found: Mapping[str, Any]) -> Iterator[str]:
    cpu_s, measured = found["tested_cpu_s_per_s"], found["measured"]
    if cpu_s:
        yield f"{cpu_s:.3f} × real time on one core when it was tested (without reading the recordings)"
    if measured:
        seconds = measured["duration_s"]
        yield (
            f"{measured['wall_s'] / seconds:.3f} × real time now ({measured['wall_s']:.2f} s, "
            f"{measured['cpu_s']:.2f} CPU s, for the {seconds:.1f} s of {measured['recording']})"
        )
    elif not cpu_s:
        yield "not known; --measure RECORDING measures it"


def _next(found: Mapping[str, Any]) -> Iterator[str]:
    place = shlex.quote(str(found["experiment"]))
    if found["suspicious"]:
        yield f"asr validate {place} --suspicious"
    yield f"asr decode {place} RECORDING.wav"
    yield f"asr evaluate {place} --corpus NEW_RECORDINGS"
    yield f"asr align {place} RECORDING.wav TRANSCRIPT.txt"
