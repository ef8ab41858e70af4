"""What a person reads of a plan, under a fixed clock, word for word."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.app.new_project import TEMPLATE
from backfill_assets.app.next_step import next_step
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.model import Project
from backfill_assets.plan.estimate import estimate
from backfill_assets.plan.facts import Facts, Tables
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.project.loader import load_project
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets.watch.notice import Notice, NoticeKind

EMPTY = Environment(name="prod", revision=-1, pointers={}, releases={})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The template as `backfill init` makes it."""
    return load_project(Path(shutil.copytree(TEMPLATE, tmp_path / "project")))


def facts(project: Project, **covered: Coverage) -> Facts:
    """Nothing is built, save what is said."""
    return Facts(
        now=utc("2024-02-01"),
        environment=EMPTY,
        tables=Tables(
            coverage={name: covered.get(name, Coverage()) for name in project.models},
            heads=dict.fromkeys(project.models, -1),
        ),
    )


def said(plan: Plan, project: Project, capsys: pytest.CaptureFixture[str]) -> str:
    """The plan's text, without its id and without the width of its columns."""
    print_plan(plan, project, estimate(plan.work, [], project.models, at_once=2))
    text = capsys.readouterr().out.replace(plan.id, "PLAN")
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.splitlines())


def days(start: str, end: str) -> Ranges:
    return Ranges((Interval.of(start, end),))


