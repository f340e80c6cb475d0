"""The page's parts: all there, nothing from elsewhere."""

import re
from typing import Any

import pytest

from asr.serving.pages import ASSETS, KINDS

NAMES = sorted(path.name for path in ASSETS.iterdir() if path.suffix in KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_part_refers_to_is_there(started: Any, name: str) -> None:
    answer = started.ask("GET", f"/assets/{name}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(KINDS["." + name.rpartition(".")[2]])
    text = answer.body.decode()
    for found in re.findall(r'(?:"|\()/assets/([\w.-]+)|from "\./([\w.-]+)"', text):
        assert "".join(found) in NAMES
    hosts = [
        host
        for host in re.findall(r"https?://[\w.]+", text)
        if host not in ("http://www.w3.org", "http://127.0.0.1")
    ]
    assert hosts == []
    assert not re.search(r"<[^>]* (style|on\w+)=", text)


def test_the_page_itself(started: Any) -> None:
    assert started.ask("GET", "/").body == (ASSETS / "index.html").read_bytes()


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "../app.py", "%2e%2e/pages.py", ""])
def test_nothing_else_is_served(started: Any, name: str) -> None:
    assert started.ask("GET", f"/assets/{name}").status == 404


def test_every_control_is_used_by_a_script_or_a_test() -> None:
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    scripts = "".join(path.read_text(encoding="utf-8") for path in ASSETS.glob("*.js"))
    controls = re.findall(r'<(?:button|input|select|textarea)[^>]*\bid="([\w-]+)"', page)
    built = [f"talk-{name}" for name in ("textgrid", "ctm")] + [
        f"tab-{n}" for n in ("talk", "files", "commands")
    ]
    assert [name for name in controls if f'"{name}"' not in scripts and name not in built] == []
    assert len(controls) == len(set(controls)) == 18
