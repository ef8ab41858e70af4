"""A column with one value only is told; a day with one row, or with none, tells nothing."""

from __future__ import annotations

import duckdb

from backfill_assets.audits.judge import expected_text, judge
from backfill_assets.audits.sample import sample_failures
from backfill_assets.audits.scan import scan_audits
from backfill_assets.core.intervals import Cadence, Ranges
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import NOW, a_model, days
from backfill_assets_tests.unit.audits.duck import DuckTables


def test_one_value_only() -> None:
    """By day: NULL beside a value is two values, only NULLs are one; masked values are hidden."""
    duck = duckdb.connect()
    rows = {1: [(1, 1), (2, 1)], 2: [(1, None), (1, None)], 3: [(1, 1), (2, None)], 4: [(1, 1)]}
    values = ", ".join(f"(DATE '2024-01-0{ds}', {i}, {x or 'NULL'})" for ds, some in rows.items() for i, x in some)
    duck.execute(f"CREATE TABLE rows AS SELECT * FROM (VALUES {values}) t(ds, id, x)")
    audit, week = Audit(name="check", kind="not_constant", arguments={"columns": ("id", "X")}), days("01", "05")
    model, tables = a_model("m", audits=(audit,), mask=("x",)), DuckTables(duck)
    counts = scan_audits(model, Ranges((week,)), tables)
    assert [c.failures.get("check") for c in counts.values()] == [1, 2, 0, 0, 0]
    said = judge(model, "v", "b", Cadence.DAILY.split(week), counts, prod_rows={}, at=NOW)
    assert [r.passed for r in said] == [False, False, True, True, True]
    assert said[0].observed == "1 of 2 columns with one value only, in 2 rows"
    assert expected_text(model, audit) == "more than one value in id and in X"
    samples = sample_failures(model, audit, Ranges((week,)), tables)
    assert {at.day: found for at, found in samples.items()} == {1: ["X=***"], 2: ["id=1", "X=***"]}
