"""Deltas and accelerations: HTK's regression over neighbouring frames (HTK Book, 5.9)."""

from __future__ import annotations

import numpy as np

from foundation.arrays import Singles


def add_derivatives(static: Singles, window: int, order: int) -> Singles:
    """Return the static columns followed by their deltas (order 1) and accelerations (order 2).

    Parameters
    ----------
    static : (T, D) float32
        At least one frame.
    window : int
        Frames on each side of the regression.
    order : int
        0, 1 or 2.

    Returns
    -------
    (T, D * (1 + order)) float32
    """
    n_static = static.shape[1]
    features = np.empty((static.shape[0], n_static * (1 + order)), dtype=np.float32)
    features[:, :n_static] = static
    for k in range(order):
        lower = features[:, k * n_static : (k + 1) * n_static]
        features[:, (k + 1) * n_static : (k + 2) * n_static] = _regression(lower, window)
    return features


def _regression(frames: Singles, window: int) -> Singles:
    """Return the slope over ±window frames with the ends replicated (HTK Book, 5.16), ``(T, D)`` float32."""
    n = frames.shape[0]
    padded = np.concatenate([frames[:1].repeat(window, 0), frames, frames[-1:].repeat(window, 0)])
    slope = np.zeros_like(frames)
    for step in range(1, window + 1):
        ahead = padded[window + step : window + step + n]
        behind = padded[window - step : window - step + n]
        slope += step * (ahead - behind)
    slope /= 2 * sum(step * step for step in range(1, window + 1))
    return slope
