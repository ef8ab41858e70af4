"""Several accounts, one warehouse: what one of them may not use is named, with what gives it its rights."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.adapters.folder import ArrowFolder
from backfill_assets.adapters.machine import check_room
from backfill_assets.adapters.rights import check_rights
from backfill_assets.adapters.warehouse import as_it_is, open_store, read_identity, write_identity
from backfill_assets.cli.app import _end  # pyright: ignore[reportPrivateUsage]
from backfill_assets.core.errors import SettingsError, StateError
from backfill_assets.core.settings import Settings
from backfill_assets.files.no_access import NoAccessError, no_access
from backfill_assets.state.control import Control
from backfill_assets.state.identity import IDENTITY
from backfill_assets_tests.fakes import NOW, a_pointer, days

Close = Callable[[Path], None]


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> Close:
    """Makes a folder one that this account may neither list nor write to, whoever runs the tests."""
    closed: list[str] = []
    scandir, listdir, opened, access = os.scandir, os.listdir, open, os.access

    def within(path: object) -> bool:
        return isinstance(path, str | os.PathLike) and any(os.fspath(path).startswith(c) for c in closed)  # type: ignore[arg-type]

    def guarded(real: Callable[..., object]) -> Callable[..., object]:
        def call(path: object, *more: object, **named: object) -> object:
            if within(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *more, **named)

        return call

    monkeypatch.setattr("os.scandir", guarded(scandir))
    monkeypatch.setattr("os.listdir", guarded(listdir))
    for name in ("builtins.open", "io.open"):
        monkeypatch.setattr(name, guarded(opened))
    monkeypatch.setattr("os.access", lambda path, *more, **named: not within(path) and access(path, *more, **named))
    return lambda folder: closed.append(str(folder))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A warehouse with a release and a salt, of which all is noted."""
    control = Control.over(open_store(settings(tmp_path), tmp_path))
    control.salt.get()
    pointer = a_pointer("a", "a-1", days("01"))
    control.environments.flip(control.environments.read("prod"), [pointer], release="r1", at=NOW)
    identity = read_identity(str(tmp_path))
    assert identity
    write_identity(str(tmp_path), as_it_is(str(tmp_path), identity))
    return tmp_path


def settings(where: Path) -> Settings:
    return Settings(name="shop", warehouse=str(where))


@pytest.mark.parametrize("table", ["environments", "environments/_delta_log"])
def test_a_control_table_that_this_account_may_not_read(place: Path, close: Close, table: str) -> None:
    """Refused as such, not as a fault of the program or of the records."""
    close(place / "_control" / table)
    with pytest.raises(NoAccessError) as refused:
        open_store(settings(place), place)
    assert str(place / "_control" / "environments" / "_delta_log") in refused.value.what
    assert "with the rights drwx" in refused.value.why and "umask 0007" in refused.value.fix


def test_a_control_table_that_this_account_may_only_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before delta-rs tries, which would end in a panic of its own. Nothing is written."""
    control = Control.over(open_store(settings(place), place))
    there = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and there(path, mode))
    before = control.environments.read("prod")
    with pytest.raises(NoAccessError, match="_control/environments"):
        control.environments.flip(before, [a_pointer("a", "a-2", days("01"))], release="r2", at=NOW)
    assert control.environments.read("prod") == before


def test_who_approves_needs_no_salt(place: Path, close: Close) -> None:
    """A table of secrets that is closed is not taken for a lost one, nor forgotten; who asks for it is told."""
    close(place / "_control" / "salt")
    control = Control.over(open_store(settings(place), place))
    assert set(control.environments.read("prod").pointers) == {"a"}
    identity = read_identity(str(place))
    assert identity and as_it_is(str(place), identity).tables["salt"] == identity.tables["salt"]
    with pytest.raises(NoAccessError):
        control.salt.get()


def test_a_salt_that_is_lost_is_missed_all_the_same(place: Path) -> None:
    """Closed is not the same as gone."""
    for entry in (place / "_control" / "salt" / "_delta_log").iterdir():
        entry.unlink()
    with pytest.raises(StateError, match="lost, or older") as refused:
        open_store(settings(place), place)
    assert "salt is gone" in refused.value.why


def test_the_salt_of_a_shared_warehouse_is_its_group_s(tmp_path: Path) -> None:
    """Its folder stays one whose files are of the group; nobody else may enter."""
    control = tmp_path / "_control"
    control.mkdir()
    control.chmod(0o2770)
    before = os.umask(0o007)
    try:
        Control.over(DeltaStore(str(tmp_path))).salt.get()
    finally:
        os.umask(before)
    for folder in (control / "salt", control / "salt" / "_delta_log"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o2770


def test_packets_and_the_identity(place: Path, close: Close) -> None:
    """What is read or written beside the tables is told likewise."""
    close(place / IDENTITY)
    with pytest.raises(NoAccessError):
        read_identity(str(place))
    close(place / "evidence")
    with pytest.raises(NoAccessError):
        ArrowFolder(str(place / "evidence")).write("p/packet.json", b"{}")


def test_doctor_looks(place: Path, close: Close, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each folder: those that this account may not use, and those that a shared warehouse keeps from its group."""
    for each in (place, *(p for p in place.rglob("*") if p.is_dir())):
        each.chmod(0o755)
    assert "this account alone writes" in check_rights(str(place))
    place.chmod(0o2775)
    with pytest.raises(SettingsError, match="its group shares the warehouse, and may not use") as refused:
        check_rights(str(place))
    assert "_control is of" in refused.value.why
    for each in (place, *(p for p in place.rglob("*") if p.is_dir())):
        each.chmod(0o2770)
    assert "its group" in check_rights(str(place))
    part = place / "daily" / "0123" / "ds=2024-01-01"
    part.mkdir(parents=True)
    part.chmod(0o2755)
    for each in part.parents[:2]:
        each.chmod(0o2770)
    with pytest.raises(SettingsError, match="may not use 1 folders") as refused:
        check_rights(str(place))
    assert "ds=2024-01-01 is of" in refused.value.why
    part.chmod(0o2770)
    close(place / "_control" / "salt")
    assert "can approve and promote" in check_rights(str(place))
    close(place / "_control" / "plans")
    close(place / "_control" / "ledger")
    close(place / "_control" / "environments")
    with pytest.raises(SettingsError, match="this account may not use") as refused:
        check_rights(str(place))
    assert "environments" in refused.value.why and "chmod g+s" in refused.value.fix
    assert check_rights("s3://bucket/w") == check_rights(str(place / "none")) == "nothing is there yet"


def test_any_other_file_is_told_without_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the machine's rights that are wrong: nothing for the maintainers."""
    with pytest.raises(SystemExit) as ended:
        _end(PermissionError(13, "Permission denied", str(tmp_path)))
    said = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 1 and "may not use" in said and "give this account the rights" in said
    assert "maintainers" not in said


def test_a_file_system_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No owner and no rights help there. Found where a build begins, and where an account is refused."""
    real = os.statvfs(tmp_path)

    class ReadOnly:
        f_flag = real.f_flag | os.ST_RDONLY

    monkeypatch.setattr(os, "statvfs", lambda _: ReadOnly())
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**40))
    with pytest.raises(SettingsError) as raised:
        check_room(str(tmp_path))
    assert check_room(str(tmp_path), to_write=False) == 2**40, "who reads needs no more"
    for refused in (raised.value, no_access(tmp_path)):
        assert "is on a file system that is read-only" in refused.why and "remount,rw" in refused.fix
        assert "owner" not in refused.fix
