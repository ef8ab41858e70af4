"""For which days does a source have rows, as its files say? And what does a plan say of those for which it has none?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet
from pyarrow.parquet import write_table

from backfill_assets.adapters import source_days as source_days_module
from backfill_assets.adapters.parquet_footer import parquet_footer
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_days import source_days
from backfill_assets.adapters.source_files import files_at
from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.model import Column, Source
from backfill_assets.plan.odd_files import NANOSECONDS
from backfill_assets.plan.stages import Request
from backfill_assets.plan.uncovered import uncovered
from backfill_assets_tests.fakes import World, a_model, days, ranges


def a_source(path: Path, kind: str, column: str | None = "at") -> Source:
    return Source(name="raw", format=kind, path=str(path), time_column=column, file=path)


def rows(*instants: str) -> pd.DataFrame:
    return pd.DataFrame({"at": pd.to_datetime(list(instants), utc=True, format="ISO8601"), "n": range(len(instants))})


def touched(found: Ranges | None) -> str:
    """The days in which there may be rows."""
    assert found is not None
    return str(Ranges.of(Cadence.DAILY.cover(part) for part in found))


def test_a_delta_tables_files_say_it(tmp_path: Path) -> None:
    """From statistics, each file by itself; at the commit that the plan froze."""
    write_deltalake(tmp_path / "t", rows("2024-01-03T05:00", "2024-01-04T23:59:59.999900"))
    write_deltalake(tmp_path / "t", rows("2024-01-08T00:00"), mode="append")
    source = a_source(tmp_path / "t", "delta", "AT")
    assert touched(source_days(source, {"commit": 1})) == "2024-01-03..2024-01-04, 2024-01-08"
    assert touched(source_days(source, {"commit": 0})) == "2024-01-03..2024-01-04"


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_instants_of_nanoseconds(tmp_path: Path, zone: str | None) -> None:
    """Python has microseconds: a start that kept some nanoseconds was no start of a day, whatever was asked of it."""
    parts = ["2024-01-03T00:00:00.000000001", "2024-01-04T23:59:59.998999999"]
    frame = pa.table({"at": pa.array(pd.to_datetime(parts).astype("int64")).cast(pa.timestamp("ns", tz=zone))})
    parquet.write_table(frame, tmp_path / "a.parquet")
    found = source_days(a_source(tmp_path, "parquet"), {})
    assert touched(found) == "2024-01-03..2024-01-04"
    [span] = found or ()
    assert (type(span.start), type(span.end)) == (datetime, datetime)
    assert Cadence.DAILY.floor(span.start) == span.start == utc("2024-01-03")


@pytest.mark.parametrize("last", ["23:59:59.999999", "23:59:59.9995", "23:59:59.999", "23:59:59"])
@pytest.mark.parametrize("kind", ["parquet", "nanoseconds", "delta", "csv", "json"])
def test_the_last_instant_of_a_day_is_of_that_day(tmp_path: Path, kind: str, last: str) -> None:
    """The next one has not been loaded: it would be built without rows, and shown."""
    at = f"2024-01-03T{last}" + ("999" if kind == "nanoseconds" and last.endswith("999999") else "")
    columns = (Column(name="at", type="timestamp"),) if kind in ("csv", "json") else ()
    if kind == "delta":
        write_deltalake(tmp_path, rows("2024-01-03T05:00", at))
    elif kind == "csv":
        (tmp_path / "a.csv").write_text(f"at\n{at}\n")
    elif kind == "json":
        (tmp_path / "a.json").write_text(f'{{"at": "{at}"}}\n')
    else:
        of = pa.timestamp("ns" if kind == "nanoseconds" else "us", tz="UTC")
        write_table(
            pa.table({"at": pa.array(pd.to_datetime([at]), pa.timestamp("ns")).cast(of)}), tmp_path / "a.parquet"
        )
    source = a_source(tmp_path, "parquet" if kind == "nanoseconds" else kind)
    source = replace(source, columns=columns, options={"header": "true"} if kind == "csv" else {})
    assert touched(source_days(source, {"commit": 0})) == "2024-01-03"


def test_a_delta_tables_partitions_say_it(tmp_path: Path) -> None:
    """A table that is partitioned by day: its values, gaps included."""
    frame = pd.DataFrame({"ds": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 5)], "n": [1, 2, 3]})
    write_deltalake(tmp_path / "t", frame, partition_by=["ds"])
    source = a_source(tmp_path / "t", "delta", "ds")
    assert touched(source_days(source, {"commit": 0})) == "2024-01-01..2024-01-02, 2024-01-05"


def test_parquet_footers_say_it(tmp_path: Path) -> None:
    """Files in a folder, one without rows."""
    rows("2024-01-03T05:00", "2024-01-03T06:00").to_parquet(tmp_path / "a.parquet")
    rows("2024-01-05T05:00").to_parquet(tmp_path / "b.parquet")
    rows().to_parquet(tmp_path / "c.parquet")
    assert touched(source_days(a_source(tmp_path, "parquet"), {})) == "2024-01-03, 2024-01-05"


@pytest.mark.parametrize(("written", "type_"), [(True, "timestamp"), (False, NANOSECONDS)], ids=["INT96", "INT64"])
def test_instants_as_spark_writes_them(tmp_path: Path, written: bool, type_: str) -> None:
    """Spark reads its own, of twelve bytes, in which Arrow finds nanoseconds as well."""
    frame = pa.table({"at": pa.array([1704240000000000000], pa.timestamp("ns"))})
    write_table(frame, tmp_path / "a.parquet", use_deprecated_int96_timestamps=written)
    said = parquet_footer(files_at(str(tmp_path))[0], None)
    assert said is not None and said.columns is not None and [c.type for c in said.columns] == [type_]


@pytest.mark.parametrize("how", [{"use_deprecated_int96_timestamps": True}, {"write_statistics": False}], ids=str)
def test_what_a_footer_does_not_say_is_read(
    tmp_path: Path, how: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of instants as Spark writes them no footer says how far they reach. A column that is too large is not read."""
    instants = [utc("2024-01-03T05:00"), None, utc("2024-01-05T23:59:59.999999")]
    frame = pa.table({"At": pa.array(instants, pa.timestamp("us")), "n": pa.array(range(3))})
    parquet.write_table(frame, tmp_path / "a.parquet", **how)
    parquet.write_table(frame.slice(1, 1), tmp_path / "b.parquet", **how)
    assert touched(source_days(a_source(tmp_path, "parquet"), {})) == "2024-01-03..2024-01-05"
    assert source_days(a_source(tmp_path, "parquet", "n"), {}) is None
    monkeypatch.setattr(source_days_module, "MOST_BYTES_OF_PARQUET", 10)
    assert source_days(a_source(tmp_path, "parquet"), {}) is None
    monkeypatch.undo()
    far = pa.table({"at": pa.array([datetime(2024, 1, 8), datetime(9999, 12, 31)], pa.timestamp("us"))})
    parquet.write_table(far, tmp_path / "c.parquet", **how)
    found = source_days(a_source(tmp_path, "parquet"), {})
    assert found is not None and found.span is not None and found.span.end.year > 2100, "not in nanoseconds"


