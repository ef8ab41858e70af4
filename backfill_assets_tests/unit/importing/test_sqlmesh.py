"""SQLMesh's projects: what is translated gives the same rows, all else is refused by file and line."""

from __future__ import annotations

import random
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import duckdb
import pytest
import sqlglot
import yaml

from backfill_assets.app.import_project import REPORT, import_project
from backfill_assets.core.errors import ProjectError, SettingsError
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.query import ImportedTable, translate
from backfill_assets.importing.report import Imported
from backfill_assets.importing.sqlmesh_macros import without_macros
from backfill_assets.importing.types import spark_type
from backfill_assets.importing.values import of_type
from backfill_assets.project.loader import load_project
from backfill_assets_tests.projects import backfill_here
from backfill_assets_tests.unit.importing.foreign import CONFIG, EXTERNAL, sqlmesh_model, sqlmesh_project

GOOD = "SELECT id, day, amount FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"


def imported(tmp_path: Path, files: dict[str, str], **more: str):
    root = tmp_path / "ours"
    root.mkdir(exist_ok=True)
    return root, import_project(root, "sqlmesh", sqlmesh_project(tmp_path / "theirs", files, **more))


def test_a_project_loads_and_its_first_plan_works(tmp_path: Path) -> None:
    """Headers, sources and audits are written; the report names what is not, by file and line."""
    files = {
        "models/daily.sql": sqlmesh_model(GOOD, name="shop.daily", kind="time_column day, lookback 2, batch_size 30",
            more=",\n  audits (not_null(columns := (id)), unique_values(columns = (id), blocking := false),\n"
            "   accepted_range(column := amount, min_v := 0), accepted_values(column := id, is_in := (1, 2))),\n"
            "  owner jen, cron '30 6 * * *'"),
        "models/sums.sql": "MODEL (name shop.sums, kind INCREMENTAL_BY_TIME_RANGE (time_column day));\n"
            "SELECT day, sum(amount) AS total FROM shop.daily WHERE day BETWEEN @start_ds AND @end_ds GROUP BY day",
        "models/all.sql": "MODEL (\n  name shop.all_time,\n  kind FULL\n);\nSELECT 1 AS x",
        "models/code.py": "@model('shop.code')\ndef code(): ...\nraise SystemExit('never executed')",
    }  # fmt: skip
    root, done = imported(tmp_path, files)
    project = load_project(root)
    daily = project.models["daily"]
    assert (daily.batch_size, daily.ready, daily.time_column, daily.grain) == (30, "30 6 * * *", "day", ("day", "id"))
    assert daily.settle == 2 * 86400
    assert {(a.kind, a.blocking) for a in daily.audits} >= {("not_null", True), ("unique", False), ("range", True)}
    assert project.models["sums"].grain == ("day",)
    assert {x.place for x in done.left} == {"models/all.sql:5", "models/code.py:1"}
    assert "models/all.sql:5" in (root / REPORT).read_text()
    said = backfill_here("plan", project=root)
    assert said.code == 0, said
    assert "daily" in said.out
    assert "sums" in said.out


def test_a_rerun_writes_over_nothing(tmp_path: Path) -> None:
    files = {"models/m.sql": sqlmesh_model(GOOD)}
    root, _ = imported(tmp_path, files)
    model, sources = root / "models/m.sql", root / "sources.yml"
    model.write_text(model.read_text().replace("description", "") + "-- mine\n")
    sources.write_text(sources.read_text() + "# mine\n")
    before = model.read_text(), sources.read_text()
    _, again = imported(tmp_path, files)
    assert (model.read_text(), sources.read_text()) == before
    assert again.written == ()
    assert [path for path, _ in again.kept] == ["models/m.sql"]


def test_a_source_that_sources_yml_lacks_is_reported(tmp_path: Path) -> None:
    """An existing file is not edited; its models come with the next import."""
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD)})
    more = "SELECT order_id AS id, day FROM raw.items WHERE day BETWEEN @start_ds AND @end_ds"
    _, done = imported(tmp_path, {"models/n.sql": sqlmesh_model(more, name="shop.n")})
    assert "raw.items" in done.missing["sources.yml"]
    assert not (root / "models/n.sql").exists()
    added = done.missing["sources.yml"].removeprefix("sources:\n")
    (root / "sources.yml").write_text((root / "sources.yml").read_text() + added)
    imported(tmp_path, {})
    assert set(load_project(root).models) == {"m", "n"}


