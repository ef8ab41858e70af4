"""How does a test do all that the program does, on a real folder, without Spark? In a workspace with a fake engine."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from backfill_assets.app.candidate import open_plan, show_candidate
from backfill_assets.app.context import Context
from backfill_assets.app.gate import cases_of
from backfill_assets.app.plan import plan_request
from backfill_assets.app.promote import promote_plan
from backfill_assets.app.routine import promote_green, published_context
from backfill_assets.audits.counts import Counts
from backfill_assets.build.apply import apply
from backfill_assets.build.engine import AuditReads, Job
from backfill_assets.build.outcome import Outcome
from backfill_assets.core.intervals import Ranges
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.approval import EVERY_PROOF, subject
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.proofs import Finding, Proof
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import FakeEngine, FakeTables


class RedEngine(FakeEngine):
    """Ten rows a day, which pass their audits but on the `red` days."""

    def __init__(self, warehouse: str) -> None:
        super().__init__(cast("FakeTables", DeltaTables(warehouse)))
        self.red: set[datetime] = set()

    def scan(self, job: Job, commit: int, intervals: Ranges, reads: AuditReads) -> Mapping[datetime, Counts]:
        found = super().scan(job, commit, intervals, reads)
        first = {job.model.audits[0].name: 1} if job.model.audits else {}
        return {at: Counts(rows=c.rows, failures=first if at in self.red else {}) for at, c in found.items()}


def unsparked(root: Path, *, red: set[datetime] | None = None, user: str = "") -> Context:
    """The project as it is on disk now; it builds rows of nothing, and no JVM starts."""
    place = Context.open(root)
    engine = RedEngine(place.warehouse)
    engine.red = red or set()
    place._engine = engine  # pyright: ignore[reportPrivateUsage]
    place.acting = user or place.acting
    return place


def promoted(root: Path, *, user: str = "dev") -> Path:
    """What the project's code says is built and shown."""
    place = unsparked(root, user=user)
    build(place)
    assert promote_plan(place).verdict.open
    return root


def build(place: Context, request: Request | None = None) -> tuple[Plan, dict[str, Outcome]]:
    """What `backfill apply` does, but what only Spark can compare."""
    plan = plan_request(place, request)
    opened = open_plan(place, plan)
    done = apply(place.bench(plan.sources, patches=plan.patches, frozen=plan.continued.frozen), plan)
    if opened is not None:
        show_candidate(place, opened.plan.id)
    return plan, done


def extend(place: Context) -> tuple[str, ...]:
    """What `backfill routine` does; the models that were held."""
    shown = published_context(place)
    shown._engine = place._engine  # pyright: ignore[reportPrivateUsage]
    plan = plan_request(shown, Request(), resume=False)
    apply(shown.bench(plan.sources, patches=plan.patches), plan)
    held = promote_green(shown).held
    return tuple(o.model for o in held)


def prove(place: Context, plan: str, *findings: Finding) -> None:
    """What a comparison in Spark keeps, where it finds just this."""
    record, facts = find_plan(place.control, plan), place.facts()
    content = subject(place.project, facts, cases_of(place, facts).review(facts, record)).content
    now = datetime.now(UTC)
    place.control.proofs.put(
        [
            Proof(plan=plan, kind=k, content=content, at=now, findings=findings if k == "diff" else (), document={})
            for k in sorted(EVERY_PROOF)
        ]
    )


def changed(root: Path) -> tuple[Context, str]:
    """A change of published rows by dev, built and compared: it waits for Ana's approval. The place, and its plan."""
    daily = root / "models" / "daily.sql"
    daily.write_text(daily.read_text().replace("count(*) AS n", "count(*) + 1 AS n"))
    place = unsparked(root, user="dev")
    build(place)
    [plan] = [r.id for r in place.control.plans.all() if r.live]
    prove(place, plan)
    return place, plan
