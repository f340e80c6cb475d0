"""Time of a hybrid's emission scores, beside the matrix products that are in them.

    asr train an4 --corpus ../shared/data/an4 --out exp/an4 --model pools
    python benchmarks/emission.py --experiment exp/an4 --models pools

Scores of the test recordings, features given, on one thread and on all cores; the least time such a machine
could take is that of its float32 matrix products alone (the kernel's and the weights'), measured in the same
run by the same BLAS on arrays of the same shapes. Loading a model is timed, too.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from report import argument_parser, print_table, write_report

from acoustic.emissions.emission_model import uncombined
from acoustic.model import TENSORS_NAME, AcousticModel, load_model
from asr.corpora.corpus import read_corpus
from asr.corpora.speech_data import load_cepstra
from asr.formats.model_directories import MODELS
from foundation.threads import default_workers, parallel_map, single_threaded_libraries

BLOCK = 128


def test_frames(experiment: Path, model: AcousticModel) -> list[np.ndarray]:
    """Return the front end's frames of the test recordings."""
    stages = experiment / "stages"
    task, features = (
        max(stages.glob(pattern), key=lambda path: path.stat().st_mtime)
        for pattern in ("task-*", "features-test-*")
    )
    data = load_cepstra(read_corpus(task / "test"), features, "test")
    return model.front_end.transform(data.cepstra, data.speakers)


def wall(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least_seconds(model: AcousticModel, n_frames: int) -> float:
    """Return the time of the products alone, one thread, for so many frames; 0 where there are none."""
    emissions = uncombined(model.emissions)
    machines = getattr(emissions, "machines", None)
    if machines is None or machines.layout != "state":
        return 0.0
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(BLOCK, machines.centers.shape[1] + 2)).astype(np.float32)
    sizes = [b - a for a, b in pairwise(machines.starts.tolist())]
    centers = [rng.normal(size=(frames.shape[1], n)).astype(np.float32) for n in sizes]
    weights = [rng.normal(size=(n, len(sizes))).astype(np.float32) for n in sizes]

    def products() -> None:
        for c, w in zip(centers, weights, strict=True):
            (frames @ c) @ w

    with single_threaded_libraries():
        products()
        return min(wall(products) for _ in range(20)) * n_frames / BLOCK


def measure(experiment: Path, name: str) -> dict[str, object]:
    """Return times of one model, in seconds a second of recording."""
    path = experiment / MODELS / name
    load_s = min(wall(lambda: load_model(path)) for _ in range(3))
    model = load_model(path)
    frames = test_frames(experiment, model)
    n_frames = sum(map(len, frames))
    recorded_s = n_frames * model.front_end.frame_shift_s
    model.emissions.log_likelihoods(frames[0])
    with single_threaded_libraries():
        one = min(wall(lambda: [model.emissions.log_likelihoods(f) for f in frames]) for _ in range(3))
    all_cores = min(
        wall(lambda: list(parallel_map(model.emissions.log_likelihoods, frames))) for _ in range(3)
    )
    least = least_seconds(model, n_frames)
    return {
        "model": name,
        "states": model.topology.n_states,
        "recorded_s": recorded_s,
        "one_thread": one / recorded_s,
        "all_cores": all_cores / recorded_s,
        "cores": default_workers(),
        "products_alone": least / recorded_s,
        "share_of_products": least / one,
        "load_s": load_s,
        "megabytes": (path / TENSORS_NAME).stat().st_size / 1e6,
    }


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--experiment", type=Path, required=True, help="that asr train has finished")
    parser.add_argument("--models", nargs="+", default=["pools"])
    arguments = parser.parse_args()
    rows = [measure(arguments.experiment, name) for name in arguments.models]
    print("times as a share of real time")
    print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    write_report(arguments.out, {"rows": rows})


if __name__ == "__main__":
    main()
