"""A log of ours over somebody else's Delta files: read as any version's table, and nobody ever touches those files."""

from __future__ import annotations

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

import backfill_assets
from backfill_assets.adapters import adoption, foreign_table
from backfill_assets.adapters.adoption import TablePlace
from backfill_assets.adapters.backup import backup, read_backup
from backfill_assets.adapters.data_files import COUNTS
from backfill_assets.adapters.drafting import Guess
from backfill_assets.adapters.inputs import check_adopted
from backfill_assets.adapters.integrity import check_integrity
from backfill_assets.adapters.restore import restore
from backfill_assets.adapters.table_storage import DeltaTableStorage
from backfill_assets.app import adopt as adopting
from backfill_assets.app import drafts
from backfill_assets.app.adopt import Adopted, Adoption, adopt
from backfill_assets.app.context import Context
from backfill_assets.app.janitor import find_garbage, remove_garbage
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.query import query_views
from backfill_assets.app.warehouse import back_up_warehouse
from backfill_assets.app.watch import watch_environment
from backfill_assets.audits.counts import Counts
from backfill_assets.build.apply import apply
from backfill_assets.build.build import build
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BackfillError, PlanError, SourceChangedError, StateError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.segments import is_adopted
from backfill_assets.plan.adoption import casts, contained
from backfill_assets.plan.stages import Build, Request
from backfill_assets.state.ledger import Kind
from backfill_assets.watch.notice import NoticeKind as NoticeKind
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell, FakeEngine, days
from backfill_assets_tests.projects import backfill_here, release_by_hand, small_project

TYPES = pa.schema([("kind", pa.string()), ("ds", pa.date32()), ("n", pa.int64()), ("total", pa.decimal128(20, 2))])
COLUMNS = (("ds", "date"), ("kind", "string"), ("n", "bigint"), ("total", "decimal(20,2)"))


class Engine(FakeEngine):
    """Knows the columns of `daily`, and finds nothing wrong."""

    def prepare(self, job: Job, sample: Interval) -> tuple[tuple[str, str], ...]:
        super().prepare(job, sample)
        return COLUMNS

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: Any) -> Any:
        rows = self.tables.rows(job.model.name, job.version, commit)
        bad = self.cell(job, next(iter(intervals))).failures
        return {at: Counts(rows=n, failures=bad) for at, n in rows.items()}


class Tables(DeltaTables):
    """Lets builds read an adopted table, of which no row is one of the fake engine's."""

    def cells(self, model: str, version: str, commit: int = -1) -> dict[datetime, Cell]:
        if not is_adopted(version):
            return super().cells(model, version, commit)
        return {at: Cell(rows=n, failures={}, batch="adopted") for at, n in self.rows(model, version, commit).items()}


def rows_of(first: int, last: int, **more: Any) -> pa.Table:
    rows = [
        {"kind": kind, "ds": date(2024, 1, day), "n": day, "total": f"{day}.50"} | more
        for day in range(first, last + 1)
        for kind in "ab"
    ]
    from decimal import Decimal

    rows = [row | {"total": Decimal(str(row["total"]))} for row in rows]
    names = [pa.field(name, pa.string()) for name in more if name not in TYPES.names]
    return pa.Table.from_pylist(rows, schema=pa.schema([*TYPES, *names]))


