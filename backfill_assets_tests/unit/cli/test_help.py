"""`backfill --help`: every command once, below a heading."""

from __future__ import annotations

import re
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from backfill_assets.cli.app import app
from backfill_assets.cli.base import SECTIONS


def test_every_command_is_listed_once() -> None:
    """Below one of the headings, each of which has some; no line is wider than a terminal of 80 columns."""
    group: Any = get_command(app)
    said = CliRunner().invoke(app, ["--help"], prog_name="backfill", env={"COLUMNS": "80"}).output
    parts = re.split(r"^(\S.*):$", said, flags=re.MULTILINE)
    lists = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(lists)[1:] == list(dict.fromkeys(SECTIONS.values()))
    listed = [name for title in list(lists)[1:] for name in re.findall(r"^  (\S+)", lists[title], re.MULTILINE)]
    assert sorted(listed) == sorted(group.commands) and all(lists.values())
    assert max(map(len, said.splitlines())) <= 80
