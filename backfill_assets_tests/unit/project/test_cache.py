"""A project that was read is not read again; a project that changed always is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from backfill_assets.core.errors import ProjectError
from backfill_assets.project import reading
from backfill_assets.project.loader import load_project
from backfill_assets.project.records import ReadRecords
from backfill_assets.project.settings import cache_folder
from backfill_assets_tests.unit.project.helpers import EVENTS, PYTHON, SOURCES, project

FILES = {"events_sql": EVENTS, "p_py": "import _h\n" + PYTHON, "_h_py": "def f():\n    return 1\n"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The projects that were really read."""
    found: list[Path] = []
    original = reading.read_project

    def noted(root: Path, records: ReadRecords, *, faults: bool) -> reading.Reading:
        found.append(root)
        return original(root, records, faults=faults)

    monkeypatch.setattr(reading, "read_project", noted)
    monkeypatch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))
    return found


def test_the_same_files_are_read_once(tmp_path: Path, read: list[Path]) -> None:
    """The second time the same value comes from the cache."""
    root = project(tmp_path / "p", **FILES)
    assert load_project(root) == load_project(root)
    assert len(read) == 1


@pytest.mark.parametrize("file", ["models/events.sql", "models/p.py", "models/_h.py", "sources.yml", "backfill.yml"])
def test_any_file_counts(tmp_path: Path, read: list[Path], file: str) -> None:
    """Models, helpers, sources and settings; also when a file comes or goes."""
    root = project(tmp_path / "p", **FILES)
    before = load_project(root)
    path = root / file
    said = path.read_text() if path.exists() else ""
    comment = "# x" if not file.endswith(".sql") else "-- x"
    path.write_text(f"{said}\n{comment}\n")
    after = load_project(root)
    assert len(read) == 2
    assert after.fingerprints == before.fingerprints
    path.write_text(said)
    assert load_project(root) == before


def test_helpers_outside_of_the_models_folder(tmp_path: Path, read: list[Path]) -> None:
    """A package of the project that a model imports."""
    root = project(tmp_path / "p", p_py="import lib.h\n" + PYTHON)
    (root / "lib").mkdir()
    (root / "lib" / "__init__.py").write_text("")
    (root / "lib" / "h.py").write_text("def f():\n    return 1\n")
    load_project(root)
    (root / "lib" / "h.py").write_text("def f():\n    return 2\n")
    load_project(root)
    assert len(read) == 2


def test_a_source_that_is_asked_for_its_columns_is_asked_each_time(tmp_path: Path, read: list[Path]) -> None:
    """Its files are not the project's, and they may change: the project is read again then, and not otherwise."""
    sources = f"{SOURCES.rstrip()}\n  - {{name: raw.things, format: parquet, path: things.parquet}}\n"
    root = project(tmp_path / "p", sources=sources)

    def columns() -> list[str]:
        return [f"{c.name} {c.type}" for c in load_project(root).sources["raw.things"].columns]

    pq.write_table(pa.table({"a": [1]}), root / "things.parquet")
    assert columns() == columns() == ["a bigint"] and len(read) == 1
    pq.write_table(pa.table({"b": [1]}), root / "things.parquet")
    assert columns() == columns() == ["b bigint"] and len(read) == 2
    pq.write_table(pa.table({"b": ["x"]}), root / "things.parquet")
    assert columns() == ["b string"] and len(read) == 3
    (root / "things.parquet").unlink()
    for _ in range(2):
        with pytest.raises(ProjectError, match=r"columns of `raw.things` are unknown"):
            load_project(root)
    pq.write_table(pa.table({"b": ["x"]}), root / "things.parquet")
    assert columns() == ["b string"] and len(read) == 5, "what was read then is true again"


def test_columns_of_a_delta_table(tmp_path: Path, read: list[Path]) -> None:
    """A commit of rows is no other project; one of another schema is."""
    sources = f"{SOURCES.rstrip()}\n  - {{name: raw.things, format: delta, path: things}}\n"
    root = project(tmp_path / "p", sources=sources)
    for number, table in enumerate([{"a": [1]}, {"a": [2]}, {"a": [3], "b": ["x"]}]):
        write_deltalake(root / "things", pa.table(table), mode="append", schema_mode="merge")
        assert [c.name for c in load_project(root).sources["raw.things"].columns] == [*table]
        assert len(read) == (1, 1, 2)[number]


def test_half_a_file_in_the_cache_is_no_file(tmp_path: Path, read: list[Path]) -> None:
    """Somebody killed the process that wrote it, or the disk was full."""
    root = project(tmp_path / "p", **FILES)
    before = load_project(root)
    [file] = (cache_folder(root) / "project").glob("*.json")
    file.write_bytes(file.read_bytes()[:100])
    assert load_project(root) == before
    assert len(read) == 2


def test_problems_are_not_kept(tmp_path: Path, read: list[Path]) -> None:
    """A broken project says so every time."""
    root = project(tmp_path / "p", events_sql="SELECT", sources=SOURCES)
    for _ in range(2):
        with pytest.raises(ProjectError):
            load_project(root)


def test_a_project_from_the_cache_needs_no_parser(tmp_path: Path) -> None:
    """What makes planning quick: neither sqlglot nor YAML nor pydantic is imported."""
    root = project(tmp_path / "p", **FILES)
    load_project(root)
    text = (
        "import sys; from pathlib import Path; from backfill_assets.project.loader import load_project\n"
        f"print(len(load_project(Path({str(root)!r})).models))\n"
        "print([m for m in ('sqlglot', 'sqlframe', 'yaml', 'pydantic', 'pyspark', 'dagster') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    assert said == "2\n[]\n"
