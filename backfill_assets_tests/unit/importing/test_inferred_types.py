"""SQLMesh makes tables with types that it infers: which columns these round is what it was seen to do with DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.unit.importing import test_dbt as dbt
from backfill_assets_tests.unit.importing.foreign import sqlmesh_model
from backfill_assets_tests.unit.importing.test_sqlmesh import imported, noted

EXACT = [
    "amount", "amount + 1", "amount * 2", "-amount", "amount - customer_id", "amount + amount", "coalesce(amount, 0)",
    "CASE WHEN id > 1 THEN amount ELSE 0 END", "id * 2", "ratio * 2", "(amount * 1.15)::DOUBLE",
]  # fmt: skip
ROUNDED = [
    ("amount * 1.15", "decimal(12, 2)"), ("amount * amount", "decimal(12, 2)"), ("amount * ratio", "decimal(12, 2)"),
    ("amount + 1.555", "decimal(12, 2)"), ("id * 1.15", "double"), ("1.5", "double"),
]  # fmt: skip
FROM = "FROM raw.orders WHERE day BETWEEN @start_ds AND @end_ds"


@pytest.mark.parametrize("said", EXACT)
def test_what_keeps_its_digits_is_the_same(tmp_path: Path, said: str) -> None:
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(f"SELECT id, day, {said} AS x {FROM}")})
    assert [m.name for m in done.same] == ["m"], noted(done)


@pytest.mark.parametrize(("said", "there"), ROUNDED)
@pytest.mark.parametrize("query", [
    "SELECT id, day, {} AS x {}", "WITH c AS (SELECT id, day, {} AS y {}) SELECT id, day, y AS x FROM c",
    "WITH c AS (SELECT id, day, {} AS y {}) SELECT day, id, sum(y) AS x FROM c GROUP BY day, id",
])  # fmt: skip
def test_what_is_rounded_as_it_is_stored_is_said(tmp_path: Path, said: str, there: str, query: str) -> None:
    """Also where it is computed in a part of the query, and added up."""
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(query.format(said, FROM))})
    assert f"`x` is {there} there" in noted(done)["models/m.sql:6"]
    assert "the decimal" not in noted(done)["models/m.sql:6"]


def test_a_query_that_is_not_known_otherwise_names_them_too(tmp_path: Path) -> None:
    """Decimals alone: what is cast in the outermost SELECT is stored as it is here."""
    query = "SELECT id, day, amount / 7 AS x, (amount / 7)::DECIMAL(20, 6) AS y, amount, length(status) AS n"
    _, done = imported(tmp_path, {"models/m.sql": sqlmesh_model(f"{query} {FROM}")})
    found = {c.what for m in done.models for c in m.checks}
    assert {w for w in found if w.startswith("the decimal")} == {"the decimal `x`"}


def test_dbt_takes_types_from_the_engine(tmp_path: Path) -> None:
    code = dbt.GOOD.replace("amount", "amount * 1.15 as x")
    _, done = dbt.imported(tmp_path, [dbt.model(code), dbt.UNIQUE])
    assert [m.name for m in done.same] == ["m"]
