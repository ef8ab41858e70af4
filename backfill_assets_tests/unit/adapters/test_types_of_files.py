"""Files by what of them is not read as it is; without Spark, whose part is `spark/test_parquet_sources.py`."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from backfill_assets.adapters.parquet_footer import parquet_footer
from backfill_assets.adapters.source_files import SourceFile, files_at
from backfill_assets.adapters.types_of_files import MARK, other_type_text, types_of_files
from backfill_assets.core.errors import TransientBuildError
from backfill_assets.core.model import Source

READ = {"id": "bigint", "net": "int", "at": "timestamp"}
AT = pa.array([datetime(2024, 1, 2, tzinfo=UTC)])
PLAIN = {"id": pa.array([1], pa.int64()), "net": pa.array([2], pa.int32()), "at": AT}
NET = pa.array([Decimal("12.50")], pa.decimal128(9, 2))


def source(folder: Path, format: str = "parquet") -> Source:
    return Source(name="shop.bills", format=format, path=str(folder), time_column="at", file=Path("sources.yml"))


def written(folder: Path, name: str, **columns: pa.Array) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (po if name.endswith(".orc") else pq).write_table(pa.table(columns), folder / name)


def told(folder: Path, format: str = "parquet", **read: str) -> dict[str, tuple[tuple[str, str], ...]]:
    ways = {tuple(name.split(".")): type_ for name, type_ in (READ | read).items()}
    found = types_of_files(source(folder, format), files_at(str(folder))).by_others(ways)
    return {
        "/".join(file.inside): tuple((".".join(way), type_) for way, type_ in others)
        for others, files in found.items()
        for file in files
    }


@pytest.mark.parametrize(
    ("columns", "others"),
    [
        ({}, ()),
        ({"ID": pa.array([1], pa.int32()), "extra": NET}, ()),
        ({"at": pa.array([datetime(2024, 1, 2)], pa.timestamp("us"))}, ()),
        ({"NET": NET}, (("net", "decimal(9,2)"),)),
        ({"net": pa.array([1], pa.int64()), "id": pa.array(["1"])}, (("id", "string"), ("net", "bigint"))),
        ({"net": pa.array([1], pa.uint32())}, (("net", "uint32"),)),
        ({"net": pa.array([1], pa.uint16())}, ()),
        ({"net": pa.array([[1]])}, ()),  # Spark refuses it
    ],
    ids=["as all", "narrower", "stored alike", "decimal", "two", "without a sign", "small", "nested"],
)
def test_what_of_a_file_is_not_read_as_it_is(
    tmp_path: Path, columns: dict[str, pa.Array], others: tuple[tuple[str, str], ...]
) -> None:
    written(tmp_path, "1.parquet", **PLAIN)
    left = {name: values for name, values in PLAIN.items() if name not in {c.lower() for c in columns}}
    written(tmp_path, "2.parquet", **left, **columns)
    assert told(tmp_path) == {"1.parquet": (), "2.parquet": others}


def test_what_a_folder_says_counts(tmp_path: Path) -> None:
    written(tmp_path, "net=3/1.parquet", **PLAIN | {"net": NET})
    assert told(tmp_path) == {"net=3/1.parquet": ()}


@pytest.mark.parametrize("read", ["string collate UTF8_LCASE", "interval day to second", "array<int>", "time(6)"])
def test_types_that_nobody_here_knows_are_left_to_spark(tmp_path: Path, read: str) -> None:
    written(tmp_path, "1.parquet", **PLAIN | {"net": pa.array(["x"])})
    assert told(tmp_path, net=read) == {"1.parquet": ()}


def test_decimals_without_places_may_be_stored_as_whole_numbers(tmp_path: Path) -> None:
    """As Spark writes them; another writer's are refused by Spark."""
    written(tmp_path, "1.parquet", **PLAIN | {"net": NET.cast(pa.decimal128(9, 0), safe=False)})
    assert told(tmp_path) == {"1.parquet": ()}


