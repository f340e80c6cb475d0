"""The page of ``asr report``: what making it costs, how large it is, how soon it is open; and pictures of it.

    python benchmarks/report_page.py --experiment exp/an4 --figures docs/figures

A page of a thousand utterances is made from that of the experiment by repeating its utterances. The browser
is Chromium without a screen (``apt-get install chromium``), driven by playwright. The milliseconds are on the
clock after the page was asked for, and depend on what else the machine does; the CPU seconds of the page's
main thread, until the first chart is drawn, do not. Each is the middle one of five.
"""

from __future__ import annotations

import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from report import argument_parser, print_table, write_report

import asr
from asr.reports import building
from asr.reports.page import Page, render

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SIZES = {"light": (1280, 900), "dark": (1280, 900), "phone": (360, 780)}
N_UTTERANCES, N_TIMES = 1000, 5


def made_page(experiment: Path, path: Path) -> tuple[Page, float]:
    """Return what the page of an experiment shows, and the CPU seconds that making it took."""
    seen: list[Page] = []

    def keep(page: Page) -> str:
        seen.append(page)
        return render(page)

    start = time.process_time()
    building.render = keep
    asr.report(experiment, out=path)
    building.render = render
    return seen[0], time.process_time() - start


def repeated(page: Page, n_views: int) -> Page:
    """Return a page of a thousand utterances, so many of them with pictures and without sound."""
    seen = [line for line in page.lines if line["id"] in page.views]
    lines, views = [], {}
    for n in range(N_UTTERANCES):
        line = seen[n % len(seen)]
        name = f"{line['id']}-{n}"
        lines.append({**line, "id": name})
        if n < n_views:
            views[name] = {k: v for k, v in page.views[line["id"]].items() if k != "audio"}
    return replace(page, lines=tuple(lines), views=views)


@contextmanager
def opened(browser: Any, path: Path, kind: str) -> Iterator[Any]:
    """Open a page as it looks by day, by night, or on a phone."""
    width, height = SIZES[kind]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if kind == "dark" else "light"
    )
    page = context.new_page()
    page.session = context.new_cdp_session(page)
    page.session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_selector("#list li")
    yield page
    context.close()


def opening(browser: Any, path: Path) -> list[float]:
    """Return when the list can be used and the first chart is drawn (ms), and the CPU seconds until then."""
    found = []
    for _ in range(N_TIMES):
        with opened(browser, path, "light") as page:
            page.evaluate("document.querySelector('.chart').scrollIntoView()")
            page.wait_for_selector(".chart[data-drawn]")
            metrics = page.session.send("Performance.getMetrics")["metrics"]
            (cpu_s,) = (entry["value"] for entry in metrics if entry["name"] == "ThreadTime")
            ready = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
            drawn = "Number(document.querySelector('.chart[data-drawn]').dataset.drawn)"
            found.append((page.evaluate(ready), page.evaluate(drawn), cpu_s))
    return [statistics.median(column) for column in zip(*found, strict=True)]


def take_pictures(browser: Any, path: Path, directory: Path) -> None:
    """Write ``report-light.png``, ``report-dark.png`` and ``report-phone.png``."""
    for kind in SIZES:
        with opened(browser, path, kind) as page:
            page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
            if kind == "dark":
                page.click("#list li:nth-child(1) .opener")
                page.wait_for_selector(".spectrogram[data-drawn]")
                page.mouse.move(1, 1)
                page.evaluate("document.getElementById('utterances').scrollIntoView()")
            page.wait_for_timeout(300)
            page.screenshot(path=directory / f"report-{kind}.png")


def main() -> None:
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("--experiment", type=Path, required=True, help="that asr train has finished")
    parser.add_argument("--figures", type=Path, help="directory for pictures of the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        path = Path(folder) / "page.html"
        page, cpu_s = made_page(options.experiment, path)
        if options.figures:
            take_pictures(browser, path, options.figures)
        rows = [row_of(browser, path, "the experiment's page", cpu_s)]
        for n_views in (100, N_UTTERANCES):
            path.write_text(render(repeated(page, n_views)), encoding="utf-8")
            name = f"{N_UTTERANCES} utterances, {n_views} with pictures"
            rows.append(row_of(browser, path, name, None))
        version = browser.version
        browser.close()
    head = ("page", "MB", "list, ms", "first chart, ms", "opened in CPU s", "made in CPU s")
    print_table(head, [list(row.values()) for row in rows])
    write_report(options.out, {"chromium": re.sub(r"[^\d.]", "", version), "rows": rows})


def row_of(browser: Any, path: Path, name: str, cpu_s: float | None) -> dict[str, Any]:
    """Return the figures of one page."""
    list_ms, chart_ms, opened_cpu_s = opening(browser, path)
    return {
        "page": name,
        "megabytes": round(path.stat().st_size / 1e6, 1),
        "list_ms": round(list_ms),
        "chart_ms": round(chart_ms),
        "opened_cpu_s": round(opened_cpu_s, 2),
        "made_cpu_s": None if cpu_s is None else round(cpu_s, 1),
    }


if __name__ == "__main__":
    main()
