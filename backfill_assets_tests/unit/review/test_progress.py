"""The page of a running build: its days by what the ledger says, whether anybody is at work, and what failed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from backfill_assets.adapters.heartbeat import sending_heartbeats
from backfill_assets.app.build_progress import read_build_progress
from backfill_assets.app.context import Context
from backfill_assets.app.status import RunPace
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.review.progress_view import model_strip
from backfill_assets.review.site import open_project, review_app
from backfill_assets.state.ledger import Entry, Kind
from backfill_assets_tests.asgi import ask
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unit.review.test_site import inert
from backfill_assets_tests.unsparked import build, unsparked

RED = days("02")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four days, of which the second fails an audit."""
    root = small_project(tmp_path, days=4)
    build(unsparked(root, red={utc("2024-01-02")}))
    return root


def plan_of(place: Context) -> str:
    [record] = place.control.plans.all()
    return record.id


def started(place: Context, run: str) -> Entry:
    version = place.project.fingerprints["daily"]
    entry = Entry(
        kind=Kind.STARTED, model="daily", version=version, interval=RED, batch="b9", run=run, at=datetime.now(UTC)
    )
    place.control.ledger.append([entry])
    return entry


def test_what_failed_is_said(project: Path) -> None:
    """Which days are green, which failed and why, and the command that goes on; nobody is at work."""
    place = Context.open(project)
    plan = plan_of(place)
    daily = next(m for m in read_build_progress(place, plan).models if m.model.name == "daily")
    assert daily.green == ranges(days("01"), days("03", "04")) and daily.missing == ranges(RED)
    assert [e.interval for e in daily.failures] == [RED] and daily.running == () and daily.pace is None
    answer = ask(review_app(open_project(project)), f"/plan/{plan}/progress")
    page = " ".join("".join(inert(answer.text).said).split())
    assert "3 of 4 days green" in page and "2024-01-02" in page and "backfill apply" in page
    assert "nothing is at work" in page and 'content="30"' in answer.text


def test_a_batch_at_work_and_one_that_stopped(project: Path) -> None:
    """As long as its run gives signs of life it is at work, and browsers read the page again; then it stopped."""
    place = Context.open(project)
    plan, app = plan_of(place), review_app(open_project(project))
    with sending_heartbeats(place.warehouse, "r9"):
        started(place, "r9")
        daily = next(m for m in read_build_progress(place, plan).models if m.model.name == "daily")
        assert [e.interval for e in daily.running] == [RED] and daily.failures == ()
        answer = ask(app, f"/plan/{plan}/progress")
        assert 'content="5"' in answer.text and "its first batch is at work" in answer.text
        assert '<rect class="works"' in answer.text
    found = ask(app, f"/plan/{plan}/progress").text
    assert "it stopped: it ended without a word" in found and 'content="5"' not in found


def test_its_pace(project: Path) -> None:
    """Days a minute, rows a second, and what is left at that pace."""
    from dataclasses import replace

    place = Context.open(project)
    daily = next(m for m in read_build_progress(place, plan_of(place)).models if m.model.name == "daily")
    pace = RunPace(intervals=30, rows=6000, seconds=60.0, left=600.0)
    strip = model_strip(replace(daily, pace=pace), None)
    assert strip.pace == "30 days a minute, 100 rows a second; about 10 minutes left"
    assert strip.days == ("2024-01-01", "2024-01-04")


def test_every_day_is_drawn_once(project: Path) -> None:
    """What is built and waits for its audits is neither green nor left."""
    from dataclasses import replace

    place = Context.open(project)
    daily = next(m for m in read_build_progress(place, plan_of(place)).models if m.model.name == "daily")
    drawn = model_strip(replace(daily, failures=(), unaudited=ranges(RED)), None).strip
    assert [drawn.count(f'class="{kind}"') for kind in ("there", "waits", "lacking", "left")] == [2, 1, 0, 0]
    assert model_strip(replace(daily, failures=()), None).strip.count('class="left"') == 1
    assert model_strip(replace(daily, failures=(), green=Ranges()), None).done == "0 of 4 days green"


def test_what_newer_audits_did_not_see_is_not_green(project: Path) -> None:
    """An audit that came since has to look at all of it."""
    plan = plan_of(Context.open(project))
    file = project / "models" / "daily.sql"
    file.write_text(file.read_text().replace("  - completeness\n", "  - completeness\n  - not_null: [total]\n"))
    daily = next(m for m in read_build_progress(Context.open(project), plan).models if m.model.name == "daily")
    assert (daily.green, daily.unaudited) == (Ranges(), ranges(days("01"), days("03", "04")))
