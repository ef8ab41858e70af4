"""A consumer says that it reads a column that there is not: the plan says so, with the one that may be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import unsparked


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("[ds, total]", []),
        ("[DS, Total]", []),
        ("[ds, totl]", ["board reads daily.totl, which there is not: did you mean total?"]),
        ("[weather]", ["board reads daily.weather, which there is not: it has ds, kind, n, total"]),
    ],
)
def test_it_is_named(tmp_path: Path, columns: str, told: list[str]) -> None:
    """As it is written in consumers.yml; letters are no matter."""
    root = small_project(tmp_path, days=2)
    (root / "consumers.yml").write_text(
        f"last_verified: 2024-01-03\nconsumers:\n  - {{name: board, owner: a@x.com, reads: {{daily: {columns}}}}}\n"
    )
    found = [w for w in plan_request(unsparked(root)).warnings if "reads daily" in w.what]
    assert [f"{w.what}: {w.fix}" for w in found] == told
    assert {w.place for w in found} <= {"consumers.yml:3"}
