"""The reviewer's page over a real warehouse: it shows what was recorded, changes nothing, and obeys nobody's text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.approve import ApprovalRequest, Prepared, approve
from backfill_assets.app.context import Context
from backfill_assets.evidence.packet import packet
from backfill_assets.review.plan_view import plan_view
from backfill_assets.review.safety import answered_names
from backfill_assets.review.site import open_project, rendered, review_app
from backfill_assets_tests.asgi import ask
from backfill_assets_tests.review_shop import ANA, FINDING, HOSTILE, MASK, VERA, Shop, review_shop

if TYPE_CHECKING:
    from starlette.applications import Starlette

OPENING = re.compile(r"<\s*(script|iframe|object|embed|base)\b", re.IGNORECASE)


class Tags(HTMLParser):
    """Every element with its attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def inert(page: str) -> Tags:
    """The page, which holds nothing that runs, loads or leads elsewhere."""
    found = Tags(page)
    assert not OPENING.search(page)
    for tag, attributes in found.elements:
        assert tag not in ("script", "img", "iframe", "object", "embed", "base"), tag
        assert not [name for name in attributes if name.startswith("on") or name == "style"], attributes
        for name in ("href", "src", "action"):
            assert not attributes.get(name) or str(attributes[name]).startswith(("/", "#")), attributes
            assert not str(attributes.get(name)).startswith("//"), attributes
    assert "\x1b" not in page and "\u202e" not in page
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return review_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def app(shop: Shop) -> Starlette:
    return review_app(open_project(shop.root))


def test_the_front_says_what_waits_for_whom(shop: Shop, app: Starlette) -> None:
    """The plan, its purpose, those whose yes it lacks; for one person what waits for that person only."""
    said = ask(app, "/")
    page = " ".join(inert(said.text).said)
    assert said.status == 200
    assert f"Plan {shop.plan}" in page and ANA in page and VERA in page and "1 difference to accept" in page
    assert f'href="/plan/{shop.plan}"' in said.text and f'href="/plan/{shop.first}"' in said.text
    assert f"Plan {shop.plan}" in ask(app, f"/?for={VERA}").text
    other = ask(app, "/?for=%3Cscript%3Eeve")
    assert "Nothing waits for <script>eve." in " ".join("".join(inert(other.text).said).split())


def test_the_page_of_a_plan(shop: Shop, app: Starlette) -> None:
    """Each question has its number; what is void says why; nothing of it is markup."""
    answer = ask(app, f"/plan/{shop.plan}")
    page = " ".join("".join(inert(answer.text).said).split())
    assert answer.status == 200
    for number in ("2 duplicate, 0 empty", "80 → 80", "1 difference to accept", "0 of 2 given", "20 of 20 passed"):
        assert number in page, number
    assert (
        "void" in page and "rows in its scope, what they replace, audits or comparisons are not those any more" in page
    )
    assert "<script>alert(1)</script>" in page, "what it is for is shown, as text"
    assert MASK in page, "a masked value stays masked"
    assert answer.text.count('class="strip"') == 4, "all rows, and each of three columns"
    assert 'class="lineage"' in answer.text and "backfill approve" in page


def test_a_beginning_of_an_id_is_enough(shop: Shop, app: Starlette) -> None:
    answer = ask(app, f"/plan/{shop.plan[:5]}", root_path="/review")
    assert answer.status == 307 and answer.headers["location"] == f"/review/plan/{shop.plan}"


def test_a_released_plan_is_as_it_was_sealed(shop: Shop, app: Starlette) -> None:
    """Its packet is the one in the folder, byte by byte."""
    assert "as its release sealed it" in ask(app, f"/plan/{shop.first}").text
    folder = Path(shop.place().warehouse) / "evidence" / shop.first
    for name in ("packet.json", "packet.html", "release_note.md"):
        assert ask(app, f"/plan/{shop.first}/{name}").body == (folder / name).read_bytes()


def test_the_packet_has_no_rights(shop: Shop, app: Starlette) -> None:
    """The packet's own page, whose style is in it, is a document of nobody's: sandboxed, without scripts."""
    answer = ask(app, f"/plan/{shop.plan}/packet.html")
    assert (
        "sandbox" in answer.headers["content-security-policy"]
        and "script" not in answer.headers["content-security-policy"]
    )
    said = ask(app, f"/plan/{shop.plan}/packet.json")
    assert json.loads(said.body)["plan"]["id"] == shop.plan
    assert said.headers["content-disposition"] == f'attachment; filename="{shop.plan}-packet.json"'


