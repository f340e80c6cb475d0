"""Matrix products of one utterance's size, computed on one thread."""

from __future__ import annotations

import numpy as np

from foundation.arrays import Singles

# OpenBLAS wakes its threads for a product of more multiplications than this. For some hundred frames that
# costs more than it saves, twenty times so on a busy machine: the threads spin while they wait. In pieces of
# this size the product stays on the caller's thread, and its rounding does not depend on the others.
SERIAL_MULTIPLICATIONS = 1 << 18


def serial_product(left: Singles, right: Singles, out: Singles | None = None) -> Singles:
    """Return ``left @ right`` computed on one thread.

    Parameters
    ----------
    left : (T, D) float32
    right : (D, R) float32
    out : (T, R) float32, optional
        Where to put the result.

    Returns
    -------
    (T, R) float32

    Examples
    --------
    >>> serial_product(np.array([[1.0, 2.0]], dtype=np.float32), np.array([[3.0], [4.0]], dtype=np.float32))
    array([[11.]], dtype=float32)
    """
    if out is None:
        out = np.empty((left.shape[0], right.shape[1]), dtype=np.float32)
    n_rows = max(SERIAL_MULTIPLICATIONS // max(right.size, 1), 1)
    for first in range(0, left.shape[0], n_rows):
        rows = slice(first, first + n_rows)
        np.matmul(left[rows], right, out=out[rows])
    return out
