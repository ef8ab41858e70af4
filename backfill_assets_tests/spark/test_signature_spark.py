"""What counts as the same gives the same in Spark: each rewrite, over small tables that are made to break it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from backfill_assets.core.model import UNKNOWN, Column
from backfill_assets.plan.category import change_between
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import parse
from backfill_assets.sql.signature import functions
from backfill_assets.sql.signature.marks import Opaque
from backfill_assets.sql.signature.query import query_signature
from backfill_assets.sql.signature.relations import Table
from backfill_assets_tests.unit.sql.signature_pairs import OTHER, SAME, TYPES
from backfill_assets_tests.unit.sql.test_rewrites import signature_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS: dict[str, list[tuple[object, ...]]] = {
    "t": [
        (1, date(2024, 1, 1), "a", 1, 2, "1", [1, 2], (1, "p")),
        (1, date(2024, 1, 1), "a", 1, 2, "1", [1, 2], (1, "p")),
        (2, date(2024, 1, 2), "b", 2, 1, "01", [], (2, "q")),
        (2, date(2023, 12, 31), "A", 3, None, "2", None, None),
        (3, None, None, None, 5, None, [3, None], (None, "r")),
        (0, date(2024, 2, 29), "a", 0, 0, "10", [7], (0, None)),
        (None, date(2024, 1, 1), "b", 2, 2, "9", [1], (1, "p")),
        (3, date(2024, 1, 1), "ab", 2, 3, " 2", [1, 1], (5, "z")),
    ],
    "u": [(1, 1, "a"), (1, 2, "b"), (2, None, "a"), (None, 3, None), (3, 1, "B"), (0, 2, "x")],
    "v": [(1, 1, "a"), (2, None, "a"), (3, 1, "B"), (0, 2, "x")],
    "n": [("1", 1), ("01", 2), ("2", 3)],
}
"""NULLs, rows and keys that come twice, ties, mixed case, texts that look like numbers, the end of a year."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    for name, types in TYPES.items():
        schema = ", ".join(f"{column} {type_}" for column, type_ in types.items())
        spark.createDataFrame(ROWS[name], schema).coalesce(1).cache().createOrReplaceTempView(name)
    yield spark
    for name in TYPES:
        spark.catalog.dropTempView(name)


TABLES = {"f": "id k ds j", "g": "m k n j", "h": "p j q k"}
JOINS = [
    "f JOIN g USING (k)", "f LEFT JOIN g USING (K)", "f RIGHT JOIN g USING (k)", "f FULL JOIN g USING (k)",
    "f JOIN g USING (j, k)", "f JOIN g USING (k, j)", "f NATURAL JOIN g", "f LEFT SEMI JOIN g USING (k)",
    "f LEFT ANTI JOIN g USING (k)", "f LEFT JOIN g USING (k) LEFT JOIN h USING (k)",
    "f JOIN g ON f.id = g.m JOIN h ON h.p = f.id", "(SELECT * FROM f) f JOIN g USING (k)",
    "f JOIN (SELECT m, k FROM g) g USING (k) JOIN (SELECT p, m FROM h CROSS JOIN (SELECT m FROM g)) h USING (m)",
    "f JOIN (SELECT m, k FROM g) g USING (k) JOIN h ON h.p = f.id",
    "f JOIN g ON f.id = g.m JOIN (SELECT p, n FROM h CROSS JOIN g) h USING (n)",
    "f JOIN g USING (k) LATERAL VIEW explode(array(1)) x AS e",
]  # fmt: skip
STARS = ["*", "f.*", "g.*", "h.*", "g.*, f.*", "f.* EXCEPT (id)", "* EXCEPT (id)", "f.* EXCEPT (k)", "f.*, g.m AS mm"]


@pytest.mark.parametrize("joins", JOINS)
def test_stars_over_using_are_in_sparks_order(spark: SparkSession, joins: str) -> None:
    """Where columns go by their places, the order in which a star gives them decides which ones meet."""
    columns = {n: tuple(Column(name=c, type="bigint") for c in names.split()) for n, names in TABLES.items()}
    tables = {n: Table(name=n, signature=UNKNOWN, columns=of) for n, of in columns.items()}
    for name, of in columns.items():
        spark.sql(f"SELECT {', '.join(f'1L AS {c.name}' for c in of)}").createOrReplaceTempView(name)
    told = 0
    for star in STARS:
        query = f"SELECT {star} FROM {joins}"
        try:
            given = [c.lower() for c in spark.sql(query).columns]
        except AnalysisException:
            continue
        found = resolve(parse(query), {n: (n, of) for n, of in columns.items()}, named=False).columns
        assert found is None or [c.name.lower() for c in found] == list(dict.fromkeys(given)), query
        with suppress(Opaque):
            places = ", ".join(f"c{n}" for n in range(len(given)))
            signature = query_signature(parse(f"SELECT {places} FROM ({query}) AS x({places})"), tables)
            told += 1
            for number, column in enumerate(given):
                read = {ref.column for ref in signature.column_reads[f"c{number}"]}
                assert column == "e" or {"mm": "m"}.get(column, column) in read, (query, number)
    assert told or any(w in joins for w in ("RIGHT", "FULL", "NATURAL", "SEMI", "ANTI", "USING (m)")), "nothing is"
    for name in TABLES:
        spark.catalog.dropTempView(name)


