"""Time and memory per byte of every reader: files of the worst shapes, of n, 2n and 4n bytes.

    python tests/robustness/slopes.py --bytes 250000 --stretches 60 --out slopes.json

A shape is a file that is made in any size: one of `slope_shapes` made by hand, or a stretch, which is a
small valid file in which something at a random place is said over and over. What counts is the exponent: 1
is twice the time for twice the bytes, 2 four times. Each shape is read in a process of its own with bounded
memory; one that takes more CPU time than --limit counts as a hang.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import resource
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fuzz import MEMORY, Inputs, memory_folder
from fuzz_targets import targets
from slope_shapes import Shape, legal_shapes, stretches

from benchmarks.report import argument_parser, print_table, write_report
from foundation.errors import AsrError

HEAD = ("reader", "shapes", "hangs", "s/MB", "time grows as n^", "MB/MB", "memory grows as n^", "worst shape")
GROWTH = (1, 2, 4)
_SHORTEST_S = 0.02  # what takes less tells no exponent
_LEAST_MEMORY = 1 << 20  # bytes, likewise


@dataclass(frozen=True)
class Slope:
    """What a shape took at each of its sizes.

    Attributes
    ----------
    shape : its name
    sizes : bytes
    seconds : CPU time, of those sizes that were read within the limit
    peaks : most memory at once in bytes, of the first and the last size
    end : what became of the largest
    """

    shape: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...] = ()
    peaks: tuple[int, ...] = ()
    end: str = "hang"

    @property
    def seconds_per_mb(self) -> float:
        """Seconds for a million bytes of the largest that was read."""
        return self.seconds[-1] / self.sizes[len(self.seconds) - 1] * 1e6 if self.seconds else math.inf

    @property
    def mb_per_mb(self) -> float:
        """Bytes of memory for each byte of the largest."""
        return self.peaks[-1] / self.sizes[-1] if self.peaks else math.inf

    @property
    def time_exponent(self) -> float:
        """Growth of the time from the first size to the last, 0 where it is too short to tell."""
        if self.end == "hang":
            return math.inf
        return exponent((self.sizes[0], self.sizes[-1]), (self.seconds[0], self.seconds[-1]), _SHORTEST_S)

    @property
    def memory_exponent(self) -> float:
        """Growth of the memory from the first size to the last, 0 where there is too little to tell."""
        return exponent((self.sizes[0], self.sizes[-1]), self.peaks, _LEAST_MEMORY) if self.peaks else 0.0


def exponent(sizes: Sequence[float], values: Sequence[float], least: float) -> float:
    """Return the power of the size by which values grow, from the first to the last; 0 if the last is small.

    >>> exponent((1, 2, 4), (3.0, 12.0, 48.0), 1.0)
    2.0
    """
    if values[-1] < least:
        return 0.0
    return math.log(values[-1] / max(values[0], least / 100)) / math.log(sizes[-1] / sizes[0])


def main() -> None:
    """Measure the shapes, and print and write how they grow."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument(
        "--bytes", type=int, default=250_000, help="of the smallest file; the largest has four times as many"
    )
    parser.add_argument("--stretches", type=int, default=60, help="random stretches of each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=sorted(targets()), metavar="READER")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds that a shape may take at its three sizes"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for each shape")
    options = parser.parse_args()
    found: dict[str, list[Slope]] = {}
    for name in options.only or sorted(targets()):
        shapes = [*legal_shapes(name), *stretches(name, options.seed, options.stretches)]
        found[name] = []
        for shape in shapes:
            slope = measured(name, shape, options.bytes, options.limit)
            found[name].append(slope)
            if options.verbose or slope.end in ("hang", "crash") or slope.time_exponent > 1.4:
                print(f"  {name}: {said(slope)}", flush=True)
        print(f"{name}: {len(shapes)} shapes", flush=True)
    rows = [row(name, slopes) for name, slopes in found.items()]
    print_table(HEAD, rows)
    report = {name: [vars(slope) for slope in slopes] for name, slopes in found.items()}
    write_report(options.out, {"seed": options.seed, "bytes": options.bytes, "rows": rows, "readers": report})


def row(name: str, slopes: Sequence[Slope]) -> list[object]:
    """Return the worst that a reader's shapes took, each figure by itself."""
    slowest = max(slopes, key=lambda s: s.seconds_per_mb)
    return [
        name,
        len(slopes),
        sum(s.end == "hang" for s in slopes),
        _figure(slowest.seconds_per_mb, 3),
        _figure(max(s.time_exponent for s in slopes), 2),
        _figure(max((s.mb_per_mb for s in slopes if s.peaks), default=math.inf), 1),
        _figure(max(s.memory_exponent for s in slopes), 2),
        slowest.shape,
    ]


def _figure(value: float, decimals: int) -> float | None:
    """Return a rounded number, None for infinity, which JSON lacks."""
    return round(value, decimals) if math.isfinite(value) else None


def said(slope: Slope) -> str:
    """Return a line about a shape."""
    seconds = " ".join(f"{s:.3f}" for s in slope.seconds)
    return (
        f"{slope.shape}: {slope.end}, {seconds} s, n^{slope.time_exponent:.2f}; "
        f"{slope.mb_per_mb:.0f} bytes a byte, n^{slope.memory_exponent:.2f}"
    )


def measured(reader: str, shape: Shape, n_bytes: int, limit_s: float) -> Slope:
    """Return what a shape takes at its sizes, read in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(reader, shape, n_bytes, limit_s, sender), daemon=True)
    worker.start()
    sender.close()
    slope = Slope(shape.name, tuple(n_bytes * k for k in GROWTH))
    with suppress(EOFError):
        while receiver.poll(20 * limit_s):  # others may work on this machine, too
            slope = receiver.recv()
    worker.kill()
    worker.join()
    return slope


def _work(reader: str, shape: Shape, n_bytes: int, limit_s: float, sender) -> None:  # type: ignore[no-untyped-def]
    """Send what has been measured so far after each size."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit_s), math.ceil(limit_s)))
    gc.collect()
    gc.freeze()  # else what has been imported is looked through again and again, which looks like a slope
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        inputs = Inputs(reader, 0, Path(folder))
        with suppress(Exception):
            inputs.target.run(inputs.folder)
        sizes = tuple(n_bytes * k for k in GROWTH)
        seconds: list[float] = []
        for size in sizes:
            (inputs.folder / shape.file).write_bytes(shape.make(size))
            start = time.process_time()
            end = ending(inputs)
            seconds.append(time.process_time() - start)
            last = size == sizes[-1]
            sender.send(Slope(shape.name, sizes, tuple(seconds), (), end if last else "hang"))
        peaks = []
        for size in (sizes[0], sizes[-1]):
            (inputs.folder / shape.file).write_bytes(shape.make(size))
            peaks.append(peak(inputs))
        sender.send(Slope(shape.name, sizes, tuple(seconds), tuple(peaks), end))


def ending(inputs: Inputs) -> str:
    """Read the files, and return what became of them: a result, an error in one line, or a crash."""
    try:
        inputs.target.run(inputs.folder)
    except AsrError as error:
        return f"error: {str(error)[:160]}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {str(error)[:160]}"
    return "result"


def peak(inputs: Inputs) -> int:
    """Return the most memory that reading takes at once, in bytes."""
    tracemalloc.start()
    try:
        ending(inputs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main()
