"""The tutorial on one's own CSV, played as it is written: each command prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets_tests.tutorial import PAGE, plain, played


@pytest.mark.spark
def test_the_page_says_what_happens(tmp_path: Path) -> None:
    """But for ids, instants and durations, the page as played is the page as written."""
    page = PAGE.read_text()
    assert plain(played(page, tmp_path)) == plain(page)
