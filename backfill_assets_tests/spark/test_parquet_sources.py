"""Are Parquet and ORC files read together that have a column as several types, or not all of the columns?"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters.inputs import input_frame
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.spark_errors import as_build_error
from backfill_assets.build.engine import SourceInput
from backfill_assets.core.errors import DataError
from backfill_assets.core.model import Column, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DAY = dt.date(2024, 1, 2)
WIDER = [
    (pa.int32(), pa.int64(), "bigint", 7, 2**40),
    (pa.int16(), pa.int32(), "int", -7, 70_000),
    (pa.float32(), pa.float64(), "double", 0.5, 0.1),
    (pa.int32(), pa.float64(), "double", 7, 0.25),
    (pa.int32(), pa.decimal128(14, 2), "decimal(14,2)", 7, Decimal("1.25")),
    (pa.decimal128(5, 2), pa.decimal128(12, 4), "decimal(12,4)", Decimal("-1.25"), Decimal("99999.0001")),
    (pa.date32(), pa.timestamp("us"), "timestamp_ntz", DAY, dt.datetime(2024, 1, 3, 4)),
]


def frame(spark: SparkSession, folder: Path, format: str = "parquet", **columns: str) -> DataFrame:
    read = Source(
        name="shop.bills",
        format=format,
        path=str(folder),
        columns=tuple(Column(name=name, type=type_) for name, type_ in columns.items()),
        file=Path("sources.yml"),
    )
    return input_frame(spark, "", SourceInput(source=read, pin=FilePins().pin(read)))


def written(folder: Path, name: str, **columns: pa.Array) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (po if name.endswith(".orc") else pq).write_table(pa.table(columns), folder / name)
    return folder


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize(("narrow", "wide", "type_", "few", "much"), WIDER)
def test_a_declared_wider_type_is_read(
    spark: SparkSession,
    tmp_path: Path,
    narrow: pa.DataType,
    wide: pa.DataType,
    type_: str,
    few: Any,
    much: Any,
    vectorized: str,
) -> None:
    """Whichever file Spark looked into; values are found by a condition as well, which Parquet's reader knows of."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    narrow_first = written(tmp_path / "n", "1.parquet", c=pa.array([few, None], narrow))
    written(narrow_first, "2.parquet", c=pa.array([much, None], wide))
    wide_first = written(tmp_path / "w", "1.parquet", c=pa.array([much, None], wide))
    written(wide_first, "2.parquet", c=pa.array([few, None], narrow))
    wanted = {dt.datetime(2024, 1, 2) if few == DAY else few, much, None}
    for folder in (narrow_first, wide_first):
        found = frame(session, folder, C=type_)
        assert {row[0] for row in found.collect()} == wanted
        assert found.dtypes == [("c", type_)]
        assert [row[0] for row in found.where(found["c"] == much).collect()] == [much]


def test_a_column_that_only_some_files_have(spark: SparkSession, tmp_path: Path) -> None:
    """It is NULL in the others, also where Spark looked into one of these; folders say the day."""
    folder = written(tmp_path, "ds=2024-01-01/1.parquet", id=pa.array([1], pa.int32()))
    written(folder, "ds=2024-01-02/2.parquet", ID=pa.array([2], pa.int64()), extra=pa.array(["x"]))
    found = frame(spark, folder, ds="date", id="bigint", Extra="string")
    rows = sorted((row["id"], row["Extra"], str(row["ds"])) for row in found.collect())
    assert rows == [(1, None, "2024-01-01"), (2, "x", "2024-01-02")]


def test_inside_of_nested_types(spark: SparkSession, tmp_path: Path) -> None:
    for name, kind in (("1.parquet", pa.int32()), ("2.parquet", pa.int64())):
        of = pa.array([{"a": 1, "l": [2, None]}, None], pa.struct([("a", kind), ("l", pa.list_(kind))]))
        written(tmp_path, name, s=of)
    found = frame(spark, tmp_path, s="struct<a:bigint,l:array<bigint>>")
    assert [row["s"] and row["s"].asDict() for row in found.collect()] == [{"a": 1, "l": [2, None]}, None] * 2


