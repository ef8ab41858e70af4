"""Do `backfill sql` and another Spark process see one release a query, while an environment moves a hundred times?

Each query joins two views. `contracts/test_readers_elsewhere.py` has the same of readers without a JVM,
`test_shared_metastore.py` of a shared catalog.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from backfill_assets.app.context import Context
from backfill_assets.promote.promote import promote
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets_tests.contracts.test_readers_elsewhere import DAYS, FLIPS, a_version
from backfill_assets_tests.projects import BACKFILL, clean_environment, small_project, start

pytestmark = pytest.mark.spark

LONGEST = 240.0
"""Seconds that the readers may take before they have read."""
QUERY = """
    SELECT d.n AS one, r.n AS other, count(*) AS days
    FROM prod.daily d JOIN prod.running r USING (ds) GROUP BY d.n, r.n
"""
SPARK = """
import json, sys, time
from pathlib import Path
import backfill_assets

root, query, stop, seen = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
reads = []
while not stop.exists():
    rows = backfill_assets.spark(project=root).sql(query).collect()
    reads.append([row.asDict() for row in rows])
    if any(read != reads[0] for read in reads):
        seen.touch()
    time.sleep(0.1)
print(json.dumps(reads), flush=True)
"""


@pytest.mark.extended
def test_a_hundred_flips(tmp_path: Path) -> None:
    """Every query is of one release wholly, in both views, and none fails."""
    place = Context.open(small_project(tmp_path / "shop", days=DAYS))
    releases = [[a_version(place, number, model) for model in ("daily", "running")] for number in (1, 2)]
    environments = place.control.environments
    shown = promote(environments, environments.read("prod"), releases[0], None, note=ReleaseNote(by="ana"))
    root, stop, seen = place.project.root, tmp_path / "stop", tmp_path / "two answers"
    spark = start(sys.executable, "-c", SPARK, root, QUERY, stop, seen, env=clean_environment())
    sql = start(BACKFILL, "--project", root, "sql", "--json", QUERY, env=clean_environment())
    try:
        flips, began = 0, time.monotonic()
        while flips < FLIPS or sql.poll() is None or not seen.exists():
            assert time.monotonic() - began < LONGEST, "the readers have not read, or have seen one release only"
            assert spark.poll() is None, spark.communicate()[0]
            shown = promote(environments, shown, releases[(flips + 1) % 2], None, note=ReleaseNote(by="ana"))
            flips += 1
            time.sleep(0.1)
        stop.touch()
        asked, _ = sql.communicate(timeout=LONGEST)
        read, _ = spark.communicate(timeout=LONGEST)
    finally:
        stop.touch()
        for reader in (spark, sql):
            if reader.poll() is None:
                os.killpg(reader.pid, 9)
                reader.wait()
    assert sql.returncode == 0, asked
    assert spark.returncode == 0, read
    wholes = [[{"one": number, "other": number, "days": DAYS}] for number in (1, 2)]
    assert json.loads(asked[asked.rindex("[\n") :]) in wholes, asked
    reads = json.loads(read.strip().splitlines()[-1])
    assert [r for r in reads if r not in wholes] == [], "a query saw two releases, or a part of one"
    assert all(whole in reads for whole in wholes), f"{len(reads)} reads saw one release only"
