"""What the job `approve` is asked, where somebody typed it badly."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.approve import accepted_findings, approve
from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.defs.approve import _request  # pyright: ignore[reportPrivateUsage]
from backfill_assets.defs.config import given
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import unsparked

BLANK = {"for": [], "reason": "", "accept": [], "by": "", "statement": "", "signature": ""}


def test_no_plan(tmp_path: Path) -> None:
    """An empty name is the name of no plan."""
    place = unsparked(small_project(tmp_path, days=2))
    with pytest.raises(PlanError, match="no plan"):
        approve(place, _request(given("approve", {"plan": "", **BLANK})))


def test_two_reasons() -> None:
    """Neither of them is dropped silently."""
    assert accepted_findings(["a=b", "c=d"]) == {"a": "b", "c": "d"}
    with pytest.raises(UsageError, match="names a twice"):
        accepted_findings(["a=b", "a=c"], "accept")
