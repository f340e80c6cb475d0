"""The page in a browser: opened, clicked, filtered, heard, by mouse and by keyboard, by day and by night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import asr
from asr.reports.page import Chart, Page, Section, Table, plot_of, render
from foundation.errors import shown

pytestmark = pytest.mark.slow
DOT = (  # a picture of one point
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAA"
    "AgABSK+kcQAAAABJRU5ErkJggg=="
)
Open = Callable[..., Any]
Until = Callable[..., None]


@pytest.fixture(scope="module")
def page_file(compared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page whose sounds are in it."""
    out = tmp_path_factory.mktemp("page") / "page.html"
    return asr.report(compared, model="gmm1", out=out, utterances=4, audio="embed")


@pytest.fixture(scope="module")
def chromium(launched: Callable[..., Any]) -> Iterator[Any]:
    browser = launched()
    yield browser
    browser.close()


@pytest.fixture
def opened(chromium: Any, pages: Any) -> Open:
    """Return a function that opens a page."""

    def open_page(path: Path, width: int = 1280, height: int = 900, dark: bool = False) -> Any:
        ready = "#status:not(:empty)"
        return pages.open(chromium, path.as_uri(), ready=ready, width=width, height=height, dark=dark)

    return open_page


def time_of(page: Any) -> float:
    return float(page.evaluate("document.getElementById('audio').currentTime"))


def ids_of(page: Any) -> list[str]:
    return [str(text) for text in page.locator("#list .id").all_inner_texts()]


def test_a_clicked_word_is_heard_from_its_start(opened: Open, until: Until, page_file: Path) -> None:
    page = opened(page_file)
    page.click("#list li:nth-child(1) .opener")
    page.wait_for_selector(".spectrogram[data-drawn]")
    word = page.locator("[aria-label='words heard'] .spoken").last
    start = float(word.get_attribute("data-start"))
    assert start > 0.1
    word.click()
    until(page, f"document.getElementById('audio').currentTime > {start}")
    until(page, "document.querySelector('.playhead i').hidden === false")
    until(page, "document.getElementById('audio').ended")
    assert time_of(page) == pytest.approx(
        page.evaluate("document.getElementById('audio').duration"), abs=0.05
    )
    assert page.inner_text(".play") == "▶ Play"


def test_sounds_beside_the_page_are_heard(opened: Open, until: Until, compared: Path, tmp_path: Path) -> None:
    page = opened(asr.report(compared, out=tmp_path / "ä #1 b%.html", utterances=1, audio="beside"))
    assert page.locator("#list li").count() == 5
    page.click("#list li:nth-child(5) .opener")  # without a picture, with its sound
    assert "No picture" in page.inner_text("#list li:nth-child(5) .view")
    page.click("#list li:nth-child(5) .play")
    until(page, "document.getElementById('audio').currentTime > 0.05")
    assert "page_audio" not in page.evaluate("document.getElementById('audio').src")


def test_the_keyboard_alone_is_enough(opened: Open, until: Until, page_file: Path) -> None:
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    reach(page, "id", "word")
    word = page.evaluate("lines[0].pairs.find((pair) => typeof pair === 'string')")
    page.keyboard.type(word.lower())
    assert all(word in text for text in page.locator(".words-of").all_inner_texts())
    reach(page, "className", "opener")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    reach(page, "className", "play")
    reach(page, "tagName", "BUTTON")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert first.startswith("said ")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    start = float(page.evaluate("document.activeElement.dataset.start"))
    assert start > 0
    page.keyboard.press("Enter")
    until(page, f"document.getElementById('audio').currentTime >= {start}")
    page.keyboard.press("Escape")
    until(page, "document.getElementById('audio').paused")
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == first


