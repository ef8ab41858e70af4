# ruff: noqa: E501 (tables)
"""The verdicts, from counts: what passes, what fails, and what is said about it."""

from __future__ import annotations

import pytest

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.judge import expected_text, judge, red
from backfill_assets.audits.result import AuditResult
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.core.model import Audit
from backfill_assets.state.results import AuditResults
from backfill_assets_tests.fakes import NOW, a_model, days
from backfill_assets_tests.memory_store import MemoryStore

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
    assert expected_text(a_model("m"), audit) == expected


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
    assert results.read(models=["other"]) == []
    assert results.read(models=["m"], version="v") == [first, sampled]


@pytest.mark.parametrize(
    ("audit", "here", "failures", "passed", "observed"),
    [
        (an_audit("not_null", columns=("id",), tolerate=2), Counts(rows=9, failures={"check": 2}), 2, True, "2 failing of 9 rows, 2 tolerated"),
        (an_audit("not_null", columns=("id",), tolerate=2), Counts(rows=9, failures={"check": 3}), 3, False, "3 failing of 9 rows, 2 tolerated"),
        (an_audit("unique_grain", tolerate="10%"), Counts(rows=29, failures={"check": 2}), 2, True, "2 failing of 29 rows, 2 tolerated"),
        (an_audit("unique_grain", tolerate="10%"), Counts(rows=29, failures={"check": 3}), 3, False, "3 failing of 29 rows, 2 tolerated"),
        (an_audit("entities", column="x", values=(1, 2), tolerate="50%"), Counts(failures={"check": 1}, totals={"check": 2}), 1, True, "1 failing of 2 entities, 1 tolerated"),
        (an_audit("null_rate", column="x", max_percent=10), Counts(rows=10, failures={"check": 1}), 0, True, "1 of 10 rows are NULL (10.00 %)"),
        (an_audit("null_rate", column="x", max_percent=10), Counts(rows=10, failures={"check": 2}), 2, False, "2 of 10 rows are NULL (20.00 %)"),
        (an_audit("null_rate", column="x", min_percent=10), Counts(rows=20, failures={"check": 1}), 1, False, "1 of 20 rows are NULL (5.00 %)"),
        (an_audit("null_rate", column="x", min_percent=10), Counts(), 0, True, "no rows"),
        (an_audit("aggregate", metric="sum(x)", min=0, max=5), Counts(rows=1, values={"check": 5.0}), 0, True, "sum(x) is 5"),
        (an_audit("aggregate", metric="sum(x)", min=0, max=5), Counts(rows=1, values={"check": 5.5}), 1, False, "sum(x) is 5.5"),
        (an_audit("aggregate", metric="sum(x)", min=0), Counts(rows=1, values={"check": float("nan")}), 1, False, "sum(x) is nan"),
        (an_audit("aggregate", metric="sum(x)", max=5), Counts(rows=1, values={"check": None}), 1, False, "sum(x) is NULL"),
        (an_audit("aggregate", metric="sum(x)", max=5), Counts(), 0, True, "no rows"),
        (an_audit("reconcile", metric="sum(x)", of="t"), Counts(failures={"check": 1}, totals={"check": 1}), 1, False, "1 failing of 1 values"),
        (an_audit("reconcile", metric="sum(x)", of="t"), Counts(nothing=frozenset({"check"})), 1, False, "nothing in t to compare with"),
        (an_audit("reconcile", metric="sum(x)", of="prod"), Counts(nothing=frozenset({"check"})), 0, True, "nothing in prod to compare with"),
        (an_audit("known_records", records=()), Counts(failures={"check": 1}, totals={"check": 3}), 1, False, "1 failing of 3 known records"),
        (an_audit("sql", file="f"), Counts(rows=4, failures={"check": 1}), 1, False, "1 row from its query"),
        (an_audit("sql", file="f"), Counts(rows=4, failures={"check": 50}), 50, False, "50 rows from its query"),
    ],
)  # fmt: skip
def test_thresholds(audit: Audit, here: Counts, failures: int, passed: bool, observed: str) -> None:
    """What is at a bound passes, what is beyond it does not; the result says what was found and what is tolerated."""
    result = verdict(audit, here)
    assert (result.failures, result.passed, result.observed) == (failures, passed, observed)


