"""What do views say? SQL that Spark reads; and casts that lose nothing."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import TableNames
from backfill_assets.promote.views import expanded_view, plain_view, view_name
from backfill_assets.sql.types import safe_cast
from backfill_assets_tests.fakes import a_pointer, days

ONE = a_pointer("orders", "v1", days("01", "05"), commit=3)
TWO = replace(
    ONE,
    segments=(
        Segment(version="v1", commit=3, interval=days("01", "02")),
        Segment(version="v1.r9", commit=5, interval=days("03")),
        Segment(version="v2", commit=8, interval=days("04", "05")),
    ),
)


def branches(text: str) -> list[exp.Select]:
    """The SELECTs of a view, as Spark's grammar reads them."""
    parsed = sqlglot.parse_one(text, read="spark")
    assert parsed.find(exp.Command) is None
    found = [parsed] if isinstance(parsed, exp.Select) else []
    node: exp.Expression = parsed
    while isinstance(node, exp.Union):
        assert node.args["distinct"] is False, "UNION ALL keeps equal rows"
        assert isinstance(node.expression, exp.Select)
        found.insert(0, node.expression)
        node = node.this
        if isinstance(node, exp.Select):
            found.insert(0, node)
    return found


def test_a_plain_view_is_the_union_of_its_segments() -> None:
    """Each from its own table at its own commit, cut to its own days, in the view's column order."""
    assert plain_view(ONE, "/w") == (
        "SELECT `ds`, `id` FROM delta.`/w/orders/v1` VERSION AS OF 3 "
        "WHERE `ds` >= DATE '2024-01-01' AND `ds` < DATE '2024-01-06'"
    )
    text = plain_view(TWO, "s3://bucket/w")
    assert len(branches(text)) == 3
    for place in (
        "delta.`s3://bucket/w/orders/v1` VERSION AS OF 3 WHERE `ds` >= DATE '2024-01-01' AND `ds` < DATE '2024-01-03'",
        "delta.`s3://bucket/w/orders/v1.r9` VERSION AS OF 5 WHERE `ds` >= DATE '2024-01-03' AND `ds` < ",
        "delta.`s3://bucket/w/orders/v2` VERSION AS OF 8 WHERE `ds` >= DATE '2024-01-04' AND `ds` < DATE '2024-01-06'",
    ):
        assert place in text


def test_views_that_call_tables_by_names() -> None:
    """No path is left, neither of the rows nor of the environment's table that an expanded view asks."""
    names = TableNames(schema="backfill_tables")
    assert plain_view(ONE, "/w", names) == (
        "SELECT `ds`, `id` FROM `spark_catalog`.`backfill_tables`.`orders__v1` VERSION AS OF 3 "
        "WHERE `ds` >= DATE '2024-01-01' AND `ds` < DATE '2024-01-06'"
    )
    new = replace(TWO, segments=TWO.segments[2:])
    named = expanded_view(TWO, new, "prod", "/w", names, cutover=utc("2024-02-01"))
    assert "/w" not in named and "delta.`" not in named and len(branches(named)) == 4
    assert "FROM `spark_catalog`.`backfill_tables`.`_control__environments` WHERE" in named
    assert "`orders__v1_r9` VERSION AS OF 5" in named
    by_path = expanded_view(TWO, new, "prod", "/w", cutover=utc("2024-02-01"))
    assert len(named.splitlines()) == len(by_path.splitlines())


def test_hourly_models_are_cut_by_instants() -> None:
    """Their time column holds timestamps."""
    hours = Interval.of("2024-01-01T05:00", "2024-01-01T07:00")
    pointer = replace(ONE, timestamps=True, segments=(Segment(version="v", commit=1, interval=hours),))
    assert "`ds` >= TIMESTAMP '2024-01-01 05:00:00' AND `ds` < TIMESTAMP '2024-01-01 07:00:00'" in plain_view(
        pointer, "/w"
    )


def test_an_expanded_view_shows_one_of_two_states() -> None:
    """Every branch asks the environment's row of this model whether it holds the old pointer: there is no third state,
    in which whoever resolved the view earlier would find no rows."""
    new = replace(TWO, segments=TWO.segments[2:])
    text = expanded_view(TWO, new, "prod", "/w", cutover=utc("2024-02-01"))
    checks = [str(b.args["where"].sql("spark")) for b in branches(text)]
    assert [f"= '{TWO.id}'" in c for c in checks] == [True] * 3 + [False]
    assert [f"<> '{TWO.id}'" in c for c in checks] == [False] * 3 + [True]
    assert all("/w/_control/environments" in c for c in checks)
    assert all("environment = 'prod'" in c and "model = 'orders'" in c for c in checks)


def typed(pointer: Pointer, *columns: tuple[str, str]) -> Pointer:
    return replace(pointer, columns=columns)


