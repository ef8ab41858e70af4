"""Which rows of restated days are computed again, which readers follow by rows, and what is refused?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.model import Column, SortColumn
from backfill_assets.plan.commands import apply_command
from backfill_assets.plan.ids import parse_ids
from backfill_assets.plan.patch import RowScope
from backfill_assets.plan.scope_text import scope_text, scope_words
from backfill_assets.plan.stages import Build, Plan, Request
from backfill_assets.plan.stale_inputs import stale_inputs
from backfill_assets.promote.lifecycle import store_plan
from backfill_assets.promote.pointers import patched
from backfill_assets.promote.release import Released
from backfill_assets.state.ledger import Entry, Kind, by_version
from backfill_assets_tests.fakes import NOW, World, a_model, days

KEY = ("ds", "region", "shop")
SALES = a_model("sales", "raw", grain=KEY, owner="ana")
PASSING = a_model(
    "passing", "sales", grain=("ds", "area"),
    code="SELECT ds, region AS area, sum(total) FROM sales GROUP BY ds, region",
)  # fmt: skip
FURTHER = a_model("further", "passing", grain=("ds", "area"), code="SELECT * FROM passing")
SUMS = a_model("sums", "sales", grain=("ds",), code="SELECT ds, sum(total) FROM sales GROUP BY ds")
COLUMNS = {"sales": (*KEY, "total"), "passing": ("ds", "area", "total"), "further": ("ds", "area", "total")}
DAY = days("03", "04")
GERMANY = "region = 'de'"


def asked(where: str = GERMANY, model: str = "sales", day: Interval = DAY) -> Request:
    return Request(restate=((model, day),), where=where)


def a_world(*models: Any) -> World:
    """Ten days of these, shown."""
    world = World(*models)
    world.engine.columns = tuple((name, "string") for name in ("ds", "region", "shop", "area", "total"))
    named = {m.name: COLUMNS.get(m.name, m.grain) for m in models}
    columns = {name: tuple(Column(name=c) for c in of) for name, of in named.items()}
    world.project = replace(world.project, columns=columns)
    apply(world.bench(), world.plan())
    assert world.release(required=False).moved
    return world


def build(world: World, plan: Plan, run: str = "again", **pins: int) -> list[Entry]:
    """Carry it out; what the ledger says of what was built."""
    read = {name: {"commit": pins.get(name, 1)} for name in world.project.sources}
    outcomes = apply(world.bench(run, patches=plan.patches, pins=read), plan)
    assert all(o.ok for o in outcomes.values()), outcomes
    return [e for e in world.control.ledger.entries() if e.kind is Kind.BUILT and e.run == run]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", "'de'"),
        (None, "'de'"),
        ("int", "42"),
        ("decimal(9,2)", "42"),
        ("date", "DATE '2024-03-01'"),
        ("boolean", "true"),
    ],
)
def test_the_example_of_a_condition_is_of_the_columns_type(kind: str | None, value: str) -> None:
    """It names a column of the key that may be named: not the day, and none that is masked."""
    world = a_world(replace(SALES, grain=("shop", "region", "ds"), mask=("Region",)))
    columns = tuple(Column(name=c, type=kind if c == "shop" else "string") for c in COLUMNS["sales"])
    world.project = replace(world.project, columns={"sales": columns})
    with pytest.raises(UsageError) as refused:
        world.plan(asked("sum(total) > 1"))
    assert refused.value.fix.endswith(f'such as --where "shop = {value}"')


def test_readers_follow_by_rows_or_whole() -> None:
    """By the columns that go through; else whole, with the reason. Other rows, other revisions, other plans."""
    world = a_world(SALES, PASSING, FURTHER, SUMS)
    plan = world.plan(asked())
    assert plan.patches["sales"].scope == RowScope(where=GERMANY, columns=("region",))
    assert plan.patches["passing"].scope == RowScope(where="`area` = 'de'", columns=("area",))
    assert plan.patches["further"].scope == plan.patches["passing"].scope
    assert (plan.patches["sums"].scope, plan.patches["sums"].whole) == (
        None,
        "it adds up rows of several values of region",
    )
    assert len(scope_words(plan)) == 4 and GERMANY in scope_words(plan)[0]
    [first, *_] = [s for s in plan.stages if isinstance(s, Build)]
    assert first.reason == f"computed again, as asked, where {GERMANY}"
    plans = [
        plan,
        world.plan(asked("region = 'fr'")),
        world.plan(asked("shop = 1")),
        world.plan(replace(asked(), where="")),
    ]
    for name in ("sales", "passing", "sums"):
        assert len({p.patches[name].version for p in plans}) == len(plans)
    assert len({p.id for p in plans}) == len(plans) and world.plan(asked()).id == plan.id
    assert apply_command(plan.request).endswith("""--where 'region = '"'"'de'"'"''""")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"language": "python"}, "nobody can tell which rows a Python function puts together"),
        ({"grain": ("ds",)}, "area is no part of its key"),
        ({"mask": ("Area",)}, "area is masked"),
        ({"code": "SELECT ds, upper(region) AS area FROM sales"}, "its rows do not have region as it is"),
        (
            {"code": "SELECT ds, region AS area FROM sales UNION ALL SELECT ds, 'x' FROM other"},
            "is not a plain subquery",
        ),
    ],
)
def test_in_doubt_a_reader_is_computed_whole(change: dict[str, Any], why: str) -> None:
    world = a_world(SALES, replace(PASSING, **change), FURTHER)
    patches = world.plan(asked()).patches
    assert patches["passing"].scope is None and why in patches["passing"].whole
    assert patches["further"].scope is None and patches["further"].whole == "passing is computed again whole"


def test_keys_of_a_file() -> None:
    """They go the way of a condition: frozen in the plan, whatever the file is called, under other names in readers."""
    world = a_world(SALES, PASSING, FURTHER, SUMS)
    keys = parse_ids("Region\nfr\nde\n", "/exports/ids.csv")
    request = replace(asked(""), ids=keys)
    plan = world.plan(request)
    named = f"region in ids.csv (2 keys: de, fr; {keys.digest[:8]})"
    assert plan.patches["sales"].scope == RowScope(where=named, columns=("region",), ids=keys.digest)
    assert plan.patches["further"].scope == RowScope(
        where=named.replace("region", "area"), columns=("area",), ids=keys.digest
    )
    assert plan.patches["sums"].whole == "it adds up rows of several values of region"
    assert any(named in said for said in scope_words(plan))
    assert apply_command(plan.request).endswith("--ids /exports/ids.csv")
    assert plan.request.decided()["ids"] == keys.digest, "not a hundred thousand keys a hash"
    others = [
        plan,
        world.plan(replace(request, ids=parse_ids("region\nde\n", "ids.csv"))),
        world.plan(replace(request, ids=parse_ids("ds,region\n2024-01-03,de\n", "ids.csv"))),
        world.plan(asked()),
    ]
    for name in ("sales", "sums"):
        assert len({p.patches[name].version for p in others}) == len(others)
    moved = world.plan(replace(request, ids=parse_ids("region\nde\nfr\n", "moved.csv")))
    assert moved.request == plan.request and moved.patches["sales"].version == plan.patches["sales"].version
    assert moved.id == plan.id, "the same request, and nothing else is to be done"
    assert len({p.id for p in others}) == len(others)
    jobs: dict[str, Job] = {}
    world.engine.before_write = lambda job, _: jobs.setdefault(job.model.name, job)
    outcomes = apply(world.bench("again", patches=plan.patches, ids=keys), plan)
    assert all(o.ok for o in outcomes.values()), outcomes
    assert [jobs[name].ids for name in ("sales", "passing", "sums")] == [keys, keys, None]
    entries = [e for e in world.control.ledger.entries() if e.kind is Kind.BUILT and e.origin]
    assert {e.origin.scope for e in entries if e.origin} == {named, named.replace("region", "area")}


def test_keys_that_are_none_of_the_models() -> None:
    world = a_world(replace(SALES, mask=("Shop",)), PASSING)
    for text, why in [
        ("total\n1\n", "total is no part of its key: sales"),
        ("17\n18\n", "17 is no column of it: sales"),
        ("shop\n1\n", "shop of sales is masked"),
        ("region;ds\nde;2024-01-03\n", "region;ds is no column of it"),
    ]:
        with pytest.raises(UsageError, match=r"ids\.csv line 1") as found:
            world.plan(replace(asked(""), ids=parse_ids(text, "ids.csv")))
        assert why in str(found.value)


def test_two_restated_upstreams() -> None:
    """Rows of another upstream may reach any row: the reader is computed whole."""
    other = a_model("other_sales", "raw", grain=KEY)
    both = replace(PASSING, upstreams=(*PASSING.upstreams, *a_model("x", "other_sales").upstreams))
    both = replace(both, code="SELECT s.ds, s.region AS area FROM sales s LEFT JOIN other_sales o ON o.ds = s.ds")
    world = a_world(SALES, other, both)
    assert world.plan(asked()).patches["passing"].scope is not None, "other_sales stays what it is"
    plan = world.plan(Request(restate=(("sales", DAY), ("other_sales", DAY)), where=GERMANY))
    assert plan.patches["passing"].whole == "it reads other_sales as well, of which rows are computed again"


def test_a_column_beside_the_key() -> None:
    """Keys decide, and what reads the model is computed whole; where a key may be on any day it is refused."""
    world = a_world(SALES, PASSING)
    patches = world.plan(asked("total > 10")).patches
    assert patches["sales"].scope == RowScope(where="total > 10", columns=("total",), by_key=True)
    assert patches["passing"].whole == "rows of sales may have other values of total than before"
    world = a_world(replace(SALES, grain=("region", "shop")))
    assert world.plan(asked()).patches["sales"].scope == RowScope(where=GERMANY, columns=("region",))
    with pytest.raises(UsageError) as refused:
        world.plan(asked("total > 10"))
    assert "would be lost" in refused.value.why
    world = a_world(replace(SALES, dedupe=(SortColumn(column="total", descending=True),)))
    with pytest.raises(UsageError) as refused:
        world.plan(asked("total > 10"))
    assert "only the latest stays" in refused.value.why


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("country = 'de'", "it has no column country"),
        ("region = ", "not valid SQL"),
        ("region = 'de'\n-- all", "in one line"),
        ("region IN (SELECT region FROM other)", "subqueries"),
        ("sum(shop) > 1", "aggregates"),
        ("ds = current_date()", "depends on when the batch runs"),
        ("mine(region)", "is not known"),
        ("true", "names no column"),
        ("region = 'de' AND to_json(struct(*)) LIKE '%x%'", "name them"),
        ("region = 'de' AND hash(*) % 2 = 0", "name them"),
        ("explode(array(region)) = 'de'", "several rows of one"),
        ("region = 'de'; DELETE FROM sales", "not one SQL expression"),
    ],
)
def test_what_is_no_scope(where: str, why: str) -> None:
    world = a_world(SALES)
    with pytest.raises(UsageError) as refused:
        world.plan(asked(where))
    assert why in refused.value.why + refused.value.fix


def test_a_model_that_is_named_is_not_computed_whole() -> None:
    """It follows what it reads, or is restated whole: a condition that is asked of it counts."""
    passing = replace(PASSING, code="SELECT ds, region, sum(total) FROM sales GROUP BY ds, region")
    passing = replace(passing, grain=("ds", "region"))
    both = Request(restate=(("sales", DAY), ("passing", DAY)), where=GERMANY)
    world = a_world(SALES, passing)
    world.project = replace(world.project, columns={**world.project.columns, "passing": ()})
    assert world.plan(both).patches["passing"].scope == RowScope(where=GERMANY, columns=("region",))
    world = a_world(SALES, replace(passing, language="python"))
    world.project = replace(world.project, columns={**world.project.columns, "passing": ()})
    assert world.plan(asked()).patches["passing"].whole
    with pytest.raises(PlanError, match="cannot be restated in a part of its rows") as refused:
        world.plan(both)
    assert "leave passing out" in refused.value.fix


def test_masked_values_are_not_quoted() -> None:
    world = a_world(replace(SALES, mask=("Shop",)))
    with pytest.raises(UsageError, match="is no scope") as refused:
        world.plan(asked("shop = 7"))
    assert "masked" in refused.value.why


def test_rows_that_cannot_be_copied() -> None:
    """Of the model that is named that is said; what reads it is computed whole."""
    world = a_world(SALES, PASSING)
    world.tables.foreign("passing", "passing-1")
    patches = world.plan(asked()).patches
    assert patches["sales"].scope and "was written to by others since" in patches["passing"].whole
    world.tables.foreign("sales", "sales-1")
    with pytest.raises(PlanError, match="sales cannot be restated in a part of its rows") as refused:
        world.plan(asked())
    assert "written to by others" in refused.value.what
    assert refused.value.fix == "restate these days of sales whole, without --where"


def test_the_other_rows_stay_as_old_as_they_are() -> None:
    """The ledger says of the days what the copied rows were read from, so that late data is noticed as before; of what
    is restated with it, what was read now."""
    world = a_world(SALES, PASSING)
    before = {e.interval: e for e in world.control.ledger.entries(["sales"]) if e.kind is Kind.BUILT}
    plan = world.plan(asked())
    entries = build(world, plan, raw=9)
    sales = [e for e in entries if e.model == "sales"]
    assert [(e.interval, e.inputs) for e in sales] == [
        (days("03"), {"raw": {"commit": 1}}), (days("04"), {"raw": {"commit": 1}}),
    ]  # fmt: skip
    assert [e.origin and e.origin.batch for e in sales] == [
        before[days("01", "03")].batch,
        before[days("04", "06")].batch,
    ]
    assert all(e.origin and e.origin.scope == GERMANY and e.computed_by.batch == e.batch for e in sales)
    assert all(e.origin and e.origin.read == {"raw": {"commit": 9}} for e in sales)
    (passing,) = [e.inputs for e in entries if e.model == "passing" and e.interval == days("03")]
    assert plan.patches["sales"].version in str(passing)
    assert sum(e.rows for e in sales) == 20


def promoted(world: World, plan: Plan) -> Released:
    """What comes of it when it is opened and compared; approvals are off."""
    opened = store_plan(world.control, plan, by="ana", views=lambda: None, code=world.project.fingerprints)
    assert opened
    world.prove(opened.plan.id)
    return world.release(plan=opened.plan.id, required=False)


def test_a_correction_that_came_between_is_not_undone() -> None:
    """A plan in a scope copied the other rows of its days: it is refused once others are shown of them."""
    world = a_world(SALES)
    plan, between = world.plan(asked()), world.plan(asked("region = 'fr'", day=days("04")))
    build(world, plan)
    build(world, between, "between")
    assert promoted(world, between).moved
    refused = promoted(world, plan)
    assert not refused.moved
    (obstacle,) = [o for o in refused.verdict.obstacles if "in some of its rows" in o.what]
    assert str(obstacle.intervals) == "2024-01-04" and "--where" in obstacle.remedy
    again = world.plan(asked())
    build(world, again, "over both")
    assert promoted(world, again).moved


def test_rows_beside_others_than_they_were_computed_from_are_not_copied() -> None:
    """The ledger would say of them that they were computed from what is restated, and nobody would notice any more."""

    def stale() -> list[str]:
        entries = by_version(world.control.ledger.entries())
        return [s.model for s in stale_inputs(world.project, world.control.environments.read("prod"), entries)]

    world = a_world(SALES, PASSING)
    whole = world.plan(replace(asked(), where=""))
    build(world, whole, "routine")
    facts = world.facts()
    alone = patched(world.project, facts, world.control.versions.all(), "sales", whole.patches["sales"])
    world.control.environments.flip(facts.environment, [alone], release="alone", at=NOW)
    assert stale() == ["passing"]
    with pytest.raises(PlanError) as refused:
        world.plan(asked("area = 'de'", "passing"))
    assert "from other rows of what it reads" in refused.value.what
    plan = world.plan(asked())
    assert plan.patches["sales"].scope and "from other rows of what it reads" in plan.patches["passing"].whole
    build(world, plan, "scoped")
    assert promoted(world, plan).moved and not stale()


@pytest.mark.parametrize("where", [GERMANY, ""])
def test_a_correction_in_a_scope_is_not_undone_by_older_rows(where: str) -> None:
    """A day has the age of its newest rows where others would come over it: new code read the source before."""
    world = a_world(SALES)
    old, world.project = world.project, replace(world.project, fingerprints={"sales": "sales-2"})
    world.rows_come(days("03"))
    new = world.project
    waiting = world.plan()
    apply(world.bench("v2", pins={"raw": {"commit": 2}}), waiting)
    world.rows_come(days("03"))
    world.project = old
    plan = world.plan(replace(asked(day=days("03")), where=where))
    build(world, plan, raw=3)
    assert promoted(world, plan).moved
    world.project = new
    refused = promoted(world, world.plan())
    assert not refused.moved
    assert [str(o.intervals) for o in refused.verdict.obstacles if "older rows of source raw" in o.what] == [
        "2024-01-03"
    ]


@pytest.mark.parametrize("day", [days("03"), days("05")])
def test_scopes_follow_each_other(day: Interval) -> None:
    """Rows that are copied as they are shown are no older ones, whatever the rows beside them were computed from."""
    world = a_world(SALES)
    for number, region in enumerate(("de", "fr"), 2):
        world.rows_come(days("03"))
        plan = world.plan(asked(f"region = '{region}'", day=days("03") if region == "de" else day))
        build(world, plan, region, raw=number)
        done = promoted(world, plan)
        assert done.moved, done.verdict.obstacles


def test_how_it_is_said() -> None:
    """A row that moved by its key alone is not found in its new place; by keys it is."""
    scope = RowScope(where=GERMANY, columns=("region",))
    assert "a row whose region itself was corrected leaves the old value" in scope_text(scope)
    assert "only rows with region = 'de' are" in scope_text(scope)
    by_key = scope_text(replace(scope, by_key=True))
    assert "only rows whose key has region = 'de', before or after, are" in by_key and "corrected" not in by_key
