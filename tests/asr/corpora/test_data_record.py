"""The record of a model's data."""

from pathlib import Path

import pytest

from asr.corpora.data_record import DATA, DataRecord, read_data, write_data
from asr.corpora.sufficiency import Amount
from asr.errors import ExperimentError

RECORD = DataRecord(
    "folder", "best", {"train": Amount(1.5, 8, 900, 40, 120), "test": Amount(0.1, 2, 60, 30, 9)}, ("train",)
)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    assert read_data(tmp_path) is None
    write_data(RECORD, tmp_path)
    assert read_data(tmp_path) == RECORD
    assert list(RECORD.training) == [RECORD.amounts["train"]]


@pytest.mark.parametrize("content", ["{}", "[]", '{"splits": {"train": {"x": 1}}}'])
def test_what_asr_did_not_write(content: str, tmp_path: Path) -> None:
    (tmp_path / DATA).write_text(content)
    with pytest.raises(ExperimentError, match=r"data\.json: .*(expected|not as asr train writes it)"):
        read_data(tmp_path)
