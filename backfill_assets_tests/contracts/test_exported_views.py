"""Views for engines without Spark: DuckDB executes the script, and shows the rows of the release, whatever they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.adapters.pinned_files import pinned_files
from backfill_assets.app.context import Context
from backfill_assets.app.export import ExportRequest, export_views
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.duckdb_views import duckdb_view
from backfill_assets.state.environment import Environment, Environments
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import backfill_here, release_by_hand, small_project

WEEK = days("01", "07")
HOUR = timedelta(hours=1)
Rows = list[dict[str, Any]]


def shown(script: str, query: str) -> Rows:
    """The rows of a query in DuckDB after a script, in a session far from UTC that may not fetch extensions."""
    offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=offline) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        connection.execute(script)
        found = connection.sql(query).to_arrow_table()
        return [{k: v.astimezone(UTC) if hasattr(v, "tzinfo") and v.tzinfo else v for k, v in row.items()}
                for row in found.to_pylist()]  # fmt: skip


def a_table(root: Path, version: str, rows: pa.Table, by: Sequence[str] = ("ds",)) -> Path:
    place = root / "m" / version
    write_deltalake(place, rows, partition_by=list(by))
    return place


def a_view(columns: Mapping[str, str], *segments: Segment, timestamps: bool = False) -> Pointer:
    return Pointer(
        model="m", time_column="ds", timestamps=timestamps, columns=tuple(columns.items()), segments=segments
    )  # type: ignore[arg-type]


def rows_of(root: Path, view: Pointer, order: str = "ds, n") -> Rows:
    return shown("", f"SELECT * FROM ({duckdb_view(view, partial(pinned_files, str(root), 'm'))}) ORDER BY {order}")


def edit_log(place: Path, change: Callable[[dict[str, Any]], object], commit: int = 0) -> None:
    file = place / "_delta_log" / f"{commit:020}.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        change(line)
    file.write_text("\n".join(map(json.dumps, lines)))


def test_a_release_is_read_by_duckdb(tmp_path: Path) -> None:
    """By the command, of the newest release and of an older one; the file says which, and is replaced whole."""
    root, out = small_project(tmp_path / "project", days=2), tmp_path / "views"
    release_by_hand(Context.open(root), "one")
    export = ("export", "views", "--dialect", "duckdb")
    assert backfill_here(*export, "--out", out, project=root).code == 0
    first = backfill_here("releases", "--json", project=root).json[-1]["id"]
    file = out / "prod.duckdb.sql"
    with file.open() as open_before:
        release_by_hand(Context.open(root), "two")
        said = backfill_here(*export, "--out", out, project=root)
        assert said.code == 0 and "1 views of release r" in said.err, said.err
        old = open_before.read()
    assert "/daily/one/" in old and first in old.splitlines()[0] and "/daily/two/" not in old
    assert [p.name for p in out.iterdir()] == [file.name], "written aside, then renamed"

    text = file.read_text()
    assert "/daily/two/" in text and first not in text and "does not move by itself" in text
    rows = shown(text, "SELECT * FROM prod.daily ORDER BY ds")
    assert rows == backfill_assets.read("daily", project=root).sort_by("ds").to_pylist() and len(rows) == 2
    [[comment]] = [r.values() for r in shown(text, "SELECT comment FROM duckdb_views() WHERE schema_name = 'prod'")]
    assert comment in text and comment.startswith("prod: release r") and comment.endswith("by ana")

    older = backfill_here(*export, "--release", first, project=root)
    assert older.code == 0 and "/daily/one/" in older.out and "shows another release by now" in older.out
    assert shown(older.out, "SELECT * FROM prod.daily ORDER BY ds") == rows
    said = backfill_here(*export, "--json", "--release", first, "--out", out, project=root)
    assert said.json["file"] == str(out / f"prod.{first}.duckdb.sql") and said.json["models"] == ["daily"]
    said = backfill_here(*export, "--environment", "nowhere", project=root)
    assert said.code == 1 and "nowhere shows nothing" in said.err and "prod" in said.err


def test_a_folder_that_is_called_like_a_script(tmp_path: Path) -> None:
    """`--out v.sql` would be a folder: nobody means that. One that is there is taken."""
    root = small_project(tmp_path / "project", days=2)
    release_by_hand(Context.open(root), "one")
    export, out = ("export", "views", "--dialect", "duckdb", "--out"), tmp_path / "v.sql"
    said = backfill_here(*export, out, project=root)
    assert said.code == 2 and "v.sql would be a folder" in said.err and f"--out {tmp_path};" in said.err
    assert not out.exists()
    out.mkdir()
    assert backfill_here(*export, out, project=root).code == 0 and (out / "prod.duckdb.sql").exists()


def test_a_promotion_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever release the script is of, its rows go by that one's name."""
    root = small_project(tmp_path / "project", days=2)
    place = Context.open(root)
    release_by_hand(place, "one")
    read, coming = Environments.read, ["two"]

    def then_promoted(self: Environments, name: str) -> Environment:
        seen = read(self, name)
        if coming:
            version = coming.pop()
            release_by_hand(Context.open(root), version)
        return seen

    monkeypatch.setattr(Environments, "read", then_promoted)
    done = export_views(place, ExportRequest(dialect="duckdb"))
    assert not coming
    newest = Context.open(root).control.releases.all("prod")[-1]
    assert (f"release {newest.id}" in done.script) == ("/daily/two/" in done.script)
    assert done.shown.release == newest and done.shown.newest


