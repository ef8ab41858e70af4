"""What holds secrets is not for everybody on the machine, and not for the repository."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets.app.new_project import make_project
from backfill_assets.defs.dagster_home import ensure_home
from backfill_assets.project.loader import load_project
from backfill_assets.state.salt import Salt
from backfill_assets_tests.projects import DAILY, write_project


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def careless() -> object:
    """A umask that lets everybody read."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def test_the_salt_of_masked_values(tmp_path: Path) -> None:
    """Others than the warehouse's account and group cannot enter its folder."""
    Salt(DeltaStore(str(tmp_path))).get()
    assert mode(tmp_path / "_control" / "salt") & 0o007 == 0


def test_dagster_s_home_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs' configuration and logs are its owner's, and so is the file that names the home."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = ensure_home(write_project(tmp_path / "p", {"daily.sql": DAILY.format(batch_size=1, batch_concurrency=1)}))
    assert mode(home) == 0o700 and mode(home.parent / ".env") == 0o600


def test_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cached of a project is read by its owner only."""
    monkeypatch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))
    load_project(write_project(tmp_path / "p", {"daily.sql": DAILY.format(batch_size=1, batch_concurrency=1)}))
    files = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert files and all(mode(p) & 0o077 == 0 for p in files)


def test_a_new_project_keeps_them_out_of_git(tmp_path: Path) -> None:
    """`backfill init` writes what git is not to take."""
    make_project(tmp_path / "shop")
    ignored = (tmp_path / "shop" / ".gitignore").read_text().splitlines()
    assert {".backfill/", ".dagster/", ".env"} <= set(ignored)
