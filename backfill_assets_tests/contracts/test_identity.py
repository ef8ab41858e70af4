"""A warehouse knows whose it is and how far it has come: records that are lost, older or another project's are refused,
and never taken for a new warehouse whose first promotion needs nobody's approval."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import backfill_assets
from backfill_assets.adapters import warehouse as module
from backfill_assets.adapters.accepting import adopt, forget, migrate, warehouse_status
from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.warehouse import open_store, read_identity, read_memory, write_identity, write_memory
from backfill_assets.app.context import Context
from backfill_assets.core.errors import BackfillError, StateError
from backfill_assets.core.settings import Settings
from backfill_assets.promote.promote import promote
from backfill_assets.state.approvals import APPROVALS
from backfill_assets.state.control import Control
from backfill_assets.state.identity import IDENTITY, LastRelease, identity_from_json
from backfill_assets.state.ledger import LEDGER
from backfill_assets.state.plans import PLANS
from backfill_assets.state.proofs import PROOFS
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.rules import RULES
from backfill_assets.state.store import Row, Store, TableSpec
from backfill_assets_tests.fakes import a_pointer, days
from backfill_assets_tests.projects import backfill_here, release_by_hand, small_project

A1, A2, A3 = (a_pointer("a", v, days("01", "05")) for v in ("a-1", "a-2", "a-3"))


class House:
    """A project's folder and its warehouse, elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.root, self.warehouse = folder / "project", folder / "mnt" / "warehouse"
        self.root.mkdir(parents=True)
        self.settings = Settings(name="shop", warehouse=str(self.warehouse))

    def open(self, settings: Settings | None = None, root: Path | None = None) -> Control:
        return Control.over(open_store(settings or self.settings, root or self.root))

    def promote(self, *pointers: object) -> None:
        for pointer in pointers:
            control = self.open()
            seen, note = control.environments.read("prod"), ReleaseNote(by="ana")
            promote(control.environments, seen, [pointer], None, note=note)  # type: ignore[list-item]


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Two releases."""
    made = House(tmp_path)
    made.promote(A1, A2)
    return made


def refused(house: House, match: str, **how: object) -> StateError:
    with pytest.raises(StateError, match=match) as error:
        house.open(**how)  # type: ignore[arg-type]
    assert error.value.why and "backfill" in error.value.fix
    return error.value


def test_looking_makes_nothing_and_the_first_record_makes_the_identity(tmp_path: Path) -> None:
    """A new warehouse is one that has neither records nor tables, and that nobody remembers."""
    house = House(tmp_path)
    control = house.open()
    assert control.environments.read("prod").pointers == {} and not house.warehouse.exists()
    house.promote(A1)
    said = read_identity(str(house.warehouse))
    assert said is not None and said.project == "shop" and said.release is not None
    assert said.release.commit == house.open().environments.revision()
    assert identity_from_json(said.to_json(), "x") == said


def test_each_release_is_noted_here_and_in_the_project(house: House) -> None:
    """Release, commit and the newest commit of each control table."""
    house.promote(A3)
    said, control = read_identity(str(house.warehouse)), house.open()
    (*_, newest) = control.releases.all("prod")
    assert said is not None
    assert said.release == LastRelease(id=newest.id, environment="prod", commit=control.environments.revision())
    assert said.tables == {"environments": control.environments.revision()}
    memory = read_memory(house.root, str(house.warehouse))
    assert memory is not None and memory.release == newest.id


def test_a_second_project_is_refused(house: House, tmp_path: Path) -> None:
    """Another name with the same folder, whichever command it is."""
    error = refused(house, "belongs to project shop, not to bakery", settings=replace(house.settings, name="bakery"))
    assert "--adopt" in error.fix
    adopt(replace(house.settings, name="bakery"), house.root, by="ana", why="renamed")
    refused(house, "belongs to project bakery, not to shop")


def _older(house: House, warehouse: Path) -> None:
    shutil.copytree(warehouse / "_control", warehouse.parent / "kept")
    house.promote(A3)
    shutil.rmtree(warehouse / "_control")
    (warehouse.parent / "kept").rename(warehouse / "_control")


def _older_and_went_on(house: House, warehouse: Path) -> None:
    _older(house, warehouse)
    control = Control.over(DeltaStore(str(warehouse)))  # a program that does not look
    promote(control.environments, control.environments.read("prod"), [A1], None, note=ReleaseNote(by="eve"))
    promote(control.environments, control.environments.read("prod"), [A2], None, note=ReleaseNote(by="eve"))


def _whole_folder_older(house: House, warehouse: Path) -> None:
    shutil.copytree(warehouse, warehouse.parent / "kept")
    house.promote(A3)
    shutil.rmtree(warehouse)
    (warehouse.parent / "kept").rename(warehouse)


DAMAGES: dict[str, Callable[[House, Path], object]] = {
    "emptied": lambda _, w: [shutil.rmtree(w / "_control"), (w / "_control").mkdir()],
    "lost": lambda _, w: shutil.rmtree(w / "_control"),
    "a table lost": lambda _, w: shutil.rmtree(w / "_control" / "environments"),
    "older": _older,
    "older, and went on": _older_and_went_on,
    "whole folder older": _whole_folder_older,
    "identity lost": lambda _, w: (w / IDENTITY).unlink(),
    "identity empty": lambda _, w: (w / IDENTITY).write_bytes(b""),
    "identity cut": lambda _, w: (w / IDENTITY).write_bytes((w / IDENTITY).read_bytes()[:40]),
    "identity no object": lambda _, w: (w / IDENTITY).write_text("[1]"),
    "folder lost": lambda _, w: shutil.rmtree(w),
    "folder not mounted": lambda _, w: [shutil.rmtree(w), w.mkdir()],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_records_that_are_not_as_they_were_are_refused_until_somebody_says_so(house: House, name: str) -> None:
    """By everybody who opens them; a deliberate act goes on with what is there, and is kept."""
    DAMAGES[name](house, house.warehouse)
    refused(house, "lost|older|gone|damaged|another")
    assert warehouse_status(house.settings, house.root).problem is not None
    if name.startswith("folder"):
        with pytest.raises(StateError, match="nothing to adopt"):
            adopt(house.settings, house.root, by="ana", why="x")
        assert forget(house.settings, house.root)
        house.open()
        return
    if name.startswith("identity") and name != "identity lost":
        (house.warehouse / IDENTITY).unlink()
    made = adopt(house.settings, house.root, by="ana", why="the disk is gone")
    assert made.history[-1]["why"] == "the disk is gone" and made.generation == 1
    house.open()
    assert warehouse_status(house.settings, house.root).problem is None
    house.promote(A1)


def _row(spec: TableSpec, **said: object) -> Row:
    blank = {"text": "", "time": datetime(2024, 1, 5, tzinfo=UTC), "int": 0, "float": 0.0, "bool": False}
    return {column: blank[kind] for column, kind in spec.columns.items()} | said


def _replaced(store: Store) -> None:
    """As a change of the rules is recorded."""
    table = store.table(RULES)
    table.replace([_row(RULES, entry="e")], where={"entry": ["e"]}, revision=table.revision(), note={})


SAID: dict[str, Callable[[Store], object]] = {
    "rules": _replaced,
    "an approval": lambda store: store.table(APPROVALS).append([_row(APPROVALS)]),
    "a finding": lambda store: store.table(PROOFS).append([_row(PROOFS)]),
    "a plan that is given up": lambda store: store.table(PLANS).append([_row(PLANS)]),
    "a withdrawal": lambda store: store.table(LEDGER).append([_row(LEDGER, kind="withdrawn")]),
}


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("name", SAID)
def test_what_people_said_after_the_newest_release_is_not_lost_unnoticed(house: House, name: str, noted: bool) -> None:
    """Records from before it are refused. Also when whoever recorded it died before the note: the next command made up
    for that (a withdrawal is noted with the next thing that is)."""
    kept = house.warehouse.parent / "kept"
    shutil.copytree(house.warehouse / "_control", kept)
    SAID[name](open_store(house.settings, house.root) if noted else DeltaStore(str(house.warehouse)))
    if not noted:
        house.open()
    said = read_identity(str(house.warehouse))
    shutil.rmtree(house.warehouse / "_control")
    kept.rename(house.warehouse / "_control")
    if name == "a withdrawal" and not noted:
        house.open()
        return
    error = refused(house, "lost, or older than they were")
    assert "warehouse.json knows newer ones" in error.why and said is not None and said.release is not None
    adopt(house.settings, house.root, by="ana", why="as it is")
    house.open()


@pytest.mark.parametrize("name", [name for name in SAID if name != "a withdrawal"])
def test_what_people_said_is_remembered_where_the_whole_folder_is_older(house: House, name: str) -> None:
    """A snapshot of all of it, `warehouse.json` too, from before a change of the rules or an approval: the project's
    folder has seen more. What was adopted, or restored, is taken as it is."""
    kept = house.warehouse.parent / "kept"
    shutil.copytree(house.warehouse, kept)
    SAID[name](open_store(house.settings, house.root))
    shutil.rmtree(house.warehouse)
    kept.rename(house.warehouse)
    error = refused(house, "lost, or older than they were")
    assert "this project has seen commit" in error.why
    adopt(house.settings, house.root, by="ana", why="as it is")
    house.open()
    SAID[name](open_store(house.settings, house.root))
    house.open()


def test_an_older_note_takes_nothing_back_that_is_remembered(house: House) -> None:
    """Another machine's, which overtook ours in an object store: read by a process that records an approval."""
    house.promote(A3)
    where = str(house.warehouse)
    said, before = read_identity(where), read_memory(house.root, where)
    assert said is not None and said.release is not None and before is not None
    release = replace(said.release, id="older", commit=said.release.commit - 1)
    write_memory(house.root, where, replace(said, release=release, tables={"environments": 0, "approvals": 5}))
    assert read_memory(house.root, where) == replace(before, tables={**before.tables, "approvals": 5})


