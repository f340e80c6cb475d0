"""The interface of machines: the discriminants of all pairs of classes, ready to be evaluated.

Axes: T frames, D features, P pairs, K classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, Self

from foundation.arrays import Floats, Reals, Singles, Tensors
from foundation.threads import parallel_map, single_threaded_libraries

FRAMES_AT_ONCE = 128
LEAST_SIGMA = 1e-6  # of a kernel in a model file: frames divided by it stay finite


class Machines(Protocol):
    """The discriminants q_ij of pairs of classes, positive for i.

    Attributes
    ----------
    layout : name, in model files, of the way in which centres and weights are stored
    n_classes : K
    n_pairs : P
    n_centers : number of distinct centres of all pairs; each costs one kernel value a frame
    centers_a_pair : mean number of centres of one pair
    n_features : number D of columns of the frames
    sigma : width of the Gaussian kernel
    """

    layout: ClassVar[str]

    @property
    def n_classes(self) -> int: ...  # noqa: D102 (see the class)

    @property
    def n_pairs(self) -> int: ...  # noqa: D102

    @property
    def n_centers(self) -> int: ...  # noqa: D102

    @property
    def centers_a_pair(self) -> float: ...  # noqa: D102

    @property
    def n_features(self) -> int: ...  # noqa: D102

    @property
    def sigma(self) -> float: ...  # noqa: D102

    def outputs(self, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return q_ij of all pairs at frames (T, D), (T, P) float32."""
        ...

    def log_posteriors(self, curves: Floats, frames: Reals, n_workers: int | None = None) -> Singles:
        """Return log P(class | frame) by Price's coupling, (T, K) float32; needs machines of all pairs i < j.

        Parameters
        ----------
        curves : (P, 3) from outputs to log odds
        frames : (T, D)
        n_workers : threads; one a core by default. The result does not depend on it.
        """
        ...

    def tensors(self) -> Tensors:
        """Return the arrays that a model file must hold, beside layout and width."""
        ...

    def check(self) -> None:
        """Raise ModelError unless the arrays fit each other; compiled functions rely on it."""
        ...

    @classmethod
    def from_tensors(cls, tensors: Tensors, sigma: float) -> Self:
        """Return the machines whose `tensors` these are."""
        ...


def for_blocks_of_frames(
    work: Callable[[slice], None],
    n_frames: int,
    n_workers: int | None = None,
    at_once: int | None = None,
) -> None:
    """Call ``work`` with the rows of one block of frames after the other, in threads.

    The blocks are so small that their outputs of thousands of pairs stay in a core's cache until they are
    used.
    """
    size = at_once or FRAMES_AT_ONCE
    rows = [slice(start, min(start + size, n_frames)) for start in range(0, n_frames, size)]
    if n_workers == 1:  # in the caller's thread: what is allocated in ever new threads stays with the process
        with single_threaded_libraries():
            for block in rows:
                work(block)
        return
    for _ in parallel_map(work, rows, n_workers):
        pass
