"""A `start:` or an `end:` that moves past shown days: the cause is said, and ways on that work; without other code as
well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.status import read_status
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.plan.left_out import left_out, ways_on
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import backfill_here, days, small_project
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

FOURTH = Request(forward_only=utc("2024-01-04"))
LOST = "prod would lose 2024-01-01..2024-01-03"
CAUSE = f"`start: 2024-01-04` (models/daily.sql:2) leaves out days of daily that are shown: {LOST}"
BACK = "put `start: 2024-01-01` in models/daily.sql:2"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """`daily`, and `running` that reads it, over ten days; nobody has to approve."""
    root = small_project(tmp_path)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    return promoted(root)


def edit(root: Path, old: str, new: str) -> None:
    model = root / "models" / "daily.sql"
    assert old in model.read_text()
    model.write_text(model.read_text().replace(old, new))


def begin_later(root: Path) -> None:
    edit(root, "start: 2024-01-01", "start: 2024-01-04")


def mended(root: Path, old: str, new: str) -> None:
    """Edit a bound as a remedy says: nothing would be lost."""
    edit(root, old, new)
    said = backfill_here("plan", project=root).out
    assert "would lose" not in said and "Then backfill promote shows daily, running" in said


def refused(root: Path, request: Request | None = None) -> dict[str, tuple[str, str]]:
    """Model → why it stays as it is, and what to do."""
    found = promote_plan(unsparked(root), request).verdict.obstacles
    return {o.model: (o.text, o.remedy) for o in found if "would lose" in o.what}


def test_its_cause_and_ways_on_are_said(shop: Path) -> None:
    """Before and after it is built, of the model and of one that reads it."""
    begin_later(shop)
    edit(shop, "sum(amount)", "sum(amount) + 1")
    said = backfill_here("plan", project=shop).out
    assert f"daily: {CAUSE}" in said and f"running: {CAUSE}" in said and "promote a range" not in said
    build(unsparked(shop))
    way = f"{BACK}; or leave these days as they are shown: backfill apply --forward-only 2024-01-04"
    assert refused(shop) == {name: (f"{name}: {CAUSE}", way) for name in ("daily", "running")}


def end_earlier(root: Path) -> None:
    edit(root, "start: 2024-01-01", "start: 2024-01-01\nend: 2024-01-08")


def test_an_earlier_end(shop: Path) -> None:
    """The same of its other side; the way on that is told works, and there is no other."""
    end_earlier(shop)
    edit(shop, "sum(amount)", "sum(amount) + 1")
    cause = "`end: 2024-01-08` (models/daily.sql:3) leaves out days of daily that are shown: prod would lose 2024-01-08"
    said = backfill_here("plan", project=shop).out
    assert f"daily: {cause}..2024-01-10" in said and f"running: {cause}" in said and "promote a range" not in said
    build(unsparked(shop))
    way = "put `end: 2024-01-11` in models/daily.sql:3, or take its `end:` out"
    seen = {name: (cause in text, remedy) for name, (text, remedy) in refused(shop).items()}
    assert seen == {"daily": (True, way), "running": (True, way)}
    mended(shop, "end: 2024-01-08", "end: 2024-01-11")


def test_both_bounds(shop: Path) -> None:
    """Each has its own days."""
    begin_later(shop)
    edit(shop, "start: 2024-01-04", "start: 2024-01-04\nend: 2024-01-08")
    edit(shop, "sum(amount)", "sum(amount) + 1")
    found = promote_plan(unsparked(shop)).verdict.obstacles
    lost = {(o.what.partition(" (")[0], str(o.intervals)) for o in found if o.model == "daily" and "lose" in o.what}
    assert lost == {("`start: 2024-01-04`", "2024-01-01..2024-01-03"), ("`end: 2024-01-08`", "2024-01-08..2024-01-10")}


def test_an_earlier_end_without_other_code(shop: Path) -> None:
    end_earlier(shop)
    [warning] = read_status(unsparked(shop)).left_out
    assert warning.what == "prod shows daily 2024-01-08..2024-01-10, after its `end: 2024-01-08`"
    assert warning.place == "models/daily.sql:3" and warning.fix.startswith("put `end: 2024-01-11` in")
    assert warning in plan_request(unsparked(shop)).warnings


def test_the_start_put_back(shop: Path) -> None:
    begin_later(shop)
    edit(shop, "sum(amount)", "sum(amount) + 1")
    assert LOST in backfill_here("plan", project=shop).out
    mended(shop, "start: 2024-01-04", "start: 2024-01-01")


def test_new_logic_from_that_day(shop: Path) -> None:
    """Older days stay as they are shown, and nothing warns of what is meant; a next change is told the same again."""
    begin_later(shop)
    edit(shop, "sum(amount)", "sum(amount) + 1")
    place = unsparked(shop)
    plan, _ = build(place, FOURTH)
    prove(place, plan.id)
    shown = promote_plan(unsparked(shop), FOURTH)
    assert shown.verdict.open, shown.verdict
    assert {str(p.covers) for p in shown.environment.pointers.values()} == {"2024-01-01..2024-01-10"}
    assert read_status(unsparked(shop)).left_out == ()
    assert not plan_request(unsparked(shop)).work
    edit(shop, "sum(amount) + 1", "sum(amount) + 2")
    build(unsparked(shop))
    assert CAUSE in refused(shop)["daily"][0]


def test_no_other_code(shop: Path) -> None:
    """A plan and a status warn: what is shown stays. A plan of other models does not."""
    assert read_status(unsparked(shop)).left_out == ()
    begin_later(shop)
    place = unsparked(shop)
    [warning] = [w for w in plan_request(place).warnings if "before" in w.what]
    assert warning.what == "prod shows daily 2024-01-01..2024-01-03, before its `start: 2024-01-04`"
    assert (warning.place, warning.fix.partition(";")[0]) == ("models/daily.sql:2", BACK)
    assert read_status(place).left_out == (warning,)
    assert read_status(place).to_json()["left_out"]
    assert warning.what in backfill_here("status", project=shop).out
    assert warning not in plan_request(place, Request(select=("running",))).warnings


def test_a_range_that_is_asked_for(shop: Path) -> None:
    """Days that only a request leaves out are told as ever, beside those of the start."""
    begin_later(shop)
    edit(shop, "sum(amount)", "sum(amount) + 1")
    found = promote_plan(unsparked(shop), Request(end=utc("2024-01-09"))).verdict.obstacles
    said = {(o.what, str(o.intervals)) for o in found if o.model == "daily" and "would lose" in o.what}
    assert ("prod would lose", "2024-01-09..2024-01-10") in said and len(said) == 2


def test_days_of_another_zone_are_no_later_start(shop: Path) -> None:
    """Their first day begins some hours later than that of UTC."""
    begin_later(shop)
    place = unsparked(shop)
    facts = place.facts()
    assert left_out(place.project, facts, "daily")
    by_other_days = replace(facts, shown=replace(facts.shown, zones={"daily": "America/New_York"}))
    assert left_out(place.project, by_other_days, "daily") == ()


def test_weeks_begin_later_than_a_start_in_their_middle(shop: Path) -> None:
    """Of a model that has weeks by now: its `start:` is what it was, and a whole week holds the first days."""
    place = unsparked(shop)
    facts, pointer = place.facts(), place.facts().environment.pointers["daily"]
    weekly = replace(place.project.models["daily"], cadence=Cadence.WEEKLY, start=utc("2024-01-03"))
    project = replace(place.project, models={**place.project.models, "daily": weekly})
    shown = replace(pointer, segments=pointer.segments.cut(Ranges((days("2024-01-03", "2024-01-10"),))))
    pointers = {**facts.environment.pointers, "daily": shown}
    facts = replace(facts, environment=replace(facts.environment, pointers=pointers))
    [found] = left_out(project, facts, "daily")
    assert str(found.days) == "2024-01-03..2024-01-07"
    assert ways_on(found, Request()) == (
        "put `start: 2024-01-01` in models/daily.sql:2; or leave these days as they are shown: "
        "backfill apply --forward-only 2024-01-08"
    )


def test_days_before_a_model_that_is_read_begins(tmp_path: Path) -> None:
    """A week is shown whole whose first days `daily` does not have: as days they cannot be computed. What leads out of
    that is said, instead of a range that would hold them."""
    root = small_project(tmp_path, days=14)
    begin_later(root)
    (root / "models" / "running.sql").unlink()
    (root / "models" / "weekly.sql").write_text(WEEKLY.format(cadence="weekly", time="date_trunc('WEEK', ds)"))
    promoted(root)
    (root / "models" / "weekly.sql").write_text(WEEKLY.format(cadence="daily", time="ds"))
    place = unsparked(root)
    build(place)
    told = {o.what: (str(o.intervals), o.remedy) for o in promote_plan(place).verdict.obstacles if "lose" in o.what}
    days_, remedy = told["daily begins at 2024-01-04, after days that are shown: prod would lose"]
    assert days_ == "2024-01-01..2024-01-03" and "another name" in remedy
    assert len(told) == 1


WEEKLY = """/*
start: 2024-01-01
owner: ana@example.com
cadence: {cadence}
time_column: wk
grain: [wk]
*/
SELECT CAST({time} AS DATE) AS wk, sum(total) AS total FROM daily WHERE ds >= :start AND ds < :end GROUP BY 1
"""
