"""By which log store does a session commit to a bucket, and which sessions may not?"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backfill_assets.adapters.commit_log import LOG_STORE, LOG_STORE_JAR, check_log_store, log_store_settings
from backfill_assets.adapters.local_disk import LOCAL_FILES_JAR
from backfill_assets.adapters.session import _wanted
from backfill_assets.adapters.spark_errors import JavaCause, classified
from backfill_assets.core.errors import RunEndedError, SettingsError, WriteConflictError
from backfill_assets.core.settings import Settings
from backfill_assets.project import object_store
from backfill_assets.project.object_store import BucketAccess


def session(**conf: str) -> Any:
    return SimpleNamespace(conf=conf)


@pytest.mark.parametrize("master", ["local[*]", "spark://there:7077"])
def test_sessions_of_a_warehouse_in_a_bucket_have_it(
    master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside Delta's jars, so that it finds them; of a folder, and where the project names another one, they do not."""
    monkeypatch.setattr("backfill_assets.adapters.session.delta_jars", lambda _: [Path("/ivy/delta.jar")])
    monkeypatch.setattr("backfill_assets.adapters.session.java_build", lambda: "17")
    monkeypatch.setattr(object_store, "_access", lambda *_: BucketAccess(region="eu-west-1"))
    (tmp_path / "backfill.yml").write_text("name: tests\n")
    given = {"spark.master": master, "spark.jars": "/own.jar", "spark.driver.extraClassPath": "/class/path"}
    given |= {"spark.driver.host": "10.0.0.5", "spark.driver.bindAddress": "0.0.0.0"}  # executors reach it
    found = _wanted(tmp_path, Settings(warehouse="s3://lake/house", spark=given)).config
    assert {found[f"spark.delta.logStore.{scheme}.impl"] for scheme in ("s3", "s3a")} == {LOG_STORE}
    jar = str(LOG_STORE_JAR.path)
    if master.startswith("local"):
        assert found["spark.driver.extraClassPath"] == f"/class/path:/ivy/delta.jar:{jar}:{LOCAL_FILES_JAR.path}"
    else:
        assert found["spark.jars"] == f"/own.jar,/ivy/delta.jar,{jar}" and not found["spark.jars.packages"]
        assert found["spark.driver.extraClassPath"] == "/class/path"
    own = {"spark.delta.logStore.s3.impl": "io.delta.storage.S3DynamoDBLogStore"}
    for settings in (
        Settings(warehouse="s3://lake/house", spark=given | own),
        Settings(warehouse=str(tmp_path), spark=given),
    ):
        assert jar not in str(_wanted(tmp_path, settings).config)


def test_a_session_whose_commits_could_be_lost_may_not_write() -> None:
    """Delta's own log store, named or not: in a server's session, or one that somebody else opened."""
    for conf in ({}, {"spark.delta.logStore.s3.impl": "io.delta.storage.S3SingleDriverLogStore"}):
        with pytest.raises(SettingsError, match="may not write to s3://lake/house") as refused:
            check_log_store(session(**conf), "s3://lake/house")
        assert LOG_STORE in refused.value.fix and "conditional-log-store.jar" in refused.value.fix
    for named in (LOG_STORE, "io.delta.storage.S3DynamoDBLogStore"):
        check_log_store(session(**{"spark.delta.logStore.s3.impl": named}), "s3://lake/house")
    check_log_store(session(**log_store_settings({})), "s3://lake/house")


def test_what_a_refused_commit_means_for_a_build() -> None:
    """Whose table another process has taken over ends its run; a commit that came first is tried after."""
    said = "another process has taken over s3://lake/house/daily/v1 with commit 7: nothing more is written there"
    found = classified([JavaCause("SparkException", "failed"), JavaCause("java.io.IOException", said)], "build daily")
    assert isinstance(found, RunEndedError) and found.why == said and not found.retryable
    found = classified([JavaCause("io.delta.exceptions.MetadataChangedException", "[DELTA_METADATA_CHANGED]")], "build")
    assert isinstance(found, WriteConflictError) and found.retryable
