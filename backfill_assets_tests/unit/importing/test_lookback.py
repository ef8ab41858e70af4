"""How long another tool computes an interval again is counted in its own intervals: `settle` is as long, no longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cronsim import CronSim

from backfill_assets.core.intervals import Cadence
from backfill_assets.importing.sqlmesh_intervals import SqlmeshIntervals
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_dbt import GOOD, MICROBATCH, model
from backfill_assets_tests.unit.importing.test_dbt import imported as dbt_imported
from backfill_assets_tests.unit.importing.test_sqlmesh import imported, noted

HOUR, DAY = 3600, 86400
MOMENTS = (
    "SELECT id, moment AS day, amount FROM raw.orders WHERE moment BETWEEN @start_dt AND @end_dt"  # hours need instants
)
DATES = "SELECT id, day, amount FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"


def sqlmesh(tmp_path: Path, query: str, lookback: int, more: str):
    kind = f"time_column day, lookback {lookback}"
    return imported(tmp_path, {"models/m.sql": sqlmesh_model(query, kind=kind, more=f",\n  {more}")})


@pytest.mark.parametrize(("query", "more", "lookback", "cadence", "settle"), [
    (DATES, "cron '@daily'", 3, Cadence.DAILY, 3 * DAY),
    (DATES, "cron '30 6 * * *'", 3, Cadence.DAILY, 3 * DAY),
    (MOMENTS, "cron '@hourly'", 36, Cadence.HOURLY, 36 * HOUR),
    (MOMENTS, "cron '20 * * * *'", 36, Cadence.HOURLY, 36 * HOUR),
    (MOMENTS, "cron '0 */6 * * *'", 4, Cadence.HOURLY, 9 * HOUR),
    (MOMENTS, "cron '@daily', interval_unit hour", 4, Cadence.HOURLY, 27 * HOUR),
    (DATES, "cron '@monthly'", 2, Cadence.MONTHLY, 62 * DAY),
    (DATES, "cron '0 6 5 * *'", 1, Cadence.MONTHLY, 35 * DAY),
    (DATES, "cron '0 0 1 */3 *'", 1, Cadence.MONTHLY, 92 * DAY),
    (DATES, "cron '@weekly'", 2, Cadence.DAILY, 8 * DAY),
    (DATES, "cron '@weekly'", 7, Cadence.DAILY, 13 * DAY),
    (DATES, "cron '0 9 * * MON-FRI'", 1, Cadence.DAILY, 3 * DAY),
    (MOMENTS, "cron '*/5 * * * *'", 3, Cadence.HOURLY, 15 * 60),
    (MOMENTS, "cron '*/15 * * * *'", 6, Cadence.HOURLY, 90 * 60),
    (MOMENTS, "cron '@hourly', interval_unit five_minute", 12, Cadence.HOURLY, HOUR),
    (DATES, "cron '@yearly'", 1, Cadence.MONTHLY, None),
    (DATES, "cron '@monthly'", 10**17, Cadence.MONTHLY, None),
    (MOMENTS, "cron '*/5 * * * *'", 10**6, Cadence.HOURLY, None),
])  # fmt: skip
def test_lookback_counts_the_models_own_intervals(
    tmp_path: Path, query: str, more: str, lookback: int, cadence: Cadence, settle: int | None
) -> None:
    """Hours, days, months, parts of an hour; of ticks that are farther apart than intervals, until the tick that
    computes the interval again for the last time. What is too long for `settle` has to be checked, at its line."""
    root, done = sqlmesh(tmp_path, query, lookback, more)
    found = load_project(root).models["m"]
    assert (found.cadence, found.settle) == (cadence, settle or 0)
    assert (f"lookback {lookback} " in noted(done).get("models/m.sql:3", "")) == (settle is None)


@pytest.mark.parametrize(("cron", "unit", "cadence"), [
    ("0 0 * * SUN", "day", Cadence.DAILY), ("0 9 * * MON-FRI", "day", Cadence.DAILY),
    ("15 3 1,20 * *", "day", Cadence.DAILY),
    ("0 0 1 * *", "month", Cadence.MONTHLY), ("0 */7 * * *", "hour", Cadence.HOURLY),
])  # fmt: skip
@pytest.mark.parametrize("lookback", [1, 2, 5])
def test_no_interval_is_computed_again_later(cron: str, unit: str, cadence: Cadence, lookback: int) -> None:
    """Imitated: at each tick SQLMesh computes what is over since the last one, and `lookback` intervals before each of
    these. The last such tick of an interval is in the window, or less than a day (an hour) after it."""
    window = SqlmeshIntervals(cadence=cadence, unit=unit, cron=cron).computed_again(lookback)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    edges = [start]
    while edges[-1] < start + timedelta(days=1500 if unit == "month" else 200):
        edges.append(cadence.shift(edges[-1], 1))
    ticks = CronSim(cron, start)
    tick, last, computed = next(ticks), dict[datetime, datetime](), 0
    while tick < edges[-1]:
        over = sum(1 for end in edges[1:] if end <= tick)
        for index in range(max(0, computed - lookback), over) if over > computed else ():
            last[edges[index + 1]] = tick
        computed, tick = over, next(ticks)
    longest = max(at - end for end, at in list(last.items())[: -(lookback + (1 if unit == "month" else 40))])
    assert timedelta() <= longest - window < (timedelta(hours=1) if unit == "hour" else timedelta(days=1))


@pytest.mark.parametrize(("cron", "ready"), [
    ("0 0 1 */3 *", "0 0 1 1/3 *"), ("*/30 6,*/12 * * *", ""), ("0 6 */2 * *", "0 6 1/2 * *"),
    ("0 6 * * */2", "0 6 * * 0/2"),
])  # fmt: skip
def test_ready_has_the_same_ticks_without_what_ends_a_comment(tmp_path: Path, cron: str, ready: str) -> None:
    query = MOMENTS if not ready else DATES
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  cron '{cron}'")})
    assert load_project(root).models["m"].ready == ready
    if ready:
        ours, theirs = (CronSim(c, datetime(2024, 1, 1, tzinfo=UTC)) for c in (ready, cron))
        assert [next(ours) for _ in range(40)] == [next(theirs) for _ in range(40)]


@pytest.mark.parametrize(("more", "word"), [
    ("cron '@yearly'", "years"), ("cron '@quarterly'", "five fields"), ("cron '0 0 31 2 *'", "never ticks"),
    ("cron '0 0 * * * *'", "five fields"), ("interval_unit week", "not known"), ("interval_unit year", "years"),
])  # fmt: skip
def test_intervals_that_have_no_form_here_have_to_be_checked(tmp_path: Path, more: str, word: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(DATES, more=f",\n  {more}")})
    assert done.same == ()
    assert word in noted(done)["models/m.sql:5"]


@pytest.mark.parametrize(("size", "lookback", "settle"), [
    ("hour", 30, 30 * HOUR), ("day", 2, 2 * DAY), ("month", 2, 62 * DAY), ("month", 12, None), ("year", 1, 366 * DAY),
    ("year", 2, None),
])  # fmt: skip
def test_dbts_lookback_counts_batches(tmp_path: Path, size: str, lookback: int, settle: int | None) -> None:
    config: dict[str, Any] = {**MICROBATCH, "batch_size": size, "lookback": lookback}
    query = GOOD.replace("day,", "moment as day,")
    root, done = dbt_imported(tmp_path, [model(query, config) if size == "hour" else model(config=config)])
    assert load_project(root).models["m"].settle == (settle or 0)
    assert (f"lookback {lookback}" in " ".join(noted(done).values())) == (settle is None)
