"""Keys of stages: whatever decides an output changes its key, and nothing else does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import pytest

from asr.stages.keys import key, made_from
from asr.version import own_code


@dataclass(frozen=True)
class Options:
    width: float = 5.0
    names: tuple[str, ...] = ("a", "b")


def decisive(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": "train", "config": Options(), "inputs": {"x": "1", "y": "2"}}
    return made_from(**{**given, "other_code": ("plugin 1.0",), **changes})


def test_everything_that_decides_the_output_is_listed() -> None:
    assert decisive() == {
        "stage": "train",
        "code": [own_code(), "plugin 1.0"],
        "config": {"width": 5.0, "names": ["a", "b"]},
        "inputs": {"x": "1", "y": "2"},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"name": "align"},
        {"config": Options(width=5.5)},
        {"config": Options(names=("b", "a"))},
        {"inputs": {"x": "1", "y": "3"}},
        {"inputs": {"x": "1"}},
        {"other_code": ("plugin 1.1",)},
        {"other_code": ()},
    ],
)
def test_any_change_changes_the_key(change: dict[str, Any]) -> None:
    assert key(decisive(**change)) != key(decisive())


def test_other_code_of_ours_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(decisive())
    monkeypatch.setattr("asr.stages.keys.own_code", lambda: "another digest")
    assert key(decisive()) != before


def test_order_of_inputs_makes_no_difference() -> None:
    assert key(decisive(inputs={"y": "2", "x": "1"})) == key(decisive())


def test_key_is_the_beginning_of_a_sha256_of_canonical_json() -> None:
    text = json.dumps(decisive(), sort_keys=True, separators=(",", ":"))
    assert key(decisive()) == hashlib.sha256(text.encode()).hexdigest()[:12]
