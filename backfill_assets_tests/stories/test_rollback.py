"""A release turns out to be wrong: one command goes back, loses no day, and can be undone; later the tables go (C6)."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import backfill_assets
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.spark_views import show_environment
from backfill_assets.app.context import Context
from backfill_assets.app.diff import compare_sides
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.rollback import roll_back
from backfill_assets.build.events import Listener, silence
from backfill_assets.plan.stages import Plan
from backfill_assets.promote.rollback_run import RolledBack
from backfill_assets_tests.projects import approve, backfill, build_all, small_project
from backfill_assets_tests.stories.test_routine import run, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]


def expected(root: Path, times: int) -> tuple[Rows, Rows]:
    """What `daily` and `running` should show when `total` is so many times the sum: by pandas, from the files alone."""
    files = [pd.read_csv(file) for file in sorted((root / "data" / "events").glob("*.csv"))]
    events = pd.concat(files)
    events["ds"] = events["at"].str[:10]
    events["cents"] = (events["amount"] * 100).round().astype(int) * times
    daily = events.groupby(["ds", "kind"]).agg(n=("id", "count"), cents=("cents", "sum")).reset_index()
    totals = events.groupby("ds")["cents"].sum()
    before = totals.shift(1)
    running = [(ds, int(c), None if pd.isna(before[ds]) else int(before[ds])) for ds, c in totals.items()]
    return [(r.ds, r.kind, int(r.n), int(r.cents)) for r in daily.itertuples()], running


def shown(place: Context) -> tuple[Rows, Rows]:
    """What the environment shows of both, at one look."""
    now = place.control.environments.read(place.environment)
    daily, running = (read_pointer(now.pointers[m], place.warehouse).to_pylist() for m in ("daily", "running"))
    return (
        sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in daily),
        sorted((f"{r['ds']}", int(r["total"] * 100), r["day_before"] and int(r["day_before"] * 100)) for r in running),
    )


def go_back(root: Path, release: str | None = None, select: Sequence[str] = ()) -> RolledBack:
    """What `backfill rollback` does, in the shared session."""
    place = Context.open(root)

    def opened(there: Context, _: Plan, __: str) -> AbstractContextManager[Listener]:
        assert there.spark is not None
        return nullcontext(silence)

    return roll_back(place, release, select, follow=opened).ended


def test_back_and_forth_and_cleared_up(spark: SparkSession, tmp_path: Path, environment: str) -> None:
    """Version 2 replaces version 1, days go by, version 1 comes back with those days, and version 2 again."""
    root = small_project(tmp_path, days=4, batch_size=4, environment=environment)
    place = Context.open(root)
    build_all(place)
    first = promote_plan(place).environment
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("sum(amount) AS total", "sum(amount) * 2 AS total"))
    place = Context.open(root)
    build_all(place)
    approve(place)
    promote_plan(place)
    one, two = place.control.releases.all(environment)
    [moved] = compare_sides(place, f"{one.id}..{two.id}", models=["daily"], sample=0).models
    assert moved.total.rows.changed == moved.total.rows.old == moved.total.rows.new == len(expected(root, 1)[0])
    assert [m.column for m in moved.moved] == ["total"]
    until(root, "2024-01-06")
    run(root)
    place = Context.open(root)
    assert shown(place) == expected(root, 2)

    # what was released, and what going back would be: no JVM, nothing changes
    listed = backfill("releases", "--json", project=root).json
    assert [r["growth"] for r in listed] == [False, False, True]
    difference = backfill("releases", listed[0]["id"], listed[2]["id"][-6:], "--json", project=root).json["models"]
    days_1_to_4 = [["2024-01-01T00:00:00+00:00", "2024-01-05T00:00:00+00:00"]]
    days_5_to_6 = [["2024-01-05T00:00:00+00:00", "2024-01-07T00:00:00+00:00"]]
    assert [(d["model"], d["changed"], d["gained"]) for d in difference] == [
        ("daily", days_1_to_4, days_5_to_6),
        ("running", days_1_to_4, days_5_to_6),
    ]
    said = backfill("rollback", "--dry-run", "--json", project=root)
    assert said.code == 0, said.err
    assert said.json["back_to"] == listed[0]["id"] and said.json["in_the_way"] == []
    assert [(s["model"], s["lacks"]) for s in said.json["steps"]] == [("daily", days_5_to_6), ("running", days_5_to_6)]
    assert [p["rows"] for p in said.json["readable"]] == [8, 4]

    # a file of the older version is gone, or damaged: told before anything moves
    old = first.pointers["daily"].segments[0]
    file = next((Path(place.warehouse) / "daily" / old.version).glob("ds=2024-01-02/*.parquet"))
    kept = file.read_bytes()
    for damage in (None, kept[:-9], kept[:-9] + b"\0" * 9):
        file.unlink(missing_ok=True)
        if damage is not None:
            file.write_bytes(damage)
        said = backfill("rollback", "--dry-run", project=root)
        assert said.code == 4 and "1 files cannot be read: ds=2024-01-02" in said.out, said.out
    file.write_bytes(kept)
    said = backfill("rollback", "--select", "daily", "--dry-run", project=root)
    assert said.code == 4 and "--select daily,running" in said.out

    # back to version 1, while somebody reads; whoever opened a view before reads on as it was
    session = show_environment(
        spark.newSession(), place.control.environments.read(environment), place.warehouse, ["daily"]
    )
    opened = session.table(f"{environment}.daily")
    seen: list[tuple[Rows, Rows]] = []
    errors: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        try:
            while not stop.is_set():
                seen.append(shown(place))
        except BaseException as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        ended = go_back(root)
    finally:
        stop.set()
        reader.join(60)
    assert not errors and all(rows in (expected(root, 1), expected(root, 2)) for rows in seen) and seen
    assert ended.moved is not None and shown(place) == expected(root, 1)
    assert ended.moved.pointers["daily"].segments[0] == old, "the very rows of then, and the new days beside them"
    rows = sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in opened.collect())
    assert rows == expected(root, 2)[0]

    # the newer code is a change again that costs nothing; daily runs go on with version 1
    plan = plan_request(Context.open(root))
    assert plan.work == () and plan.changes["daily"].columns == ("total",)
    until(root, "2024-01-07")
    run(root)
    assert shown(place) == expected(root, 1) and len(shown(place)[1]) == 7

    # and forth: version 2 gets the day that came meanwhile
    assert go_back(root).found.done is not None, "the same command again changes nothing"
    ended = go_back(root, ended.found.undo)
    assert ended.moved is not None and shown(place) == expected(root, 2) and len(shown(place)[1]) == 7
    tables = {p.name for p in (Path(place.warehouse) / "daily").iterdir()}
    assert len(tables) == 2

    # version 1 goes when its time is over, not before
    set_clock(root, 29)
    assert backfill("janitor", "--apply", "--json", project=root).json["removed"] == []
    set_clock(root, 31)
    looked = backfill("janitor", "--json", project=root).json
    assert [(g["model"], g["version"]) for g in looked["goes"]] == [
        (m, first.pointers[m].version) for m in ("daily", "running")
    ]
    assert {p.name for p in (Path(place.warehouse) / "daily").iterdir()} == tables
    refused = backfill("janitor", "--apply", project=root)
    assert refused.code == 1 and "after the newest record" in refused.err, "the clock may have jumped"
    today = f"{datetime.now(UTC) + timedelta(days=31):%Y-%m-%d}"
    swept = backfill("janitor", "--apply", "--today", today, "--json", project=root).json
    assert [r["version"] for r in swept["removed"]] == [g["version"] for g in looked["goes"]]
    assert {p.name for p in (Path(place.warehouse) / "daily").iterdir()} == tables - {old.version}
    assert shown(place) == expected(root, 2)
    said = backfill("rollback", listed[0]["id"], "--now", project=root)
    assert said.code == 4 and f"the janitor has removed {old.version}" in said.out
    rows = backfill_assets.read("daily", project=root, environment=environment).to_pylist()
    assert len(rows) == len(expected(root, 2)[0])


def set_clock(root: Path, days: int) -> None:
    """The project's clock so many days after the real one."""
    file = root / "backfill.yml"
    settings = json.loads(file.read_text())
    settings["clock"] = f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M:%S}"
    file.write_text(json.dumps(settings))
