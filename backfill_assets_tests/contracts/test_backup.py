"""A backup is of one instant while others work, and a warehouse that comes back from it goes on; killed at any moment,
both are run again. On real Delta tables, without a JVM."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.adapters import restore as module
from backfill_assets.adapters.backup import BEGUN, MANIFEST, backup, read_backup
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.reader import read_pointer
from backfill_assets.adapters.restore import restore
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.warehouse import open_store, read_identity
from backfill_assets.core.errors import StateError
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.segments import Segment
from backfill_assets.core.settings import Settings
from backfill_assets.promote.promote import promote
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.table_contents import with_counts
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import Cell, days
from backfill_assets_tests.projects import kill, script, start

COLUMNS = (("ds", "date"), ("id", "bigint"), ("batch", "string"), ("failing", "bigint"))


class House:
    """A project whose model `a` gets a day a release."""

    def __init__(self, folder: Path) -> None:
        self.root, self.warehouse = folder / "project", str(folder / "warehouse")
        self.root.mkdir(parents=True, exist_ok=True)
        self.settings = Settings(name="shop", warehouse=self.warehouse)

    def open(self) -> Control:
        return Control.over(open_store(self.settings, self.root))

    def release(self, number: int) -> str:
        """Day `number` (from 1) is built, recorded and shown, with a packet before."""
        control, tables, day = self.open(), DeltaTables(self.warehouse), days(f"{number:02}")
        tables.create("a", "a-1")
        made = tables.write("a", "a-1", f"b{number}", day, {day.start: Cell(rows=3, failures={})})
        control.ledger.append(
            [
                Entry(kind=Kind.BUILT, model="a", version="a-1", interval=day, batch=f"b{number}",
                      table_commit=made.table_commit, at=datetime.now(UTC))
            ]
        )  # fmt: skip
        ArrowFolder(f"{self.warehouse}/evidence/p{number}").write("packet.json", b"{}")
        shown = Segment(version="a-1", commit=made.table_commit, interval=days("01", f"{number:02}"))
        pointer = Pointer(model="a", time_column="ds", timestamps=False, columns=COLUMNS, segments=(shown,))
        seen = control.environments.read("prod")
        promote(
            control.environments,
            seen,
            with_counts(DeltaTableLog(self.warehouse), [pointer]),
            None,
            note=ReleaseNote(by="ana"),
        )
        return control.releases.all("prod")[-1].id

    def rows(self) -> int:
        return read_pointer(self.open().environments.read("prod").pointers["a"], self.warehouse).num_rows

    def restore(self, source: Path, *, over_newer: bool = False) -> module.Restored:
        return restore(source, self.settings, self.root, over_newer=over_newer, by="ana")


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    for number in (1, 2, 3):
        made.release(number)
    return made


def test_a_warehouse_that_is_gone_comes_back_and_goes_on(house: House, tmp_path: Path) -> None:
    """On a fresh folder, with data: the same rows, the same history; then the next release as if nothing had been."""
    before = house.open().environments.read("prod").pointers
    backup(house.warehouse, tmp_path / "copy", data=True)
    shutil.rmtree(house.warehouse)
    with pytest.raises(StateError, match="is gone, or is not mounted"):
        house.open()
    done = house.restore(tmp_path / "copy")
    assert (done.lost, done.missing, done.aside) == ((), (), "")
    assert house.open().environments.read("prod").pointers == before and house.rows() == 9
    assert ArrowFolder(f"{house.warehouse}/evidence/p2").read("packet.json") == b"{}"
    house.release(4)
    assert house.rows() == 12
    said = read_identity(house.warehouse)
    assert said is not None and said.generation == 1 and said.history[-1]["what"] == "restored"


def test_records_that_are_gone_come_back_beside_the_data(house: House, tmp_path: Path) -> None:
    """A backup without data is small, and enough when the tables are there."""
    made = backup(house.warehouse, tmp_path / "copy", data=False)
    assert not any(name.startswith("a/") for name in made.files)
    shutil.rmtree(f"{house.warehouse}/_control")
    assert house.restore(tmp_path / "copy").missing == ()
    assert house.rows() == 9


def test_without_its_data_it_is_said_what_is_missing(house: House, tmp_path: Path) -> None:
    """Records on an empty folder: what prod shows is not there."""
    backup(house.warehouse, tmp_path / "copy", data=False)
    shutil.rmtree(house.warehouse)
    (missing,) = house.restore(tmp_path / "copy").missing
    assert missing.startswith("prod a:")


def test_newer_releases_are_not_lost_unless_somebody_says_so(house: House, tmp_path: Path) -> None:
    """Refused with their names; with --replace they go, and are kept beside the warehouse."""
    backup(house.warehouse, tmp_path / "copy", data=True)
    fourth, fifth = house.release(4), house.release(5)
    with pytest.raises(StateError) as refused:
        house.restore(tmp_path / "copy")
    assert fourth in refused.value.why and fifth in refused.value.why and "--replace" in refused.value.fix
    assert house.rows() == 15
    done = house.restore(tmp_path / "copy", over_newer=True)
    assert house.rows() == 9 and done.missing == ()
    assert (Path(done.aside) / "_control" / "environments" / "_delta_log").is_dir()
    assert [r.id for r in house.open().releases.all("prod")][-1] != fifth
    house.release(4)


def test_another_project_another_warehouse_and_half_a_backup_are_refused(house: House, tmp_path: Path) -> None:
    """Nothing is changed by a refusal."""
    backup(house.warehouse, tmp_path / "copy", data=True)
    with pytest.raises(StateError, match="holds a backup already"):
        backup(house.warehouse, tmp_path / "copy", data=True)
    with pytest.raises(StateError, match="inside of the warehouse"):
        backup(house.warehouse, Path(house.warehouse) / "copy", data=True)
    with pytest.raises(StateError, match="of project shop, not of bakery"):
        restore(tmp_path / "copy", replace(house.settings, name="bakery"), house.root, over_newer=True, by="ana")
    other = House(tmp_path / "other")
    other.release(1)
    with pytest.raises(StateError, match="nothing was changed"):
        other.restore(tmp_path / "copy")
    data = next((tmp_path / "copy" / "a").rglob("*.parquet"))
    data.write_bytes(data.read_bytes()[:-1] + b"x")
    with pytest.raises(StateError, match="is damaged"):
        house.restore(tmp_path / "copy")
    (tmp_path / "copy" / MANIFEST).unlink()
    with pytest.raises(StateError, match="not finished"):
        house.restore(tmp_path / "copy")
    assert house.rows() == 9 and other.rows() == 3


@pytest.mark.parametrize(
    "name",
    [
        "../outside", "a/../../outside", "a/a-1/../../../outside", "/tmp/outside", "//outside", "_control/../outside",
        "evidence/../../outside", "outside", "a/outside", ".restoring-1/a/b", "./a/a-1/x", "a//a-1/x",
        "..\\outside/a/b", "",
    ],
)  # fmt: skip
def test_a_backup_that_leads_out_of_the_warehouse_is_refused(house: House, tmp_path: Path, name: str) -> None:
    """Whoever can write the backup writes no file elsewhere: nothing is read, and nothing changes."""
    copy, said = tmp_path / "in" / "a" / "folder", b"not a warehouse's"
    backup(house.warehouse, copy, data=True)
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["files"][name] = {"bytes": len(said), "sha256": hashlib.sha256(said).hexdigest()}
    (copy / MANIFEST).write_text(json.dumps(manifest))
    planted = copy / name.lstrip("/")
    if not planted.is_dir():
        planted.parent.mkdir(parents=True, exist_ok=True)
        planted.write_bytes(said)
    shutil.rmtree(house.warehouse)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StateError, match="names files that are not of a warehouse"):
        house.restore(copy)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("value", [{"tables": {"../x": 1}}, {"tables": {"x": "new"}}, {"tables": 1}, {"commit": None},
                                   {"commit": "x"}, {"files": {"a/b/c": 1}}, {"files": []}])  # fmt: skip
def test_a_manifest_of_another_form_is_refused(house: House, tmp_path: Path, value: dict[str, object]) -> None:
    """No traceback, and nothing changes."""
    backup(house.warehouse, tmp_path / "copy", data=True)
    manifest = json.loads((tmp_path / "copy" / MANIFEST).read_text())
    (tmp_path / "copy" / MANIFEST).write_text(json.dumps(manifest | value))
    with pytest.raises(StateError, match=r"is damaged|are not of a warehouse"):
        house.restore(tmp_path / "copy")


def test_a_backup_while_others_release_is_of_one_instant(house: House, tmp_path: Path) -> None:
    """Each copy shows a release wholly: its pointers, the rows that they name, and the packets written before it."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(lambda: [house.release(n) for n in range(4, 12)])
        copies: list[Path] = []
        while not working.done() or not copies:
            copies.append(tmp_path / f"copy{len(copies)}")
            backup(house.warehouse, copies[-1], data=True)
        working.result()
    for number, folder in enumerate(copies):
        other = House(tmp_path / f"other{number}")
        assert other.restore(folder).missing == ()
        shown = other.open().environments.read("prod").pointers["a"].segments[-1]
        count = int(f"{shown.interval.end:%d}") - 1
        assert other.rows() == 3 * count
        assert len(other.open().releases.all("prod")) == count
        assert ArrowFolder(f"{other.warehouse}/evidence/p{count}").read("packet.json") == b"{}"
        batches = {e.batch for e in other.open().ledger.entries()}
        assert {f"b{n}" for n in range(1, count + 1)} <= batches


