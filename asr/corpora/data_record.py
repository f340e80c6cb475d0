"""What a model was trained and tested on, in figures: ``data.json`` in the model's own directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asr.corpora.sufficiency import Amount
from asr.errors import ExperimentError
from asr.files import as_train_wrote, read_object, write_json
from foundation.records import record_of

DATA = "data.json"


@dataclass(frozen=True)
class DataRecord:
    """The data of a model.

    Attributes
    ----------
    recipe, preset : names
    amounts : how much each split holds that can be used
    trained_on : the splits it was trained on
    """

    recipe: str
    preset: str
    amounts: Mapping[str, Amount]
    trained_on: Sequence[str]

    @property
    def training(self) -> Sequence[Amount]:
        """How much each split holds that it was trained on."""
        return [self.amounts[split] for split in self.trained_on]


def write_data(record: DataRecord, directory: Path) -> None:
    """Write ``data.json``."""
    splits = {name: amount._asdict() for name, amount in record.amounts.items()}
    content = {"recipe": record.recipe, "preset": record.preset, "trained_on": list(record.trained_on)}
    write_json(directory / DATA, {**content, "splits": splits})


def read_data(directory: Path) -> DataRecord | None:
    """Return what `write_data` wrote; None where there is no file, as of models of earlier versions."""
    path = directory / DATA
    if not path.is_file():
        return None
    record = read_object(path)
    with as_train_wrote(path):
        amounts = {
            name: record_of(Amount, amount, ExperimentError, f"{name}.")
            for name, amount in record["splits"].items()
        }
        trained_on = tuple(record["trained_on"])
        if unknown := [split for split in trained_on if split not in amounts]:
            raise KeyError(unknown[0])
        return DataRecord(str(record["recipe"]), str(record["preset"]), amounts, trained_on)
