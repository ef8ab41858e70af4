"""A routine run after a change made forward only: the new logic is extended, what is shown of the older one stays."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import promote_green, published_context
from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import utc
from backfill_assets.plan.smallest_text import smallest_command
from backfill_assets.plan.stages import Build, Request
from backfill_assets_tests.projects import small_project, write_events
from backfill_assets_tests.unsparked import build, extend, promoted, prove, unsparked

SEAM = utc("2024-01-09")


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def forward(tmp_path: Path) -> Path:
    """Nine days, of which the newest is of the new logic, as the offer says; `running` looks three days back."""
    root = small_project(tmp_path, days=9)
    settings = root / "backfill.yml"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"approvals": {"required": False}}))
    edit(root / "models" / "running.sql", "lookback: 1", "lookback: 3")
    reader = {"name": "board", "owner": "x@example.com", "reads": ["daily"], "history": 1}
    (root / "consumers.yml").write_text(json.dumps({"consumers": [reader]}))
    place = unsparked(root, user="dev")
    build(place)
    assert promote_plan(place).verdict.open
    edit(root / "models" / "daily.sql", "sum(amount)", "2 * sum(amount)")
    place = unsparked(root, user="dev")
    assert smallest_command(plan_request(place)) == f"backfill apply --forward-only {SEAM:%Y-%m-%d}"
    build(place, Request(forward_only=SEAM))
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    assert promote_plan(place, plan=plan).verdict.open
    return root


def later(root: Path, days: int) -> None:
    write_events(root, days=days)
    settings = root / "backfill.yml"
    now = utc("2024-01-01") + timedelta(days=days)
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": f"{now:%Y-%m-%d}"}))


def test_the_new_days_are_shown_and_the_older_logic_stays(tmp_path: Path) -> None:
    """Two more days; `running` of the first of them looks back over the seam."""
    root = forward(tmp_path)
    before = unsparked(root).control.environments.read("prod").pointers
    later(root, 11)
    place = unsparked(root)
    routine = published_context(place)
    routine._engine = place._engine  # pyright: ignore[reportPrivateUsage]
    plan = plan_request(routine, resume=False)
    assert {s.model: str(s.intervals) for s in plan.stages if isinstance(s, Build)} == dict.fromkeys(
        ("daily", "running"), "2024-01-10..2024-01-11"
    )
    done = apply(routine.bench(plan.sources), plan)
    assert not any(o.waits or o.failures for o in done.values())
    assert promote_green(routine).held == ()
    after = unsparked(root).control.environments.read("prod").pointers
    for name, pointer in after.items():
        assert pointer.older == before[name].older and str(pointer.older.covers) == "2024-01-01..2024-01-08"
        assert str(pointer.covers) == "2024-01-01..2024-01-11" and pointer.version == before[name].version


def test_older_days_that_somebody_built_wait_for_their_plan(tmp_path: Path) -> None:
    """All of the history is there in the new logic, and nobody has promoted it: a routine run does not."""
    root = forward(tmp_path)
    older = {n: p.older for n, p in unsparked(root).control.environments.read("prod").pointers.items()}
    build(unsparked(root, user="dev"))
    later(root, 10)
    assert extend(unsparked(root)) == ()
    after = unsparked(root).control.environments.read("prod").pointers
    assert {n: p.older for n, p in after.items()} == older
    assert {str(p.covers) for p in after.values()} == {"2024-01-01..2024-01-10"}


def shown_until(root: Path) -> str:
    """The last day that prod shows of daily."""
    return str(unsparked(root).control.environments.read("prod").pointers["daily"].covers)[-10:]


@pytest.mark.parametrize("now", ["as it was", "edited", "gone"])
def test_what_was_first_built_while_its_source_was_late_goes_on(tmp_path: Path, now: str) -> None:
    """The clock is a day further than the source when a model is built first. That is no end of it, also where its file
    is another one, or gone, so that routine runs extend what its record says."""
    root = small_project(tmp_path, days=9)
    edit(root / "sources.yml", "format: csv\n", "format: csv\n    time_column: at\n")
    settings, daily = root / "backfill.yml", root / "models" / "daily.sql"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"clock": "2024-01-11"}))
    (root / "models" / "running.sql").unlink()
    promoted(root)
    assert shown_until(root) == "2024-01-09"
    if now == "gone":
        daily.rename(daily.with_name("other.sql"))
    elif now == "edited":
        edit(daily, "sum(amount)", "2 * sum(amount)")
    later(root, 12)
    assert extend(unsparked(root)) == ()
    assert shown_until(root) == "2024-01-12"


@pytest.mark.parametrize(
    ("newer", "reaches"),
    [
        ("", "2024-01-12"),
        ("end: 2024-01-11\n", "2024-01-10"),
        ("cadence: weekly\nend: 2024-01-08\n", "2024-01-12"),
        (None, "2024-01-12"),
    ],
    ids=["taken out", "said", "by other days", "no file"],
)
def test_an_end_is_what_the_loaded_header_says(tmp_path: Path, newer: str | None, reaches: str) -> None:
    """Also where its code is another one, as of all that is no part of a version. Where there is none, what is shown
    beyond the end of the record says that it was taken out."""
    root = small_project(tmp_path, days=9)
    daily = root / "models" / "daily.sql"
    edit(daily, "start: 2024-01-01\n", "start: 2024-01-01\nend: 2024-01-08\n")
    (root / "models" / "running.sql").unlink()
    promoted(root)
    edit(daily, "end: 2024-01-08\n", "")
    assert extend(unsparked(root)) == ()
    if newer is None:
        daily.rename(daily.with_name("other.sql"))
    else:
        edit(daily, "sum(amount)", "2 * sum(amount)")
        edit(daily, "start: 2024-01-01\n", f"start: 2024-01-01\n{newer}")
    later(root, 12)
    assert extend(unsparked(root)) == ()
    assert shown_until(root) == reaches
