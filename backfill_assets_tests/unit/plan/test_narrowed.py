"""When is a dropped or renamed column a change of the view only? When nothing else differs, and its version goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backfill_assets.core.model import Audit, Column, ColumnRef, Order, Project, Signature
from backfill_assets.core.segments import Segments
from backfill_assets.plan.category import Category
from backfill_assets.plan.leases import claim
from backfill_assets.plan.narrowed import Relisting, as_named, as_shown, computing, listed, narrowed, relisted
from backfill_assets.plan.plan import Facts, make_plan
from backfill_assets.plan.stages import Approve, Build, Promote, Request
from backfill_assets.project.algorithm import ALGORITHM
from backfill_assets.project.stored import to_definition
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.plans import PlanRecord, Status
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
    return narrowed(project(own, *source), SHOWN, {("a", "a-old"): version or record()})


def test_a_column_less_keeps_the_version() -> None:
    """Its definition computes what comes; what the code says of audits counts."""
    found = held(signed("ds", "id", "n"))
    assert found.fingerprints["a"] == "a-old" and dict(found.hidden) == {"a": ("m",)}
    model = computing(found, {("a", "a-old"): record()}).models["a"]
    assert (model.code, [a.name for a in model.audits]) == ("SELECT all", ["new"])
    assert found.models["a"].code == "SELECT fewer"


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


def planned(*columns: str, shown: Environment = SHOWN) -> Any:
    found = narrowed(project(signed(*columns)), shown, {("a", "a-old"): record()})
    if columns == NAMES:
        found = replace(found, fingerprints={**found.fingerprints, "a": "a-old"})
    facts = Facts(
        now=NOW,
        environment=shown,
        coverage={"a": Coverage(green=ranges(days("01", "10"))), "b": Coverage()},
        heads={"a": 1, "b": -1},
        sources={},
        shown={"a": signed(*NAMES)},
    )
    return make_plan(found, facts, Request(select=("a",)))


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
    assert as_shown(replace(SHOWN, pointers={"a": pointer}), {("a", "a-old"): record()}) == {"a": ("m",)}


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
            id=one.id, environment="prod", targets=targets(one), created=NOW, by=by, status=Status.OPEN, since=NOW
        )

    assert claim(one, [stored("ana")], SHOWN, by="ana", request_of=asked).continues == stored("ana")
    assert claim(other, [stored("ana")], SHOWN, by="ana", request_of=asked).supersedes == (stored("ana"),)
    assert claim(other, [stored("bob")], SHOWN, by="ana", request_of=asked).collisions


def renamed(own: Signature, *, version: Version | None = None, shown: Environment = SHOWN, **model: Any) -> Project:
    made = project(own)
    models = {**made.models, "a": replace(made.models["a"], **model)}
    return narrowed(replace(made, models=models), shown, {("a", "a-old"): version or record()})


def called(**names: str) -> Signature:
    """The columns of NAMES, these by other names: `called(m="net")`."""
    columns = {names.get(c, c): c for c in NAMES}
    return Signature(rows="r", columns=columns, column_reads={names.get(c, c): reads for c, reads in READS.items()})


def test_another_name_keeps_the_version() -> None:
    """Its definition computes the table's column, its audits know it by the new name, and who reads it does so too."""
    found = renamed(called(m="net"))
    assert found.fingerprints["a"] == "a-old" and dict(found.renamed) == {"a": (("net", "m"),)} and not found.hidden
    assert found.models["b"].upstreams[0].names == (("net", "m"),)
    model = computing(found, {("a", "a-old"): record()}).models["a"]
    assert (model.code, model.names) == ("SELECT all", (("net", "m"),))
    assert listed(found, "a", COLUMNS)[-1] == ("net", "bigint")


def test_another_name_and_a_column_less() -> None:
    """Both at once."""
    own = Signature(rows="r", columns={"ds": "ds", "id": "id", "net": "m"})
    found = renamed(own)
    assert dict(found.renamed) == {"a": (("net", "m"),)} and dict(found.hidden) == {"a": ("n",)}


def test_names_are_spelled_as_the_code_and_the_table_do() -> None:
    """Spark does not tell case apart; files do."""
    version = replace(record(), columns=(*COLUMNS[:3], ("M", "bigint")))
    made = replace(project(called(m="net")), columns={"a": (Column(name="Net"),)})
    found = narrowed(made, SHOWN, {("a", "a-old"): version})
    assert dict(found.renamed) == {"a": (("Net", "M"),)}


OLDER = Segments((*Segments.of_table("a-0", 1, [days("01", "03")]), *Segments.of_table("a-old", 1, [days("04", "10")])))


