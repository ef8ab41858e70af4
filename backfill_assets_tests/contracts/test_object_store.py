"""Is a warehouse in a bucket, or a source there, as good as in a folder? Against a server, all that needs no JVM."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import write_deltalake

from backfill_assets.adapters import commit_log, heartbeat, parquet_footer, source_files, source_pins
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.data_files import IntervalFile
from backfill_assets.adapters.file_sizes import NO_FILE, file_sizes, listed_sizes
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.heartbeat import (
    check_heard,
    machine_name,
    read_heartbeats,
    runs_folder,
    sending_heartbeats,
)
from backfill_assets.adapters.inputs import check_pin
from backfill_assets.adapters.machine import session_conf
from backfill_assets.adapters.packets import packet_folders, remove_packet
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_days import source_days
from backfill_assets.adapters.source_files import files_at
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.adapters.spark_errors import avro_package
from backfill_assets.adapters.table_log import DeltaTableLog, open_table
from backfill_assets.adapters.table_storage import DeltaTableStorage, _footer, _listed, _sizes
from backfill_assets.adapters.warehouse import read_identity
from backfill_assets.adapters.writer_lease import writing
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.writers import read_writers
from backfill_assets.build.engine import SourceInput
from backfill_assets.cli.doctor import examine
from backfill_assets.core.errors import (
    BackfillError,
    ConflictError,
    ProjectError,
    SettingsError,
    StateError,
    TransientBuildError,
)
from backfill_assets.core.model import Source
from backfill_assets.core.settings import Settings
from backfill_assets.project.file_schema import read_schema
from backfill_assets.project.loader import load_project
from backfill_assets.project.locations import wrong_location
from backfill_assets.project.object_store import UnreachableError, access, arrow_path, delta_options, unreachable
from backfill_assets.project.source_places import source_places
from backfill_assets.state.ledger import Kind
from backfill_assets.state.writer_leases import WriterLease, WriterLeases
from backfill_assets_tests.buckets import BUCKET, keys, object_store, upload
from backfill_assets_tests.contracts.test_control_table import NOTE, SPEC, row
from backfill_assets_tests.projects import backfill_here, small_project
from backfill_assets_tests.unsparked import build, unsparked

LAKE = f"s3://{BUCKET}"
SINCE = datetime(2024, 1, 5, 6, 7, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    with object_store() as client:
        yield client


@pytest.fixture
def bucket(store: Any) -> Any:
    for key in keys(store):
        store.delete_object(Bucket=BUCKET, Key=key)
    return store


def files(path: str, kind: str = "csv", **more: Any) -> Source:
    return Source(name="raw", format=kind, path=path, file=Path("sources.yml"), **more)


def test_control_tables_refuse_the_second_of_two_writers(bucket: Any) -> None:
    """Appends of many are all there; of two replacements of one revision, one is refused."""
    table = DeltaStore(f"{LAKE}/w").table(SPEC)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: table.append([row(f"k{n}", n)]), range(8)))
    assert sorted(str(r["key"]) for r in table.read()) == [f"k{n}" for n in range(8)]
    revision = table.revision()
    table.replace([row("a", 1)], where={"key": ["a"]}, revision=revision, note=NOTE)
    with pytest.raises(ConflictError):
        table.replace([row("a", 2)], where={"key": ["a"]}, revision=revision, note=NOTE)
    assert [r["number"] for r in table.read({"key": ["a"]})] == [1]


def test_from_plan_to_janitor(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`s3a://` and `s3://` are one warehouse. It is built, promoted, looked at, cleared up; nothing is on the disk."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", "s3a://lake/house/")
    root = small_project(tmp_path, days=3, batch_size=3)
    place = unsparked(root)
    assert place.warehouse == f"{LAKE}/house"
    _, done = build(place)
    assert all(outcome.ok for outcome in done.values()), done
    promote_plan(unsparked(root))
    monkeypatch.setenv("BACKFILL_WAREHOUSE", f"{LAKE}/house")
    identity = read_identity(f"{LAKE}/house")
    assert identity is not None and identity.release is not None
    for command in (["status"], ["plan"], ["watch"], ["janitor"], ["warehouse"], ["verify", "--all"]):
        said = backfill_here(*command, project=root)
        assert said.code == 0, (command, said)
    assert set(Context.open(root).control.environments.read("prod").pointers) == {"daily", "running"}
    assert keys(bucket, "house/daily/") and keys(bucket, "house/evidence/")
    assert not (tmp_path / ".backfill" / "warehouse").exists()
    storage = DeltaTableStorage(f"{LAKE}/house")
    there = storage.tables()
    assert [t.model for t in there] == ["daily", "running"] and all(t.files and t.bytes for t in there)
    storage.remove("daily", there[0].version)
    assert storage.tables() == there[1:]
    [packet, *others] = packet_folders(f"{LAKE}/house")
    remove_packet(f"{LAKE}/house", packet)
    assert packet_folders(f"{LAKE}/house") == others


@contextmanager
def leased(place: str, model: str = "daily", run: str = "mine") -> Generator[Callable[[], None]]:
    """What a build does: signs of life, and the lease of the model's table."""
    with (
        sending_heartbeats(place, run),
        writing(place, WriterLeases(DeltaStore(place)), run, model, "v1") as become_writer,
    ):
        yield become_writer


