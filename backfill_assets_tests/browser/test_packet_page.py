"""The packet's page in a real browser: readable on a desk, a phone and paper, light and dark, with no request out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets.evidence.make import make
from backfill_assets_tests.fakes import days
from backfill_assets_tests.packets import a_proof, a_subject, some_inputs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")

CONTRAST = """() => {
  const parse = c => { const n = c.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1] };
  const light = c => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]) };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3]) return c } return [255, 255, 255, 1] };
  return [...document.querySelectorAll('body *')].filter(e => e.checkVisibility() && !e.closest('svg')
    && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
      const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
      return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.textContent.trim().slice(0, 40)] })
    .filter(([ratio]) => ratio < 4.5) }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with everything on it: charts, a failed test, a long name, examples, an approval."""
    subject = a_subject(days("01", "04"))
    results = (replace(subject.results[0], passed=False, observed="two NULLs", sample=("id=7",)), *subject.results[1:])
    subject = replace(subject, results=results, new_rows={at: n + 3 for at, n in subject.new_rows.items()})
    file = tmp_path_factory.mktemp("page") / "packet.html"
    more = {"kept": [{"a_rather_long_name_of_a_model_that_goes_on_and_on": "x" * 80, "days": [1, 2]}], "ok": True}
    inputs = some_inputs(subjects=(subject,))
    file.write_bytes(
        make(replace(inputs, proofs={**inputs.proofs, "kept": a_proof("kept", document=more)}))[1]["packet.html"]
    )
    return file


def opened(browser: Browser, html: Path, **more: Any) -> tuple[Page, list[str], list[str]]:
    """The page, what it asked for, and what it complained about."""
    page = browser.new_context(**more).new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(html.as_uri())
    return page, asked, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_can_be_read(browser: Browser, html: Path, width: int, scheme: str) -> None:
    """Nothing is cut off or asked for from elsewhere, and every text stands out from what is behind it."""
    page, asked, complaints = opened(browser, html, viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert asked == [html.as_uri()] and complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []


def test_it_answers_at_a_glance(browser: Browser, html: Path) -> None:
    """What changed, who depends on it, which tests passed, who accepted: on the first screen (E2)."""
    page, _, _ = opened(browser, html, viewport={"width": 1280, "height": 800})
    cards = page.locator(".card")
    assert [cards.nth(n).inner_text().split("\n")[:2] for n in range(4)] == [
        ["What changed?", "4 days"],
        ["Who depends on it?", "1 reader"],
        ["Which tests?", "1 of 2 passed"],
        ["Who accepted?", "ana"],
    ]
    last = cards.nth(3).bounding_box()
    assert last is not None and last["y"] + last["height"] < 800


def test_old_and_new_are_drawn(browser: Browser, html: Path) -> None:
    """A chart for the column that moved and one for the rows, each with both lines and with what is different."""
    page, _, _ = opened(browser, html, viewport={"width": 1280, "height": 800})
    charts = page.locator("figure svg")
    assert charts.count() == 2
    for n in range(2):
        box = charts.nth(n).bounding_box()
        assert box is not None and box["width"] > 200 and box["height"] > 80
        assert charts.nth(n).locator("path.old").count() == charts.nth(n).locator("path.new").count() == 1
    assert charts.nth(0).locator("rect.less").count() == 4  # the totals of four days went down
    assert charts.nth(1).locator("rect.more").count() == 4  # and there are three rows more on each


def test_data_is_text(browser: Browser, html: Path) -> None:
    """A value that looks like markup is shown as it is."""
    page, _, _ = opened(browser, html)
    assert page.locator("td b", has_text="7").count() == 0
    assert "<b>7</b>" in page.content().replace("&lt;", "<").replace("&gt;", ">")


def test_it_prints(browser: Browser, html: Path) -> None:
    """On paper it is black on white, whatever the screen is."""
    page, _, _ = opened(browser, html, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )
    assert len(page.pdf()) > 10_000