def seen(**more: Any) -> Environment:
    return replace(SHOWN, pointers={"a": replace(SHOWN.pointers["a"], **more)})


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: renamed(called(m="net"), version=record(grain=["ds", "m"])), "it is a part of the grain"),
        (lambda: renamed(called(m="net"), grain=("ds", "net")), "it is a part of the grain"),
        (lambda: renamed(called(m="net"), version=record(dedupe=[["m", True]])), "it is what `dedupe` goes by"),
        (lambda: renamed(called(m="net"), dedupe=(Order(column="net", descending=True),)), "what `dedupe` goes by"),
        (lambda: renamed(called(m="net"), version=record(updated_at="m")), "it is the `updated_at` column"),
        (lambda: renamed(called(ds="day"), time_column="day", grain=("day", "id")), "it is the time column"),
        (lambda: renamed(called(m="net"), version=record(mask=["m"])), "m is masked and net is not"),
        (lambda: renamed(called(m="net"), version=record(helpers=["h"])), "it imports h, which may be others now"),
        (lambda: renamed(called(m="net"), shown=seen(segments=OLDER)), "rows of older logic are shown beside it"),
        (
            lambda: renamed(called(m="net"), version=replace(record(), columns=(*COLUMNS, ("NET", "int")))),
            "net is another column of what is shown",
        ),
        (
            lambda: renamed(
                called(m="net"),
                shown=seen(
                    columns=(*COLUMNS[:2], ("net", "bigint"), COLUMNS[3]),
                    segments=SHOWN.pointers["a"].segments.named("a-old", (("net", "n"),)),
                ),
            ),
            "net is another column of what is shown",
        ),
        (
            lambda: renamed(
                Signature(rows="r", columns={"ds": "ds", "id": "id", "x": "same", "y": "same"}),
                version=replace(record(), signature=signed(*NAMES, n="same", m="same")),
            ),
            "cannot be told",
        ),
        (
            lambda: renamed(
                Signature(rows="r", columns={"ds": "ds", "id": "id", "n": "n", "x": "m", "y": "m"}),
            ),
            "cannot be told",
        ),
        (lambda: narrowed(project(called(m="net"), "x"), SHOWN, {("a", "a-old"): record()}), "raw.y, which it reads"),
    ],
)
def test_a_name_that_more_hangs_on_is_built(found: Any, why: str) -> None:
    """And the plan says why."""
    made: Project = found()
    assert not made.renamed and not made.hidden and made.fingerprints["a"] == "a-1"
    assert why in made.built_again["a"]
    facts = Facts(
        now=NOW, environment=SHOWN, coverage={"a": Coverage(), "b": Coverage()}, heads={"a": -1, "b": -1}, sources={},
        shown={"a": signed(*NAMES)},
    )  # fmt: skip
    plan = make_plan(made, facts, Request(select=("a",)))
    assert plan.because["a"][0] == made.built_again["a"] and type(plan.stages[0]) is Build


def test_a_masked_column_may_get_another_name() -> None:
    """As long as it stays masked: then it is so by either name."""
    found = renamed(called(m="net"), version=record(mask=["m"]), mask=("net",))
    assert found.renamed
    assert set(computing(found, {("a", "a-old"): record(mask=["m"])}).models["a"].mask) == {"m", "net"}
    later = renamed(called(m="net"), mask=("net",))
    assert set(computing(later, {("a", "a-old"): record()}).models["a"].mask) == {"m", "net"}


def test_the_plan_says_the_new_name_and_builds_nothing() -> None:
    """It asks the owners, as its readers break."""
    facts = Facts(
        now=NOW,
        environment=SHOWN,
        coverage={"a": Coverage(green=ranges(days("01", "10"))), "b": Coverage()},
        heads={"a": 1, "b": -1},
        sources={},
        shown={"a": signed(*NAMES)},
    )
    plan = make_plan(renamed(called(m="net")), facts, Request(select=("a",)))
    assert [type(s) for s in plan.stages] == [Approve, Promote] and not plan.work
    assert plan.because["a"] == ("m is now called net: the view is given the new name, nothing is computed",)
    assert plan.views == {"a": ("ds", "id", "n", "net")} and plan.changes["a"].renamed == (("m", "net"),)
    assert plan.strategies["a"] == "view-only"


def test_the_next_name_and_the_old_one_again_are_changes_of_the_view() -> None:
    """Told by what is shown, not by the table."""
    under = seen(
        columns=(*COLUMNS[:3], ("net", "bigint")),
        segments=SHOWN.pointers["a"].segments.named("a-old", (("net", "m"),)),
    )
    pointer = under.pointers["a"]
    again = renamed(called(m="gross"), shown=under)
    assert relisted(again, pointer, NAMES) == Relisting(added=("gross",), removed=("net",), renamed=(("net", "gross"),))
    same = renamed(called(m="net"), shown=under)
    assert relisted(same, pointer, NAMES) == Relisting(added=(), removed=(), renamed=())
    back = replace(project(signed(*NAMES)), fingerprints={"a": "a-old", "b": "b-1"})
    assert relisted(back, pointer, NAMES).renamed == (("net", "m"),)
    assert as_shown(under, {("a", "a-old"): record()}) == {}
    assert list(as_named(signed(*NAMES), pointer.names).columns) == ["ds", "id", "n", "net"]
