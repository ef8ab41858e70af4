"""What grows with the years is read once a look: not again for each case that the gate is asked about."""

from __future__ import annotations

import pytest

from backfill_assets.build.apply import apply
from backfill_assets.core.intervals import utc
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.extend import routine_case
from backfill_assets.state.releases import Release, Releases
from backfill_assets_tests.fakes import Cell, World, a_model
from backfill_assets_tests.unit.promote.test_beside_newer import built, released


def test_the_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A routine run over models that are red one after the other is asked of case by case; a second plan is open."""
    world = World(*(a_model(name, "raw") for name in "abcd"))
    released(world)
    built(world, Request(restate=(("a", next(iter(world.facts().tables.coverage["a"].green))),)))
    later = utc("2024-01-13T12:00")
    world.engine.cell = lambda job, unit: Cell(failures={"rows_ok": int(job.model.name in "abc")})
    apply(world.bench(now=later), world.plan(now=later))
    real, reads, asked = Releases.all, list[str](), list[Plan]()

    def counted(self: Releases, environment: str) -> list[Release]:
        reads.append(environment)
        return real(self, environment)

    monkeypatch.setattr(Releases, "all", counted)
    facts, cases = world.facts(later), world.cases(required=False)

    def case(plan: Plan) -> Case:
        asked.append(plan)
        return cases.promotion(Request(), facts, plan, purpose=Purpose.ROUTINE)

    found, held = routine_case(world.project, facts, case)
    assert [p.model for p in found.pointers] == ["d"] and {o.model for o in held} == set("abc")
    assert len(asked) > 1 and reads == ["prod"]
    for record in world.control.plans.all():
        cases.review(facts, record)
    assert reads == ["prod"]
