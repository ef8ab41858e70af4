"""Audits as SQL: the counts, on rows; the Spark text is carried over to DuckDB, which needs no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.audits.digest import audits_digest
from backfill_assets.audits.sample import SAMPLE_SIZE, sample_failures
from backfill_assets.audits.scan import compile_scan, scan_audits
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Audit
from backfill_assets.sql.text import interval_text, literal, quoted
from backfill_assets_tests.fakes import a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables, spanned

ONE, TWO = "2024-01-01 00:00", "2024-01-02 00:00"


@pytest.fixture
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    yield connection
    connection.close()


def audit(kind: str, name: str = "check", **arguments: object) -> Audit:
    return Audit(name=name, kind=kind, arguments=arguments)


def rows_of(duck: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, object]]:
    return DuckTables(duck).ask(text)


def counts(duck: duckdb.DuckDBPyConnection, *audits: Audit, **more: object) -> dict[str, dict[str, object]]:
    """Interval with rows → what each audit counted, and `rows`."""
    model = a_model("m", audits=audits, **more)
    tables = DuckTables(duck)
    text, *_ = compile_scan(model, "rows", {}).texts
    found = scan_audits(model, spanned(model, tables.ask(text)), tables)
    return {f"{at:%Y-%m-%d %H:%M}": {"rows": c.rows} | dict(c.failures) for at, c in found.items() if c.rows}


def samples(duck: duckdb.DuckDBPyConnection, one: Audit, **more: object) -> list[str]:
    """Those of the first day."""
    model = a_model("m", audits=(one,), **more)
    first = days("01")
    return sample_failures(model, one, Ranges((first,)), DuckTables(duck)).get(first.start, [])


def fill(duck: duckdb.DuckDBPyConnection, values: str, columns: str = "ds, id, x") -> None:
    duck.execute(f"CREATE TABLE rows AS SELECT * FROM (VALUES {values}) t({columns})")


D1, D2 = "DATE '2024-01-01'", "DATE '2024-01-02'"


def test_not_null_counts_rows_with_any_null(duck: duckdb.DuckDBPyConnection) -> None:
    """A row with two NULLs fails once; intervals are counted apart."""
    fill(duck, f"({D1}, 1, 5), ({D1}, NULL, NULL), ({D1}, 3, NULL), ({D2}, 4, 6)")
    assert counts(duck, audit("not_null", columns=("id", "x"))) == {
        ONE: {"rows": 3, "check": 2},
        TWO: {"rows": 1, "check": 0},
    }


@pytest.mark.parametrize(
    ("bounds", "failing"),
    [({"min": 0}, 1), ({"max": 10}, 1), ({"min": 0, "max": 10}, 2), ({"min": -1, "max": 11}, 0), ({"min": 0.5}, 2)],
)
def test_range_counts_what_is_outside(duck: duckdb.DuckDBPyConnection, bounds: dict[str, object], failing: int) -> None:
    """Bounds are included; NULL is the business of not_null."""
    fill(duck, f"({D1}, 1, -1), ({D1}, 2, 0), ({D1}, 3, 10), ({D1}, 4, 11), ({D1}, 5, NULL)")
    assert counts(duck, audit("range", column="x", **bounds)) == {ONE: {"rows": 5, "check": failing}}


def test_range_of_dates(duck: duckdb.DuckDBPyConnection) -> None:
    """Bounds may be dates, as YAML reads them."""
    fill(duck, f"({D1}, 1, DATE '1999-12-31'), ({D1}, 2, DATE '2000-01-01')")
    assert counts(duck, audit("range", column="x", min=date(2000, 1, 1)))[ONE]["check"] == 1


def test_accepted_values_counts_all_others(duck: duckdb.DuckDBPyConnection) -> None:
    """Quotes in values are text; NULL does not fail; case matters."""
    fill(duck, f"({D1}, 1, 'email'), ({D1}, 2, 'it''s'), ({D1}, 3, 'Email'), ({D1}, 4, NULL), ({D1}, 5, 'fax')")
    assert counts(duck, audit("accepted_values", column="x", values=("email", "it's")))[ONE]["check"] == 2


def test_accepted_numbers(duck: duckdb.DuckDBPyConnection) -> None:
    """Numbers are compared as numbers."""
    fill(duck, f"({D1}, 1, 1), ({D1}, 2, 2), ({D1}, 3, 3)")
    assert counts(duck, audit("accepted_values", column="x", values=(1, 2)))[ONE]["check"] == 1


def test_unique_grain_counts_rows_too_many(duck: duckdb.DuckDBPyConnection) -> None:
    """Three rows of one key are two too many; NULL keys are keys; the same key on another day is another."""
    fill(duck, f"({D1}, 1, 0), ({D1}, 1, 0), ({D1}, 1, 0), ({D1}, NULL, 0), ({D1}, NULL, 0), ({D2}, 1, 0)")
    assert counts(duck, audit("unique_grain")) == {ONE: {"rows": 5, "check": 3}, TWO: {"rows": 1, "check": 0}}


def test_unique_on_other_columns(duck: duckdb.DuckDBPyConnection) -> None:
    """Several columns, with NULLs, count as one key; `where` leaves rows out."""
    fill(duck, f"({D1}, 1, 7), ({D1}, 2, 7), ({D1}, 3, NULL), ({D1}, 4, NULL), ({D2}, 1, 7)")
    wider = audit("unique", columns=("ds", "x"))
    assert counts(duck, wider) == {ONE: {"rows": 4, "check": 2}, TWO: {"rows": 1, "check": 0}}
    some = audit("unique", columns=("ds", "x"), where="id <> 2")
    assert counts(duck, some)[ONE]["check"] == 1


def test_many_audits_are_one_scan(duck: duckdb.DuckDBPyConnection) -> None:
    """Each keeps its own count; grouping by the grain first does not count rows of a key once only."""
    fill(duck, f"({D1}, 1, -1), ({D1}, 1, -1), ({D1}, 2, NULL), ({D1}, 3, 99)")
    found = counts(
        duck,
        audit("range", "low", column="x", min=0),
        audit("range", "high", column="x", max=50),
        audit("not_null", "filled", columns=("x",)),
        audit("unique_grain", "unique"),
        audit("completeness", "complete", min_rows=1),
        audit("row_count", "like_prod", within_percent=5.0),
    )
    assert found == {ONE: {"rows": 4, "low": 2, "high": 1, "filled": 1, "unique": 1}}


def test_a_model_without_audits_still_counts_rows(duck: duckdb.DuckDBPyConnection) -> None:
    """The scan is valid with nothing to count."""
    fill(duck, f"({D1}, 1, 0)")
    assert counts(duck) == {ONE: {"rows": 1}}


@pytest.mark.parametrize(
    ("cadence", "expected"),
    [
        (Cadence.HOURLY, {"2024-01-31 05:00": 1, "2024-01-31 23:00": 1, "2024-02-01 00:00": 1, "2024-02-04 12:00": 1}),
        (Cadence.DAILY, {"2024-01-31 00:00": 2, "2024-02-01 00:00": 1, "2024-02-04 00:00": 1}),
        (Cadence.WEEKLY, {"2024-01-29 00:00": 4}),
        (Cadence.MONTHLY, {"2024-01-01 00:00": 2, "2024-02-01 00:00": 2}),
    ],
)
def test_intervals_are_those_of_the_cadence(
    duck: duckdb.DuckDBPyConnection, cadence: Cadence, expected: dict[str, int]
) -> None:
    """The text names the start of the interval as `Cadence.floor` gives it: weeks begin on Monday."""
    times = ["2024-01-31 05:59:59", "2024-01-31 23:00:00", "2024-02-01 00:00:00", "2024-02-04 12:00:00"]
    fill(duck, ", ".join(f"(TIMESTAMP '{t}', {n}, 0)" for n, t in enumerate(times)))
    assert {k: v["rows"] for k, v in counts(duck, cadence=cadence).items()} == expected
    floors = {f"{cadence.floor(datetime.fromisoformat(t)):%Y-%m-%d %H:%M}" for t in times}
    assert floors == set(expected)


def test_samples_name_the_keys_that_fail(duck: duckdb.DuckDBPyConnection) -> None:
    """The key of a failing row with the value that is wrong, or the key that occurs twice; NULL is said; never more
    than a few. A masked value is hidden."""
    fill(duck, f"({D1}, 1, -1), ({D1}, NULL, -2), ({D1}, 3, 5)")
    assert sorted(map(str, samples(duck, audit("range", column="x", min=0)))) == [
        "ds=2024-01-01, id=1, x=-1",
        "ds=2024-01-01, id=NULL, x=-2",
    ]
    assert samples(duck, audit("expression", expression="x < abs(X) OR ID = 1")) == ["ds=2024-01-01, id=3, x=5"]
    accepted = audit("accepted_values", column="x", values=(-1, -2))
    assert samples(duck, accepted, mask=("X",)) == ["ds=2024-01-01, id=3, x=***"]
    assert samples(duck, audit("not_null", columns=("id",))) == ["ds=2024-01-01, id=NULL"]
    duck.execute("INSERT INTO rows SELECT ds, id, x FROM rows WHERE id = 3")
    assert samples(duck, audit("unique_grain")) == ["ds=2024-01-01, id=3"]
    duck.execute("INSERT INTO rows SELECT DATE '2024-01-01', i, -1 FROM range(50) t(i)")
    assert len(samples(duck, audit("range", column="x", min=0))) == SAMPLE_SIZE


def test_names_that_are_words_or_hold_quotes(duck: duckdb.DuckDBPyConnection) -> None:
    """Every column is quoted."""
    fill(duck, f"({D1}, 1, NULL)", 'ds, id, "group by"')
    assert counts(duck, audit("not_null", columns=("group by",)))[ONE]["check"] == 1
    assert quoted("a`b") == "`a``b`"


@given(st.text(min_size=1))
def test_any_text_is_one_literal(text: str) -> None:
    """Whatever an accepted value is, Spark's grammar reads it as a string literal with that very text."""
    parsed = sqlglot.parse_one(f"SELECT {literal(text)}", read="spark").expressions[0]
    assert isinstance(parsed, sqlglot.exp.Literal)
    assert parsed.is_string


