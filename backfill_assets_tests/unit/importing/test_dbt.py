"""dbt's manifests: what is translated gives a full refresh's rows of each day, all else is refused with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from backfill_assets.app.import_project import Imported, import_project
from backfill_assets.core.errors import SettingsError
from backfill_assets.project.loader import load_project
from backfill_assets_tests.projects import backfill_here
from backfill_assets_tests.unit.importing.foreign import dbt_model, dbt_source, dbt_test, manifest
from backfill_assets_tests.unit.importing.test_sqlmesh import world

ORDERS = "source.shop.raw.orders"
MICROBATCH = {"incremental_strategy": "microbatch", "event_time": "day", "batch_size": "day", "begin": "2024-01-01"}
INSERT = {
    "incremental_strategy": "delete+insert", "unique_key": ["day", "id"], "event_time": "day",
    "meta": {"start": "2024-01-01"},
}  # fmt: skip
GOOD = "{{ config(materialized='incremental') }}\nselect id, day, amount\nfrom {{ source('raw', 'orders') }}"
BOUNDED = GOOD + "\n{% if is_incremental() %}\nwhere day > (select max(day) from {{ this }})\n{% endif %}"
UNIQUE = dbt_test("unique", "model.shop.m", "id")


def imported(tmp_path: Path, nodes: list[dict[str, Any]], **more: Any) -> tuple[Path, Imported]:
    root = tmp_path / "ours"
    root.mkdir(exist_ok=True)
    return root, import_project(root, "dbt", manifest(tmp_path / "target", nodes, **more))


def model(code: str = GOOD, config: Mapping[str, Any] = MICROBATCH, **more: Any) -> dict[str, Any]:
    return dbt_model("m", code, config, [ORDERS], **more)


def test_a_project_loads_and_its_first_plan_works(tmp_path: Path) -> None:
    """Microbatch and delete+insert models with tests; the incremental bound is not carried over, and that is said."""
    nodes = [
        model(),
        dbt_model("sums", "select day, sum(amount) as total from {{ ref('m') }} as m group by 1",
                  {**INSERT, "unique_key": "day"}, ["model.shop.m"]),
        dbt_model("bounded", BOUNDED, INSERT, [ORDERS]),
        dbt_model("tables", "select 1", {"materialized": "table"}, []),
        dbt_test("not_null", "model.shop.m", "id"), UNIQUE,
        dbt_test("relationships", "model.shop.m", "id", to="source('raw', 'orders')", field="id", other=ORDERS),
        dbt_test("accepted_values", "model.shop.m", "id", values=[1, 2], quote=False, config={"severity": "warn"}),
    ]  # fmt: skip
    root, done = imported(tmp_path, nodes)
    assert [(x.model, x.place) for x in done.left] == [("tables", "models/tables.sql:1")]
    project = load_project(root)
    assert set(project.models) == {"m", "sums", "bounded"}
    kinds = {a.kind: a for a in project.models["m"].audits}
    assert kinds.keys() >= {"not_null", "unique", "relationships", "accepted_values"}
    assert kinds["unique"].arguments["scope"] == "table"
    assert "NOT NULL" in str(kinds["unique"].arguments["where"])
    assert any("full refresh" in r.what and r.model == "bounded" for r in done.remarks)
    said = backfill_here("plan", project=root)
    assert said.code == 0, said
    assert "bounded" in said.out


def refusal(tmp_path: Path, nodes: list[dict[str, Any]], **more: Any) -> tuple[str, str]:
    root, done = imported(tmp_path, nodes, **more)
    assert not (root / "models").exists(), [p.read_text() for p in (root / "models").iterdir()]
    left = next((x for x in done.left if x.model == "m"), done.left[0])
    return left.place, f"{left.what} {left.why} {[x.what for x in done.left]}"


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"incremental_strategy": "append"}, "append"),
        ({"incremental_strategy": "merge"}, "merge"),
        ({"incremental_strategy": None}, "None"),
        ({"batch_size": "hour"}, "hour"),
        ({"batch_size": "month"}, "month"),
        ({"begin": None}, "begin"),
        ({"begin": "2024-01-01T06:00:00"}, "06:00"),
        ({"event_time": None}, "event_time"),
        ({"event_time": "id"}, "id"),
        ({"partition_by": "month"}, "partition_by"),
        ({"materialized": "view"}, "view"),
        ({"materialized": "ephemeral"}, "ephemeral"),
        ({"materialized": "table"}, "table"),
        ({"materialized": "materialized_view"}, "materialized_view"),
        ({"full_refresh": False}, "full_refresh"),
        ({"full_refresh": True}, "full_refresh"),
        ({"on_schema_change": "append_new_columns"}, "on_schema_change"),
        ({"on_schema_change": "sync_all_columns"}, "on_schema_change"),
        ({"pre-hook": [{"sql": "x"}]}, "pre-hook"),
        ({"post-hook": [{"sql": "x"}]}, "post-hook"),
        ({"incremental_predicates": ["x"]}, "incremental_predicates"),
        ({"merge_update_columns": ["x"]}, "merge_update_columns"),
        ({"merge_exclude_columns": ["x"]}, "merge_exclude_columns"),
        ({"contract": {"enforced": True}}, "contract"),
        ({"column_types": {"id": "bigint"}}, "column_types"),
        ({"quoting": {"identifier": True}}, "quoting"),
        ({"sql_header": "SET x"}, "sql_header"),
        ({"alias": "other"}, "alias"),
        ({"my_key": 1}, "my_key"),
        ({**INSERT, "unique_key": "id", "event_time": None}, "day"),
        ({**INSERT, "unique_key": ["id", "customer_id"]}, "unique_key"),
        ({**INSERT, "meta": {}, "begin": None}, "first day"),
        ({"incremental_strategy": "insert_overwrite", "partition_by": None}, "partition_by"),
        ({"incremental_strategy": "insert_overwrite", "partition_by": ["day", "id"]}, "partition_by"),
        ({"incremental_strategy": "insert_overwrite", "partition_by": {"field": "day"}}, "partition_by"),
    ],
)
def test_what_is_not_known_of_a_configuration_is_refused(tmp_path: Path, config: dict[str, Any], word: str) -> None:
    place, why = refusal(tmp_path, [model(config={**MICROBATCH, **config}), UNIQUE])
    assert place == "models/m.sql:1"
    assert word in why


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("select id, day from {{ source('raw', 'orders') }}\nwhere day > '{{ var('x') }}'", 2, "var"),
        ("{% set x = 1 %}\nselect id, day from {{ source('raw', 'orders') }}", 1, "Jinja"),
        ("{{ config(materialized=my_macro()) }}\n" + GOOD, 1, "Jinja"),
        (GOOD + "\nwhere {{ my_macro() }}", 4, "my_macro"),
        (GOOD + "\nwhere id = {{ 1 }}", 4, "Jinja"),
        (GOOD + "\n{% if is_incremental() %}where day > current_date - 3{% endif %}", 4, "another filter"),
        (GOOD + "\n{% if is_incremental() %}where day > (select max(day) from {{ this }}) and id > 3{% endif %}", 4, "filter"),
        (GOOD + "\n{% if is_incremental() %}where day > (select max(day) - 3 from {{ this }}){% endif %}", 4, "filter"),
        (GOOD + "\n{% if is_incremental() %}where id > 1{% else %}where id > 2{% endif %}", 4, "Jinja"),
        (GOOD + "\n{% if not is_incremental() %}where id > 2{% endif %}", 4, "Jinja"),
        (GOOD + "\n{% if is_incremental() and var('x') %}where id > 2{% endif %}", 4, "Jinja"),
        (GOOD + "\n{% if is_incremental() %}", 4, "endif"),
        (GOOD + "\n{% if target.name == 'dev' %}limit 1{% endif %}", 4, "Jinja"),
        (GOOD + "\nwhere day > (select max(day) from {{ this }})", 4, "this"),
        (GOOD + ".render() }}", 3, "Jinja"),
        ("select id, day from {{ source('raw', 'orders').render() }}", 1, "render"),
        ("select id, day from {{ ref('unknown') }}", 1, "manifest"),
        ("select id, day from {{ source('raw', 'items') }}", 1, "manifest"),
        ("select id, day from raw.orders", 1, "raw.orders"),
        ("select id, day from {{ source('raw', 'orders') }} limit 5", 1, "LIMIT"),
        ("select id, max(day) as day from {{ source('raw', 'orders') }} group by id", 1, "GROUP BY"),
        ("select id, current_date as day from {{ source('raw', 'orders') }}", 1, "list"),
        ("select id, day + 1 as day from {{ source('raw', 'orders') }}", 1, "numbers"),
        ("select a.id, a.day from {{ source('raw', 'orders') }} a, (select max(day) as d from {{ source('raw', 'orders') }}) b", 1, ""),
        ("", 1, ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("config", [MICROBATCH, INSERT], ids=["microbatch", "insert"])
def test_what_is_not_known_of_code_is_refused(tmp_path: Path, code: str, line: int, word: str, config: Any) -> None:
    source = dbt_source("orders", {"id": "int", "day": "date", "amount": "decimal(12,2)"}, config={"event_time": "day"})
    place, why = refusal(tmp_path, [model(code, config), UNIQUE], sources=[source])
    assert word in why
    assert place == f"models/m.sql:{line}", why


@pytest.mark.parametrize(
    ("test", "word"),
    [
        (dbt_test("not_null", "model.shop.m", "id", config={"where": "id > 1"}), "where"),
        (dbt_test("not_null", "model.shop.m", "id", config={"limit": 5}), "limit"),
        (dbt_test("not_null", "model.shop.m", "id", config={"error_if": ">10"}), "error_if"),
        (dbt_test("not_null", "model.shop.m", "id", config={"warn_if": ">10"}), "warn_if"),
        (dbt_test("not_null", "model.shop.m", "id", config={"fail_calc": "sum(x)"}), "fail_calc"),
        (dbt_test("not_null", "model.shop.m", "id", config={"odd": 1}), "odd"),
        (dbt_test("not_null", "model.shop.m", "coalesce(id, 1)"), "plain name"),
        (dbt_test("accepted_values", "model.shop.m", "id", values=["1"], quote=False), "quote"),
        (dbt_test("accepted_values", "model.shop.m", "id", values=[1]), "quote"),
        (dbt_test("mine", "model.shop.m", "id"), "known are"),
        (dbt_test("relationships", "model.shop.m", "id", to="ref('x')", field="id", other="model.shop.x"), "known are"),
    ],
)
def test_what_is_not_known_of_a_test_is_refused(tmp_path: Path, test: dict[str, Any], word: str) -> None:
    place, why = refusal(tmp_path, [model(), UNIQUE, {**test, "name": "another"}])
    assert word in why
    assert place == "models/schema.yml:1"


def test_tests_of_packages_are_refused(tmp_path: Path) -> None:
    test = dbt_test("not_null", "model.shop.m", "id")
    test["test_metadata"]["namespace"] = "dbt_utils"
    assert "dbt_utils" in refusal(tmp_path, [model(), UNIQUE, test])[1]


@pytest.mark.parametrize(
    "name", ["ref", "is_incremental", "test_unique", "default__test_not_null", "duckdb__get_merge_sql"]
)
def test_a_macro_that_changes_dbts_words_refuses_all(tmp_path: Path, name: str) -> None:
    macros = {f"macro.shop.{name}": {"name": name, "package_name": "shop", "original_file_path": "macros/x.sql"}}
    place, why = refusal(tmp_path, [model(), UNIQUE], macros=macros)
    assert "macro" in why
    assert place


@pytest.mark.parametrize("name", ["../../evil", "a/b", "a b", "_control", "x" * 200, "", "é"])
def test_names_never_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    node = {**model(), "name": name}
    _, done = imported(tmp_path, [node, UNIQUE])
    assert done.written == ()
    assert {p.name for p in tmp_path.iterdir()} == {"ours", "target"}


def test_twins_versions_and_python_models_are_refused(tmp_path: Path) -> None:
    twins = [
        model(),
        {**model(), "name": "M"},
        {**model(), "name": "v", "version": 2},
        {**model(), "name": "p", "language": "python"},
        {**model(), "name": "c", "constraints": [{"type": "check"}]},
    ]
    _, done = imported(tmp_path, twins)
    assert done.written == ()
    assert {x.model for x in done.left} == {"m", "M", "v", "p", "c"}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\xff\xfe{", "UTF-8"), (b"{", "JSON"), (b"[" * 100_000, ""), (b"[]", "schema"), (b"{}", "schema"),
        (b'{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v9.json"}}', "v9"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes, word: str) -> None:
    file = tmp_path / "manifest.json"
    file.write_bytes(content)
    with pytest.raises(SettingsError) as found:
        import_project(tmp_path, "dbt", file)
    assert word in str(found.value)
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    "data", [{"nodes": []}, {"nodes": {"model.a": 3}}, {"nodes": {"m": {"resource_type": "model"}}}]
)
def test_odd_manifests_end_without_a_crash(tmp_path: Path, data: dict[str, Any]) -> None:
    file = manifest(tmp_path / "target", [])
    file.write_text(json.dumps({**json.loads(file.read_text()), **data}))
    (tmp_path / "ours").mkdir()
    assert import_project(tmp_path / "ours", "dbt", file).written == ()


def test_other_adapters_are_refused(tmp_path: Path) -> None:
    file = manifest(tmp_path / "target", [model(), UNIQUE])
    file.write_text(file.read_text().replace('"duckdb"', '"snowflake"'))
    (tmp_path / "ours").mkdir()
    done = import_project(tmp_path / "ours", "dbt", file)
    assert done.written == ()
    assert "snowflake" in done.left[0].what


def test_exposures_and_singular_tests_are_named(tmp_path: Path) -> None:
    singular = {"resource_type": "test", "name": "mine", "original_file_path": "tests/mine.sql", "test_metadata": None}
    exposures = {"exposure.shop.board": {"name": "board", "original_file_path": "models/e.yml"}}
    _, done = imported(tmp_path, [model(), UNIQUE, singular], exposures=exposures)
    assert {x.place for x in done.left} == {"tests/mine.sql:1", "models/e.yml:1"}
    assert "models/m.sql" in done.written


CODES = [
    GOOD,
    "select o.id, o.day, o.amount * 2 as twice from {{ source('raw', 'orders') }} as o where o.status = 'paid'",
    "with o as (select * from {{ source('raw', 'orders') }})\n"
    "select customer_id as id, day, count(*) as n, sum(amount) as total from o group by 1, 2",
    "select orders.id, orders.day from {{ source('raw', 'orders') }} where orders.amount > 5",
]


@pytest.mark.parametrize("config", [MICROBATCH, INSERT], ids=["microbatch", "insert"])
@pytest.mark.parametrize("code", CODES)
def test_the_rows_are_those_of_the_original(tmp_path: Path, code: str, config: dict[str, Any]) -> None:
    """Theirs batch by batch with dbt's filter of the input, or at a full refresh; ours by batches of two days."""
    source = dbt_source("orders", {"id": "int", "customer_id": "int", "day": "date", "amount": "decimal(12,2)",
                                   "status": "varchar"}, config={"event_time": "day"})  # fmt: skip
    root, done = imported(tmp_path, [model(code, config), UNIQUE], sources=[source])
    assert not done.left, done.left
    ours_code = load_project(root).models["m"].code
    con = world()
    first = date(2024, 1, 1)
    text = code.removeprefix("{{ config(materialized='incremental') }}")
    relation = "{{ source('raw', 'orders') }}"
    theirs: list[tuple[object, ...]] = []
    if config is MICROBATCH:
        for day in (first + timedelta(days=n) for n in range(5)):
            cut = f"(select * from raw.orders where day >= '{day}' and day < '{day + timedelta(days=1)}')"
            alias = "" if f"{relation} as " in text else " as orders"
            theirs += con.sql(text.replace(relation, cut + alias)).fetchall()
    else:
        theirs = con.sql(text.replace(relation, "raw.orders")).fetchall()
    ours: list[tuple[object, ...]] = []
    for start in range(0, 6, 2):
        days = [first + timedelta(days=n) for n in (start, start + 2)]
        said = ours_code.replace(":start", f"DATE '{days[0]}'").replace(":end", f"DATE '{days[1]}'")
        ours += con.sql(sqlglot.transpile(said, read="spark", write="duckdb")[0]).fetchall()
    assert theirs
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


