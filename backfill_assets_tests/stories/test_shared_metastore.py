"""Prod views in a metastore that every Spark client shares: promoted by one process, read by others (A3). Hive tables
that are there already are adopted (F9).

`spark-conf/metastore/` is used as it ships, with a PostgreSQL server that the test starts. Each flip leaves its readers
their grace, twice: a hundred take twenty minutes, `FLIPS=100 pytest --timeout 3600 -k views_in_a_shared`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backfill_assets
from backfill_assets_tests.postgres import postgres_server, programs_of_postgres
from backfill_assets_tests.projects import (
    CHECKOUT,
    backfill,
    clean_environment,
    eventually,
    expected_daily,
    finish,
    kill,
    script,
    small_project,
    start,
)
from backfill_assets_tests.stories.releases import JOINED, ROWS, build_releases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONFIGURATION = CHECKOUT / "spark-conf" / "metastore"
FLIPS = int(os.environ.get("FLIPS", "3"))
"""How often prod moves while others read: the first are two promotions and a rollback."""
GRACE = 5.0
"""Seconds that each of them leaves to readers: the default."""

PROMOTER = """
    # One release, and when the reader reads, the other one, and a rollback; then as many more as are wanted.
    import json, sys, time
    from pathlib import Path
    from backfill_assets.adapters.table_log import DeltaTableLog
    from backfill_assets.app.context import Context
    from backfill_assets.app.promote import promote_plan
    from backfill_assets.app.rollback import roll_back
    from backfill_assets.core.pointer import pointer_from_json
    from backfill_assets.promote.promote import promote
    from backfill_assets_tests.projects import approve

    first, second, promoted, go, releases = map(Path, sys.argv[1:6])
    for project in (first, second):
        place = Context.open(project)
        if project == second:
            approve(place)
        verdict = promote_plan(place).verdict
        assert verdict.open and {p.model for p in verdict.pointers} == {"daily", "running"}, verdict
        promoted.touch()
        while not go.exists():
            time.sleep(0.05)
    # From here on views call tables by their names: the view that is there does not, the one that comes does.
    settings = second / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"tables": {"schema": "backfill_tables"}}))
    back = roll_back(Context.open(second), None, follow=lambda *_: sys.exit("nothing is to be built")).ended
    assert back.moved is not None and {m.model for m in back.moved.pointers.values()} == {"daily", "running"}, back

    pointers = [[pointer_from_json(line) for line in text.splitlines()] for text in releases.read_text().split("---")]
    place = Context.open(second)
    shown = place.control.environments.read("prod")
    for number in range(3, int(sys.argv[6])):
        shown = promote(place.control.environments, shown, pointers[number % 2], place.shared_views())

    views, spark, log = place.shared_views(), place.spark, DeltaTableLog(place.warehouse)
    assert views.drifted(shown) == {}
    text = spark.sql("SHOW CREATE TABLE prod.running").first()[0]
    assert "`backfill_tables`.`running__" in text and place.warehouse not in text, text
    hidden = next(r for r in pointers if {p.version for p in r} != {p.version for p in shown.pointers.values()})
    one, version = hidden[0].model, hidden[0].version  # readers read the others
    name, head = f"backfill_tables.{one}__{version}", log.head(one, version)
    rows = spark.sql(f"SELECT count(*) FROM {name}").first()[0]
    for _ in range(2):
        views.named.unregister(one, version)
        assert not spark.catalog.tableExists(name)
    views.prepare(hidden)
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == rows > 0
    assert log.head(one, version) == head, "a name is no commit"
"""

READER = """
    # A client without any of the project's code: plain PySpark with SPARK_CONF_DIR.
    import sys, time
    from pathlib import Path
    from pyspark.sql import SparkSession

    query, seen, stop = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    spark = SparkSession.builder.config("spark.driver.memory", "1g").enableHiveSupport().getOrCreate()
    assert not [name for name in sys.modules if name.startswith("backfill_assets")]
    with seen.open("a") as out:
        while not stop.exists():
            began = time.time()
            for instant, *marks in spark.sql(query).collect():
                print(instant.timestamp() - began, *marks, file=out, flush=True)
            time.sleep(0.8)