def another_process(
    place: str, model: str, version: str = "v1", *, home: str = "elsewhere/1", pid: int = 7
) -> WriterLease:
    """It has the lease of a table, and gives signs of life."""
    theirs = WriterLease(model=model, version=version, run="r7", process="another", home=home, pid=pid, since=SINCE)
    WriterLeases(DeltaStore(place)).take(theirs, lambda _: True)
    said = {"run": "r7", "home": home, "pid": pid, "process": "another"}
    ArrowFolder(runs_folder(place)).write("theirs.json", json.dumps(said).encode())
    return theirs


def test_one_process_at_a_time_writes_to_a_table_there(bucket: Any, tmp_path: Path) -> None:
    """Who finds another one at work is told who it is, and since when, until that is over. Other models are built
    meanwhile; and on a disk many write to a table."""
    house, leases = f"{LAKE}/house", WriterLeases(DeltaStore(f"{LAKE}/house"))
    with leased(house), leased(house, run="mine too"):
        pass
    assert leases.all() == []
    another_process(house, "daily")
    said = "another process writes to daily"
    with pytest.raises(StateError, match=said) as refused, leased(house):
        raise AssertionError("it was let in")
    assert refused.value.why.startswith("run r7, process 7 of elsewhere, since 2024-01-05 06:07:08 UTC, which gave a")
    with leased(house, "running"):
        assert [(lease.model, lease.run) for lease in leases.all()] == [("daily", "r7"), ("running", "mine")]
    ArrowFolder(runs_folder(house)).delete("theirs.json")
    with leased(house):
        assert [(lease.model, lease.run) for lease in leases.all()] == [("daily", "mine")]
    assert leases.all() == [] and read_heartbeats(house) == []
    another_process(str(tmp_path), "daily")
    with leased(str(tmp_path)) as become_writer:
        become_writer()


def test_the_rest_is_built_while_another_process_builds_a_model(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it builds is refused; nothing is recorded as failed, and the next command goes on."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", f"{LAKE}/house")
    root = small_project(tmp_path, days=2)
    place = unsparked(root)
    another_process(place.warehouse, "running", place.project.fingerprints["running"])
    _, done = build(place)
    assert done["daily"].ok and not done["running"].ok
    assert "another process writes to running" in done["running"].failures[0].error
    entries = place.control.ledger.entries()
    assert {e.model for e in entries} == {"daily"} and Kind.FAILED not in {e.kind for e in entries}
    said = [str(writer) for writer in read_writers(place)]
    assert said == ["running is written by run r7, process 7 of elsewhere, since 2024-01-05 06:07:08 UTC"]
    ArrowFolder(runs_folder(place.warehouse)).delete("theirs.json")
    said = backfill_here("status", project=root)
    assert "running was written by run r7" in said.out.replace("\n", " ") and "the next build takes over" in said.out
    _, done = build(unsparked(root))
    assert all(outcome.ok for outcome in done.values()), done


