"""Commands about the warehouse as a whole, run from the terminal: codes and clean words, also when things are wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from backfill_assets.adapters.log_folder import LOG, entry_name
from backfill_assets.app.context import Context
from backfill_assets_tests.projects import Said, backfill_here, release_by_hand, small_project
from backfill_assets_tests.unsparked import build, unsparked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose environment shows two days of a table; nothing was started for it."""
    made = small_project(tmp_path / "project", days=3)
    release_by_hand(Context.open(made), "a" * 16)
    return made


def run(root: Path, *command: str | Path, code: int) -> Said:
    """The command's words; they are an answer, or a refusal with a reason and a remedy."""
    said = backfill_here(*command, project=root, user="ana")
    assert said.code == code, said
    assert "Traceback" not in said.out + said.err and not re.search(r"\w+Error\b", said.out + said.err), said
    if code == 1 and not said.out:
        assert "backfill: " in said.err and "fix: " in said.err, said
    return said


def test_all_is_well(root: Path, tmp_path: Path) -> None:
    """Each command once, in words and as JSON."""
    for command in (["warehouse"], ["verify", "--all"], ["backup", tmp_path / "copy"], ["migrate"]):
        assert run(root, *command, code=0).out
    said = run(root, "backup", tmp_path / "whole", "--data", "--json", code=0).json
    assert said["release"] and said["files"] > 0
    assert run(root, "verify", "--all", "--json", code=0).json["problems"] == []
    assert "nothing to do" in run(root, "migrate", code=0).out


def test_bring_back_what_was_lost(root: Path, tmp_path: Path) -> None:
    """Everything deleted is refused by each command until it is restored; a newer record is not lost by accident."""
    warehouse = Path(Context.open(root).warehouse)
    run(root, "backup", tmp_path / "copy", "--data", code=0)
    shutil.rmtree(warehouse)
    for command in (["plan"], ["status"], ["warehouse"], ["verify", "--all"], ["backup", tmp_path / "other"]):
        said = run(root, *command, code=1)
        assert "backfill restore" in said.out + said.err or "restore" in said.out + said.err, said
    assert "as it was at" in run(root, "restore", tmp_path / "copy", code=0).out
    assert "0 problems" in run(root, "verify", "--all", code=0).out
    release_by_hand(Context.open(root), "b" * 16)
    refused = run(root, "restore", tmp_path / "copy", code=1)
    assert "--replace" in refused.err


def test_copies_that_are_none(root: Path, tmp_path: Path) -> None:
    """No folder, a file, somebody else's folder, a copy that was not finished, a file of it that was changed."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("x")
    for source in ("nowhere", "file", "folder"):
        run(root, "restore", tmp_path / source, code=1)
    run(root, "backup", tmp_path / "file", code=1)
    run(root, "backup", tmp_path / "copy", code=0)
    manifest = json.loads((tmp_path / "copy" / "backup.json").read_text())
    some = tmp_path / "copy" / sorted(manifest["files"])[0]
    some.write_bytes(b"\0" + some.read_bytes()[1:])
    run(root, "restore", tmp_path / "copy", code=1)
    (tmp_path / "copy" / "backup.json").write_text("{")
    run(root, "restore", tmp_path / "copy", code=1)


def test_a_flipped_bit(root: Path) -> None:
    """`verify --all` names the file; so do `doctor --deep` and JSON, with code 1."""
    place = Context.open(root)
    (file, *_) = sorted(Path(place.warehouse, "daily", "a" * 16).rglob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[4] ^= 255
    file.write_bytes(content[:-30])
    for command in (["verify", "--all"], ["doctor", "--deep"]):
        said = run(root, *command, code=1)
        assert file.name in said.out and "backfill restore SRC" in said.out, said
    assert run(root, "verify", "--all", "--json", code=1).json["problems"]


def test_a_log_that_was_cut_of_a_table_that_nothing_shows(root: Path) -> None:
    """`doctor` and `verify --all` name it, with what to do: without a backup it is deleted, and built again."""
    build(unsparked(root))
    place = Context.open(root)
    version = place.project.fingerprints["daily"]
    table = Path(place.warehouse, "daily", version)
    assert version != place.control.environments.read("prod").pointers["daily"].version
    (table / LOG / entry_name(1)).write_bytes(b"")
    for command in (["doctor"], ["doctor", "--deep"], ["verify", "--all"]):
        said = " ".join(run(root, *command, code=1).out.split())
        assert f"{table}: {entry_name(1)} is empty" in said, said
    assert f"no environment shows {table}: deleted, `backfill apply` builds" in " ".join(
        run(root, "doctor", code=1).out.split()
    )
    shutil.rmtree(table)
    build(unsparked(root))
    assert run(root, "verify", "--all", code=0)
    assert unsparked(root).facts().tables.coverage["daily"].complete


def test_evidence_where_nothing_can_be_written(root: Path) -> None:
    """A file where the folder of packets should be: no traceback, whatever plan is asked for."""
    (Path(Context.open(root).warehouse) / "evidence").write_text("x")
    run(root, "evidence", code=1)
    run(root, "verify", "nowhere/at/all", code=1)