def test_a_partition_of_rows_without_a_time_has_no_days(tmp_path: Path) -> None:
    """As Spark, Hive and Delta have them."""
    frame = pa.table({"at": pa.array([date(2024, 1, 3), None], pa.date32()), "n": [1, 2]})
    write_deltalake(tmp_path / "d", frame, partition_by=["at"])
    for day in ("2024-01-03", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "p" / f"at={day}").mkdir(parents=True)
        parquet.write_table(frame.select(["n"]), tmp_path / "p" / f"at={day}" / "a.parquet")
    for name, kind in (("d", "delta"), ("p", "parquet")):
        assert touched(source_days(a_source(tmp_path / name, kind), {})) == "2024-01-03"


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_file_whose_times_are_all_null_has_no_days(tmp_path: Path, kind: str) -> None:
    """Queries of an interval drop its rows. What a later file says counts as before."""
    nulls = pa.table({"at": pa.nulls(2, pa.timestamp("us", tz="UTC"))})
    some = pa.table({"at": pa.array([utc("2024-01-03T05:00")], pa.timestamp("us", tz="UTC"))})
    for number, table in enumerate([nulls, some]):
        if kind == "delta":
            write_deltalake(tmp_path, table, mode="append")
        else:
            parquet.write_table(table, tmp_path / f"{number}.parquet")
        found = source_days(a_source(tmp_path, kind), {})
        assert found is not None and touched(found) == ("2024-01-03" if number else "nothing")
    changes = SourceChanges().history(a_source(tmp_path, kind), -1).changes
    assert None in [change.touches for change in changes], "a query may read them by another column"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_that_are_named_by_day_say_it(tmp_path: Path, kind: str) -> None:
    """`ds=2024-01-03/`: the files are not opened."""
    for day in ("2024-01-03", "2024-01-04", "2024-01-09"):
        (tmp_path / f"ds={day}").mkdir()
        (tmp_path / f"ds={day}" / f"part.{kind}").write_text("whatever")
    assert touched(source_days(a_source(tmp_path, kind, "ds"), {})) == "2024-01-03..2024-01-04, 2024-01-09"