def test_a_damaged_table_is_not_exported(tmp_path: Path) -> None:
    """The file of before stays as it was when a data file is not the promoted one any more."""
    root, out = small_project(tmp_path / "project", days=2), tmp_path / "views"
    release_by_hand(Context.open(root), "one")
    export = ("export", "views", "--dialect", "duckdb", "--out", out)
    assert backfill_here(*export, project=root).code == 0
    before = (out / "prod.duckdb.sql").read_bytes()
    data = next(Path(Context.open(root).warehouse, "daily", "one").rglob("*.parquet"))
    data.write_bytes(data.read_bytes()[:-10])
    said = backfill_here(*export, project=root)
    assert said.code == 1 and data.name in said.err
    data.unlink()
    said = backfill_here(*export, project=root)
    assert said.code == 1 and data.name in said.err
    assert (out / "prod.duckdb.sql").read_bytes() == before


def test_segments_of_several_tables(tmp_path: Path) -> None:
    """Each cut to its days at its commit; older columns are cast, or NULL, and dates become midnights in UTC."""
    first = {"ds": [date(2024, 1, d) for d in (1, 2, 3)], "n": [1, 2, None], "late": [date(2024, 1, 9), None, None]}
    schema = pa.schema([("ds", pa.date32()), ("n", pa.int32()), ("late", pa.date32())])
    place = a_table(tmp_path, "v1", pa.table(first, schema=schema))
    write_deltalake(place, pa.table(first, schema=schema), mode="append")  # a later commit, which nothing points at
    at = datetime(2024, 1, 5, 23, 30, tzinfo=UTC)
    second = {"ds": [date(2024, 1, d) for d in (2, 3, 4)], "N": [7, 8, 9], "late": [at] * 3, "new": ["x"] * 3}
    a_table(tmp_path, "v2", pa.table(second))
    columns = {"new": "string", "ds": "date", "n": "bigint", "late": "timestamp"}
    old = (("ds", "date"), ("n", "int"), ("late", "date"))
    view = a_view(
        columns,
        Segment(version="v1", commit=0, interval=days("01", "02"), columns=old),
        Segment(version="v2", commit=0, interval=days("03", "04")),
    )
    found = rows_of(tmp_path, view)
    assert [list(r.values()) for r in found] == [
        [None, date(2024, 1, 1), 1, utc("2024-01-09")],
        [None, date(2024, 1, 2), 2, None],
        ["x", date(2024, 1, 3), 8, at],
        ["x", date(2024, 1, 4), 9, at],
    ]
    assert list(found[0]) == list(columns)