def test_a_backup_that_is_killed_is_none_and_is_run_again(house: House, tmp_path: Path) -> None:
    """kill -9 at some moments of it: never a manifest with half of the files."""
    text = "import sys; from pathlib import Path; from backfill_assets.adapters.backup import backup\n"
    text += "print('go', flush=True); backup(sys.argv[1], Path(sys.argv[2]), data=True)"
    copy = tmp_path / "copy"
    for wait in (0.0, 0.05, 0.15, 0.3):
        process = start(*script(text, house.warehouse, copy))
        assert process.stdout is not None and process.stdout.readline() == "go\n"
        time.sleep(wait)
        kill(process)
        if (copy / MANIFEST).exists():
            break
        with pytest.raises(StateError, match="not finished"):
            read_backup(copy)
    if not (copy / MANIFEST).exists():
        backup(house.warehouse, copy, data=True)
    assert House(tmp_path / "new").restore(copy).missing == ()


def test_a_backup_that_was_killed_before_it_began_is_run_again(house: House, tmp_path: Path) -> None:
    """What it left is the file that grew, under a name with its process number."""
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / f".{BEGUN}.4711").write_text('{"wareh')
    backup(house.warehouse, copy, data=True)
    assert sorted(f.name for f in copy.iterdir() if BEGUN in f.name) == []
    assert House(tmp_path / "new").restore(copy).missing == ()