def by_file(_: object, location: str, time_column: str) -> dict[str, dict[datetime | None, int]]:
    """What Spark counts, counted by Arrow."""
    found: dict[str, dict[datetime | None, int]] = defaultdict(dict)
    table = DeltaTable(location, version=0)
    from pyarrow.fs import LocalFileSystem

    for part in table.to_pyarrow_dataset(filesystem=LocalFileSystem()).get_fragments():
        seen = Counter(part.to_table(schema=table.to_pyarrow_dataset().schema)[time_column].to_pylist())
        found[part.path] = {utc(at) if at else None: n for at, n in seen.items()}
    return dict(found)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A project that shows nothing, without a JVM."""
    return opened(small_project(tmp_path / "project", days=10), monkeypatch)


def opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    found = Context.open(root)
    found.__dict__["spark"] = None
    found._engine = Engine(DeltaTables(found.warehouse))  # type: ignore[arg-type]
    monkeypatch.setattr(adopting, "rows_by_file", by_file)
    monkeypatch.setattr(
        adopting, "find_table", lambda _, text, root: TablePlace(text=text, format="delta", location=str(Path(text)))
    )
    kinds = {"date32[day]": "date", "int64": "bigint", "decimal128(20, 2)": "decimal(20,2)", "long": "bigint"}
    monkeypatch.setattr(
        adopting,
        "schema_columns",
        lambda said: tuple(
            (f["name"], kinds.get(f["type"], f["type"])) for f in __import__("json").loads(said)["fields"]
        ),
    )
    return found


def everything(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def shown(place: Context) -> list[dict[str, Any]]:
    found = backfill_assets.read("daily", project=place.project.root).to_pylist()
    return sorted(found, key=lambda r: (r["ds"], r["kind"]))


@pytest.mark.parametrize("by", [None, ["ds"], ["kind"], ["kind", "ds"]])
def test_any_layout(place: Context, tmp_path: Path, by: list[str] | None) -> None:
    """Partitioned or not, by time or otherwise, with columns that the model does not have: the same rows are read."""
    table = tmp_path / "old tables" / "ten years of it"
    table.mkdir(parents=True)
    write_deltalake(str(table), rows_of(1, 3, loader="x"), partition_by=by)
    write_deltalake(str(table), rows_of(4, 6, loader="y"), mode="append")
    before = everything(table)
    done = adopt(place, Adoption(model="daily", table=str(table)))
    assert done.shown and done.origin is not None and done.origin.commit == 1
    assert done.contained.intervals == Ranges((days("01", "06"),))
    wanted = rows_of(1, 6).select([name for name, _ in COLUMNS]).to_pylist()
    assert shown(place) == sorted(wanted, key=lambda r: (r["ds"], r["kind"]))
    version, at = done.version, place.log.rows("daily", done.version, 0)
    assert at == {utc(f"2024-01-{d:02}"): 2 for d in range(1, 7)} and is_adopted(version)
    readable = place.storage.readable("daily", version, 0, days("02", "05"))
    assert not readable.broken and readable.rows == 8
    assert everything(table) == before
    assert not list(Path(place.warehouse, "daily", version).rglob("*.parquet")), "nothing was copied"
    assert check_integrity(place.control, place.warehouse, every_file=True).problems == ()
    builds = {s.model: s.intervals for s in plan_request(place).stages if isinstance(s, Build)}
    assert builds["daily"] == Ranges((days("07", "10"),)), "only what comes after"


def test_commands_know_it(place: Context, table: Path) -> None:
    """What says how things are says it of adopted rows as well: in words and without a complaint."""
    done = adopt(place, Adoption(model="daily", table=str(table)))
    for command, code in (
        (["status"], 0), (["plan"], 0), (["releases"], 0), (["verify", "--all"], 0), (["verify", done.release], 0),
        (["evidence", done.release], 0), (["janitor"], 0), (["watch"], 3), (["plans"], 0),
    ):  # fmt: skip
        said = backfill_here(*command, project=place.project.root, user="ana")
        assert said.code == code, (command, said)  # the first routine run is due, says the watch
        assert "Traceback" not in said.out + said.err, said
    plan = backfill_here("plan", "--select", "daily", project=place.project.root)
    assert "builds 4 days" in plan.out or "4 days" in plan.out, plan


@pytest.fixture
def table(tmp_path: Path) -> Path:
    write_deltalake(str(tmp_path / "legacy"), rows_of(1, 6))
    return tmp_path / "legacy"


def test_what_others_write_later(place: Context, table: Path) -> None:
    """It is noticed, and shown by nobody; a vacuum that takes files away is noticed with a clear word."""
    adopt(place, Adoption(model="daily", table=str(table)))
    before = shown(place)

    def notices() -> list[str]:
        return [n.what for n in watch_environment(place).notices if n.kind is NoticeKind.ADOPTED]

    assert not notices()
    write_deltalake(str(table), rows_of(1, 6), mode="append")
    assert shown(place) == before
    [said] = notices()
    assert "is at commit 1; commit 0 is shown" in said
    write_deltalake(str(table), rows_of(2, 3), mode="overwrite")
    DeltaTable(str(table)).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    [damaged] = [n.what for n in watch_environment(place).notices if n.kind is NoticeKind.POINTER]
    assert "is missing" in damaged
    with pytest.raises(StateError, match="does not give at commit 0 what was promoted") as refused:
        shown(place)
    assert "restate" in refused.value.fix and "rollback" not in refused.value.fix, "a first release has none before it"
    with pytest.raises(SourceChangedError, match="the adopted rows of daily cannot be read") as lost:
        query_views(place, "SELECT sum(n) FROM prod.daily", environment=None, limit=5)  # before Spark is asked
    assert ".parquet is missing" in lost.value.why and "restate their days" in lost.value.fix
    shutil.rmtree(table)
    assert "is not there any more" in notices()[0]
    write_deltalake(str(table), rows_of(1, 6))
    assert "was made anew" in notices()[0]


def test_a_file_that_is_written_again(place: Context, tmp_path: Path) -> None:
    """A file of another size gives no rows: neither of a range nor of all. Ranges that do not touch it are read."""
    table = tmp_path / "legacy"
    write_deltalake(str(table), rows_of(1, 3))
    [file] = table.glob("*.parquet")
    write_deltalake(str(table), rows_of(4, 6), mode="append")
    done = adopt(place, Adoption(model="daily", table=str(table)))
    [segment] = place.control.environments.read("prod").pointers["daily"].segments
    assert segment.version == done.version
    root = place.project.root
    check_adopted(place.warehouse, "daily", segment, days("01", "06"))
    parquet.write_table(parquet.read_table(file).slice(0, 3), file)
    with pytest.raises(StateError, match="wrote again") as raised:
        backfill_assets.read("daily", project=root, start="2024-01-01", end="2024-01-03")
    assert str(file) in raised.value.why
    with pytest.raises(StateError, match="wrote again"):
        shown(place)
    assert backfill_assets.read("daily", project=root, start="2024-01-05").num_rows == 4
    check_adopted(place.warehouse, "daily", segment, days("04", "06"))
    with pytest.raises(SourceChangedError, match="bytes, not"):  # what reads it is not built from other rows
        check_adopted(place.warehouse, "daily", segment, days("03", "04"))


def test_the_janitor_deletes_a_log(place: Context, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adoption that was never shown, and one that was superseded long ago: the folders of the warehouse go, and no
    file of the other table does."""
    before = everything(table)
    done = _red(place, table)
    place._engine = Engine(DeltaTables(place.warehouse))  # type: ignore[arg-type]
    write_deltalake(str(table), rows_of(1, 6), mode="overwrite")
    before = everything(table)
    superseded = adopt(place, Adoption(model="daily", table=str(table)))
    assert superseded.shown and superseded.version != done.version
    release_by_hand(place, "b" * 16)
    assert not done.shown and done.red == Ranges((days("01", "06"),))
    root = place.project.root
    settings = (root / "backfill.yml").read_text()
    clock = f"{datetime.now(UTC) + timedelta(days=40):%Y-%m-%d}"
    (root / "backfill.yml").write_text(settings.replace("2024-01-11", clock))
    later = opened(root, monkeypatch)
    goes = {g.table.version for g in find_garbage(later).rounds.goes}
    assert {done.version, superseded.version} <= goes
    remove_garbage(later, today=later.now().date())
    assert not any(Path(later.warehouse, "daily", version).exists() for version in (done.version, superseded.version))
    assert everything(table) == before


