"""Whether an emission model of your own does what training, decoding and clusters ask of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from acoustic.emissions.emission_model import EmissionModel
from acoustic.emissions.kinds import EmissionKind
from acoustic.errors import ModelError
from foundation.arrays import Singles
from foundation.conformance import N_THREADS, conform, copied, from_threads, raised

_TOLERANCE = 1e-4  # of the scores' range: sums of single precision in another order differ by less; by feel
_ROUNDS = 4  # of all blocks in all threads; by feel
_BLOCKS = (1, 2, 5, 16)  # frames in blocks, in turn


def check_emission_model(model: EmissionModel, frames: Singles, *, kind: EmissionKind | None = None) -> None:
    """Raise an error that lists all that is wrong with an emission model.

    Its scores must have shape (T, S) and be finite float32 logarithms. They must be the same each time, for
    frames in blocks (also of no frames, and read-only ones) as for all at once, from one thread as from many,
    and for a copy in another process; frames must stay as they are.

    Parameters
    ----------
    model : the model
    frames : (T, D) float32, some frames such as the model was trained on, 20 at least
    kind : how the model is written and read, to check that what was written scores as before

    Raises
    ------
    ConformanceError
        Something is wrong; each line says what.
    """
    frames = np.array(frames, dtype=np.float32)
    if frames.ndim != 2 or len(frames) < 20 or not np.isfinite(frames).all():
        raise ModelError(
            f"frames: expected 20 or more finite ones, (T, D), got shape {frames.shape}; take some of a "
            "recording"
        )
    conform(type(model).__name__, _complaints(model, frames, kind))


def _complaints(model: EmissionModel, frames: Singles, kind: EmissionKind | None) -> Iterator[str]:
    """Yield what is wrong; what makes no sense after a first fault is not looked at."""
    n_states = getattr(model, "n_states", None)
    if isinstance(n_states, bool) or not isinstance(n_states, int | np.integer) or n_states < 1:
        yield (
            f"n_states is {n_states!r}, expected a whole number of 1 or more; make it an attribute or "
            "property"
        )
        return
    given = frames.copy()
    try:
        scores = model.log_likelihoods(given)
    except Exception as error:
        yield f"log_likelihoods {raised(error)}; expected scores of frames {frames.shape}"
        return
    if not np.array_equal(given, frames):
        yield "log_likelihoods changes the frames it is given; expected them to stay: work on a copy"
    faults = list(_faults_of_scores(scores, (len(frames), int(n_states))))
    yield from faults
    if faults:
        return
    first = scores.copy()
    yield from _faults_of_repetition(model, frames, scores, first)
    yield from _faults_of_views(model, frames, first)
    yield from _faults_of_blocks(model, frames, first)
    yield from _faults_of_threads(model, frames)
    yield from _faults_of_copies(model, frames, first)
    if kind is not None:
        yield from _faults_of_files(model, frames, first, kind)


def _faults_of_scores(scores: Any, shape: tuple[int, int]) -> Iterator[str]:
    """Yield what is wrong with the scores of all frames."""
    if not isinstance(scores, np.ndarray) or scores.shape != shape:
        got = f"shape {scores.shape}" if isinstance(scores, np.ndarray) else f"a {type(scores).__name__}"
        yield (
            f"log_likelihoods returns {got}, expected an array (T, S) = {shape}: a row a frame, a column a "
            "state"
        )
        return
    if scores.dtype != np.float32:
        yield f"scores are {scores.dtype}, expected float32; end with .astype(np.float32)"
    if not np.isfinite(scores).all():
        frame, state = np.argwhere(~np.isfinite(scores))[0]
        yield (
            f"scores: {scores[frame, state]} in frame {frame}, state {state}, expected finite logarithms; "
            "bound them from below, as np.maximum(log_posteriors, -40)"
        )
    elif (
        np.all(scores >= 0) and np.all(scores <= 1) and np.allclose(scores.sum(axis=1), 1, rtol=0, atol=1e-3)
    ):
        yield (
            "scores lie in [0, 1] and sum to 1 in each frame: these are probabilities; return their "
            "logarithms"
        )


def _faults_of_repetition(
    model: EmissionModel, frames: Singles, scores: Singles, first: Singles
) -> Iterator[str]:
    """Yield what is wrong when the same frames come again, and other frames in between."""
    again = model.log_likelihoods(frames.copy())
    if not np.array_equal(again, first):
        yield (
            "the same frames get other scores the second time, expected the same bytes; draw nothing at "
            "random and keep nothing of earlier calls"
        )
    model.log_likelihoods(frames[::-1].copy())
    if not np.array_equal(scores, first):
        yield "a later call changes scores that were returned before; return a new array each time"


def _faults_of_views(model: EmissionModel, frames: Singles, first: Singles) -> Iterator[str]:
    """Yield what is wrong with frames that are mapped from a file, or columns of wider frames."""
    fixed = frames.copy()
    fixed.flags.writeable = False
    wider = np.concatenate([frames, frames], axis=1)[:, : frames.shape[1]]
    for what, view in (("read-only frames", fixed), ("frames that are columns of a wider array", wider)):
        try:
            found = model.log_likelihoods(view)
        except Exception as error:
            yield f"{what}: log_likelihoods {raised(error)}; expected scores, since such frames occur"
            continue
        if not _agree(found, first):
            yield f"{what} get other scores than a copy of them; expected the same"


def _faults_of_blocks(model: EmissionModel, frames: Singles, first: Singles) -> Iterator[str]:
    """Yield what is wrong when frames come in blocks."""
    try:
        nothing = model.log_likelihoods(frames[:0])
        if nothing.shape != (0, first.shape[1]):
            yield f"no frames: got shape {nothing.shape}, expected (0, {first.shape[1]})"
    except Exception as error:
        yield f"no frames: log_likelihoods {raised(error)}; expected shape (0, {first.shape[1]})"
    try:
        joined = np.concatenate([model.log_likelihoods(frames[rows]) for rows in _blocks(len(frames))])
    except Exception as error:
        yield f"short blocks of frames: log_likelihoods {raised(error)}; expected scores"
        return
    if not _agree(joined, first):
        yield (
            "frames in blocks get other scores than all at once; expected the same: let a frame's score "
            "depend on this frame and the model alone"
        )


def _faults_of_threads(model: EmissionModel, frames: Singles) -> Iterator[str]:
    """Yield what is wrong when many threads use the model."""
    blocks = _blocks(len(frames)) * max(1, N_THREADS // 4)
    try:
        alone = [model.log_likelihoods(frames[rows]).copy() for rows in blocks]
    except Exception:  # named above
        return
    for _ in range(_ROUNDS):
        try:
            found = from_threads([partial(model.log_likelihoods, frames[rows]) for rows in blocks])
        except Exception as error:
            yield (
                f"from many threads log_likelihoods {raised(error)}; expected scores: keep no state in the "
                "model"
            )
            return
        if not all(_agree(a, b) for a, b in zip(found, alone, strict=True)):
            yield (
                "from many threads frames get other scores than from one; expected the same: keep nothing "
                "of a call in the model, nor in a global variable"
            )
            return


def _faults_of_copies(model: EmissionModel, frames: Singles, first: Singles) -> Iterator[str]:
    """Yield what is wrong when the model goes to another process."""
    try:
        copy = copied(model)
    except Exception as error:
        yield (
            f"the model cannot go to another process: pickle {raised(error)}; expected a copy: hold no "
            "locks, open files or generators"
        )
        return
    try:
        if not np.array_equal(copy.log_likelihoods(frames), first):
            yield (
                "a copy in another process scores otherwise; expected the same bytes: keep all it needs in "
                "the model"
            )
    except Exception as error:
        yield f"a copy in another process: log_likelihoods {raised(error)}; expected the same scores"


def _faults_of_files(
    model: EmissionModel, frames: Singles, first: Singles, kind: EmissionKind
) -> Iterator[str]:
    """Yield what is wrong when the model is written and read."""
    if type(model) is not kind.type:
        yield (
            f"the kind is of {kind.type.__name__}, expected {type(model).__name__}; correct EmissionKind.type"
        )
    try:
        tensors, options = kind.pack(model)
        faults = [name for name, tensor in tensors.items() if not isinstance(tensor, np.ndarray)]
        if faults:
            yield (
                f"pack: {', '.join(faults)} are no arrays; expected numpy arrays by name; the rest are "
                "options"
            )
            return
        back = kind.unpack(
            {name: tensor.copy() for name, tensor in tensors.items()}, json.loads(json.dumps(options))
        )
        same = back.n_states == model.n_states and np.array_equal(back.log_likelihoods(frames), first)
    except Exception as error:
        yield (
            f"pack and unpack: {raised(error)}; expected the model again, from arrays and what JSON can hold"
        )
        return
    if not same:
        yield (
            "what unpack makes of what pack wrote scores otherwise; expected the same bytes: pack all of "
            "the model"
        )


def _blocks(n_frames: int) -> list[slice]:
    """Return blocks that cover all frames once."""
    bounds, n = [0], 0
    while bounds[-1] < n_frames:
        bounds.append(min(n_frames, bounds[-1] + _BLOCKS[n % len(_BLOCKS)]))
        n += 1
    return [slice(a, b) for a, b in pairwise(bounds)]


def _agree(a: Any, b: Singles) -> bool:
    """Say whether scores are the same up to the order of sums."""
    spread = float(np.ptp(b)) if b.size else 0.0
    return np.shape(a) == b.shape and bool(np.allclose(a, b, rtol=0, atol=_TOLERANCE * max(1.0, spread)))