def test_days_without_a_file(tmp_path: Path) -> None:
    """They are published, and have no rows: the view is there, with its types."""
    a_table(tmp_path, "v1", pa.table({"ds": [date(2024, 1, 9)], "n": [1]}))
    columns = {"ds": "date", "n": "bigint", "many": "array<struct<end:timestamp>>"}
    view = a_view(columns, Segment(version="v1", commit=0, interval=WEEK))
    assert rows_of(tmp_path, view) == []
    said = shown("", f"DESCRIBE ({duckdb_view(view, partial(pinned_files, str(tmp_path), 'm'))})")
    assert [r["column_type"] for r in said] == ["DATE", "BIGINT", 'STRUCT("end" TIMESTAMP WITH TIME ZONE)[]']


STRANGE = ["a b", "x/y", "50%", "100%25", None, "ü+ñ=", "it's", "[*]?", '"', "2024-01-01", "a\\b"]


@pytest.mark.parametrize("folder", ["plain", "n=7", "kind=z"])
def test_values_of_partitions(tmp_path: Path, folder: str) -> None:
    """NULL, and characters that folders escape, come back as the log says them; folders above are not looked at."""
    rows = pa.table({"ds": [date(2024, 1, 1)] * len(STRANGE), "kind": STRANGE, "n": list(range(len(STRANGE)))})
    a_table(tmp_path / folder, "v1", rows, by=("ds", "kind"))
    view = a_view({"kind": "string", "n": "bigint", "ds": "date"}, Segment(version="v1", commit=0, interval=days("01")))
    found = rows_of(tmp_path / folder, view)
    assert [(r["kind"], r["n"]) for r in found] == [(kind, n) for n, kind in enumerate(STRANGE)]


def test_the_log_counts_where_folders_say_otherwise(tmp_path: Path) -> None:
    """Spark names the folder of an instant in its session's zone: the partition is what the log says."""
    hours = [utc("2024-01-01") + n * HOUR for n in range(3)]
    place = a_table(tmp_path, "v1", pa.table({"ds": pa.array(hours, pa.timestamp("us", tz="UTC")), "n": [0, 1, 2]}))

    def hour_later(line: dict[str, Any]) -> None:
        if "add" in line and "02:00" in line["add"]["partitionValues"]["ds"]:
            line["add"]["partitionValues"]["ds"] = "2024-01-01T05:00:00.000000Z"

    edit_log(place, hour_later)
    whole = Interval(hours[0], hours[0] + 6 * HOUR)
    view = a_view({"ds": "timestamp", "n": "bigint"}, Segment(version="v1", commit=0, interval=whole), timestamps=True)
    assert [(r["ds"], r["n"]) for r in rows_of(tmp_path, view)] == [
        (hours[0], 0),
        (hours[1], 1),
        (hours[0] + 5 * HOUR, 2),
    ]
    cut = replace(view, segments=(replace(view.segments[0], interval=Interval(hours[1], hours[2])),))
    assert [r["n"] for r in rows_of(tmp_path, cut)] == [1]


