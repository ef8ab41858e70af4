"""What does Dagster say of what prod shows: of which release and plan it is, who approved that, and what was proved?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.shown_release import made_of
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.evidence.shortened import LONGEST
from backfill_assets.evidence.write import RELEASE_PAGE, evidence_path
from backfill_assets.state.releases import PointerMove, Release
from backfill_assets_tests.fakes import NOW, a_pointer, days
from backfill_assets_tests.review_shop import FINDING, Shop, review_shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return review_shop(tmp_path)


def told(shop: Shop, instance: dg.DagsterInstance) -> dict[str, dict[str, Any]]:
    """What is news of each view."""
    events = unreported_views(shop.place(), instance)
    for event in events:
        instance.report_runless_asset_event(event)
    return {e.asset_key.path[-1]: {name: value.value for name, value in e.metadata.items()} for e in events}


def approved(shop: Shop) -> None:
    for user in ("ana", "vera"):
        asked = ApprovalRequest(plan=shop.plan, reason=f"{user} *looked*", accepted={FINDING: "as agreed"})
        approve(shop.place(user), asked)
    assert promote_plan(shop.place(), plan=shop.plan).verdict.open


def test_the_plan_and_who_approved_it(
    shop: Shop, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First nobody had to approve; then both owners did. Told once. After a rollback it is the older plan's again, and
    a packet that is damaged leaves the view's page as it is without."""
    monkeypatch.setenv("BACKFILL_REVIEW_URL", "https://review.example.com")
    first = told(shop, instance)["daily"]
    assert (first["plan"], first["approved"]) == (shop.first, "nobody's approval was needed")
    assert first["packet"].startswith("# Release ") and len(first["packet"]) < LONGEST + 100
    approved(shop)
    second = told(shop, instance)["daily"]
    assert second["plan"] == shop.plan and second["review"] == f"https://review.example.com/plan/{shop.plan}"
    ana, vera = sorted(second["approved"].splitlines())
    assert ana.startswith("- ana@example.com, ") and ana.endswith("UTC: ana \\*looked\\*")
    assert vera.startswith("- vera@example.com, ")
    assert second["released"].endswith("UTC by dev") and not {"back to", "plan released"} & second.keys()
    assert told(shop, instance) == {}, "what is the same is not told again"

    releases = shop.place().control.releases.all("prod")
    assert roll_back(shop.place(), releases[0].id, reason="wrong").ended.moved
    back = told(shop, instance)["daily"]
    assert (back["plan"], back["back to"]) == (shop.first, releases[0].id)
    assert back["plan released"].endswith(f"as release {releases[0].id}") and back["release"] != releases[0].id
    assert back["approved"] == "nobody's approval was needed"

    roll_back(shop.place(), releases[1].id, reason="right after all")
    newest = shop.place().control.releases.all("prod")[-1].id
    Path(evidence_path(shop.place().warehouse, newest), RELEASE_PAGE).write_text("other")
    forth = told(shop, instance)["daily"]
    assert forth["plan"] == shop.plan and "packet" not in forth and len(forth["approved"].splitlines()) == 2


def chain(*said: str) -> list[Release]:
    """Releases, each of a model (`a:m`), or back to another one (`back:m>a`)."""
    found: list[Release] = []
    for number, text in enumerate(said):
        name, _, rest = text.partition(":")
        model, _, back_to = rest.partition(">")
        moves = (PointerMove(model=model, before=None, after=a_pointer(model, "v1", days("01"))),)
        found.append(
            Release(id=name, environment="prod", revision=number, at=NOW, by="ana", back_to=back_to, moves=moves)
        )
    return found


def test_which_releases_made_what_is_shown() -> None:
    """A routine run extends what was decided before it. Those of other models are passed by; a rollback leads to those
    before the one that it went back to, whatever came between."""
    releases = chain("a:m", "b:m", "c:n", "routine:m", "back:m>a", "d:n", "e:m")
    places = {r.id: n for n, r in enumerate(releases)}

    def ids(last: str) -> list[str]:
        return [r.id for r in made_of(releases, places, last, "m")]

    assert ids("routine") == ["routine", "b", "a"]
    assert ids("back") == ["back", "a"]
    assert ids("e") == ["e", "back", "a"]
