"""Whoever approves rows, or lets them go up, is told of the audits that only warn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit
from backfill_assets.state.warned import find_warned
from backfill_assets_tests.fakes import World, a_model, days, ranges

SOFT = Audit(name="range_n", kind="range", blocking=False)
HARD = Audit(name="not_null", kind="not_null")
BEGAN = datetime(2024, 1, 12, tzinfo=UTC)
ALL = {("a", "a-1"): ranges(days("01", "10"))}


def result(
    day: str, *, passed: bool = False, check: str = "range_n", version: str = "a-1", later: int = 0
) -> AuditResult:
    return AuditResult(
        model="a", version=version, batch=f"b{later}", interval=days(day), check=check, blocking=check != "range_n",
        passed=passed, failures=8, observed=f"{day} fails", expected="less", at=BEGAN + timedelta(hours=later),
    )  # fmt: skip


def told(results: Sequence[AuditResult], parts: dict[tuple[str, str], Ranges] | None = None) -> list[str]:
    world = World(a_model("a", "raw", audits=(SOFT, HARD)))
    for one in results:
        world.control.results.append([one])
    return [str(each) for each in find_warned(world.control.results, world.project.models, parts or ALL)]


def test_one_sentence_an_audit() -> None:
    found = told([result("05"), result("03"), result("04", passed=True), result("06")])
    assert found == ["a.range_n gave a warning on 3 days, the first of them 2024-01-03: 03 fails"]
    assert told([result("03")]) == ["a.range_n gave a warning on 2024-01-03: 03 fails"]


@pytest.mark.parametrize(
    "others",
    [
        [result("03", passed=True)],
        [result("03"), result("03", passed=True, later=1)],  # built again
        [result("03", check="not_null")],  # that one blocks
        [result("03", check="of_before")],  # no audit of the model any more
        [result("03", version="a-0")],
        [result("20")],
        [],
    ],
)
def test_what_is_not_told(others: list[AuditResult]) -> None:
    assert told(others) == []


def test_of_the_intervals_that_are_asked_about() -> None:
    both = [result("03"), result("05")]
    assert told(both, {("a", "a-1"): ranges(days("05"))}) == ["a.range_n gave a warning on 2024-01-05: 05 fails"]
    assert told(both, {("a", "a-1"): Ranges()}) == told(both, {("b", "b-1"): ranges(days("05"))}) == []


def test_nothing_is_read_where_no_audit_only_warns() -> None:
    world = World(a_model("a", "raw", audits=(HARD,)))
    world.control.results.read = None  # type: ignore[method-assign, assignment]
    assert find_warned(world.control.results, world.project.models, ALL) == ()