FAR = [date(2024, 1, 3), date(9999, 12, 31)]


def far_csv(root: Path) -> Source:
    (root / "a.csv").write_text("at\n2024-01-03\n0001-01-01\n9999-12-31\n")
    return a_csv(root, header="true")


def far_parquet(root: Path) -> Source:
    pd.DataFrame({"at": FAR}).to_parquet(root / "a.parquet")
    return a_source(root, "parquet")


def far_texts(root: Path) -> Source:
    pd.DataFrame({"at": [str(day) for day in FAR]}).to_parquet(root / "a.parquet")
    return a_source(root, "parquet")


def far_folders(root: Path) -> Source:
    for day in (*FAR, "0000-00-00"):
        (root / f"at={day}").mkdir()
    (root / "at=2024-01-03" / "a.parquet").write_text("whatever")
    (root / "at=9999-12-31" / "a.parquet").write_text("whatever")
    return a_source(root, "parquet")


def far_delta(root: Path) -> Source:
    write_deltalake(root, pd.DataFrame({"at": FAR}))
    return a_source(root, "delta")


def far_partitions(root: Path) -> Source:
    write_deltalake(root, pd.DataFrame({"at": FAR, "n": [1, 2]}), partition_by=["at"])
    return a_source(root, "delta")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (far_csv, "2024-01-03"),
        (far_parquet, "2024-01-03..2200-12-31"),
        (far_texts, "2024-01-03..2200-12-31"),
        (far_folders, "2024-01-03"),
        (far_delta, "2024-01-03..2200-12-31"),
        (far_partitions, "2024-01-03"),
    ],
)
def test_the_end_of_time_is_a_value_like_others(tmp_path: Path, make: Callable[[Path], Source], found: str) -> None:
    """`9999-12-31` for what has no end: no model reaches it. A file may tell its last value only."""
    source = make(tmp_path)
    assert touched(source_days(source, {})) == found
    newest = SourceChanges().newest(source)
    assert newest == (utc("2024-01-04") if found == "2024-01-03" else None)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")])
@pytest.mark.parametrize("days_since", [-800_000, 2_932_897 + 500])
@pytest.mark.parametrize("format", ["parquet", "delta", "delta partition"])
def test_years_that_python_does_not_know(tmp_path: Path, kind: pa.DataType, days_since: int, format: str) -> None:
    """Before 1 and after 9999: nothing is concluded from them."""
    unit = 1 if kind == pa.date32() else 86_400_000_000
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    table = pa.table({"at": pa.array([days_since * unit], whole).cast(kind), "n": [1]})
    if format == "parquet":
        parquet.write_table(table, tmp_path / "a.parquet")
    else:
        write_deltalake(tmp_path, table, partition_by=["at"] if "partition" in format else None)
    said = source_days(a_source(tmp_path, format.split()[0]), {})
    assert said is None or not said


def test_what_does_not_say_it_is_unknown(tmp_path: Path) -> None:
    """CSV files whose columns nobody names, no time column, a column that files know nothing of, a catalog table:
    nothing is claimed."""
    (tmp_path / "a.csv").write_text("at\n2024-01-01\n")
    assert source_days(a_source(tmp_path, "csv"), {}) is None
    assert source_days(a_source(tmp_path, "csv", None), {}) is None
    (tmp_path / "p").mkdir()
    rows("2024-01-03T05:00").to_parquet(tmp_path / "p" / "a.parquet")
    assert source_days(a_source(tmp_path / "p", "parquet", "n"), {}) is None
    assert source_days(a_source(tmp_path / "p", "parquet", "other"), {}) is None
    assert source_days(Source(name="raw", table="c.d.t", time_column="at", file=tmp_path), {}) is None


def a_csv(path: Path, *columns: str, **options: str) -> Source:
    declared = tuple(Column(name=name) for name in columns)
    return replace(a_source(path, "csv"), options=options, columns=declared)


