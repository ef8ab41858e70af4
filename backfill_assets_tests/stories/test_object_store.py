"""A warehouse and its sources in buckets: built, changed, compared, approved, released, gone back from, cleared up."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.app.context import Context
from backfill_assets.project.object_store import delta_options
from backfill_assets_tests.buckets import BUCKET, keys, object_store, upload
from backfill_assets_tests.projects import (
    EVENTS,
    clean_environment,
    expected_daily,
    finish,
    script,
    start,
    write_events,
    write_project,
)

pytestmark = pytest.mark.spark

LAKE = f"s3://{BUCKET}"
PLACES = """\
  - name: raw.kinds
    format: delta
    path: s3://lake/kinds
  - name: raw.names
    format: parquet
    path: s3a://lake/names
"""
DAILY = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds, kind]
write: replace
batch_size: 3
audits:
  - not_null: [ds, kind, n]
  - completeness
*/
SELECT CAST(e.at AS DATE) AS ds, n.name AS kind, count(*) AS n, sum(e.amount) AS total
FROM raw.events AS e JOIN raw.kinds AS k ON k.kind = e.kind JOIN raw.names AS n ON n.id = k.id
WHERE e.at >= :start AND e.at < :end
GROUP BY CAST(e.at AS DATE), n.name
"""
ROAD = """
    import json, sys
    from pathlib import Path
    from backfill_assets.app.context import Context
    from backfill_assets_tests.projects import backfill_here, say_yes

    root = Path(sys.argv[1])
    found = {}

    def run(name, *command):
        said = backfill_here(*command, project=root)
        found[name] = {"code": said.code, "out": said.out, "err": said.err}
        return said

    if run("doctor", "doctor", "--json").code == 0 and run("first", "apply", "--promote").code == 0:
        model = root / "models" / "daily.sql"
        edited = model.read_text().replace("sum(e.amount) AS total", "sum(e.amount) * 2 AS total")
        model.write_text(edited.replace("write: replace", "write: merge"))
        run("apply", "apply")
        [plan] = [p for p in json.loads(run("plans", "plans", "--json").out) if p["candidate"]]
        found["unapproved"] = run("too soon", "promote", plan["id"]).code
        say_yes(Context.open(root), plan["id"])
        run("diff", "diff", plan["id"], "--model", "daily", "--json")
        run("promoted", "promote", plan["id"])
        run("sql", "sql", "SELECT sum(total) AS total FROM prod.daily")
        run("rollback", "rollback")
        run("janitor", "janitor", "--apply")
    Path(sys.argv[2]).write_text(json.dumps(found))
"""


def shown(root: Path) -> list[tuple[str, str, int, int]]:
    """What `daily` shows, by Arrow."""
    place = Context.open(root)
    rows = read_pointer(place.control.environments.read("prod").pointers["daily"], place.warehouse).to_pylist()
    return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)


@pytest.mark.extended
def test_the_whole_road(tmp_path: Path) -> None:
    """One JVM, whose S3A meets what delta-rs and Arrow wrote, and the other way round."""
    with object_store() as client:
        write_events(tmp_path, days=2)
        upload(client, tmp_path / "data" / "events", "events")
        kinds = pd.DataFrame({"kind": ["a", "b"], "id": [1, 2]})
        write_deltalake(f"{LAKE}/kinds", kinds, storage_options=delta_options(LAKE))
        (tmp_path / "names").mkdir()
        pd.DataFrame({"id": [1, 2], "name": ["a", "b"]}).to_parquet(tmp_path / "names" / "0.parquet")
        upload(client, tmp_path / "names", "names")
        root = write_project(
            tmp_path / "project",
            {"daily.sql": DAILY},
            sources=EVENTS.replace("data/events", f"{LAKE}/events") + PLACES,
            clock="2024-01-03",
        )
        settings = json.loads((root / "backfill.yml").read_text())
        (root / "backfill.yml").write_text(json.dumps(settings | {"warehouse": "s3a://lake/house"}))
        answers = tmp_path / "answers.json"
        there = clean_environment(BACKFILL_CACHE=os.environ["BACKFILL_CACHE"])
        said = finish(start(*script(ROAD, root, answers), env=there))
        assert answers.exists(), said.out[-6000:]
        found = json.loads(answers.read_text())
        done = {name: one["code"] for name, one in found.items() if isinstance(one, dict)}
        assert done.pop("too soon") != 0 and not any(done.values()), json.dumps(found, indent=1)[-8000:]
        assert len(done) == 9
        rows, expected = shown(root), expected_daily(tmp_path)
        assert rows == expected  # as before the edit
        assert f" {2 * sum(cents for *_, cents in expected) / 100:.2f} " in found["sql"]["out"]
        assert keys(client, "house/daily/") and not keys(client, "house/_probe/")
