"""Every example in a docstring of the package is true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import backfill_assets

ROOT = Path(backfill_assets.__file__).parent
MODULES = sorted(
    "backfill_assets." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and "template" not in path.parts
)


def test_there_are_examples() -> None:
    """The search for examples finds the modules that have some."""
    assert {"backfill_assets.core.intervals", "backfill_assets.core.errors"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    """Running a module's examples gives what they show."""
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