def test_a_microbatch_needs_inputs_that_dbt_cuts(tmp_path: Path) -> None:
    """Without event_time dbt reads all of an input in each batch, and inserts it each time."""
    whole = dbt_source("orders", {"id": "int", "day": "date", "amount": "decimal(12,2)"}, config={})
    place, why = refusal(tmp_path, [model(), UNIQUE], sources=[whole])
    assert place == "models/m.sql:1"
    assert "time column" in why


@pytest.mark.parametrize("event", [None, "since"])
def test_a_microbatch_reads_models_by_their_days(tmp_path: Path, event: str | None) -> None:
    code = "select id, day, since from {{ source('raw', 'orders') }}"
    orders = dbt_source("orders", {"id": "int", "day": "date", "since": "date"})
    base = dbt_model("base", code, {**INSERT, "event_time": "day"}, [ORDERS])
    base["config"]["event_time"] = event or "day"
    if event is None:
        base["config"] |= {"event_time": None, "unique_key": "day"}
    tests = [UNIQUE, dbt_test("unique", "model.shop.base", "id")]
    reader = dbt_model("m", "select id, day from {{ ref('base') }}", MICROBATCH, ["model.shop.base"])
    _, done = imported(tmp_path, [base, reader, tests[0], {**tests[1], "name": "another"}], sources=[orders])
    assert "models/m.sql" not in done.written
    assert {x.model for x in done.left} >= {"m"}


def test_lines_after_what_is_taken_out_are_right(tmp_path: Path) -> None:
    code = "{{\n config(\n  x=1)\n}}\n" + BOUNDED.removeprefix("{{ config(materialized='incremental') }}\n")
    place, why = refusal(tmp_path, [model(code + "\nlimit 3 offset\n1", INSERT), UNIQUE])
    assert place == "models/m.sql:6" or "LIMIT" in why or "OFFSET" in why
    place, why = refusal(tmp_path, [model(code + "\nand now() > day", INSERT), UNIQUE])
    assert "read" in why or "list" in why
