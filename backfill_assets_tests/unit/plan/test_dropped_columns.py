"""When does a dropped column leave the view only? When nothing else differs, and its version can go on by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Audit, Column, ColumnRef, Project, Signature
from backfill_assets.plan.category import Category
from backfill_assets.plan.dropped_columns import hidden_columns, with_hidden_columns, with_stored_definitions
from backfill_assets.plan.facts import Facts, Shown, Tables
from backfill_assets.plan.leases import claim
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Approve, Promote, Request
from backfill_assets.project.algorithm import ALGORITHM
from backfill_assets.project.stored import to_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.plans import PlanRecord, PlanStatus
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, a_model, a_pointer, a_project, days, ranges

A, B = a_model("a", "raw"), a_model("b", "a")
NAMES = ("ds", "id", "n", "m")
READS = {"n": frozenset({ColumnRef(table="raw", column="x")}), "m": frozenset({ColumnRef(table="raw", column="y")})}
COLUMNS = tuple((name, "bigint") for name in NAMES)
SHOWN = Environment(
    name="prod",
    revision=1,
    pointers={"a": replace(a_pointer("a", "a-old", days("01", "10")), columns=COLUMNS)},
    releases={},
)


def signed(*columns: str, rows: str = "r", **other: str) -> Signature:
    return Signature(rows=rows, columns={c: other.get(c, c) for c in columns}, column_reads=READS)


def record(**definition: Any) -> Version:
    stored = to_definition(replace(A, code="SELECT all")) | {"algorithm": ALGORITHM} | definition
    return Version(
        model="a",
        version="a-old",
        upstream={},
        columns=COLUMNS,
        definition=stored,
        signature=signed(*NAMES),
        created=NOW,
    )


def project(own: Signature, *source: str) -> Project:
    """Models a and b whose code says this of a; `source`: the columns that its source declares."""
    made = a_project(replace(A, code="SELECT fewer", audits=(Audit(name="new", kind="completeness"),)), B)
    raw = replace(made.sources["raw"], columns=tuple(Column(name=c) for c in source))
    return replace(made, signatures={"a": own}, sources={"raw": raw})


def held(own: Signature, *source: str, version: Version | None = None) -> Project:
    return with_hidden_columns(project(own, *source), SHOWN, {("a", "a-old"): version or record()})


def test_a_column_less_keeps_the_version() -> None:
    """Its definition computes what comes; what the code says of audits counts."""
    found = held(signed("ds", "id", "n"))
    assert found.fingerprints["a"] == "a-old" and dict(found.hidden) == {"a": ("m",)}
    model = with_stored_definitions(found, {("a", "a-old"): record()}).models["a"]
    assert (model.code, [a.name for a in model.audits]) == ("SELECT all", ["new"])
    assert found.models["a"].code == "SELECT fewer"


def test_what_the_code_says_of_its_rows_counts() -> None:
    """The grain that they are held against, which is no part of the version, and what nobody should see of them."""
    made = held(signed("ds", "id", "n"))
    code = replace(made.models["a"], grain=("ds", "id", "n"), mask=("n",), settle=60.0)
    made = replace(made, models={**made.models, "a": code})
    model = with_stored_definitions(made, {("a", "a-old"): record(mask=["m"])}).models["a"]
    assert (model.code, model.grain, model.mask, model.settle) == ("SELECT all", ("ds", "id", "n"), ("m", "n"), 60.0)


@pytest.mark.parametrize(
    "own",
    [
        signed("ds", "id", "n", rows="other"),
        signed("ds", "id", "n", n="other"),
        signed("ds", "id", "n", "more"),
        signed(*NAMES),
        Signature(rows="", columns={}),
    ],
    ids=["rows", "a kept column", "another column", "none less", "unknown"],
)
def test_anything_else_is_a_version_of_its_own(own: Signature) -> None:
    """Nothing is hidden."""
    assert held(own) == project(own)


def test_what_it_reads_has_to_be_there() -> None:
    """A source that lost the column as well could not be read by the version's definition."""
    own = signed("ds", "id", "n")
    assert held(own, "x", "y").hidden and not held(own, "x").hidden


