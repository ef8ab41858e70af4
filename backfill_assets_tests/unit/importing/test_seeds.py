"""Seeds: what the tools make of a CSV file's texts is what Spark reads in the copy, or it is said by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backfill_assets.app.import_project import import_project
from backfill_assets.importing.sqlmesh_seeds import SeedReading
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.importing import test_dbt as dbt
from backfill_assets_tests.unit.importing.foreign import dbt_model, manifest, sqlmesh_model
from backfill_assets_tests.unit.importing.test_sqlmesh import imported, noted

READER = (
    "SELECT o.id, o.day, c.name FROM raw.orders AS o LEFT JOIN shop.codes AS c ON o.status = c.code\n"
    "WHERE o.day BETWEEN @start_ds AND @end_ds"
)
PLAIN = "code,rate,name\nDE,1,Germany\n"


def read(tmp_path: Path, text: str, kind: str = ""):
    columns = "columns (code TEXT, rate INT, name TEXT)"
    seed = f"MODEL (name shop.codes,\nkind SEED (path '../seeds/codes.csv'{kind}),\n{columns});"
    files = {"models/codes.sql": seed, "models/m.sql": sqlmesh_model(READER)}
    (tmp_path / "theirs/seeds").mkdir(parents=True)
    (tmp_path / "theirs/seeds/codes.csv").write_bytes(text.encode())
    return imported(tmp_path, files)


@pytest.mark.parametrize(("text", "kind", "word"), [
    (PLAIN + "NA,2,Namibia\n", "", "`NA` in the column `code`"),
    (PLAIN + 'FR,2,"None"\n', "", "`None` in the column `name`"),
    (PLAIN + "FR,null,France\n", "", "`null` in the column `rate`"),
    (PLAIN + "FR,2,?\n", ", csv_settings (na_values = ('?', 'x'))", "`?` in the column `name`"),
    (PLAIN + "FR,2,\n", ", csv_settings (keep_default_na = false)", "empty values in the column `name`"),
    ("code,rate,name\n01,1,a\n2,1,b\n", "", "`01` in the column `code`"),
    ("code,rate,name\n1,1,a\n,1,b\n", "", "`1` in the column `code`"),
    ("code,rate,name\n1.50,1,a\n2,1,b\n", "", "`1.50`, `2` in the column `code`"),
    ("code,rate,name\nx,1,true\ny,1,False\n", "", "`true` in the column `name`"),
])  # fmt: skip
def test_what_pandas_reads_in_its_own_way_is_said(tmp_path: Path, text: str, kind: str, word: str) -> None:
    """No model that reads it has rows that are known to be the same."""
    _, done = read(tmp_path, text, kind)
    assert done.same == ()
    assert word in noted(done)["models/codes.sql:1"]


@pytest.mark.parametrize(("text", "kind", "more"), [
    (PLAIN, "", {}), (PLAIN + "FR,2,\n", "", {}), (PLAIN + 'FR,2,""\n', "", {}), (PLAIN + "12,2,FR\n", "", {}),
    ("code,rate,name\n1,1,a\n20,2,b\n", "", {}), (PLAIN.replace("\n", "\r\n"), "", {}),
    (PLAIN + "NA,2,Namibia\n", ", csv_settings (keep_default_na = false, doublequote = true)", {}),
    (PLAIN.replace(",", ";"), ", csv_settings (delimiter = ';')", {"sep": ";"}),
    (PLAIN + 'FR,2,"say ""hi"""\n', "", {"escape": '"'}), (PLAIN + 'FR,2,"c:\\"\n', "", {"escape": '"'}),
    (PLAIN + 'FR,2,"two\nlines"\n', "", {"multiLine": "true"}),
])  # fmt: skip
def test_what_spark_reads_as_well_is_the_same(tmp_path: Path, text: str, kind: str, more: dict[str, str]) -> None:
    """Quotes within quotes and line breaks are said to Spark."""
    root, done = read(tmp_path, text, kind)
    assert [m.name for m in done.same] == ["m"], noted(done)
    assert load_project(root).sources["shop.codes"].options == {"header": "true", **more}


def test_settings_that_are_not_carried_over_are_said(tmp_path: Path) -> None:
    _, done = read(tmp_path, PLAIN, ", csv_settings (quotechar = '|')")
    assert done.same == () and "`quotechar`" in noted(done)["models/codes.sql:2"]


def test_many_values_are_not_all_listed() -> None:
    [(what, _)] = SeedReading().texts("code", "string", [f"0{n}" for n in range(12)])
    assert what.startswith("`00`, `01`") and "and 2 more in the column" in what


@pytest.mark.parametrize(("adapter", "same"), [("duckdb", True), ("spark", False)])
def test_dbt_reads_null_as_null_where_the_engine_does_not_read_the_file(
    tmp_path: Path, adapter: str, same: bool
) -> None:
    (tmp_path / "theirs/seeds").mkdir(parents=True)
    (tmp_path / "theirs/seeds/codes.csv").write_text('code,name\nDE,Null\nFR,"""x"""\n')
    (tmp_path / "theirs/dbt_project.yml").write_text("name: shop\n")
    seed: dict[str, Any] = {
        "resource_type": "seed", "name": "codes", "alias": "codes", "package_name": "shop", "schema": "main",
        "original_file_path": "seeds/codes.csv", "columns": {}, "depends_on": {"nodes": []},
        "config": {"column_types": {"code": "string", "name": "string"}},
    }  # fmt: skip
    code = (
        "{{ config(materialized='incremental') }}\nselect o.id, o.day, c.name from {{ source('raw', 'orders') }} as o\n"
    )
    code += "left join {{ ref('codes') }} as c on o.status = c.code"
    reader = dbt_model("m", code, dbt.INSERT, [dbt.ORDERS, "seed.shop.codes"])
    meta = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "adapter_type": adapter}
    file = manifest(tmp_path / "theirs/target", [reader, dbt.UNIQUE, seed], metadata=meta)
    (tmp_path / "ours").mkdir()
    done = import_project(tmp_path / "ours", "dbt", file)
    assert [m.name for m in done.same] == (["m"] if same else []), noted(done)
    assert load_project(tmp_path / "ours").sources["codes"].options == {"header": "true", "escape": '"'}
