"""The verdicts, from counts: what passes, what fails, and what is said about it."""

from __future__ import annotations

import pytest

from backfill_assets.audit.judge import Counts, describe, judge, red
from backfill_assets.intervals import Cadence, utc
from backfill_assets.snapshots.model import Audit
from backfill_assets.state.results import AuditResult, AuditResults
from backfill_assets.state.store import MemoryStore
from backfill_assets_tests.fakes import NOW, a_model, days

ONE = days("01")


def verdict(audit: Audit, here: Counts | None, prod: int | None = None) -> AuditResult:
    """Of one audit on one day; no counts at all when `here` is None."""
    [result] = judge(
        a_model("m", audits=(audit,)),
        "v",
        "batch",
        [ONE],
        {} if here is None else {ONE.start: here},
        prod_rows={} if prod is None else {ONE.start: prod},
        at=NOW,
    )
    return result


def an_audit(kind: str, blocking: bool = True, **arguments: object) -> Audit:
    return Audit(name="check", kind=kind, arguments=arguments, blocking=blocking)


NOT_NULL = an_audit("not_null", columns=("id",))
COMPLETE = an_audit("completeness")
ROUGHLY = an_audit("row_count", within_percent=10.0, of="prod")


@pytest.mark.parametrize(
    ("audit", "here", "prod", "failures"),
    [
        (NOT_NULL, Counts(rows=5, failures={"check": 0}), None, 0),
        (NOT_NULL, Counts(rows=5, failures={"check": 2}), None, 2),
        (NOT_NULL, None, None, 0),  # no rows, no bad rows: completeness is another audit
        (an_audit("unique_grain"), Counts(rows=5, failures={"check": 1}), None, 1),
        (COMPLETE, Counts(rows=1), None, 0),
        (COMPLETE, None, None, 1),  # a day without any rows is in no count
        (COMPLETE, Counts(rows=0), None, 1),
        (an_audit("completeness", min_rows=10), Counts(rows=10), None, 0),
        (an_audit("completeness", min_rows=10), Counts(rows=7), None, 3),
        (ROUGHLY, Counts(rows=100), None, 0),  # nothing to compare with
        (ROUGHLY, Counts(rows=110), 100, 0),  # the bound is included
        (ROUGHLY, Counts(rows=90), 100, 0),
        (ROUGHLY, Counts(rows=111), 100, 1),
        (ROUGHLY, Counts(rows=89), 100, 1),
        (ROUGHLY, None, 100, 1),  # all rows are gone
        (ROUGHLY, None, 0, 0),
        (ROUGHLY, Counts(rows=1), 0, 1),
        (an_audit("row_count", within_percent=0), Counts(rows=100), 100, 0),
        (an_audit("row_count", within_percent=0), Counts(rows=1_000_001), 1_000_000, 1),
    ],
)
def test_verdicts(audit: Audit, here: Counts | None, prod: int | None, failures: int) -> None:
    """An audit passes exactly when nothing failed."""
    result = verdict(audit, here, prod)
    assert result.failures == failures
    assert result.passed == (failures == 0)


def test_a_warning_fails_and_does_not_block() -> None:
    """Severity `warn`: the result is there to be seen, the interval is not red."""
    counts = Counts(rows=5, failures={"check": 2})
    warned, failed = (verdict(an_audit("not_null", blocking, columns=("id",)), counts) for blocking in (False, True))
    assert not warned.passed
    assert not warned.blocking
    assert not red([warned])
    assert str(red([warned, failed])) == "2024-01-01"


def test_each_interval_is_judged_by_its_own_counts() -> None:
    """Three days, the middle one without rows: it alone is red."""
    model = a_model("m", audits=(COMPLETE, NOT_NULL))
    units = list(Cadence.DAILY.split(days("01", "03")))
    counts = {units[0].start: Counts(rows=3), units[2].start: Counts(rows=3)}
    results = judge(model, "v", "b", units, counts, prod_rows={}, at=NOW)
    assert [(r.interval, r.check) for r in results] == [(u, "check") for u in units for _ in range(2)]
    assert str(red(results)) == "2024-01-02"
    assert {(r.model, r.version, r.batch, r.at) for r in results} == {("m", "v", "b", NOW)}


@pytest.mark.parametrize(
    ("audit", "here", "prod", "observed", "expected"),
    [
        (COMPLETE, None, None, "0 rows", "at least 1 row"),
        (an_audit("completeness", min_rows=2), Counts(rows=9), None, "9 rows", "at least 2 rows"),
        (ROUGHLY, Counts(rows=50), 100, "50 rows, prod has 100 (50.00 % apart)", "rows within ±10 % of prod"),
        (ROUGHLY, Counts(rows=50), None, "50 rows, nothing in prod to compare with", "rows within ±10 % of prod"),
        (NOT_NULL, Counts(rows=5, failures={"check": 2}), None, "2 failing of 5 rows", "no row with `id` IS NULL"),
        (an_audit("unique_grain"), Counts(rows=5), None, "0 failing of 5 rows", "one row per ds, id"),
        (an_audit("unique", columns=("x",)), Counts(rows=5), None, "0 failing of 5 rows", "one row per x"),
    ],
)
def test_what_is_said(audit: Audit, here: Counts | None, prod: int | None, observed: str, expected: str) -> None:
    """Observed and expected, with numbers and thresholds; `describe` says the same without a run."""
    result = verdict(audit, here, prod)
    assert (result.observed, result.expected) == (observed, expected)
    assert describe(a_model("m"), audit) == expected


def test_results_come_back_as_recorded() -> None:
    """Every field survives the table; batches select; recording nothing commits nothing."""
    results = AuditResults(MemoryStore())
    results.append([])
    first = verdict(NOT_NULL, Counts(rows=5, failures={"check": 2}))
    sampled = AuditResult(
        **{f: getattr(first, f) for f in AuditResult.__dataclass_fields__}
        | {"batch": "b2", "sample": ("id=it's", "id=2"), "at": utc("2024-03-01")}
    )
    results.append([sampled, first])
    assert results.read() == [first, sampled]
    assert results.read(batches=["b2"]) == [sampled]
    assert results.read(batches=[]) == []
    assert results.read(model="other") == []
    assert results.read(model="m", version="v") == [first, sampled]