@pytest.mark.parametrize(
    ("value", "near", "passed", "observed"),
    [
        (100.0, (80, 100, 120), True, "100, +0.0 % from 100 around it"),
        (150.0, (80, 100, 120), True, "150, +50.0 % from 100 around it"),
        (151.0, (80, 100, 120), False, "151, +51.0 % from 100 around it"),
        (49.0, (80, 100, 120, 100), False, "49, -51.0 % from 100 around it"),
        (None, (80, 100, 120), False, "0, -100.0 % from 100 around it"),
        (7.0, (0, 0, 0), False, "7, +inf % from 0 around it"),
        (0.0, (0, 0, 0), True, "0, +0.0 % from 0 around it"),
        (-4.0, (-10, -10, -10), False, "-4, +60.0 % from -10 around it"),
        (900.0, (1, 1), True, "900, 2 neighbours are too few to compare"),
    ],
)
def test_trends(value: float | None, near: tuple[float, ...], passed: bool, observed: str) -> None:
    """A cliff or a spike is a distance from the median around; one outlier near by changes nothing."""
    audit = an_audit("trend", metric="sum(x)", max_change_percent=50.0, neighbours=7)
    result = verdict(audit, Counts(rows=1, values={"check": value}, neighbours={"check": near}))
    assert (result.passed, result.observed) == (passed, observed)


def test_an_explained_trend_passes_and_says_why() -> None:
    """Only the interval that the reason is for."""
    audit = an_audit("trend", metric="count(*)", max_change_percent=5.0, neighbours=3, explained={"2024-01-01": "sale"})
    here = Counts(rows=9, values={"check": 9.0}, neighbours={"check": (1.0, 1.0, 1.0)})
    model = a_model("m", audits=(audit,))
    units = list(Cadence.DAILY.split(days("01", "02")))
    first, second = judge(model, "v", "b", units, {u.start: here for u in units}, prod_rows={}, at=NOW)
    assert first.passed and first.observed.endswith("; explained: sale")
    assert not second.passed


@pytest.mark.parametrize(
    ("audit", "said"),
    [
        (an_audit("not_null", columns=("a",), where="b > 1", tolerate="5%"), "no row with `a` IS NULL, where b > 1; up to 5% tolerated"),
        (an_audit("unique", columns=("a", "b"), tolerate=3), "one row per a, b; up to 3 rows tolerated"),
        (an_audit("expression", expression="a < b", where="c"), "a < b in every row, where c"),
        (an_audit("relationships", columns=("a",), to="t", fields=("id",)), "every a is a id of t"),
        (an_audit("entities", column="a", values=("x", "y")), "every a of x, y has rows"),
        (an_audit("entities", column="a", of="t", field="id"), "every a of t (id) has rows"),
        (an_audit("null_rate", column="a", min_percent=1, max_percent=5), "between 1 and 5 % of a is NULL"),
        (an_audit("aggregate", metric="sum(a)", min=2), "sum(a) is at least 2"),
        (an_audit("reconcile", metric="sum(a)", of="prod", by={"c": "c"}, within_percent=1.0), "sum(a) by c is within ±1 % of that in prod"),
        (an_audit("reconcile", metric="sum(a)", of="t", of_metric="sum(b)"), "sum(a) is equal to sum(b) in t"),
        (an_audit("trend", metric="sum(a)", max_change_percent=50, neighbours=7), "sum(a) within ±50 % of the median of the 7 intervals before and after"),
        (an_audit("known_records", records=()), "every known record is there as expected"),
        (an_audit("sql", file="odd", query="…"), "no row from audits/odd.sql"),
    ],
)  # fmt: skip
def test_expectations_in_words(audit: Audit, said: str) -> None:
    """Each kind says what it wants, with its thresholds: in the check's description and in each result."""
    assert expected_text(a_model("m"), audit) == said
