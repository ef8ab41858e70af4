"""A command that no shell would take apart is told when the project is read, not when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.project import CONSUMERS, assert_told, run, write


@pytest.mark.parametrize("command", ['a "b', "a 'b", "a \\"])
def test_an_open_quote(tmp_path: Path, command: str) -> None:
    """With its line."""
    quoted = "'" + command.replace("'", "''") + "'"
    entry = f"    evaluations:\n      - {{name: e, days: 2024-01-01..2024-01-02, command: {quoted}}}\n"
    told = run("plan", project=write(tmp_path, {"consumers.yml": CONSUMERS + entry}))
    assert_told(told, 1, "consumers.yml:5", "is not closed")
