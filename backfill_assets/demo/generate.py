"""What did the demo's ad platforms deliver? Writes the raw tables, without Spark, the same for the same arguments.

    python -m backfill_assets.demo.generate --events 2000000

What makes the data like life, and a careless model wrong:

- About 0.7 % of the events and conversions are delivered twice, with the same id; the copy may land a day later.
- Rows land in the folder of the day they *arrived*. A few events are late by one to three days; on some days a channel
  delivers a quarter of its events late. Conversions happen up to 13 days after the click, and land within 14.
- Facebook is silent for some hours on two days; the volume follows weekdays, the clock, seasons and budgets.
- A third of the customers live far from UTC: their local evening is the next UTC day.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import WriterProperties, write_deltalake
from pyarrow import csv

from backfill_assets.core.errors import SettingsError
from backfill_assets.demo.campaigns import Campaign
from backfill_assets.demo.rows import (
    MAX_CONVERSION_DELAY,
    MAX_EVENT_DELAY,
    Rows,
    concat,
    conversions_table,
    deliver_twice,
    draw_conversions,
    draw_events,
    events_table,
    take,
)
from backfill_assets.demo.world import World
from backfill_assets.project.settings import EMBEDDED_PROJECT, state_root

GENERATOR_VERSION = 1
"""Raised when the same arguments would give other rows."""


MARKER = "generated.json"
"""Written beside the tables: what they hold, and (last of all) that they are complete."""


_PURPOSE = "Make the demo's raw tables, without Spark."


Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """What the target holds. `events` and `conversions` count rows, duplicates included; `bytes` is their size on disk.

    `made` is False when everything was there already; `seconds` is what making it took, then or now.
    """

    target: Path
    made: bool
    days: int
    campaigns: int
    events: int
    duplicate_events: int
    clicks: int
    conversions: int
    duplicate_conversions: int
    bytes: int
    seconds: float

    def __str__(self) -> str:
        state = f"made in {self.seconds:.1f} s" if self.made else "already there"
        return (
            f"{self.target}: {self.events:,} events, {self.conversions:,} conversions, {self.campaigns} campaigns, "
            f"{self.days} days, {self.bytes / 1e6:,.0f} MB, {state}"
        )


def generate(
    target: Path,
    *,
    events: int = 2_000_000,
    seed: int = 7,
    days: int = 540,
    start: date = date(2024, 1, 1),
    progress: Progress | None = None,
) -> Generated:
    """Write `ad_events`, `conversions` (Delta, partitioned by `landed_on`) and `campaigns` (CSV) under `target`.

    `events` is the approximate number of rows of `ad_events`; every channel has at least one row a day. `progress` is
    called with (days done, days). The same arguments give the same rows; when the target holds them already, nothing is
    written; tables that a killed run left half-written, or that other arguments made, are replaced. Two processes may
    call it at once: the second waits.
    Raises SettingsError when there is nothing to make, or when the target holds files that are not ours.
    """
    if events < 1 or days < 1:
        raise SettingsError(f"cannot generate {events} events for {days} days", fix="ask for at least 1 of each")
    wanted = {"version": GENERATOR_VERSION, "events": events, "seed": seed, "days": days, "start": start.isoformat()}
    target.mkdir(parents=True, exist_ok=True)
    with _locked(target):
        marker = target / MARKER
        found = _read_marker(target)
        if found.get("wanted") == wanted and "summary" in found:
            return Generated(target=target, made=False, **found["summary"])
        began = time.perf_counter()
        marker.write_text(json.dumps({"wanted": wanted}))
        for table in ("ad_events", "conversions", "campaigns"):
            if (target / table).exists():
                shutil.rmtree(target / table)
        counted = _write(target, World.build(events=events, seed=seed, days=days, start=start), progress)
        size = sum(f.stat().st_size for f in target.rglob("*") if f.is_file())
        summary: dict[str, Any] = {**counted, "bytes": size, "seconds": round(time.perf_counter() - began, 2)}
        unfinished = target / f"{MARKER}.new"
        unfinished.write_text(json.dumps({"wanted": wanted, "summary": summary}, indent=2))
        unfinished.replace(marker)
        return Generated(target=target, made=True, **summary)


def default_target() -> Path:
    """Where the embedded demo's `sources.yml` looks for its data."""
    return state_root(EMBEDDED_PROJECT.resolve()) / ".backfill" / "data"


