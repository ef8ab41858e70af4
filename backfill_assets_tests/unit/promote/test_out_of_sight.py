"""Rows that a rollback took out of sight were published: others in their place need approvals, as ever."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.ledger_edits import withdraw
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.rules import propose_rules
from backfill_assets.core.intervals import Interval
from backfill_assets.plan.stages import Request
from backfill_assets.promote.changed_rows import find_changed_rows
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, prove, unsparked

ANA, CFO, DEV = "ana@example.com", "cfo@example.com", "dev@example.com"
READERS = f"""
last_verified: 2024-01-03
consumers:
  - {{name: export, kind: export, owner: {CFO}, criticality: high, reads: [running]}}
"""
NOBODY = "last_verified: 2024-01-03\nconsumers: []\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """`running` came with the second release, and a rollback took it out of sight; the author edits its files."""
    root = small_project(tmp_path, days=2)
    settings = root / "backfill.yml"
    people = {name: {"accounts": [name.partition("@")[0]]} for name in (ANA, CFO, DEV)}
    said = json.loads(settings.read_text()) | {"approvals": {"consumers": "high"}, "people": people}
    settings.write_text(json.dumps(said))
    (root / "consumers.yml").write_text(READERS)
    for request in (Request(select=("daily",)), Request()):
        place = unsparked(root, user="dev")
        build(place, request)
        assert promote_plan(place, request).verdict.open
    back = roll_back(unsparked(root, user="dev"), None, at_once=True)
    assert back.ended.moved and sorted(back.ended.moved.pointers) == ["daily"]
    return root


def edited(root: Path) -> Context:
    model = root / "models" / "running.sql"
    model.write_text(model.read_text().replace("sum(now.total) AS", "sum(now.total) + 1 AS").replace(ANA, DEV))
    (root / "consumers.yml").write_text(NOBODY)
    return unsparked(root, user="dev")


def test_other_rows_are_approved_by_all_who_are_asked(shop: Path) -> None:
    """By the owner and the consumer's owner in force; the owner that the author's file names comes beside them."""
    place = edited(shop)
    assert set(plan_request(place).owners) == {ANA, DEV, CFO}, "before anything is built"
    build(place)
    assert set(plan_request(place).owners) == {ANA, DEV, CFO}, "and when nothing is left to build"
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    asked = {o.what.partition(" of ")[0] for o in promote_plan(place).verdict.obstacles}
    assert asked == {f"needs approval by {who}" for who in (ANA, DEV, f"{CFO} (owner")}
    for account in ("ana", "cfo"):
        approve(replace(place, acting=account), ApprovalRequest(plan=plan))
    [left] = promote_plan(place).verdict.obstacles
    assert left.model == "running" and DEV in left.what
    assert place.rules().rules.owners["running"] == ANA


def test_the_same_rows_come_back_without_asking(shop: Path) -> None:
    """They were let through when they were released."""
    place = unsparked(shop, user="dev")
    assert plan_request(place).owners == ()
    build(place)
    done = promote_plan(place)
    assert done.verdict.open and sorted(done.environment.pointers) == ["daily", "running"]
    assert done.verdict.changed == {}


def test_days_that_are_computed_again_are_approved(shop: Path) -> None:
    """Of the same query, too: the plan says so before they are built."""
    place = unsparked(shop, user="dev")
    withdraw(place, [("running", Interval.of("2024-01-02", "2024-01-03"))], reason="late rows")
    assert set(plan_request(place).owners) == {ANA, CFO}
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    asked = {o.what.partition(" of ")[0] for o in promote_plan(place).verdict.obstacles}
    assert asked == {f"needs approval by {who}" for who in (ANA, f"{CFO} (owner")}


def test_the_owner_in_force_stays(shop: Path) -> None:
    """A header that was edited while the model was out of sight makes nobody its owner."""
    model = shop / "models" / "running.sql"
    model.write_text(model.read_text().replace(ANA, DEV))
    (shop / "consumers.yml").write_text(NOBODY)
    place = unsparked(shop, user="dev")
    assert set(propose_rules(place).missing) >= {ANA, CFO}
    build(place)
    assert "running" in promote_plan(place).environment.pointers
    rules = place.rules().rules
    assert rules.owners["running"] == ANA and rules.consumers["export"].reads == ("running",)


def test_a_rollback_names_the_readers_in_force(shop: Path) -> None:
    """Whoever takes a consumer out of the file is told of it all the same, once."""
    place = unsparked(shop, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    for text in (READERS, NOBODY):
        (shop / "consumers.yml").write_text(text)
        back = roll_back(unsparked(shop, user="dev"), None)
        assert [o.what for o in back.ended.obstacles] == ["it would not be shown any more, and export reads it"]
        assert CFO in back.ended.obstacles[0].remedy


def test_rows_of_a_table_that_the_janitor_removed(shop: Path) -> None:
    """A new table counts its commits from 0 again, so that nobody can tell: they are others."""
    place = unsparked(shop, user="dev")
    build(place)
    facts = place.facts()
    last = facts.past.out_of_sight["running"]
    gone = replace(facts.environment, removals={("running", last.version): 1})
    found = find_changed_rows(place.project, replace(facts, environment=gone), place.log, [last])
    assert found.changed == {"running": last.covers} and found.rewritten == {} and not found.idle
    assert find_changed_rows(place.project, facts, place.log, [last]).changed == {}
    assert find_changed_rows(place.project, facts, place.log, [replace(last, segments=())]).changed == {
        "running": last.covers
    }


def test_what_was_corrected_when_it_was_shown_last(shop: Path) -> None:
    """A correction lies in a table of its own: without it the same query shows other rows."""
    place = unsparked(shop, user="dev")
    first, second, _ = place.control.releases.all("prod")
    roll_back(place, second.id, at_once=True)
    build(place, Request(restate=(("running", Interval.of("2024-01-02", "2024-01-03")),)))
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    for account in ("ana", "cfo"):
        approve(replace(place, acting=account), ApprovalRequest(plan=plan))
    assert promote_plan(place, plan=plan).verdict.open
    roll_back(unsparked(shop, user="dev"), first.id, at_once=True)
    place = unsparked(shop, user="dev")
    assert "running" not in place.control.environments.read("prod").pointers
    assert set(plan_request(place).owners) == {ANA, CFO}
