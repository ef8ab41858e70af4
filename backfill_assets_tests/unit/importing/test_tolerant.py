"""Models that are not known to be the same: their rows where engines agree, and what is said of each kind."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
import sqlglot

from backfill_assets.app.import_project import REPORT
from backfill_assets.project.loader import load_project
from backfill_assets_tests.projects import backfill_here
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_sqlmesh import GOOD, imported, noted, world

FIRST = date(2024, 1, 1)
TABLE = "MODEL (name shop.{name}, kind {kind}{more});\n{query}\n"


def stored(name: str, query: str, kind: str = "FULL", more: str = "") -> str:
    return TABLE.format(name=name, kind=kind, query=query, more=more)


def built(root: Path, name: str, days: int = 1) -> list[str]:
    """The rows of five days by batches, in DuckDB, without the column of days that is added."""
    found = load_project(root).models[name]
    con, rows = world(), list[tuple[object, ...]]()
    for start in range(0, 5, found.batch_size or days):
        until = FIRST + timedelta(days=min(start + (found.batch_size or days), 5))
        said = found.code.replace(":start", f"DATE '{FIRST + timedelta(days=start)}'").replace(
            ":end", f"DATE '{until}'"
        )
        rows += con.sql(sqlglot.transpile(said, read="spark", write="duckdb")[0]).fetchall()
    return sorted(map(repr, rows))


def theirs(query: str) -> list[str]:
    return sorted(map(repr, world().sql(query).fetchall()))


TOTALS = (
    "SELECT s.day, n.name, sum(s.amount) AS total, count(*) AS n FROM s LEFT JOIN n ON n.id = s.customer_id\n"
    "GROUP BY 1, 2"
)
STG = "SELECT id, customer_id, day, amount / 100 AS amount, status FROM raw.orders"


@pytest.mark.parametrize("days", [1, 2, 5])
@pytest.mark.parametrize("kind", ["VIEW", "EMBEDDED", "FULL"])
def test_what_is_computed_whole_has_the_rows_of_its_days(tmp_path: Path, kind: str, days: int) -> None:
    """A part of a reader, by a name that the reader has as well; a join with all of another source; parts of parts."""
    files = {
        "models/stg.sql": stored("stg", STG, kind),
        "models/names.sql": stored("names", "SELECT id, upper(name) AS name FROM raw.customers", "VIEW"),
        "models/fct.sql": stored(
            "fct",
            "WITH stg AS (SELECT * FROM shop.stg), n AS (SELECT * FROM shop.names)\n"
            f"{TOTALS.replace('FROM s ', 'FROM stg AS s ')}",
        ),
    }
    root, done = imported(tmp_path, files)
    assert not done.left, done.left
    assert set(load_project(root).models) == ({"stg", "fct"} if kind == "FULL" else {"fct"})
    assert set(done.within) >= {"names"}
    if kind == "FULL":
        assert "FROM stg" in (root / "models/fct.sql").read_text()
        return
    whole = f"WITH s AS ({STG}), n AS (SELECT id, upper(name) AS name FROM raw.customers)\n"
    whole += TOTALS
    assert built(root, "fct", days) == theirs(whole)
    assert load_project(root).models["fct"].grain == ("day", "name")
    assert backfill_here("plan", project=root).code == 0


STAGED = "WITH source AS (SELECT * FROM raw.{0}), renamed AS (SELECT {1} FROM source) SELECT * FROM renamed"


def test_parts_that_have_parts_of_the_same_names(tmp_path: Path) -> None:
    """As nearly all of dbt's staging models have; and so has their reader. For Spark all are written in one WITH."""
    orders, items = STAGED.format("orders", "id, day"), STAGED.format("items", "order_id, day, price * quantity AS p")
    fct = (
        "WITH source AS (SELECT * FROM {0}), renamed AS (WITH source AS (SELECT * FROM {1}) SELECT * FROM source)\n"
        "SELECT s.day, count(*) AS n, sum(renamed.p) AS p FROM source AS s\n"
        "JOIN renamed ON renamed.order_id = s.id AND renamed.day = s.day GROUP BY 1"
    )
    files = {
        "models/stg_orders.sql": stored("stg_orders", orders, "VIEW"),
        "models/stg_items.sql": stored("stg_items", items, "VIEW"),
        "models/fct.sql": stored("fct", fct.format("shop.stg_orders", "shop.stg_items")),
    }
    root, done = imported(tmp_path, files)
    assert not done.left and set(done.within) == {"stg_orders", "stg_items"}
    assert built(root, "fct", 2) == theirs(fct.format(f"({orders})", f"({items})"))


