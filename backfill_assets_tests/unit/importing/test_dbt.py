"""dbt's manifests: what is translated gives a full refresh's rows of each day, all else has to be checked, or is refused, by its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from backfill_assets.app.import_project import import_project
from backfill_assets.core.errors import SettingsError
from backfill_assets.importing.report import Imported
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
        dbt_test("accepted_values", "model.shop.m", "id", values=[1, 2], quote=False, config={"severity": "warn", "alias": "accepted_values_m_1f0c"}),
    ]  # fmt: skip
    root, done = imported(tmp_path, nodes)
    assert [(x.model, x.place) for x in done.left] == [("tables", "models/tables.sql:1")]
    assert {m.name for m in done.same} == {"m", "sums", "bounded"}
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


def noted(done: Imported) -> dict[str, str]:
    """All that is to be checked or left, by place."""
    found: dict[str, str] = {}
    for note in [*done.left, *done.checks, *(c for m in done.models for c in m.checks)]:
        found[note.place] = f"{found.get(note.place, '')} {note.what} {note.why}"
    return found


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ({"incremental_strategy": "append"}, "append"),
        ({"incremental_strategy": "merge"}, "merge"),
        ({"incremental_strategy": None}, "default"),
        ({"begin": None}, "begin"),
        ({"event_time": None}, "time column"),
        ({"event_time": "id"}, "id"),
        ({"partition_by": "month"}, "partition_by"),
        ({"materialized": "view"}, "view"),
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
        ({**INSERT, "unique_key": "id", "event_time": None}, "delete+insert"),
        ({**INSERT, "unique_key": ["id", "customer_id"]}, "delete+insert"),
        ({**INSERT, "meta": {}, "begin": None}, "first day"),
        ({"incremental_strategy": "insert_overwrite", "partition_by": ["day", "id"]}, "partition_by"),
        ({"incremental_strategy": "insert_overwrite"}, "replaces all of the table"),
    ],
)
def test_what_is_not_known_of_a_configuration_has_to_be_checked(
    tmp_path: Path, config: dict[str, Any], word: str
) -> None:
    _, done = imported(tmp_path, [model(config={**MICROBATCH, **config}), UNIQUE])
    assert done.same == ()
    assert word in noted(done)["models/m.sql:1"]


def test_what_dbt_writes_out_and_nobody_said(tmp_path: Path) -> None:
    """As `latest_version_pointer`, of dbt 1.12, in every model."""
    config = {**MICROBATCH, "latest_version_pointer": {"enabled": None, "alias": None}, "other": [], "more": {"x": {}}}
    _, done = imported(tmp_path, [model(config=config), UNIQUE])
    assert len(done.same) == 1


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        ("select id, day from {{ source('raw', 'orders') }}\nwhere day > '{{ var('x') }}'", 2, "var"),
        ("{{ config(materialized=my_macro()) }}\n" + GOOD, 1, "my_macro"),
        (GOOD + "\nwhere {{ my_macro() }}", 4, "my_macro"),
        (GOOD + "\n{% if is_incremental() %}", 4, "Jinja"),
        (GOOD + "\n{% if target.name == 'dev' %}limit 1{% endif %}", 4, "target"),
        (GOOD + "\nwhere day > (select max(day) from {{ this }})", 4, "this"),
        ("select id, day from {{ source('raw', 'orders').render() }}", 1, "render"),
        ("{{ ''.__class__ }}", 1, "Jinja"),
        ("{% for a in [1] %}{% for b in [1] %}{% for c in [1] %}x{% endfor %}{% endfor %}{% endfor %}", 1, "deeply"),
        ("{% for a in range(9) %}x{% endfor %}", 1, "range"),
        ("{% import 'x' as y %}", 1, "Jinja"),
        ("select id, day from {{ ref('unknown') }}", 1, "manifest"),
        ("select id, day from {{ source('raw', 'items') }}", 1, "manifest"),
        ("", 1, ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("config", [MICROBATCH, INSERT], ids=["microbatch", "insert"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, code: str, line: int, word: str, config: Any) -> None:
    _, done = imported(tmp_path, [model(code, config), UNIQUE])
    assert done.written == ()
    assert [x.place for x in done.left] == [f"models/m.sql:{line}"], done.left
    assert word in f"{done.left[0].what} {done.left[0].why}"


@pytest.mark.parametrize(
    ("code", "line", "word"),
    [
        (GOOD + "\n{% if is_incremental() %}where day > current_date - 3{% endif %}", 4, "is_incremental"),
        (GOOD + "\n{% if is_incremental() %}where day > (select max(day) from {{ this }}) and id > 3{% endif %}", 4, "more than"),
        (GOOD + "\n{% if is_incremental() %}where day > (select max(day) - 3 from {{ this }}){% endif %}", 4, "more than"),
        (GOOD + "\n{% if is_incremental() %}where id > 1{% else %}where id > 2{% endif %}", 4, "more than"),
        (GOOD + "\n{% if is_incremental() and var('x') %}where id > 2{% endif %}", 4, "is_incremental"),
        ("select id, day, amount / 2 as half\nfrom {{ source('raw', 'orders') }}", 1, "division"),
        ("select id, current_date as x, day from {{ source('raw', 'orders') }}", 1, "clock"),
    ],
)  # fmt: skip
def test_what_may_differ_is_named_by_its_line(tmp_path: Path, code: str, line: int, word: str) -> None:
    _, done = imported(tmp_path, [model(code, INSERT), UNIQUE])
    assert done.same == ()
    assert word in noted(done)[f"models/m.sql:{line}"]


def test_values_of_variables_are_those_of_dbt_project_yml(tmp_path: Path) -> None:
    """A package's own before those of all; a model of which one is said nowhere is not translated."""
    (tmp_path / "dbt_project.yml").write_text(
        "name: shop\nvars:\n  least: 1\n  first: 2024-01-01\n  shop: {least: 7}\n"
    )
    code = "select id, day from {{ source('raw', 'orders') }}\nwhere id >= {{ var('least') }}\n  and day >= '{{ var('first') }}'"
    nodes = [model(code, INSERT), dbt_model("n", code.replace("first", "last"), INSERT, [ORDERS]), UNIQUE]
    root, done = imported(tmp_path, nodes)
    written = (root / "models" / "m.sql").read_text()
    assert "id >= 7" in written and "'2024-01-01'" in written, written
    told = noted(done)
    assert "var('least') is 7" in told["models/m.sql:2"] and "dbt_project.yml" in told["models/m.sql:2"], told
    assert [(x.model, x.place) for x in done.left] == [("n", "models/n.sql:3")]


