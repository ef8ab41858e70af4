"""How long does a question take after years of daily runs? `plan` and `status` of models that were built day by day.

    python bench/history.py --models 20 --rounds 3

A warehouse as daily routine runs leave it is pretended: a batch, three ledger entries, a commit and a file each day and
model, some days with a batch that failed or an audit that did, and releases of three models. Files have no rows:
nothing that is measured reads them. `bench/README.md` says the rest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

from _big_project import make_big_project
from _demo import BACKFILL, environment
from _filled import SIZE, record_version, write_log
from _measure import Run, adopt_orphans, machine, run, spread
from deltalake import DeltaTable

from backfill_assets.app.context import Context
from backfill_assets.app.plan import plan_request
from backfill_assets.audits.digest import audits_digest
from backfill_assets.core.intervals import Interval
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.plan.stages import Build
from backfill_assets.state.ledger import Entry, Kind, Ledger, new_id
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.versions import table_path

_AT_ONCE = 26_000
"""Entries an append: small files are joined every 64 of them, as those of routine runs are."""


@dataclass(slots=True, kw_only=True)
class History:
    """What was pretended so far."""

    place: Context
    entries: list[Entry] = field(default_factory=list[Entry])
    pointers: list[Pointer] = field(default_factory=list[Pointer])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=int, default=20, help="SQL models (default: %(default)s)")
    parser.add_argument("--appends", type=int, default=2000, help="commits to a ledger (default: %(default)s)")
    parser.add_argument("--releases", type=int, default=1000, help="of three models each (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--work", type=Path, default=Path(".backfill/bench"), help="default: %(default)s")
    chosen = parser.parse_args()
    adopt_orphans()
    print(machine())
    work = chosen.work.resolve() / "history"
    shutil.rmtree(work, ignore_errors=True)
    project, warehouse = make_big_project(work / "project", sql=chosen.models, python=0), work / "warehouse"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # a command's peak counts what its parent held
        entries = pool.submit(pretend, project, warehouse, chosen.releases).result()
    print(f"pretended: {entries} ledger entries of {chosen.models} models × 1,100 days", flush=True)
    runs: dict[str, list[Run]] = {"plan": [], "status": []}
    for _ in range(chosen.rounds):
        for command, found in runs.items():
            done = run([BACKFILL, command], env=environment(project, warehouse), log=work / f"{command}.log")
            if "error" in done.output or (command == "plan" and "Nothing to do" not in done.output):
                sys.exit(f"{command}: unexpected answer\n{done.output[:2000]}")
            found.append(done)
    print("\nwhole commands: seconds (slowest and fastest), CPU seconds, peak memory")
    for command, found in runs.items():
        cpu, peak = min(r.cpu for r in found), max(r.peak for r in found)
        print(f"  {command:8} {spread([r.wall for r in found]):28} cpu {cpu:.1f} s   {peak:.0f} MB")
    append(work / "appends", chosen.appends)


def pretend(project: Path, warehouse: Path, releases: int) -> int:
    """Build every day of every model as a batch of its own, and show it all; then so many releases of three models.
    Returns how many entries there are."""
    os.environ["BACKFILL_WAREHOUSE"] = str(warehouse)
    made = History(place=Context.open(project))
    for stage in plan_request(made.place).stages:
        if isinstance(stage, Build):
            _model(made, stage)
    made.entries.sort(key=lambda e: e.at)
    for at in range(0, len(made.entries), _AT_ONCE):
        made.place.control.ledger.append(made.entries[at : at + _AT_ONCE])
    environments, at = made.place.control.environments, datetime.now(UTC)
    note = ReleaseNote(by="bench", evidence={"first": "none"})
    shown = environments.flip(environments.read("prod"), made.pointers, release="first", at=at, note=note)
    for number in range(releases):
        few = [made.pointers[(3 * number + n) % len(made.pointers)] for n in range(3)]
        shown = environments.flip(shown, few, release=f"r{number}", at=datetime.now(UTC), note=note)
    return len(made.entries)


def _model(made: History, stage: Build) -> None:
    project, name = made.place.project, stage.model
    model = project.models[name]
    days = [day for whole in stage.intervals for day in model.cadence.split(whole)]
    # Every so often an audit fails, and the day is built again; or a batch fails, and is tried again.
    red, failed = days[7::50], days[11::97]
    batches = [(new_id(), day) for day in days for _ in range(1 + (day in red))]
    upstream = {u.name: project.fingerprints[u.name] for u in model.upstreams if u.name in project.models}
    sources = [u.name for u in model.upstreams if u.name in project.sources]
    for number, (batch, day) in enumerate(batches, start=1):
        common = {"model": name, "version": stage.version, "interval": day, "batch": batch, "run": f"run-{number}"}
        at = day.end + timedelta(hours=3)
        read: dict[str, object] = {u: {"version": version, "commit": number} for u, version in upstream.items()}
        read |= {source: {"commit": 0, "table": "-"} for source in sources}
        done = {"table_commit": number, "rows": 1000, "bytes": SIZE, "seconds": 3.0, "inputs": read}
        if day in failed:
            away = {**common, "batch": new_id()}
            made.entries.append(Entry(kind=Kind.STARTED, at=at - timedelta(hours=1), **away))
            made.entries.append(Entry(kind=Kind.FAILED, at=at - timedelta(hours=1), reason="a file was away", **away))
        made.entries.append(Entry(kind=Kind.STARTED, at=at, **common))
        made.entries.append(Entry(kind=Kind.BUILT, at=at, **done, **common))
        again = day in red and batches[number][1] == day
        kind, why = (Kind.INVALIDATED, "not_null failed") if again else (Kind.AUDITED, "")
        audited = {"table_commit": number, "audits": audits_digest(model), "reason": why}
        made.entries.append(Entry(kind=kind, at=at, **audited, **common))
    recorded = record_version(made.place, stage)
    _write_table(Path(table_path(made.place.warehouse, name, stage.version)), model.time_column, batches)
    span = Interval(days[0].start, days[-1].end)
    made.pointers.append(
        Pointer(
            model=name, time_column=model.time_column, timestamps=False, columns=recorded.columns,
            segments=(Segment(interval=span, version=stage.version, commit=len(batches)),),
        )
    )  # fmt: skip


def _write_table(location: Path, day: str, batches: list[tuple[str, Interval]]) -> None:
    """A commit and a file a day, with a checkpoint at the end."""
    for file in write_log(location, day, [(batch, i, [i.start.date().isoformat()]) for batch, i in batches]):
        file.parent.mkdir(exist_ok=True)
        with file.open("wb") as made:
            made.truncate(SIZE)
    DeltaTable(str(location)).create_checkpoint()


def append(folder: Path, commits: int) -> None:
    """Append an entry a commit, as batches do: what one costs, and what the folder holds, every so often."""
    from backfill_assets.adapters.control_delta import DeltaStore

    ledger, began = Ledger(DeltaStore(str(folder))), datetime(2024, 1, 1, tzinfo=UTC)
    every = max(commits // 4, 1)
    print("\na commit of one entry: milliseconds, and what the ledger's folder holds then")
    seen = time.perf_counter()
    for number in range(1, commits + 1):
        day = Interval(began + timedelta(days=number), began + timedelta(days=number + 1))
        ledger.append([Entry(kind=Kind.BUILT, model="m", version="v", interval=day, batch=new_id(), at=day.end)])
        if number % every == 0:
            files = [f for f in folder.rglob("*") if f.is_file()]
            took, held = (time.perf_counter() - seen) / every * 1000, sum(f.stat().st_size for f in files) / 2**20
            print(f"  {number:6}   {took:5.1f} ms   {len(files):6} files   {held:6.1f} MB", flush=True)
            seen = time.perf_counter()


if __name__ == "__main__":
    main()