def test_parts_of_one_query_may_have_one_name(tmp_path: Path) -> None:
    """Those of its parts, and one within its namesake: each reads what it read."""
    query = (
        "WITH t AS (SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds),\n"
        "b AS (WITH t AS (SELECT order_id, day FROM raw.items WHERE day BETWEEN @start_ds AND @end_ds)\n"
        "SELECT * FROM t)\n"
        "SELECT q.id, q.day FROM (WITH t AS (SELECT id, day FROM t WHERE id > 1) SELECT * FROM t) AS q\n"
        "JOIN b ON b.order_id = q.id AND b.day = q.day"
    )
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left and not done.same
    all_days = query.replace("@start_ds", "'2024-01-01'").replace("@end_ds", "'2024-01-05'")
    assert built(root, "m", 2) == theirs(all_days)


def test_a_part_does_not_take_the_place_of_a_model(tmp_path: Path) -> None:
    """A part of a view that is called as a model is: the view's reader reads the model."""
    view = "WITH orders AS (SELECT * FROM raw.orders) SELECT id, day, status FROM orders"
    fct = (
        "SELECT o.id, o.day, o.amount, v.status FROM shop.orders AS o JOIN shop.v AS v ON v.id = o.id AND v.day = o.day"
    )
    files = {
        "models/orders.sql": sqlmesh_model(GOOD, name="shop.orders"),
        "models/v.sql": stored("v", view, "VIEW"),
        "models/fct.sql": stored("fct", fct),
    }
    root, done = imported(tmp_path, files)
    assert not done.left and set(done.within) == {"v"}
    assert {u.name for u in load_project(root).models["fct"].upstreams} == {"orders", "raw.orders"}


def test_a_window_over_history_reads_the_query_of_its_input(tmp_path: Path) -> None:
    """Not the rows of another model, whose days are computed one after another."""
    query = "SELECT id, day, row_number() OVER (PARTITION BY customer_id ORDER BY day, id, amount) AS n FROM shop.stg"
    files = {"models/stg.sql": stored("stg", STG), "models/seq.sql": stored("seq", query)}
    root, done = imported(tmp_path, files)
    assert "WITH stg" in (root / "models/seq.sql").read_text()
    assert built(root, "seq", 2) == theirs(query.replace("shop.stg", f"({STG})"))
    assert "each batch reads all of the input" in noted(done)["models/seq.sql:2"]
    assert not done.left


@pytest.mark.parametrize("query", [
    "SELECT id, day, sum(amount) OVER (PARTITION BY customer_id ORDER BY id, amount, status) AS s FROM raw.orders\n"
    "WHERE day BETWEEN @start_ds AND @end_ds",
    "SELECT id, day, count(*) OVER (PARTITION BY customer_id) AS n FROM raw.orders\n"
    "WHERE day >= @start_ds AND day <= @end_ds",
    "SELECT id, max(day) AS day, count(*) AS n FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY id",
    "SELECT id, @end_ds AS day, count(*) AS n FROM raw.orders WHERE day = @end_ds GROUP BY id",
    "SELECT o.id, o.day, i.price FROM raw.orders AS o JOIN raw.items AS i ON o.id = i.order_id\n"
    "WHERE o.day BETWEEN @start_ds AND @end_ds AND i.day BETWEEN @start_ds AND @end_ds",
    "SELECT id, day, amount FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds ORDER BY amount DESC, id LIMIT 2",
    "SELECT id, day FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds\n"
    "UNION ALL SELECT order_id, day FROM raw.items WHERE day BETWEEN @start_ds AND @end_ds ORDER BY id DESC LIMIT 3",
    "SELECT DISTINCT ON (id, day) id, day, status FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds\n"
    "ORDER BY id, day, status DESC",
])  # fmt: skip
def test_what_mixes_days_is_computed_day_by_day(tmp_path: Path, query: str) -> None:
    """As a daily run there does: the rows are those of five runs of a day each."""
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert [m.name for m in done.to_check] == ["m"], done.left
    assert load_project(root).models["m"].batch_size == 1
    days = [f"DATE '{FIRST + timedelta(days=n)}'" for n in range(5)]
    runs = [query.replace("@start_ds", day).replace("@end_ds", day) for day in days]
    assert built(root, "m") == theirs(" UNION ALL ".join(f"({r})" for r in runs))