def main(arguments: list[str] | None = None) -> None:
    """The command line of `python -m backfill_assets.demo.generate`."""
    parser = argparse.ArgumentParser(prog="python -m backfill_assets.demo.generate", description=_PURPOSE)
    parser.add_argument("--target", type=Path, default=default_target(), help="folder (default: %(default)s)")
    parser.add_argument("--events", type=int, default=2_000_000, help="rows of ad_events, about (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--days", type=int, default=540)
    parser.add_argument("--start", type=date.fromisoformat, default=date(2024, 1, 1))
    chosen = parser.parse_args(arguments)

    def show(done: int, total: int) -> None:
        print(f"\r{done}/{total} days", end="", flush=True)

    try:
        summary = generate(**vars(chosen), progress=show)
    except SettingsError as error:
        parser.exit(1, f"{error}\n")
    print(f"\r{summary}")


def _write(target: Path, world: World, progress: Progress | None) -> dict[str, int]:
    _write_campaigns(target / "campaigns", world.campaigns)
    counted = dict.fromkeys(("events", "duplicate_events", "clicks", "conversions", "duplicate_conversions"), 0)
    waiting: Rows = {}
    conversions: list[Rows] = []
    for first, end in world.chunks():
        rng = np.random.default_rng([world.seed, 1, first])
        fresh = draw_events(world, rng, first, end)
        converted = draw_conversions(world, rng, fresh)
        delivered, copies = deliver_twice(fresh, rng, world.days - 1, MAX_EVENT_DELAY)
        rows = concat(waiting, delivered) if waiting else delivered
        here = rows["landed"] < end
        waiting = take(rows, ~here)
        landed = take(rows, here)
        landed = take(landed, np.lexsort((landed["time"], landed["landed"])))
        _append(target / "ad_events", events_table(world, landed), "Ad platform deliveries, by the day they landed.")
        conversions.append(converted)
        counted["events"] += len(delivered["id"])
        counted["duplicate_events"] += copies
        counted["clicks"] += int(fresh["click"].sum())
        if progress:
            progress(end, world.days)
    rng = np.random.default_rng([world.seed, 2])
    rows, copies = deliver_twice(concat(*conversions), rng, world.days - 1, MAX_CONVERSION_DELAY)
    rows = take(rows, np.lexsort((rows["converted"], rows["landed"])))
    _append(target / "conversions", conversions_table(world, rows), "Conversions, by the day they landed.")
    counted |= {"conversions": len(rows["id"]), "duplicate_conversions": copies}
    return {"days": world.days, "campaigns": len(world.campaigns), **counted}


def _write_campaigns(folder: Path, team: tuple[Campaign, ...]) -> None:
    folder.mkdir(parents=True)
    table = pa.table(
        {
            "campaign_id": pa.array([c.id for c in team], pa.int32()),
            "campaign_name": [c.name for c in team],
            "channel": [c.channel for c in team],
            "objective": [c.objective for c in team],
            "start_day": pa.array([c.start for c in team], pa.date32()),
            "stop_day": pa.array([c.stop for c in team], pa.date32()),
            "budget": pa.array([c.daily_budget for c in team], pa.decimal128(18, 2)),
        }
    )
    csv.write_csv(table, folder / "campaigns.csv", csv.WriteOptions(quoting_style="needed"))


def _append(table: Path, rows: pa.Table, description: str) -> None:
    write_deltalake(
        str(table),
        rows,
        mode="append",
        partition_by=["landed_on"],
        name=f"raw.{table.name}",
        description=description,
        configuration=_KEEP_EVERY_COMMIT,
        writer_properties=WriterProperties(compression="ZSTD", compression_level=1),
    )


# A plan that was made weeks ago still reads the commit that it froze.
_KEEP_EVERY_COMMIT: Mapping[str, str | None] = {
    "delta.logRetentionDuration": "interval 3650 days",
    "delta.deletedFileRetentionDuration": "interval 3650 days",
}


def _read_marker(target: Path) -> dict[str, Any]:
    """What the marker says, {} when the target is empty."""
    try:
        found: dict[str, Any] = json.loads((target / MARKER).read_text())
    except FileNotFoundError:
        if any(not f.name.startswith(".") for f in target.iterdir()):
            raise SettingsError(
                f"cannot generate demo data in {target}",
                why=f"the folder is not empty, and no {MARKER} says that its tables are the demo's",
                fix="name an empty folder with --target, or remove what is there",
            ) from None
        return {}
    except ValueError:  # killed while writing it
        return {}
    return found


@contextmanager
def _locked(target: Path) -> Generator[None]:
    """One generator at a time a folder; the lock of a killed process is free."""
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
