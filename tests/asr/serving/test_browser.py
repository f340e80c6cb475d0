"""The page in a browser, whose microphone plays a file: talked to, fed with files, taught commands.

With ``ASR_FIGURES`` set, the pictures of ``docs/figures`` are made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import soundfile

from asr import train
from asr.corpora.tones import RATE, WORDS, speak
from asr.serving.limits import Limits
from asr.serving.state import Served, Server

pytestmark = pytest.mark.slow
FLAGS = (
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
)
FIGURES = Path(__file__).resolve().parents[3] / "docs" / "figures"
Open = Callable[..., Any]
Pages = Any
Until = Callable[..., None]


def browser_hearing(launched: Open, sound: Path) -> Any:
    """Start a browser whose microphone plays a file once, whenever it is opened."""
    return launched(*FLAGS, f"--use-file-for-fake-audio-capture={sound}%noloop")


@pytest.fixture
def hearing(launched: Open) -> Iterator[Open]:
    """Return a function that starts a browser of the test's own, with a file as its microphone."""
    browsers = []

    def begin(sound: Path) -> Any:
        browsers.append(browser_hearing(launched, sound))
        return browsers[-1]

    yield begin
    for browser in browsers:
        browser.close()


def quiet(seconds: float, rng: np.random.Generator) -> Any:
    return (1e-3 * rng.normal(size=round(seconds * RATE))).astype(np.float32)


def write_microphone(path: Path, pieces: list[Any], pause_s: float, before_s: float = 1.0) -> Path:
    """Write a file with quiet between its pieces."""
    rng = np.random.default_rng(1)
    parts = [quiet(before_s, rng)]
    for piece in pieces:
        parts += [piece, quiet(pause_s, rng)]
    soundfile.write(path, np.concatenate(parts), RATE, subtype="PCM_16")
    return path


