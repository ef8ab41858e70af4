"""A PostgreSQL server of a test's own: for a metastore, or for Dagster's records."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server(name: str) -> Generator[int]:
    """The port of a server on 127.0.0.1 with an empty database, and a user that needs no password, of this name."""
    programs = programs_of_postgres()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own folders are closed to the server's user
    port = free_port()
    as_other = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}

    def run(program: str, *arguments: str) -> None:
        said = subprocess.run(
            [programs / program, *arguments],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **as_other,
        )
        assert said.returncode == 0, f"{program}: {said.stdout}{said.stderr}"

    data = folder / "data"
    data.mkdir(mode=0o700)
    if as_other:
        shutil.chown(data, "postgres", "postgres")
        shutil.chown(folder, "postgres", "postgres")
    run("initdb", "-D", str(data), "-A", "trust", "-U", name, "--no-sync")
    # Its output goes to a file: a server that inherits our pipes would keep `run` waiting.
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", name, name)
        yield port
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)


def programs_of_postgres() -> Path:
    """Where Debian's packages put the server's programs; a test without them is no test."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")) or [
        Path(p).resolve() for p in (shutil.which("pg_ctl"),) if p
    ]
    if not found:
        pytest.fail("no PostgreSQL server on this machine; install it with: apt-get install -y postgresql")
    return found[-1].parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
