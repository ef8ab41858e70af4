"""What of a consumer's answers is kept where the query reads a masked column? Nothing that comes from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.contracts.masked_answers import ViewMasks, masked_rerun
from backfill_assets.contracts.rerun import Answer, Rerun, rerun
from backfill_assets.core.consumer import Bound, ConsumerQuery
from backfill_assets_tests.unit.contracts.test_impact import a_consumer

VIEWS = ViewMasks(columns={"prod.staff": ["id", "salary"], "prod.days": ["ds"]}, masks={"prod.staff": ["salary"]})
ANSWER = Answer(
    columns=("id", "Top"), rows=1, checksum="00ff", sample=(("7", "93211"),),
    extremes={"Top": (93211.0, 93211.0), "id": (7.0, 7.0)}, sums={"Top": 93211.0, "id": 7.0},
)  # fmt: skip


def asked(sql: str, one: Answer = ANSWER, other: Answer = ANSWER, views: ViewMasks = VIEWS) -> Rerun:
    bounds = (Bound(column="Top", max=100), Bound(column="id", max=5))
    query = ConsumerQuery(name="top", sql=sql, bounds=bounds)
    return masked_rerun(rerun(a_consumer(), query, one, other), query, views, views, b"salt")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, max(salary) AS Top FROM prod.staff GROUP BY id",
        "SELECT a AS id, b AS top FROM prod.staff AS s(a, b)",
    ],
)
def test_values_go_and_the_judgement_stays(sql: str) -> None:
    """A bound is judged on the value; neither text, rows, extremes, totals nor checksum say it, others are told."""
    found = asked(sql)
    assert "93211" not in str(found) and "00ff" not in str(found)
    assert found.missed == ("Top is beyond its bound", "id goes up to 7; expected at most 5")
    assert found.candidate.sample == (("7", "***"),) and found.candidate.sums == {"id": 7.0}
    assert found.same and not asked(sql, replace(ANSWER, checksum="00fe")).same


def test_what_cannot_be_told_is_hidden_whole() -> None:
    """Another table than the environment's views, a statement that is not understood."""
    for sql in ("SELECT id, salary AS top FROM delta.`/w/staff`", "SELECT ("):
        found = asked(sql)
        assert found.candidate.sample == (("***", "***"),) and "7" not in str(found.missed)
        assert not found.candidate.sums and not found.candidate.extremes


def test_what_reads_nothing_masked_is_kept() -> None:
    """As it was asked, and so is everything where nothing is masked; an error of a masked table says its class."""
    found = asked("SELECT 1 AS id, 2 AS top FROM prod.days")
    assert (found.candidate, found.shown) == (ANSWER, ANSWER) and "93211" in str(found.missed)
    assert asked("SELECT (", views=ViewMasks()).candidate == ANSWER
    failed = Answer(error="[USER_RAISED_EXCEPTION] ann@x is wrong")
    hidden, told = (asked(f"SELECT 1 AS id FROM prod.{t}", failed) for t in ("staff", "days"))
    assert hidden.missed == ("it fails: [USER_RAISED_EXCEPTION] ***",) == (f"it fails: {hidden.candidate.error}",)
    assert told.candidate == failed