INSTANT = dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC)
OTHERS = [
    (pa.int32(), 5, pa.decimal128(9, 2), Decimal("12.50"), None),
    (pa.int64(), 5, pa.decimal128(18, 2), Decimal("12.50"), None),
    (pa.int64(), 5, pa.timestamp("us", "UTC"), INSTANT, None),
    (pa.int32(), 5, pa.date32(), DAY, None),
    (pa.date32(), DAY, pa.int32(), 5, None),
    (pa.int16(), 5, pa.int32(), 70_000, None),
    (pa.int32(), 5, pa.uint32(), 2**31, None),
    (pa.int32(), 5, pa.decimal128(9, 2), Decimal("12.50"), "double"),
    (pa.int64(), 5, pa.decimal128(18, 2), Decimal("12.50"), "decimal(20,2)"),
    (pa.decimal128(9, 2), Decimal("12.50"), pa.int32(), 5, None),
    (pa.int32(), 5, pa.string(), "5", None),
]


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize(("older", "few", "newer", "much", "declared"), OTHERS)
def test_files_of_another_type_are_not_read_as_something_else(
    spark: SparkSession,
    tmp_path: Path,
    older: pa.DataType,
    few: Any,
    newer: pa.DataType,
    much: Any,
    declared: str | None,
    vectorized: str,
) -> None:
    """Spark reads 12.50 as 1250, and a date as the number of its day, where both are stored alike. Whoever needs such a
    value is refused, with the file; other rows, and other columns of these, are read."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    for number, kind, value in ((1, older, few), (2, newer, much)):
        at, values = pa.array([number], pa.int32()), pa.array([value], kind)
        place = written(tmp_path, f"{number}.parquet", at=at)
        pq.write_table(pa.table({"at": at, "c": values}), place / f"{number}.parquet", store_decimal_as_integer=True)
    types = {"at": "int"} | ({"c": declared} if declared else {})
    found = frame(session, tmp_path, **types)
    assert [row["c"] for row in found.where("at < 2").collect()] == [few]
    assert sorted(row[0] for row in found.select("at").collect()) == [1, 2] and found.count() == 2
    for asked in (found, found.where("at = 2"), found.where("c IS NULL"), found.selectExpr("count(c)")):
        with pytest.raises(Exception, match="SOURCE_FILE_OF_ANOTHER_TYPE") as raised:
            asked.collect()
        said = as_build_error(raised.value, "build a 2024-01-02")
        assert isinstance(said, DataError), "rows of other files can be computed"
        assert said.why.startswith("c is ") and " in 2.parquet of shop.bills, and " in said.why


WITHIN = {
    "struct": (lambda kind: pa.struct([("a", kind)]), lambda value: {"a": value}, "c.a"),
    "struct in a struct": (lambda kind: pa.struct([("s", pa.struct([("A", kind), ("b", pa.int32())]))]),
                           lambda value: {"s": {"A": value, "b": 3}}, "c.s.a"),
    "array": (pa.list_, lambda value: [value, value], "c.element"),
    "array of structs": (lambda kind: pa.list_(pa.struct([("a", kind)])), lambda value: [{"a": value}], "c.element.a"),
    "map": (lambda kind: pa.map_(pa.string(), kind), lambda value: [("k", value)], "c.value"),
    "array in a struct": (lambda kind: pa.struct([("l", pa.list_(kind)), ("b", pa.int32())]),
                          lambda value: {"l": [value], "b": 3}, "c.l.element"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "older", "few", "newer", "much"),
    [
        ("parquet", *OTHERS[0][:4]),
        ("parquet", pa.date32(), DAY, pa.int32(), 5),
        ("parquet", pa.int16(), 5, pa.int32(), 70_000),
        ("orc", *OTHERS[0][:4]),
    ],
)
@pytest.mark.parametrize("shape", WITHIN)
def test_values_of_another_type_within_others(
    spark: SparkSession,
    tmp_path: Path,
    name: str,
    older: pa.DataType,
    few: Any,
    newer: pa.DataType,
    much: Any,
    shape: str,
) -> None:
    """Spark reads them as it reads columns: 12.50 as 1250, and of ORC 12, or NULL."""
    kind, value, way = WITHIN[shape]
    for number, type_, each in ((1, older, few), (2, newer, much)):
        table = pa.table({"at": pa.array([number], pa.int32()), "c": pa.array([value(each)], kind(type_))})
        if name == "orc":
            po.write_table(table, tmp_path / f"{number}.orc")
        else:
            pq.write_table(table, tmp_path / f"{number}.parquet", store_decimal_as_integer=True)
    found = frame(spark, tmp_path, name, at="int")
    assert len(found.where("at < 2").select("c").collect()) == 1 and found.count() == 2
    for asked in (found, found.where("at = 2"), found.selectExpr("to_json(struct(c))")):
        with pytest.raises(Exception, match=rf"{way} is .* in 2\.{name} of shop\.bills, and .* is read"):
            asked.collect()


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_the_rest_of_a_struct_is_read(spark: SparkSession, tmp_path: Path, vectorized: str) -> None:
    """In its order, NULL where it is NULL; whoever does not need the value never notices that it has another type."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    for number, type_, net in ((1, pa.int32(), 5), (2, pa.decimal128(9, 2), Decimal("12.50"))):
        inner = pa.struct([("net", type_), ("x.y", pa.string()), ("only", pa.struct([("v", type_)]))])
        kind = pa.struct([("id", pa.int32()), ("in`ner", inner), ("last", pa.int32())])
        full = {"id": number, "in`ner": {"net": net, "x.y": "z", "only": {"v": net}}, "last": 9}
        values = pa.array([full, None, full | {"in`ner": None}], kind)
        table = pa.table({"at": pa.array([number] * 3, pa.int32()), "c": values})
        pq.write_table(table, tmp_path / f"{number}.parquet", store_decimal_as_integer=True)
    found = frame(session, tmp_path, at="int")
    [one] = {str(f.dataType) for f in found.schema if f.name == "c"}
    assert one == str(spark.read.parquet(str(tmp_path / "1.parquet")).schema["c"].dataType)
    asked = found.selectExpr("at", "c.id", "c.last", "c.`in``ner`.`x.y`")
    rows = sorted(str(tuple(row)) for row in asked.collect())
    lines = ("({at}, None, None, None)", "({at}, {at}, 9, 'z')", "({at}, {at}, 9, None)")
    assert rows == sorted(line.format(at=at) for at in (1, 2) for line in lines)
    for needed in ("c.`in``ner`.net", "c.`in``ner`.only", "c.`in``ner`", "c"):
        with pytest.raises(Exception, match="SOURCE_FILE_OF_ANOTHER_TYPE"):
            found.where("at = 2").select(needed).collect()
        assert len(found.where("at = 1").select(needed).collect()) == 3


