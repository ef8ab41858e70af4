"""The files of signs of life: there while a run works, gone after it, left behind by one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backfill_assets.adapters.heartbeat import (
    FORGET_AFTER,
    machine_name,
    read_heartbeats,
    runs_folder,
    sending_heartbeats,
)
from backfill_assets.core.processes import is_running
from backfill_assets.state.heartbeats import why_stopped
from backfill_assets.state.writer_leases import WriterLeases
from backfill_assets_tests.memory_store import MemoryStore

BEATS = """
import sys, time
from backfill_assets.adapters.heartbeat import sending_heartbeats
with sending_heartbeats(sys.argv[1], "killed"):
    print("there", flush=True)
    time.sleep(600)
"""


def test_it_beats_while_the_run_works(tmp_path: Path) -> None:
    """Blocks of one run share a file; when the last one ends in order, it goes."""
    warehouse = str(tmp_path / "ware house")
    assert read_heartbeats(warehouse) == []
    with sending_heartbeats(warehouse, "r"), sending_heartbeats(warehouse, "other"):
        with sending_heartbeats(warehouse, "r"):
            pass
        beats = read_heartbeats(warehouse)
        assert sorted((b.run, b.home, b.pid) for b in beats) == [
            (r, machine_name(), os.getpid()) for r in ("other", "r")
        ]
        assert why_stopped(beats, "r", home=machine_name(), alive=is_running) == ""
    assert read_heartbeats(warehouse) == []


def test_a_killed_process_is_known_at_once(tmp_path: Path) -> None:
    """kill -9 leaves its file behind: on the same machine nobody waits for it to grow old."""
    process = subprocess.Popen([sys.executable, "-c", BEATS, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stdout.readline() == "there\n"
        assert why_stopped(read_heartbeats(str(tmp_path)), "killed", home=machine_name(), alive=is_running) == ""
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert (
        why_stopped(read_heartbeats(str(tmp_path)), "killed", home=machine_name(), alive=is_running)
        == f"its process {process.pid} is gone"
    )


def test_what_lies_in_the_folder_harms_nobody(tmp_path: Path) -> None:
    """A cut file, somebody else's, a folder that cannot be written: no error, and no build stops."""
    folder = Path(runs_folder(str(tmp_path)))
    folder.mkdir(parents=True)
    (folder / "cut.json").write_text('{"run": "x"')
    (folder / "list.json").write_text("[]")
    (folder / "notes.txt").write_text("hello")
    assert read_heartbeats(str(tmp_path)) == []
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "_control").write_text("a file where a folder should be")
    with sending_heartbeats(str(blocked), "r"):
        pass


def test_old_files_are_removed(tmp_path: Path) -> None:
    """What a killed run left goes after a week, when another one beats."""
    from backfill_assets.adapters import heartbeat
    from backfill_assets.adapters.folder import ArrowFolder

    folder = Path(runs_folder(str(tmp_path)))
    folder.mkdir(parents=True)
    for name, age in (("old.json", FORGET_AFTER + 60), ("young.json", 60)):
        (folder / name).write_text("{}")
        then = (folder / name).stat().st_mtime - age
        os.utime(folder / name, (then, then))
    heartbeat._Heart(ArrowFolder(str(folder)), "r")._tidy()
    assert [f.name for f in folder.iterdir()] == ["young.json"]


def test_signs_of_life_alone_stop_nobody(tmp_path: Path) -> None:
    """Where one process at a time writes to a table, another one that only gives them is not asked about: neither where
    nobody has the lease, nor where this process has it."""
    from backfill_assets.adapters import heartbeat, writer_lease

    house, runs = str(tmp_path), Path(runs_folder(str(tmp_path)))
    runs.mkdir(parents=True)
    (runs / "theirs.json").write_text(json.dumps({"run": "theirs", "home": "elsewhere/1", "pid": 7}))
    leases = WriterLeases(MemoryStore())
    with pytest.MonkeyPatch.context() as patch:
        for module in (heartbeat, writer_lease):
            patch.setattr(module, "is_s3", lambda _: True)
        with (
            sending_heartbeats(house, "mine"),
            writer_lease.writing(house, leases, "mine", "daily", "v1"),
            writer_lease.writing(house, leases, "mine", "daily", "v1"),
        ):
            [lease] = leases.all()
            assert (lease.model, lease.run, lease.process) == ("daily", "mine", heartbeat.process_token())
            assert heartbeat.silent_for(house, lease.process) is not None
            assert heartbeat.silent_for(house, "another") is None
        assert leases.all() == []
