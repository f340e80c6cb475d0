"""A page is one file that asks for nothing, and no word in it can be markup; numbers as people write them."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from asr.reports.page import (
    Chart,
    Page,
    Section,
    Table,
    error_bars,
    interval,
    p_value,
    percent,
    plot_of,
    render,
    seconds,
)

EVIL = "</script><script>alert(1)</script>"
QUOTE = "\"'&<b>"


class Elements(HTMLParser):
    """Gathers elements, attributes and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._script = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._script = None

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = data


def page(words: list[Any], **changes: Any) -> Page:
    table = Table("caption " + EVIL, ("said", "heard", "times"), ((EVIL, QUOTE, 3),), 2, n_words=2)
    chart = Chart("c", "caption", "spoken " + QUOTE, {"data": [{"name": EVIL}], "layout": {}}, table)
    lines = ({"id": "u1", "speaker": EVIL, "pairs": words},)
    section = Section("results", "Results", "intro " + EVIL, (table,), (chart,))
    options = {"views": {"u1": {"word": EVIL}}, **changes}
    told = ("verdict " + EVIL, ("learned from " + QUOTE,), (("name", EVIL, QUOTE),))
    return replace(Page("title " + EVIL, *told, (section,), lines, {}), **options)


def test_words_are_text_everywhere() -> None:
    text = render(page([EVIL, [QUOTE, None], [None, "ä"]]))
    found = Elements(text)
    scripts = [attributes for tag, attributes in found.tags if tag == "script"]
    assert [a["id"] for a in scripts if "id" in a] == ["plot-c", "lines", "view-data-0"]
    assert "alert(1)</script>" not in text
    assert ("b", {}) not in found.tags
    assert json.loads(found.scripts["lines"])[0]["pairs"] == [EVIL, [QUOTE, None], [None, "ä"]]
    assert json.loads(found.scripts["view-data-0"]) == {"word": EVIL}
    assert json.loads(found.scripts["plot-c"])["data"] == [{"name": EVIL}]
    words = [a["data-word"] for tag, a in found.tags if tag == "button" and "data-word" in a]
    assert words == [EVIL, QUOTE] * 2


def test_nothing_is_asked_of_a_network() -> None:
    found = Elements(render(page([])))
    addresses = [a[name] for _, a in found.tags for name in ("src", "href", "action", "data") if name in a]
    assert [a for a in addresses if a is not None and not re.match("#|data:,$", a)] == []
    (policy,) = (a["content"] for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_a_page_has_headings_landmarks_and_names() -> None:
    found = Elements(render(page(["go"])))
    tags = [tag for tag, _ in found.tags]
    assert {"header", "nav", "main", "footer"} <= set(tags)
    assert tags.count("h1") == 1
    assert tags.count("table") == tags.count("caption") == 2
    ids = [a["id"] for _, a in found.tags if "id" in a]
    assert len(ids) == len(set(ids))
    labelled = [a for _, a in found.tags if a.get("role") in ("img", "region")]
    assert all(a.get("aria-label") for a in labelled)
    for _, a in found.tags:
        for name in ("aria-labelledby", "aria-describedby", "list"):
            assert a.get(name) in (None, *ids)


@pytest.mark.parametrize("views", [{}, {"u1": {}}])
def test_lines_say_whether_there_is_a_view(views: dict[str, Any]) -> None:
    found = Elements(render(page(["go"], views=views)))
    assert [line["view"] for line in json.loads(found.scripts["lines"])] == [bool(views)]


def test_what_comes_first() -> None:
    text = render(page(["go"]))
    order = [
        "<h1>title",
        'class="verdict">verdict',
        "learned from ",
        'class="facts"',
        'id="utterances"',
        'id="results"',
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "all have pictures." in re.sub(r"\s+", " ", text)
    with_sound = render(page(["go"], views={"u1": {"audio": "data:audio/mpeg;base64,"}}))
    assert "all have pictures and sound." in re.sub(r"\s+", " ", with_sound)
    assert len(text) < 60_000  # styles and scripts: all the rest is what there is to show


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(99.96), "100.0"),
        (percent(5, 2), "5.00"),
        (interval((-3.04, -1.0)), "−3.0 to −1.0"),
        (interval((0.0, 100.0), 0), "0–100"),
        (p_value(0.001), "0.001"),
        (p_value(1.0), "1.000"),
        (seconds(59.94), "59.9 s"),
        (seconds(60.0), "1 min 0 s"),
        (seconds(3600.0), "1 h 0 min"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert text == expected


def test_a_plot_is_plain_data() -> None:
    found = plot_of([{"type": "bar", "x": [1, 2], "y": ["a", "b"]}], xaxis={"title": "n"})
    assert found == {
        "data": [{"type": "bar", "x": [1, 2], "y": ["a", "b"]}],
        "layout": {"xaxis": {"title": "n"}},
    }


def test_error_bars_reach_to_the_ends_of_intervals() -> None:
    found = error_bars([(90.0, (85.0, 92.0)), (50.0, (50.0, 50.0))])
    assert (found["arrayminus"], found["array"]) == ([5.0, 0.0], [2.0, 0.0])


def test_each_command_has_a_button_of_its_own() -> None:
    commands = (("asr validate x --correct u1 'b'", "asr validate x --leave-out u1"), ())
    table = Table("suspicious", ("utterance", "text"), (("u1", "a"), ("u2", EVIL)), 2, commands=commands)
    text = render(page(["go"], sections=(Section("transcripts", "Transcripts", "intro", (table,)),)))
    copied = re.findall(r"<code>([^<]*)</code><button[^>]*>Copy</button>", text)
    assert [html.unescape(command) for command in copied] == list(commands[0])


@pytest.mark.parametrize(("speakers", "n"), [(["anna", "ben"], 1), (["anna", "anna"], 0), (["", ""], 0)])
def test_only_several_speakers_can_be_filtered_by(speakers: list[str], n: int) -> None:
    lines = tuple({"id": f"u{k}", "speaker": name, "pairs": ["go"]} for k, name in enumerate(speakers))
    found = Elements(render(page(["go"], lines=lines, views={})))
    assert [a.get("id") for tag, a in found.tags if tag == "select"] == [*["speaker"] * n, "order"]
    assert sum(a.get("value") == "speaker" for tag, a in found.tags if tag == "option") == n