def test_a_bound_before_the_interval_is_lookback(tmp_path: Path) -> None:
    query = "SELECT max(id) AS id, @end_ds AS day, count(*) AS n FROM shop.m\n"
    query += "WHERE day BETWEEN @start_ds - INTERVAL 6 DAY AND @end_ds"
    root, done = imported(
        tmp_path, {"models/m.sql": sqlmesh_model(GOOD), "models/n.sql": sqlmesh_model(query, name="shop.n")}
    )
    assert not done.left, done.left
    found = load_project(root).models["n"]
    assert (found.lookback, found.batch_size) == (6, 1)
    assert ":start - INTERVAL '6' DAY" in found.code


def test_a_date_that_moves_with_other_rows_is_no_day(tmp_path: Path) -> None:
    """The newest order of a customer: a row would be left behind on each day that once was the newest."""
    query = "SELECT customer_id, max(day) AS day FROM raw.orders GROUP BY customer_id"
    _, done = imported(tmp_path, {"models/m.sql": stored("m", query)})
    assert [x.what for x in done.left] == ["no column says which day a row is of"]
    _, done = imported(tmp_path, {"models/m.sql": stored("m", "SELECT id, day FROM raw.orders\nLIMIT 3")})
    assert [x.what for x in done.left] == ["LIMIT"]


def test_keys_that_replace_older_rows_are_merged(tmp_path: Path) -> None:
    text = f"MODEL (name shop.m, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key id));\n{GOOD}"
    root, done = imported(tmp_path, {"models/m.sql": text})
    found = load_project(root).models["m"]
    assert (found.write, found.grain, found.time_column) == ("merge", ("id",), "day")
    assert "stable_key" in noted(done)["models/m.sql:1"]


