"""Can each client write, read, list and delete where a warehouse is? Tried with a small table.

Also tried is what the records rest on: of two writers that add the same commit, the second is refused.
"""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backfill_assets.adapters.delta_errors import delta_reason
from backfill_assets.adapters.durable import local
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.adapters.table_log import open_table
from backfill_assets.core.errors import SettingsError
from backfill_assets.project.object_store import delta_options, is_s3, remove_all, unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from backfill_assets.adapters.remote_session import RemoteSession

PROBES = "_probe"


def probe(warehouse: str, spark: Callable[[], SparkSession]) -> str:
    """Write, read, list and delete a probe by Arrow, delta-rs and Spark; what was done. `spark` opens a session. One of
    a server writes and reads.

    Raises SettingsError, which names the client that could not, and why.
    """
    place = f"{warehouse}/{PROBES}/{uuid.uuid4().hex}"
    try:
        _by_arrow(f"{place}/file")
        _by_delta(f"{place}/table")
        session = spark()
        if is_remote(session):
            _by_server(f"{place}/table", session)
            return f"Arrow and delta-rs write, read, list and delete in {warehouse}, the server writes and reads there"
        _by_spark(f"{place}/table", session)
    finally:
        remove(place)
    return f"Arrow, delta-rs and Spark write, read, list and delete in {warehouse}"


def _by_arrow(place: str) -> None:
    folder = ArrowFolder(place)
    folder.write("probe", b"probe")
    if folder.read("probe") != b"probe" or folder.names() != ["probe"]:
        raise _other("Arrow", place, "what was written is not what is read")
    folder.delete("probe")
    if folder.names():
        raise _other("Arrow", place, "what was deleted is still there")


def _by_delta(place: str) -> None:
    from arro3.core import Array, DataType, Field, Schema, Table
    from deltalake import CommitProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError

    rows = Table.from_arrays([Array([1], DataType.int64())], schema=Schema([Field("n", DataType.int64())]))
    options, once = delta_options(place), CommitProperties(max_commit_retries=0)
    try:
        write_deltalake(place, rows, storage_options=options)
        one, other = open_table(place), open_table(place)
        assert one is not None and other is not None
        write_deltalake(one, rows, mode="overwrite", commit_properties=once)
        try:
            write_deltalake(other, rows, mode="overwrite", commit_properties=once)
        except CommitFailedError:
            return
    except (DeltaError, OSError) as error:
        raise unreachable(place, delta_reason(error)) from None
    raise _other(
        "delta-rs",
        place,
        "of two writers that added the same commit, the second was not refused: records would be lost",
        fix="use a store that honours conditional writes (If-None-Match), as AWS S3 does",
    )


def _by_spark(place: str, spark: SparkSession) -> None:
    session: Any = spark
    try:
        session.range(2).selectExpr("id AS n").write.format("delta").mode("append").save(place)
        rows = session.read.format("delta").load(place).count()
        path = session._jvm.org.apache.hadoop.fs.Path(place)
        system = path.getFileSystem(session._jsc.hadoopConfiguration())
        listed = len(system.listStatus(path))
        system.delete(path, True)
    except Exception as error:
        raise unreachable(place, spark_reason(causes(error))) from None
    if rows != 3 or not listed or open_table(place) is not None:
        raise _other("Spark", place, f"it reads {rows} rows of 3, or what it deleted is still there")


def _by_server(place: str, session: RemoteSession) -> None:
    try:
        session.range(2).selectExpr("id AS n").write.format("delta").mode("append").save(place)
        rows = session.read.format("delta").load(place).count()
    except Exception as error:
        raise unreachable(place, spark_reason(causes(error))) from None
    table = open_table(place)
    if rows != 3 or table is None or table.version() != 2:
        raise _other("Spark's server", place, f"it reads {rows} rows of 3, or what it wrote is not seen by delta-rs")


def remove(place: str) -> None:
    """Delete all that is below a place in a folder or a bucket, and what was made for it above."""
    if is_s3(place):
        remove_all(place)
        return
    if (path := local(place)) is None:
        for name in (folder := ArrowFolder(place)).names():
            folder.delete(name)
        return
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # another process has a probe there
        Path(path).parent.rmdir()


def _other(client: str, place: str, why: str, fix: str = "") -> SettingsError:
    fix = fix or "see that AWS_ENDPOINT_URL_S3 and Spark's configuration name the same store"
    return SettingsError(f"{client} does not use {place} as the others do", why=why, fix=fix)