def test_instants_as_spark_writes_them(tmp_path: Path) -> None:
    """INT96 in one file and microseconds in the other, also in lists, structs and maps: instants all the same."""
    at = [datetime(2024, 1, day, 23, 30, 0, 123456, tzinfo=UTC) for day in (1, 2)]
    instant = pa.timestamp("us", tz="UTC")
    schema = pa.schema([
        ("ds", pa.date32()), ("n", pa.int64()), ("at", instant), ("list", pa.list_(instant)),
        ("one", pa.struct([("end", instant), ("x", pa.int8())])), ("by", pa.map_(pa.string(), pa.list_(instant))),
    ])  # fmt: skip
    rows = pa.table({
        "ds": [date(2024, 1, 1), date(2024, 1, 1), date(2024, 1, 2)], "n": [0, 1, 2], "at": [at[0], None, at[1]],
        "list": [[at[0], None], None, []], "one": [{"end": at[0], "x": 1}, None, {"end": None, "x": None}],
        "by": [[("k", [at[0]])], None, []],
    }, schema=schema)  # fmt: skip
    place = a_table(tmp_path, "v1", rows)
    [file] = (place / "ds=2024-01-01").iterdir()
    pq.write_table(pq.read_table(file, partitioning=None), file, use_deprecated_int96_timestamps=True)
    assert "int96" in str(pq.ParquetFile(file).schema)

    def right_size(line: dict[str, Any]) -> None:
        if "add" in line and file.name in line["add"]["path"]:
            line["add"]["size"] = file.stat().st_size

    edit_log(place, right_size)
    columns = {
        "ds": "date", "n": "bigint", "at": "timestamp", "list": "array<timestamp>",
        "one": "struct<end:timestamp,x:tinyint>", "by": "map<string,array<timestamp>>",
    }  # fmt: skip
    view = a_view(columns, Segment(version="v1", commit=0, interval=WEEK))
    text = duckdb_view(view, partial(pinned_files, str(tmp_path), "m"))
    as_text = 'epoch_us("at"), "list"::VARCHAR, "one"::VARCHAR, "by"::VARCHAR'
    found = shown("", f"SELECT {as_text} FROM ({text}) ORDER BY n")
    local = "2024-01-01 18:30:00.123456-05"
    micros = [round(a.timestamp() * 1e6) for a in at]
    assert [tuple(r.values()) for r in found] == [
        (micros[0], f"['{local}', NULL]", f"{{'end': '{local}', 'x': 1}}", f"{{k=['{local}']}}"),
        (None, None, None, None),
        (micros[1], "[]", "{'end': NULL, 'x': NULL}", "{}"),
    ]


@pytest.mark.parametrize("feature", ["deletionVectors", "columnMapping"])
def test_tables_whose_files_are_not_their_rows(tmp_path: Path, feature: str) -> None:
    """Refused: with what only a reader of Delta follows, files say rows that are deleted, or other names."""
    place = a_table(tmp_path, "v1", pa.table({"ds": [date(2024, 1, 1)], "n": [1]}))
    view = a_view({"ds": "date", "n": "bigint"}, Segment(version="v1", commit=0, interval=WEEK))
    assert len(rows_of(tmp_path, view)) == 1

    def turn_on(line: dict[str, Any]) -> None:
        if "protocol" in line:
            said = {"minReaderVersion": 3, "minWriterVersion": 7}
            line["protocol"] = said | {"readerFeatures": [feature], "writerFeatures": [feature]}

    edit_log(place, turn_on)
    assert feature in (DeltaTable(place).protocol().reader_features or ())
    with pytest.raises(StateError, match="alone are not its rows") as refused:
        rows_of(tmp_path, view)
    assert feature in refused.value.why


def test_one_day_reads_one_file(tmp_path: Path) -> None:
    """A condition on the days reads the files of these days only, as Spark's view does."""
    rows = pa.table({"ds": [date(2024, 1, d) for d in range(1, 8)], "n": list(range(7))})
    a_table(tmp_path, "v1", rows)
    view = a_view({"ds": "date", "n": "bigint"}, Segment(version="v1", commit=0, interval=WEEK))
    text = duckdb_view(view, partial(pinned_files, str(tmp_path), "m"))
    for parquet in (tmp_path / "m" / "v1").rglob("*.parquet"):
        if "2024-01-03" not in str(parquet) and "2024-01-01" not in str(parquet):  # the first one tells the types
            parquet.write_bytes(b"nothing that can be read")
    assert text.count(".parquet") == 7
    assert shown("", f"SELECT n FROM ({text}) WHERE ds = DATE '2024-01-03'") == [{"n": 2}]
