"""An expectation of a model or a column that there is not is refused before anything is planned or built."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.project import assert_told, run, write


@pytest.mark.parametrize("option", ["--expect-moved", "--expect-unmoved"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dialy", "names no model"),
        ("daily.clikcs", "names no column of daily"),
        ("daily.", "names no column"),
        (".", "names no model"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_slip_is_told_at_once(tmp_path: Path, command: str, option: str, name: str, words: str) -> None:
    """By `plan`, and by `apply` before it builds."""
    assert_told(run(command, option, name, project=write(tmp_path)), 2, f"{option} {name} {words}")


def test_what_there_is_passes(tmp_path: Path) -> None:
    """A model, a column of it in any letters."""
    assert run("plan", "--expect-moved", "daily.CLICKS", "--expect-unmoved", "daily", project=write(tmp_path)).code == 0