@pytest.mark.parametrize(("query", "line", "word"), [
    ("SELECT id, day,\namount / 3 AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 7, "division"),
    ("SELECT id, day,\namount::INT AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 7, "a cast"),
    ("SELECT id, day,\nmyfun(id) AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 7, "does not know"),
    ("SELECT id, day,\navg(amount) a FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY ALL", 7, "avg"),
    ("SELECT id, day,\nstatus || 'x' AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 7, "joined texts"),
    ("SELECT id, moment::DATE AS day FROM raw.orders\nWHERE moment BETWEEN @start_date AND @end_date", 7, "midnight"),
    ("SELECT id, day, current_date AS x FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds", 1, "clock"),
    ("SELECT id, status AS day FROM raw.orders WHERE status BETWEEN @start_ds AND @end_ds", 6, "string"),
    ("SELECT day, list(id ORDER BY id) AS ids FROM raw.orders\nWHERE day BETWEEN @start_ds AND @end_ds GROUP BY day", 6,
     "ORDER BY in an aggregate"),
])  # fmt: skip
def test_where_engines_differ_is_named_by_its_line(tmp_path: Path, query: str, line: int, word: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert [m.name for m in done.to_check] == ["m"], done.left
    assert word in noted(done)[f"models/m.sql:{line}"], noted(done)


def test_columns_that_nobody_declares_are_guessed_and_said_to_be(tmp_path: Path) -> None:
    query = "WITH s AS (SELECT * FROM lake.events) SELECT user_id, created_at, event_date AS day FROM s\n"
    query += "WHERE event_date BETWEEN @start_ds AND @end_ds"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    columns = {c.name: c.type for c in load_project(root).sources["lake.events"].columns}
    assert columns == {"user_id": "string", "created_at": "timestamp", "event_date": "date"}
    assert "guessed" in noted(done)["sources.yml:1"]
    assert done.same == ()


def test_seeds_are_copied_and_read(tmp_path: Path) -> None:
    seed = "MODEL (name shop.rates, kind SEED (path '../seeds/rates.csv'));"
    query = "SELECT o.id, o.day, o.amount * r.rate AS amount FROM raw.orders AS o JOIN shop.rates AS r\n"
    query += "ON r.status = o.status WHERE o.day BETWEEN @start_ds AND @end_ds"
    files = {
        "models/rates.sql": seed,
        "seeds/rates.csv": "status,rate,since\npaid,2,2024-01-01\n",
        "models/m.sql": sqlmesh_model(query),
    }
    root, done = imported(tmp_path, files)
    source = load_project(root).sources["shop.rates"]
    assert {c.name: c.type for c in source.columns} == {"status": "string", "rate": "int", "since": "date"}
    assert (root / "seeds/shop.rates.csv").read_text() == files["seeds/rates.csv"]
    assert source.options == {"header": "true"}
    assert not done.left


def test_macros_that_can_be_told_are_filled_in(tmp_path: Path) -> None:
    query = GOOD + " AND status = @VAR('wanted') AND @least <= amount"
    text = sqlmesh_model(query).replace(");\nSELECT", ");\n@DEF(least, 3 + 1);\nSELECT")
    config = "model_defaults:\n  dialect: duckdb\n  start: 2024-01-01\nvariables: {wanted: paid}\n"
    root, done = imported(tmp_path, {"models/m.sql": text}, config=config)
    code = load_project(root).models["m"].code
    assert "status = 'paid'" in code
    assert "(3 + 1) <= amount" in code.replace("\n", " ").replace("( 3", "(3").replace("1 )", "1)") or "3 + 1" in code
    assert "@VAR('wanted')" in noted(done)["models/m.sql:7"]


def test_definitions_may_use_variables_and_each_other(tmp_path: Path) -> None:
    """Each those before it; what cannot be told of one is said where it is used."""
    query = GOOD + " AND amount > @minimum\nAND id < @most"
    definitions = "@DEF(minimum, @VAR('min_amount'));\n@DEF(most, @minimum + 3);\n@DEF(lost, @mine(1));\nSELECT"
    text = sqlmesh_model(query).replace(");\nSELECT", f");\n{definitions}")
    config = "model_defaults:\n  dialect: duckdb\n  start: 2024-01-01\nvariables: {min_amount: 5}\n"
    root, done = imported(tmp_path, {"models/m.sql": text}, config=config)
    assert not done.left, done.left
    assert built(root, "m") == theirs("SELECT id, day, amount FROM raw.orders WHERE amount > 5 AND id < 8")
    assert "@minimum` is (5)" in noted(done)["models/m.sql:9"]
    for said, word in (("@lost", "@mine"), ("@VAR('other')", "config.yaml has no variable `other`")):
        other = {"models/n.sql": text.replace("shop.m", "shop.n").replace("@most", said)}
        _, done = imported(tmp_path, other, config=config)
        assert [x.place for x in done.left] == ["models/n.sql:10"]
        assert word in done.left[0].what + done.left[0].why


def test_definitions_that_double_each_other_end(tmp_path: Path) -> None:
    definitions = "".join(f"@DEF(d{n + 1}, @d{n} + @d{n});\n" for n in range(60))
    text = sqlmesh_model(GOOD + " AND id < @d60").replace(");\nSELECT", f");\n@DEF(d0, 1);\n{definitions}SELECT")
    _, done = imported(tmp_path, {"models/m.sql": text})
    assert "characters" in done.left[0].why


def test_an_external_column_without_a_type_is_named_by_its_line(tmp_path: Path) -> None:
    """YAML splits `decimal(18,4)` at its comma. All columns were guessed."""
    external = "- name: raw.orders\n  columns: {id: int, day: date,\n    amount: decimal(18,4)}\n"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD)}, external=external)
    assert [x.place for x in done.left] == ["external_models.yaml:3", "models/m.sql:6"]
    assert "`amount`" in done.left[0].what and "decimal(18" in done.left[0].why and "quotes" in done.left[0].fix
    assert "raw.orders" in done.left[1].what and not (root / "sources.yml").exists()
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(GOOD)}, external=external.replace("decimal(18,4)", ""))
    assert "it has no type" in done.left[0].why


PERCENTILES = [
    ("percentile_cont(0.3) WITHIN GROUP (ORDER BY ratio * id)", ""),
    ("percentile_cont(0.3) WITHIN GROUP (ORDER BY ratio * id DESC)", ""),
    ("percentile_cont([0.25, 0.5]) WITHIN GROUP (ORDER BY ratio * id)", ""),
    ("percentile_disc(0.3) WITHIN GROUP (ORDER BY ratio * id DESC)", ""),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio * id) FILTER (WHERE id > 3)", ""),
    ("quantile_cont(ratio * id, 0.3)", ""), ("quantile_disc(ratio * id, 0.3)", ""), ("quantile(ratio * id, 0.3)", ""),
    ("quantile_cont(ratio * id, 0.3 ORDER BY ratio * id DESC)", ""), ("median(ratio * id)", ""),
    ("approx_quantile(ratio * id, 0.5)", "without interpolation"), ("mode(id)", "as frequent"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "word"), PERCENTILES)
