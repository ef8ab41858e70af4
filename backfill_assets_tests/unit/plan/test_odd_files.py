"""What does a plan say of files that lack a column, or have it as another type than the others?"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.model import Column, ColumnRef, Project, Signature
from backfill_assets.plan.odd_files import NANOSECONDS, FileColumns, odd_files
from backfill_assets.plan.stages import Plan
from backfill_assets_tests.fakes import World, a_model, days, ranges

WRITTEN = utc("2024-02-01")


def a_file(name: str, day: str | None, **columns: str | None) -> FileColumns:
    """Written in the order of the names."""
    span = None if day is None else ranges(days(day, day)) if day else Ranges()
    return FileColumns(name=name, days=span, written=WRITTEN + timedelta(hours=ord(name[0])), columns=columns)


def planned(format: str = "parquet", *columns: tuple[str, str], reads: str = "amount") -> tuple[Project, Plan]:
    """A model that reads `reads` of a source in the first ten days of 2024."""
    world = World(a_model("d", "raw"))
    declared = tuple(Column(name=name, type=type_) for name, type_ in columns or (("id", "int"), ("Amount", "double")))
    source = replace(world.project.sources["raw"], format=format, columns=declared, line=7)
    refs = frozenset(ColumnRef(table="raw", column=name) for name in reads.split())
    signature = Signature(rows="", columns={}, column_reads={"x": refs})
    project = replace(world.project, sources={"raw": source}, signatures={"d": signature})
    return project, world.plan()


def told(files: list[FileColumns], *declared: tuple[str, str], reads: str = "amount", format: str = "parquet") -> str:
    project, plan = planned(format, *declared, reads=reads)
    return "\n".join(w.what for w in odd_files(project, plan, {"raw": files}))


OLD = a_file("a", "01", id="int", amount="double")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_newer_file_that_lacks_a_column(format: str) -> None:
    """Its rows would be NULL and published, without an error."""
    project, plan = planned(format)
    [found] = odd_files(project, plan, {"raw": [OLD, a_file("b", "02", id="int")]})
    assert found.what == "b of raw lacks the column Amount, which d reads: it is NULL in these rows"
    assert "such as a" in found.why and found.place == "sources.yml:7"


@pytest.mark.parametrize(
    "files",
    [
        [a_file("a", "01", id="int"), a_file("b", "02", id="int", amount="double")],
        [a_file("z", "01", id="int"), a_file("b", "02", id="int", amount="double")],
        [OLD, a_file("b", "02", amount="double")],
        [OLD, a_file("b", "31", id="int")],
        [OLD, a_file("b", "", id="int")],
        [a_file("a", "01", id="int")],
    ],
    ids=["it came later", "by rows", "nobody reads it", "of no day that is built", "no rows", "none has it"],
)
def test_what_is_in_order(files: list[FileColumns]) -> None:
    assert not told(files)


STRUCTS = [
    replace(a_file("a", "01", id="int", who=None), fields=frozenset({"who.name", "who.score"})),
    replace(a_file("b", "02", id="int", who=None), fields=frozenset({"who.name"})),
]


@pytest.mark.parametrize(("code", "said"), [("SELECT who.Score FROM raw", True), ("SELECT who.name FROM raw", False)])
@pytest.mark.parametrize("newer", [True, False])
def test_a_newer_file_that_lacks_a_field(code: str, said: bool, newer: bool) -> None:
    """It is NULL like a column that is gone; told where a model that reads the column names it."""
    project, plan = planned("parquet", ("id", "int"), ("Who", "struct<name:string,score:int>"), reads="who")
    project = replace(project, models={"d": replace(project.models["d"], code=code)})
    files = STRUCTS if newer else [replace(f, days=ranges(days(d))) for f, d in zip(STRUCTS, ("02", "01"), strict=True)]
    found = [w.what for w in odd_files(project, plan, {"raw": files})]
    wanted = "b of raw lacks the field who.score, which d reads: it is NULL in these rows"
    assert found == ([wanted] if said and newer else [])


def test_fields_that_the_same_files_lack_are_told_together() -> None:
    """Of a wide struct there may be hundreds; a column of that name is no field."""
    project, plan = planned("parquet", ("id", "int"), ("Who", "struct<name:string,score:int>"), reads="who")
    older, newer = (replace(file, fields=frozenset(f)) for file, f in zip(STRUCTS, (
        {"who.name", "who.score", "who.age", "who.id"}, {"who.city"}), strict=True))  # fmt: skip
    code = "SELECT id, who.score + who.`age`, col('who')['name'] FROM raw"
    project = replace(project, models={"d": replace(project.models["d"], code=code)})
    [found] = odd_files(project, plan, {"raw": [older, newer]})
    assert found.what.startswith("b of raw lacks the fields who.age, who.name, who.score, which d reads")


def test_where_files_say_no_days_they_are_told_apart_by_when_they_were_written() -> None:
    files = [a_file("a", None, id="int", amount="double"), a_file("b", None, id="int"), a_file("c", None, id="int")]
    assert told(files).startswith("b, c of raw lack the column Amount")
    assert not told([a_file("a", None, id="int"), a_file("b", None, id="int", amount="double")])


def test_a_model_that_cannot_be_taken_apart_may_read_all() -> None:
    assert told([OLD, a_file("b", "02", id="int")], reads="")


WIDER = [OLD, a_file("b", "02", id="bigint", amount="double")]


def test_a_type_that_spark_would_refuse_as_it_took_another_files() -> None:
    project, plan = planned(reads="id")
    [found] = odd_files(project, plan, {"raw": WIDER})
    assert found.what == "b of raw cannot be read by d: id is bigint there, and int is read"
    assert found.why.startswith("Spark takes the types of a for those of all files")
    assert found.fix.startswith("declare `id: bigint` in sources.yml:7")


def test_a_wider_type_that_is_declared() -> None:
    assert not told(WIDER, ("id", "bigint"), reads="id")
    assert not told(WIDER[::-1], reads="id"), "as it is where the first file has it"


def test_types_of_which_none_is_wider() -> None:
    project, plan = planned(reads="id")
    [found] = odd_files(project, plan, {"raw": [OLD, a_file("b", "02", id="string", amount="double")]})
    assert "id is string there, and int is read" in found.what and found.fix.startswith("write the file again")


def test_types_that_are_told_beside_a_gap() -> None:
    """A column that files lacked, and that came back as another type: both are said."""
    project, plan = planned(reads="amount")
    files = [OLD, a_file("b", "02", id="int"), a_file("c", "03", id="int", amount="decimal(9,2)")]
    gap, other = odd_files(project, plan, {"raw": files})
    assert gap.what.startswith("b of raw lacks the column Amount")
    assert other.what.startswith("c of raw cannot be read by d: Amount is decimal(9,2) there, and double is read")


def test_a_type_that_is_wider_than_each_is_proposed() -> None:
    """Also where no file has it; none where types are stored and meant alike."""
    project, plan = planned(reads="id")
    [found] = odd_files(project, plan, {"raw": [OLD, a_file("b", "02", id="decimal(9,2)", amount="double")]})
    assert found.fix.startswith("declare `id: decimal(12,2)` in sources.yml:7")
    zones = [a_file("a", "01", id="timestamp"), a_file("b", "02", id="timestamp_ntz")]
    project, plan = planned("parquet", ("id", "timestamp"), reads="id")
    assert odd_files(project, plan, {"raw": zones}) == ()


def test_the_first_file_may_be_the_odd_one() -> None:
    """Where more files have the declared type; what is declared as varchar is read as the text that it is."""
    project, plan = planned(reads="amount")
    files = [a_file("a", "01", amount="decimal(9,2)"), *(a_file(n, "02", amount="double") for n in "bc")]
    [found] = odd_files(project, plan, {"raw": files})
    assert found.what == "a of raw cannot be read by d: Amount is decimal(9,2) there, and double is read"
    project, plan = planned("parquet", ("amount", "varchar(10)"), reads="amount")
    assert odd_files(project, plan, {"raw": [a_file("a", "01"), a_file("b", "02", amount="string")]}) == ()


def test_numbers_without_a_sign() -> None:
    """They count as what Spark takes them for, and are told by their own name."""
    project, plan = planned("parquet", ("id", "int"), reads="id")
    [found] = odd_files(project, plan, {"raw": [a_file("a", "01", id="int"), a_file("b", "02", id="uint32")]})
    assert found.what == "b of raw cannot be read by d: id is uint32 there, and int is read"
    assert found.fix.startswith("declare `id: bigint`")
    project, plan = planned("parquet", ("id", "bigint"), reads="id")
    files = [a_file("a", "01", id="string"), *(a_file(name, "02", id="uint32") for name in "bc")]
    [found] = odd_files(project, plan, {"raw": files})
    assert found.what.startswith("a of raw cannot be read by d: id is string there, and bigint is read")
    files = [a_file("a", "01", id="uint32"), a_file("b", "02", id="string")]
    assert "id is string there, and bigint is read" in odd_files(project, plan, {"raw": files})[0].what


FINER = a_file("b", "02", id="int", amount="double", at=NANOSECONDS)


def test_nanoseconds_that_spark_refuses() -> None:
    """In a column that is read, or in any of the file that Spark takes the types of."""
    project, plan = planned("parquet", ("id", "int"), ("at", "timestamp"), reads="at")
    [found] = odd_files(project, plan, {"raw": [replace(FINER, name="a"), FINER]})
    assert found.what == "a, b of raw cannot be read by d: at has nanoseconds there" and found.place == "sources.yml:7"
    assert "coerce_timestamps='us'" in found.fix
    [found] = odd_files(project, plan, {"raw": [OLD, FINER]})
    assert found.what.startswith("b of raw cannot be read")
    assert "at has nanoseconds" in told([FINER], ("id", "int"), ("at", "timestamp"), reads="id")
    assert not told([OLD, FINER], ("id", "int"), ("at", "timestamp"), reads="id")


def test_quotes_that_are_read_otherwise() -> None:
    """Of a source that is read; its options say how they are meant."""
    project, plan = planned("csv")
    odd = replace(a_file("b", "02", id=None, amount=None), misread_quotes=True)
    [found] = odd_files(project, plan, {"raw": [a_file("a", "01", id=None, amount=None), odd]})
    assert found.what == 'b of raw writes a quote within quotes as `""`, which d reads otherwise'
    assert "add `escape: '\"'` to `options:` in sources.yml:7" in found.fix


def test_a_header_that_is_read_as_a_row() -> None:
    """Of a source that is read, in one warning; whatever else its files are not asked for."""
    project, plan = planned("csv")
    odd = replace(a_file("b", "02"), unsaid_header=True)
    [found] = odd_files(project, plan, {"raw": [a_file("a", "01"), odd]})
    assert found.what == "b of raw begins with the names of the columns, which d reads as a row"
    assert "add `header: true` to `options:` in sources.yml:7; `header: false` says" in found.fix


def test_values_that_are_read_otherwise() -> None:
    """Of columns that are read: the option that says how they are meant."""
    project, plan = planned("csv", ("id", "int"), ("amount", "decimal(9,2)"), reads="amount")
    odd = replace(a_file("b", "02", id=None, amount=None), broken_rows=True, commas=frozenset({"amount", "id"}))
    rows, comma = odd_files(project, plan, {"raw": [a_file("a", "01", id=None, amount=None), odd]})
    assert rows.what == "b of raw has quoted values that go on in the next line, which d reads as rows of their own"
    assert "add `multiLine: true` to `options:` in sources.yml:7" in rows.fix
    assert comma.what == (
        "b of raw writes amount with a decimal comma, which d reads otherwise: 12,50 as 1250, 1.234,56 as 1.23"
    )
    assert "add `locale: de-DE` (or whose numbers these are) to `options:` in sources.yml:7" in comma.fix


def test_numbers_that_are_rounded() -> None:
    """Of columns that are read."""
    project, plan = planned("csv", ("id", "int"), ("amount", "decimal(9,2)"), reads="amount")
    odd = replace(a_file("b", "02", id=None, amount=None), rounded=frozenset({"amount", "id"}))
    [found] = odd_files(project, plan, {"raw": [a_file("a", "01", id=None, amount=None), odd]})
    assert found.what == (
        "b of raw writes amount with more places after the point than decimal(9,2) has, which d reads rounded"
    )
    assert "declare `amount` with more places in sources.yml:7" in found.fix


def test_letters_of_another_encoding() -> None:
    """They are read as one and the same, whichever column is read."""
    project, plan = planned("csv", ("id", "int"), ("amount", "decimal(9,2)"), reads="amount")
    odd = replace(a_file("b", "02", id=None, amount=None), misencoded=True)
    [letters] = odd_files(project, plan, {"raw": [a_file("a", "01", id=None, amount=None), odd]})
    assert letters.what == (
        "b of raw has letters that are not UTF-8, which d reads as \ufffd: Müller is M\ufffdller in all rows"
    )
    assert "add `encoding: ISO-8859-1` to `options:` in sources.yml:7" in letters.fix