def test_the_definition_has_to_be_executable() -> None:
    """Helper modules may be others now, and an older release signed by other rules."""
    own = signed("ds", "id", "n")
    assert not held(own, version=record(helpers=["helper"])).hidden
    assert not held(own, version=record(algorithm=ALGORITHM - 1)).hidden


ONLY_A = Request(select=("a",))


def planned(*columns: str, shown: Environment = SHOWN, request: Request = ONLY_A) -> Any:
    found = with_hidden_columns(project(signed(*columns)), shown, {("a", "a-old"): record()})
    if columns == NAMES:
        found = replace(found, fingerprints={**found.fingerprints, "a": "a-old"})
    facts = Facts(
        now=NOW,
        environment=shown,
        tables=Tables(
            coverage={"a": Coverage(green=ranges(days("01", "10"))), "b": Coverage()},
            heads={"a": 1, "b": -1},
        ),
        shown=Shown(signatures={"a": signed(*NAMES)}),
    )
    return make_plan(found, facts, request)


def test_the_plan_asks_and_moves_and_builds_nothing() -> None:
    """And says why."""
    plan = planned("ds", "id", "n")
    assert [type(s) for s in plan.stages] == [Approve, Promote] and not plan.work
    assert str(plan.changes["a"]) == "removal: removes m"
    assert plan.kept["a"] == "only its view changes: the tables stay, nothing to compute"


def test_the_column_back_is_additive_and_asks_nobody() -> None:
    """The view lists what the table has had all the time."""
    pointer = replace(SHOWN.pointers["a"], columns=COLUMNS[:3])
    plan = planned(*NAMES, shown=replace(SHOWN, pointers={"a": pointer}))
    assert plan.changes["a"].category is Category.ADDITIVE and [type(s) for s in plan.stages] == [Promote]
    assert hidden_columns(replace(SHOWN, pointers={"a": pointer}), {("a", "a-old"): record()}) == {"a": ("m",)}


def test_a_restatement_is_of_what_is_shown() -> None:
    """All days would lose the column, where some were to be computed again; as it is shown it is no matter."""
    again = Request(restate=(("a", days("03")),))
    with pytest.raises(PlanError, match="a cannot be computed again: the code does not list its m any more"):
        planned("ds", "id", "n", request=again)
    narrow = replace(SHOWN, pointers={"a": replace(SHOWN.pointers["a"], columns=COLUMNS[:3])})
    assert planned("ds", "id", "n", shown=narrow, request=again).work
    assert planned(*NAMES, request=again).work


def test_what_is_shown_without_it_is_no_change() -> None:
    """After the promotion there is nothing to do."""
    pointer = replace(SHOWN.pointers["a"], columns=COLUMNS[:3])
    plan = planned("ds", "id", "n", shown=replace(SHOWN, pointers={"a": pointer}))
    assert plan.changes["a"].category is Category.UNCHANGED and not plan.stages


def test_two_ways_to_narrow_are_two_plans() -> None:
    """Of one version: neither goes on with the other's record, and they are in each other's way."""
    one, other = planned("ds", "id", "n"), planned("ds", "id", "m")
    assert one.id != other.id

    def asked(_: PlanRecord) -> Request:
        return one.request

    def stored(by: str) -> PlanRecord:
        from backfill_assets.plan.leases import targets

        return PlanRecord(
            id=one.id, environment="prod", targets=targets(one), created=NOW, by=by, status=PlanStatus.OPEN, since=NOW
        )

    code = {target.model: target.version for target in stored("ana").targets}
    assert claim(one, [stored("ana")], SHOWN, by="ana", request_of=asked, code=code).continues == stored("ana")
    assert claim(other, [stored("ana")], SHOWN, by="ana", request_of=asked, code=code).supersedes == (stored("ana"),)
    assert claim(other, [stored("bob")], SHOWN, by="ana", request_of=asked, code=code).collisions
