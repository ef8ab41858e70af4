"""May these models be promoted? Everything in the way at once, each with its remedy; or the pointers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backfill_assets.core.intervals import Cadence, Ranges, utc
from backfill_assets.core.model import Override, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.facts import Facts, Tables
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.gate import Verdict, as_declared
from backfill_assets.promote.proposal import propose
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, a_model, a_pointer, a_project, days, gated, ranges
from backfill_assets_tests.strategies import sets_of_days

COLUMNS = (("ds", "date"), ("id", "bigint"))
GREEN = Coverage(green=ranges(days("01", "10")))
A, B, C = a_model("a", "raw"), a_model("b", "a"), a_model("c")


def record(model: str, version: str, **upstream: str) -> Version:
    return Version(model=model, version=version, upstream=upstream, columns=COLUMNS, definition={}, created=NOW)


RECORDS = {
    (r.model, r.version): r
    for r in (
        record("a", "a-1"),
        record("a", "a-2"),
        record("b", "b-1", a="a-1"),
        record("b", "b-2", a="a-2"),
        record("c", "c-1"),
    )
}


def ask(
    project: Project,
    coverage: Mapping[str, Coverage],
    *shown: Pointer,
    models: tuple[str, ...] = (),
    request: Request | None = None,
    heads: int = 7,
) -> Verdict:
    facts = facts_of(project, coverage, *shown, heads=heads)
    return gated(project, facts, RECORDS, request or Request(), models or tuple(project.models))


def facts_of(project: Project, coverage: Mapping[str, Coverage], *shown: Pointer, heads: int = 7) -> Facts:
    return Facts(
        now=NOW,
        environment=Environment(name="prod", revision=0, pointers={p.model: p for p in shown}, releases={}),
        tables=Tables(
            coverage={n: coverage.get(n, Coverage()) for n in project.models},
            heads=dict.fromkeys(project.models, heads),
        ),
    )


def obstacles(verdict: Verdict) -> list[tuple[str, str]]:
    assert all(o.remedy and o.what and "fix: " in str(o) for o in verdict.obstacles), "every obstacle has its remedy"
    return [(o.model, str(o.intervals)) for o in verdict.obstacles]


def test_an_open_gate_gives_the_pointers() -> None:
    """All green: each model at the commit that was looked at, with its recorded columns, over all of its days."""
    verdict = ask(a_project(A, B), {"a": GREEN, "b": GREEN})
    assert verdict.open
    [a, b] = verdict.pointers
    assert (a.model, a.version, a.columns, a.time_column, a.timestamps) == ("a", "a-1", COLUMNS, "ds", False)
    assert [(s.commit, str(s.interval)) for s in a.segments] == [(7, "2024-01-01..2024-01-10")]
    assert b.model == "b"


def test_hourly_models_are_pinned_by_instants() -> None:
    """Their views cut by timestamps."""
    hourly = a_model("a", cadence=Cadence.HOURLY)
    everything = Coverage(green=hourly.expected(NOW))
    assert ask(a_project(hourly), {"a": everything}).pointers[0].timestamps


def test_what_is_missing_is_in_the_way() -> None:
    """Days that are not built, or red: with the command that builds them."""
    verdict = ask(a_project(A), {"a": Coverage(green=ranges(days("01", "04"), days("06", "10")))})
    assert obstacles(verdict) == [("a", "2024-01-05")]
    assert verdict.obstacles[0].what == "1 day is not built:"
    assert verdict.obstacles[0].remedy == "backfill apply", "the same request: it goes on with the plan that is open"
    assert verdict.pointers == ()


def test_what_failed_is_told_with_what_failed() -> None:
    """To build it again alone leaves it as it is."""
    red = days("05")
    have = Coverage(green=ranges(days("01", "04"), days("06", "09")), refused=((red, "rows_ok failed"),))
    failed, missing = ask(a_project(A), {"a": have}).obstacles
    assert (failed.what, str(failed.intervals)) == ("1 day does not count: rows_ok failed:", "2024-01-05")
    assert failed.remedy == "once the cause is mended: backfill apply"
    assert (missing.what, str(missing.intervals)) == ("1 day is not built:", "2024-01-10")


def test_what_is_not_audited_is_in_the_way() -> None:
    """Built is not enough."""
    verdict = ask(a_project(A), {"a": Coverage(green=ranges(days("01", "08")), unaudited=ranges(days("09", "10")))})
    assert obstacles(verdict) == [("a", "2024-01-09..2024-01-10")]
    assert "lack audits" in verdict.obstacles[0].what


def test_declared_empty_days_never_count_as_coverage() -> None:
    """Complete for building upon, not for showing."""
    verdict = ask(a_project(A), {"a": Coverage(green=ranges(days("01", "09")), empty=ranges(days("10")))})
    assert obstacles(verdict) == [("a", "2024-01-10")]
    assert "without rows" in verdict.obstacles[0].what


def test_everything_in_the_way_is_said_at_once() -> None:
    """All kinds, of all models, in one answer; a model that would be fine does not move alone."""
    mixed = Coverage(green=ranges(days("02", "06")), unaudited=ranges(days("07", "08")), empty=ranges(days("09", "10")))
    verdict = ask(a_project(A, B, C), {"a": mixed, "b": GREEN}, a_pointer("a", "a-0", days("2023-12-30", "2024-01-10")))
    assert obstacles(verdict) == [
        ("a", "2024-01-01"),
        ("a", "2024-01-07..2024-01-08"),
        ("a", "2024-01-09..2024-01-10"),
        ("a", "2023-12-30..2023-12-31"),
        ("c", "2024-01-01..2024-01-10"),
    ]
    assert not verdict.open


def test_coverage_never_shrinks() -> None:
    """A new version with a later start, or a promotion of a few days, would take days away from readers."""
    project, shown = a_project(A, versions={"a": "2"}), a_pointer("a", "a-1", days("01", "10"))
    request = Request(start=days("03").start, end=days("05").end)
    verdict = ask(project, {"a": GREEN}, shown, request=request)
    assert obstacles(verdict) == [("a", "2024-01-01..2024-01-02, 2024-01-06..2024-01-10")]
    assert "would lose" in verdict.obstacles[0].what
    later = a_project(a_model("a", start=days("04").start), versions={"a": "2"})
    assert obstacles(ask(later, {"a": GREEN}, shown)) == [("a", "2024-01-01..2024-01-03")]
    assert ask(project, {"a": GREEN}, shown).open


def test_a_few_days_into_an_empty_environment() -> None:
    """A first promotion has no history to protect: it may show a range, and only that need be green."""
    some = Coverage(green=ranges(days("03", "05")))
    verdict = ask(a_project(A), {"a": some}, request=Request(start=days("03").start, end=days("05").end))
    assert [str(s.interval) for s in verdict.pointers[0].segments] == ["2024-01-03..2024-01-05"]


def test_a_range_of_the_version_that_is_shown_adds_to_it() -> None:
    """New days join those that are shown; those must still be green, or the commit that is pinned would show less."""
    shown = a_pointer("a", "a-1", days("01", "03"))
    request = Request(start=days("07").start, end=days("08").end)
    verdict = ask(a_project(A), {"a": GREEN}, shown, request=request)
    assert [str(s.interval) for s in verdict.pointers[0].segments] == [
        "2024-01-01..2024-01-03",
        "2024-01-07..2024-01-08",
    ]
    hole = Coverage(green=ranges(days("01"), days("03", "10")))
    assert obstacles(ask(a_project(A), {"a": hole}, shown, request=request)) == [("a", "2024-01-02")]


def test_what_is_shown_already_does_not_move() -> None:
    """Same segments at the same commit: open, and nothing to do."""
    verdict = ask(a_project(A), {"a": GREEN}, a_pointer("a", "a-1", days("01", "10"), commit=7))
    assert verdict.open
    assert verdict.pointers == ()


def test_a_model_without_an_interval_in_the_range_is_left_alone() -> None:
    """No interval of it is over: it is no obstacle to the others."""
    verdict = ask(a_project(A, a_model("later", start=utc("2025-01-01"))), {"a": GREEN})
    assert verdict.open
    assert [p.model for p in verdict.pointers] == ["a"]


def test_a_type_that_the_header_does_not_say_any_more() -> None:
    """It was built as something else: not shown anew; what is shown so is told by plans."""
    for declared in ("double", "int"):
        project = a_project(replace(A, promised={"ID": declared, "ds": "date", "gone": "string"}))
        [found] = ask(project, {"a": GREEN}).obstacles
        assert found.what == f"column ID is declared {declared}, and is bigint in its rows of"
        assert found.intervals == GREEN.green and found.remedy.startswith("write `type: bigint`, or ")
        shown = a_pointer("a", "a-1", days("01", "05"), commit=7)
        assert ask(project, {"a": GREEN}, shown).open, "more days of what is shown"
        facts = facts_of(project, {"a": GREEN})
        wanted = propose(facts.bounded(project), facts, RECORDS, Request(), ("a",), None)
        case = Case(project=project, facts=facts, versions=RECORDS, wanted=wanted)
        assert [*as_declared(case)] and not [*as_declared(replace(case, purpose=Purpose.ROLLBACK))]
        other = replace(case, project=replace(project, fingerprints={"a": "a-2"}))
        assert not [*as_declared(other)], "a header of now says nothing of other code"
    for same in ("bigint", "BIGINT"):
        assert ask(a_project(replace(A, promised={"ID": same})), {"a": GREEN}).open


def test_a_downstream_left_behind_is_in_the_way() -> None:
    """b was built from a-1; promoting a-2 alone would show it beside rows that it was not computed from."""
    project = a_project(A, B, versions={"a": "2", "b": "2"})
    shown = [a_pointer("a", "a-1", days("01", "10")), a_pointer("b", "b-1", days("01", "10"))]
    verdict = ask(project, {"a": GREEN, "b": GREEN}, *shown, models=("a",))
    assert obstacles(verdict) == [("b", "nothing")]
    assert "a-1" in verdict.obstacles[0].what
    assert "a-2" in verdict.obstacles[0].what
    assert "a+" in verdict.obstacles[0].remedy
    assert ask(project, {"a": GREEN, "b": GREEN}, *shown).open


def test_a_downstream_ahead_is_in_the_way() -> None:
    """b-2 was built from a-2, which prod does not show yet."""
    project = a_project(A, B, versions={"a": "2", "b": "2"})
    shown = [a_pointer("a", "a-1", days("01", "10")), a_pointer("b", "b-1", days("01", "10"))]
    assert obstacles(ask(project, {"a": GREEN, "b": GREEN}, *shown, models=("b",))) == [("b", "nothing")]


def test_an_upstream_that_is_not_shown_does_not_matter() -> None:
    """An environment may show b without a."""
    assert ask(a_project(A, B), {"b": GREEN}, models=("b",)).open


@given(sets_of_days(10), sets_of_days(10), sets_of_days(10), sets_of_days(14), st.booleans(), st.booleans())
def test_an_open_gate_shows_green_days_only_and_loses_none(
    green: Ranges, unaudited: Ranges, empty: Ranges, shown: Ranges, same: bool, ranged: bool
) -> None:
    """For any coverage and any environment: pointers are within green, hold what was shown, and all that is wanted.
    What is not over and not green stays at the commit that it is shown at."""
    coverage = Coverage(green=green, unaudited=unaudited - green, empty=empty - green - unaudited)
    not_over = ranges(days("11", "14"))
    before = [a_pointer("a", "a-1" if same else "a-0", *shown)] if shown else []
    request = Request(start=days("03").start, end=days("05").end) if ranged else None
    verdict = ask(a_project(A), {"a": coverage}, *before, request=request)
    assert verdict.open or not verdict.pointers
    for pointer in verdict.pointers:
        anew = Ranges.of(s.interval for s in pointer.segments if s.commit == 7)
        assert not anew - green
        assert pointer.covers - anew == (shown & not_over if same else Ranges()) - green
        assert not shown - pointer.covers
        assert days("03", "05") in pointer.covers if ranged else days("01", "10") in pointer.covers
    if days("01", "10") in green and not shown - green - (not_over if same else Ranges()):
        assert verdict.open or (ranged and not same)


def test_an_authors_word_about_a_reader_opens_the_gate() -> None:
    """a changed in what b reads; b keeps its table by its author's word, and by nothing else. What is shown that way
    already closes the gate for nobody."""
    project = a_project(A, B, C, versions={"a": "2"})
    covered, shown = (
        {"a": GREEN, "b": GREEN, "c": GREEN},
        [
            a_pointer("a", "a-1", days("01", "10")),
            a_pointer("b", "b-1", days("01", "10")),
        ],
    )
    [closed] = ask(project, covered, *shown, models=("a",)).obstacles
    assert closed.model == "b"
    word = Override(model="b", version="b-1", code="b-3", columns=("ds", "id"), reason="known", place="b.sql:2")
    assert ask(replace(project, overrides={"b": word}), covered, *shown, models=("a",)).open
    elsewhere = replace(project, overrides={"c": replace(word, model="c")})
    assert not ask(elsewhere, covered, *shown, models=("a",)).open
    afterwards = [a_pointer("a", "a-2", days("01", "10")), shown[1]]
    assert ask(project, covered, *afterwards, models=("c",)).open
