"""A Spark driver is paused while it commits to a bucket, another one takes its place, then the first one wakes."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.heartbeat import read_heartbeats, runs_folder
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.table_log import open_table
from backfill_assets.app.context import Context
from backfill_assets.state.ledger import Kind
from backfill_assets.state.versions import table_path
from backfill_assets_tests.buckets import BUCKET, keys, object_store
from backfill_assets_tests.projects import (
    BACKFILL,
    backfill,
    clean_environment,
    eventually,
    expected_daily,
    finish,
    kill,
    small_project,
    start,
)

pytestmark = pytest.mark.spark

HOUSE = f"s3://{BUCKET}/house"


@pytest.mark.extended
def test_a_paused_driver_writes_nothing_when_it_wakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit was on the way to the store while the other one built everything: the store refuses it, and Delta does
    not try a later number, as the table has another writer. Prod shows what the other one built, and the records say
    so. What is left for the first one when it wakes is nothing."""
    # Commit 0 makes the table, 1 says who writes it, 2 is the first batch: of the first driver it waits for `release`.
    hold = {"HOLD": r"/house/daily/.*/_delta_log/0+2\.json$", "HOLD_FOLDER": str(tmp_path)}
    with object_store(racing=True, **hold) as client:
        monkeypatch.setenv("BACKFILL_WAREHOUSE", HOUSE)
        root = small_project(tmp_path / "project", days=2, batch_concurrency=1)
        other = shutil.copytree(root, tmp_path / "other")  # as on another machine
        there = clean_environment(BACKFILL_CACHE=os.environ["BACKFILL_CACHE"], BACKFILL_WAREHOUSE=HOUSE)
        paused = start(BACKFILL, "--project", root, "apply", env=there)
        try:
            eventually((tmp_path / "held").exists, while_=lambda: paused.poll() is None)
            refused = backfill("apply", project=other, env=there)
            os.killpg(paused.pid, signal.SIGSTOP)
            [beat] = read_heartbeats(HOUSE)
            [sign] = [name for name in ArrowFolder(runs_folder(HOUSE)).names() if beat.process[:8] in name]
            ArrowFolder(runs_folder(HOUSE)).delete(sign)  # as if its silence had lasted: nobody has to wait for it
            done = backfill("apply", "--promote", project=other, env=there)
            table = table_path(HOUSE, "daily", Context.open(root).project.fingerprints["daily"])
            entries = {key: content(client, key) for key in log_of(client, table)}
            (tmp_path / "release").touch()
            os.killpg(paused.pid, signal.SIGCONT)
            woken = finish(paused)
        finally:
            if paused.poll() is None:
                kill(paused)
        assert refused.code != 0 and "another process writes to daily" in refused.out + refused.err, refused
        assert done.code == 0, done
        assert {key: content(client, key) for key in log_of(client, table)} == entries, woken.out[-4000:]
        place = Context.open(root)
        [mine, theirs] = dict.fromkeys(e.run for e in place.control.ledger.entries() if e.model == "daily")
        assert mine == beat.run
        assert {e.run for e in place.control.ledger.entries() if e.kind is Kind.BUILT} == {theirs}
        opened = open_table(table)
        assert opened is not None and opened.version() == len(entries) - 1
        pointer = place.control.environments.read("prod").pointers["daily"]
        rows = read_pointer(pointer, place.warehouse).to_pylist()
        shown = sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)
        assert shown == expected_daily(tmp_path / "project")
        assert place.control.writer_leases.all() == []


def log_of(client: object, table: str) -> list[str]:
    """The entries of a table's log."""
    return [
        key for key in keys(client, f"{table.removeprefix(f's3://{BUCKET}/')}/_delta_log/") if key.endswith(".json")
    ]


def content(client: object, key: str) -> list[object]:
    """What an entry of a log says."""
    said: bytes = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()  # type: ignore[attr-defined]
    return [json.loads(line) for line in said.decode().splitlines()]