def test_builds_are_not_noted_one_by_one(house: House) -> None:
    """The ledger grows with every batch."""
    before = (house.warehouse / IDENTITY).read_bytes()
    open_store(house.settings, house.root).table(LEDGER).append([_row(LEDGER, kind="built")])
    house.open()
    assert (house.warehouse / IDENTITY).read_bytes() == before


def test_tables_without_records_are_no_new_warehouse(tmp_path: Path) -> None:
    """Also for a project folder that remembers nothing: a fresh clone."""
    house = House(tmp_path)
    (house.warehouse / "a" / "a-1" / "_delta_log").mkdir(parents=True)
    error = refused(house, "has lost its records")
    assert "backfill restore" in error.fix


def test_a_record_that_vanishes_while_a_program_runs_is_refused(house: House) -> None:
    """What was opened before does not go on with nothing."""
    control = house.open()
    shutil.rmtree(house.warehouse / "_control" / "environments")
    with pytest.raises(StateError, match="is lost, or older than it was"):
        control.environments.read("prod")
    with pytest.raises(StateError):
        promote(control.environments, replace(A1, model="b") and _empty(), [A1], None)


def _empty() -> object:
    from backfill_assets.state.environment import Environment

    return Environment(name="prod", revision=-1, pointers={}, releases={})


