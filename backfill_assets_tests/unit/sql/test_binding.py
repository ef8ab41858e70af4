"""A parameter that becomes a literal is the same value, and nothing else of the text changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from backfill_assets.sql.binding import bound, fixed

ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
DAY = date(2024, 1, 2)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES))
def test_an_instant_is_the_same_one(at: datetime) -> None:
    """Whatever zone it is given in, and whatever the session's is: the offset is written, in microseconds."""
    text = fixed(at).removeprefix("TIMESTAMP_LTZ'").removesuffix("'")
    assert datetime.fromisoformat(text) == at and text.endswith("+00:00")


@given(st.dates())
def test_a_day_is_the_same_one(day: date) -> None:
    """DuckDB reads the literal as the day that it was made from."""
    assert duckdb.execute(f"SELECT {fixed(day)}").fetchall() == [(day,)]


def read_back(literal: str) -> object:
    """The value of a literal, as sqlglot reads it: not by what wrote it."""
    (found,) = sqlglot.parse_one(f"SELECT {literal}", dialect="spark").expressions
    found = found.this if isinstance(found, exp.Paren) else found
    if not isinstance(found, exp.Cast):
        return {exp.Null: None, exp.Boolean: found.this}.get(type(found), _plain(found))  # type: ignore[arg-type]
    if isinstance(found.this, exp.HexString):
        assert found.to.this is exp.DType.TEXT
        return bytes.fromhex(found.this.this if len(found.this.this) % 2 == 0 else f"0{found.this.this}").decode()
    made = {exp.DType.DOUBLE: float, exp.DType.DECIMAL: Decimal}[found.to.this]
    return made(found.this.this)


def _plain(found: exp.Expr) -> object:
    if isinstance(found, exp.Neg):
        return -int(found.this.this)
    return found.this if found.args.get("is_string") else int(found.this) if isinstance(found, exp.Literal) else None


@given(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text())
def test_other_values_are_the_same_ones(value: object) -> None:
    """Whatever is in a text: quotes, backslashes, comments, other scripts; and numbers to the last digit."""
    assert read_back(fixed(value)) == value  # type: ignore[arg-type]


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20))
def test_a_decimal_keeps_its_digits(value: Decimal) -> None:
    """All of them, in a type that has room for them."""
    assert read_back(fixed(value)) == value


@given(st.text(alphabet="'\"\\`;-/*\n\0:$a{}ä€"))
def test_no_text_leaves_its_literal(value: str) -> None:
    """Nothing of it is read as SQL: neither quotes nor backslashes are in what is written."""
    written = fixed(value)
    assert written.count("'") == 2 and "\\" not in written
    assert read_back(written) == value


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (float("nan"), "CAST('NaN' AS DOUBLE)"),
        (float("-inf"), "CAST('-Infinity' AS DOUBLE)"),
        (5e-324, "CAST('5e-324' AS DOUBLE)"),
        (Decimal("1E+3"), "CAST('1000' AS DECIMAL(4,0))"),
        (Decimal("-0.0012"), "CAST('-0.0012' AS DECIMAL(4,4))"),
        (b"\x00'", "X'0027'"),
        (True, "TRUE"),
        (None, "NULL"),
    ],
)
def test_what_is_special(value: object, literal: str) -> None:
    """Values that have words of their own in SQL."""
    assert fixed(value) == literal  # type: ignore[arg-type]


def test_a_negative_number_begins_no_comment() -> None:
    """`1 -:n` stays a difference."""
    assert bound("SELECT 1 -:n", {"n": -2}) == "SELECT 1 -(-2)"


@pytest.mark.parametrize("value", [[1], {"a": 1}, object()])
def test_what_has_no_literal_is_refused(value: object) -> None:
    """Nothing is bound to a guess."""
    with pytest.raises(TypeError, match="a text, a number, a day or an instant"):
        fixed(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), Decimal(10) ** 38])
def test_what_is_no_decimal_of_sql_is_refused(value: Decimal) -> None:
    """More than 38 digits, or none."""
    with pytest.raises(ValueError, match=r"is no decimal|more than 38 digits"):
        fixed(value)


def test_an_instant_needs_a_zone() -> None:
    """A literal would mean another instant in each session."""
    with pytest.raises(ValueError, match="without a time zone"):
        fixed(datetime(2024, 1, 2))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("SELECT * FROM t WHERE ds >= :start", "SELECT * FROM t WHERE ds >= DATE'2024-01-02'"),
        ("SELECT date_sub(:start, 1), :start", "SELECT date_sub(DATE'2024-01-02', 1), DATE'2024-01-02'"),
        ("SELECT ':start', 'it''s :start' FROM t", "SELECT ':start', 'it''s :start' FROM t"),
        ("SELECT `:start` FROM t", "SELECT `:start` FROM t"),
        ("SELECT 1 -- :start\n/* :start */", "SELECT 1 -- :start\n/* :start */"),
        ("SELECT v:start FROM t", "SELECT v:start FROM t"),
        ("SELECT :other", "SELECT :other"),
        ("SELECT 'ä€', :start", "SELECT 'ä€', DATE'2024-01-02'"),
    ],
)
def test_only_parameters_are_replaced(code: str, expected: str) -> None:
    """Texts, comments, quoted names, paths into a value and other names stay as they are."""
    assert bound(code, {"start": DAY}) == expected


def test_both_ends() -> None:
    """Each gets its own value."""
    values = {"start": datetime(2024, 1, 2, tzinfo=UTC), "end": datetime(2024, 1, 3, tzinfo=UTC)}
    said = bound("SELECT 1 WHERE at >= :start AND at < :end", values)
    assert said == (
        "SELECT 1 WHERE at >= TIMESTAMP_LTZ'2024-01-02 00:00:00.000000+00:00' "
        "AND at < TIMESTAMP_LTZ'2024-01-03 00:00:00.000000+00:00'"
    )
