"""A newest log entry that a loss of power left empty is set aside by a command; never one that anybody relied on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.log_folder import LOG, entry_name, read_log
from backfill_assets.adapters.repair import repair
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.adapters.warehouse import read_identity
from backfill_assets.core.errors import StateError
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.contracts.test_identity import A1, A2, House
from backfill_assets_tests.contracts.test_power_loss import a_table, cut, empty_it
from backfill_assets_tests.fakes import days
from backfill_assets_tests.projects import backfill_here, small_project


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Two releases, and a ledger that goes on after them; the project can be opened by the command line."""
    made = House(tmp_path)
    made.promote(A1, A2)
    for number in range(3):
        made.open().ledger.append([an_entry(commit=number)])
    settings = json.loads((small_project(made.root, days=2) / "backfill.yml").read_text())
    more = {"name": "shop", "warehouse": str(made.warehouse)}
    (made.root / "backfill.yml").write_text(json.dumps(settings | more))
    return made


def an_entry(commit: int, model: str = "a", version: str = "a-1") -> Entry:
    at, day = datetime.now(UTC), days("01")
    return Entry(kind=Kind.BUILT, model=model, version=version, interval=day, table_commit=commit, batch="b", at=at)


def newest(house: House, table: str) -> Path:
    location = house.warehouse / table
    return location / LOG / entry_name(read_log(str(location)).head)


@pytest.mark.parametrize("damage", [empty_it, cut])
def test_an_entry_that_nobody_was_told_of(house: House, damage: object) -> None:
    """Every command refuses and names the command; after that all is as before the entry, and it is written down."""
    before = [e.table_commit for e in house.open().ledger.entries()]
    house.open().ledger.append([an_entry(commit=9)])
    file = newest(house, "_control/ledger")
    damage(file)  # type: ignore[operator]
    for command in (["status"], ["plan"], ["warehouse"], ["backup", "copy"], ["doctor", "--deep"], ["migrate"]):
        said = backfill_here(*command, project=house.root)
        assert said.code == 1 and "backfill warehouse --repair" in said.out + said.err, (command, said)
        assert "Traceback" not in said.out + said.err
    done = backfill_here("warehouse", "--repair", project=house.root, user="ana")
    assert done.code == 0 and "set aside" in done.err and "_control/ledger" in done.err, done
    assert [e.table_commit for e in house.open().ledger.entries()] == before
    assert house.open().environments.read("prod").pointers["a"].version == "a-2"
    identity = read_identity(str(house.warehouse))
    assert identity is not None and identity.history[-1]["what"] == "repaired"
    assert len(list((house.warehouse / ".aside").rglob(file.name))) == 1 and not file.exists()
    again = backfill_here("warehouse", "--repair", project=house.root)
    assert again.code == 0 and "set aside" not in again.err
    house.open().ledger.append([an_entry(commit=10)])
    assert [e.table_commit for e in house.open().ledger.entries()] == [*before, 10]


def test_an_entry_that_a_release_noted(house: House) -> None:
    """The newest release's own entry: lost, not unfinished. Nothing is touched, and the remedy is a backup."""
    file = newest(house, "_control/environments")
    empty_it(file)
    empty_it(newest(house, "_control/ledger"))
    said = backfill_here("warehouse", "--repair", project=house.root)
    assert said.code == 1 and "it was acknowledged" in said.err and "backfill restore SRC" in said.err
    assert file.exists() and newest(house, "_control/ledger").stat().st_size == 0
    (house.warehouse / "warehouse.json").unlink()  # the project's folder remembers it, too
    with pytest.raises(StateError, match="_control/environments cannot be set aside"):
        repair(house.settings, house.root, by="ana")


@pytest.mark.parametrize(("named", "kept"), [(6, False), (5, True)])
def test_tables_of_versions(house: House, named: int, kept: bool) -> None:
    """A commit that the ledger names is lost when its entry is; one that it does not name yet never counted."""
    location = Path(a_table(house.warehouse))
    house.open().ledger.append([an_entry(commit=named)])
    empty_it(location / LOG / entry_name(6))
    if not kept:
        with pytest.raises(StateError, match="commit 6 of a/a-1 cannot be set aside"):
            repair(house.settings, house.root, by="ana")
        return
    assert [(one.table, one.commit) for one in repair(house.settings, house.root, by="ana")] == [("a/a-1", 6)]
    assert DeltaTableLog(str(house.warehouse)).head("a", "a-1") == 5


def test_more_than_the_newest_entry(house: House) -> None:
    """A hole further down is no unfinished write."""
    location = house.warehouse / "_control" / "ledger"
    (location / LOG / entry_name(1)).unlink()
    empty_it(newest(house, "_control/ledger"))
    with pytest.raises(StateError, match="is damaged; nothing is read from it") as error:
        repair(house.settings, house.root, by="ana")
    assert error.value.why == f"{entry_name(1)} is missing"


@pytest.mark.parametrize("lost", ["torn", "gone", "with its entry"])
def test_a_checkpoint_that_cannot_be_read(house: House, lost: str) -> None:
    """The entries say the same: all rows are there again, and can be added to. An entry that is damaged itself goes
    with the checkpoint of its commit."""
    location = house.warehouse / "_control" / "ledger"
    before = [e.table_commit for e in house.open().ledger.entries()]
    if lost == "with its entry":
        house.open().ledger.append([an_entry(commit=7)])
    DeltaTable(location).create_checkpoint()
    checkpoint = newest(house, "_control/ledger").with_suffix(".checkpoint.parquet")
    if lost == "gone":
        checkpoint.unlink()
    elif lost == "torn":
        checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    else:
        empty_it(newest(house, "_control/ledger"))
    with pytest.raises(StateError):
        house.open().ledger.entries()
    assert [one.table for one in repair(house.settings, house.root, by="ana")] == ["_control/ledger"]
    assert [e.table_commit for e in house.open().ledger.entries()] == before
    assert repair(house.settings, house.root, by="ana") == ()
    house.open().ledger.append([an_entry(commit=10)])
    assert [e.table_commit for e in house.open().ledger.entries()] == [*before, 10]


def test_it_stands_alone(house: House) -> None:
    """With --forget or --adopt nobody could say what is meant."""
    for more in (["--forget"], ["--adopt", "--why", "x"]):
        said = backfill_here("warehouse", "--repair", *more, project=house.root)
        assert said.code != 0 and "stand alone" in said.err
    assert Control.over(DeltaStore(str(house.warehouse))).ledger.entries()