@pytest.mark.parametrize("when", ["before the note", "disk full"])
def test_a_crash_between_pointers_and_note_is_no_alarm_and_is_made_up_for(
    house: House, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The release happened; the next command notes it, and from then on older records are refused."""

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    kept = house.warehouse.parent / "kept"
    shutil.copytree(house.warehouse / "_control", kept)
    before = read_identity(str(house.warehouse))
    with monkeypatch.context() as patch:
        patch.setattr(module, "_note" if when == "before the note" else "write_identity", fails)
        house.promote(A3)
        assert dict(house.open().environments.read("prod").pointers) == {"a": A3}
    assert read_identity(str(house.warehouse)) == before
    house.open()
    assert read_identity(str(house.warehouse)) != before
    shutil.rmtree(house.warehouse / "_control")
    kept.rename(house.warehouse / "_control")
    refused(house, "older than they were")


def test_a_newer_format_is_refused_for_reading_or_for_writing(house: House) -> None:
    """As its writer said: who may still read it reads it."""
    said = read_identity(str(house.warehouse))
    assert said is not None
    write_identity(str(house.warehouse), replace(said, writer=99))
    control = house.open()
    assert dict(control.environments.read("prod").pointers) == {"a": A2}
    with pytest.raises(StateError, match="written by a newer release"):
        promote(control.environments, control.environments.read("prod"), [A3], None)
    write_identity(str(house.warehouse), replace(said, reader=99))
    refused(house, "was written by a newer release")


def test_an_older_layout_is_read_and_written_after_one_command(tmp_path: Path) -> None:
    """Without an identity, as releases until now left it: nothing is built or audited again."""
    house = House(tmp_path)
    old = Control.over(DeltaStore(str(house.warehouse)))  # as every program wrote before
    for pointer in (A1, A2):
        promote(old.environments, old.environments.read("prod"), [pointer], None, note=ReleaseNote(by="ana"))
    assert not (house.warehouse / IDENTITY).exists()
    control = house.open()
    assert dict(control.environments.read("prod").pointers) == {"a": A2}
    with pytest.raises(StateError, match="was made by an older release") as error:
        promote(control.environments, control.environments.read("prod"), [A3], None)
    assert "backfill migrate" in error.value.fix
    made = migrate(house.settings, house.root, by="ana")
    assert made is not None and made.release is not None
    assert made.release.id == control.releases.all("prod")[-1].id
    assert migrate(house.settings, house.root, by="ana") is None
    house.promote(A3)
    with pytest.raises(StateError, match="nothing to migrate"):
        migrate(replace(house.settings, warehouse=str(tmp_path / "none")), house.root, by="ana")


def test_processes_that_release_at_once_leave_the_newest_note(house: House) -> None:
    """Two environments, many releases side by side."""
    from concurrent.futures import ThreadPoolExecutor

    def release(name: str) -> None:
        control = house.open()
        for version in range(6):
            pointer = a_pointer("a", f"a-{version}", days("01", "05"))
            promote(control.environments, control.environments.read(name), [pointer], None, note=ReleaseNote(by="ana"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(release, ["dev", "test", "prod"]))
    said = read_identity(str(house.warehouse))
    assert said is not None and said.release is not None
    assert said.release.commit == house.open().environments.revision()


def test_an_older_note_that_overtakes_a_newer_one_is_no_loss(house: House) -> None:
    """As two machines may leave it, or an object store: the records are there, and are noted again. Older ones are
    refused as before."""
    where, kept = str(house.warehouse), house.warehouse.parent / "kept"
    older = read_identity(where)
    shutil.copytree(house.warehouse, kept)
    house.promote(A3)
    newer = read_identity(where)
    assert older is not None and newer is not None
    write_identity(where, older)
    assert warehouse_status(house.settings, house.root).problem is None
    assert dict(house.open().environments.read("prod").pointers) == {"a": A3}
    assert read_identity(where) == newer
    shutil.rmtree(house.warehouse)
    kept.rename(house.warehouse)
    refused(house, "older than they were")


def test_another_release_in_the_place_of_the_one_that_was_seen_is_a_loss(house: House, tmp_path: Path) -> None:
    """An older copy of the whole folder, in which another machine went on."""
    kept = house.warehouse.parent / "kept"
    shutil.copytree(house.warehouse, kept)
    house.promote(A3)
    shutil.rmtree(house.warehouse)
    kept.rename(house.warehouse)
    elsewhere = tmp_path / "clone"
    elsewhere.mkdir()
    for pointer in (A1, A2):
        control = house.open(root=elsewhere)
        seen = control.environments.read("prod")
        promote(control.environments, seen, [pointer], None, note=ReleaseNote(by="eve"))
    refused(house, "older than they were")
    house.open(root=elsewhere)


def test_a_note_keeps_what_others_noted_meanwhile(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no lock is: it is read again right before it is written."""
    where, real = str(house.warehouse), module.control_heads
    said = read_identity(where)
    assert said is not None and said.release is not None
    last = LastRelease(id="r9", environment="prod", commit=said.release.commit + 9)

    def meanwhile(there: str) -> dict[str, int]:
        heads = real(there)
        write_identity(there, replace(said, release=last, tables={**heads, "rules": 7}))
        return heads

    monkeypatch.setattr(module, "control_heads", meanwhile)
    release = LastRelease(id="r5", environment="prod", commit=said.release.commit + 5)
    noted = module._note(where, release)  # pyright: ignore[reportPrivateUsage]
    assert noted == read_identity(where)
    assert noted.release == last and noted.tables == {**real(where), "rules": 7}


def test_every_way_in_looks(tmp_path: Path) -> None:
    """Commands, `read`, and what a plan would propose: a lost table of environments is no first promotion."""
    root = small_project(tmp_path, days=2)
    place = Context.open(root)
    release_by_hand(place, place.project.fingerprints["daily"])
    assert backfill_assets.read("daily", project=root).num_rows == 2
    shutil.rmtree(Path(place.warehouse) / "_control" / "environments")
    for command in ("plan", "status", "watch", "promote", "releases", "apply", "plans", "janitor", "rollback"):
        said = backfill_here(command, project=root)
        assert said.code == 1 and "are lost, or older" in said.err and "backfill restore" in said.err, (command, said)
    with pytest.raises(BackfillError, match="are lost, or older"):
        backfill_assets.read("daily", project=root)
    assert "wrong" in backfill_here("doctor", project=root).out
