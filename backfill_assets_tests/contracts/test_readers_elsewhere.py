"""Do readers in other processes see one release a read, while an environment moves a hundred times? Without a JVM.

`stories/test_flips_under_spark.py` has the same of other Spark processes and of `backfill sql`.
"""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from backfill_assets.app.context import Context
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.promote.promote import promote
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.versions import table_path
from backfill_assets_tests.projects import clean_environment, days, eventually, small_project, start

FLIPS, READERS, DAYS = 100, 2, 6
COLUMNS = (("ds", "date"), ("n", "bigint"))
READER = """
import sys
import time
from pathlib import Path
import backfill_assets

root, stop = sys.argv[1], Path(sys.argv[2])
reads = set()
count = 0
while not stop.exists() or not count:
    table = backfill_assets.read("daily", environment="prod", project=root)
    reads.add(tuple(sorted(table.column("n").to_pylist())))
    count += 1
    if count == 1:
        print("first", flush=True)
    time.sleep(0.02)
print(count, sorted(reads), flush=True)
"""


def a_version(place: Context, number: int, model: str = "daily") -> Pointer:
    """Six days, every row of which says the version's number; the newest days are in a second segment."""
    location = table_path(place.warehouse, model, f"v{number}")
    rows = pa.table({"ds": [date(2024, 1, d) for d in range(1, DAYS + 1)], "n": [number] * DAYS})
    write_deltalake(location, rows.slice(0, 3), partition_by=["ds"])
    write_deltalake(location, rows.slice(3), mode="append")
    parts = (days("2024-01-01", "2024-01-03"), days("2024-01-04", f"2024-01-0{DAYS}"))
    segments = tuple(Segment(version=f"v{number}", commit=n, interval=part) for n, part in enumerate(parts))
    return Pointer(model=model, time_column="ds", timestamps=False, columns=COLUMNS, segments=segments)


def test_a_hundred_flips(tmp_path: Path) -> None:
    """Each read is of one release wholly, none fails, and both are seen."""
    place = Context.open(small_project(tmp_path / "shop", days=DAYS))
    pointers = [a_version(place, number) for number in (1, 2)]
    environments = place.control.environments
    shown = promote(environments, environments.read("prod"), pointers[:1], None, note=ReleaseNote(by="ana"))
    stop = tmp_path / "stop"
    readers = [
        start(sys.executable, "-c", READER, place.project.root, stop, env=clean_environment()) for _ in range(READERS)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "first\n", reader.stdout.read()
        for number in range(FLIPS):
            shown = promote(environments, shown, [pointers[(number + 1) % 2]], None, note=ReleaseNote(by="ana"))
        stop.touch()
        for reader in readers:
            said, _ = reader.communicate(timeout=120)
            assert reader.returncode == 0, said
            count, _, reads = said.strip().partition(" ")
            assert int(count) >= 10, said
            assert reads == f"{sorted([(1,) * DAYS, (2,) * DAYS])}", "a read saw two releases, or a part of one"
    finally:
        stop.touch()
        for reader in readers:
            if reader.poll() is None:
                os.killpg(reader.pid, 9)
                reader.wait()
    assert len(place.control.releases.all("prod")) == FLIPS + 1
    eventually(lambda: environments.read("prod").promotion is None)