def reach(page: Any, what: str, value: str) -> None:
    """Press Tab until an element with a property has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"document.activeElement.{what}") == value:
            return
    raise AssertionError(f"no {what} {value} within 60 steps")


def test_filters_and_order(opened: Open, until: Until, page_file: Path) -> None:
    page = opened(page_file)
    everything = ids_of(page)
    assert len(everything) == 5
    page.check("#only-errors")
    assert ids_of(page) == everything[:3]
    assert page.inner_text("#status") == "3 of 5 utterances"
    page.select_option("#order", "name")
    assert ids_of(page) == sorted(everything[:3])
    page.click("#filters [type=reset]")
    until(page, "document.getElementById('status').textContent.startsWith('5 of')")
    assert ids_of(page) == everything
    page.fill("#word", "no such word")
    assert ids_of(page) == []
    page.click("#words button.word >> nth=0")
    word = page.inner_text("#words button.word >> nth=0")
    assert page.input_value("#word") == word
    assert ids_of(page) == [
        name
        for name, text in page.evaluate("lines.map((l) => [l.id, l.pairs.flat().join(' ')])")
        if word in text.split()
    ]
    assert page.evaluate("document.activeElement.id") == "status"


def test_charts_are_drawn_when_they_are_reached(opened: Open, page_file: Path) -> None:
    page = opened(page_file)
    boxes = page.locator(".chart")
    for n in range(boxes.count()):
        boxes.nth(n).scroll_into_view_if_needed()
        page.wait_for_selector(f".chart >> nth={n} >> svg >> nth=0")
    assert page.locator(".chart[data-drawn]").count() == boxes.count() == 8
    # Every mark and error bar stands within its picture.
    outside = """[...document.querySelectorAll(".chart svg")].flatMap((svg) => {
        const { left, right, top, bottom } = svg.getBoundingClientRect();
        return [...svg.querySelectorAll(".mark, .error")].map((mark) => mark.getBoundingClientRect())
          .filter((box) => box.left < left - 1 || box.right > right + 1
            || box.top < top - 1 || box.bottom > bottom + 1);
    }).length"""
    assert page.evaluate(outside) == 0
    ends = page.evaluate(
        "[...document.querySelectorAll('#chart-accuracies .tick')].map((t) => t.textContent)"
    )
    assert "100" in ends
    assert not {"102", "105", "110", "120"} & set(ends)  # no axis goes beyond what can be


def test_a_point_of_a_chart_says_what_it_is(opened: Open, page_file: Path) -> None:
    page = opened(page_file)
    page.locator("#chart-costs").scroll_into_view_if_needed()
    # A bar of nothing, such as of a step of no time, can be pointed at, too.
    page.wait_for_selector("#chart-costs .bar")  # charts are drawn when they are seen
    widths = "[...document.querySelectorAll('#chart-costs .bar')].map((bar) => bar.width.baseVal.value)"
    assert min(page.evaluate(widths)) >= 1
    page.hover("#chart-costs .bar >> nth=0")
    assert page.is_visible("#tip")
    assert "on the clock" in page.inner_text("#tip")


def test_a_button_copies_its_own_command_alone(opened: Open, until: Until, tmp_path: Path) -> None:
    commands = (("asr validate x --correct u1 'b'", "asr validate x --leave-out u1"), ("asr validate x --b",))
    table = Table("suspicious", ("utterance", "text"), (("u1", "a"), ("u2", "b")), 2, commands=commands)
    path = tmp_path / "mend.html"
    section = Section("transcripts", "Transcripts", "intro", (table,))
    path.write_text(render(Page("mend", "", (), (), (section,), (), {})), encoding="utf-8")
    page = opened(path)
    writes = "{ value: { writeText: async (text) => (window.kept = text) } }"
    page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {writes})")
    assert page.locator(".copy").count() == 3
    page.click(".copy >> nth=1")
    until(page, "document.querySelectorAll('.copy')[1].textContent === 'Copied'")
    assert page.evaluate("window.kept") == commands[0][1]


def test_a_phone_has_no_need_to_scroll_sideways(opened: Open, page_file: Path) -> None:
    page = opened(page_file, width=360, height=780)
    page.click("#list li:nth-child(1) .opener")
    page.wait_for_selector(".spectrogram[data-drawn]")
    boxes = page.locator(".chart")
    for n in range(boxes.count()):
        boxes.nth(n).scroll_into_view_if_needed()
        page.wait_for_selector(f".chart >> nth={n} >> svg >> nth=0")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_phone_shows_what_matters_and_that_there_is_more(opened: Open, page_file: Path) -> None:
    page = opened(page_file, width=390, height=780)
    box = page.locator("#models .scroll >> nth=0")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
    ends = box.evaluate(
        "(b) => [...b.querySelectorAll('th.number')].map((th) => th.getBoundingClientRect().right)"
    )
    assert ends[0] < 390  # the word accuracy
    assert (
        box.evaluate("(box) => getComputedStyle(box).backgroundAttachment") == "local, local, scroll, scroll"
    )


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.1, 1.9, [2, 5, 10, 20, 50]), (0.45, 1.02, [4, 6, 8, 10]), (-1.5, 3.5, [0.1, 1, 10, 100, 1000])],
)
def test_logarithmic_axes_have_round_ticks(
    opened: Open, page_file: Path, low: float, high: float, ticks: list[float]
) -> None:
    assert opened(page_file).evaluate(f"logTicksBetween({low}, {high}, 6)") == ticks


def test_night_and_day(opened: Open, until: Until, page_file: Path) -> None:
    def lightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    page = opened(page_file, dark=True)
    assert lightness(page) < 120
    page.click("#list li:nth-child(1) .opener")
    page.wait_for_selector(".spectrogram[data-drawn]")
    corner = "document.querySelector('.spectrogram').getContext('2d').getImageData(0, 0, 1, 1).data[2]"
    dark = page.evaluate(corner)
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: light"
    assert lightness(page) > 700
    until(page, f"{corner} > {dark + 60}")
    page.click("#theme")
    assert lightness(page) < 120
    assert lightness(opened(page_file)) > 700


HOSTILE = (
    '<script>window.ran = "ran"</script><img src=x onerror="window.ran=1">',
    '"><img/src=x/onerror=window.ran=1>',
    "</script><script>window.ran=1</script><!--<script>",
    "javascript:window.ran=1",
    "{{7*7}}{%raw%}${7*7}#{7*7}",
    "';}*{background:url(https://example.org/x)}/*",
    "</style></title></textarea><svg/onload=window.ran=1>",
    "a\u2028b\u202egninrut\u2066\x1b[31m",
    "lone \udcff \ud800",
    "nothing\x00here",
    "x" * 10_000,
    "__proto__",
)
WATCHED = """
window.violations = 0;
document.addEventListener("securitypolicyviolation", () => window.violations++);
"""


def hostile_page(evil: str) -> Page:
    """Return a page of which every name, word and text is one string."""
    view = {
        "duration": 1.0,
        "topHz": 4000,
        "wave": "AAAA",
        "spectrogram": DOT,
        "said": [{"start": 0.0, "end": 1.0, "word": evil, "other": evil + "2"}],
        "heard": [{"start": 0.0, "end": 1.0, "word": evil + "2", "other": evil, "sure": 0.5}],
        "phones": [[0.0, 1.0, evil]],
        "posteriors": {"names": [evil], "end": 1.0, "picture": DOT},
    }
    lines = (
        {"id": evil, "speaker": evil, "pairs": [evil, [evil, evil + "2"]], "others": {evil: [evil]}},
        {"id": evil + "2", "speaker": evil + "2", "pairs": [evil], "audio": evil},
    )
    words = Table(evil, (evil, evil), ((evil, 1), (evil + "2", 2)), 1, 1, commands=((evil,), ()))
    names = [evil, evil + "2"]
    bars = {"type": "bar", "name": evil, "x": [1, 2], "y": names, "text": names, "hover": evil + "{text}"}
    heat = {"type": "heatmap", "x": names, "y": names, "z": [[1, 2], [3, 4]], "hover": "{x} {y} {z}"}
    axes = {"xaxis": {"title": evil}, "yaxis": {"type": "category", "title": evil}}
    maps = {"xaxis": {"type": "category"}, "yaxis": {"type": "category"}, "coloraxis": {"cmin": 0, "cmax": 4}}
    charts = (
        Chart("bars", evil, evil, plot_of([bars, bars], **axes), words),
        Chart("map", evil, evil, plot_of([heat], **maps), words),
    )
    sections = (Section("words", "ours", evil, (words,), charts, evil),)
    return Page(evil, evil, (evil,), ((evil, evil, evil),), sections, lines, {evil: view})


@pytest.mark.parametrize("evil", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_and_no_word_is_obeyed(chromium: Any, pages: Any, tmp_path: Path, evil: str) -> None:
    path = tmp_path / "evil.html"
    path.write_text(render(hostile_page(evil)), encoding="utf-8")
    page = pages.open(chromium, "about:blank", ready="body", width=1100)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (pages.said.append(dialog.message), dialog.dismiss()))
    page.add_init_script(WATCHED)
    pages.allowed = (path.as_uri(),)
    page.goto(path.as_uri())
    page.click("#list li:nth-child(1) .opener")
    page.wait_for_selector(".spectrogram[data-drawn]")
    page.click("#list li:nth-child(2) .opener")
    for box in page.locator(".chart").all():
        box.scroll_into_view_if_needed()
    page.wait_for_selector(".chart[data-drawn] >> nth=1")
    page.locator("#chart-bars .bar").first.hover()
    page.locator("button.word >> nth=0").click()
    seen = shown(evil).replace("\0", "\ufffd")
    assert page.text_content("h1") == seen
    assert page.locator("#list .id").all_text_contents() == [seen, seen + "2"]
    assert page.locator(".spoken span").count() == 0  # the list was written again
    assert page.locator("img, svg[onload], main script:not([type])").count() == 0
    assert page.evaluate("[window.ran, window.violations, document.title]") == [
        None,
        0,
        page.title(),
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    assert [url for url in asked if not url.startswith(("data:", path.as_uri()))] == []


def test_many_utterances_are_written_as_they_are_asked_for(opened: Open, tmp_path: Path) -> None:
    lines = tuple(
        {"id": f"u{n:05d}", "speaker": f"s{n % 7}", "pairs": ["yes", ["no", None]]} for n in range(5000)
    )
    path = tmp_path / "many.html"
    path.write_text(render(Page("many", "", (), (), (), lines, {})), encoding="utf-8")
    page = opened(path)
    assert page.locator("#list li").count() == 12
    page.click("#more")
    assert page.locator("#list li").count() == 24
    assert page.evaluate("document.activeElement.querySelector('.id').textContent") == "u00012"
    page.select_option("#speaker", "s3")
    assert page.inner_text("#status") == "714 of 5000 utterances"
