"""A model that begins earlier: what is shown of its readers does not follow by itself, and the plan says so."""

from __future__ import annotations

from pathlib import Path

from backfill_assets.app.plan import plan_request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import promoted, unsparked


def begins(root: Path, model: str, day: str) -> None:
    file = root / "models" / f"{model}.sql"
    header, start, rest = file.read_text().partition("start: 2024-01-")
    file.write_text(f"{header}{start}{day}{rest[2:]}")


def test_a_reader_that_looks_back_is_named(tmp_path: Path) -> None:
    """`running` reads the day before: its first day read one that `daily` did not have. Ordinary days are no matter."""
    root = small_project(tmp_path, days=10)
    for model in ("daily", "running"):
        begins(root, model, "04")
    promoted(root)
    begins(root, "daily", "02")
    [found] = [w for w in plan_request(unsparked(root)).warnings if "had" in w.what]
    assert found.what == "running 2024-01-04 was computed before daily had 2024-01-02..2024-01-03, and stays as it is"
    assert found.fix == "once this is promoted: backfill apply --restate running:2024-01-04"
    assert found.place == "models/running.sql"


def test_a_reader_that_begins_with_it_is_built(tmp_path: Path) -> None:
    """What is to be built anyway reads all there is."""
    root = small_project(tmp_path, days=10)
    begins(root, "daily", "04")
    begins(root, "running", "05")
    promoted(root)
    begins(root, "daily", "02")
    begins(root, "running", "02")
    assert not [w for w in plan_request(unsparked(root)).warnings if "had" in w.what]
