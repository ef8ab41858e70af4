"""Who is waited for? What open plans lack, told to whoever may give it, and to nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.approve import ApprovalRequest, approve
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.app.waiting import read_waiting
from backfill_assets.cli.waiting import print_waiting, waiting_json
from backfill_assets.core.errors import PlanError
from backfill_assets.plan.request_parsing import request_of
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, promoted, prove, unsparked

ANA, VERA, CFO = "ana@example.com", "vera@example.com", "cfo@example.com"
READERS = """
last_verified: 2024-01-03
consumers:
  - {name: cfo_weekly_export, kind: export, owner: cfo@example.com, criticality: high, reads: [daily], notice: 7 days}
  - {name: notebook, kind: notebook, owner: eve@example.com, criticality: low, reads: [daily]}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Ana's models are shown; vera validates `daily`, and the cfo's export of high criticality reads it."""
    root = small_project(tmp_path, days=2)
    settings = root / "backfill.yml"
    people = {name: {"accounts": [name.partition("@")[0]]} for name in (ANA, VERA, CFO, "dev@example.com")}
    said = json.loads(settings.read_text()) | {"approvals": {"consumers": "high"}, "people": people}
    settings.write_text(json.dumps(said))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("grain:", f"contract: {{validation_owner: {VERA}}}\ngrain:", 1))
    (root / "consumers.yml").write_text(READERS)
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    return root


def changed(root: Path) -> Context:
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    return unsparked(root, user="dev")


def applied(root: Path) -> tuple[Context, str]:
    place = changed(root)
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    return place, plan


def obstacles(place: Context) -> list[str]:
    return [o.what.partition(" of ")[0] for o in promote_plan(place).verdict.obstacles]


def test_nobody_approves_what_was_not_compared(shop: Path) -> None:
    """An approval is of what the comparison finds and of who reads the rows: where a reader came since, it says which
    command compares again, before anybody approves in vain."""
    place, plan = applied(shop)
    consumers = shop / "consumers.yml"
    consumers.write_text(consumers.read_text() + "  - {name: board, owner: eve@example.com, reads: [daily]}\n")
    place = replace(unsparked(shop, user="dev"), acting="ana")
    with pytest.raises(PlanError, match="cannot be approved yet") as refused:
        approve(place, ApprovalRequest(plan=plan))
    assert "not compared" in refused.value.why and refused.value.fix == "backfill apply, which compares them"
    assert not place.control.approvals.of([plan])
    prove(place, plan)
    assert len(approve(place, ApprovalRequest(plan=plan)).approvals) == 1


def test_all_of_them_sign_off(shop: Path) -> None:
    """The owner alone opens nothing, nor does who validates; the gate says as what each is asked."""
    place, plan = applied(shop)
    assert sorted(obstacles(place)) == [
        f"needs approval by {ANA}",
        f"needs approval by {CFO} (owner",
        f"needs approval by {VERA} (validation owner)",
    ]
    for account in ("ana", "vera"):
        approve(replace(place, acting=account), ApprovalRequest(plan=plan))
    assert obstacles(place) == [f"needs approval by {CFO} (owner"]
    assert "(owner of consumer cfo_weekly_export)" in promote_plan(place).verdict.obstacles[0].what
    approve(replace(place, acting="cfo"), ApprovalRequest(plan=plan))
    assert promote_plan(place).verdict.open


def test_whom_only_the_files_name_is_asked(shop: Path) -> None:
    """Of a consumer that came since; by the same edit `approvals.consumers: none` is not in force."""
    growth = "  - {name: agent, kind: agent, owner: growth@example.com, criticality: high, reads: [daily]}\n"
    (shop / "consumers.yml").write_text(READERS + growth)
    settings = shop / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"consumers": "none"}}))
    place, plan = applied(shop)
    for account in ("ana", "vera", "cfo"):
        approve(replace(place, acting=account), ApprovalRequest(plan=plan))
    [left] = promote_plan(place).verdict.obstacles
    assert "growth@example.com (owner of consumer agent)" in left.what


def test_edited_files_take_nobody_out(shop: Path) -> None:
    """The header names the author, consumers.yml nobody, backfill.yml asks no consumers: those in force are asked."""
    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace(VERA, "dev@example.com"))
    (shop / "consumers.yml").write_text("last_verified: 2024-01-03\nconsumers: []\n")
    place, plan = applied(shop)
    asked = " ".join(o.what for o in promote_plan(place).verdict.obstacles)
    assert f"{VERA} (validation owner)" in asked and "dev@example.com (validation owner)" in asked
    assert f"{CFO} (owner of consumer cfo_weekly_export)" in asked
    notes = " ".join(place.rules().notes)
    assert f"daily says validation_owner: dev@example.com; in force: {VERA}" in notes
    assert f"consumers.yml: approval for cfo_weekly_export by nobody; in force: {CFO} about daily" in notes
    daily.write_text(daily.read_text().replace("dev@example.com", VERA))
    (shop / "consumers.yml").write_text(READERS)
    place = unsparked(shop, user="dev")
    prove(place, plan)  # its readers are asked again
    for account in ("ana", "vera", "cfo"):
        approve(replace(place, acting=account), ApprovalRequest(plan=plan))
    assert promote_plan(place).verdict.open


def test_each_sees_what_waits_for_them(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a name or an account; with the notice to whoever owns a consumer. The author waits for others."""
    place, plan = applied(shop)
    [mine] = read_waiting(place, "vera").plans
    assert [(one.owner, one.roles, list(one.parts)) for one in mine.lacking] == [
        (VERA, ("validation owner",), ["daily"])
    ]
    assert mine.built and mine.notices == ()
    print_waiting(read_waiting(place, CFO), CFO)
    said = capsys.readouterr().out
    assert f"needs approval by {CFO} (owner of consumer cfo_weekly_export) of daily 2024-01-01..2024-01-02" in said
    assert f"backfill approve {plan} --for {CFO}" in said
    assert "notice: cfo_weekly_export" in said and "7 days' notice end" in said
    [told] = read_waiting(place, "eve@example.com").plans
    assert told.lacking == () and [n.consumer.name for n in told.notices] == ["notebook"]
    assert read_waiting(place, "dev").plans == () == read_waiting(place, "zoe").plans
    [everybody] = waiting_json(read_waiting(place))["plans"]  # type: ignore[misc]
    assert [one["owner"] for one in everybody["lacking"]] == [ANA, VERA, CFO]
    approve(replace(place, acting="vera"), ApprovalRequest(plan=plan))
    assert read_waiting(place, VERA).plans == ()
    print_waiting(read_waiting(place, VERA), VERA)
    assert f"Nothing waits for {VERA}." in capsys.readouterr().out