def test_who_takes_over_is_the_tables_writer(bucket: Any) -> None:
    """By a commit, which the log store looks for. The one before takes nothing back: neither by that, nor its lease."""
    house = f"{LAKE}/house"
    table, leases = f"{house}/daily/v1", WriterLeases(DeltaStore(house))
    frame = pd.DataFrame({"n": [1]})
    write_deltalake(table, frame, storage_options=delta_options(LAKE))
    with leased(house) as become_writer:
        become_writer()
        become_writer()
        opened = open_table(table)
        assert opened is not None and opened.version() == 1
        assert opened.metadata().configuration == {commit_log.WRITER: heartbeat.process_token()}
        assert DeltaTableLog(house).commits("daily", "v1")[-1].table_commit == 0  # it changed no row
        theirs = another_process(house, "daily")  # this one was paused meanwhile
        with pytest.raises(StateError, match="another process has taken over daily"):
            become_writer()
        opened.alter.set_table_properties({commit_log.WRITER: theirs.process}, raise_if_not_exists=False)
        with pytest.raises(StateError, match="another process has taken over daily"):
            become_writer()
    assert leases.all() == [theirs]  # nor is theirs given back


def test_who_was_silent_writes_nothing_more(bucket: Any, tmp_path: Path) -> None:
    """A process that slept, or whose signs of life are not taken, may have been followed by another one: it ends before
    its next write, and gives no sign that would stop the other. On a disk nobody is stopped."""
    for place, refused in ((f"{LAKE}/house", True), (str(tmp_path), False)):
        with leased(place):
            [heart] = heartbeat._HEARTS.values()
            check_heard(place, "mine")
            heart.heard -= 20
            if refused:
                with pytest.raises(StateError, match="may have been taken for stopped"):
                    check_heard(place, "mine")
                ArrowFolder(runs_folder(place)).delete(heart.name)
                with pytest.raises(StateError, match="may have been taken for stopped"), leased(place, "running"):
                    raise AssertionError("it took another lease")
            else:
                check_heard(place, "mine")
            heart.beat()
            assert [beat.run for beat in read_heartbeats(place)] == ([] if refused else ["mine"])
            if refused:
                with pytest.raises(StateError, match=r"written 2\d s ago"):
                    check_heard(place, "mine")


def test_sources_of_any_name(bucket: Any, tmp_path: Path) -> None:
    """A pattern, and names that others gave, are places of sources; of a warehouse they are not."""
    (tmp_path / "models").mkdir()
    (tmp_path / "backfill.yml").write_text("name: tests\n")
    for key in ("events/2024-*/{a,b}.csv", "landing zone/part=a%3A1/[0-9].csv", "events/a:b"):
        entry = {"name": "raw.events", "format": "csv", "path": f"{LAKE}/{key}", "columns": {"id": "bigint"}}
        (tmp_path / "sources.yml").write_text(yaml.safe_dump({"sources": [entry]}))
        assert load_project(tmp_path).sources["raw.events"].path == f"{LAKE}/{key}"
        assert wrong_location(f"{LAKE}/{key}")
    entry = {"name": "raw.events", "format": "csv", "path": "s3://my_lake/a", "columns": {"id": "bigint"}}
    (tmp_path / "sources.yml").write_text(yaml.safe_dump({"sources": [entry]}))
    with pytest.raises(ProjectError, match="`my_lake` is no name of a bucket"):
        load_project(tmp_path)


def test_whose_settings_reach_a_bucket(tmp_path: Path) -> None:
    """The folder s3/ is for projects that have no way of their own in their settings."""
    of = partial(Settings, warehouse=f"{LAKE}/house")
    assert session_conf(tmp_path, of()).name == "s3"
    assert session_conf(tmp_path, of(spark={"spark.driver.memory": "1g"})).name == "s3"
    for own in ("spark.hadoop.fs.s3a.impl", "spark.jars.packages", "spark.hadoop.fs.s3.impl"):
        assert session_conf(tmp_path, of(spark={own: "mine"})).name == "spark-conf"
    assert session_conf(tmp_path, Settings()).name == "spark-conf"
    assert session_conf(tmp_path, of(spark={"spark.jars.packages": avro_package()})).name == "s3"


def test_machines_of_one_name_are_not_one_process(bucket: Any) -> None:
    """Two made from one image: the same host, namespace, even process number. Its silence tells, nothing else."""
    house = f"{LAKE}/house"
    for number in (os.getpid(), 2**22 + 1):  # ours, and one that is not here
        another_process(house, "daily", home=machine_name(), pid=number)
        with pytest.raises(StateError, match="another process writes"), leased(house):
            raise AssertionError("it was let in")
    ArrowFolder(runs_folder(house)).delete("theirs.json")
    with leased(house):
        pass


