"""Everything from an empty folder with nothing but the `backfill` command: results, codes, refusals (B1, B3, B6)."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import (
    SMALL_SPARK,
    Said,
    backfill,
    backfill_here,
    built_daily,
    clean_environment,
    commits_per_interval,
    expected_daily,
    small_project,
    write_events,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = "spark: {" + ", ".join(f"{key}: {value}" for key, value in SMALL_SPARK.items()) + "}\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, as `backfill init` makes it in an empty folder."""
    folder = tmp_path_factory.mktemp("clean")
    made = backfill("init", "shop", cwd=folder)
    assert made.code == 0, made.err
    project = folder / "shop"
    assert "cd shop, backfill plan, then backfill apply --promote" in made.out
    with (project / "backfill.yml").open("a") as settings:
        settings.write(SPARK)
    return project


@pytest.fixture(scope="module")
def applied(shop: Path) -> Said:
    """`backfill apply` in the new project."""
    return backfill("apply", "--json", project=shop)


@pytest.fixture(scope="module")
def promoted(shop: Path, applied: Said) -> Said:
    """`backfill promote` after it."""
    return backfill("promote", "--json", project=shop)


def test_init_overwrites_nothing(shop: Path) -> None:
    """A folder that holds something is refused, and left as it is."""
    before = {p: p.stat().st_mtime_ns for p in shop.rglob("*")}
    refused = backfill("init", shop)
    assert refused.code == 1 and "is not empty" in refused.err and "fix:" in refused.err
    assert {p: p.stat().st_mtime_ns for p in shop.rglob("*")} == before


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    """`plan` says what is missing and in which batches; as JSON it has documented keys; nothing is written but
    a cache."""
    project = small_project(tmp_path, days=5, batch_size=2)
    before = sorted(tmp_path.rglob("*"))

    said, text = backfill("plan", "--json", project=project), backfill("plan", project=project)

    assert said.code == text.code == 0
    plan = said.json
    assert set(plan) >= {"id", "environment", "now", "models", "stages", "blocked", "kept", "sources"}
    assert (plan["environment"], plan["models"]) == ("prod", ["daily", "running"])
    build, _, promote = plan["stages"]
    shown = {"stage", "model", "version", "intervals", "count", "batches", "concurrency", "reason", "open"}
    assert set(build) == shown
    assert build["count"] == 5 and len(build["batches"]) == 3
    assert build["intervals"] == [["2024-01-01T00:00:00+00:00", "2024-01-06T00:00:00+00:00"]]
    assert [m["model"] for m in promote["models"]] == ["daily", "running"]
    assert set(plan["sources"]["raw.events"]) == {"files", "count", "names"}
    assert plan["id"] in text.out and "3 batches" in text.out and "2024-01-01..2024-01-05" in text.out
    (cache,) = (project / ".backfill").iterdir()
    assert cache.name == "cache"
    shutil.rmtree(project / ".backfill")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.spark
def test_from_nothing_to_a_query_on_prod(shop: Path, applied: Said, promoted: Said) -> None:
    """init, apply, promote, sql: 31 days of two models, complete and visible."""
    assert applied.code == 0, applied.err
    models = applied.json["models"]
    assert applied.json["complete"] is True
    assert {name: one["complete"] for name, one in models.items()} == {"daily_revenue": True, "revenue_rolling": True}
    assert models["daily_revenue"]["rows"] == 31 and models["daily_revenue"]["failures"] == []

    assert promoted.code == 0, promoted.err
    assert promoted.json["open"] is True and promoted.json["in_the_way"] == []
    assert {p["model"] for p in promoted.json["promoted"]} == set(models)
    assert len({p["release"] for p in promoted.json["promoted"]}) == 1

    query = """
        SELECT count(*) AS n, max(r.revenue_7d) IS NOT NULL AS ok
        FROM prod.daily_revenue AS d JOIN prod.revenue_rolling AS r USING (ds)"""
    asked = backfill("sql", "--json", query, project=shop)
    assert asked.code == 0, asked.err
    assert asked.json == [{"n": 31, "ok": True}]


