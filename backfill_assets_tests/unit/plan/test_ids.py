"""Which keys does a file name, and what of a file is refused, at which line?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.errors import UsageError
from backfill_assets.plan.ids import MOST, Ids, check_ids, parse_ids
from backfill_assets_tests.fakes import a_model

MODEL = a_model("orders", "raw", grain=("ds", "Shop", "code", "price", "at"))
TYPES = {
    "ds": "date", "shop": "bigint", "code": "string", "price": "decimal(6,2)", "at": "timestamp", "total": "double",
}  # fmt: skip


def refused(text: str) -> str:
    with pytest.raises(UsageError) as found:
        parse_ids(text, "exports/ids.csv")
    assert "exports/ids.csv" in found.value.what
    return str(found.value)


def unfit(text: str) -> str:
    with pytest.raises(UsageError) as found:
        check_ids(parse_ids(text, "ids.csv"), MODEL, TYPES)
    return str(found.value)


@pytest.mark.parametrize(
    "text",
    ["shop\n2\n1\n", "\ufeffShop\r\n1\r\n2\r\n\r\n", 'SHOP\n"2"\n1', "shop\r\n1\n2\n\n\n"],
)
def test_the_same_keys_are_the_same(text: str) -> None:
    """In any order, with any line ends, with a byte order mark, whatever the file is called."""
    found = parse_ids(text, "/tmp/a.csv")
    assert found == parse_ids("shop\n1\n2\n", "b.csv") == Ids(columns=("shop",), rows=(("1",), ("2",)))
    assert found.digest == parse_ids("shop\n1\n2\n", "b.csv").digest != parse_ids("shop\n1\n", "a.csv").digest
    assert from_plain(Ids, to_plain(found)) == found
    check_ids(found, MODEL, TYPES)


def test_keys_of_several_columns() -> None:
    found = parse_ids('ds,code\n2024-03-02,"a,""b"""\n2024-03-01,c\n', "ids.csv")
    assert found.rows == (("2024-03-01", "c"), ("2024-03-02", 'a,"b"'))
    check_ids(found, MODEL, TYPES)
    assert parse_ids(found.to_csv(), "") == found
    assert found.called(("day", "code")).startswith("(day, code) in ids.csv (2 keys: 2024-03-01/c, 2024-03-02/a")
    split, joined = parse_ids("a,b\nx,y\n", ""), parse_ids("a,b\nx,z\n", "")
    assert split.digest != joined.digest
    many = replace(found, rows=tuple((str(n),) for n in range(1204)), columns=("shop",))
    assert "(1,204 keys: 0, 1, 2, …; " in many.called()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1: which keys are meant is not said"),
        ("\n\n", "line 1: which keys are meant is not said"),
        ("\n17\n", "its first line names no column"),
        ("shop,\n1,2\n", "its first line names no column"),
        ("shop\n", "has no keys"),
        ("shop\n\n\n", "has no keys"),
        ("shop,Shop\n1,2\n", "shop is named twice"),
        ("shop\n1\n\n2\n", "line 3: an empty value"),
        ("ds,shop\n2024-03-01,\n", "line 2: an empty value"),
        ("ds,shop\n2024-03-01\n", "line 2: 1 value, and 2 columns"),
        ("shop\n1,2\n", "line 2: 2 values, and 1 column"),
        ("shop\n1\n2\n1\n", "line 4: `1` is in line 2 too"),
        ("shop\n1 \n", "line 2: `1 ` has spaces around it"),
        ("shop\nNULL\n", "`NULL` is how programs write that there is no value"),
        ("shop\n\\N\n", "is how programs write"),
        ("code\na\u202eb\n", "has characters that nobody sees"),
        ('code\n"a\nb"\n', "has characters that nobody sees"),
        ('code\n"a\n', "is no CSV"),
        ("shop\n" + " \n" * 9, "and 4 more"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    assert why in refused(text)


def test_as_many_as_a_plan_keeps() -> None:
    keys = "\n".join(map(str, range(MOST)))
    assert len(parse_ids(f"shop\n{keys}\n", "ids.csv").rows) == MOST
    assert "more than 100,000 keys" in refused(f"shop\n{keys}\n-1\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("shop\n9\nx\n", "line 3: `x`: shop is bigint, and whole numbers are written as 1204"),
        ("shop\n007\n", "whole numbers are written as 1204"),
        ("shop\n1.0\n", "whole numbers are written as 1204"),
        ("shop\n١\n", "whole numbers are written as 1204"),
        ("shop\n9223372036854775808\n", "too large"),
        (f"shop\n{'9' * 5000}\n", "too large"),
        ("ds\n2024-3-1\n", "days are written as 2024-03-01"),
        ("ds\n2024-02-30\n", "days are written as 2024-03-01"),
        ("ds\n20240301\n", "days are written as 2024-03-01"),
        ("price\n1.5\n", "and written as 1.50"),
        ("price\n1.505\n", "does not fit"),
        ("price\n10000.00\n", "does not fit"),
        ("price\nnan1\n", "numbers are written as 1.50"),
        ("price\n1e3\n", "numbers are written as 1.50"),
        ("price\n-0.00\n", "and written as 0.00"),
        ("at\n2024-03-01 00:00:00\n", "at is timestamp"),
        ("total\n1\n", "total is no part of its key"),
        ("shopp\n1\n", "shopp is no column of it"),
    ],
)
def test_values_are_of_the_columns_type(text: str, why: str) -> None:
    """One value has one form, as the table has it: else a key would be none of the table's, and nobody would notice."""
    assert why in unfit(text)


def test_a_stored_key_has_no_line() -> None:
    """A plan keeps no lines: of one that fits no more only the key is told."""
    stored = from_plain(Ids, to_plain(parse_ids("shop\nx\n", "ids.csv")))
    with pytest.raises(UsageError, match=r"^ids\.csv: `x`: shop is bigint"):
        check_ids(stored, MODEL, TYPES)


def test_fitting_values() -> None:
    text = "ds,shop,code,price\n2024-03-01,-9223372036854775808,007,-1234.50\n2024-03-01,0,NONE OF IT,0.00\n"
    check_ids(parse_ids(text, "ids.csv"), MODEL, TYPES)


def test_a_model_without_a_key() -> None:
    with pytest.raises(UsageError, match="says no grain"):
        check_ids(parse_ids("shop\n1\n", "ids.csv"), replace(MODEL, grain=()), TYPES)
