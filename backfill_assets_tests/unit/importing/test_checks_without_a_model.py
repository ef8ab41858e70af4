"""Audits and tests that become none here are named, each at its line: nobody thinks that they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.import_project import REPORT
from backfill_assets_tests.unit.importing import test_dbt as dbt
from backfill_assets_tests.unit.importing import test_sqlmesh as sqlmesh
from backfill_assets_tests.unit.importing.foreign import dbt_model, dbt_test, sqlmesh_model

AUDITS = """\
AUDIT (name used_by_models);
SELECT * FROM @this_model WHERE id < 0;
-- of two models
AUDIT (name no_large, dialect duckdb, standalone true);
SELECT * FROM shop.m WHERE id > 2;
AUDIT (name off, standalone false);
SELECT 1;
"""
UNIT_TESTS = """\
test_a:
  model: shop.m
  inputs: {raw.orders: [{id: 1}]}
  outputs: {query: [{id: 1}]}

test_b: {model: shop.m}
"""


def test_standalone_audits_and_unit_tests_of_sqlmesh_are_left(tmp_path: Path) -> None:
    files = {
        "models/m.sql": sqlmesh_model(sqlmesh.GOOD), "audits/own.sql": AUDITS, "tests/test_a.yaml": UNIT_TESTS,
        "tests/deeper/test_c.yml": "- no mapping", "tests/fixtures.yaml": "a: 1",
        "audits/jinja.sql": "AUDIT (name templated, standalone true);\nSELECT {{ 1 }}",
        "audits/open.sql": "AUDIT (name open, standalone true);\nSELECT '",
    }  # fmt: skip
    _, done = sqlmesh.imported(tmp_path, files)
    assert [m.name for m in done.same] == ["m"]
    assert {(left.place, left.what) for left in done.left} == {
        ("audits/own.sql:4", "the standalone audit no_large"), ("audits/jinja.sql:1", "the standalone audit templated"),
        ("audits/open.sql:1", "the audits of this file"), ("tests/test_a.yaml:1", "the unit test test_a"),
        ("tests/test_a.yaml:6", "the unit test test_b"), ("tests/deeper/test_c.yml:1", "the unit tests of this file"),
    }  # fmt: skip


def test_tests_of_dbts_seeds_are_named_as_those_of_sources(tmp_path: Path) -> None:
    seed = {
        "resource_type": "seed", "name": "codes", "alias": "codes", "package_name": "shop", "schema": "main",
        "original_file_path": "seeds/codes.csv", "columns": {}, "config": {}, "depends_on": {"nodes": []},
    }  # fmt: skip
    nodes = [dbt.model(), dbt.UNIQUE, seed, dbt_test("not_null", "seed.shop.codes", "code")]
    _, done = dbt.imported(tmp_path, nodes)
    assert [(r.model, r.place) for r in done.remarks if "not_null_code" in r.what] == [("codes", "models/schema.yml:1")]


def test_tests_of_what_is_a_part_of_others_are_named(tmp_path: Path) -> None:
    """A view of dbt has no table here."""
    view = dbt_model("stage", "select id, day, amount from {{ source('raw', 'orders') }}", {"materialized": "view"},
                     [dbt.ORDERS])  # fmt: skip
    reader = "{{ config(materialized='incremental') }}\nselect id, day, amount from {{ ref('stage') }}"
    nodes = [view, dbt_model("m", reader, dbt.INSERT, ["model.shop.stage"]), dbt.UNIQUE,
             dbt_test("not_null", "model.shop.stage", "amount")]  # fmt: skip
    _, done = dbt.imported(tmp_path, nodes)
    assert done.within == {"stage": "models/stage.sql:1"}
    assert ["not_null of amount" in r.what for r in done.remarks if r.model == "stage"] == [True]


@pytest.mark.parametrize("audit", [
    "accepted_values(column := id, is_in := (1.5, 2))", "accepted_range(column := id, min_v := 'a')",
    "not_null(columns := (id), condition := @x)", "accepted_values(column := id, is_in := (1, 'a'))",
])  # fmt: skip
def test_an_audit_of_which_a_part_is_lost_is_told_as_lost(tmp_path: Path, audit: str) -> None:
    files = {"models/m.sql": sqlmesh_model(sqlmesh.GOOD, more=f",\n  audits ({audit})")}
    _, done = sqlmesh.imported(tmp_path, files)
    [check] = [c for m in done.models for c in m.checks]
    assert check.what == f"the audit {audit.partition('(')[0]} is not carried over" and check.why


def test_names_in_the_report_are_the_models_own(tmp_path: Path) -> None:
    """An ephemeral model of dbt is a part of the one that reads it: those names are made by the import."""
    part = dbt_model("part", "select id, day, amount from {{ source('raw', 'orders') }}", {"materialized": "ephemeral"},
                     [dbt.ORDERS])  # fmt: skip
    reader = "{{ config(materialized='incremental') }}\nselect id, day, amount from {{ ref('part') }}"
    root, done = dbt.imported(tmp_path, [part, dbt_model("m", reader, dbt.INSERT, ["model.shop.part"]), dbt.UNIQUE])
    assert "`part` is no table here" in " ".join(dbt.noted(done).values())
    assert "dbt__" not in (root / REPORT).read_text()


def test_a_view_of_sqlmesh_has_its_whole_name(tmp_path: Path) -> None:
    view = "MODEL (name shop.v, kind VIEW);\nSELECT id, day, amount FROM raw.orders"
    query = "SELECT id, day, amount FROM shop.v WHERE day BETWEEN @start_ds AND @end_ds"
    _, done = sqlmesh.imported(tmp_path, {"models/v.sql": view, "models/m.sql": sqlmesh_model(query)})
    assert "`shop.v` is no table here" in sqlmesh.noted(done)["models/m.sql:6"]