@pytest.mark.parametrize(
    "path",
    ["/", "/plan/{plan}", "/plan/{plan}/packet.html", "/plan/nobody", "/nothing", "/review.css", "/plan/{plan}/../x"],
)
def test_headers_of_every_answer(shop: Shop, app: Starlette, path: str) -> None:
    """Nothing from elsewhere, no script, no frame, no referrer: of pages, files, errors."""
    answer = ask(app, path.format(plan=shop.plan))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "script-src" not in policy
    assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:3070", "localhost.evil.example", "", "127.0.0.1@evil.example"]
)
def test_another_name_is_not_answered(shop: Shop, app: Starlette, host: str) -> None:
    """A site whose DNS points here reads nothing."""
    answer = ask(app, f"/plan/{shop.plan}", host=host)
    assert answer.status == 421 and shop.plan not in answer.text


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:3070", "review.example.com"])
def test_its_own_names_are(shop: Shop, host: str) -> None:
    app = review_app(open_project(shop.root), answered_names("0.0.0.0", "https://Review.example.com/x"))
    assert ask(app, "/review.css", host=host).status == 200


def test_nothing_is_written(shop: Shop, app: Starlette, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is looked at: no file of the project or its warehouse is another one, and no session is opened."""

    def opened(_: Context) -> None:
        raise AssertionError("a session was opened")

    monkeypatch.setattr(Context, "spark", property(opened))
    files = {p: p.stat().st_mtime_ns for p in shop.root.rglob("*") if p.is_file()}
    statement = f"/plan/{shop.plan}/statement.json?owner={ANA}&by={ANA}&accept.{FINDING}=fine"
    for path in ("/", f"/plan/{shop.plan}", f"/plan/{shop.plan}/packet.html", statement):
        assert ask(app, path).status == 200, path
    assert {p: p.stat().st_mtime_ns for p in shop.root.rglob("*") if p.is_file()} == files


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_only_reads(shop: Shop, app: Starlette, method: str) -> None:
    for path in ("/", f"/plan/{shop.plan}", f"/plan/{shop.plan}/statement.json"):
        assert ask(app, path, method=method).status in (404, 405)


def test_a_statement_to_sign(shop: Shop, app: Starlette) -> None:
    """It is that of `backfill approve --prepare`: of these rows, for one owner; a name in it proves nothing."""
    path = f"/plan/{shop.plan}/statement.json"
    answer = ask(app, f"{path}?owner={ANA}&by={ANA}&reason=looked&accept.{FINDING}=fine")
    said = json.loads(answer.text)
    assert (said["owner"], said["by"], said["reason"], said["accepted"]) == (ANA, ANA, "looked", {FINDING: "fine"})
    assert "attachment" in answer.headers["content-disposition"]
    with pytest.raises(Exception, match="refused"):
        approve(
            shop.place(), ApprovalRequest(plan=shop.plan, prepared=Prepared(statement=answer.text, signature="none"))
        )
    assert ask(app, f"{path}?owner={ANA}").status == 400
    assert ask(app, f"{path}?owner={ANA}&by=dev@example.com").status == 400, "its author may not"
    assert ask(app, f"{path}?by={ANA}&accept.nothing=x").status == 400


@pytest.mark.parametrize("path", ["/plan/nobody", "/plan/%3Cscript%3E", "/nothing", "/plan/{plan}/manifest.json",
                                  "/plan/{plan}/..%2f..%2fbackfill.yml", "/release/r1/release.md"])  # fmt: skip
def test_what_is_not_there(shop: Shop, app: Starlette, path: str) -> None:
    answer = ask(app, path.format(plan=shop.plan))
    assert answer.status == 404
    inert(answer.text)


def test_a_broken_project_is_told_of(tmp_path: Path) -> None:
    """What is wrong with its files, with the place; no traceback."""
    (tmp_path / "backfill.yml").write_text("environment: [<script>]\n")
    answer = ask(review_app(open_project(tmp_path)), "/")
    assert answer.status == 503 and "backfill.yml:1" in answer.text and "Traceback" not in answer.text
    inert(answer.text)


def test_hostile_packets(bad: str) -> None:
    """Whatever people, findings, code, columns, rows, failures and readers are called."""
    from datetime import UTC, datetime

    from backfill_assets.app.review import PlanLook
    from backfill_assets.review.plots import SCALE
    from backfill_assets_tests.unit.cli.test_hostile_text import a_packet

    inputs = a_packet(bad)
    look = PlanLook(record=inputs.plan, packet=packet(inputs), release=bad, upstreams={"performance": (bad,)})
    values = {"base": "", "project": bad, "environment": bad, "read": datetime.now(UTC), "took": 0.1}
    page = rendered("plan.html", view=plan_view(look), scale=SCALE, asked=None, **values)
    inert(page)


@pytest.fixture(
    params=[HOSTILE, "</text></svg><script>x</script>", "javascript:alert(1)", "\x1b]0;title\x07", "x" * 3000]
)
def bad(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_model_leads_to_its_plan(shop: Shop, app: Starlette) -> None:
    """To the open one; where none ever changed it, to what waits."""
    for what in ("model/daily", "source/raw.events", "consumer/cfo_weekly_export"):
        assert ask(app, f"/{what}").headers["location"] == f"/plan/{shop.plan}"
    assert ask(app, "/source/nothing").headers["location"] == ask(app, "/consumer/nothing").headers["location"] == "/"
    assert ask(app, "/model/nothing", root_path="/review").headers["location"] == "/review/"
