"""What is not known before history is rewritten? Each thing is a finding, with its remedy; sheets say what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from backfill_assets.contracts.inventory import inventory
from backfill_assets.contracts.preflight import Gap, Grounds, preflight, rewritten_models
from backfill_assets.core.consumer import Consumer, ModelUse
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.model import Audit, Column, Model, Project, Rule, Terms
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import Settings
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.patch import Patch, RowScope
from backfill_assets.plan.stages import Build, ModelVersion, Plan, Promote, Request
from backfill_assets.state.environment import Environment
from backfill_assets_tests.fakes import NOW, a_model, a_pointer, a_project, days, ranges
from backfill_assets_tests.unit.contracts.test_impact import a_consumer

CHANGED = TableChange(category=Category.BREAKING, columns=("x",))
FRESH = date(2024, 1, 2)
TERMS = Terms(late_rows="up to 3 days", validation_owner="v@example.com")
UNIQUE = Audit(name="unique_grain", kind="unique_grain", arguments={"columns": ("ds", "id")})
GOOD: Model = a_model("a", "raw", owner="o@example.com", audits=(UNIQUE,), terms=TERMS)
SHOWN = Environment(name="prod", revision=1, pointers={"a": a_pointer("a", "a-0", days("01", "10"))}, releases={})
READER = a_consumer(owner="r@example.com", last_verified=FRESH, uses={"a": ModelUse(columns=("id",))})


def the_project(model: Model = GOOD, *consumers: Consumer, verified: date | None = FRESH) -> Project:
    columns = (Column(name="ds", type="date"), Column(name="id", type="bigint"))
    made = a_project(model)
    return replace(
        made, consumers={c.name: c for c in consumers}, consumers_verified=verified, columns={"a": columns},
        settings=replace(Settings(), warehouse="/w"),
    )  # fmt: skip


def the_plan(change: TableChange = CHANGED, patches: Mapping[str, Patch] | None = None) -> Plan:
    build = Build(
        model="a", version="a-1", intervals=ranges(days("01", "10")), count=10, batches=(), concurrency=1, reason=""
    )
    return Plan(
        environment="prod", now=NOW, request=Request(), models=("a",), blocked=(), kept={},
        stages=(build, Promote(environment="prod", models=(ModelVersion(model="a", version="a-1"),))),
        sources={"raw": {"commit": 7}}, changes={"a": change}, patches=patches or {},
    )  # fmt: skip


def look(project: Project, plan: Plan | None = None, grounds: Grounds | None = None) -> tuple[Gap, ...]:
    found = preflight(project, plan or the_plan(), grounds or Grounds(shown=SHOWN))
    assert all(f.remedy and "fix: " in str(f) for f in found), "every finding has its remedy"
    assert [f.blocking for f in found] == sorted((f.blocking for f in found), reverse=True)
    return found


def test_nothing_is_missing() -> None:
    """A model with owner, checked key, terms, and a list of consumers that was confirmed lately."""
    assert look(the_project(GOOD, READER)) == ()


LIST = "consumers.yml"
CASES: list[tuple[str, Project, str, str, bool]] = [
    ("owner", the_project(replace(GOOD, owner=""), READER), "a", "nobody owns it", True),
    ("grain", the_project(replace(GOOD, grain=()), READER), "a", "no grain", True),
    ("key", the_project(replace(GOOD, audits=(replace(UNIQUE, blocking=False),)), READER), "a", "not checked", True),
    ("accepting", the_project(replace(GOOD, terms=Terms(late_rows="x")), READER), "a", "accepts its", False),
    ("late rows", the_project(replace(GOOD, terms=replace(TERMS, late_rows="")), READER), "a", "late rows", False),
    ("empty list", the_project(GOOD, verified=None), LIST, "names nobody", True),
    ("empty list, confirmed long ago", the_project(GOOD, verified=date(2023, 1, 1)), LIST, "names nobody", True),
    ("list never confirmed", the_project(GOOD, READER, verified=None), LIST, "nobody is missing", False),
    ("stale", the_project(GOOD, replace(READER, last_verified=date(2023, 10, 1))), "board", "on 2023-10-01", True),
    ("never confirmed", the_project(GOOD, replace(READER, last_verified=None)), "board", "never confirmed", True),
    ("no owner of a consumer", the_project(GOOD, replace(READER, owner="")), "board", "nobody can be told", False),
    ("unknown column", the_project(GOOD, replace(READER, uses={"a": ModelUse(columns=("ID", "y"))})), "board", "a.y",
     True),
]  # fmt: skip


@pytest.mark.parametrize(("project", "subject", "words", "blocking"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_finding(project: Project, subject: str, words: str, blocking: bool) -> None:
    """Exactly this one is found; it blocks where published history would be rewritten without it."""
    [found] = look(project)
    assert found.subject == subject and words in found.what and found.blocking is blocking


@pytest.mark.parametrize(("project", "subject", "words", "blocking"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_only_history_is_protected(project: Project, subject: str, words: str, blocking: bool) -> None:
    """The same is found for a model that is new, or that only gains days, and blocks nothing there."""
    unchanged = look(project, the_plan(TableChange(category=Category.UNCHANGED)))
    new = look(
        project,
        the_plan(TableChange(category=Category.NEW)),
        Grounds(shown=Environment(name="prod", revision=0, pointers={}, releases={})),
    )
    for found in (unchanged, new):
        assert [(f.subject, f.blocking) for f in found] == [(subject, False)]


def test_an_empty_list_that_is_confirmed() -> None:
    """Somebody made sure that nobody reads: nothing is missing."""
    assert look(the_project(GOOD)) == ()


def test_no_way_back() -> None:
    """What is shown is gone: there is nothing to go back to. A plan that puts other rows in the place of all of it is
    the way on; one that leaves a part of it is not."""
    lost = Grounds(shown=SHOWN, gone=frozenset({("a", "a-0")}))
    again = "backfill apply --restate a:2024-01-01..2024-01-10"

    def patched(first: str, last: str, scope: RowScope | None = None) -> Plan:
        return the_plan(patches={"a": Patch(version="a-0.1", intervals=ranges(days(first, last)), scope=scope)})

    forward = replace(the_plan(), request=Request(forward_only=utc("2024-01-08")))
    some_rows = patched("01", "10", RowScope(where="x = 1", columns=("x",)))
    for plan, leaves in (
        (the_plan(), False), (patched("01", "10"), False), (patched("03", "04"), True), (some_rows, True),
        (forward, True),
    ):  # fmt: skip
        [found] = look(the_project(GOOD, READER), plan, lost)
        assert "a-0" in found.what and found.blocking is leaves and (again in found.remedy) is leaves


def test_sources_that_do_not_reach() -> None:
    """Days that a source has no rows for are named; a source of which nobody can tell is not held against the plan."""
    extents = {"raw": Interval(utc("2024-01-03"), utc("2024-01-09"))}
    [found] = look(the_project(GOOD, READER), grounds=Grounds(shown=SHOWN, extents=extents))
    assert "raw has no rows for 2024-01-01..2024-01-02, 2024-01-09..2024-01-10" in found.what and not found.blocking


def test_what_is_history() -> None:
    """Published rows of a changed model, of a restated one, and of older logic that is built again."""
    unchanged = TableChange(category=Category.UNCHANGED)
    patch = {"a": Patch(version="a-1.r", intervals=ranges(days("02")))}
    assert rewritten_models(the_plan(), SHOWN) == {"a"}
    assert rewritten_models(the_plan(unchanged), SHOWN) == frozenset()
    assert rewritten_models(the_plan(unchanged, patch), SHOWN) == {"a"}
    older = Pointer(
        model="a", time_column="ds", timestamps=False, columns=(),
        segments=(
            Segment(version="a-0", commit=1, interval=days("01", "04")),
            Segment(version="a-1", commit=1, interval=days("05", "10")),
        ),
    )  # fmt: skip
    assert rewritten_models(the_plan(unchanged), replace(SHOWN, pointers={"a": older})) == {"a"}


def test_a_sheet() -> None:
    """Every topic of a migration's inventory, from the header, the plan, the log and what is shown."""
    model = replace(
        GOOD,
        path=Path("a.sql"),
        columns=(Column(name="ds", description="UTC day of the click."),),
        terms=replace(
            TERMS,
            deletes="a deleted order comes with amount 0",
            semantics={"ds": "UTC day of the click"},
            rules=(Rule(text="last click", until=utc("2024-01-05")), Rule(text="any click", since=utc("2024-01-05"))),
        ),
        audits=(UNIQUE, Audit(name="n", kind="completeness", blocking=False)),
    )
    grounds = Grounds(shown=SHOWN, extents={"raw": Interval(utc("2024-01-01"), utc("2024-01-09"))})
    [sheet] = inventory(the_project(model, READER), the_plan(), grounds)
    assert sheet.to_json() == {
        "model": "a",
        "target": "prod.a, from /w/a/a-1",
        "window": "2024-01-01..2024-01-10",
        "grain and key": "ds, id",
        "sources": "raw (commit 7; has 2024-01-01..2024-01-08, lacks 2024-01-09..2024-01-10)",
        "transformation": "version a-1 (breaking: x may differ)",
        "deletes": "a deleted order comes with amount 0",
        "late rows": "up to 3 days",
        "timestamps": "ds: UTC day of the click",
        "rules": "before 2024-01-05: last click; from 2024-01-05: any click",
        "acceptance": "unique_grain (columns ds, id); warns: completeness",
        "downstream": "consumers board",
        "backfill owner": "o@example.com",
        "validation owner": "v@example.com",
        "rollback": "its pointer as it is now: a-0 at commit 1",
    }


def test_a_sheet_that_nobody_filled_in() -> None:
    """What is not said is asked for: each line says what to add."""
    [sheet] = inventory(the_project(a_model("a")), the_plan(), Grounds(shown=SHOWN, gone=frozenset({("a", "a-0")})))
    missing = {line.topic: line.ask for line in sheet.lines if line.missing}
    assert set(missing) == {"late rows", "timestamps", "backfill owner", "validation owner", "rollback"}
    assert all(missing.values())
    assert not any(line.missing for line in sheet.lines if line.topic == "deletes"), "what always happens is said"