@pytest.mark.parametrize("text", ["", "it's", "back\\slash", "\\'", "'; DROP TABLE x; --", "日本", '"'])
def test_texts_keep_their_value(duck: duckdb.DuckDBPyConnection, text: str) -> None:
    """Carried to another engine, the literal is still that text."""
    assert rows_of(duck, f"SELECT {literal(text)} AS v")[0]["v"] == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (7, "7"),
        (-1.5, "-1.5D"),
        (1e20, "1e+20D"),
        (Decimal("1.10"), "1.10"),
        (date(2024, 2, 29), "DATE '2024-02-29'"),
        (datetime(2024, 2, 29, 1, 2, 3), "TIMESTAMP '2024-02-29 01:02:03'"),
    ],
)
def test_literals(value: object, expected: str) -> None:
    """YAML's values in Spark's words; a float is a double, so that nothing is compared as a decimal by accident."""
    assert literal(value) == expected


KINDS = (
    audit("not_null", "a", columns=("id",)),
    audit("range", "b", column="x", min=0, max=1.5),
    audit("accepted_values", "c", column="x", values=("it's", "b")),
    audit("unique_grain", "d"),
    audit("unique", "e", columns=("x",)),
    audit("expression", "f", expression="x > 0 -- or so", where="id > 1 -- too"),
    audit("aggregate", "g", metric="sum(x) -- all", min=0),
    audit("known_records", "h", records=({"ds": "2024-01-01", "id": 1, "x": 2.5},)),
    audit("entities", "i", column="x", values=("a",)),
    audit("relationships", "j", columns=("id",), to="other", where="x > 1 -- too"),
)


