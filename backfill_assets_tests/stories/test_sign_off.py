"""Whoever validates a model, and whoever depends on it most, sign off what changes in it (E3, F2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backfill_assets.app.context import Context
from backfill_assets_tests.projects import backfill_here as backfill
from backfill_assets_tests.projects import small_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ANA, VERA, CFO = "ana@example.com", "vera@example.com", "cfo@example.com"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, environment: str) -> Path:
    """Ana's `daily`, which vera validates and the cfo's export reads; a change of it by dev is built."""
    root = small_project(tmp_path / "shop", days=3, batch_size=3, environment=environment)
    people = {name: {"accounts": [name.partition("@")[0]]} for name in (ANA, VERA, CFO)}
    settings = root / "backfill.yml"
    more = {"approvals": {"consumers": "high"}, "people": people}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | more))
    reader = {"name": "export", "owner": CFO, "criticality": "high", "reads": ["daily"], "notice": "7 days"}
    (root / "consumers.yml").write_text(json.dumps({"last_verified": "2024-01-04", "consumers": [reader]}))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("grain:", f"contract: {{validation_owner: {VERA}}}\ngrain:", 1))
    assert backfill("apply", "--promote", project=root, user="dev").code == 0, "a first promotion needs nobody"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    planned = backfill("plan", project=root, user="dev")
    assert f"{VERA} (validation owner, for daily)" in planned.out, planned.out
    assert f"{CFO} (owner of consumer export, for daily)" in planned.out
    assert backfill("apply", project=root, user="dev").code == 0
    return root


def test_prod_waits_for_all_who_have_a_say(shop: Path) -> None:
    """Each finds the plan in their own list with the command that answers it; prod moves after the last of them."""
    [plan] = [r.id for r in Context.open(shop).control.plans.all() if r.live]
    for name in (ANA, VERA, CFO):
        closed = backfill("promote", "--json", project=shop, user="dev")
        assert closed.code == 4 and any(name in o["what"] for o in closed.json["in_the_way"]), closed
        assert f"{name}" in " ".join(backfill("evidence", "--json", project=shop).json["summary"]["accepted"])
        [waiting] = backfill("plans", "--waiting-for", name, "--json", project=shop, user="dev").json["plans"]
        [lacking] = waiting["lacking"]
        assert (waiting["plan"], lacking["owner"], waiting["built"]) == (plan, name, True)
        told = backfill("plans", "--waiting-for", name, project=shop, user="dev").out
        assert lacking["command"] in told and ("notice: export" in told) == (name == CFO)
        said = backfill(*lacking["command"].split()[1:], project=shop, user=name.partition("@")[0])
        assert said.code == 0, said
        assert f"Nothing waits for {name}." in backfill("plans", "--waiting-for", name, project=shop).out or name == CFO
    moved = backfill("promote", "--json", project=shop, user="dev")
    assert moved.code == 0, moved
    packet = json.loads((Path(Context.open(shop).warehouse) / "evidence" / plan / "packet.json").read_text())
    assert sorted(a["owner"] for a in packet["approvals"]) == sorted((ANA, VERA, CFO))
    assert packet["rules"]["validation"] == {"daily": VERA}
    assert packet["rules"]["consumers"] == {"export": f"{CFO} about daily"}
