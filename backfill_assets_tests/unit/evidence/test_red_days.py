"""A day that an audit refuses: the packet, the questions and the checklist say so, to whoever is about to approve."""

from __future__ import annotations

import re
from pathlib import Path

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import look_at_plan
from backfill_assets.app.model_questions import ask_of_models, plans_of_models
from backfill_assets.app.runbook import look_for_runbook
from backfill_assets.core.intervals import utc
from backfill_assets.evidence.questions import questions
from backfill_assets.evidence.shape import Packet
from backfill_assets.plan.stages import Request
from backfill_assets_tests.projects import small_project
from backfill_assets_tests.unsparked import build, promoted, unsparked

READER = """\
/*
owner: ana@example.com
start: 2024-01-04
grain: [ds]
lookback: 3
*/
SELECT CAST(:start AS DATE) AS ds, sum(n) AS n
FROM daily WHERE ds >= :start - INTERVAL 3 DAYS AND ds < :end
"""


def looked_at(root: Path, *red: str, request: Request | None = None) -> tuple[Context, Packet]:
    place = unsparked(root, red=set(map(utc, red)))
    build(place, request)
    [*_, record] = sorted(place.control.plans.all(), key=lambda p: p.created)
    return place, look_at_plan(place, record)


def test_a_red_day_of_a_candidate(tmp_path: Path) -> None:
    """All that was not built for it is not said to be gone; once it is mended, nothing is red."""
    root = promoted(small_project(tmp_path / "project", days=4))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    (root / "models" / "reader.sql").write_text(READER)
    place, packet = looked_at(root, "2024-01-02")
    (audits,) = (q for q in questions(packet) if q.name == "audits")
    assert audits.answer == "bad" and "red: daily.not_null" in audits.why, audits
    assert "not all is built of daily" in audits.why and "reader" in audits.why
    (check,) = (c for c in packet.checks if c.model == "daily" and c.failures)
    assert (check.tested, check.passed) == (4, 3) and check.failures[0].interval[0].startswith("2024-01-02")
    for_daily = next(iter(ask_of_models(place, plans_of_models(place, ["daily"])).values()))
    assert {q.name: q.answer for q in for_daily.answers}["audits"] == "bad"
    (line,) = (one for one in look_for_runbook(place, packet.plan.id).lines if one.what == "No blocking audit is red")
    assert (line.state, line.why) == ("open", "red: daily.not_null")
    said = " ".join([*packet.summary.changed, *packet.summary.mind])
    assert "Nothing of reader is built yet." in said and "gone" not in said
    (reader,) = (m for m in packet.models if m.model == "reader")
    assert not reader.columns and not reader.begun
    assert "daily failed the test not_null" in said
    _, packet = looked_at(root)
    assert not any(c.failures for c in packet.checks)
    assert {q.name: q.answer for q in questions(packet)}["audits"] == "good"


def test_what_failed_in_rows_that_are_gone(tmp_path: Path) -> None:
    """A day was built again, and fails by another audit: what its earlier rows failed is not told, nor what other days
    than the plan's do."""
    root = promoted(small_project(tmp_path / "project", days=4, batch_size=4))
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    looked_at(root, "2024-01-02", "2024-01-03")
    daily.write_text(re.sub(r"  - not_null: .*\n", "", daily.read_text()))
    only = Request(select=("daily",), start=utc("2024-01-02"), end=utc("2024-01-03"))
    _, packet = looked_at(root, "2024-01-02", request=only)
    failed = {(c.check, f.interval[0][:10]) for c in packet.checks for f in c.failures}
    assert failed == {("range_total", "2024-01-02")}
