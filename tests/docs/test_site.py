"""What the site is made from: links, the pages of the Python interface, and the hooks of its building."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
PACKAGES = ("asr", "features", "acoustic", "acoustic.discriminants", "decoder")


def hook(name: str) -> ModuleType:
    """Return a module of ``docs/hooks``."""
    pytest.importorskip("mkdocs" if name == "nothing_from_elsewhere" else "re")
    pytest.importorskip("griffe" if name == "docstrings" else "re")
    spec = importlib.util.spec_from_file_location(f"hooks_{name}", DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str, dead_links: Callable[[Path], list[str]]) -> None:
    """As they do on GitHub, which makes anchors in its own way; the site's are checked when it is built."""
    assert dead_links(DOCS / page) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_python_interface_is_all_there(package: str) -> None:
    page = (DOCS / "api" / f"{package.rpartition('.')[2]}.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: ([\w.]+)$", hook("names").on_page_markdown(page), re.MULTILINE)
    public = importlib.import_module(package).__all__
    assert [name.rpartition(".")[2] for name in listed] == sorted(public)
    for name in listed:
        module, _, last = name.removeprefix(f"{package}.").rpartition(".")
        found = importlib.import_module(f"{package}.{module}") if module else importlib.import_module(package)
        assert callable(getattr(found, last))


def test_every_page_has_a_place_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r"([\w/*]+\.md)", text))
    patterns = [entry for entry in named if "*" in entry]
    assert [p for p in PAGES if p not in named and not any(Path(p).match(e) for e in patterns)] == []


def test_patterns_of_the_navigation(tmp_path: Path) -> None:
    for name in ("index", "adr/0001", "adr/0002"):
        (tmp_path / name).with_suffix(".md").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.md").touch()
    nav = ["index.md", {"Missing": "none.md?"}, {"There": "index.md?"}, {"Decisions": ["adr/*.md"]}]
    config = hook("nav").on_config(SimpleNamespace(nav=nav, docs_dir=str(tmp_path)))
    assert config.nav == ["index.md", {"There": "index.md"}, {"Decisions": ["adr/0001.md", "adr/0002.md"]}]


def test_docstrings_for_the_site() -> None:
    text = (
        "Return it.\n\nParameters\n----------\na, b : two,\n    or so\n\nReturns\n-------\nThe rows\n\n"
        "Raises\n------\nValueError\n    No."
    )
    assert hook("docstrings").numpydoc(text) == (
        "Return it.\n\nWhat comes back: The rows\n\nParameters\n----------\na, b\n    two,\n    or so\n\n"
        "Raises\n------\nValueError\n    No."
    )
    assert hook("docstrings").numpydoc("Return it: x : y.") == "Return it: x : y."


@pytest.mark.parametrize(
    ("html", "is_allowed"),
    [
        ('<a href="https://kaldi-asr.org">a link is none</a>', True),
        ('<link rel="stylesheet" href="assets/main.css"><script src="../x.js"></script>', True),
        ('<script src="https://unpkg.com/shim"></script>', False),
        ("<script src=https://unpkg.com/shim></script>", False),
        ('<link rel="stylesheet" href="//fonts.example/css">', False),
    ],
)
def test_nothing_is_loaded_from_elsewhere(html: str, is_allowed: bool, tmp_path: Path) -> None:
    module = hook("nothing_from_elsewhere")
    (tmp_path / "page.html").write_text(html)
    config = SimpleNamespace(site_dir=str(tmp_path))
    if is_allowed:
        assert module.on_post_build(config) is None
        return
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match=r"pages load from other hosts, expected none: page\.html: "):
        module.on_post_build(config)
