"""What failed is tried again alone, in the plan that it is of: in a terminal, by a job, and as its page says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import dagster as dg
import pytest
import yaml

from backfill_assets.app.apply import Started, build_plan, check_plan, left_of_plan, start_apply
from backfill_assets.app.approve import approval_statements
from backfill_assets.app.build_progress import read_build_progress
from backfill_assets.app.context import Context
from backfill_assets.app.promote import promote_plan
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import utc
from backfill_assets.defs.build_definitions import definitions
from backfill_assets.plan.commands import job_config
from backfill_assets.plan.request_parsing import days_of
from backfill_assets.plan.stages import Request
from backfill_assets.project.dagster_names import APPLY_STEP
from backfill_assets.review.site import open_project, review_app
from backfill_assets.state.plans import PlanStatus
from backfill_assets_tests.asgi import ask
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked

DAGSTER = "https://dagster.example.com/locations/shop"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four days, of which the second fails an audit; what reads it waits."""
    root = small_project(tmp_path / "project", days=4)
    build(unsparked(root, red={utc("2024-01-02")}), Request(select=("daily", "running")))
    return root


def retried(place: Context) -> list[str]:
    """The commands that the page names."""
    [record] = place.control.plans.all()
    return [command for m in read_build_progress(place, record.id).models for _, command in m.retried]


def begun(place: Context, command: str) -> Started:
    words = shlex.split(command)
    assert words[:2] == ["backfill", "apply"] and words[-2] == "--only"
    return start_apply(place, Request(select=("daily", "running")), only=[days_of(words[-1])])


def test_one_range_is_tried_again(project: Path) -> None:
    """Just that one is built, of the same plan; what is left is said. With the last of it, the whole is checked."""
    place = unsparked(project)
    [command] = retried(place)
    assert command == "backfill apply --select daily --select running --only daily:2024-01-02"
    [before] = place.control.plans.all()
    known = len(place.control.ledger.entries(["running"]))
    built = build_plan(place, started := begun(place, command))
    assert built.complete and started.stored == before.id and list(built.carried.outcomes) == ["daily"]
    assert str(built.carried.outcomes["daily"].built) == "2024-01-02"
    assert len(place.control.ledger.entries(["running"])) == known
    assert left_of_plan(place, started) == "backfill apply --select daily --select running"
    assert not check_plan(place, built).proved.proofs
    assert retried(place) == []

    rest = build_plan(place, last := begun(place, "backfill apply --only running:2024-01-01..2024-01-04"))
    [record] = place.control.plans.all()
    assert rest.complete and (record.id, record.status) == (before.id, PlanStatus.APPLIED)
    assert left_of_plan(place, last) == ""
    with pytest.raises(PlanError, match=r"nothing is to be done of daily(.|\n)*the plan is complete"):
        begun(place, command)


def test_the_page_leads_to_the_launchpad(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the command; where Dagster is known, it leads to the launchpad with the same filled in, which the job
    takes. The page itself begins nothing, and has no form."""
    place, app = Context.open(project), review_app(open_project(project))
    [record] = place.control.plans.all()
    monkeypatch.delenv("BACKFILL_DAGSTER_URL", raising=False)
    page = ask(app, f"/plan/{record.id}/progress").text
    [command] = retried(place)
    assert command in page and "playground" not in page and "<form" not in page
    monkeypatch.setenv("BACKFILL_DAGSTER_URL", DAGSTER)
    page = ask(app, f"/plan/{record.id}/progress").text
    address = page.partition('class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
    said = urlsplit(address)
    assert f"{said.scheme}://{said.netloc}{said.path}" == f"{DAGSTER}/jobs/apply/playground/setup"
    config = yaml.safe_load(parse_qs(said.query)["config"][0])
    assert config == {"ops": {APPLY_STEP: {"config": job_config(command)}}}
    assert config["ops"][APPLY_STEP]["config"] == {"select": ["daily", "running"], "only": ["daily:2024-01-02"]}
    job = definitions(place).resolve_job_def("apply")
    dg.validate_run_config(job, config)
    assert place.control.plans.all() == [record] and json.dumps(config)


def test_what_is_asked_of_a_plan_is_asked_of_its_launchpad() -> None:
    """Every option that a request's command can have."""
    command = (
        "backfill apply --restate daily:2024-03-01..2024-03-02 --where 'a = 1' --all-versions "
        "--forward-only 2024-01-01 --select daily --start 2024-01-01 --end 2024-01-31 --end-bounded --ignore-cron "
        "--strategy daily=dual-run --expect-moved daily.n --expect-unmoved daily.m --expect-filled daily.x=95% "
        "--only daily:2024-01-02"
    )
    found = job_config(command)
    assert found["where"] == "a = 1" and found["restate"] == ["daily:2024-03-01..2024-03-02"]
    assert found["end_bounded"] is True and found["only"] == ["daily:2024-01-02"] and len(found) == 14


def test_a_dual_run_is_neither_approved_nor_promoted(tmp_path: Path) -> None:
    """It moves nothing: what does is said, instead of sending from the one to the other."""
    root = promoted(small_project(tmp_path, days=2))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    plan, _ = build(unsparked(root), Request(select=("daily",), strategies=(("daily", "dual-run"),)))
    [record] = [r for r in unsparked(root).control.plans.all() if r.live]
    assert set(plan.held) == {"daily", "running"}
    for way in (approval_statements, lambda place, plan: promote_plan(place, plan=plan)):
        with pytest.raises(PlanError, match=r"is a dual run(.|\n)*backfill apply --select daily.*, which opens"):
            way(unsparked(root), record.id)
