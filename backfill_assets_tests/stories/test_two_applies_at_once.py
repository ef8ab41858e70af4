"""Two people apply the same plan at the same moment: both succeed, and every day is built once (B6, C1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backfill_assets.adapters.rights import check_rights
from backfill_assets.app.context import Context
from backfill_assets.state.ledger import Kind
from backfill_assets_tests.projects import (
    BACKFILL,
    backfill,
    built_daily,
    expected_daily,
    finish,
    path_of,
    small_project,
    start,
)

pytestmark = pytest.mark.spark


def test_two_applies_at_once(tmp_path: Path) -> None:
    """Both commands end with 0; no row is there twice; the ledger is complete and the table right."""
    root = small_project(tmp_path, days=8, batch_size=2, batch_concurrency=2)
    warehouse = root / ".backfill" / "warehouse"
    warehouse.mkdir(parents=True)
    warehouse.chmod(0o2770)  # they share it
    before = os.umask(0o007)
    both = [start(BACKFILL, "--project", root, "apply") for _ in range(2)]
    os.umask(before)

    said = [finish(process) for process in both]

    assert [one.code for one in said] == [0, 0], "\n---\n".join(one.out for one in said)
    place = Context.open(root)
    assert built_daily(place) == expected_daily(root)
    facts = place.facts()
    for name, model in place.project.models.items():
        assert facts.tables.coverage[name].green == model.expected(place.now())
        assert path_of(place, name)
    entries = place.control.ledger.entries()
    for name, model in place.project.models.items():
        built = [e.interval for e in entries if e.kind is Kind.BUILT and e.model == name]
        assert sum(map(model.cadence.count, built)) == model.expected(place.now()).count(model.cadence), (
            f"{name}: twice"
        )
    runs = {e.run for e in entries if e.kind is Kind.STARTED}
    assert len(runs) == 2, "both did some of the work, or this test proves nothing"
    assert check_rights(str(warehouse)).endswith("its group"), "each may go on with what the other one made"
    again = backfill("plan", "--json", project=root)
    assert again.code == 0 and [s["stage"] for s in again.json["stages"]] == ["promote"]