"""

ADOPTER = """
    # Hive tables of a catalog that others share: drafts for a schema of them, then both are adopted.
    import sys, json
    from pathlib import Path
    from backfill_assets.app.adopt import Adoption, adopt
    from backfill_assets.app.context import Context
    from backfill_assets.app.drafts import draft_models
    from backfill_assets.core.errors import StateError

    roots, rows, folder = [Path(a) for a in sys.argv[1:3]], json.loads(sys.argv[3]), sys.argv[4]
    spark = Context.open(roots[0]).spark
    columns = "kind STRING, n BIGINT, total DECIMAL(20,2), loaded_by STRING"
    spark.sql(f"CREATE DATABASE legacy LOCATION '{folder}'")
    spark.sql(f"CREATE TABLE legacy.by_day ({columns}) PARTITIONED BY (ds DATE) STORED AS PARQUET")
    spark.sql(f"CREATE TABLE legacy.flat (ds DATE, {columns}) STORED AS PARQUET")
    spark.createDataFrame(rows, "ds string, kind string, n bigint, cents bigint").createOrReplaceTempView("old_rows")
    values = "kind, n, CAST(cents / 100.0 AS DECIMAL(20,2)), 'x'"
    for day in sorted({row[0] for row in rows}):
        part = f"PARTITION (ds = DATE'{day}')"
        spark.sql(f"INSERT INTO legacy.by_day {part} SELECT {values} FROM old_rows WHERE ds = '{day}'")
    spark.sql(f"INSERT INTO legacy.flat SELECT CAST(ds AS DATE), {values} FROM old_rows")

    spark.sql("CREATE TABLE legacy.gone (ds DATE) STORED AS PARQUET")
    spark.sql("CREATE VIEW legacy.lost AS SELECT * FROM legacy.gone")
    spark.sql("DROP TABLE legacy.gone")
    drafted = draft_models(Context.open(roots[1]), "spark_catalog.legacy")
    said = {"written": drafted.written, "left": drafted.left}
    said |= {g.name: [g.time_column, g.first, list(g.grain), g.place.format] for g in drafted.guesses}
    draft = (roots[1] / "drafts" / "models" / "by_day.sql").read_text()
    (roots[1] / "models" / "by_day.sql").write_text(draft.replace("owner: TODO", "owner: ana@example.com"))
    entries = (roots[1] / "drafts" / "sources.yml").read_text().split("sources:")[1].split("  - name: ")
    mine = next(e for e in entries if e.startswith("legacy.by_day"))
    sources = roots[1] / "sources.yml"
    sources.write_text(sources.read_text().rstrip() + chr(10) + "  - name: " + mine)

    asked = (roots[0], "daily", "by_day"), (roots[1], "daily", "flat"), (roots[1], "by_day", "by_day")
    for root, model, table in asked:
        name = f"spark_catalog.legacy.{table}"
        try:
            adopt(Context.open(root), Adoption(model=model, table=name))
        except StateError as error:
            assert "--copy" in error.fix, error
        else:
            raise AssertionError(f"{name} is no Delta table")
        done = adopt(Context.open(root), Adoption(model=model, table=name, copy=True))
        assert done.shown and done.origin is None, done
        assert spark.table(name).count() == len(rows)
    spark.sql("DROP DATABASE legacy CASCADE")
    Path(sys.argv[5]).write_text(json.dumps(said))
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The JDBC URL of an empty database in a server of its own."""
    with postgres_server("metastore") as port:
        yield f"jdbc:postgresql://127.0.0.1:{port}/metastore"


def test_views_in_a_shared_metastore(spark: SparkSession, tmp_path: Path, postgres: str) -> None:
    """Promotions and a rollback persist the views; other processes read them, and see one release a query meanwhile.

    `backfill sql` uses them as well, and makes none of its own. The promise is of queries whose instant, which Spark
    takes once, comes within the grace. Before the rollback tables get names: the rollback, and
    whatever moves after it, calls them so.
    """
    releases = build_releases(tmp_path, "prod", grace=GRACE)
    environment = clean_environment(SPARK_CONF_DIR=str(CONFIGURATION), BACKFILL_METASTORE_URL=postgres)
    first, second = releases.one.project.root, releases.two.project.root

    promoted, go, seen, stop, pointers = (tmp_path / name for name in ("promoted", "go", "seen", "stop", "pointers"))
    pointers.write_text("---".join("\n".join(p.to_json() for p in release) for release in releases.pointers))
    query = JOINED.format("prod").replace("SELECT", "SELECT current_timestamp() AS instant,", 1)

    def queries() -> list[str]:
        return seen.read_text().splitlines() if seen.exists() else []

    asked = (first, second, promoted, go, pointers, str(FLIPS))
    promoter = start(*script(PROMOTER, *asked), cwd=tmp_path, env=environment)
    reader = None
    try:
        eventually(promoted.exists, while_=lambda: promoter.poll() is None)
        reader = start(*script(READER, query, seen, stop), cwd=tmp_path, env=environment)
        promoted_ids = ids_of_views(postgres)
        reads = lambda: reader.poll() is None  # noqa: E731
        eventually(lambda: len(queries()) >= 3, while_=reads)
        before = len(queries())
        go.touch()
        said = finish(promoter, timeout=900 + 30 * FLIPS)
        assert said.code == 0, said.out
        after = len(queries())
        eventually(lambda: len(queries()) >= after + 3, while_=reads)
        stop.touch()
        said = finish(reader)
        assert said.code == 0, said.out
    finally:
        for process in (promoter, reader):
            if process is not None and process.poll() is None:
                print(kill(process))

    assert after - before >= 5, "too few queries ran during the promotions"
    told = [line.split(maxsplit=1) for line in queries()]
    inside = [marks for instant, marks in told if float(instant) < GRACE]
    assert len(inside) >= len(told) / 2, "too few queries got to their instant within the grace"
    assert set(inside) == {f"1 1 1 1 {ROWS}", f"2 2 2 2 {ROWS}"}
    assert inside[-1].startswith("1 " if FLIPS % 2 else "2 ")

    # the other release's project: were the views made on the spot, nothing would differ; so look at who owns them
    assert ids_of_views(postgres) == promoted_ids, "views are altered, never replaced: grants stay with them"
    views = backfill("sql", "--json", "SHOW VIEWS IN prod", project=second, env=environment)
    assert views.code == 0, views.err
    assert {row["viewName"]: row["isTemporary"] for row in views.json} == {"daily": False, "running": False}


@pytest.mark.extended
def test_hive_tables_are_adopted(tmp_path: Path, postgres: str) -> None:
    """Parquet tables of the metastore, in partitions and not, by one copy each: the rows that were put there, also when
    the tables are gone; and a model that was drafted of one."""
    roots = [small_project(tmp_path / name, days=8, environment=f"adopted_{name}") for name in ("one", "two")]
    old = [row for row in expected_daily(roots[0]) if row[0] <= "2024-01-03"]
    environment = clean_environment(SPARK_CONF_DIR=str(CONFIGURATION), BACKFILL_METASTORE_URL=postgres)
    told = tmp_path / "told.json"
    adopter = script(ADOPTER, *roots, json.dumps(old), tmp_path / "hive", told)
    said = finish(start(*adopter, cwd=tmp_path, env=environment))
    assert said.code == 0, said.out

    def shown(root: Path, model: str) -> list[tuple[str, str, int, int]]:
        rows = backfill_assets.read(model, project=root).to_pylist()
        return sorted((f"{r['ds']}", r["kind"], r["n"], int(r["total"] * 100)) for r in rows)

    for root, model in ((roots[0], "daily"), (roots[1], "daily"), (roots[1], "by_day")):
        assert shown(root, model) == old, (root, model)
    assert not list((tmp_path / "hive").rglob("*.parquet"))
    drafts = json.loads(told.read_text())
    assert drafts["written"] == ["drafts/models/by_day.sql", "drafts/models/flat.sql", "drafts/sources.yml"]
    assert drafts["by_day"] == drafts["flat"] == ["ds", "2024-01-01", ["kind"], "hive"]
    assert [name for name, _ in drafts["left"]] == ["spark_catalog.legacy.lost"], "a view of a table that is gone"


def ids_of_views(url: str) -> str:
    """What the metastore's grants (`TBL_PRIVS`) refer to: the id of each view."""
    query = """SELECT "TBL_NAME", "TBL_ID" FROM "TBLS" WHERE "TBL_TYPE" = 'VIRTUAL_VIEW' ORDER BY 1"""
    at = ["-d", url.removeprefix("jdbc:").replace("//", "//metastore@")]
    said = subprocess.run(
        [programs_of_postgres() / "psql", *at, "-At", "-c", query],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert len(said.stdout.split()) >= 2, said.stdout
    return said.stdout