def test_an_expanded_view_keeps_the_old_columns() -> None:
    """In their order, under their names and types: what is gone is NULL, what is wider is cast, what is new waits."""
    old = typed(ONE, ("ds", "date"), ("amount", "double"), ("gone", "string"), ("Id", "bigint"))
    new = typed(TWO, ("new", "string"), ("id", "int"), ("amount", "double"), ("ds", "date"))
    before, *after = branches(expanded_view(old, new, "prod", "/w", cutover=utc("2024-02-01")))
    assert [c.alias_or_name for c in before.expressions] == ["ds", "amount", "gone", "Id"]
    assert len(after) == 3
    for branch in after:
        assert [c.alias_or_name for c in branch.expressions] == ["ds", "amount", "gone", "Id"]
        assert [c.sql("spark") for c in branch.expressions][2:] == [
            "CAST(NULL AS STRING) AS `gone`",
            "CAST(`id` AS BIGINT) AS `Id`",
        ]


def test_a_cast_that_could_lose_values_is_refused() -> None:
    """Readers that began before the cutover expect the old type: with both types, and what to do instead."""
    with pytest.raises(PromotionError) as refused:
        expanded_view(typed(ONE, ("id", "int")), typed(TWO, ("id", "string")), "prod", "/w", cutover=utc("2024-02-01"))
    assert refused.value.what == (
        "column id of orders cannot be int: it is string in the rows of 2024-01-01..2024-01-02"
    )
    assert "new name" in refused.value.fix


def test_older_rows_that_cannot_have_the_type_of_the_view() -> None:
    """Named by what they have, what the view has, and their days; a rebuild gives all rows one type."""
    first, *rest = TWO.segments
    older = replace(first, columns=(("ds", "date"), ("id", "bigint")))
    mixed = replace(TWO, columns=(("ds", "date"), ("id", "string")), segments=(older, *rest))
    with pytest.raises(PromotionError) as refused:
        plain_view(mixed, "/w")
    assert refused.value.what == (f"column id of orders cannot be string: it is bigint in the rows of {older.interval}")
    assert "without --forward-only" in refused.value.fix


def test_names_are_quoted() -> None:
    """Environments, models and columns may be words of SQL."""
    assert view_name("prod", "order") == "`prod`.`order`"
    assert "`group by`" in plain_view(typed(ONE, ("ds", "date"), ("group by", "int")), "/w")


@pytest.mark.parametrize(
    ("source", "target", "safe"),
    [
        ("int", "int", True),
        ("array<int>", "array<int>", True),
        ("tinyint", "bigint", True),
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("int", "double", True),
        ("bigint", "double", False),  # 2^53 + 1
        ("float", "double", True),
        ("double", "float", False),
        ("int", "float", False),  # 2^24 + 1
        ("date", "timestamp", True),
        ("timestamp", "date", False),
        ("timestamp", "timestamp_ntz", False),
        ("int", "string", False),
        ("string", "int", False),
        ("boolean", "int", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(10,2)", "decimal(10,4)", False),
        ("decimal(10,2)", "decimal(12,1)", False),
        ("decimal(10,2)", "double", False),
    ],
)
def test_safe_casts(source: str, target: str, safe: bool) -> None:
    """Safe is what keeps every value."""
    assert safe_cast(source, target) is safe


decimals = st.integers(1, 8).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))


@given(decimals, decimals)
def test_safe_decimals_hold_every_value(source: tuple[int, int], target: tuple[int, int]) -> None:
    """Safe exactly when the extreme value of one type, and its smallest step, fit the other."""
    (p, s), (tp, ts) = source, target
    extreme, step = Decimal(10**p - 1).scaleb(-s), Decimal(1).scaleb(-s)

    def fits(value: Decimal) -> bool:
        scaled = value.scaleb(ts)
        return scaled == scaled.to_integral_value() and abs(scaled) < 10**tp

    assert safe_cast(f"decimal({p},{s})", f"decimal({tp},{ts})") == (fits(extreme) and fits(step))


RANKS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


@given(st.sampled_from(sorted(RANKS)), st.sampled_from([*sorted(RANKS), "double"]))
def test_safe_numbers_hold_every_value(source: str, target: str) -> None:
    """Safe exactly when the widest value of one type survives the other (a double holds 53 bits)."""
    widest = 2 ** RANKS[source] - 1
    holds = int(float(widest)) == widest if target == "double" else RANKS[source] <= RANKS[target]
    assert safe_cast(source, target) == holds


def test_time_never_shifts_the_day() -> None:
    """Literals are the interval's own UTC days, whatever zone the machine is in."""
    pointer = replace(
        ONE, segments=(Segment(version="v", commit=1, interval=Interval(utc("2024-01-01"), utc("2024-01-02"))),)
    )
    assert "DATE '2024-01-01'" in plain_view(pointer, "/w")