def noted(done: Imported) -> dict[str, str]:
    """All that is to be checked or left, by place."""
    found: dict[str, str] = {}
    for note in [*done.left, *done.checks, *(c for m in done.models for c in m.checks)]:
        found[note.place] = f"{found.get(note.place, '')} {note.what} {note.why}"
    return found


def strict(query: str) -> Untranslatable:
    """Why a query is not known to give the same rows, in the file of `sqlmesh_model`."""
    tables = {
        str(one["name"]): ImportedTable(name=str(one["name"]), columns={c: of_type(spark_type(str(t), "duckdb") or "")
                                                                for c, t in one["columns"].items()})
        for one in yaml.safe_load(EXTERNAL)
    }  # fmt: skip
    with pytest.raises(Untranslatable) as found:
        text = without_macros(query, "duckdb", 6, {}, {}).text
        translate(text, 6, dialect="duckdb", tables=tables, time_column="day", own="shop.m")
    return found.value


@pytest.mark.parametrize(
    ("query", "line", "word"),
    [
        ("SELECT id, day FROM raw.orders WHERE day >= @start_ds AND day < @end_ds", 6, "both ends"),
        ("SELECT id, day FROM raw.orders WHERE day > @start_ds AND day <= @end_ds", 6, "both ends"),
        ("SELECT id, day FROM raw.orders\nWHERE day >= @start_ds", 6, "one bound"),
        ("SELECT id, day FROM raw.orders", 6, "time column"),
        ("SELECT id, day FROM raw.orders\nWHERE moment BETWEEN @start_ds AND @end_ds", 7, "midnight"),
        ("SELECT id, moment::DATE AS day FROM raw.orders\nWHERE moment BETWEEN @start_date AND @end_date", 7, "midnight"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @end_ds AND @start_ds", 6, "wanted"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds - INTERVAL 7 DAY AND @end_ds", 6, "wanted"),
        ("SELECT id, day FROM raw.orders WHERE status BETWEEN @start_ds AND @end_ds", 6, "text"),
        ("SELECT id, day FROM raw.orders WHERE id = 1 OR day BETWEEN @start_ds AND @end_ds", 6, "known are"),
        ("SELECT id, day FROM raw.orders WHERE NOT day BETWEEN @start_ds AND @end_ds", 6, "known are"),
        ("SELECT id, @end_ds AS day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "outside"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @start_epoch AND @end_epoch", 6, "known are"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @execution_ds", 6, "known are"),
        ("SELECT id, day FROM raw.orders\nWHERE @AND(TRUE, day BETWEEN @start_ds AND @end_ds)", 7, "@AND"),
        (GOOD + "\nAND status = '@start_ds'", 7, "also in texts"),
        (GOOD + "\nAND @VAR('x') = 1", 7, "@VAR"),
        (GOOD + "\nLIMIT 10", 6, "LIMIT"),
        (GOOD + "\nQUALIFY row_number() OVER (PARTITION BY id ORDER BY day) = 1", 6, "QUALIFY"),
        ("SELECT id, day, row_number() OVER (ORDER BY id) AS n FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT DISTINCT ON (id) id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "DISTINCT ON"),
        ("SELECT id, max(day) AS day FROM raw.orders\nWHERE day BETWEEN @start_ds AND @end_ds\nGROUP BY id", 8, "GROUP BY"),
        ("SELECT 1 AS id, max(day) AS day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "GROUP BY"),
        ("SELECT id, day, count(*) AS n FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY ROLLUP (id, day)", 6, "ROLLUP"),
        ("SELECT o.id, o.day FROM raw.orders AS o JOIN raw.items AS i ON o.id = i.order_id\n"
         "WHERE o.day BETWEEN @start_ds AND @end_ds AND i.day BETWEEN @start_ds AND @end_ds", 6, "same day"),
        ("SELECT o.id, i.day FROM raw.orders AS o JOIN raw.items AS i ON o.id = i.order_id\n"
         "WHERE o.day BETWEEN @start_ds AND @end_ds", 6, "time column"),
        ("SELECT o.id, i.day FROM raw.orders AS o LEFT JOIN raw.items AS i ON o.id = i.order_id AND o.day = i.day\n"
         "WHERE o.day BETWEEN @start_ds AND @end_ds", 6, "time column"),
        ("SELECT o.id, o.day FROM raw.orders AS o FULL JOIN raw.items AS i ON o.day = i.day\n"
         "WHERE o.day BETWEEN @start_ds AND @end_ds", 6, "FULL"),
        ("SELECT o.id, o.day FROM raw.orders AS o JOIN raw.items AS i ON o.day = i.day\n"
         "AND i.day BETWEEN @start_ds AND @end_ds", 7, "ON"),
        # a LEFT JOIN's ON says nothing of the tables before it
        ("SELECT a.id, a.day FROM raw.orders AS a JOIN raw.items AS x ON a.id = x.order_id\n"
         "LEFT JOIN raw.customers AS c ON c.id = a.id AND a.day = x.day\n"
         "WHERE a.day BETWEEN @start_ds AND @end_ds AND x.day BETWEEN @start_ds AND @end_ds", 6, "same day"),
        ("SELECT a.id, a.day FROM raw.orders AS a JOIN raw.items AS x ON a.id = x.order_id\n"
         "LEFT JOIN raw.customers AS c ON c.since = a.day AND c.since = x.day\n"
         "WHERE a.day BETWEEN @start_ds AND @end_ds AND x.day BETWEEN @start_ds AND @end_ds", 6, "same day"),
        ("WITH d AS (SELECT id, day, moment FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds)\n"
         "SELECT id, day FROM d WHERE moment BETWEEN @start_ts AND @end_ts", 6, "another column"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds\n"
         "UNION ALL SELECT order_id, day FROM raw.items", 6, "day"),
        ("SELECT id, day FROM shop.m WHERE day BETWEEN @start_ds AND @end_ds", 6, "itself"),
        ("SELECT id, day FROM raw.unknown WHERE day BETWEEN @start_ds AND @end_ds", 6, "raw.unknown"),
        ("SELECT id, day, id / 2 AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "id / 2"),
        ("SELECT id, day, id % 2 AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "id % 2"),
        ("SELECT id, day, status || 'x' AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "status"),
        ("SELECT id, day, ratio::INT AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "cast"),
        ("SELECT id, day, amount::INT AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "cast"),
        ("SELECT id, day, day - day AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "numbers"),
        ("SELECT id, day, dayofweek(day) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT id, day, date_trunc('month', day) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT id, day, regexp_matches(status, 'a') AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT id, day, now() AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT id, day, amount * amount * amount * amount AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "38"),
        ("SELECT id, day, status = 1 AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "compares"),
        ("SELECT id, day, status = 'a\\b' AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "backslash"),
        ("SELECT id, day, avg(amount) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY ALL", 6, "list"),
        ("SELECT id, day, count(DISTINCT (id, day)) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY ALL", 6, "list"),
        ("SELECT id, day, id + 1 FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "name"),
        ("SELECT id + 1 AS id, id AS old, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "output"),
        ("SELECT * EXCLUDE (status) FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "star"),
        ("SELECT id, day FROM raw.orders TABLESAMPLE (10 PERCENT) WHERE day BETWEEN @start_ds AND @end_ds", 6, "list"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds\n"
         "AND id IN (SELECT order_id FROM raw.items)", 7, "list"),
        ("SELECT id, (SELECT max(day) FROM raw.orders) AS day FROM raw.orders", 6, "list"),
        ("SELECT id, bf__start_ds AS day FROM raw.orders", 6, "bf__"),
        ("SELECT id, day FROM raw.orders WHERE day BETWEEN $start AND $end", 6, "parameter"),
        ("SELECT id FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 6, "no column"),
        ("WITH orders AS (SELECT * FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds), orders AS (SELECT 1 AS x)\n"
         "SELECT id, day FROM orders", 6, "called"),
        ("FROM raw.orders", 6, ""),
        ("SELECT id, day FRM raw.orders", 6, ""),
    ],
)  # fmt: skip
def test_what_is_not_known_of_a_query_is_not_said_to_be_the_same(
    tmp_path: Path, query: str, line: int, word: str
) -> None:
    """The list itself names the construct and its line; the import never counts the model among the same."""
    error = strict(query)
    assert error.line == line, error.what
    assert word in f"{error.what} {error.why}"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert done.same == ()
    assert noted(done), query


@pytest.mark.parametrize(
    ("kind", "more", "word"),
    [
        ("time_column (day, '%Y%m%d')", "", "format"),
        ("time_column day, forward_only true", "", "forward_only"),
        ("time_column day, disable_restatement true", "", "disable_restatement"),
        ("time_column day, on_destructive_change warn", "", "on_destructive_change"),
        ("time_column day, auto_restatement_cron '@weekly'", "", "auto_restatement_cron"),
        ("time_column day, merge_filter x", "", "merge_filter"),
        ("time_column day, partition_by_time_column false", "", "partition_by_time_column"),
        ("time_column day, batch_size @x", "", "batch_size"),
        *[
            ("time_column day", f",\n  {more}", word)
            for more, word in [
                ("cron '*/5 * * * *'", "cron"), ("cron_tz 'America/New_York'", "cron_tz"),
                ("interval_unit 'five_minute'", "interval_unit"), ("allow_partials true", "allow_partials"),
                ("start '1 year ago'", "start"), ("end 'tomorrow'", "end"), ("columns (id BIGINT)", "columns"),
                ("signals (x())", "signals"), ("gateway other", "gateway"), ("when_matched x", "when_matched"),
                ("session_properties (x = 1)", "session_properties"), ("enabled @x", "enabled"),
                ("default_catalog x", "default_catalog"), ("blueprints ((a := 1))", "blueprints"),
                ("audits (forall(criteria := (@x > 1)))", "macros"), ("audits (mine(x := 1))", "mine"),
                ("audits (number_of_rows(threshold := 1, condition := id > 1))", "condition"),
                ("audits (accepted_values(column := id, is_in := (1, 'a')))", "types"),
                ("audits (not_null(columns := (id), blocking := @x))", "blocking"),
                ("partitioned_by month(day)", "partitioned_by"), ("partitioned_by (id)", "partitioned_by"),
            ]
        ],
    ],
)  # fmt: skip
def test_what_is_not_known_of_a_header_has_to_be_checked(tmp_path: Path, kind: str, more: str, word: str) -> None:
    """It is named at its line; the model is never among the same."""
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD, kind=kind, more=more)})
    assert done.same == ()
    assert word in noted(done)[f"models/m.sql:{5 if more else 3}"]


@pytest.mark.parametrize(("kind", "more", "word"), [
    (f"time_column day, batch_size {'9' * 5000}", "", "batch_size"), ("time_column day, lookback ²", "", "lookback"),
    ("time_column", "", "time column is empty"),
    *[("time_column day", f",\n  audits ({said})", word) for said, word in [
        ("number_of_rows(threshold := 1e400)", "1e400"), ("accepted_range(column := id, min_v := -1e400)", "1e400"),
        ("not_accepted_values(column := id, is_in := ())", "of nothing"), ("forall(criteria := ())", "forall"),
        ("not_null(columns := (id), condition := )", "it is empty"),
    ]],
])  # fmt: skip
def test_numbers_and_lists_that_are_none_are_said(tmp_path: Path, kind: str, more: str, word: str) -> None:
    """The model is written without them; none of them ends the import, or leaves the model out."""
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD, kind=kind, more=more)})
    assert [m.name for m in done.models] == ["m"], done.left
    assert word in " ".join(noted(done).values())


def test_a_bound_by_what_is_no_number_is_left_out(tmp_path: Path) -> None:
    """Nobody can tell how many days before its own a day reads."""
    bound = "day BETWEEN @start_ds - INTERVAL '²' DAY AND @end_ds"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(f"SELECT id, day FROM raw.orders WHERE {bound}")})
    assert done.written == () and "the header has no `lookback`" in " ".join(noted(done).values())


@pytest.mark.parametrize("kind", [
    "SCD_TYPE_2_BY_TIME (unique_key id)", "INCREMENTAL_UNMANAGED", "MANAGED", "CUSTOM (materialization 'x')",
])  # fmt: skip
def test_kinds_that_nothing_here_is_like_are_refused(tmp_path: Path, kind: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": f"MODEL (\n  name shop.m,\n  kind {kind}\n);\n{GOOD}"})
    assert done.written == ()
    assert [(x.place, kind.split()[0] in x.what) for x in done.left] == [("models/m.sql:3", True)]


@pytest.mark.parametrize(("text", "line", "word"), [
    (GOOD + "\n-- {{ x }}", 7, "Jinja"),
    ("JINJA_QUERY_BEGIN;\nSELECT {{ x }} FROM raw.orders;\nJINJA_END;", 7, "Jinja"),
    (GOOD + ";\nSELECT 1", 7, "2 queries"),
    (GOOD + "\nAND @MY_MACRO(id) = 1", 7, "@MY_MACRO"),
    (GOOD + "\nAND status = '@start_ds'", 7, "also in texts"),
    (GOOD + "\nAND day = @execution_ds", 7, "@execution_ds"),
    ("SELECT id, day FROM shop.m WHERE day BETWEEN @start_ds AND @end_ds", 1, "itself"),
    ("SELECT id, day FROM read_parquet('x.parquet') WHERE day BETWEEN @start_ds AND @end_ds", 6, "files itself"),
    ("SELECT * FROM raw.unknown WHERE day BETWEEN @start_ds AND @end_ds", 6, "raw.unknown"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused(tmp_path: Path, text: str, line: int, word: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(text)})
    assert done.written == ()
    assert [x.place for x in done.left] == [f"models/m.sql:{line}"], done.left
    assert word in f"{done.left[0].what} {done.left[0].why}"


def test_statements_beside_the_query_are_named(tmp_path: Path) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD + ";\n@IF(TRUE, VACUUM);\nVACUUM")})
    assert done.same == ()
    assert {"models/m.sql:7", "models/m.sql:8"} <= noted(done).keys()


@pytest.mark.parametrize(("config", "word"), [
    ("model_defaults:\n  dialect: duckdb\n  start: 2024-01-01\n  pre_statements: [SET x = 1]\n", "pre_statements"),
    ("model_defaults:\n  dialect: duckdb\n  audits: [not_null]\n", "audits"),
    (CONFIG + "before_all: [SET TimeZone = 'x']\n", "before_all"),
    (CONFIG + "time_column_format: '%d'\n", "time_column_format"),
    (CONFIG + "ignore_patterns: ['*']\n", "ignore_patterns"),
    (CONFIG + "loader: x\n", "loader"),
    ("model_defaults: {dialect: duckdb}\n", "start"),
    ("model_defaults: {dialect: '{{ env_var(\"X\") }}'}\n", "dialect"),
    ("- a\n", "mapping"),
])  # fmt: skip
def test_with_a_configuration_that_may_change_rows_none_is_known(tmp_path: Path, config: str, word: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD)}, config=config)
    assert done.same == ()
    assert word in str(noted(done))


def test_a_python_configuration_is_read_and_not_executed(tmp_path: Path) -> None:
    theirs = sqlmesh_project(tmp_path / "theirs", {"models/m.sql": sqlmesh_model(GOOD)})
    (theirs / "config.yaml").unlink()
    (theirs / "config.py").write_text("1 / 0\nd = {'dialect': 'duckdb'}\nm = ModelDefaultsConfig(**d)\n")
    (tmp_path / "ours").mkdir()
    done = import_project(tmp_path / "ours", "sqlmesh", theirs)
    assert [m.name for m in done.to_check] == ["m"]
    assert "config.py:3" in {c.place for c in done.checks}


def test_names_that_clash_have_their_schema(tmp_path: Path) -> None:
    files = {f"models/{s}.sql": sqlmesh_model(GOOD, name=f"{s}.Orders" if s == "a" else f"{s}.orders") for s in "ab"}
    root, done = imported(tmp_path, files)
    assert {m.name for m in done.to_check} == {"a__Orders", "b__orders"}
    assert set(load_project(root).models) == {"a__Orders", "b__orders"}


def test_an_audit_of_the_project_hides_the_built_in_one(tmp_path: Path) -> None:
    files = {
        "models/m.sql": sqlmesh_model(GOOD, more=",\n audits (not_null(columns := (id)))"),
        "audits/a.sql": "AUDIT (name not_null);\nSELECT 1",
    }
    root, done = imported(tmp_path, files)
    assert "project's own" in noted(done)["models/m.sql:5"]
    assert "not_null" not in {a.kind for a in load_project(root).models["m"].audits}


def test_a_disabled_model_is_left_out_as_there(tmp_path: Path) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD, more=",\n enabled false")})
    assert (done.written, done.left) == ((), ())
    assert "not enabled" in done.remarks[0].what


def test_what_is_refused_is_a_source_of_its_readers(tmp_path: Path) -> None:
    """The other tool goes on writing its table; a plan says so by the source, and the report by its place."""
    files = {
        "models/m.sql": "MODEL (name shop.m, kind SCD_TYPE_2_BY_TIME (unique_key id), columns (id INT, day DATE));\n"
        + GOOD,
        "models/n.sql": sqlmesh_model(
            "SELECT id, day FROM shop.m WHERE day BETWEEN @start_ds AND @end_ds", name="shop.n"
        ),
    }
    root, done = imported(tmp_path, files)
    assert [x.model for x in done.left] == ["shop.m"]
    assert [m.name for m in done.to_check] == ["n"]
    assert load_project(root).sources["shop.m"].table == "shop.m"
    assert any("goes on writing" in c.what for c in done.checks)


def test_a_model_of_days_is_not_read_whole(tmp_path: Path) -> None:
    """All days of another model would be read before they are there, and no plan would follow a change of them."""
    read = "SELECT o.id, o.day FROM raw.orders AS o JOIN shop.m AS m ON o.id = m.id\nWHERE o.day BETWEEN @start_ds AND @end_ds"
    files = {"models/m.sql": sqlmesh_model(GOOD), "models/n.sql": sqlmesh_model(read, name="shop.n")}
    _, done = imported(tmp_path, files)
    assert [x.model for x in done.left] == ["shop.n"]
    assert "same day" in done.left[0].why


def test_links_out_of_the_project_and_wrong_encodings(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.sql").write_text(sqlmesh_model(GOOD))
    theirs = sqlmesh_project(tmp_path / "theirs", {"models/u.sql": ""})
    (theirs / "models/l.sql").symlink_to(tmp_path / "elsewhere.sql")
    (theirs / "models/u.sql").write_bytes(b"MODEL (name \xff\xfe);")
    (tmp_path / "ours").mkdir()
    done = import_project(tmp_path / "ours", "sqlmesh", theirs)
    assert len(done.left) == 2
    assert done.written == ()


def test_what_is_no_project_and_what_does_not_load(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no SQLMesh project"):
        import_project(tmp_path, "sqlmesh", tmp_path)
    root = tmp_path / "ours"
    (root / "models").mkdir(parents=True)
    (root / "models/wrong.sql").write_text("SELECT")
    with pytest.raises(ProjectError, match="problems in the project"):
        import_project(root, "sqlmesh", sqlmesh_project(tmp_path / "theirs", {"models/m.sql": sqlmesh_model(GOOD)}))


QUERIES = [
    GOOD,
    "SELECT id, day, amount * 2 AS twice, CASE WHEN status = 'paid' THEN amount END AS paid\nFROM raw.orders\n"
    "WHERE day >= @start_date AND day <= @end_date AND status LIKE 'p%'",
    "SELECT max(id) AS id, moment::DATE AS day, count(*) AS n, sum(amount) AS total, count(DISTINCT customer_id) AS c\n"
    "FROM raw.orders WHERE moment BETWEEN @start_ts AND @end_ts GROUP BY 2 HAVING count(*) > 1",
    "SELECT o.id, o.day, c.name, coalesce(c.since, o.day) AS since FROM raw.orders AS o\n"
    "LEFT JOIN raw.customers AS c ON c.id = o.customer_id WHERE o.day BETWEEN @start_ds AND @end_ds",
    "WITH t AS (SELECT order_id, day, sum(price * quantity) AS total FROM raw.items\n"
    "WHERE day BETWEEN @start_ds AND @end_ds GROUP BY order_id, day)\n"
    "SELECT o.id, o.day, t.total, o.amount - 1 AS less FROM raw.orders AS o\n"
    "LEFT JOIN t ON t.order_id = o.id AND t.day = o.day WHERE o.day BETWEEN @start_ds AND @end_ds",
    "SELECT DISTINCT customer_id AS id, day FROM raw.orders WHERE CAST(moment AS DATE) = day\n"
    "AND day BETWEEN @start_ds AND @end_ds\n"
    "UNION ALL SELECT order_id, day FROM raw.items WHERE day BETWEEN @start_ds AND @end_ds",
    "WITH every AS (SELECT * FROM raw.orders) SELECT id, day, sum(ratio) AS r FROM every\n"
    "WHERE day BETWEEN @start_ds AND @end_ds AND NOT status IS NULL AND id IN (1, 2, 3, 4, 5, 6, 7, 8) GROUP BY ALL",
]  # fmt: skip


def world() -> duckdb.DuckDBPyConnection:
    """Five days of orders and items, with NULLs and moments at the ends of days; nobody writes to them."""
    return _world().cursor()


@cache
def _world() -> duckdb.DuckDBPyConnection:
    chance = random.Random(7)
    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    con.execute(
        "CREATE TABLE raw.orders (id INT, customer_id INT, day DATE, moment TIMESTAMP, amount DECIMAL(12,2), status TEXT,"
        " ratio DOUBLE); CREATE TABLE raw.items (order_id INT, price DOUBLE, quantity INT, day DATE);"
        "CREATE TABLE raw.customers (id INT, name TEXT, since DATE)"
    )
    first = date(2024, 1, 1)
    for number in range(60):
        day = first + timedelta(days=chance.randrange(5))
        time = chance.choice(["00:00:00", "12:30:00", "23:59:59.999999", "23:59:59"])
        status = chance.choice(["paid", "open", None, "past"])
        amount = chance.choice([None, 1.25, 10, 99.99])
        con.execute("INSERT INTO raw.orders VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [number % 12, number % 7, day, f"{day} {time}", amount, status, 0.5])  # fmt: skip
        con.execute("INSERT INTO raw.items VALUES (?, ?, ?, ?)", [number % 12, 2.5, number % 3, day])
    con.execute("INSERT INTO raw.customers VALUES (1, 'a', NULL), (2, 'b', '2023-01-01')")
    return con


@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("query", QUERIES)
def test_the_rows_are_those_of_the_original(tmp_path: Path, query: str, batch: int) -> None:
    """Theirs day by day, with their inclusive bounds; ours by batches of any size; both in DuckDB."""
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left, done.left
    code = load_project(root).models["m"].code
    con = world()
    first = date(2024, 1, 1)
    theirs: list[tuple[object, ...]] = []
    for day in (first + timedelta(days=n) for n in range(5)):
        said = query
        for form in ("ds", "date"):
            said = said.replace(f"@start_{form}", f"DATE '{day}'").replace(f"@end_{form}", f"DATE '{day}'")
        said = said.replace("@start_ts", f"TIMESTAMP '{day} 00:00:00'")
        said = said.replace("@end_ts", f"TIMESTAMP '{day} 23:59:59.999999'")
        theirs += con.sql(f"SELECT * FROM ({said}) WHERE day = DATE '{day}'").fetchall()
    ours: list[tuple[object, ...]] = []
    for start in range(0, 5, batch):
        bounds = {"start": first + timedelta(days=start), "end": first + timedelta(days=min(start + batch, 5))}
        said = code.replace(":start", f"DATE '{bounds['start']}'").replace(":end", f"DATE '{bounds['end']}'")
        ours += con.sql(sqlglot.transpile(said, read="spark", write="duckdb")[0]).fetchall()
    assert theirs
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


def test_types_of_external_models_are_sparks(tmp_path: Path) -> None:
    root, _ = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD)}, external=EXTERNAL)
    types = {c.name: c.type or "" for c in load_project(root).sources["raw.orders"].columns}
    assert types["amount"].replace(" ", "") == "decimal(12,2)"
    assert (types["moment"], types["status"], types["id"]) == ("timestamp", "string", "int")


def test_the_report_calls_bounds_by_their_names(tmp_path: Path) -> None:
    """A definition that is one; their names in the tree are nobody's business."""
    text = sqlmesh_model("SELECT id, day FROM raw.orders WHERE day BETWEEN @lo AND @end_ds")
    text = text.replace(");\nSELECT", ");\n@DEF(lo, @start_ds);\nSELECT")
    root, done = imported(tmp_path, {"models/m.sql": text})
    assert not done.left, done.left
    report = (root / REPORT).read_text()
    assert "`@lo` is (@start_ds)" in report and "bf__" not in report
