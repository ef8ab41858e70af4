"""The grain of a model: what dbt deletes by need not be unique; tests, and the groups of a query, say what is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing import test_dbt as dbt
from backfill_assets_tests.unit.importing import test_sqlmesh as sqlmesh
from backfill_assets_tests.unit.importing.foreign import dbt_test

GROUPS = (
    "select moment::date as day, customer_id as cust, count(*) as n from {{ source('raw', 'orders') }}\n"
    "{% if is_incremental() %} where moment::date >= (select max(day) from {{ this }}) {% endif %} group by 1, 2"
)
ROWS = GROUPS.replace("count(*) as n", "id").replace(" group by 1, 2", "")
DELETE, MERGE = "delete+insert", "merge"


def pair(*columns: str) -> dict[str, Any]:
    return dbt_test("unique_combination_of_columns", "model.shop.m", None, combination_of_columns=list(columns))  # pyright: ignore


def grain(tmp_path: Path, code: str, key: str | list[str], strategy: str | None, tests: list[dict[str, Any]]):
    config = {"unique_key": key, "incremental_strategy": strategy, "meta": {"start": "2024-01-01"}}
    root, done = dbt.imported(tmp_path, [dbt.model(code, config), *tests])
    said = [r.what for r in done.remarks if "grain" in r.what]
    found = load_project(root).models["m"]
    return found.grain, found.write, " ".join(said)


@pytest.mark.parametrize(("code", "key", "strategy", "tests", "expected", "write", "word"), [
    (GROUPS, "day", DELETE, [pair("day", "cust")], ("day", "cust"), "replace", "need not be unique"),
    (GROUPS, "day", DELETE, [], ("day", "cust"), "replace", "need not be unique"),
    (ROWS, "day", DELETE, [pair("day", "cust")], ("day", "cust"), "replace", "need not be unique"),
    (ROWS, "day", None, [dbt.UNIQUE], ("id",), "replace", "need not be unique"),
    (ROWS, "id", DELETE, [pair("id", "day")], ("id", "day"), "replace", "need not be unique"),
    (ROWS, "id", DELETE, [], ("id",), "merge", "guessed from `unique_key`"),
    (ROWS, ["day", "id"], DELETE, [], ("day", "id"), "replace", "guessed from `unique_key`"),
    (ROWS, "id", DELETE, [dbt.UNIQUE], ("id",), "merge", ""), (ROWS, "id", MERGE, [], ("id",), "merge", ""),
    (ROWS, "id", MERGE, [pair("id", "day")], ("id",), "merge", ""),
    (ROWS, "id", DELETE, [dbt_test("unique", "model.shop.m", "cust", config={"where": "cust > 1"})], ("id",), "merge",
     "guessed"),
])  # fmt: skip
def test_what_dbt_deletes_by_is_the_grain_where_nothing_else_is(
    tmp_path: Path, code: str, key: str | list[str], strategy: str | None, tests: list[dict[str, Any]],
    expected: tuple[str, ...], write: str, word: str,
) -> None:  # fmt: skip
    """A merge by a key makes it unique. What is a guess is said to be one."""
    found, how, said = grain(tmp_path, code, key, strategy, tests)
    assert (found, how) == (expected, write)
    assert word in said and bool(word) == bool(said)


@pytest.mark.parametrize(("audit", "expected"), [
    ("unique_combination_of_columns(columns := (day, id, amount))", ("day", "id", "amount")),
    ("unique_values(columns := (amount))", ("day", "id")),
    ("unique_combination_of_columns(columns := (id))", ("day", "id")),
])  # fmt: skip
def test_a_grain_of_sqlmesh_that_an_audit_has_more_columns_than_is_the_audits(
    tmp_path: Path, audit: str, expected: tuple[str, ...]
) -> None:
    """Nobody asks whether a pair is unique of which one column is."""
    files = {"models/m.sql": sqlmesh.sqlmesh_model(sqlmesh.GOOD, more=f",\n  audits ({audit})")}
    root, _ = sqlmesh.imported(tmp_path, files)
    assert load_project(root).models["m"].grain == expected