def test_first_plan(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A first plan says what is built, in how many batches, and what comes next."""
    plan = make_plan(project, facts(project), Request())
    assert said(plan, project, capsys) == (
        "Plan PLAN for prod, as of 2024-02-01 00:00 UTC\n"
        "build  daily_revenue  31 days  2024-01-01..2024-01-31  1 batch  new in prod\n"
        "build  revenue_rolling  31 days  2024-01-01..2024-01-31  1 batch  new in prod\n"
        "\nTime and cost\n"
        "  Not known yet: backfill apply --sample 3 builds a little and measures it.\n"
        "\nApproval and promotion\n"
        "  Then backfill promote shows daily_revenue, revenue_rolling in prod, in one step.\n\n"
        "Next: backfill apply"
    )


def test_gaps_audits_and_waiting(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Gaps are found anywhere, stale audits are told from missing rows, and what waits says for what."""
    small = replace(project, models={n: replace(m, batch_size=4) for n, m in project.models.items()})
    gap = days("2024-01-01", "2024-01-10") | days("2024-01-20", "2024-02-01")
    old = days("2024-01-05", "2024-01-07")
    have = facts(
        small,
        daily_revenue=Coverage(green=gap - old, unaudited=old),
    )
    rolling_only = make_plan(small, have, Request(select=("revenue_rolling",)))
    assert said(rolling_only, small, capsys) == (
        "Plan PLAN for prod, as of 2024-02-01 00:00 UTC\n"
        "build  revenue_rolling  10 days  2024-01-01..2024-01-04, 2024-01-26..2024-01-31  3 batches, one by one"
        "  new in prod\n"
        "wait  revenue_rolling  21 days  2024-01-05..2024-01-25"
        "  needs daily_revenue 2024-01-05..2024-01-06, 2024-01-10..2024-01-19\n"
        "\nTime and cost\n"
        "  Not known yet: backfill apply --sample 3 builds a little and measures it.\n"
        "\nApproval and promotion\n"
        "  prod keeps what it shows of revenue_rolling until the days that wait are built too.\n\n"
        "Next: backfill apply --select revenue_rolling"
    )
    everything = make_plan(small, have, Request())
    assert said(everything, small, capsys) == (
        "Plan PLAN for prod, as of 2024-02-01 00:00 UTC\n"
        "audit  daily_revenue  2 days  2024-01-05..2024-01-06  "
        "built, but not audited with the present audits\n"
        "build  daily_revenue  10 days  2024-01-10..2024-01-19  3 batches, one by one  intervals are missing\n"
        "build  revenue_rolling  31 days  2024-01-01..2024-01-31  8 batches, one by one  new in prod\n"
        "\nTime and cost\n"
        "  Not known yet: backfill apply --sample 3 builds a little and measures it.\n"
        "\nApproval and promotion\n"
        "  Then backfill promote shows daily_revenue, revenue_rolling in prod, in one step.\n\n"
        "Next: backfill apply"
    )


def test_nothing_to_build(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """What is complete is kept, with the reason, and the next step is the promotion."""
    full = Coverage(green=days("2024-01-01", "2024-02-01"))
    plan = make_plan(project, facts(project, daily_revenue=full, revenue_rolling=full), Request())
    assert said(plan, project, capsys) == (
        "Plan PLAN for prod, as of 2024-02-01 00:00 UTC\n"
        "keep  daily_revenue  complete and audited\n"
        "keep  revenue_rolling  complete and audited\n"
        "\nApproval and promotion\n"
        "  Then backfill promote shows daily_revenue, revenue_rolling in prod, in one step.\n\n"
        "Nothing to build. Next: backfill promote"
    )


def test_nothing_to_build_says_what_the_gate_says(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """No promotion is announced that would be refused; one that is not names the stored plan."""
    full = Coverage(green=days("2024-01-01", "2024-02-01"))
    plan = make_plan(project, facts(project, daily_revenue=full, revenue_rolling=full), Request())
    guess = estimate(plan.work, [], project.models, at_once=2)
    asked = Obstacle(model="daily_revenue", what="needs approval by ana", remedy="backfill approve 1f3a")
    closed = Verdict(pointers=(), obstacles=(asked,))
    print_plan(plan, project, guess, verdict=closed, following=next_step(plan, closed, "1f3a"))
    text = capsys.readouterr().out
    assert "prod cannot move yet" in text and "needs approval by ana" in text and "backfill approve 1f3a" in text
    assert "backfill promote" not in text
    free = Verdict(pointers=(), obstacles=())
    print_plan(plan, project, guess, verdict=free, following=next_step(plan, free, "1f3a"))
    assert "Next: backfill promote 1f3a" in capsys.readouterr().out


def test_what_stands_in_the_way_is_said_before_anything_is_built(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """No promotion is announced that is known to be refused: the reason and its remedy are."""
    plan = make_plan(project, facts(project), Request())
    gap = Gap(subject="daily_revenue", what="nobody [red]owns it", remedy="add `owner:`", blocking=True)
    guess = estimate(plan.work, [], project.models, at_once=2)
    print_plan(plan, project, guess, gaps=(gap,))
    text = capsys.readouterr().out
    assert "cannot be shown in prod before this is mended (backfill preflight):" in text
    assert "\n    daily_revenue: nobody [red]owns it\n      fix: add `owner:`\n" in text
    assert "Then backfill promote" not in text and "Next: backfill apply" in text
    said = plan_markdown(plan, project, guess, (gap,))
    assert "- daily_revenue: nobody \\[red\\]owns it" in said and "Then backfill promote" not in said


def test_the_next_step_is_the_last_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever else there is to say of a plan, whom it affects among it, comes before."""
    plan = make_plan(project, facts(project), Request())
    guess = estimate(plan.work, [], project.models, at_once=2)
    print_plan(plan, project, guess, more=lambda: print("Who is affected"))
    assert capsys.readouterr().out.endswith("\nWho is affected\n\nNext: backfill apply\n")


def test_nothing_to_do_is_not_said_beside_late_data(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """What the watch finds of sources that changed is the next step."""
    full = Coverage(green=days("2024-01-01", "2024-02-01"))
    plan = replace(make_plan(project, facts(project, daily_revenue=full, revenue_rolling=full), Request()), stages=())
    late = Notice(
        kind=NoticeKind.LATE, model="daily_revenue", intervals=days("2024-01-05", "2024-01-06"),
        what="a.parquet changed", restate=("daily_revenue:2024-01-05",),
    )  # fmt: skip
    guess = estimate(plan.work, [], project.models, at_once=2)
    print_plan(plan, project, guess)
    assert "Nothing to do." in capsys.readouterr().out
    print_plan(plan, project, guess, late=(late,))
    text = capsys.readouterr().out
    assert "Nothing to do" not in text and "daily_revenue 2024-01-05: a.parquet changed" in text
    assert "Next: backfill apply --restate daily_revenue:2024-01-05" in text


def test_the_next_step_keeps_the_request(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """What was asked for is in the command that builds it."""
    plan = make_plan(project, facts(project), Request(select=("daily_revenue",), end=utc("2024-01-11")))
    assert "Next: backfill apply --select daily_revenue --end 2024-01-10" in said(plan, project, capsys)