@pytest.mark.parametrize(
    ("text", "columns", "options", "found"),
    [
        ("id,AT\n1,2024-01-03T05:00:00Z\n2,2024-01-05T23:59:59Z\n", (), {"header": "true"}, "2024-01-03..2024-01-05"),
        (
            "id,x\n1,2024-01-03\n2,2024-01-04\n",
            ("id", "at"),
            {"header": "true", "enforceSchema": "true"},
            "2024-01-03..2024-01-04",
        ),
        ("At,id\n2024-01-03,1\n", ("id", "at"), {"header": "true"}, "2024-01-03"),
        ("id,x\n1,2024-01-03\n", ("id", "at"), {"header": "true"}, None),
        ("1;2024-01-03 10:00:00\n", ("id", "at"), {"sep": ";"}, "2024-01-03"),
        (
            "at\n2024-01-03T00:30:00+02:00\n2024-01-04T23:30:00-02:00\n",
            (),
            {"header": "true"},
            "2024-01-02..2024-01-05",
        ),
        ("at\n2024-01-03\n\nnever\n", (), {"header": "true"}, "2024-01-03"),
        ('note,at\n"a,b",2024-01-03\n', (), {"header": "true"}, "2024-01-03"),
        ("at\n", (), {"header": "true"}, "nothing"),
        ("", ("at",), {}, "nothing"),
        ("at\n03/01/2024\n", (), {"header": "true"}, None),
        ("at\n2024-01-03\n", (), {"header": "true", "timestampFormat": "yyyy-dd-MM"}, None),
        ("id\n1\n", (), {"header": "true"}, None),
        ("at\n2024-01-03\n1,2,3\n", (), {"header": "true"}, None),
    ],
)
def test_small_csv_files_say_it(
    tmp_path: Path, text: str, columns: tuple[str, ...], options: dict[str, str], found: str | None
) -> None:
    """From their rows, as a build reads them: columns go by the header, or by their places. A value that is no time is
    none; what is not certain is not known."""
    (tmp_path / "a.csv").write_text(text)
    said = source_days(a_csv(tmp_path, *columns, **options), {})
    assert (said if said is None else touched(said)) == found


TYPED = [
    ('day,note\n2024-01-03,"a ""b"" c"\n2024-01-05,\n', "date", {"escape": '"'}, "2024-01-03..2024-01-05"),
    ("day,note\n2024-01-03,C:\\\n2024-01-05,D:\\\n", "date", {"escape": "\\"}, "2024-01-03..2024-01-05"),
    ("day,note\n2024-01-03,x\n", "date", {"escape": "!"}, None),
    ("day\n03/01/2024 00:30 +05:00\n", "timestamp", {"timestampFormat": "dd/MM/yyyy HH:mm XXX"}, None),
    (
        "day\n12/30/2024\n30/12/2024\n31/12/2024\n02/01/2024\n",
        "date",
        {"dateFormat": "MM/dd/yyyy"},
        "2024-02-01..2024-12-30",
    ),
    ("day\n2024-02-31\n2024-02-30\n2024-02-01\n2024-01-31\n", "date", {}, "2024-01-31..2024-02-01"),
    ("day\n2024-1-15\n2024-01-03\n", "date", {}, None),
    ("day\n3/3/1/2024\n", "date", {"dateFormat": "d/d/M/yyyy"}, None),
    ("day\n2024-01-03\n", "date", {"encoding": "rot13"}, None),
    ("day\n03/01/2024\n10/12/2023\n", "date", {"dateFormat": "dd/MM/yyyy"}, "2023-12-10..2024-01-03"),
    ("day\n3.1.2024 05:00\n", "timestamp", {"timestampFormat": "d.M.yyyy HH:mm"}, "2024-01-03"),
    ("day\n20240103\nnever\n", "date", {"dateFormat": "yyyyMMdd"}, "2024-01-03"),
    ("day\n2024-01-03\n", "date", {"timestampFormat": "dd/MM/yyyy"}, "2024-01-03"),
    ("day\n2024-01-03T05:00Z\n", "timestamp", {"timestampFormat": "yyyy-MM-dd'T'HH:mmX"}, "2024-01-03"),
    ("day\n2024-01-03\n", "string", {"dateFormat": "dd/MM/yyyy", "locale": "de-DE"}, "2024-01-03"),
    ("day\n3 Jan 2024\n", "date", {"dateFormat": "d MMM yyyy"}, None),
    ("day\n05:00 03/01/2024\n", "timestamp", {"timestampFormat": "HH:mm dd/MM/yyyy"}, None),
    ("day\n01/24\n", "date", {"dateFormat": "MM/yy"}, None),
    ("day,name\n2024-01-03,M\u00fcller\n", "date", {"encoding": "ISO-8859-1"}, "2024-01-03"),
    ("day\n2024-01-03\n", "date", {"encoding": "no-such"}, None),
    ("day\n2024-01-03\n", "date", {"comment": "#"}, None),
    ("day\tnote\n2024-01-03\tx\n", "date", {"sep": "\t"}, "2024-01-03"),
    ("day\tnote\n2024-01-03\tx\n", "date", {"delimiter": "\\t"}, "2024-01-03"),
]


