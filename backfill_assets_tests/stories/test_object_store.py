"""A warehouse and its sources in buckets: built, changed, compared, approved, released, gone back from, cleared up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.reader import read_pointer
from backfill_assets.app.context import Context
from backfill_assets.project.object_store import delta_options
from backfill_assets_tests.buckets import BUCKET, keys, object_store, upload
from backfill_assets_tests.projects import (
    DAILY,
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
NAMED = """\
/*
start: 2024-01-01
owner: ana@example.com
grain: [ds, name]
write: merge
batch_size: 3
*/
SELECT d.ds, n.name, sum(d.n) AS n
FROM daily AS d JOIN raw.kinds AS k ON k.kind = d.kind JOIN raw.names AS n ON n.id = k.id
WHERE d.ds >= :start AND d.ds < :end
GROUP BY d.ds, n.name
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
        model = root / "models" / "named.sql"
        model.write_text(model.read_text().replace("sum(d.n) AS n", "sum(d.n) * 2 AS n"))
        run("apply", "apply")
        [plan] = [p for p in json.loads(run("plans", "plans", "--json").out) if p["candidate"]]
        found["unapproved"] = run("too soon", "promote", plan["id"]).code
        say_yes(Context.open(root), plan["id"])
        run("diff", "diff", plan["id"], "--model", "named", "--json")
        run("promoted", "promote", plan["id"])
        run("sql", "sql", "SELECT sum(n) AS n FROM prod.named")
        run("rollback", "rollback")
        run("janitor", "janitor", "--apply")
    Path(sys.argv[2]).write_text(json.dumps(found))
"""


def shown(root: Path, model: str) -> list[dict[str, Any]]:
    """What a model shows, by Arrow."""
    place = Context.open(root)
    return read_pointer(place.control.environments.read("prod").pointers[model], place.warehouse).to_pylist()


def test_the_whole_road(tmp_path: Path) -> None:
    """One JVM, whose S3A meets what delta-rs and Arrow wrote, and the other way round."""
    with object_store() as client:
        write_events(tmp_path, days=3)
        upload(client, tmp_path / "data" / "events", "events")
        kinds = pd.DataFrame({"kind": ["a", "b"], "id": [1, 2]})
        write_deltalake(f"{LAKE}/kinds", kinds, storage_options=delta_options(LAKE))
        (tmp_path / "names").mkdir()
        pd.DataFrame({"id": [1, 2], "name": ["ant", "bee"]}).to_parquet(tmp_path / "names" / "0.parquet")
        upload(client, tmp_path / "names", "names")
        root = write_project(
            tmp_path / "project",
            {"daily.sql": DAILY.format(batch_size=3, batch_concurrency=1), "named.sql": NAMED},
            sources=EVENTS.replace("data/events", f"{LAKE}/events") + PLACES,
            clock="2024-01-04",
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
        daily = sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in shown(root, "daily"))
        assert daily == expected_daily(tmp_path)
        names = {"a": "ant", "b": "bee"}
        named = sorted((f"{r['ds']}", r["name"], r["n"]) for r in shown(root, "named"))
        assert named == sorted((ds, names[kind], n) for ds, kind, n, _ in daily)  # as before the edit
        assert f" {2 * sum(n for _, _, n in named)} " in found["sql"]["out"]
        assert keys(client, "house/daily/") and not keys(client, "house/_probe/")
