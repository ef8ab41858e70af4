"""The pages of a first hour, played as they are written: each command prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.tutorial import CHANGE, PAGE, plain, played


@pytest.mark.spark
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(PAGE, id="one's own CSV"),
        pytest.param(CHANGE, id="the demo's first change", marks=pytest.mark.extended),
    ],
)
def test_the_page_says_what_happens(path: Path, tmp_path: Path) -> None:
    """But for ids, instants and durations, the page as played is the page as written."""
    page = path.read_text()
    assert plain(played(page, tmp_path)).splitlines() == plain(page).splitlines()