@cache
def result(spark: SparkSession, sql: str) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Columns by lower-cased name, and rows; values as texts that tell `1` from `1.0`."""
    frame = spark.sql(sql)
    rows = tuple(tuple(repr(value) for value in row) for row in frame.collect())
    return tuple(c.lower() for c in frame.columns), rows


def of_columns(found: tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]], names: list[str]) -> Counter[Any]:
    return Counter(tuple(row[found[0].index(n)] for n in names) for row in found[1])


@pytest.mark.parametrize("name", SAME)
def test_gives_the_same(tables: SparkSession, name: str) -> None:
    """Columns that both texts have hold the same values in the same rows, of the same types."""
    for old, new in SAME[name]:
        one, other = result(tables, old), result(tables, new)
        names = [n for n in one[0] if n in other[0]]
        assert names and len(one[1]) == len(other[1]), (old, new)
        assert of_columns(one, names) == of_columns(other, names), (old, new)
        types = [{f.name.lower(): f.dataType for f in tables.sql(q).schema.fields} for q in (old, new)]
        assert [types[0][n] for n in names] == [types[1][n] for n in names], (old, new)


def test_what_counts_as_the_same_gives_the_same(tables: SparkSession) -> None:
    """Over all pairs of all queries here: where two count as the same in some columns, Spark gives the same in those.
    Most pairs that are made to differ do."""
    different = 0
    for old, new in OTHER:
        one, other = result(tables, old), result(tables, new)
        different += one[0] != other[0] or Counter(one[1]) != Counter(other[1])
    assert different > 0.8 * len(OTHER)
    queries = dict.fromkeys(q for pairs in (*SAME.values(), OTHER) for pair in pairs for q in pair)
    by_rows: dict[str, list[str]] = {}
    for query in queries:
        if (signature := signature_of(query)) is not None:
            by_rows.setdefault(signature.rows, []).append(query)
    compared = 0
    for alike in by_rows.values():
        for index, old in enumerate(alike):
            for new in alike[index + 1 :]:
                before, after = signature_of(old), signature_of(new)
                assert before is not None and after is not None and not change_between(before, after).rows
                names = [c for c, text in before.columns.items() if after.columns.get(c) == text]
                compared += bool(names)
                one, other = result(tables, old), result(tables, new)
                assert of_columns(one, names) == of_columns(other, names), (old, new)
    assert compared > 100


def test_functions_are_what_they_are_listed_as(spark: SparkSession) -> None:
    """Spark has each of them, as the aggregate, window function or plain function that it is listed as."""
    registry: Any = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()  # pyright: ignore
    identifier: Any = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # pyright: ignore
    special = {"agg_funcs": functions.AGGREGATE, "window_funcs": functions.WINDOW_ONLY}
    plain = functions.SCALAR | functions.NAMES_ITS_FIELDS | functions.CLOCKS
    for name in sorted(functions.KNOWN):
        group = registry.lookupFunction(identifier.apply(name.lower())).get().getGroup()
        assert name in special.get(group, plain), (name, group)
        assert group != "generator_funcs"
    assert not functions.SCALAR & (
        functions.AGGREGATE | functions.WINDOW_ONLY | functions.GENERATORS | functions.CLOCKS
    )


def test_which_texts_are_the_clock(spark: SparkSession) -> None:
    """Constants that Spark computes first, also the outcome of a call; what comes out of a
    subquery, a UNION or an array is no date at all."""
    words = ["now", " Today ", "tomorrow UTC", "yesterday+01:00", "epoch", "nowUTC", "today()", "infinity", "todayx"]
    casts = [f"TRY_CAST('{w}' AS DATE)" for w in words]
    calls = [
        "replace('2today', '2', '')",
        "CAST(X'746F646179' AS STRING)",
        "named_struct('a', 'today').a",
        "'to' || 'day'",
    ]
    casts += [f"TRY_CAST({c} AS DATE)" for c in calls] + [
        "TRY_CAST(d AS DATE)",
        "TRY_CAST(array('today') AS ARRAY<DATE>)[0]",
    ]
    row = spark.sql(f"SELECT {', '.join(casts)} FROM (SELECT 'today' AS d UNION ALL SELECT 'today')").first()
    assert row is not None
    year = date.today().year
    found = [None if d is None else "clock" if abs(d.year - year) < 2 else "constant" for d in row]
    assert found == ["clock"] * 4 + ["constant"] + [None] * 4 + ["clock"] * 4 + [None] * 2


def test_a_query_is_what_it_says(spark: SparkSession) -> None:
    """Spark would put the environment into its text."""
    row = spark.sql("SELECT '${env:HOME}' AS home, '${name}' AS name").first()
    assert row is not None and tuple(row) == ("${env:HOME}", "${name}")