def test_a_backup_writes_over_nothing(house: House, tmp_path: Path) -> None:
    """Another warehouse, somebody's files, a backup of another one that was begun: all stay as they are."""
    other = House(tmp_path / "other")
    other.release(1)
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / BEGUN).write_text('{"warehouse": "another"}')
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.txt").write_text("x")
    for folder in (Path(other.warehouse), begun, notes):
        before = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}
        with pytest.raises(StateError, match="is not empty"):
            backup(house.warehouse, folder, data=True)
        assert {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()} == before
    empty = tmp_path / "disk"
    (empty / "lost+found").mkdir(parents=True)
    backup(house.warehouse, empty, data=True)
    assert not (empty / BEGUN).exists() and read_backup(empty).files


@pytest.mark.parametrize("step", range(8))
def test_a_restore_that_dies_at_any_step_is_run_again(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Before or after any copy or move: what is found is the old state, the new one, or refused."""
    backup(house.warehouse, tmp_path / "copy", data=True)
    house.release(4)
    left = [step]

    def mortal(name: str) -> None:
        real = getattr(module, name)

        def dies(*arguments: object, **more: object) -> object:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(*arguments, **more)

        patch.setattr(module, name, dies)

    with monkeypatch.context() as patch:
        for name in ("_copy_checked", "_move", "write_identity", "write_memory"):
            mortal(name)
        died = False
        try:
            house.restore(tmp_path / "copy", over_newer=True)
        except KeyboardInterrupt:
            died = True
    if died:
        try:
            assert house.rows() in (9, 12)
        except StateError as error:
            assert "backfill restore" in error.fix
        house.restore(tmp_path / "copy", over_newer=True)
    assert house.rows() == 9
    assert not list(Path(house.warehouse).glob(".restoring-*"))


def test_the_commands_say_what_they_did(house: House, tmp_path: Path) -> None:
    """backup, restore and warehouse, as processes of a project's folder."""
    (house.root / "backfill.yml").write_text(f"name: shop\nwarehouse: {house.warehouse}\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from backfill_assets.cli import main; main()", "--project", str(house.root)]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)

    assert "release" in run("backup", str(tmp_path / "copy")).stdout
    shutil.rmtree(f"{house.warehouse}/_control")
    assert run("warehouse").returncode == 1
    done = run("restore", str(tmp_path / "copy"))
    assert done.returncode == 0, done.stderr
    said = run("warehouse")
    assert said.returncode == 0 and "restored" in said.stdout
    assert run("warehouse", "--adopt").returncode == 1