@pytest.mark.parametrize("name", ["1.parquet", "1.orc"])
def test_a_file_that_cannot_be_read_just_now(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch fails, for now: nothing is concluded of the file, and nothing is remembered."""
    written(tmp_path, name, **PLAIN | {"net": NET})
    format = name.partition(".")[2]

    @contextmanager
    def refused(_: object) -> Generator[None]:
        raise OSError(errno.EMFILE, "Too many open files")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(SourceFile, "opened", refused)
        with pytest.raises(TransientBuildError, match="cannot be looked into"):
            told(tmp_path, format)
        if format == "parquet":
            assert parquet_footer(files_at(str(tmp_path))[0], "at") is None, "a plan goes on"
    assert told(tmp_path, format) == {name: (("net", "decimal(9,2)"),)}


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_a_file_that_is_closed_or_gone_says_nothing(
    tmp_path: Path, error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of some day: batches of other days do not read it, and Spark says it of those that do."""
    written(tmp_path, "1.parquet", **PLAIN)

    @contextmanager
    def refused(_: object) -> Generator[None]:
        raise error(errno.EACCES, "no")
        yield

    monkeypatch.setattr(SourceFile, "opened", refused)
    assert told(tmp_path) == {"1.parquet": ()}


def test_which_type_is_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the files that a plan looks at, and that hold the column themselves; a number without a sign is what Spark
    takes it for."""
    for number, values in enumerate((["x"], pa.array([1], pa.uint32()), pa.array([2], pa.int64())), start=1):
        written(tmp_path, f"{number}.parquet", c=values)
        os.utime(tmp_path / f"{number}.parquet", (number, number))
    for number in (4, 5):
        written(tmp_path, f"c={number}/{number}.parquet", c=["y"])
    files = files_at(str(tmp_path))
    types = types_of_files(source(tmp_path), files)
    assert types.is_usual("C", "bigint", "string") and not types.is_usual("c", "string", "bigint")
    monkeypatch.setattr("backfill_assets.adapters.types_of_files.LOOKED_AT", 1)
    assert not types.is_usual("c", "bigint", "string"), "the newest, and the first"


def test_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    """Whoever reads them says what is wrong with them."""
    (tmp_path / "1.parquet").write_text("none")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "1.orc").write_text("none")
    assert told(tmp_path)["1.parquet"] == () and told(tmp_path / "o", "orc") == {"1.orc": ()}


def test_nanoseconds_are_left_to_spark(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": AT.cast(pa.timestamp("ns", "UTC"))}), tmp_path / "1.parquet", version="2.6")
    assert told(tmp_path) == {"1.parquet": ()}


def test_orc(tmp_path: Path) -> None:
    """Spark converts its values: what becomes of other things than numbers is told by looking."""
    written(tmp_path, "1.orc", **PLAIN)
    written(tmp_path, "2.orc", **PLAIN | {"net": NET, "at": pa.array([datetime(2024, 1, 2)], pa.timestamp("us"))})
    assert told(tmp_path, "orc") == {"1.orc": (), "2.orc": (("net", "decimal(9,2)"),)}
    assert told(tmp_path, "orc", at="timestamp_ntz", net="decimal(12,2)") == dict.fromkeys(("1.orc", "2.orc"), ())
    assert told(tmp_path, "orc", net="string") == dict.fromkeys(("1.orc", "2.orc"), ())
    assert told(tmp_path, "orc", net="decimal(12,2)") == dict.fromkeys(("1.orc", "2.orc"), ())


def test_of_very_many_files_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        written(tmp_path, f"{number}.parquet", **PLAIN | {"net": NET})
        os.utime(tmp_path / f"{number}.parquet", (number, number))
    monkeypatch.setattr("backfill_assets.adapters.types_of_files._MOST_FILES", 2)
    assert told(tmp_path) == {"1.parquet": ()} | dict.fromkeys(("2.parquet", "3.parquet"), (("net", "decimal(9,2)"),))


def test_the_refusal_names_files(tmp_path: Path) -> None:
    written(tmp_path, "it's.parquet", **PLAIN)
    said = other_type_text(source(tmp_path), files_at(str(tmp_path)), "net", "decimal(9,2)", "int")
    assert said == f"{MARK} net is decimal(9,2) in it's.parquet of shop.bills, and int is read of all its files"


def test_values_within_others(tmp_path: Path) -> None:
    """Each by its way, in lower case, through structs, arrays and maps."""
    inner = pa.struct([("Net", NET.type), ("tags", pa.map_(pa.string(), pa.list_(pa.int64()))), ("b", pa.uint32())])
    values = pa.array([{"Net": NET[0], "tags": [("k", [1])], "b": 1}], inner)
    written(tmp_path, "1.parquet", c=values)
    written(tmp_path, "2.parquet", c=pa.array([{"Net": NET[0]}], pa.struct([("Net", NET.type)])))
    read = {"c.net": "int", "c.tags.key": "int", "c.tags.value.element": "int", "c.b": "bigint", "c.none": "int"}
    odd = (("c.net", "decimal(9,2)"), ("c.tags.key", "string"), ("c.tags.value.element", "bigint"))
    assert told(tmp_path, **read) == {"1.parquet": odd, "2.parquet": odd[:1]}


def test_older_instants_within_others(tmp_path: Path) -> None:
    """Spark writes instants as 96 bits by default, which Arrow takes for nanoseconds."""
    table = pa.table({"c": pa.array([{"at": AT[0]}], pa.struct([("at", AT.type)])), "at": AT})
    pq.write_table(table, tmp_path / "1.parquet", use_deprecated_int96_timestamps=True)
    [file] = files_at(str(tmp_path))
    footer = parquet_footer(file, None)
    assert footer and footer.values == ((("c", "at"), "timestamp"), (("at",), "timestamp"))
    assert told(tmp_path, **{"c.at": "bigint"}) == {"1.parquet": (("c.at", "timestamp"),)}