@pytest.fixture(scope="module")
def chromium(launched: Open, tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a browser that hears two sentences of the tone language."""
    pieces = [soundfile.read(tones / "speaker 0" / f"{n}.wav", dtype="float32")[0] for n in (0, 1)]
    sound = write_microphone(tmp_path_factory.mktemp("microphone") / "two.wav", pieces, 2.0)
    browser = browser_hearing(launched, sound)
    yield browser
    browser.close()


def picture(page: Any, name: str) -> None:
    """Keep a picture of the page, if they are asked for."""
    if os.environ.get("ASR_FIGURES"):
        page.screenshot(path=FIGURES / f"serve-{name}.png")


def heard(page: Any) -> list[str]:
    """Return the sentences that are shown, the last one first."""
    return [" ".join(text.split()) for text in page.locator("#sentences p.words").all_inner_texts()]


def filled(page: Any) -> list[str]:
    """Return the buttons of My commands that are filled: those of the next step."""
    return [text for text in page.locator("#commands .next").all_inner_texts() if text]


def nothing_runs(server: Server) -> bool:
    busy = server.workers.running or server.stream_workers.running
    return not (server.streams.taken or server.uploads.taken or busy)


def wait_for(condition: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_words_appear_while_one_speaks(
    start: Any, chromium: Any, pages: Pages, until: Until, tones: Path, tmp_path: Path
) -> None:
    running = start()
    page = pages.open(chromium, running.address)
    page.click("#listen")
    until(page, "document.getElementById('partial').textContent.trim().length > 0")
    assert page.get_attribute("#listen", "aria-pressed") == "true"
    until(page, "document.querySelectorAll('#sentences li').length === 2")
    page.click("#listen")
    until(page, "document.getElementById('listen').getAttribute('aria-pressed') === 'false'")
    by_file = [
        running.ask("POST", "/api/transcribe", (tones / "speaker 0" / f"{n}.wav").read_bytes()).json["text"]
        for n in (0, 1)
    ]
    assert heard(page) == by_file[::-1]
    sure = page.locator("#sentences p.words span").first.get_attribute("title")
    assert "% sure" in sure
    page.click("#sentences li:nth-child(2) button:has-text('Alignment')")
    page.wait_for_selector("#sentences .tier.words span")
    assert page.locator("#sentences .tier.phones").count() == 0  # letters are no phones
    shown = page.locator("#sentences .tier.words span").all_inner_texts()
    assert " ".join(shown) == by_file[0]
    page.click("#sentences li:nth-child(2) button:has-text('Play')")
    until(page, "!document.querySelector('.playhead').hidden")
    for name, begin in (("textgrid", 'File type = "ooTextFile"'), ("ctm", "talk 1 ")):
        with page.expect_download() as download:
            page.click(f"#talk-{name}")
        text = Path(download.value.path()).read_text(encoding="utf-8")
        assert text.startswith(begin)
        assert all(word in text for word in by_file[0].split())
    page.click("#sentences li:nth-child(2) button:has-text('Alignment')")
    assert page.locator(".timeline").count() == 0
    page.click("#vocabulary summary")
    assert page.inner_text("#vocabulary p").split(" · ") == sorted(WORDS)
    page.click("#clear")
    assert heard(page) == []
    assert page.is_visible("#nothing-yet")
    assert page.is_disabled("#talk-ctm")
    assert wait_for(lambda: nothing_runs(running.server))


HOSTILE_WORDS = {  # in place of the tone language's
    "ASA": "<script>window.ran=1</script>",
    "IMI": '"><img/src=x/onerror=window.ran=1>',
    "SUS": "{{7*7}}\u202egninrut\u2066';}*{background:url(https://example.org/x)}",
    "MAUI": "javascript:window.ran=1//" + "x" * 1000,
}
WATCHED = """
window.violations = 0;
document.addEventListener("securitypolicyviolation", () => window.violations++);
"""


def test_no_word_and_no_name_is_obeyed(
    start: Any, launched: Open, pages: Pages, until: Until, copied: Path, spoken: Path, tmp_path: Path
) -> None:
    exp = copied.rename(copied.with_name("<img src=x onerror=window.ran=1>"))
    for file in (exp / "models/gmm2").iterdir():
        if file.suffix in (".txt", ".arpa"):
            text = file.read_text()
            for word, evil in HOSTILE_WORDS.items():
                text = text.replace(word, evil)
            file.write_text(text)
    takes = tmp_path / "takes"
    takes.mkdir()
    names = (
        "<b>-001",
        "javascript:window.ran=1-001",
        "\u202egninrut-001",
        '"><img src=x onerror=a-002',
        "con",
    )
    for name, said in zip(names, [*HOSTILE_WORDS.values(), "</script><script>window.ran=1"], strict=True):
        (takes / f"{name}.wav").write_bytes(spoken.read_bytes())
        (takes / f"{name}.txt").write_text(said)
    (takes / "<svg onload=window.ran=1>.wav").write_bytes(b"no sound")
    (takes / ".prompts.json").write_text('["<script>window.ran=1</script>", "yes", "no"]')
    browser = launched(*FLAGS)
    try:
        running = start(served=Served(exp))
        page = pages.open(browser, "about:blank", ready="body")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (pages.said.append(dialog.message), dialog.dismiss()))
        page.add_init_script(WATCHED)
        pages.allowed = (running.address,)
        page.goto(running.address)
        page.wait_for_selector("body[data-ready]")
        page.click("#vocabulary summary")
        known = page.inner_text("#vocabulary p")
        assert [word for word in HOSTILE_WORDS.values() if word not in known] == []
        assert exp.name in page.inner_text("#model")
        page.click("#tab-files")
        page.set_input_files("#file", [spoken])
        page.wait_for_selector("#results p.words span")
        assert set(page.locator("#results p.words span").all_text_contents()) <= {*HOSTILE_WORDS.values()}
        page.click("#tab-commands")
        page.wait_for_selector("#takes .chip")
        shown = page.inner_text("#takes")
        assert page.locator("#takes .chip").count() == len(names)
        assert "</script><script>window.ran=1" in shown
        page.click("#takes .chip button >> nth=0")
        assert "<svg onload" in page.text_content("#aside")
        assert page.locator("main img, [onload], [onerror], main script").count() == 0
        assert page.evaluate("[window.ran, window.violations]") == [None, 0]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert [url for url in asked if not url.startswith((running.address, "blob:", "data:"))] == []
    finally:
        browser.close()


def test_two_clients_at_once_and_one_too_many(start: Any, chromium: Any, pages: Pages, until: Until) -> None:
    running = start(Limits(streams=2))
    both = [pages.open(chromium, running.address) for _ in range(2)]
    for page in both:
        page.click("#listen")
    until(both[1], "document.getElementById('talk-status').textContent.startsWith('Listening,')")
    third = pages.open(chromium, running.address)
    third.click("#listen")
    until(third, "!document.getElementById('problem').hidden")
    assert "busy with 2 streams" in third.inner_text("#problem")
    assert third.get_attribute("#listen", "aria-pressed") == "false"
    for page in both:
        until(page, "document.querySelectorAll('#sentences li').length === 2")
    assert heard(both[0]) == heard(both[1])
    assert len(set(heard(both[0]))) == 2


def test_a_tab_closed_in_the_middle_leaves_nothing_running(
    start: Any, chromium: Any, pages: Pages, until: Until
) -> None:
    running = start()
    page = pages.open(chromium, running.address)
    page.click("#listen")
    until(page, "document.getElementById('talk-status').textContent.startsWith('Listening,')")
    assert running.server.streams.taken == 1
    page.close()
    assert wait_for(lambda: nothing_runs(running.server))
    page = pages.open(chromium, running.address)
    page.click("#listen")
    until(page, "document.getElementById('talk-status').textContent.startsWith('Listening,')")
    page.click("#tab-files")  # the microphone is closed when something else is shown
    assert wait_for(lambda: nothing_runs(running.server))


def test_recordings_are_recognised_and_aligned(
    start: Any, chromium: Any, pages: Pages, tones: Path, tmp_path: Path
) -> None:
    running = start()
    page = pages.open(chromium, running.address)
    page.click("#tab-files")
    recording = tones / "speaker 3" / "0.wav"
    text = recording.with_suffix(".txt").read_text().strip()
    page.set_input_files("#file", recording)
    page.wait_for_selector("#results li")
    assert " ".join(page.inner_text("#results p.words").split()) == text
    with page.expect_download() as download:
        page.click("#results button:has-text('CTM')")
    assert download.value.suggested_filename == "0.ctm"
    assert [line.split()[4] for line in Path(download.value.path()).read_text().splitlines()] == text.split()
    ignored = {"text": "", "words": [], "rejected": [{"word": "ASA", "start_s": 0.1, "end_s": 0.4}]}
    page.route("**/api/transcribe", lambda route: route.fulfill(json={**ignored, "duration_s": 1.0}))
    page.set_input_files("#file", recording)
    page.wait_for_selector("#results .rejected")
    assert page.inner_text("#results .rejected p.words") == "none of its words"
    assert page.get_attribute("#results .rejected", "title") == "nearest: ASA"
    assert "the words are then aligned" in page.inner_text("label.field")
    page.fill("#transcript", text)
    page.set_input_files("#file", recording)
    page.wait_for_selector("#results li:nth-child(3)")
    assert page.locator("#results li:nth-child(1) .tier.words span").all_inner_texts() == text.split()
    assert page.locator("#results .tier.phones").count() == 0  # letters are no phones
    with page.expect_download() as download:
        page.click("#results li:nth-child(1) button:has-text('TextGrid')")
    assert 'name = "phones"' in Path(download.value.path()).read_text()
    assert wait_for(lambda: nothing_runs(running.server))


def test_what_is_no_recording_is_refused_and_says_why(
    start: Any, chromium: Any, pages: Pages, until: Until, tmp_path: Path
) -> None:
    running = start(Limits(upload_bytes=100_000, audio_s=2))
    pages.allowed = ("Failed to load resource",)  # the browser tells of every answer that is an error
    page = pages.open(chromium, f"{running.address}/#files")
    files = {"notes.wav": b"no sound", "large.wav": bytes(200_000), "empty.flac": b""}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    soundfile.write(tmp_path / "long.wav", np.zeros(3 * 8000), 8000)
    page.set_input_files("#file", [tmp_path / name for name in (*files, "long.wav")])
    until(page, "document.querySelectorAll('#results li').length === 4")
    said = page.locator("#results .refused").all_inner_texts()[::-1]
    reasons = ("not audio", "expected at most 0.1 MB", "empty file", "3 s of sound, expected at most 2 s")
    for line, reason in zip(said, reasons, strict=True):
        assert reason in line
        assert str(tmp_path) not in line
    assert wait_for(lambda: nothing_runs(running.server))


def test_a_card_says_what_is_amiss_with_a_recording(
    start: Any, chromium: Any, pages: Pages, until: Until, spoken: Path, tmp_path: Path
) -> None:
    samples, rate = soundfile.read(spoken, dtype="float32")
    soundfile.write(tmp_path / "low.wav", samples[::2], rate // 2)
    soundfile.write(tmp_path / "apple.caf", samples, rate, format="CAF")
    (tmp_path / "notes.txt").write_text("no sound")
    pages.allowed = ("Failed to load resource",)
    page = pages.open(chromium, f"{start().address}/#files")
    page.set_input_files(
        "#file", [spoken, tmp_path / "low.wav", tmp_path / "apple.caf", tmp_path / "notes.txt"]
    )
    until(page, "document.querySelectorAll('#results li').length === 4")
    notes, caf, low, good = (page.locator("#results li").nth(n) for n in range(4))
    assert "expected wav, flac, ogg, mp3, aiff, au, caf or NIST SPHERE" in notes.inner_text()
    assert "This browser cannot play it" in caf.inner_text()
    assert caf.locator("p.words").inner_text() == good.locator("p.words").inner_text()
    assert low.locator(".warning").inner_text().startswith("8000 Hz, fewer samples a second")
    assert low.locator("button:has-text('Play')").count() == 1
    assert good.locator(".about > span").all_inner_texts() == [spoken.name]
    page.fill("#transcript", spoken.with_suffix(".txt").read_text())
    page.set_input_files("#file", tmp_path / "low.wav")
    until(page, "document.querySelectorAll('#results .warning').length === 2")
    # What the server does not read is sent as the browser has decoded it.
    asked = page.evaluate("""async () => {
      const before = window.fetch, sizes = [];
      window.fetch = (path, wish) => {
        sizes.push(wish.body.size);
        const refusal = new Response('{"error": "m4a"}', { status: 415 });
        return sizes.length === 1 ? Promise.resolve(refusal) : before(path, wish);
      };
      return window.sizes = sizes;
    }""")
    assert asked == []
    page.fill("#transcript", "")
    page.set_input_files("#file", tmp_path / "low.wav")
    until(page, "document.querySelectorAll('#results li').length === 6")
    assert page.locator("#results .warning").count() == 2
    low_bytes = (tmp_path / "low.wav").stat().st_size
    first, second = page.evaluate("window.sizes")
    assert first == low_bytes
    assert second == pytest.approx(2 * low_bytes, rel=0.02)


def test_the_keyboard_alone_is_enough(start: Any, chromium: Any, pages: Pages, until: Until) -> None:
    page = pages.open(chromium, start().address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tab-talk"
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#files")
    page.keyboard.press("ArrowLeft")
    assert page.is_visible("#talk")
    page.keyboard.press("ArrowLeft")
    assert page.is_visible("#commands")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "listen"
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('#sentences li').length === 2")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('listen').getAttribute('aria-pressed') === 'false'")
    assert page.get_attribute("#sentences", "aria-live") == "polite"


def test_night_and_day_and_a_phone(start: Any, chromium: Any, pages: Pages, tones: Path) -> None:
    def lightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    address = start().address
    page = pages.open(chromium, address, dark=True)
    assert lightness(page) < 120
    page.click("#theme")
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: auto"
    page.click("#theme")
    assert (lightness(page) > 700, page.inner_text("#theme")) == (True, "Theme: light")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert lightness(page) > 700
    phone = pages.open(chromium, address, width=360, height=780)
    phone.click("#tab-files")
    phone.set_input_files("#file", tones / "speaker 3" / "0.wav")
    phone.wait_for_selector("#results .timeline")
    for tab in ("files", "talk", "commands"):
        phone.click(f"#tab-{tab}")
        assert phone.evaluate("document.documentElement.scrollWidth") == 360


@pytest.fixture(scope="module")
def takes_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the microphone hears of somebody who says four words in turn, three times."""
    rng = np.random.default_rng(5)
    pieces = [speak((word,), 1.0, rng) for _ in range(3) for word in WORDS]
    return write_microphone(tmp_path_factory.mktemp("takes") / "takes.wav", pieces, 1.7, 1.5)


def test_from_nothing_to_a_spoken_demo(
    start: Any, hearing: Open, pages: Pages, until: Until, takes_file: Path, tmp_path: Path
) -> None:
    running = start(ready=False)
    pages.allowed = ("Failed to load resource",)
    browser = hearing(takes_file)
    page = pages.open(browser, running.address)
    assert page.is_visible("#commands")
    assert page.inner_text("#model") == "nothing learned yet"
    page.fill("#prompts", "yes\n")
    page.click("#use-prompts")
    until(page, "!document.getElementById('problem').hidden")
    assert "at least two commands" in page.inner_text("#problem")
    assert filled(page) == ["Use these commands"]
    page.fill("#prompts", "7\nyes\n")
    page.click("#use-prompts")
    until(page, "document.getElementById('problem').textContent.includes('numbers')")
    assert "write numbers" in page.inner_text("#problem")
    page.fill("#prompts", "\n".join(WORDS))
    page.select_option("#wanted", "3")
    page.click("#use-prompts")
    until(page, "document.getElementById('prompt').textContent === 'ASA'")
    assert page.is_disabled("#train")
    assert filled(page) == ["Record"]
    assert page.inner_text("#lacking") == "12 more before it can be trained; 5 of each are better."
    page.click("#record")
    until(page, "document.querySelectorAll('.chip').length === 5", 60)
    picture(page, "record")
    until(page, "document.querySelectorAll('.chip').length === 12", 60)
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert page.inner_text("#prompt") == "Everything is recorded"
    assert page.inner_text("#n-takes") == "12, in the folder takes"
    folder = running.server.takes.folder
    texts = [path.read_text().strip() for path in sorted(folder.glob("*.txt")) if path.stem != "lexicon"]
    assert texts == [word for word in sorted(WORDS) for _ in range(3)]
    page.click("#train")
    until(page, "document.getElementById('training-step').textContent.length > 3")
    page.click("#training summary")
    until(page, "document.getElementById('share').value > 0.1", 90)
    assert filled(page) == []
    until(page, "!document.getElementById('result').hidden", 240)
    assert page.inner_text("#verdict") == "12 of 12 recordings right"
    assert page.inner_text("#model") == "new: 4 commands"
    until(page, "!document.querySelector('#try').hidden")
    assert filled(page) == ["Try it"]
    page.wait_for_timeout(600)
    picture(page, "trained")
    page.click("#try")
    assert page.is_checked("#reject")
    page.click("#listen")
    until(page, "document.querySelectorAll('#sentences li').length >= 8", 90)
    page.click("#listen")
    until(page, "document.getElementById('listen').getAttribute('aria-pressed') === 'false'")
    said = [line.upper() for line in heard(page)[::-1]]
    assert said[:8] == [*WORDS, *WORDS]
    assert wait_for(lambda: nothing_runs(running.server))


def test_takes_are_played_recorded_again_and_deleted(
    start: Any, hearing: Open, pages: Pages, until: Until, takes_file: Path
) -> None:
    running = start(ready=False)
    browser = hearing(takes_file)
    page = pages.open(browser, running.address)
    page.fill("#prompts", "ASA\nIMI")
    page.click("#use-prompts")
    until(page, "document.getElementById('prompt').textContent === 'ASA'")
    page.click("#skip-prompt")
    assert page.inner_text("#prompt") == "IMI"
    page.uncheck("#by-itself")
    page.click("#record")
    until(page, "document.querySelectorAll('.chip').length === 1")
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert "Kept “IMI”" in page.inner_text("#take-status")
    assert [path.name for path in running.server.takes.folder.glob("*.wav")] == ["IMI-001.wav"]
    with page.expect_response("**/api/takes/IMI-001") as played:
        page.click("[aria-label='Play recording 1 of “IMI”']")
    assert played.value.status in (200, 206)

    def names() -> list[str]:
        return [path.name for path in running.server.takes.folder.glob("*.wav")]

    page.click("[aria-label='Record again recording 1 of “IMI”']")
    until(page, "document.getElementById('record').textContent === 'Stop'")
    page.click("#record")
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert names() == ["IMI-001.wav"]  # nothing was said, so that it stays
    page.click("[aria-label='Record again recording 1 of “IMI”']")
    until(page, "document.getElementById('record').textContent === 'Stop'")
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert page.inner_text("#take-status") == "Kept “IMI” in place of the old recording"
    assert names() == ["IMI-002.wav"]
    assert page.locator(".chip").count() == 1
    page.click("[aria-label='Delete recording 1 of “IMI”']")
    until(page, "document.querySelectorAll('.chip').length === 0")
    page.click("#record")
    until(page, "document.getElementById('record').textContent === 'Stop'")
    page.click("#tab-talk")  # closes the microphone
    page.click("#tab-commands")
    assert page.inner_text("#record") == "Record"
    page.click("#record")
    until(page, "document.getElementById('record').textContent === 'Stop'")
    page.click("#record")
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert sorted(path.name for path in running.server.takes.folder.glob("*.wav")) == []


def test_the_prompter_goes_on_until_training_is_possible(
    start: Any, hearing: Open, pages: Pages, until: Until, takes_file: Path
) -> None:
    running = start(ready=False)
    page = pages.open(hearing(takes_file), running.address)
    page.fill("#prompts", "\n".join(WORDS[:3]))
    page.select_option("#wanted", "3")
    page.click("#use-prompts")
    until(page, "document.getElementById('prompt').textContent === 'ASA'")
    assert page.inner_text("#say") == "Say (1 of 4)"
    assert page.inner_text("#lacking") == "10 more before it can be trained, 4 of each; 5 of each are better."
    page.click("#record")
    until(page, "document.querySelectorAll('.chip').length === 9", 60)
    assert page.inner_text("#prompt") == "ASA"
    assert page.inner_text("#lacking") == "1 more before it can be trained, 4 of each; 5 of each are better."
    assert page.is_disabled("#train")
    until(page, "document.querySelectorAll('.chip').length === 12", 60)
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert page.inner_text("#prompt") == "Everything is recorded"
    assert page.is_enabled("#train")
    assert filled(page) == ["Train"]
    page.select_option("#wanted", "5")
    assert page.inner_text("#prompt") == "ASA"
    assert page.locator("#takes small").all_inner_texts() == ["4 of 5"] * 3
    page.fill("#prompts", "\n".join(WORDS[:2]))
    page.select_option("#wanted", "3")
    page.click("#use-prompts")
    until(page, "document.getElementById('lacking').textContent.startsWith('2 more')")
    assert page.inner_text("#lacking") == "2 more before it can be trained, 5 of each."
    assert page.inner_text("#say") == "Say (5 of 5)"


def test_odd_files_and_odd_commands_are_told_on_the_page(
    start: Any, chromium: Any, pages: Pages, until: Until
) -> None:
    running = start(ready=False)
    rng = np.random.default_rng(3)
    for n in range(12):
        running.server.takes.add(WORDS[n % 4], speak((WORDS[n % 4],), 1.0, rng), RATE)
    folder = running.server.takes.folder
    (folder / "gone.wav").symlink_to("nowhere")
    (folder / "folder.wav").mkdir()
    (folder / "<img src=x onerror=alert(1)>.txt").write_text("x")
    Path(os.fsdecode(bytes(folder) + b"/caf\xe9.wav")).write_bytes(b"RIFF")
    (folder / ".prompts.json").write_text('["ASA", "IMI", "\\ud800", "SUS", "MAUI"]')
    pages.allowed = ("Failed to load resource",)
    page = pages.open(chromium, running.address)
    page.click("#tab-commands")
    assert page.inner_text("#aside summary") == "Left aside in the folder takes"
    named = page.locator("#aside li").all_inner_texts()
    assert [line.split(": ")[0] for line in named] == [
        ".prompts.json",
        "<img src=x onerror=alert(1)>.txt",
        "caf\\udce9.wav",
        "folder.wav",
        "gone.wav",
    ]
    assert page.locator(".chip").count() == 12
    page.click("#train")
    until(page, "!document.getElementById('problem').hidden")
    assert "a training stops at what lies in the folder" in page.inner_text("#problem")
    top = "document.getElementById('problem').getBoundingClientRect().top"
    until(page, f"{top} >= 0 && {top} < innerHeight")  # the button is far below it
    for odd, said in (("<s>", "is read as a remark"), ("on\nOn", "are the same words"), ("a/b", "spaces")):
        page.fill("#prompts", f"{odd}\nlight")
        page.click("#use-prompts")
        until(page, f"document.getElementById('problem').textContent.includes('{said}')")
    page.fill("#prompts", "cafe\u0301\noff")
    page.click("#use-prompts")
    until(page, "document.getElementById('prompt').textContent === 'caf\u00e9'")
    assert page.input_value("#prompts") == "caf\u00e9\noff"


def test_what_sounds_like_another_command_is_recorded_again(
    start: Any, hearing: Open, pages: Pages, until: Until, takes_file: Path
) -> None:
    running = start()
    rng = np.random.default_rng(3)
    for n in range(12):
        running.server.takes.add(WORDS[n % 4], speak((WORDS[n % 4],), 1.0, rng), RATE)
    names = [take.name for take in running.server.takes.all()]

    def as_trained(route: Any) -> None:
        body = route.fetch().json()
        now = [take["name"] for take in body["takes"]]
        heard = [
            {"id": take["name"], "said": take["prompt"], "heard": take["prompt"], "kept": True}
            for take in body["takes"]
            if take["name"] in names
        ]
        for row in heard:
            row["heard"] = "IMI" if row["id"] == "ASA-001" else row["heard"]
        route.fulfill(json={**body, "heard": heard, "is_trained": now == names})

    page = pages.open(hearing(takes_file), running.address, width=360, height=700)
    page.route("**/api/takes", as_trained)
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.click("#tab-commands")
    said = "11 of 12 recordings right; one sounds like another command: record it again"
    assert page.inner_text("#verdict") == said
    assert "a model that had not learned it" in page.inner_text("#result")
    assert filled(page) == ["Record it again"]
    page.locator("#commands .next").click()
    until(page, "document.getElementById('record').textContent === 'Stop'")
    until(page, "document.getElementById('prompt').getBoundingClientRect().top > 0")
    until(page, "document.getElementById('record').getBoundingClientRect().bottom < innerHeight")
    assert page.inner_text("#prompt") == "ASA"
    until(page, "document.getElementById('record').textContent === 'Record'")
    assert {take.name for take in running.server.takes.all()} == {*names, "ASA-004"} - {"ASA-001"}
    assert page.is_hidden("#result")  # it was that of other recordings
    assert page.inner_text("#lacking") == "Your recordings or commands have changed: train again."
    assert filled(page) == ["Train again"]


def test_a_training_is_cancelled(start: Any, chromium: Any, pages: Pages, until: Until) -> None:
    running = start(ready=False)
    rng = np.random.default_rng(3)
    for n in range(12):
        running.server.takes.add(WORDS[n % 4], speak((WORDS[n % 4],), 1.0, rng), RATE)
    page = pages.open(chromium, running.address)
    page.click("#train")
    until(page, "!document.getElementById('cancel').hidden")
    pid = running.server.training.pid
    assert pid is not None
    assert not page.is_enabled("#record")
    assert page.inner_text("#take-status") == "Recording waits until the training has ended"
    page.click("#cancel")
    until(page, "document.getElementById('training-step').textContent === 'Cancelled'")
    assert page.inner_text("#take-status") == ""
    assert not psutil.pid_exists(pid)
    assert page.is_enabled("#train")


@pytest.fixture(scope="module")
def an4(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an experiment on AN4, trained now unless ``ASR_AN4`` names one."""
    corpus = shared / "data" / "an4"
    if not corpus.is_dir():
        pytest.skip(f"no AN4 at {corpus}")
    if given := os.environ.get("ASR_AN4"):
        return Path(given)
    out = tmp_path_factory.mktemp("an4") / "an4"
    train("an4", corpus=corpus, out=out, models=["gmm"])
    return out


def test_people_are_heard(
    an4: Path, shared: Path, hearing: Open, pages: Pages, until: Until, start: Any, tmp_path: Path
) -> None:
    """Three test utterances of AN4, in the time they take."""
    served = Served(an4)
    running = start(served=served)
    names = ("an417-fjlp-b", "cen8-mmxg-b", "an418-fjlp-b")
    files = [next((shared / "data" / "an4" / "wav").rglob(f"{name}.wav")) for name in names]
    pieces = [soundfile.read(file, dtype="float32")[0] for file in files]
    sound = write_microphone(tmp_path / "three.wav", pieces, 1.5)
    truth = [running.ask("POST", "/api/transcribe", file.read_bytes()).json["text"].split() for file in files]
    browser = hearing(sound)
    page = pages.open(browser, running.address, height=820)
    page.click("#listen")
    until(page, "document.getElementById('partial').textContent.trim().length > 0")
    n_words = sum(map(len, truth))
    until(page, f"document.querySelectorAll('#sentences p.words span').length >= {n_words - 2}", 60)
    page.click("#sentences li:nth-child(1) button:has-text('Alignment')")
    page.wait_for_selector("#sentences .tier.phones span")
    picture(page, "light")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    picture(page, "dark")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_timeout(300)
    picture(page, "phone")
    page.click("#listen")
    until(page, "document.getElementById('listen').getAttribute('aria-pressed') === 'false'")
    words = [word for line in heard(page)[::-1] for word in line.split()]
    wanted = [word for line in truth for word in line]
    assert sum(word in words for word in wanted) >= 0.9 * len(wanted)
