"""Who builds an interval has it alone, until it is done or its process is gone."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backfill_assets.adapters.turn_lock import only_builder
from backfill_assets.core.intervals import Interval
from backfill_assets_tests.fakes import days

HOLDER = """
import sys, time
from backfill_assets.adapters.turn_lock import only_builder
from backfill_assets.core.intervals import Interval
with only_builder(sys.argv[1], "a", "v", Interval.of("2024-01-03", "2024-01-06")) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("interval", "version", "mine"),
    [
        (days("01", "02"), "v", True),
        (days("01", "03"), "v", False),
        (days("04"), "v", False),
        (days("05", "09"), "v", False),
        (days("06", "09"), "v", True),
        (Interval.of("1700-01-01", "2200-01-01"), "v", False),
        (days("04"), "w", True),
    ],
)
def test_intervals_that_overlap(tmp_path: Path, interval: Interval, version: str, mine: bool) -> None:
    """Within one process as well; afterwards it is free."""
    with only_builder(str(tmp_path), "a", "v", Interval.of("2024-01-03", "2024-01-06")) as first:
        assert first
        with only_builder(f"file://{tmp_path}", "a", version, interval) as second:
            assert second is mine
        with only_builder(str(tmp_path), "b", version, interval) as other:
            assert other, "of another model"
    with only_builder(str(tmp_path), "a", version, interval) as again:
        assert again


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_killed_has_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """At once, without a sign of life; one that only stands still keeps it."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "True\n"
        with only_builder(str(tmp_path), "a", "v", days("05")) as mine:
            assert not mine
        other.send_signal(how)
        if how is signal.SIGKILL:
            other.wait()
        with only_builder(str(tmp_path), "a", "v", days("05")) as mine:
            assert mine is (how is signal.SIGKILL)
        other.kill()


FORKING = """
import os, sys, time
from backfill_assets.adapters.turn_lock import only_builder
from backfill_assets.core.intervals import Interval
day = Interval.of("2024-01-03", "2024-01-04")
begun, begins = os.pipe()
with only_builder(sys.argv[1], "a", "v", day) as mine:
    if not (child := os.fork()):
        os.write(begins, b"!")
        time.sleep(60)
        os._exit(0)
    os.read(begun, 1)  # until the fork runs at all, it holds what it was given
    print(mine, child, flush=True)
    sys.stdin.readline()
with only_builder(sys.argv[1], "a", "v", day) as mine:
    print(mine, flush=True)
"""


@pytest.mark.parametrize("killed", [False, True])
def test_a_fork_keeps_nothing(tmp_path: Path, killed: bool) -> None:
    """A pool of processes in somebody's model: neither when its batch is done, nor when its process was killed."""
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout
        mine, child = other.stdout.readline().split()
        assert mine == "True"
        try:
            with only_builder(str(tmp_path), "a", "v", days("03")) as here:
                assert not here
            if killed:
                other.kill()
                other.wait()
            else:
                other.stdin.write("\n")
                other.stdin.flush()
                assert other.stdout.readline() == "True\n", "the same process once more"
                other.wait()
            os.kill(int(child), 0)  # the fork lives
            with only_builder(str(tmp_path), "a", "v", days("03")) as here:
                assert here
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_a_group_shares_the_locks(tmp_path: Path) -> None:
    """Whatever the umask of who comes first; elsewhere they are as any file of the account."""
    for shared in (False, True):
        place = tmp_path / str(shared)
        (place / "_control" / "runs").mkdir(parents=True)
        (place / "_control" / "runs").chmod(0o2775 if shared else 0o755)
        before = os.umask(0o022)
        with only_builder(str(place), "a", "v", days("03")):
            pass
        os.umask(before)
        folder = place / "_control" / "runs" / "locks"
        [file] = folder.iterdir()
        assert bool(folder.stat().st_mode & 0o020) is shared and bool(file.stat().st_mode & 0o020) is shared


def test_where_nobody_can_tell_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an object store, where the folder cannot be written, on a system or a disk without such locks: as before there
    were any, Delta refuses what two commit over each other."""
    one = days("05")
    bucket = "s3://bucket/warehouse"
    with only_builder(bucket, "a", "v", one) as first, only_builder(bucket, "a", "v", one) as second:
        assert first and second
    (tmp_path / "_control").write_text("no folder")
    with only_builder(str(tmp_path), "a", "v", one) as first, only_builder(str(tmp_path), "a", "v", one) as second:
        assert first and second
    (tmp_path / "_control").unlink()

    for number in (errno.EOPNOTSUPP, errno.EACCES):

        def none(*_: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("backfill_assets.adapters.turn_lock.fcntl.fcntl", none)
        with only_builder(str(tmp_path), "a", "v", one) as first, only_builder(str(tmp_path), "a", "v", one) as second:
            assert first and second
    monkeypatch.setattr("backfill_assets.adapters.turn_lock._SET", None)
    with only_builder(str(tmp_path), "a", "v", one) as first, only_builder(str(tmp_path), "a", "v", one) as second:
        assert first and second