def _red(place: Context, table: Path) -> Adopted:
    class Red(Engine):
        def scan(self, job: Job, commit: int, intervals: Ranges, reads: Any) -> Any:
            name = job.model.audits[0].name
            return {at: replace(c, failures={name: 1}) for at, c in super().scan(job, commit, intervals, reads).items()}

    place._engine = Red(DeltaTables(place.warehouse))  # type: ignore[arg-type]
    return adopt(place, Adoption(model="daily", table=str(table)))


def test_a_red_adoption_is_audited_again(place: Context, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was compared with was mended: neither the table nor an audit is another one, the verdict is."""
    assert not _red(place, table).shown
    assert adopt(opened(place.project.root, monkeypatch), Adoption(model="daily", table=str(table))).shown


def test_a_backup_names_the_files(place: Context, table: Path, tmp_path: Path) -> None:
    """The other table's files are in no backup; what names them is, and shows them again after a restore."""
    adopt(place, Adoption(model="daily", table=str(table)))
    before = shown(place)
    made = backup(place.warehouse, tmp_path / "copy", data=True)
    assert not [f for f in made.files if f.endswith(".parquet") and f.startswith("daily/") and "adopted" in f]
    assert read_backup(tmp_path / "copy").files
    shutil.rmtree(place.warehouse)
    done = restore(tmp_path / "copy", place.project.settings, place.project.root, over_newer=False, by="ana")
    assert not done.missing and shown(place) == before


def test_a_backup_has_what_there_is(place: Context, table: Path, tmp_path: Path) -> None:
    """A file of the other table is lost: no reason to keep no backup of all else. It is named, by `--data`."""
    adopt(place, Adoption(model="daily", table=str(table)))
    gone, *_ = sorted(table.rglob("*.parquet"))
    gone.unlink()
    done = back_up_warehouse(place.project.root, tmp_path / "copy", data=True)
    [line] = done.missing
    assert line.startswith("prod daily: ") and gone.name in line, line
    assert read_backup(tmp_path / "copy") == done.manifest
    shutil.rmtree(place.warehouse)
    said = restore(tmp_path / "copy", place.project.settings, place.project.root, over_newer=False, by="ana")
    assert said.missing == (line,)


def test_a_backup_is_made_where_nobody_can_look(
    place: Context, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other table's folder is closed to this account, or on a disk that fails: that is told of it, and no more."""
    adopt(place, Adoption(model="daily", table=str(table)))

    def closed(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(DeltaTableStorage, "readable", closed)
    done = back_up_warehouse(place.project.root, tmp_path / "copy", data=True)
    assert done.missing == ("prod daily: its adopted table cannot be looked at: Permission denied",)
    assert read_backup(tmp_path / "copy") == done.manifest


def test_a_restore_names_files_that_are_gone(place: Context, table: Path, tmp_path: Path) -> None:
    """The other table was vacuumed, or written again, between the backup and the restore: that is said, by file."""
    adopt(place, Adoption(model="daily", table=str(table)))
    backup(place.warehouse, tmp_path / "copy", data=True)
    gone, *others = sorted(table.rglob("*.parquet"))
    gone.unlink()
    shutil.rmtree(place.warehouse)
    done = restore(tmp_path / "copy", place.project.settings, place.project.root, over_newer=False, by="ana")
    [line] = done.missing
    assert line.startswith("prod daily: ") and gone.name in line, line
    assert not [f for f in others if f.name in line]


STEPS: list[tuple[object, str]] = [
    (adopting, "create_version"), (adopting, "write_link"), (adopting, "write_counts"), (adopting, "_record"),
    (adopting, "build"), (adopting, "release_case"), (adopting, "publish_contracts"),
]  # fmt: skip


class Killed(BaseException):
    """No handler of ours catches it."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_killed_at_any_step(
    place: Context, table: Path, monkeypatch: pytest.MonkeyPatch, step: int, after: bool
) -> None:
    """Before or after any step: the same command goes on, and the same is shown as without the kill."""
    module, name = STEPS[step]
    real: Callable[..., Any] = getattr(module, name)

    def mortal(*arguments: Any, **more: Any) -> Any:
        if after:
            real(*arguments, **more)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, name, mortal)
        with pytest.raises(Killed):
            adopt(place, Adoption(model="daily", table=str(table)))
    again = opened(place.project.root, monkeypatch)
    moved = (name == "release_case" and after) or name == "publish_contracts"
    if moved:
        with pytest.raises(PlanError, match="shows daily already"):
            adopt(again, Adoption(model="daily", table=str(table)))
    else:
        assert adopt(again, Adoption(model="daily", table=str(table))).shown
    assert len(shown(again)) == 12
    [segment] = again.control.environments.read("prod").pointers["daily"].segments
    built = [e for e in again.control.ledger.entries(kinds=[Kind.BUILT]) if e.version == segment.version]
    assert [(e.interval, e.rows) for e in built] == [(days("01", "06"), 12)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.append_column("more", pa.array(["x"] * 12)).drop_columns(["n"]), "it has no column n"),
        (lambda t: t.rename_columns(["Kind", "ds", "n", "total"]), "Kind is string; the model says kind string"),
        (lambda t: t.set_column(2, "n", t["n"].cast(pa.int32())), "n is integer; the model says n bigint|n is integer"),
        (lambda t: t.set_column(1, "ds", pa.array([None, *t["ds"].to_pylist()[1:]], pa.date32())), "1 rows have no ds"),
        (
            lambda t: t.set_column(1, "ds", pa.array([date(2019, 1, 1), *t["ds"].to_pylist()[1:]], pa.date32())),
            "1 rows are outside of the model's time: 2019-01-01",
        ),
    ],
)
def test_tables_that_are_not_the_models(
    place: Context, tmp_path: Path, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    """Each is refused with what is wrong and what to do, and nothing is shown."""
    write_deltalake(str(tmp_path / "t"), change(rows_of(1, 6)))
    with pytest.raises(BackfillError) as raised:
        adopt(place, Adoption(model="daily", table=str(tmp_path / "t")))
    assert re.search(said, f"{raised.value}"), raised.value
    assert raised.value.fix and not place.control.environments.read("prod").pointers


@pytest.mark.parametrize(
    ("kind", "said", "by"),
    [
        (pa.timestamp("us", "UTC"), "timestamp", None),
        (pa.timestamp("us", "UTC"), "timestamp", ["ds"]),
        (pa.timestamp("us"), "timestamp_ntz", None),
    ],
)
def test_a_time_column_of_another_kind(
    place: Context, tmp_path: Path, kind: pa.DataType, said: str, by: list[str] | None
) -> None:
    """Midnights are no dates: neither a query nor `--copy` mends that, so no refusal leads to one of them."""
    table = tmp_path / "midnights"
    rows = rows_of(1, 3)
    times = pa.array([datetime(d.year, d.month, d.day) for d in rows["ds"].to_pylist()], kind)
    write_deltalake(str(table), rows.set_column(rows.schema.get_field_index("ds"), "ds", times), partition_by=by)
    with pytest.raises(PlanError, match="columns are not those of daily") as refused:
        adopt(place, Adoption(model="daily", table=str(table)))
    assert f"ds is {said}, not date" in refused.value.why
    assert "write the table once more with CAST(ds AS DATE) AS ds and adopt that" in refused.value.fix
    assert "--copy casts none" in refused.value.fix and "make the query" not in refused.value.fix
    with pytest.raises(PlanError) as copied:
        casts(place.project.models["daily"], COLUMNS, (("ds", said), *COLUMNS[1:]), copying=True)
    assert (copied.value.why, copied.value.fix) == (refused.value.why, refused.value.fix)


def test_tables_that_are_not_files_alone(place: Context, tmp_path: Path) -> None:
    """Deletion vectors, other names in the files, a table of our own: refused, with what does it instead."""
    mapped = tmp_path / "mapped"
    write_deltalake(str(mapped), rows_of(1, 2), configuration={"delta.minReaderVersion": "2"})
    log = mapped / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"configuration":{', '"configuration":{"delta.columnMapping.mode":"name",'))
    with pytest.raises(StateError, match="cannot be adopted in place") as raised:
        foreign_table.read_foreign_table(str(mapped), time_column="ds")
    assert "--copy" in raised.value.fix
    own = Path(place.warehouse) / "daily" / "x"
    write_deltalake(str(own), rows_of(1, 2))
    with pytest.raises(PlanError, match="the project's own warehouse"):
        adopt(place, Adoption(model="daily", table=str(own)))


def written_again(table: Path, change: Callable[[pa.Table], pa.Table], **how: Any) -> None:
    """The table's one file with other contents, of which its log knows."""
    [file] = table.glob("*.parquet")
    before = file.stat().st_size
    parquet.write_table(change(parquet.read_table(file)), file, **how)
    log = table / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace(f'"size":{before}', f'"size":{file.stat().st_size}'))


OLD = {"org.apache.spark.version": "3.5.1", "org.apache.spark.legacyDateTime": ""}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.rename_columns(["kind", "ds", "N", "total", "seen"]), "its columns are called N"),
        (lambda t: t.replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), "seen may have"),
        (lambda t: t.replace_schema_metadata(OLD), "seen may have"),
        (lambda t: t.replace_schema_metadata({"org.apache.spark.version": "3.5.1"}), ""),
    ],
)
def test_files_that_readers_understand_differently(
    place: Context, tmp_path: Path, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    """Where Spark and Arrow would show different rows a table is not adopted in place, and the copy is named."""
    table = tmp_path / "legacy"
    write_deltalake(str(table), rows_of(1, 6).append_column("seen", pa.array([date(1500, 1, 1)] * 12)))
    written_again(table, change)
    found = foreign_table.read_foreign_table(str(table), time_column="ds")
    if not said:
        foreign_table.check_files(found, ["ds", "kind", "n", "total", "seen"])
        return
    with pytest.raises(StateError, match="cannot be adopted in place") as raised:
        foreign_table.check_files(found, ["ds", "kind", "n", "total", "seen"])
    assert said in raised.value.why and "--copy" in raised.value.fix
    foreign_table.check_files(found, ["ds", "kind", "total"])  # days of this century are the same in any calendar


@pytest.mark.parametrize(("writer", "year", "same"), [("3.5.1", 2024, True), ("3.5.1", 1500, False), ("", 2024, False)])
def test_instants_as_int96(tmp_path: Path, writer: str, year: int, same: bool) -> None:
    """INT96 is how Spark writes instants: of recent times, and by Spark, they are the same to all."""
    at = pa.array([datetime(year, 1, 1, tzinfo=UTC)] * 12, pa.timestamp("us", "UTC"))
    table = tmp_path / "legacy"
    write_deltalake(str(table), rows_of(1, 6).append_column("seen", at))
    by = {"org.apache.spark.version": writer} if writer else {}
    written_again(table, lambda t: t.replace_schema_metadata(by), use_deprecated_int96_timestamps=True)
    found = foreign_table.read_foreign_table(str(table), time_column="ds")
    if same:
        foreign_table.check_files(found, ["ds", "seen"])
    else:
        with pytest.raises(StateError, match="cannot be adopted in place"):
            foreign_table.check_files(found, ["ds", "seen"])


@pytest.mark.parametrize("path", ["../other/x.parquet", "%2e%2e/other/x.parquet", "a/../../x.parquet"])
def test_paths_that_lead_elsewhere(table: Path, path: str) -> None:
    """Files of another folder, and a folder that readers would look for elsewhere."""
    log = table / "_delta_log" / f"{0:020}.json"
    [file] = table.glob("*.parquet")
    log.write_text(log.read_text().replace(f'"path":"{file.name}"', f'"path":"{path}"'))
    with pytest.raises(StateError, match="outside of its folder"):
        foreign_table.read_foreign_table(str(table), time_column="ds")
    table.rename(table.parent / "a%20b")
    with pytest.raises(StateError, match="has an escape in it"):
        foreign_table.read_foreign_table(str(table.parent / "a%20b"), time_column="ds")


def test_adopting_looks_into_files(place: Context, table: Path) -> None:
    """Before anything is written."""
    written_again(table, lambda t: t.rename_columns(["kind", "ds", "N", "total"]))
    with pytest.raises(StateError, match="called N"):
        adopt(place, Adoption(model="daily", table=str(table)))
    assert not list(Path(place.warehouse, "daily").glob("*.adopted-*/_delta_log"))


def test_a_changed_model_rebuilds_adopted_days_only_when_asked(
    place: Context, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an edit a plan asks what is meant; forward-only keeps the adopted rows."""
    adopt(place, Adoption(model="daily", table=str(table)))
    file = place.project.root / "models" / "daily.sql"
    file.write_text(file.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    later = opened(place.project.root, monkeypatch)
    with pytest.raises(PlanError, match="6 days of it were adopted") as raised:
        plan_request(later, Request(select=("daily",)))
    assert "--forward-only 2024-01-07" in raised.value.fix
    plan = plan_request(later, Request(select=("daily",), forward_only=utc("2024-01-07")))
    assert [s.intervals for s in plan.stages if isinstance(s, Build)] == [Ranges((days("07", "10"),))]
    asked = plan_request(later, Request(select=("daily",), strategies=(("daily", "full-rebuild"),)))
    assert [s.intervals for s in asked.stages if isinstance(s, Build)] == [Ranges((days("01", "10"),))]


def test_forward_only_keeps_adopted_days_in_later_plans_too(
    place: Context, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the new logic is shown after them, no plan computes them unasked, and what reads the model has them."""
    adopt(place, Adoption(model="daily", table=str(table)))
    file = place.project.root / "models" / "daily.sql"
    file.write_text(file.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    later = opened(place.project.root, monkeypatch)
    forward = Request(select=("daily",), forward_only=utc("2024-01-07"))
    patches = plan_request(later, forward).patches
    build(later.bench(patches=patches), "daily", patches["daily"].intervals)
    assert promote_plan(later, forward).verdict.open
    plan = plan_request(later, Request(select=("daily",)))
    assert not plan.stages and plan.kept["daily"].startswith("complete; 6 days are shown from the adopted table")
    assert plan_request(later, Request(select=("daily",), end=utc("2024-01-03"))).kept == plan.kept
    builds = [s for s in plan_request(later).stages if isinstance(s, Build)]
    assert [(s.model, s.intervals) for s in builds] == [("running", Ranges((days("01", "10"),)))]
    later._engine = Engine(Tables(later.warehouse))  # type: ignore[arg-type]
    made = plan_request(later)
    assert all(done.ok for done in apply(later.bench(made.sources), made).values())
    assert promote_plan(later, Request()).verdict.open
    assert not [s for s in plan_request(later).stages if isinstance(s, Build)]
    restated = plan_request(later, Request(restate=(("daily", days("02", "03")),)))
    [first, *_] = [s for s in restated.stages if isinstance(s, Build)]
    assert (first.model, first.intervals) == ("daily", Ranges((days("02", "03"),)))


def test_what_spark_cannot_read(place: Context, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its errors are said as those of the table, by one adoption as by drafts of many, which go on with the others."""
    from pyspark.errors import AnalysisException

    def broken(*_: object) -> Any:
        raise AnalysisException("[UNABLE_TO_INFER_SCHEMA] nothing there")

    monkeypatch.setattr(adopting, "rows_by_file", broken)
    with pytest.raises(StateError, match="legacy cannot be read") as raised:
        adopt(place, Adoption(model="daily", table=str(table)))
    assert "UNABLE_TO_INFER_SCHEMA" in raised.value.why

    def guessed(_: object, name: str, place: TablePlace) -> Guess:
        return broken() if name == "bad" else Guess(name=name, place=place, columns=(("ds", "date"),))

    found = [(name, TablePlace(text=name, format="parquet", location=f"/{name}")) for name in ("bad", "good")]
    monkeypatch.setattr(drafts, "tables_in", lambda *_: (found, {"gone": "it is gone"}))
    monkeypatch.setattr(drafts, "guess", guessed)
    done = drafts.draft_models(place, "/old")
    assert [g.name for g in done.guesses] == ["good"] and [name for name, _ in done.left] == ["gone", "bad"]

    monkeypatch.setattr(drafts, "tables_in", lambda *_: (found[:1], {}))
    with pytest.raises(StateError, match="no table of /new can be read") as raised:
        drafts.draft_models(place, "/new")
    assert "UNABLE_TO_INFER_SCHEMA" in raised.value.why


@pytest.mark.parametrize(
    ("said", "at"),
    [
        (None, None),
        ("2024-01-01 05:00:00", utc("2024-01-01T05:00")),
        ("+10000-01-01", datetime.max.replace(tzinfo=UTC)),
        ("-0044-03-15", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_times_that_python_does_not_have(place: Context, said: str | None, at: datetime | None) -> None:
    """They are outside of any model's time, and refused as such."""
    assert adoption._instant(said) == at
    for far in (at, utc("9999-12-31")):
        if far and far.year != 2024:
            with pytest.raises(PlanError, match="outside of the model's time"):
                contained(place.project.models["daily"], {far: 1, utc("2024-01-01"): 2}, place.now())


@pytest.mark.parametrize("content", [None, "", '{"a": ', "[]", '{"a": {"b": 1}}', '{"a": 3}'])
def test_counts_that_are_lost(place: Context, table: Path, tmp_path: Path, content: str | None) -> None:
    """They are said to be, and the same adoption again writes them, if the table has what was adopted."""
    done = adopt(place, Adoption(model="daily", table=str(table)))
    before = shown(place)
    counts = Path(place.warehouse, "daily", done.version, COUNTS)
    assert counts.name.startswith("_"), "a VACUUM leaves it"
    whole = counts.read_bytes()
    if content is None:
        counts.unlink()
    else:
        counts.write_text(content)
    with pytest.raises(StateError, match="were not counted") as raised:
        shown(place)
    assert "`backfill adopt`" in raised.value.fix
    write_deltalake(str(tmp_path / "other"), rows_of(1, 6))
    with pytest.raises(PlanError, match="shows daily already"):
        adopt(place, Adoption(model="daily", table=str(tmp_path / "other")))
    write_deltalake(str(table), rows_of(7, 7), mode="append")  # what others write later does not matter
    again = adopt(place, Adoption(model="daily", table=str(table)))
    assert (again.version, again.release, again.contained.rows) == (done.version, done.release, done.contained.rows)
    assert counts.read_bytes() == whole and shown(place) == before
    with pytest.raises(PlanError, match="shows daily already"):
        adopt(place, Adoption(model="daily", table=str(table)))


def test_names_in_drafts(place: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a table and its columns are called, a draft has them, and nothing else."""
    odd = 'a: b # c */ `d` "e"'
    found = Guess(
        name="x y",
        place=TablePlace(text=odd, format="parquet", location=f"/old/{odd}"),
        columns=(("no", "date"), (odd, "struct<`a b`:int>")),
        time_column="no",
        grain=(odd,),
    )
    monkeypatch.setattr(drafts, "tables_in", lambda *_: ([(found.name, found.place)], {}))
    monkeypatch.setattr(drafts, "guess", lambda *_: found)
    assert drafts.draft_models(place, "/old").written
    folder = place.project.root / "drafts"
    [source] = yaml.safe_load((folder / "sources.yml").read_text())["sources"]
    assert (source["name"], source["path"]) == ("legacy.x y", f"/old/{odd}")
    assert source["columns"] == dict(found.columns) and source["time_column"] == "no"
    header, _, query = (folder / "models" / "x y.sql").read_text().removeprefix("/*").partition("*/")
    said = yaml.safe_load(header)
    assert (said["time_column"], said["grain"]) == ("no", ["no", odd])
    assert "FROM legacy.`x y`" in query and "`no` >= :start" in query


def test_drafts_of_more_tables(place: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call adds the sources that are new below those that are there, whatever somebody wrote beside them; of a
    file that ends otherwise nothing is changed, and it is said."""
    some = {
        name: Guess(name=name, place=TablePlace(text=name, format="parquet", location=f"/old/{name}"),
                    columns=(("ds", "date"),), time_column="ds", grain=())
        for name in ("a", "b", "c")
    }  # fmt: skip
    monkeypatch.setattr(drafts, "guess", lambda _, name, __: some[name])
    sources = place.project.root / "drafts" / "sources.yml"

    def drafted(*names: str) -> tuple[set[str], dict[str, str]]:
        monkeypatch.setattr(drafts, "tables_in", lambda *_: ([(n, some[n].place) for n in names], {}))
        done = drafts.draft_models(place, "/old")
        return set(done.written), dict(done.left)

    drafted("a")
    edited = sources.read_text().replace("name: legacy.a", "name: legacy.a  # of the old team").rstrip("\n")
    sources.write_text(edited)
    written, left = drafted("a", "b")
    assert written == {"drafts/models/b.sql", "drafts/sources.yml"}
    assert left == {"drafts/models/a.sql": "it is there already"}
    assert sources.read_text().startswith(edited)
    assert [s["name"] for s in yaml.safe_load(sources.read_text())["sources"]] == ["legacy.a", "legacy.b"]
    assert drafted("a", "b")[1]["drafts/sources.yml"] == "it is there already"

    for other in (sources.read_text() + "notes: mine\n", "sources: {}\n", "sources: [\n", "sources:\n- name: x\n"):
        sources.write_text(other)
        assert "drafts/sources.yml" in drafted("c")[1] and sources.read_text() == other


def test_a_log_that_is_no_folder(place: Context, tmp_path: Path) -> None:
    """It is said, not fallen over."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "_delta_log").write_text("")
    with pytest.raises(StateError, match="there is no Delta table"):
        adopt(place, Adoption(model="daily", table=str(tmp_path / "t")))


class Asked:
    """A session that notes what it is asked for."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def sql(self, text: str) -> Any:
        self.said.append(text)
        return self

    def collect(self) -> list[dict[str, int]]:
        return [{"version": 7}]


@pytest.mark.parametrize(
    ("place_of", "name"),
    [
        (TablePlace(text="x", format="delta", location="/old/a b"), "delta.`/old/a b`"),
        (TablePlace(text="x", format="delta", table="legacy.t"), "`legacy`.`t`"),
    ],
)
def test_a_copy_is_of_one_commit(place_of: TablePlace, name: str) -> None:
    """What is counted and what is copied are the rows of one commit, whoever writes meanwhile."""
    spark = Asked()
    adoption.frame_of(spark, place_of)  # type: ignore[arg-type]
    assert spark.said == [f"DESCRIBE HISTORY {name} LIMIT 1", f"SELECT * FROM {name} VERSION AS OF 7"]


def test_gaps_and_the_open_interval(place: Context) -> None:
    """Days without rows between others are the model's to build; what is not over is left out, and counted."""
    model = place.project.models["daily"]
    found = contained(model, {utc("2024-01-02"): 3, utc("2024-01-04"): 2, utc("2024-01-11"): 7}, place.now())
    assert found.intervals == Ranges.of([days("02"), days("04")])
    assert (found.gaps, found.later) == (Ranges((days("03"),)), 7)
