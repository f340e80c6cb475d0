"""The process that compiles finds the same bytes as those that read the compiled code from the disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib, numpy as np
from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import Kernel
from acoustic.pairs.train_forward import fit_pairs
rng = np.random.default_rng(0)
x, codes = rng.normal(size=(900, 20)).astype(np.float32), np.repeat([0, 1, 2], 300)
x[codes == 1] += 0.3
for regularize in (False, True):
    config = ForwardConfig(Kernel("gaussian", 4.0), (4.0,), 60, epsilon=1e-3, regularize=regularize)
    machines, curves = fit_pairs(x, codes, 3, config, n_workers=1)
    posteriors = machines.log_posteriors(curves, x, n_workers=1)
    for array in (machines.weights, machines.slots, curves, posteriors):
        print(hashlib.sha256(array.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiled_and_read_from_the_disk_are_the_same(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert len(printed[0].split()) == 8
    assert printed[0] == printed[1]
