"""A published day on which a new audit fails: `status` counts it as red, not as green or missing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.app.status import read_status
from backfill_assets.cli.status import print_status
from backfill_assets.core.intervals import Ranges
from backfill_assets_tests.projects import days, small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked


def test_a_shown_day_that_is_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown, so it is not missing; with what computes it again."""
    root = promoted(small_project(tmp_path, days=4))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("audits:\n", "audits:\n  - unique: [ds, kind]\n"))
    build(unsparked(root, red={datetime(2024, 1, 2, tzinfo=UTC)}))
    status = read_status(unsparked(root))
    found, other = status.models
    assert (found.red, found.missing) == (Ranges((days("2024-01-02"),)), Ranges())
    assert found.green == other.green - found.red and not other.red
    print_status(status)
    said = " ".join(capsys.readouterr().out.split())
    assert "3 of 4 days green, 1 red" in said and "red: daily 2024-01-02: unique_ds_kind failed; it stays shown" in said
    assert "missing" not in said and "4 of 4 days green prod shows" in said
