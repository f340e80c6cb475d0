"""What stages compute in blocks is the same when each block comes back from its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asr import train
from foundation.blocks import Blocks, Threads, using
from foundation.packing import unpack


class Rereading(Threads):
    """Threads whose results are thrown away and read from their files."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: set[str] = set()

    def results(self, blocks: Blocks, n_workers: int | None) -> Iterator[list[Any]]:
        self.labels.add(blocks.label)
        for n, _ in enumerate(super().results(blocks, n_workers)):
            yield unpack(blocks.path(n))


COMMON = {"alignment", "expectation", "fit", "lattices", "scores", "decoding"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "model", "labels"),
    [
        ("best", "pools", {*COMMON, "adaptation", "first pass", "centres", "pairs"}),
        ("best", "svm", {*COMMON, "adaptation", "first pass", "pairs"}),
        ("thesis", "npd", {*COMMON, "pairs"}),
        ("thesis", "orols", {*COMMON, "pairs"}),
        ("thesis", "krls", COMMON),
    ],
)
def test_blocks_that_are_read_make_the_same_models(
    preset: str,
    model: str,
    labels: set[str],
    tones: Path,
    settings: tuple[str, ...],
    tmp_path: Path,
    digests: Callable[[Path], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = ("forward.n_centers=10",) if preset == "thesis" and model in ("npd", "orols") else ()
    options = [*settings, "hybrid.min_frames=5", *own]

    def trained(out: Path) -> dict[str, str]:
        train("folder", corpus=tones, out=out, models=["gmm2", model], preset=preset, settings=options)
        return digests(out)

    monkeypatch.setattr("foundation.blocks.LOSS_S", -1.0)
    engine = Rereading()
    with using(engine):
        found = trained(tmp_path / "reread")
    assert found == trained(tmp_path / "plain")
    assert labels <= engine.labels
