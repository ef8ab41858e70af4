"""A Delta source whose log lost an entry, or part of one: it is named, with the line that declares it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backfill_assets.adapters.log_folder import LOG, entry_name
from backfill_assets_tests.contracts.test_frozen_sources import COUNTS, SOURCES, add
from backfill_assets_tests.projects import backfill_here, write_project


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda f: f.write_bytes(b""), "is empty"),
        (lambda f: f.write_bytes(f.read_bytes()[: f.stat().st_size // 2]), "cut off"),
        (lambda f: f.unlink(), "is missing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_the_source_is_named(tmp_path: Path, command: str, harm: Callable[[Path], object], why: str) -> None:
    """Not the warehouse, and none of its remedies: the table is others'."""
    write_project(tmp_path, {"counts.sql": COUNTS.format(source="clicks")}, sources=SOURCES, clock="2024-01-05")
    for day in range(1, 5):
        add(tmp_path, day)
    harm(tmp_path / "data" / "clicks" / LOG / entry_name(2))
    said = backfill_here(command, project=tmp_path)
    assert said.code == 1 and "the log of source clicks is damaged" in said.err, said
    assert why in said.err and str(tmp_path / "data" / "clicks") in said.err
    assert f"{tmp_path / 'sources.yml'}:2" in said.err
    assert "--repair" not in said.err and "doctor" not in said.err and "Traceback" not in said.err
