"""What docs/concepts.md says of the code is so."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")


def test_the_snippet_runs() -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(snippet, "concepts.md", "exec"), names)
    assert set(names["hypothesis"].text) <= {"YES", "NO"}  # type: ignore[attr-defined]


def test_every_room_is_in_the_table() -> None:
    rows = set(re.findall(r"`((?:recipes|asr|decoder|acoustic|features|foundation)(?:/\w+)?)/`", PAGE))
    rooms = {"recipes", "asr", "decoder", "features", "foundation"}
    for package in ("asr", "acoustic"):
        rooms |= {f"{package}/{p.parent.name}" for p in (ROOT / package).glob("*/__init__.py")}
    assert rooms <= rows