@pytest.mark.parametrize(("wide", "odd"), [(600, 1), (5, 600)])
def test_structs_of_very_many_fields(spark: SparkSession, tmp_path: Path, wide: int, odd: int) -> None:
    """The JVM goes as deep as an expression is: whoever needs none of it never notices."""
    for number, type_, net in ((1, pa.int32(), 5), (2, pa.decimal128(9, 2), Decimal("12.50"))):
        fields = [(f"f{n}", pa.int32()) for n in range(wide)] + [(f"net{n}", type_) for n in range(odd)]
        value = {f"f{n}": n for n in range(wide)} | {f"net{n}": net for n in range(odd)}
        table = pa.table({"at": pa.array([number], pa.int32()), "c": pa.array([value], pa.struct(fields))})
        pq.write_table(table, tmp_path / f"{number}.parquet", store_decimal_as_integer=True)
    found = frame(spark, tmp_path, at="int")
    assert sorted(row["at"] for row in found.select("at").collect()) == [1, 2]
    assert [row[0] for row in found.where("at = 1").select("c.net0").collect()] == [5]
    with pytest.raises(Exception, match=r"c\.net0 is decimal\(9,2\) in 2\.parquet"):
        found.select("c.net0").collect()


def test_fields_beside_of_types_that_are_not_known_here(spark: SparkSession, tmp_path: Path) -> None:
    """They are read: texts by a dictionary, large ones, and what is alone beside an array."""
    for number, type_, net in ((1, pa.int32(), 5), (2, pa.decimal128(9, 2), Decimal("12.50"))):
        kind = pa.struct([("net", type_), ("blob", pa.large_binary())])
        alone = pa.struct([("items", pa.list_(pa.struct([("net", type_), ("b", pa.int32())])))])
        columns = {
            "at": pa.array([number], pa.int32()),
            "c": pa.array([{"net": net, "blob": b"x"}], kind),
            "d": pa.array([{"items": [{"net": net, "b": 3}]}], alone),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet", store_decimal_as_integer=True)
    found = frame(spark, tmp_path, at="int")
    assert [bytes(row[0]) for row in found.select("c.blob").collect()] == [b"x", b"x"]
    for needed, way in (("c.net", "c.net"), ("d.items.b", "d.items.element.net"), ("d", "d.items.element.net")):
        with pytest.raises(Exception, match=rf"{way} is decimal\(9,2\) in 2\.parquet"):
            found.select(needed).collect()


@pytest.mark.parametrize("odd", [pa.array([Decimal("12.50")], pa.decimal128(9, 2)), pa.array([12.9])])
def test_the_first_file_may_be_the_odd_one(spark: SparkSession, tmp_path: Path, odd: pa.Array) -> None:
    """Where more files have the type that is declared: 12 was read of its 12.50, and the others were refused."""
    for number, values in ((1, odd), (2, pa.array([7], pa.int32())), (3, pa.array([8], pa.int32()))):
        columns = {"at": pa.array([number], pa.int32()), "c": values}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet", store_decimal_as_integer=True)
    found = frame(spark, tmp_path, at="int", c="int")
    assert sorted(row["c"] for row in found.where("at > 1").collect()) == [7, 8]
    with pytest.raises(Exception, match=r"in 1\.parquet of shop\.bills, and int is read"):
        found.collect()


def test_texts_with_a_collation(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 'x' COLLATE UTF8_LCASE AS c").write.parquet(str(tmp_path / "data"))
    assert frame(spark, tmp_path / "data").where("c = 'X'").count() == 1


def test_files_of_types_that_are_stored_and_meant_alike(spark: SparkSession, tmp_path: Path) -> None:
    """They are read as before."""
    for name, plain, zone, text in (
        ("1", pa.int32(), "UTC", pa.string()),
        ("2", pa.decimal128(9, 0), None, pa.binary()),
    ):
        columns = {
            "n": pa.array([7], plain),
            "at": pa.array([INSTANT if zone else INSTANT.replace(tzinfo=None)], pa.timestamp("us", zone)),
            "t": pa.array(["x" if text == pa.string() else b"x"], text),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", store_decimal_as_integer=True)
    rows = frame(spark, tmp_path, n="int", at="timestamp", t="string").selectExpr("n", "CAST(at AS STRING)", "t")
    assert [tuple(row) for row in rows.collect()] == [(7, "2024-01-02 03:00:00", "x")] * 2


def test_another_declared_type_is_cast_as_before(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, "1.parquet", k=pa.array(["07"]), n=pa.array([2**40]))
    found = frame(spark, tmp_path, k="int", n="double")
    assert (found.dtypes, list(map(tuple, found.collect()))) == ([("k", "int"), ("n", "double")], [(7, 2.0**40)])


def test_orc_files(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's ORC reader made another number of one that is too large for the type of the file that it looked into."""
    written(tmp_path, "1.orc", id=pa.array([1], pa.int32()))
    written(tmp_path, "2.orc", id=pa.array([2**40], pa.int64()))
    assert {row[0] for row in frame(spark, tmp_path, "orc", id="bigint").collect()} == {1, 2**40}


@pytest.mark.parametrize(
    ("older", "few", "newer", "much"),
    [
        (pa.int32(), 5, pa.int64(), 2**40),
        (pa.int32(), 5, pa.decimal128(9, 2), Decimal("12.50")),
        (pa.int64(), 5, pa.float64(), 12.5),
    ],
)
def test_orc_files_of_another_type(
    spark: SparkSession, tmp_path: Path, older: pa.DataType, few: Any, newer: pa.DataType, much: Any
) -> None:
    """Spark made NULL, and 12, of the newer ones."""
    written(tmp_path, "1.orc", at=pa.array([1], pa.int32()), c=pa.array([few], older))
    written(tmp_path, "2.orc", at=pa.array([2], pa.int32()), c=pa.array([much], newer))
    found = frame(spark, tmp_path, "orc", at="int")
    assert [row["c"] for row in found.where("at < 2").collect()] == [few]
    with pytest.raises(Exception, match="SOURCE_FILE_OF_ANOTHER_TYPE"):
        found.collect()


def test_orc_files_that_are_converted(spark: SparkSession, tmp_path: Path) -> None:
    """With the same value, they are read as before."""
    written(tmp_path, "1.orc", s=pa.array(["x"]), d=pa.array([0.5]), n=pa.array([Decimal("1.25")], pa.decimal128(9, 2)))
    small = {"s": pa.array([5]), "d": pa.array([Decimal("1.20")], pa.decimal128(9, 2)), "n": pa.array([7], pa.int16())}
    written(tmp_path, "2.orc", **small)
    rows = {tuple(row) for row in frame(spark, tmp_path, "orc", s="string", d="double", n="decimal(9,2)").collect()}
    assert rows == {("x", 0.5, Decimal("1.25")), ("5", 1.2, Decimal("7.00"))}


def test_orc_instants_without_a_zone(spark: SparkSession, tmp_path: Path) -> None:
    """Arrow says another type of them than Spark, which reads no such type from ORC: they are cast, as before."""
    written(tmp_path, "1.orc", at=pa.array([dt.datetime(2024, 1, 2, 3)], pa.timestamp("us")))
    rows = frame(spark, tmp_path, "orc", at="timestamp_ntz").selectExpr("CAST(at AS STRING)").collect()
    assert [row[0] for row in rows] == ["2024-01-02 03:00:00"]