def test_a_store_that_does_not_answer_makes_no_days_unknown(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else days that are not loaded would be built without rows, and be published."""
    (tmp_path / "a.csv").write_text("at,n\n2024-01-01T05:00:00Z,1\n")
    pd.DataFrame({"at": pd.to_datetime(["2024-01-03T05:00"], utc=True)}).to_parquet(tmp_path / "b.parquet")
    for name in ("a.csv", "b.parquet"):
        upload(bucket, tmp_path, "events")
        kind = name.split(".")[1]
        source = files(f"{LAKE}/events/{name}", kind, time_column="at", options={"header": "true"})
        assert source_days(source, {})
        parquet_footer._footer.cache_clear()  # of a new process

        with monkeypatch.context() as patched:
            patched.setattr(source_files, "arrow_path", lambda place: (Busy(), place))
            with pytest.raises(SettingsError, match="cannot be reached"):
                source_days(source, {})


class Busy:
    """A file system whose store asks for patience."""

    def open_input_file(self, path: str) -> Any:
        raise OSError("AWS Error SLOW_DOWN during GetObject operation: reduce your rate")

    open_input_stream = open_input_file


def test_what_is_no_data_beside_objects(bucket: Any) -> None:
    """Hidden names, what stands for folders, and another prefix that begins alike."""
    for key in ("e/ds=1_$folder$", "e/_tmp/a.csv", "e/", "e_archive/a.csv", "e/ds=1/a.csv"):
        bucket.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    assert [f.inside for f in files_at(f"{LAKE}/e")] == [("ds=1", "a.csv")]
    assert [f.place for f in files_at(f"{LAKE}/e/ds=1/a.csv")] == [f"{LAKE}/e/ds=1/a.csv"]
    assert "unpinned" in FilePins().pin(files(f"{LAKE}/e/*/a.csv"))  # Spark finds what it stands for


def test_no_secret_is_printed(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one in the address, nor a token that the store repeats."""
    said = unreachable(f"{LAKE}/w", "InvalidToken: <Token-0>hunter2</Token-0>")
    assert "hunter2" not in f"{said} {said.why}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://me:hunter2@127.0.0.1")
    with pytest.raises(SettingsError, match="holds a name and a password") as refused:
        access(LAKE)
    assert "hunter2" not in str(refused.value)


def test_a_backup_of_a_bucket_is_refused(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What works on folders only says so, and what to do."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", f"{LAKE}/house")
    root = small_project(tmp_path, days=1)
    build(unsparked(root))
    for command in (["backup", str(tmp_path / "b")], ["warehouse", "--repair"]):
        said = backfill_here(*command, project=root)
        assert said.code != 0 and "object store" in said.err and "fix:" in said.err, said
        assert "backfill restore SRC" not in said.err


def test_what_is_damaged_there_is_not_sent_to_restore(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which refuses buckets: a damaged identity, a lost file of a version, an empty bucket that was none."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", f"{LAKE}/house")
    root = small_project(tmp_path, days=1)
    build(unsparked(root))
    promote_plan(unsparked(root))
    content = bucket.get_object(Bucket=BUCKET, Key="house/warehouse.json")["Body"].read()
    bucket.put_object(Bucket=BUCKET, Key="house/warehouse.json", Body=b"{")
    said = [backfill_here("status", project=root)]
    bucket.put_object(Bucket=BUCKET, Key="house/warehouse.json", Body=content)
    for key in keys(bucket, "house/daily/"):
        if key.endswith(".parquet"):
            bucket.delete_object(Bucket=BUCKET, Key=key)
    said.append(backfill_here("doctor", "--deep", project=root))
    for key in keys(bucket, "house/"):
        bucket.delete_object(Bucket=BUCKET, Key=key)
    said.append(backfill_here("status", project=root))
    for one in said:
        assert one.code != 0 and "the object store's own versions or copies" in one.out + one.err, one
        assert "backfill restore" not in one.out + one.err and "--repair" not in one.out + one.err


