"""Do the jobs that look at plans and records say and do what their commands do? In process, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.ledger_edits import declare_empty
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.plan.stages import Request
from backfill_assets_tests.review_shop import review_shop


def launch(place: Context, instance: dg.DagsterInstance, name: str, **config: Any) -> dg.ExecuteInProcessResult:
    job = definitions(place).resolve_job_def(name)
    run_config = {"ops": {job.graph.nodes[0].name: {"config": config}}} if config else None
    return job.execute_in_process(run_config=run_config, instance=instance, raise_on_error=False)


def told(done: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """What the step's output says."""
    assert done.success
    [output] = [e.step_output_data.metadata for e in done.all_node_events if e.is_successful_output]
    return {name: value.value for name, value in output.items()}


def why(done: dg.ExecuteInProcessResult) -> str:
    assert not done.success
    [event] = [e for e in done.all_node_events if e.is_step_failure]
    return str(event.step_failure_data.user_failure_data.description)  # type: ignore[union-attr]


def test_jobs_of_plans_and_records(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """A plan is told, and not stored; records are looked at, copied and verified; one is ended, days are withdrawn."""
    shop = review_shop(tmp_path / "shop")
    place = shop.place()
    plans = len(place.control.plans.all())

    said = told(launch(place, instance, "plan", why="to see"))
    assert "| `daily` |" in said["plan"] and "**Why:** to see" in said["plan"] and said["stored plan"] == shop.plan
    assert "this is what is left of" in said["mind"] and len(place.control.plans.all()) == plans
    assert "cfo_weekly_export (cfo@example.com): behavioural" in said["readers"]
    assert "no model named nosuch" in why(launch(place, instance, "plan", select=["nosuch"]))
    assert "yesterday" in why(launch(place, instance, "plan", start="yesterday"))

    sheet = told(launch(place, instance, "preflight"))["daily"]
    assert "| validation owner | vera@example.com |" in sheet

    status = told(launch(place, instance, "status"))["status"]
    assert {m["model"] for m in status["models"]} == set(place.project.models)

    target = tmp_path / "copy"
    assert launch(place, instance, "backup", target=str(target)).success
    assert json.loads((target / "backup.json").read_text())["files"]
    assert "holds a backup already" in why(launch(place, instance, "backup", target=str(target)))

    assert launch(place, instance, "verify", target=shop.first).success
    assert launch(place, instance, "verify", all=True).success
    page = next((Path(place.warehouse) / "evidence" / shop.first).glob("packet.html"))
    page.write_text(page.read_text() + " ")
    assert "packet.html" in why(launch(place, instance, "verify", target=shop.first))

    assert launch(place, instance, "consumers").success
    assert "no plan nosuch" in why(launch(place, instance, "consumers", check=True, plan="nosuch"))
    assert "nosuch names no model" in why(launch(place, instance, "diff", expect_moved=["nosuch"]))
    assert "0..50" in why(launch(place, instance, "diff", sample=51))

    assert "no plan nosuch" in why(launch(place, instance, "abandon", plan="nosuch"))
    for _ in range(2):
        assert launch(place, instance, "abandon", plan=shop.plan[:6]).success
    assert not [r for r in place.control.plans.all() if r.live]
    key = dg.AssetCheckKey(dg.AssetKey("daily"), "candidate_rows")
    known = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key].evaluation
    assert known is not None and "is abandoned" in str(known.description), "its checks say so at once"

    project = shop.root / "models" / "daily.sql"
    project.write_text(project.read_text().replace("+ 1 AS n", "+ 2 AS n"))
    place = shop.place()
    assert set(declare_empty(place, Request(select=("daily",)))) == {"daily"}
    assert launch(place, instance, "withdraw", days=["daily:2024-01-02"], reason="it has rows").success
    entries = [e for e in place.control.ledger.entries(["daily"]) if "it has rows" in e.reason]
    assert [str(e.interval) for e in entries] == ["2024-01-02"]
    assert "days: daily is not understood" in why(launch(place, instance, "withdraw", days=["daily"]))
