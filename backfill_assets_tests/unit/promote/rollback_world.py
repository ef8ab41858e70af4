"""A project in memory whose code changes, day by day: released, extended, rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from backfill_assets.build.apply import apply
from backfill_assets.core.model import Model, Source
from backfill_assets.plan.published import published
from backfill_assets.plan.source_history import SourceHistory
from backfill_assets.plan.stages import Request
from backfill_assets.promote.case import Case
from backfill_assets.promote.gate import Verdict
from backfill_assets.promote.promote import promote
from backfill_assets.promote.rehearsal import Readability, rehearse
from backfill_assets.promote.release import Mover, release_case
from backfill_assets.promote.rollback import ProposedRollback, propose_rollback, rollback_work
from backfill_assets.promote.rollback_run import RolledBack, carry_out_rollback, rollback_case, rollback_obstacles
from backfill_assets.state.environment import Environment
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.releases import Release
from backfill_assets_tests.fakes import NOW, World, a_model, a_project, attempted, gated, sealed

MODELS = (a_model("a", "raw"), a_model("b", "a"), a_model("c"))


def nothing_came(source: Source, since: int) -> SourceHistory:
    """The history of sources that nobody writes to."""
    return SourceHistory(since=since)


def looked_back(
    world: World, now: datetime, release: str | None = None, select: Sequence[str] = (), *, exact: bool = True
) -> tuple[ProposedRollback, list[Readability]]:
    """What going back would be, and whether it can be read, where nothing comes to sources."""
    found = propose_rollback(
        world.project,
        world.control,
        world.tables,
        nothing_came,
        environment="prod",
        now=now,
        release=release,
        select=select,
        exact=exact,
    )
    return found, rehearse(found.pointers, world.tables, world.tables, world.control.ledger)


class ProjectHistory:
    """A world in which code changes, days go by, and somebody goes back."""

    def __init__(self, *models: Model) -> None:
        self.models = models or MODELS
        self.world, self.now = World(*self.models), NOW

    @property
    def prod(self) -> Environment:
        return self.world.control.environments.read("prod")

    def at(self, name: str) -> Environment:
        return self.world.control.environments.read(name)

    @property
    def releases(self) -> list[Release]:
        return self.world.control.releases.all("prod")

    def shown(self) -> dict[str, str]:
        """Model → its segments."""
        return {m: "; ".join(f"{s.version} {s.interval}" for s in p.segments) for m, p in self.prod.pointers.items()}

    def change(self, **versions: str) -> None:
        self.world.project = a_project(*self.models, versions=versions)

    def release(self, request: Request | None = None, by: str = "ana", *, settling: bool = False) -> Environment:
        """Apply and promote what the code says."""
        request = request or Request()
        plan = self.world.plan(request, self.now)
        apply(self.world.bench(patches=plan.patches), plan)
        facts = self.world.facts(self.now)
        plan = self.world.plan(request, self.now)
        versions = self.world.control.versions.all()
        verdict = gated(self.world.project, facts, versions, request, plan.models, plan.patches)
        assert verdict.open, verdict
        return promote(
            self.world.control.environments,
            facts.environment,
            verdict.pointers,
            None,
            note=ReleaseNote(by=by, settling=settling),
        )

    def a_day(self) -> None:
        """A routine run extends what is shown."""
        self.now += timedelta(days=1)
        code = self.world.project
        self.world.project = published(code, self.prod, self.world.control.versions.all())
        self.release(by="routine")
        self.world.project = code

    def look(
        self, release: str | None = None, select: Sequence[str] = ()
    ) -> tuple[ProposedRollback, list[Readability]]:
        return looked_back(self.world, self.now, release, select, exact=release is not None)

    def back(self, release: str | None = None, select: Sequence[str] = (), *, at_once: bool = False) -> RolledBack:
        """What `backfill rollback` does."""
        world, exact = self.world, release is not None

        def look_at(name: str | None, models: Sequence[str]) -> tuple[ProposedRollback, list[Readability]]:
            return looked_back(world, self.now, name, models, exact=exact)

        def build(found: ProposedRollback) -> None:
            assert found.project is not None
            apply(world.bench(project=found.project, shown=found.after.pointers), rollback_work(found, self.now, {}))

        def move(found: ProposedRollback) -> tuple[Environment, Verdict]:
            def case() -> Case:
                again, proofs = look_at(found.release.id, select)
                way = rollback_obstacles(again, proofs, at_once=at_once)
                facts = world.facts(self.now)
                return rollback_case(world.project, facts, world.control, world.tables, again, way, at_once=at_once)

            done = release_case(
                Mover(control=world.control, log=world.tables, environment="prod", views=None, by="bob"),
                attempted(case),
                evidence=sealed,
                back_to=found.release.id,
                at_once=at_once,
            )
            return done.environment, done.verdict

        return carry_out_rollback(look_at, build, move, release, select, at_once=at_once)
