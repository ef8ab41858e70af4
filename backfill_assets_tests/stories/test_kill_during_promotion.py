"""A promotion that dies at any step leaves views that are right, and the next one recovers (A3, B7).

The catalog is shared and outlives the process: a Hive metastore in Derby, which one process at a time may open. So the
processes form a chain: each looks at what the death of the one before left, recovers, promotes the other release, and
dies at a step of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets_tests.projects import finish, script, start
from backfill_assets_tests.stories.releases import JOINED, ROWS, build_releases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

STEPS = {"expand daily": "before", "flip": "after", "settle daily": "after"}
"""What is the last thing that a promotion does, and which release is then shown: the one before, or after, it.

One step of each phase; `unit/promote/test_promote.py` dies at every step of them.
"""

PROMOTES = """
    import json, os, sys
    from backfill_assets.adapters import spark_views
    from backfill_assets.app.context import Context
    from backfill_assets.app.promote import promote_plan
    from backfill_assets.promote.promote import recover
    from backfill_assets.state.environment import Environments
    from backfill_assets_tests.projects import approve

    project, query, last = sys.argv[1:4]
    place = Context.open(project)

    def look():
        if not place.spark.catalog.databaseExists("prod"):
            return None
        if not place.spark.catalog.tableExists("prod.running"):
            return None
        return list(place.spark.sql(query).collect()[0])

    def journal():
        promotion = place.control.environments.read("prod").promotion
        return promotion and promotion.release

    found = {"left": look(), "open": journal()}
    recover(place.control.environments, "prod", place.shared_views())
    found |= {"recovered": look(), "still open": journal()}
    print(json.dumps(found), flush=True)
    approve(place)

    def dies_after(owner, name, step):
        done = getattr(owner, name)
        def dying(*args, **more):
            found = done(*args, **more)
            if step(args) == last:
                os._exit(9)
            return found
        setattr(owner, name, dying)

    phase = []

    def enters(name, environment):  # of prod: the plan's candidate moves before it
        if environment.name == "prod":
            phase.append(name)
            return name

    for name in ("open", "flip", "close"):
        dies_after(Environments, name, lambda args, name=name: enters(name, args[1]))
    words = {"open": "expand", "flip": "settle"}
    dies_after(spark_views.SparkViews, "_put", lambda args: args[1] == "prod" and f"{words[phase[-1]]} {args[2]}")
    verdict = promote_plan(place).verdict
    assert verdict.open and len(verdict.pointers) == 2, verdict
"""


@pytest.mark.extended
def test_killed_in_every_phase(spark: SparkSession, tmp_path: Path) -> None:
    """After each death the views show one release, the right one; recovering changes nothing seen, and promotes on."""
    metastore = f"jdbc:derby:;databaseName={tmp_path / 'metastore'};create=true"
    shared = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        "spark.sql.warehouse.dir": str(tmp_path / "spark-warehouse"),
    }
    releases = build_releases(tmp_path, "prod", shared, grace=0.5)  # nobody reads while a promotion waits
    projects = {1: releases.one.project.root, 2: releases.two.project.root}

    said = chained(projects[1], "")
    assert said["left"] is None and said["open"] is None
    shown, died = 1, ""
    for step in [*STEPS, ""]:
        to = 2 if shown == 1 else 1
        said = chained(projects[to], step)
        marks = [shown] * 4 + [ROWS]
        assert said["left"] == marks, f"a reader after a death at {died or 'no step'}"
        assert said["recovered"] == marks, f"recovering from a death at {died or 'no step'}"
        assert bool(said["open"]) == (died not in ("", "close")) and said["still open"] is None
        if not step or STEPS[step] == "after":
            shown = to
        died = step
    environment = releases.one.control.environments.read("prod")
    assert environment.promotion is None
    assert {p.model: p for p in releases.pointers[shown - 1]} == environment.pointers


def chained(project: Path, last: str) -> dict[str, Any]:
    """One process of the chain; what it saw before it promoted."""
    process = start(*script(PROMOTES, project, JOINED.format("prod"), last), cwd=project)
    try:
        said = finish(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its JVM holds Derby's lock
    assert said.code == (9 if last else 0), said.out
    return json.loads(next(line for line in said.out.splitlines() if line.startswith("{")))
