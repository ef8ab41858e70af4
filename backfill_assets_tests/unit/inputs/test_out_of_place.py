"""A file where a folder belongs, a folder for a file, JSON of any depth: each is refused by its name, or ignored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from deltalake import write_deltalake

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.heartbeat import read_heartbeats
from backfill_assets.adapters.warehouse import create
from backfill_assets.core.errors import StateError
from backfill_assets.core.processes import is_running
from backfill_assets.evidence.write import MANIFEST, problems_of
from backfill_assets.sql.parsing import parse
from backfill_assets.sql.select_parts import conjuncts
from backfill_assets.state.control import Control
from backfill_assets_tests.unit.inputs.project import PYTHON, SOURCES, Told, assert_told, run, write

DEEP = b"[" * 100_000
Change = Callable[[Path], object]
DELTA = {"sources.yml": SOURCES.replace("csv", "delta"), "data/events/one.csv": None}


def command_over(root: Path, change: Change, *command: str) -> Told:
    """What a command says of a project with a warehouse in which something is out of its place."""
    warehouse = write(root / "p") / ".backfill" / "warehouse"
    create(str(warehouse), "shop")
    change(warehouse)
    return run(*command, project=root / "p")


def a_file(*names: str, content: bytes = b"x") -> Change:
    def put(warehouse: Path) -> None:
        for name in names:
            (warehouse / name).parent.mkdir(parents=True, exist_ok=True)
            (warehouse / name).write_bytes(content)

    return put


def a_folder_for(name: str) -> Change:
    def put(warehouse: Path) -> None:
        (warehouse / name).unlink(missing_ok=True)
        (warehouse / name).mkdir(parents=True)

    return put


@pytest.mark.parametrize("command", ["plan", "status", "watch"])
def test_stray_files_among_the_records_are_ignored(tmp_path: Path, command: str) -> None:
    """An editor's, a system's, a person's; a process that wrote nonsense of itself."""

    def change(warehouse: Path) -> None:
        a_file("_control/.DS_Store", "_control/README.txt", "_control/runs/a.json")(warehouse)
        a_file("_control/runs/b.json", content=DEEP)(warehouse)
        a_file("_control/runs/c.json", content=b'{"run": "a", "home": "b", "pid": 1e999}')(warehouse)

    result = command_over(tmp_path, change, command)
    assert result.code == 0, result
    assert read_heartbeats(str(tmp_path / "p" / ".backfill" / "warehouse")) == [] and not is_running(10**30)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (a_file("_control"), "_control is damaged"),
        (a_file("_control/ledger/_delta_log"), "ledger is damaged"),
        (a_folder_for("_control/ledger/_delta_log/00000000000000000000.json"), "is a folder"),
        (a_folder_for("warehouse.json"), "warehouse.json is damaged"),
    ],
)
def test_what_is_relied_on_is_named(tmp_path: Path, change: Change, words: str) -> None:
    """With what is wrong and where; a command over it is refused."""
    assert_told(command_over(tmp_path, change, "plan"), 1, words)


def test_an_identity_of_huge_numbers(tmp_path: Path) -> None:
    """Numbers that are none of a format."""
    said = {"warehouse": "w", "project": "shop", "format": {"version": 1, "reader": 1, "writer": 1}, "generation": 0}
    text = json.dumps(said | {"release": None, "tables": {}, "history": []}).replace('"version": 1', '"version": 1e400')
    assert_told(
        command_over(tmp_path, a_file("warehouse.json", content=text.encode()), "plan"), 1, "warehouse.json is damaged"
    )


def test_a_control_table_that_is_a_file(tmp_path: Path) -> None:
    """Read as damaged, never as empty."""
    a_file("_control/ledger")(tmp_path)
    with pytest.raises(StateError, match="is damaged"):
        Control.over(DeltaStore(str(tmp_path))).ledger.entries()


def test_a_sources_log_that_is_a_file(tmp_path: Path) -> None:
    """Where a folder of entries belongs."""
    project = write(tmp_path, {**DELTA, "data/events/_delta_log": "x"})
    assert_told(run("plan", project=project), 1, "log of source events is damaged", "sources.yml:2")


def test_a_sources_log_entry_that_is_a_folder(tmp_path: Path) -> None:
    """The newest one of a table that is otherwise whole."""
    write_deltalake(tmp_path / "data" / "events", pd.DataFrame({"ds": ["2024-01-01"], "kind": ["a"], "clicks": [1]}))
    (tmp_path / "data" / "events" / "_delta_log" / f"{1:020}.json").mkdir()
    assert_told(run("plan", project=write(tmp_path, DELTA)), 1, "is a folder")


@pytest.mark.parametrize("options", ['{sep: "||"}', '{sep: ""}', '{quote: "ab"}', '{sep: "é"}', '{sep: "\\n"}'])
def test_separators_that_spark_may_know(tmp_path: Path, options: str) -> None:
    """Of such files nothing is said before Spark reads them."""
    sources = SOURCES.replace("format: csv", f"format: csv\n    options: {options}")
    assert run("plan", project=write(tmp_path, {"sources.yml": sources})).code == 0


def test_a_path_that_no_system_takes(tmp_path: Path) -> None:
    """Found where it is written."""
    sources = SOURCES.replace("data/events", "x/" * 3000)
    assert_told(run("plan", project=write(tmp_path, {"sources.yml": sources})), 1, "sources.yml:3", "longer than 4,000")


def test_conditions_of_any_length() -> None:
    """In order; what went into each of them had no room for a thousand."""
    query = f"SELECT 1 FROM t WHERE {' AND '.join(f'(a > {n})' for n in range(1300))}"
    [tree] = parse(query).statements
    assert [c.sql() for c in conjuncts(tree.args["where"])] == [f"a > {n}" for n in range(1300)]


def test_a_function_of_any_length(tmp_path: Path) -> None:
    """A Python model of 600 calls in a row is planned."""
    calls = PYTHON.replace("daily.select", f"daily{'.dropna()' * 600}.select")
    told = run("plan", project=write(tmp_path, {"models/py.py": calls}), BACKFILL_UNTRUSTED="1")
    assert told.code == 0, told


def test_manifests_of_any_depth(tmp_path: Path) -> None:
    """Of a packet, and of a backup: with numbers, names and tables that are none."""
    (tmp_path / "packet").mkdir()
    (tmp_path / "packet" / MANIFEST).write_bytes(DEEP)
    assert problems_of(ArrowFolder(str(tmp_path / "packet"))) == [f"{MANIFEST} was changed: it cannot be read"]
    project, whole = write(tmp_path / "p"), {"backup": 1, "warehouse": "a", "project": "shop", "at": "x", "release": ""}
    entry = {"bytes": 1, "sha256": "x"}
    for more, words in (
        ({"commit": 1, "tables": {}, "data": True, "files": {"a\0": entry}}, "names files that are not"),
        ({"commit": 1, "tables": 5, "data": True, "files": {}}, "has another form"),
        ({"commit": 1, "tables": {"ledger": "x"}, "data": True, "files": {}}, "has another form"),
        (None, "has another form"),
    ):
        (tmp_path / "backup.json").write_bytes(json.dumps({**whole, **more}).encode() if more else DEEP)
        assert_told(run("restore", str(tmp_path), project=project), 1, words)


def test_a_project_where_nothing_can_be_written() -> None:
    """Said as any other refusal."""
    assert_told(run("init", "/proc/nothing"), 1, "no project can be made in /proc/nothing", "fix:")