def test_percentiles_are_exact(tmp_path: Path, said: str, word: str) -> None:
    """None becomes an approximation that was exact there (Spark's own rows: stories/test_import.py)."""
    query = (
        f"SELECT max(id) AS id, day,\n{said} AS p FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY day"
    )
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    assert not done.left, done.left
    code = load_project(root).models["m"].code.upper()
    assert ("APPROX" in code) == ("approx" in said)
    at = noted(done)["models/m.sql:7"]
    assert word in at if word else "it is exact" in at, at


@pytest.mark.parametrize("dialect", ["postgres", "snowflake", "redshift", "databricks"])
def test_percentiles_of_other_dialects_are_exact(tmp_path: Path, dialect: str) -> None:
    query = "SELECT max(id) AS id, day, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS p FROM raw.orders\n"
    query += "WHERE day BETWEEN @start_ds AND @end_ds GROUP BY day"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=f",\n  dialect {dialect}")})
    assert not done.left, done.left
    assert "PERCENTILE_CONT(0.5) WITHIN GROUP" in load_project(root).models["m"].code


def test_percentiles_of_bigquery(tmp_path: Path) -> None:
    """They are windows there. Spark leaves NULLs out."""
    query = "SELECT id, day, percentile_cont(amount, 0.5) OVER (PARTITION BY day) AS p FROM raw.orders\n"
    query += "WHERE day BETWEEN @start_ds AND @end_ds"
    more = ",\n  dialect bigquery"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=more)})
    code = " ".join(load_project(root).models["m"].code.split())
    assert "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY amount ASC) OVER (PARTITION BY day)" in code, done.left
    text = sqlmesh_model(query.replace("0.5)", "0.5 RESPECT NULLS)"), name="shop.n", more=more)
    _, done = imported(tmp_path, {"models/n.sql": text})
    assert "NULLs" in done.left[0].why and done.left[0].place == "models/n.sql:7"


@pytest.mark.parametrize("said", ["amount, 0.5 IGNORE NULLS)", "amount, 0.5) IGNORE NULLS"])
def test_percentiles_without_nulls_need_no_word_for_it(tmp_path: Path, said: str) -> None:
    """Spark has none at WITHIN GROUP, and leaves them out."""
    query = f"SELECT id, day, percentile_cont({said} OVER (PARTITION BY day) AS p FROM raw.orders\n"
    query += "WHERE day BETWEEN @start_ds AND @end_ds"
    root, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=",\n  dialect bigquery")})
    code = " ".join(load_project(root).models["m"].code.split())
    assert "WITHIN GROUP (ORDER BY amount ASC) OVER (PARTITION BY day)" in code, done.left


@pytest.mark.parametrize("said", [
    "quantile(ratio * id, -0.3)", "quantile_cont(ratio * id, [0.1, -0.2])", "quantile_disc(ratio * id, -0.3)",
    "percentile_cont(-0.3) WITHIN GROUP (ORDER BY ratio * id)",
])  # fmt: skip
def test_shares_below_0_are_refused(tmp_path: Path, said: str) -> None:
    """DuckDB counts them from the largest value."""
    query = (
        f"SELECT max(id) AS id, day,\n{said} AS p FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds GROUP BY 2"
    )
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query)})
    [left] = done.left
    assert "below 0" in left.why and left.fix and left.place == "models/m.sql:7"


def test_percentiles_of_clickhouse_are_approximations_there(tmp_path: Path) -> None:
    query = "SELECT max(id) AS id, day,\nquantile(0.5)(amount) AS p FROM raw.orders\n"
    query += "WHERE day BETWEEN @start_ds AND @end_ds GROUP BY day"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query, more=",\n  dialect clickhouse")})
    said = noted(done)["models/m.sql:8"]
    assert "an approximation there" in said and "it is exact" not in said


def test_the_report_has_three_classes_and_the_way_to_a_proof(tmp_path: Path) -> None:
    files = {
        "models/a.sql": sqlmesh_model(GOOD, name="shop.a"),
        "models/b.sql": sqlmesh_model(GOOD.replace("amount", "amount / 2 AS half"), name="shop.b"),
        "models/c.sql": stored("c", "SELECT 1 AS x"),
    }
    root, done = imported(tmp_path, files)
    said = (root / REPORT).read_text()
    parts = [said.split(f"## {name}")[1].split("## ")[0] for name in ("Same rows known", "Not translated")]
    assert [m.name for m in done.same] == ["a"]
    assert "models/a.sql:1" in parts[0]
    assert "models/c.sql:2" in parts[1]
    assert "### b (`models/b.sql:1`)" in said
    assert "`models/b.sql:6`: division" in said
    assert "backfill adopt a --table shop.a --copy" in said
    assert said.rstrip().endswith("```")