def test_before_it_is_built(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan that was begun names whom it will ask, and that they cannot answer yet."""
    from backfill_assets.app.candidate import open_plan
    from backfill_assets.app.plan import plan_request

    place = changed(shop)
    assert open_plan(place, plan_request(place)) is not None
    [waiting] = read_waiting(place, VERA).plans
    assert not waiting.built and waiting.lacking[0].text == f"needs approval by {VERA} (validation owner) of daily"
    print_waiting(read_waiting(place, VERA), VERA)
    assert "not all of it is built yet" in capsys.readouterr().out


def test_a_change_of_the_rules_waits_for_them_too(shop: Path) -> None:
    from backfill_assets.app.rules import propose_rules

    daily = shop / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace(VERA, "dev@example.com"))
    place = unsparked(shop, user="dev")
    propose_rules(place, reason="vera left")
    assert [list(c.missing) for c in read_waiting(place, "vera").changes] == [[VERA]]
    assert read_waiting(place, "ana").changes == ()


def test_a_change_waits_for_any_other_account_where_the_rules_name_none(tmp_path: Path) -> None:
    """No `people` yet: whoever did not propose the change may approve it, and sees that, by account and by name."""
    from backfill_assets.app.rules import propose_rules

    root = promoted(small_project(tmp_path, days=2))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("ana@example.com", "eve@example.com"))
    change = propose_rules(unsparked(root, user="ben"), reason="ana left")
    assert set(change.missing) == {"ana@example.com", "eve@example.com"}
    for name in ("ana", "ana@example.com", "eve", "zoe"):
        assert [c.record.id for c in read_waiting(unsparked(root), name).changes] == [change.record.id]
    assert read_waiting(unsparked(root), "ben").changes == ()
    given = approve(unsparked(root, user="ana"), ApprovalRequest(plan=change.record.id))
    assert given.change is not None and given.change.took_effect


def test_a_plan_that_cannot_be_made_again(tmp_path: Path) -> None:
    """What it restates is out of sight by now: other plans are told all the same."""
    root = small_project(tmp_path, days=2)
    for request in (Request(select=("daily",)), Request()):
        place = unsparked(root, user="dev")
        build(place, request)
        assert promote_plan(place, request).verdict.open
    build(unsparked(root, user="dev"), request_of(restate=["running:2024-01-01"]))
    assert roll_back(unsparked(root, user="dev"), None).ended.moved
    place = changed(root)
    build(place, Request(select=("daily",)))
    assert sum(r.live for r in place.control.plans.all()) == 2
    [waiting] = read_waiting(place, ANA).plans
    assert list(waiting.plan.versions) == ["daily"]
