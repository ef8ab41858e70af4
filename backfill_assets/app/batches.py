"""How long are the batches of a plan, where its models do not say it? What is known without Spark is looked up."""

from __future__ import annotations

from functools import cache

from backfill_assets.adapters.machine import spark_machine
from backfill_assets.app.context import Context
from backfill_assets.core.model import Project
from backfill_assets.plan.batch_times import Shapes
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.leases import Claim
from backfill_assets.plan.sized_batches import Expected, expected_paces, paces, seconds_of, unsized, with_sizes
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.stored import stored_plan
from backfill_assets.state.history import History
from backfill_assets.state.ledger import EntriesByVersion

LONG = 600.0
"""Seconds of building from which on the optimizing compiler is used. By what was measured it would pay from 90 s on
(docs/performance.md), but no build of minutes was measured with both, and expectations are wrong by factors."""


def with_measured_batches(context: Context, facts: Facts, plan: Plan, claim: Claim) -> Plan:
    """The plan with batches of about a minute where nobody says how long they are; those of the open plan that it goes
    on with stay. Nothing is looked at where all say it."""
    if not unsized(context.project, plan):
        return plan
    project = facts.bounded(context.project)
    pace = paces(project, facts.tables.entries, _expected(context, project, facts.tables.entries, plan))
    said = stored_plan(context.control, claim.continues.id) if claim.continues else None
    before = (claim.continues.id, said) if claim.continues and said else None
    return with_sizes(project, plan, pace, spark_machine(project.root, project.settings), before)


def is_long(context: Context, plan: Plan) -> bool:
    """Whether the plan's builds take so long that the JVM's optimizing compiler pays for itself, as far as known."""
    history = History(context.control.ledger)
    pace = paces(context.project, history, _expected(context, context.project, history, plan))
    return seconds_of(context.project, plan, pace) > LONG


def shapes_of(context: Context, plan: Plan, history: EntriesByVersion) -> Shapes:
    """How bytes make batches of a model take longer; its sources are looked at when it is asked about."""
    expected = cache(lambda: _expected(context, context.project, history, plan))

    def shape(name: str) -> tuple[float, float] | None:
        pace, _ = expected()(name)
        return (pace.fixed, pace.each) if pace else None

    return shape


def _expected(context: Context, project: Project, history: EntriesByVersion, plan: Plan) -> Expected:
    machine, pins = spark_machine(project.root, project.settings), plan.sources
    return expected_paces(project, history, lambda: context.source_parts(pins), machine, plan.now)
