"""An author whose source says no columns gets the ones to declare, as its files look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from backfill_assets.core.errors import ProjectError
from backfill_assets.project.loader import load_project

CSV = """\
id,zip,at,day,paid,left,amount,on,customer name
1,01234,2024-01-01T10:00:00Z,2024-01-01,true,,1.5,x,Ana
2,98765,2024-01-01T11:00:00Z,2024-01-02,false,7,2,y,"Bo, jr."
"""
JSON = '{"id": 1, "tags": ["a"], "who": {"name": "ana", "n": 2}, "none": null}\n{"id": 2}\n'


def fix_of(folder: Path, entry: str, *, untrusted: bool = False) -> str:
    """What the refusal of a source's missing columns says to do."""
    (folder / "backfill.yml").write_text(f"name: shop\nuntrusted: {str(untrusted).lower()}\n")
    (folder / "models").mkdir(exist_ok=True)
    (folder / "sources.yml").write_text(f"sources:\n  - {{name: raw.orders, {entry}}}\n")
    with pytest.raises(ProjectError) as refused:
        load_project(folder)
    return next(p.fix for p in refused.value.problems if "are unknown" in p.what)


def declared(fix: str) -> dict[str, str]:
    found = re.search(r"`(columns: .*)`$", fix)
    return yaml.safe_load(found[1])["columns"] if found else {}


def test_csv(tmp_path: Path) -> None:
    """Codes with leading zeros stay texts; names that YAML has a meaning for are quoted."""
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "_SUCCESS").write_text("")
    (tmp_path / "orders" / "2024-01.csv").write_text(CSV)
    fix = fix_of(tmp_path, "format: csv, path: orders, options: {header: true}")
    assert fix.startswith("declare them; by the first rows of 2024-01.csv (look at the types): ")
    assert declared(fix) == {
        "id": "bigint", "zip": "string", "at": "timestamp", "day": "date", "paid": "boolean", "left": "bigint",
        "amount": "double", "on": "string", "customer name": "string",
    }  # fmt: skip


def test_its_separator(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(CSV.replace(",", ";"))
    fix = fix_of(tmp_path, "format: csv, path: orders.csv, options: {header: 'true', sep: ';'}")
    assert declared(fix)["zip"] == "string" and len(declared(fix)) == 9


def test_json(tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text(JSON)
    assert declared(fix_of(tmp_path, "format: json, path: orders.json")) == {
        "id": "bigint", "tags": "array<string>", "who": "struct<name:string,n:bigint>", "none": "string",
    }  # fmt: skip


def test_values_of_two_kinds_in_json(tmp_path: Path) -> None:
    """They are text in Spark; whole numbers and fractions are both numbers."""
    rows = '{"id": 1, "code": "a", "n": 1}\n{"id": 2, "code": 7, "n": 1.5}\n{"id": 3, "code": null, "n": null}\n'
    (tmp_path / "orders.json").write_text(rows)
    found = declared(fix_of(tmp_path, "format: json, path: orders.json"))
    assert found == {"id": "bigint", "code": "string", "n": "double"}


def test_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_bytes("Straße,n\nx,1\n".encode("latin-1"))
    fix = fix_of(tmp_path, "format: csv, path: orders.csv, options: {header: true, encoding: ISO-8859-1}")
    assert declared(fix) == {"Straße": "string", "n": "bigint"}


def test_what_it_says_is_taken(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text(CSV)
    entry = "format: csv, path: orders.csv, options: {header: true}"
    columns = re.search(r"`(.*)`$", fix_of(tmp_path, entry))
    assert columns
    (tmp_path / "sources.yml").write_text(f"sources:\n  - {{name: raw.orders, {entry}, {columns[1]}}}\n")
    assert [c.name for c in load_project(tmp_path).sources["raw.orders"].columns][-1] == "customer name"


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        ("format: csv, path: orders.csv", CSV),  # no header: places have no names
        ("format: csv, path: nowhere, options: {header: true}", CSV),
        ("format: csv, path: orders.csv, options: {header: true}", ""),
        ("format: csv, path: orders.csv, options: {header: true, sep: '||'}", CSV),
        ("format: json, path: orders.csv", CSV),
        ("format: orc, path: orders.csv", CSV),
    ],
)
def test_where_nothing_can_be_told(tmp_path: Path, entry: str, content: str) -> None:
    (tmp_path / "orders.csv").write_text(content)
    assert fix_of(tmp_path, entry) == "declare them: `columns: {name: type}`"


@pytest.mark.parametrize("said", ["by whoever starts it", "by the project"])
def test_not_of_what_a_stranger_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """The first line of any file of the machine would be in the answer to a pull request."""
    (tmp_path / "orders.csv").write_text(CSV)
    if said == "by whoever starts it":
        monkeypatch.setenv("BACKFILL_UNTRUSTED", "1")
    fix = fix_of(tmp_path, "format: csv, path: orders.csv, options: {header: true}", untrusted="project" in said)
    assert fix == "declare them: `columns: {name: type}`"


@pytest.mark.parametrize(
    ("said", "how"), [("", "such as windows-1252"), (", encoding: US-ASCII", "as it is not ascii")]
)
def test_an_encoding_that_is_not_theirs(tmp_path: Path, said: str, how: str) -> None:
    """Before columns can be told, it has to be right."""
    (tmp_path / "orders.csv").write_bytes("Straße,n\nx,1\n".encode("latin-1"))
    fix = fix_of(tmp_path, f"format: csv, path: orders.csv, options: {{header: true{said}}}")
    assert fix == f"name the encoding of its files, {how}: `options: {{encoding: …}}`; then declare them"