@pytest.mark.parametrize(
    ("test", "word"),
    [
        (dbt_test("not_null", "model.shop.m", "id", config={"limit": 5}), "limit"),
        (dbt_test("not_null", "model.shop.m", "id", config={"error_if": ">10"}), "error_if"),
        (dbt_test("not_null", "model.shop.m", "id", config={"warn_if": ">10"}), "warn_if"),
        (dbt_test("not_null", "model.shop.m", "id", config={"fail_calc": "sum(x)"}), "fail_calc"),
        (dbt_test("not_null", "model.shop.m", "id", config={"odd": 1}), "odd"),
        (dbt_test("not_null", "model.shop.m", "id", config={"where": "{{ x }}"}), "Jinja"),
        (dbt_test("not_null", "model.shop.m", "coalesce(id, 1)"), "known are"),
        (dbt_test("accepted_values", "model.shop.m", "id", values=[1.5], quote=False), "quote"),
        (dbt_test("mine", "model.shop.m", "id"), "known are"),
        (dbt_test("relationships", "model.shop.m", "id", to="ref('x')", field="id", other="model.shop.x"), "no model"),
    ],
)
def test_what_is_not_known_of_a_test_is_named(tmp_path: Path, test: dict[str, Any], word: str) -> None:
    """The model is written without it, and is not among the same."""
    root, done = imported(tmp_path, [model(), UNIQUE, {**test, "name": "another"}])
    assert done.same == ()
    assert word in noted(done)["models/schema.yml:1"]
    assert {a.kind for a in load_project(root).models["m"].audits if a.kind != "unique_grain"} == {"unique"}