def test_doctor_looks_at_sources_in_a_bucket(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the warehouse is a folder: with the jars that reach them, no JVM; one that is not there is named."""
    root = small_project(tmp_path, days=2)
    upload(bucket, root / "data" / "events", "events")
    declared = (root / "sources.yml").read_text()
    (root / "sources.yml").write_text(declared.replace("data/events", "s3a://lake/events"))
    assert source_places(root) == (f"{LAKE}/events",)
    checks = {check.name: check for check in examine(root)}
    assert checks["sources in S3"].ok and f"{LAKE}/events: 2 files" in checks["sources in S3"].found, checks
    assert checks["spark-conf"].found.endswith("s3") and "disk" in checks
    (root / "sources.yml").write_text(declared.replace("data/events", "s3://ocean/events"))
    check = next(check for check in examine(root) if check.name == "sources in S3")
    assert not check.ok and "there is no bucket ocean" in check.found
    (root / "sources.yml").write_text(declared)
    assert "sources in S3" not in {check.name for check in examine(root)}


def test_a_source_is_pinned_and_watched_by_its_etags(bucket: Any, tmp_path: Path) -> None:
    """An object that is written again with as many bytes is another source; one that is hidden is none."""
    for day in (1, 2):
        (tmp_path / f"2024-01-0{day}.csv").write_text(f"at,n\n2024-01-0{day}T05:00:00Z,{day}\n")
    upload(bucket, tmp_path, "events")
    bucket.put_object(Bucket=BUCKET, Key="events/_SUCCESS", Body=b"")
    bucket.put_object(Bucket=BUCKET, Key="events-of-others/a.csv", Body=b"at,n\n2020-01-01,1\n")
    source = files(f"{LAKE}/events", time_column="at", options={"header": "true"})
    first = FilePins().pin(source)
    assert first["count"] == 2 and "files" in first
    assert [f.inside for f in files_at(f"{LAKE}/events")] == [("2024-01-01.csv",), ("2024-01-02.csv",)]
    assert str(source_days(source, first)).startswith("2024-01-01")
    before = SourceChanges().history(source, 0)
    assert not before.unwatched and first["files"] in before.digests
    bucket.put_object(Bucket=BUCKET, Key="events/2024-01-02.csv", Body=b"at,n\n2024-01-02T05:00:00Z,9\n")
    assert FilePins().pin(source) != first
    assert not {*SourceChanges().history(source, 0).digests} & {*before.digests}
    one = files_at(f"{LAKE}/events/2024-01-01.csv")
    assert [(f.place, f.alone) for f in one] == [(f"{LAKE}/events/2024-01-01.csv", True)]


def test_a_source_of_very_many_objects_is_not_pinned(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To list them takes too long: that is said, and no more of the list is asked for than tells it."""
    for n in range(5):
        bucket.put_object(Bucket=BUCKET, Key=f"events/{n}.csv", Body=b"n\n1\n")
    assert FilePins().pin(files(f"{LAKE}/events"))["count"] == 5
    monkeypatch.setattr(source_pins, "MOST_OBJECTS", 3)
    assert "more than 3 objects" in str(FilePins().pin(files(f"{LAKE}/events"))["unpinned"])
    assert len(files_at(f"{LAKE}/events", at_most=4)) == 4


def test_an_outage_is_no_damage_and_damage_no_outage(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that does not answer says nothing of files: they are neither changed nor gone, and builds try again. An
    object that is no Parquet is said to be none."""
    bucket.put_object(Bucket=BUCKET, Key="events/a.parquet", Body=b"PAR1 no parquet PAR1")
    source = files(f"{LAKE}/events", "parquet", time_column="at")
    with pytest.raises((OSError, pa.ArrowException)) as said, files_at(f"{LAKE}/events")[0].opened() as opened:
        pq.ParquetFile(opened)
    assert not isinstance(said.value, UnreachableError)
    pin = FilePins().pin(source)

    def away(*_: object, **__: object) -> Any:
        raise OSError("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 28, Timeout was reached")

    monkeypatch.setattr(
        source_pins, "files_at", lambda _, **__: (_ for _ in ()).throw(unreachable(LAKE, "ConnectTimeout"))
    )
    with pytest.raises(TransientBuildError, match="does not answer"):
        check_pin(SourceInput(source=source, pin=pin))
    system, path = arrow_path(f"{LAKE}/house/m/v/a.parquet")
    gone: Any = SimpleNamespace(type_name=system.type_name, get_file_info=away, open_input_file=away)
    file = IntervalFile(path="a.parquet", at=datetime(2024, 1, 1, tzinfo=UTC), rows=1, bytes=1, in_all=1)
    for look in (
        lambda: _sizes(gone, [path], [file], {}),
        lambda: _footer(gone, path, file),
        lambda: _listed(gone, path, 200, 200),
    ):
        with pytest.raises(UnreachableError, match="does not answer"):
            look()


def test_many_files_are_listed(bucket: Any) -> None:
    """In folders; what is not among them is asked for."""
    for number in range(110):
        bucket.put_object(Bucket=BUCKET, Key=f"house/m/v/at={number % 7}/{number}.parquet", Body=b"x" * (number % 50))
    system, root = arrow_path(f"{LAKE}/house/m/v")
    listed = listed_sizes(system, root, 110, 110)
    assert len(listed) == 110
    places = [f"{root}/at={number % 7}/{number}.parquet" for number in range(110)]
    assert file_sizes(system, [*places, f"{root}/gone"], listed) == [*(n % 50 for n in range(110)), NO_FILE]


def test_columns_of_sources_in_a_bucket_are_known(bucket: Any, tmp_path: Path) -> None:
    """Of Delta tables from their log, of Parquet files from a footer; and for which days they have rows."""
    frame = pd.DataFrame({"at": pd.to_datetime(["2024-01-03T05:00"], utc=True), "n": [1]})
    frame.to_parquet(tmp_path / "a.parquet")
    upload(bucket, tmp_path, "parquet")
    write_deltalake(f"{LAKE}/delta", frame, storage_options=delta_options(LAKE))
    for kind in ("parquet", "delta"):
        assert [c.name for c in read_schema(kind, f"{LAKE}/{kind}")] == ["at", "n"]
        source = files(f"{LAKE}/{kind}", kind, time_column="at")
        pin = FilePins().pin(source)
        assert set(pin) == ({"commit", "table"} if kind == "delta" else {"files", "count", "names"})
        days = source_days(source, pin)
        assert days is not None and "2024-01-03" in str(days)


def test_files_of_packets_are_read_and_deleted(bucket: Any) -> None:
    """A folder there is what it is on a disk."""
    folder = ArrowFolder(f"{LAKE}/evidence/p1")
    assert folder.read("page.html") is None and folder.names() == []
    folder.write("plots/a.svg", b"<svg/>")
    folder.write("page.html", b"one")
    folder.write("page.html", b"two")
    assert folder.names() == ["page.html", "plots/a.svg"] and folder.read("page.html") == b"two"
    folder.delete("page.html")
    assert folder.names() == ["plots/a.svg"]


@pytest.mark.parametrize("there", ["missing", "elsewhere", "refused"])
def test_what_is_in_the_way_is_named(there: str, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback: what, why and what to do."""
    root = small_project(tmp_path, days=1)
    monkeypatch.setenv("BACKFILL_WAREHOUSE", f"{LAKE}/house")
    wanted = ""
    if there == "missing":
        monkeypatch.setenv("BACKFILL_WAREHOUSE", "s3://ocean/house")
        wanted = "there is no bucket ocean"
    if there == "elsewhere":
        monkeypatch.setenv("AWS_REGION", "us-west-2")
        wanted = "the bucket lake is in another region"
    if there == "refused":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{free.getsockname()[1]}")
        wanted = "does not answer"
    for command in ("status", "plan"):
        said = backfill_here(command, project=root)
        assert said.code != 0 and wanted in said.err and "fix:" in said.err, said
        assert "Traceback" not in said.err


def test_who_may_not_is_told_so(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a store that forbids it says it, and as clients without credentials do."""
    with answering(403) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
        with pytest.raises(SettingsError, match="s3://lake is forbidden"):
            access(LAKE)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")  # asked of nobody yet
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SettingsError, match="there are no credentials for s3://lake"):
        access(LAKE)


@contextmanager
def answering(status: int) -> Generator[str]:
    """The address of a server that answers everything with this status."""

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("location", ["s3://Lake/w", "s3://lake/a b", "s3://lake/a%20b", "s3a://lake/a//b", "s3://l"])
def test_places_that_clients_read_otherwise_are_refused(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is asked of a store."""
    monkeypatch.setenv("BACKFILL_WAREHOUSE", location)
    with pytest.raises(BackfillError, match="BACKFILL_WAREHOUSE"):
        Context.open(small_project(tmp_path, days=1))
