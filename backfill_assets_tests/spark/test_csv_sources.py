"""Do values of CSV and JSON files get to their columns, and is a line that cannot be read refused?

What is expected is what Python's own readers make of the files.
"""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets.adapters.inputs import input_frame
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.spark_errors import as_build_error
from backfill_assets.build.engine import SourceInput
from backfill_assets.core.errors import BuildError
from backfill_assets.core.model import Column, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FILES = {
    "1.csv": 'at,k,net,vat\n2024-01-01 01:00:00,1,100.55,19.55\n2024-01-01 02:00:00,2,"7.00",\n',
    "2.csv": "\ufeffat,k,vat,net\r\n2024-01-02 01:00:00,1,57.00,300.00\r\n",
    "3.csv": 'note,"VAT",AT\n"a, b",1.10,2024-01-03 01:00:00\n',
    "4.csv": "",
    "5.csv": "at,k,net,vat\n",
}


def source(
    folder: Path, format: str = "csv", columns: str = "at timestamp, k int, net d, vat d", **options: str
) -> Source:
    kinds = {"d": "decimal(10,2)"}
    pairs = [pair.split(" ") for pair in columns.split(", ")]
    return Source(
        name="shop.bills",
        format=format,
        path=str(folder),
        columns=tuple(Column(name=name, type=kinds.get(type_, type_)) for name, type_ in pairs),
        options=({"header": "true"} if format == "csv" else {}) | options,
        file=Path("sources.yml"),
    )


def rows(spark: SparkSession, read: Source) -> list[dict[str, Any]]:
    frame = input_frame(spark, "", SourceInput(source=read, pin=FilePins().pin(read)))
    return sorted((row.asDict() for row in frame.collect()), key=str)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def by_python(folder: Path) -> list[dict[str, Any]]:
    """Each line by the names of its file's header."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.rglob("*.csv")):
        with file.open(encoding="utf-8-sig", newline="") as opened:
            for line in csv.DictReader(opened):
                said = {name.lower(): value for name, value in line.items()}
                money = {name: Decimal(said[name]) if said.get(name) else None for name in ("net", "vat")}
                found.append({"at": said["at"], "k": int(said["k"]) if said.get("k") else None, **money})
    return sorted(found, key=str)


@pytest.mark.parametrize("order", ["at timestamp, k int, net d, vat d", "vat d, at timestamp, net d, k int"])
def test_values_go_by_the_header_of_their_file(spark: SparkSession, tmp_path: Path, order: str) -> None:
    """Whatever the order in a file, and in `sources.yml`; a column that a file lacks is NULL."""
    folder = written(tmp_path, FILES)
    found = rows(spark, source(folder, columns=order))
    assert [list(row) for row in found] == [[pair.split(" ")[0] for pair in order.split(", ")]] * len(found)
    same = [{n: str(row[n]) if n == "at" else row[n] for n in ("at", "k", "net", "vat")} for row in found]
    assert sorted(same, key=str) == by_python(folder) and len(same) == 4


def test_a_folder_says_a_column(spark: SparkSession, tmp_path: Path) -> None:
    files = {
        "k=7/1.csv": "vat,at,net\n1.00,2024-01-01 01:00:00,2.00\n",
        "k=8/1.csv": "at,net,vat\n2024-01-02,3.00,4.00\n",
    }
    found = rows(spark, source(written(tmp_path, files)))
    assert [(row["k"], row["net"], row["vat"]) for row in found] == [
        (7, Decimal("2.00"), Decimal("1.00")),
        (8, Decimal("3.00"), Decimal("4.00")),
    ]


def test_folders_say_columns_whatever_their_order(spark: SparkSession, tmp_path: Path) -> None:
    """Beside one that nobody declared, and one that the file has as well: the folder's counts."""
    files = {
        "year=2024/month=01/day=7/1.csv": "at,k\n2024-01-01,1\n",
        "year=2024/month=02/day=8/2.csv": "k,month,at\n2,11,2024-02-02\n",
    }
    columns = "at timestamp, k int, month int, year int"
    found = rows(spark, source(written(tmp_path, files), columns=columns))
    assert [(row["at"].month, row["k"], row["month"], row["year"]) for row in found] == [
        (1, 1, 1, 2024),
        (2, 2, 2, 2024),
    ]


def test_by_places_where_the_author_says_so(spark: SparkSession, tmp_path: Path) -> None:
    files = {"1.csv": "Datum,Nr,Netto,USt\n2024-01-01 01:00:00,1,2.00,3.00\n"}
    [row] = rows(spark, source(written(tmp_path, files), enforceSchema="true"))
    assert (row["k"], row["net"], row["vat"]) == (1, Decimal("2.00"), Decimal("3.00"))


LINES = {
    "a day of another form": "05.01.2024 02:00:00,2,10.00,1.90",
    "a key that is no number": "2024-01-05 04:00:00,4x,10.00,1.90",
    "too many digits": "2024-01-05 04:00:00,4,1000000000000.00,1.90",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_that_cannot_be_read_is_refused(spark: SparkSession, tmp_path: Path, line: str) -> None:
    folder = written(tmp_path, FILES | {"6.csv": f"at,k,net,vat\n{line}\n"})
    with pytest.raises(Exception) as raised:
        rows(spark, source(folder))
    said = as_build_error(raised.value, "compute bills")
    assert isinstance(said, BuildError) and not said.divisible and not said.retryable
    assert "6.csv" in said.why and "mode: PERMISSIVE" in said.fix
    if "digits" not in line:
        assert len(rows(spark, source(folder, mode="PERMISSIVE"))) == 5
        assert len(rows(spark, source(folder, mode="DROPMALFORMED"))) == 4


@pytest.mark.parametrize("line", ['{"at":"2024-01-01T03:00:00Z","k":3,"net":3.00', '{"k":"three"}', '{"k":3000000000}'])
def test_json_that_cannot_be_read_is_refused(spark: SparkSession, tmp_path: Path, line: str) -> None:
    good = {"at": "2024-01-01T01:00:00Z", "k": 1, "net": 2.5, "more": [1]}
    folder = written(tmp_path, {"1.json": json.dumps(good) + "\n{}\n"})
    read = source(folder, "json")
    assert [row["k"] for row in rows(spark, read)] == [None, 1], "what lines lack is NULL"
    written(tmp_path, {"2.json": f"{line}\n"})
    with pytest.raises(Exception) as raised:
        rows(spark, read)
    said = as_build_error(raised.value, "compute bills")
    assert isinstance(said, BuildError) and "2.json" in said.why and "mode: PERMISSIVE" in said.fix


def test_lines_that_cannot_be_read_may_be_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Declared, `_corrupt_record` gets them."""
    folder = written(
        tmp_path, {"1.csv": "vat,at,net,k\nx,2024-01-01 01:00:00,2.00,1\n1.00,2024-01-02 01:00:00,2.00,1\n"}
    )
    columns = "at timestamp, k int, net d, vat d, _corrupt_record string"
    found = [row["_corrupt_record"] for row in rows(spark, source(folder, columns=columns))]
    assert sorted(found, key=str) == [None, "x,2024-01-01 01:00:00,2.00,1"]


def test_a_locale_says_what_a_comma_is(spark: SparkSession, tmp_path: Path) -> None:
    folder = written(tmp_path, {"1.csv": 'at,k,net,vat\n2024-01-01,1,"1.012,50",2\n'})
    [row] = rows(spark, source(folder, locale="de-DE"))
    assert row["net"] == Decimal("1012.50")