def test_tests_of_dbt_utils_and_where(tmp_path: Path) -> None:
    tests = [
        dbt_test("accepted_range", "model.shop.m", "amount", min_value=0, inclusive=False),
        dbt_test("expression_is_true", "model.shop.m", "amount", expression=">= 0"),
        dbt_test("not_null", "model.shop.m", "amount", config={"where": "id > 1"}),
    ]
    tests[0]["test_metadata"]["namespace"] = tests[1]["test_metadata"]["namespace"] = "dbt_utils"
    root, _ = imported(tmp_path, [model(), UNIQUE, *tests])
    audits = {(a.kind, str(a.arguments)) for a in load_project(root).models["m"].audits}
    said = str(audits)
    assert "`amount` > 0" in said
    assert "coalesce(`amount` >= 0, true)" in said
    assert "id > 1" in said


@pytest.mark.parametrize(
    "name", ["ref", "is_incremental", "test_unique", "default__test_not_null", "duckdb__get_merge_sql"]
)
def test_with_a_macro_that_changes_dbts_words_none_is_known(tmp_path: Path, name: str) -> None:
    macros = {f"macro.shop.{name}": {"name": name, "package_name": "shop", "original_file_path": "macros/x.sql"}}
    _, done = imported(tmp_path, [model(), UNIQUE], macros=macros)
    assert done.same == ()
    assert "macro" in noted(done)["macros/x.sql:1"]


@pytest.mark.parametrize("name", ["../../evil", "a/b", "a b", "_control", "x" * 200, "", "é"])
def test_names_never_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    node = {**model(), "name": name}
    _, done = imported(tmp_path, [node, UNIQUE])
    assert done.written == ()
    assert {p.name for p in tmp_path.iterdir()} == {"ours", "target"}


def test_versions_and_python_models(tmp_path: Path) -> None:
    """Models that share a name have their version; Python is refused, a constraint that is no audit is named."""
    nodes = [
        {**model(), "name": "v", "version": 1, "unique": 1},
        {**model(), "name": "p", "language": "python"},
        {**model(), "name": "c", "constraints": [{"type": "check"}, {"type": "primary_key", "columns": ["id"]}]},
    ]
    root, done = imported(tmp_path, nodes)
    assert [x.model for x in done.left] == ["p"]
    assert "constraint check" in noted(done)["models/m.sql:1"]
    assert {"not_null", "unique"} <= {a.kind for a in load_project(root).models["c"].audits}


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


def test_models_of_other_adapters_have_to_be_checked(tmp_path: Path) -> None:
    file = manifest(tmp_path / "target", [model(), UNIQUE])
    file.write_text(file.read_text().replace('"duckdb"', '"snowflake"'))
    (tmp_path / "ours").mkdir()
    done = import_project(tmp_path / "ours", "dbt", file)
    assert [m.name for m in done.to_check] == ["m"]
    assert "snowflake" in noted(done)["models/m.sql:1"]


def test_exposures_are_consumers_and_singular_tests_are_named(tmp_path: Path) -> None:
    singular = {"resource_type": "test", "name": "mine", "original_file_path": "tests/mine.sql", "test_metadata": None}
    board = {"name": "board", "type": "dashboard", "original_file_path": "models/e.yml", "owner": {"email": "a@b.c"},
             "depends_on": {"nodes": ["model.shop.m"]}}  # fmt: skip
    root, done = imported(tmp_path, [model(), UNIQUE, singular], exposures={"exposure.shop.board": board})
    assert {x.place for x in done.left} == {"tests/mine.sql:1"}
    [consumer] = load_project(root).consumers.values()
    assert (consumer.name, consumer.owner) == ("board", "a@b.c")


def test_what_exposures_lose_is_said(tmp_path: Path) -> None:
    """A model that is not translated, a source, a model that is a part of others; of one with a bad name, all."""
    board = {"type": "dashboard", "original_file_path": "models/e.yml", "owner": {"email": "a@b.c"}}
    reads = {"board": ["model.shop.m", "model.shop.n"], "lost": ["model.shop.n", ORDERS], "x" * 200: ["model.shop.m"]}
    exposures = {f"exposure.shop.{n}": {**board, "name": n, "depends_on": {"nodes": r}} for n, r in reads.items()}
    table = dbt_model("n", "select 1 as x", {"materialized": "table"}, [])
    root, done = imported(tmp_path, [model(), UNIQUE, table], exposures=exposures)
    [consumer] = load_project(root).consumers.values()
    assert consumer.name == "board" and list(consumer.reads) == ["m"]
    said = {x.what: x.why for x in done.left if x.place == "models/e.yml:1"}
    assert said.pop("the exposure board reads n: no model here") == "consumers.yml has it as a reader of m alone"
    assert "does not have it" in said.pop("the exposure lost reads n, raw.orders: no model here")
    assert len(said) == 1