@pytest.mark.parametrize(("text", "kind", "options", "found"), TYPED)
def test_csv_files_by_their_options(
    tmp_path: Path, text: str, kind: str, options: dict[str, str], found: str | None
) -> None:
    """How a time is written is an option of its type: it is followed as far as its day goes."""
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    columns = (Column(name="day", type=kind), Column(name="note", type="string"), Column(name="name", type="string"))
    there = tuple(c for c in columns if c.name in text.partition("\n")[0].replace("\t", ",").split(","))
    source = replace(a_source(tmp_path, "csv", "day"), options={"header": "true", **options}, columns=there)
    said = source_days(source, {})
    assert (said if said is None else touched(said)) == found


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ('{"day": "2024-01-03", "n": {"a": [1, "x"]}}\n{"n": 2, "day": "2024-01-05"}\n', {}, "2024-01-03..2024-01-05"),
        ('{"day": "03/01/2024"}\n', {"dateFormat": "dd/MM/yyyy"}, "2024-01-03"),
        ('{"day": "2024-01-03"}\n{"n": 1}\n{"day": null}\n', {}, "2024-01-03"),
        ('{"n": 1}\n{"day": null}\n', {}, None),
        ("", {}, "nothing"),
        ('{"day": 1704240000}\n', {}, None),
        ('{"Day": "2024-01-03"}\n', {}, None),
        ('[{"day": "2024-01-03"}]', {}, None),
        ('{"day": "2024-01-03"}\n{"day": \n', {}, None),
        ('{"day": "2024-01-03"}\n', {"multiLine": "true"}, None),
    ],
)
def test_small_json_files_say_it(tmp_path: Path, text: str, options: dict[str, str], found: str | None) -> None:
    """By their lines."""
    (tmp_path / "a.json").write_text(text)
    columns = (Column(name="day", type="date"),)
    said = source_days(replace(a_source(tmp_path, "json", "day"), options=options, columns=columns), {})
    assert (said if said is None else touched(said)) == found


def test_large_csv_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning stays quick; gzip is read as well."""
    import gzip

    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"at\n2024-01-03\n"))
    source = a_csv(tmp_path, header="true")
    assert touched(source_days(source, {})) == "2024-01-03"
    monkeypatch.setattr("backfill_assets.adapters.source_days.MOST_BYTES", 5)
    assert source_days(source, {}) is None


def test_a_table_without_rows_covers_nothing(tmp_path: Path) -> None:
    """Known, and empty: every day is without rows."""
    write_deltalake(tmp_path / "t", rows("2024-01-01").iloc[:0])
    assert source_days(a_source(tmp_path / "t", "delta"), {"commit": 0}) == Ranges()


def test_a_plan_names_the_days_without_rows() -> None:
    """Before the source's first day, after its newest, and in between; the open interval may still get some, and what
    is built already is nobody's question. A month is without rows when all of it is."""
    world = World(
        a_model("d", "raw", batch_size=20),
        a_model("m", "raw", cadence=Cadence.MONTHLY, start=utc("2023-11-01")),
        a_model("r", "d"),
    )
    plan = world.plan(Request(ignore_cron=True))
    has = {"raw": ranges(days("03", "05"), days("07", "08"))}
    found = {gap.model: (str(gap.intervals), gap.count, str(gap.has)) for gap in uncovered(world.project, plan, has)}
    assert found == {
        "d": ("2024-01-01..2024-01-02, 2024-01-06, 2024-01-09..2024-01-10", 5, "2024-01-03..2024-01-08"),
        "m": ("2023-11-01..2023-12-31", 2, "2024-01-03..2024-01-08"),
    }
    assert uncovered(world.project, plan, {}) == ()
    [none, _] = uncovered(world.project, plan, {"raw": Ranges()})
    assert (none.count, none.has) == (10, Ranges())
