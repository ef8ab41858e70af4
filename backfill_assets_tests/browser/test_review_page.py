"""The reviewer's page in a real browser: on a desk, a phone and paper, light and dark; plots open by a click."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from backfill_assets.review.identity import PROOF, Trust
from backfill_assets.review.site import open_project, review_app
from backfill_assets_tests.browser.test_packet_page import CONTRAST, QUIET
from backfill_assets_tests.review_shop import ANA, FINDING, HOSTILE, Shop, review_shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from starlette.types import ASGIApp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


@contextmanager
def served(make: Callable[[str], ASGIApp]) -> Iterator[str]:
    """An application, made for its address, on a port of its own; the address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # a browser that is quicker than the server waits
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(make(address), log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return review_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def address(shop: Shop) -> Iterator[str]:
    with served(lambda _: review_app(open_project(shop.root))) as found:
        yield found


def opened(browser: Browser, url: str, **more: Any) -> tuple[Page, list[str], list[str]]:
    """The page, what it asked for, and what it complained about."""
    page = browser.new_context(**more).new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    return page, asked, complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", ["/", "/plan/{plan}", "/plan/{first}", "/plan/{plan}/progress"])
def test_it_can_be_read(browser: Browser, shop: Shop, address: str, path: str, width: int, scheme: str) -> None:
    """Nothing is cut off, blocked by its own policy or asked for from elsewhere; every text stands out."""
    url = address + path.format(plan=shop.plan, first=shop.first)
    page, asked, complaints = opened(browser, url, viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert complaints == []
    assert all(one.startswith(f"{address}/") for one in asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []


def test_the_questions_are_on_the_first_screen(browser: Browser, shop: Shop, address: str) -> None:
    """All seven, each with a number, before anybody scrolls; each leads to where it is answered."""
    page, _, _ = opened(browser, f"{address}/plan/{shop.plan}", viewport={"width": 1280, "height": 900})
    lines = page.locator(".questions li")
    assert lines.count() == 7
    assert [lines.nth(n).get_attribute("class") for n in range(7)] == [
        "bad", "look", "bad", "look", "none", "good", "open",
    ]  # fmt: skip
    for n in range(7):
        assert lines.nth(n).locator(".number").inner_text()
        target = lines.nth(n).locator("a").get_attribute("href")
        assert target and page.locator(f"h2{target}").count() == 1
    first = lines.nth(0).bounding_box()
    assert first is not None and first["y"] < 500


def test_plots_are_a_click_away(browser: Browser, shop: Shop, address: str) -> None:
    """A strip of days a column; a click shows its chart, its spread, a histogram or common values, and its counts."""
    page, _, _ = opened(browser, f"{address}/plan/{shop.plan}", viewport={"width": 1280, "height": 900})
    column = page.locator("details.column", has_text="n").nth(1)
    assert column.locator("svg.strip rect").count() == 4
    assert not column.locator("figure").first.is_visible()
    column.locator("summary").click()
    assert column.locator("figure").first.is_visible()
    assert column.locator("figure svg").count() == 3 and column.locator("svg.spread").is_visible()
    bars = column.locator("svg.histogram rect.new")
    assert [round(float(b.get_attribute("height") or 0) * 30 / 80) for b in bars.all()] == [1, 20, 18, 2, 0, 3]
    text = page.locator("details.column", has_text="onload").last
    assert not text.get_by_text("all others").is_visible()
    text.locator("summary").click()
    row = text.locator("tr", has_text="all others")
    assert row.is_visible() and row.locator("td.n").inner_text() == "28 → 35"
    box = column.locator("figure svg").first.bounding_box()
    assert box is not None and box["width"] > 200 and box["height"] > 80


def test_what_waits_leads_to_the_plan(browser: Browser, shop: Shop, address: str) -> None:
    page, _, _ = opened(browser, f"{address}/")
    page.get_by_role("link", name=f"Plan {shop.plan}").click()
    assert page.url == f"{address}/plan/{shop.plan}"
    assert page.locator("svg.lineage g.node.changed").count() >= 1
    assert page.locator(".yes.void").count() == 1


def test_data_is_text(browser: Browser, shop: Shop, address: str) -> None:
    """What looks like markup is shown as it is, in HTML and in pictures; nothing of it runs."""
    dialogs: list[str] = []
    page = browser.new_context().new_page()
    page.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())  # type: ignore[func-returns-value]
    page.goto(f"{address}/plan/{shop.plan}")
    assert dialogs == [] and page.locator("script, img").count() == 0
    assert HOSTILE[:20] in page.locator(".why").inner_text()


def test_it_prints(browser: Browser, shop: Shop, address: str) -> None:
    """On paper it is black on white, without forms, whatever the screen is."""
    page, _, _ = opened(browser, f"{address}/plan/{shop.plan}", color_scheme="dark")
    page.emulate_media(media="print")
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert behind in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert not page.locator("form").first.is_visible()
    assert len(page.pdf()) > 10_000


def test_an_owner_says_yes(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Behind a proxy that says who is logged in, in a browser that sends what browsers send; another site cannot."""
    shop = review_shop(tmp_path_factory.mktemp("acting"))

    def behind_a_proxy(address: str) -> ASGIApp:
        app = review_app(open_project(shop.root), trust=Trust(header="x-email", secret="s" * 32, origin=address))

        async def proxied(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                more = [(b"x-email", ANA.encode()), (PROOF.encode(), b"s" * 32)]
                scope = {**scope, "headers": [*scope["headers"], *more]}
            await app(scope, receive, send)

        return proxied

    with served(behind_a_proxy) as address:
        page, _, complaints = opened(browser, f"{address}/plan/{shop.plan}", viewport={"width": 1280, "height": 900})
        form = page.locator("form.act").first
        form.locator(f'input[name="accept.{FINDING}"]').fill("as agreed")
        form.locator('input[name="reason"]').fill("looked at it")
        token, digest = (form.locator(f"input[name={name}]").get_attribute("value") for name in ("token", "digest"))
        other = browser.new_context().new_page()
        other.set_content(
            f"""<form method=post action="{address}/plan/{shop.plan}/approve"><input name=token value="{token}">
            <input name=digest value="{digest}"><input name=owner value="{ANA}"><button>win</button></form>"""
        )
        other.get_by_role("button").click()
        other.get_by_text("This was not sent by a page of this site").wait_for()
        assert len(shop.place().control.approvals.of([shop.plan])) == 1
        form.get_by_role("button", name="Approve").click()
        page.get_by_text("You have approved.").wait_for()
        assert page.url == f"{address}/plan/{shop.plan}#approvals" and complaints == []
        assert page.locator(".yes.good", has_text="looked at it").count() == 1
        assert page.evaluate(CONTRAST) == []