@pytest.mark.spark
def test_status_as_json(shop: Path, promoted: Said) -> None:
    """`status --json` says for each model what there is, what prod shows and what is missing."""
    said = backfill("status", "--json", project=shop)
    assert said.code == 0, said.err
    assert said.json["environment"] == "prod" and {"now", "revision", "models"} <= set(said.json)
    daily, rolling = said.json["models"]
    assert (daily["model"], rolling["model"]) == ("daily_revenue", "revenue_rolling")
    whole = [["2024-01-01T00:00:00+00:00", "2024-02-01T00:00:00+00:00"]]
    for model in (daily, rolling):
        assert (model["cadence"], model["expected"]) == ("daily", 31)
        assert model["green"] == model["shown"] == whole and model["missing"] == model["running"] == []
        assert model["shown_version"] == model["version"]


@pytest.mark.spark
def test_what_is_done_needs_no_spark(shop: Path, promoted: Said, tmp_path: Path) -> None:
    """apply, promote, plan and status with nothing to do: 0 without Java, importing neither pyspark nor dagster."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, pathlib, sys\n"
        "heavy = ('pyspark', 'py4j', 'dagster', 'dagster_pyspark', 'sqlframe')\n"
        f"atexit.register(lambda: pathlib.Path({str(tmp_path / 'imported')!r}).write_text("
        "' '.join(m for m in heavy if m in sys.modules) or 'none'))\n"
    )
    environment = without_java(tmp_path) | {"PYTHONPATH": str(tmp_path)}
    for command in (["apply"], ["apply", "--promote"], ["promote"], ["plan"], ["status"]):
        (tmp_path / "imported").unlink(missing_ok=True)
        said = backfill(*command, project=shop, env=environment)
        assert said.code == 0, (command, said.err)
        assert (tmp_path / "imported").read_text() == "none", command
    said = backfill("apply", project=shop, env=environment)
    assert "Nothing to build" in said.out


@pytest.mark.spark
def test_apply_says_what_is_incomplete(tmp_path: Path) -> None:
    """Exit code 3 and the red day when an audit fails; then 4 from `promote`, with the remedy."""
    project = small_project(tmp_path, days=3, batch_size=3)
    write_events(tmp_path, days=3, bad="2024-01-02")
    said = backfill("apply", project=project)
    assert said.code == 3, said
    assert "audit failed daily.range_total on 2024-01-02" in said.out and "running waits" in said.out
    assert "Traceback" not in said.out + said.err

    refused = backfill("promote", project=project)
    assert refused.code == 4 and "daily: 1 day does not count: range_total failed: 2024-01-02" in refused.out
    assert "fix: once the cause is mended: backfill apply\n" in refused.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["plan", "--start", "2024-13-01"], 2, "--start 2024-13-01 is no day"),
        (["plan", "--start", "2024-01-03", "--end", "2024-01-01"], 2, "empty or reversed"),
        (["plan", "--start", "2030-01-01"], 1, "holds no interval"),
        (["plan", "--select", "dialy"], 2, "did you mean daily?"),
        (["promote", "--select", "dialy"], 2, "no model named dialy"),
        (["plan", "--nonsense"], 2, "No such option"),
        (["nonsense"], 2, "No such command"),
        (["sql"], 2, "Missing argument"),
        (["promote"], 4, "Not promoted"),
    ],
)
def test_user_errors(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    """Wrong requests end in a message with a remedy and an exit code of their own, never in a stack trace."""
    said = backfill_here(*arguments, project=small_project(tmp_path, days=3))
    assert said.code == code, said
    assert says in said.out + said.err
    assert "Traceback" not in said.out + said.err
    if code < 4 and "Usage: " not in said.err:  # Click's own messages say how the command is written
        assert "fix:" in said.err


def test_a_broken_project_lists_every_problem(tmp_path: Path) -> None:
    """All that is wrong is said at once, each with file and line, by every command."""
    project = small_project(tmp_path, days=3)
    (project / "models" / "daily.sql").write_text(
        "/*\nstrat: 2024-01-01\ngrain: [ds]\n*/\nSELECT 1 AS ds FROM raw.evnts\n"
    )
    (project / "models" / "running.sql").write_text("/*\nstart: 2024-01-01\ngrain: [ds]\n*/\nSELEC ds FROM\n")
    (project / "models" / "code.py").write_text("def broken(:\n")
    for command in (["plan"], ["apply"], ["status", "--json"]):
        said = backfill(*command, project=project)
        assert said.code == 1, said
        assert "Traceback" not in said.err and said.out == ""
        for place in ("models/daily.sql:2", "models/running.sql:5", "models/code.py:1"):
            assert f"{project}/{place}: " in said.err, (place, said.err)
        assert "did you mean `start`?" in said.err


def test_two_ways_to_name_a_project(tmp_path: Path) -> None:
    """BACKFILL_PROJECT and --project mean the same; a folder that is not there is refused with a remedy."""
    project = small_project(tmp_path / "p", days=3)
    by_option = backfill("plan", "--json", project=project, cwd=tmp_path)
    by_variable = backfill("plan", "--json", cwd=tmp_path, env=clean_environment(BACKFILL_PROJECT=str(project)))
    relative = backfill("plan", "--json", cwd=tmp_path, env=clean_environment(BACKFILL_PROJECT="p"))
    assert by_option.code == 0 and by_option.json == by_variable.json == relative.json

    nowhere = backfill("plan", project=tmp_path / "nowhere")
    assert nowhere.code == 1 and "backfill init" in nowhere.err


def test_no_java(tmp_path: Path) -> None:
    """Where something is to be built and Java is missing: one message that says what to install; no plan is stored."""
    root = small_project(tmp_path, days=2)
    said = backfill("apply", project=root, env=without_java(tmp_path))
    assert said.code == 1, said
    text = said.out + said.err
    assert "Java was not found" in text and "openjdk-17" in text
    assert "Traceback" not in text
    assert Context.open(root).control.plans.all() == []


def test_java_that_is_too_old(tmp_path: Path) -> None:
    """A Java that Spark cannot run on is named, before any JVM is started for Spark."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    environment = clean_environment(PATH=f"{java.parent}{os.pathsep}{os.environ['PATH']}")
    environment.pop("JAVA_HOME", None)
    said = backfill("apply", project=small_project(tmp_path, days=2), env=environment)
    assert said.code == 1, said
    text = said.out + said.err
    assert "Java is too old: Spark needs 17 or newer" in text and "11.0.2" in text
    assert "Traceback" not in text


