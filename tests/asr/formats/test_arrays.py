"""Names of files; contents are tested in ``test_exports``."""

from pathlib import Path

import numpy as np
import pytest

from asr.formats.arrays import ARRAY_FORMATS, Named


@pytest.mark.parametrize("name", ARRAY_FORMATS)
def test_ids_that_are_no_file_names(name: str, tmp_path: Path) -> None:
    items = [(key, np.full((2, 1), n, dtype=np.float32)) for n, key in enumerate(("../a", "b/c", "ä"))]
    index = ARRAY_FORMATS[name](items, tmp_path / ".", Named("x", "USER", 0.01))
    assert index.parent == tmp_path
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert (
        files
        == {
            "kaldi": ["x.ark", "x.scp"],
            "htk": ["x.scp", "x/%2E.%2Fa.mfc", "x/b%2Fc.mfc", "x/ä.mfc"],
            "npz": ["x.npz"],
        }[name]
    )
    if name == "npz":
        with np.load(index) as found:
            # What unzip would lay beside its directory has another name.
            assert {key: found[key][0, 0] for key in found.files} == {"%2E.%2Fa": 0, "b/c": 1, "ä": 2}
