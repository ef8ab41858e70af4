"""The campaign story for consumers: whom three columns more affect (A1), and whom another meaning of one (A6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from backfill_assets.cli.impact import impact_markdown, print_impacts
from backfill_assets.contracts.contract import promised
from backfill_assets.contracts.impact import Impact, impacts
from backfill_assets.contracts.publish import PublishedContracts
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Project
from backfill_assets.plan.facts import Facts, Shown, Tables
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import Coverage
from backfill_assets_tests.fakes import a_pointer
from backfill_assets_tests.unit.plan.test_campaign_story import MORE_COLUMNS, REAL_TIMESTAMP, edited

NOW = utc("2025-06-24T06:00")


def facts(shown: Project, code: Project) -> Facts:
    """Prod shows all of one project's history; nothing of the other's is built."""
    pointers = {n: a_pointer(n, shown.fingerprints[n], m.expected(NOW).intervals[0]) for n, m in shown.models.items()}
    same = {n for n in code.models if code.fingerprints[n] == shown.fingerprints[n]}
    return Facts(
        now=NOW,
        environment=Environment(name="prod", revision=1, pointers=pointers, releases={}),
        tables=Tables(
            coverage={
                n: Coverage(green=m.expected(NOW) if n in same else Coverage().green) for n, m in code.models.items()
            },
            heads=dict.fromkeys(code.models, 1),
        ),
        shown=Shown(signatures={n: shown.signatures[n] for n in shown.models}),
    )


def story(tmp_path: Path, edits: Sequence[tuple[str, str]]) -> tuple[Plan, tuple[Impact, ...]]:
    for name in ("shown", "code"):
        (tmp_path / name).mkdir()
    shown, code = edited(tmp_path / "shown", []), edited(tmp_path / "code", edits)
    seen = facts(shown, code)
    plan = make_plan(code, seen, Request())
    contracts = PublishedContracts(
        old={n: promised(shown, n) for n in shown.models}, new={n: promised(code, n) for n in code.models}
    )
    return plan, impacts(plan, code.consumers.values(), seen.environment, contracts)


def test_three_columns_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody names the new columns, so nobody is affected; the plan says so."""
    plan, found = story(tmp_path, MORE_COLUMNS)
    print_impacts(plan, found)
    assert capsys.readouterr().out == "\nWho is affected\n  nobody in consumers.yml\n"


def test_cost_per_acquisition_by_the_real_timestamp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent is: by these columns of roi_analysis, on the 28 days that it reads. Its evaluation is void. The others
    read none of it."""
    plan, found = story(tmp_path, REAL_TIMESTAMP)
    print_impacts(plan, found)
    assert capsys.readouterr().out == (
        "\nWho is affected\n"
        "  budget_agent: behavioural  (agent, criticality high, growth@example.com)\n"
        "    roi_analysis: cost_per_acquisition, acquisition_cost_index may have other values on"
        " 2025-05-27..2025-06-23\n"
        "    tell growth@example.com: 14 days' notice end at 2025-07-08\n"
        "    evaluations that will not hold any more: replay_first_quarter (2025-01-01..2025-03-31)\n"
        "  not affected: cfo_weekly_export, marketing_dashboard, seasonality_notebook\n"
    )
    assert "| `budget_agent` (agent) | growth@example.com | behavioural | roi_analysis: " in impact_markdown(
        plan, found
    )
