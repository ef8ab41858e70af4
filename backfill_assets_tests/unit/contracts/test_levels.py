"""How bad is a change of a contract? The published table, a test a cell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.contracts.contract import Contract, Promise
from backfill_assets.contracts.levels import Level, compare_contracts, worst
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.plan.category import Category, TableChange

BASE = Contract(
    columns=(
        Promise(name="ds", type="date", nullable=False),
        Promise(name="channel", type="string", nullable=False, values=("email", "web")),
        Promise(name="clicks", type="int", semantics="clicks of the day, UTC"),
        Promise(name="price", type="decimal(10,2)"),
        Promise(name="tags", type="array<string>"),
    ),
    grain=("ds", "channel"),
    time_column="ds",
    cadence="daily",
)
Cell = tuple[str, Contract | None, Contract | None, TableChange | None, Level, str, str]
"""What changes, the contracts, what the plan says, the level, the column ("": the table), and why."""


def but(column: str, **more: object) -> Contract:
    """The base with a column changed."""
    columns = tuple(replace(c, **more) if c.name == column else c for c in BASE.columns)  # type: ignore[arg-type]
    return replace(BASE, columns=columns)


def without(column: str) -> Contract:
    return replace(BASE, columns=tuple(c for c in BASE.columns if c.name != column))


NEW = replace(BASE, columns=(*BASE.columns, Promise(name="spend", type="double")))
RENAMED = but("clicks", name="hits")
WEB = ("web",)
CELLS: list[Cell] = [
    ("columns in another order", BASE, replace(BASE, columns=BASE.columns[::-1]), None, Level.COMPATIBLE, "",
     "the view lists them; who names columns notices nothing"),
    ("the grain in another order", BASE, replace(BASE, grain=("channel", "ds")), None, Level.COMPATIBLE, "-",
     "a key has no order: no change at all"),
    ("a column more", BASE, NEW, None, Level.ADDITIVE, "spend", "nobody reads it yet"),
    ("a column less", BASE, without("clicks"), None, Level.BREAKING, "clicks", "queries that name it fail"),
    ("another name for a column", BASE, RENAMED,
     TableChange(category=Category.REMOVAL, removed=("clicks",), added=("hits",), renamed=(("clicks", "hits"),)),
     Level.BREAKING, "clicks", "queries that name it fail; the plan says what it is called now"),
    ("the table is gone", BASE, None, None, Level.BREAKING, "", "every query fails"),
    ("a wider type: int → bigint", BASE, but("clicks", type="bigint"), None, Level.COMPATIBLE, "clicks",
     "every old value is a new one"),
    ("a wider type: decimal(10,2) → decimal(12,2)", BASE, but("price", type="decimal(12,2)"), None, Level.COMPATIBLE,
     "price", "every old value is a new one"),
    ("another kind of type that keeps values: int → double", BASE, but("clicks", type="double"), None,
     Level.BEHAVIOURAL, "clicks", "the values are the same; divisions, texts and exports of them are not"),
    ("a narrower type: decimal(10,2) → decimal(10,3)", BASE, but("price", type="decimal(10,3)"), None, Level.BREAKING,
     "price", "values may not fit"),
    ("another type: int → string", BASE, but("clicks", type="string"), None, Level.BREAKING, "clicks",
     "comparisons and sums of it fail"),
    ("a nested type", BASE, but("tags", type="array<int>"), None, Level.UNKNOWN, "tags",
     "what is inside is not compared"),
    ("a type that nobody knows", BASE, but("price", type=None), None, Level.UNKNOWN, "price",
     "declare it in the header; a table that is built says it"),
    ("a type that nobody knows, of a column that is computed as before", BASE, but("price", type=None),
     TableChange(category=Category.UNCHANGED), Level.COMPATIBLE, "-", "then it is the same type: no change at all"),
    ("NULL is not possible any more", BASE, but("clicks", nullable=False), None, Level.COMPATIBLE, "clicks",
     "readers that expect NULL never see one"),
    ("NULL becomes possible", BASE, but("channel", nullable=True), None, Level.BREAKING, "channel",
     "joins and filters drop such rows without a word"),
    ("a further accepted value", BASE, but("channel", values=("app", "email", "web")), None, Level.BEHAVIOURAL,
     "channel", "a CASE over all values leaves it out"),
    ("an accepted value less", BASE, but("channel", values=WEB), None, Level.BREAKING, "channel",
     "a filter on it finds nothing"),
    ("values are accepted by a list from now on", but("channel", values=None), BASE, None, Level.COMPATIBLE, "channel",
     "a promise more"),
    ("any value is accepted from now on", BASE, but("channel", values=None), None, Level.BEHAVIOURAL, "channel",
     "unexpected values may come"),
    ("a finer or coarser grain", BASE, replace(BASE, grain=("ds", "channel", "price")), None, Level.BREAKING, "",
     "joins multiply rows, sums count twice"),
    ("another cadence", BASE, replace(BASE, cadence="monthly"), None, Level.BREAKING, "",
     "a row is about another time"),
    ("another time column", BASE, replace(BASE, time_column="day"), None, Level.BREAKING, "",
     "range filters miss partitions, and mean something else"),
    ("a meaning is written down", but("clicks", semantics=""), BASE, None, Level.COMPATIBLE, "clicks",
     "nothing else was promised before"),
    ("a meaning is written differently", BASE, but("clicks", semantics="clicks of the day, Berlin"), None,
     Level.BEHAVIOURAL, "clicks", "the numbers may be equal and are not about the same"),
    ("a meaning is not written down any more", BASE, but("clicks", semantics=""), None, Level.BEHAVIOURAL, "clicks",
     "what was relied on is not promised"),
    ("other values of a column", BASE, BASE, TableChange(category=Category.BREAKING, columns=("clicks",)),
     Level.BEHAVIOURAL, "clicks", "the plan's category: its expression changed"),
    ("other rows", BASE, BASE, TableChange(category=Category.BREAKING, rows=True), Level.BEHAVIOURAL, "",
     "the plan's category: a join, filter or group changed"),
    ("columns that are not declared, of a model that is not built yet", BASE, replace(BASE, columns=()), None,
     Level.UNKNOWN, "", "some Python has to run first; the plan after `apply` knows"),
    ("what is published has no recorded contract", None, BASE, None, Level.UNKNOWN, "", "an earlier release made it"),
]  # fmt: skip


@pytest.mark.parametrize("cell", CELLS, ids=[c[0] for c in CELLS])
def test_cell(cell: Cell) -> None:
    """Exactly this one change is found, at this level, about this column."""
    _, old, new, change, level, column, _ = cell
    found = compare_contracts(old, new, change)
    if column == "-":
        assert found == ()
    else:
        assert [(c.level, c.column) for c in found] == [(level, column)]
        assert found[0].what and str(found[0])


def test_every_level_is_in_the_table() -> None:
    """Each is the outcome of some pair of contracts."""
    assert {c[4] for c in CELLS} == set(Level)


contracts = st.sampled_from([c for cell in CELLS for c in (cell[1], cell[2]) if c is not None])


@given(contracts, contracts)
def test_comparing(old: Contract, new: Contract) -> None:
    """Nothing differs from itself; any difference but of the grain's order is found; the worst comes first; JSON keeps
    it."""
    assert compare_contracts(old, old) == ()
    found = compare_contracts(old, new)
    same = replace(new, grain=old.grain) == old and set(new.grain) == set(old.grain)
    assert bool(found) is not same
    assert worst(found) == (found[0].level if found else None)
    assert [c.level.rank for c in found] == sorted((c.level.rank for c in found), reverse=True)
    assert from_plain(Contract, to_plain(old)) == old
