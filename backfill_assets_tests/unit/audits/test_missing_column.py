"""A column that only an audit names, of a model whose columns nobody knew: refused before a row is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    LongType,
    NullType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from backfill_assets.adapters.version_table import create_version_table
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import a_model


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [("expression", {"expression": "id > gone"}), ("not_null", {"columns": ["Gone"]}), ("unique", {"columns": "gone"})],
)
def test_a_column_that_only_an_audit_names(tmp_path: Path, kind: str, arguments: dict[str, object]) -> None:
    """The error says which, and that the audits name it; no table is made. Case does not matter."""
    schema = StructType([StructField("ds", DateType()), StructField("ID", LongType())])
    model = a_model("m", audits=(Audit(name="check", kind=kind, arguments=arguments),))
    with pytest.raises(BuildError) as caught:
        create_version_table(Job(model=model, version="v", inputs={}), schema, str(tmp_path / "t"))
    assert "has no column" in caught.value.what and "`audits` names it" in caught.value.why
    assert not (tmp_path / "t").exists()
    fine = a_model("m", audits=(Audit(name="check", kind="not_null", arguments={"columns": ["id", "DS"]}),))
    assert create_version_table(Job(model=fine, version="v", inputs={}), schema, str(tmp_path / "t"))


def test_a_column_of_another_type_than_the_table_has(tmp_path: Path) -> None:
    """Nobody can say whether the declaration was edited: what helps in either case is told."""
    model = a_model("m", "raw", audits=())
    names = (model.time_column, *(g for g in model.grain if g != model.time_column))

    def table(type_: DataType) -> None:
        fields = [StructField(n, DateType() if n == model.time_column else LongType()) for n in names]
        schema = StructType([*fields, StructField("vat", type_)])
        create_version_table(Job(model=model, version="v", inputs={}), schema, str(tmp_path / "t"))

    table(DecimalType(10, 2))
    with pytest.raises(BuildError, match="m computes other columns than its version v has: vat") as told:
        table(DecimalType(10, 0))
    assert "without" not in told.value.why and "of other types" in told.value.why
    assert "as they are now" in told.value.fix and "as they were then" in told.value.fix


@pytest.mark.parametrize(
    ("type_", "said", "why"),
    [
        (DayTimeIntervalType(), "is interval day to second", "no intervals of time"),
        (StructType([StructField("took", YearMonthIntervalType())]), "is struct<took:interval year to", "no intervals"),
        (StringType("UNICODE_CI"), "is string collate UNICODE_CI", "no collations"),
        (ArrayType(StringType("UTF8_LCASE")), "is array<string collate UTF8_LCASE>", "no collations"),
        (NullType(), "has no type", "it is always NULL"),
        (ArrayType(NullType()), "has no type", "it is array<void>"),
    ],
)
def test_a_type_that_no_table_holds(tmp_path: Path, type_: DataType, said: str, why: str) -> None:
    """Before any batch: each would fail by itself, with Delta's words."""
    schema = StructType([StructField("ds", DateType()), StructField("x", type_)])
    with pytest.raises(BuildError, match="column x of m") as refused:
        create_version_table(
            Job(model=a_model("m", audits=(), grain=("ds",)), version="v", inputs={}), schema, str(tmp_path / "t")
        )
    assert said in refused.value.what and why in refused.value.why and not (tmp_path / "t").exists()


def test_a_type_that_is_not_the_declared_one(tmp_path: Path) -> None:
    """Plans go by it, as where a join compares a key by its type. A table that an earlier release made goes on, and so
    do copies of what is there."""
    model = a_model("m", audits=(), grain=("ds",), language="python", promised={"DS": "date", "k": "bigint"})

    def create(kind: DataType, *, promised: bool = True) -> None:
        schema = StructType([StructField("ds", DateType()), StructField("K", kind)])
        job = Job(model=model, version="v", inputs={})
        create_version_table(job, schema, str(tmp_path / str(promised)), promised=promised)

    with pytest.raises(BuildError, match=r"column k of m is declared bigint, and is decimal\(18,2\)") as refused:
        create(DecimalType(18, 2))
    assert '`type: "decimal(18,2)"`' in refused.value.fix and "cast it to bigint" in refused.value.fix
    assert not list(tmp_path.iterdir())
    create(DecimalType(18, 2), promised=False)
    create(LongType())
    model = replace(model, promised={"k": "int"})
    create(LongType())


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("varchar(10)", StringType()),
        ("array<char(3)>", ArrayType(StringType())),
        ("struct<`a b`:int,c:string>", StructType([StructField("A b", IntegerType()), StructField("c", StringType())])),
    ],
)
def test_types_that_a_table_does_not_tell_apart(tmp_path: Path, declared: str, kind: DataType) -> None:
    """A length, and the letters and quotes of a field's name: no declaration could be another one."""
    model = a_model("m", audits=(), grain=("ds",), promised={"k": declared})
    schema = StructType([StructField("ds", DateType()), StructField("k", kind)])
    assert create_version_table(Job(model=model, version="v", inputs={}), schema, str(tmp_path / "t"), promised=True)


def test_columns_that_are_made_from_values(tmp_path: Path) -> None:
    """No declaration helps where a Python model pivots by whatever a batch has: its values do."""

    def table(language: str, shop: str) -> None:
        model = a_model("m", audits=(), grain=("ds",), language=language)
        schema = StructType([StructField("ds", DateType()), StructField(shop, LongType())])
        create_version_table(Job(model=model, version="v", inputs={}), schema, str(tmp_path / language))

    for language, told in (("python", True), ("sql", False)):
        table(language, "berlin")
        with pytest.raises(BuildError, match="other columns than its version v has: berlin, paris") as refused:
            table(language, "paris")
        assert ("pivot" in refused.value.why) is told
        assert ('`.pivot("shop", ["a", "b"])`' in refused.value.fix) is told
