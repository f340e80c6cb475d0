"""The snippets of docs/discriminants.md run, one after the other, as a reader would type them."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "discriminants.md"


@pytest.mark.slow
def test_snippets_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) > 4
    names: dict[str, object] = {}
    for snippet in snippets:
        exec(compile(snippet, str(PAGE), "exec"), names)
    assert names["accuracy"] > 0.98
    assert names["again_agrees"]
    assert names["model"].left_out_accuracy_ > 0.97
    assert names["labels"].shape == (5, len(names["y_test"]))
    assert names["errors"][-1] < 0.02 < names["errors"][0]
    for model in ("model", "logistic"):
        assert names[model].score(names["X_test"], names["y_test"]) > 0.98