@pytest.mark.parametrize("cadence", list(Cadence))
def test_every_text_is_spark_sql(cadence: Cadence) -> None:
    """The scan parses in Spark's dialect, also around texts that end in a comment."""
    scan = compile_scan(a_model("m", audits=KINDS, cadence=cadence), "rows", {"other": "o"})
    for text in (*scan.texts, f"SELECT {interval_text(a_model('m'))}"):
        assert sqlglot.parse_one(text, read="spark").find(sqlglot.exp.Command) is None
    assert set(scan.cells) == set("abcdefghij")


def test_the_digest_changes_with_what_is_checked_only() -> None:
    """Order, descriptions and batch size do not make results stale; names, arguments, severity and the grain do."""
    model = a_model("m", audits=KINDS)
    same = a_model("m", audits=tuple(reversed(KINDS)), description="new", batch_size=9)
    assert audits_digest(same) == audits_digest(model)
    others = [
        a_model("m", audits=KINDS[1:]),
        a_model("m", audits=(*KINDS[1:], audit("not_null", "a", columns=("x",)))),
        a_model("m", audits=(*KINDS[1:], audit("not_null", "renamed", columns=("id",)))),
        a_model(
            "m", audits=(*KINDS[1:], Audit(name="a", kind="not_null", arguments={"columns": ("id",)}, blocking=False))
        ),
        a_model("m", audits=KINDS, grain=("ds",)),
        a_model("m", audits=KINDS, time_column="day"),
    ]
    assert len({audits_digest(m) for m in [model, *others]}) == 7