def test_an_exposure_of_no_table_is_said(tmp_path: Path) -> None:
    """One of metrics only."""
    board = {"name": "board", "type": "dashboard", "original_file_path": "models/e.yml", "owner": {"email": "a@b.c"},
             "depends_on": {"nodes": []}}  # fmt: skip
    root, done = imported(tmp_path, [model(), UNIQUE], exposures={"exposure.shop.board": board})
    assert load_project(root).consumers == {}
    [left] = done.left
    assert left.place == "models/e.yml:1" and "the exposure board reads no model" in left.what and left.why


@pytest.mark.parametrize(("outputs", "day"), [
    ("id, cast(moment as date) as ds", "ds"), ("id, moment::date as day_of, amount", "day_of"),
])  # fmt: skip
def test_new_rows_may_be_told_by_a_column_that_the_query_does_not_give(tmp_path: Path, outputs: str, day: str) -> None:
    """`where moment > (select max(ds) from this)`: the output that is its day tells days."""
    code = f"select {outputs} from {{{{ source('raw', 'orders') }}}}"
    bound = f"\n{{% if is_incremental() %}}\nwhere moment > (select max({day}) from {{{{ this }}}})\n{{% endif %}}"
    root, done = imported(tmp_path, [model(code + bound, {"meta": {"start": "2024-01-01"}})])
    assert not done.left, done.left
    assert "this is its day" in noted(done)["models/m.sql:1"]
    text = (
        load_project(root).models["m"].code.replace(":start", "DATE '2024-01-02'").replace(":end", "DATE '2024-01-04'")
    )
    ours = world().sql(sqlglot.transpile(text, read="spark", write="duckdb")[0])
    original = code.replace("{{ source('raw', 'orders') }}", "raw.orders")
    days = world().sql(f"{original} WHERE moment >= '2024-01-02' AND moment < '2024-01-04'")
    assert sorted(map(repr, ours.select(*days.columns).fetchall())) == sorted(map(repr, days.fetchall()))


def test_rows_whose_day_nothing_gives_have_a_way_on(tmp_path: Path) -> None:
    code = "select id from {{ source('raw', 'orders') }}\n{% if is_incremental() %}\n"
    code += "where moment > (select max(moment) from {{ this }})\n{% endif %}"
    _, done = imported(tmp_path, [model(code, {})])
    [left] = done.left
    assert "gives no column `moment`" in left.what and "CAST(moment AS DATE)" in left.fix


def test_exposures_that_are_no_consumers_leave_the_project_loading(tmp_path: Path) -> None:
    """Two that become one name: the file would be refused by every command."""
    board = {"type": "ml", "owner": {}, "depends_on": {"nodes": ["model.shop.m"]}}
    twins = {f"exposure.shop.{n}": {**board, "name": n} for n in ("a b", "a_b")}
    root, done = imported(tmp_path, [model(), UNIQUE], exposures=twins)
    assert [x.what for x in done.left] == ["exposures"]
    assert load_project(root).consumers == {}


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


def test_a_microbatch_whose_inputs_dbt_does_not_cut_has_to_be_checked(tmp_path: Path) -> None:
    """Without event_time dbt reads all of an input in each batch, and inserts it each time."""
    whole = dbt_source("orders", {"id": "int", "day": "date", "amount": "decimal(12,2)"}, config={})
    _, done = imported(tmp_path, [model(), UNIQUE], sources=[whole])
    assert done.same == ()
    assert "event_time" in noted(done)["models/m.sql:1"]


def test_lines_after_what_is_taken_out_are_right(tmp_path: Path) -> None:
    code = "{{\n config(\n  x=1)\n}}\n" + BOUNDED.removeprefix("{{ config(materialized='incremental') }}\n")
    _, done = imported(tmp_path, [model(code + "\n{{ my_macro() }}", INSERT), UNIQUE])
    assert [x.place for x in done.left] == ["models/m.sql:10"]