@pytest.mark.spark
def test_a_sample_is_built_first(spark: SparkSession, tmp_path: Path) -> None:
    """Three days, spread from the first to the newest; what is left is said with how long it will take, and the next
    apply builds just that: no day is written twice, and the rows are those of the files."""
    place = Context.open(small_project(tmp_path, days=8, batch_size=4))
    said = backfill_here("apply", "--select", "daily", "--sample", "3", project=tmp_path)
    assert said.code == 0, said
    facts = place.facts()
    assert str(facts.tables.coverage["daily"].green) == "2024-01-01, 2024-01-05, 2024-01-08"
    assert not facts.environment.pointers
    left = said.out[said.out.index("5 days") :]
    assert "2024-01-02..2024-01-04, 2024-01-06..2024-01-07" in left and "backfill apply --select daily" in left, (
        said.out
    )
    assert backfill_here("apply", "--select", "daily", project=tmp_path).code == 0
    assert set(commits_per_interval(place, "daily").values()) == {1}
    assert built_daily(place) == expected_daily(tmp_path)
    for wrong in ("0", "-1", "x"):
        assert backfill_here("apply", "--sample", wrong, project=tmp_path).code == 2


@pytest.mark.spark
def test_doctor(shop: Path, tmp_path: Path) -> None:
    """`doctor --json` looks at everything: 0 when all is well, 1 and a remedy at the check that failed."""
    well = backfill("doctor", "--json", project=shop)
    assert well.code == 0, well
    names = {check["check"] for check in well.json}
    assert {"python", "java", "spark-conf", "delta jars", "disk", "project", "state"} <= names
    assert all(check["ok"] for check in well.json)

    ill = backfill("doctor", "--json", project=shop, env=without_java(tmp_path))
    assert ill.code == 1
    (wrong,) = [check for check in ill.json if not check["ok"]]
    assert wrong["check"] == "java" and "fix:" in wrong["found"]


def without_java(folder: Path) -> dict[str, str]:
    """An environment with no Java anywhere."""
    empty = folder / "no-java"
    empty.mkdir(exist_ok=True)
    environment = clean_environment(PATH=str(empty))
    environment.pop("JAVA_HOME", None)
    return environment
