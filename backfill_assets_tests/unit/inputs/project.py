"""A small project that is right, to be made wrong in one place; and the command over it, in this process, no JVM."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

HEADER = "start: 2024-01-01\ngrain: [ds]\n"
QUERY = "SELECT ds, kind, clicks FROM events WHERE ds >= :start AND ds < :end"
SOURCES = """\
sources:
  - name: events
    path: data/events
    format: csv
    time_column: ds
    columns: {ds: date, kind: string, clicks: bigint}
"""
CONSUMERS = "consumers:\n  - name: board\n    reads: [daily]\n"
SETTINGS = "name: shop\nclock: 2024-01-05\napprovals: {required: false}\n"
PYTHON = """\
from backfill_assets import model


@model(
    start="2024-01-01",
    grain=["ds"],
    columns={"ds": {"type": "date"}, "clicks": {"type": "bigint"}},
)
def py(daily, interval):
    return daily.select("ds", "clicks")
"""
FILES: Mapping[str, str] = {
    "backfill.yml": SETTINGS,
    "sources.yml": SOURCES,
    "consumers.yml": CONSUMERS,
    "models/daily.sql": f"/*\n{HEADER}*/\n{QUERY}\n",
    "data/events/one.csv": "ds,kind,clicks\n2024-01-01,a,1\n",
}
CODES = {0, 1, 2, 3, 4, 5, 70, 130}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def write(root: Path, changes: Mapping[str, str | bytes | None] | None = None) -> Path:
    """The project, with some files written otherwise; None: not there at all."""
    for name, text in {**FILES, **(changes or {})}.items():
        if text is None:
            continue
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def run(*arguments: str, project: Path | None = None, cwd: Path | None = None, stdin: bytes = b"", **env: str) -> Told:
    """The command to its end, as in a terminal of its own."""
    from backfill_assets.cli import main

    code, out, err = 0, io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for name in [n for n in os.environ if n.startswith("BACKFILL_") and n != "BACKFILL_CACHE"]:
            patch.delenv(name)
        patch.setenv("BACKFILL_PROJECT", "")  # the command sets it for good
        if project is not None:
            patch.setenv("BACKFILL_PROJECT", str(project))
        for name, value in env.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        patch.setattr(sys, "argv", ["backfill", *arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Told(code=code, out=out.getvalue(), err=err.getvalue())


def assert_told(told: Told, code: int, *words: str) -> None:
    """The command was refused with this code and these words, with a remedy, and without a trace."""
    everything = told.out + told.err
    assert told.code == code, told
    assert "Traceback" not in everything and "stopped by an unexpected error" not in everything, told
    for word in words:
        assert word in everything, f"{word!r} is not in:\n{everything}"
