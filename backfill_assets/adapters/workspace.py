"""All that can be done with a project: what every way in starts from. Going back, extending, sweeping and watching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from backfill_assets.adapters.caches import CacheFile, old_cache_files, remove_cache_files
from backfill_assets.adapters.releasing import Releasing
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.errors import BackfillError
from backfill_assets.plan.plan import make_plan
from backfill_assets.plan.published import published
from backfill_assets.plan.select import select_models
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.promote.compaction import Crowd, crowds, join
from backfill_assets.promote.gate import Obstacle, Verdict
from backfill_assets.promote.go_back import RolledBack, go_back
from backfill_assets.promote.janitor import Rounds, Swept, look_around, sweep
from backfill_assets.promote.lifecycle import end_promoted
from backfill_assets.promote.promote import promote, recover
from backfill_assets.promote.rehearsal import Readability, rehearse
from backfill_assets.promote.rollback import Rollback, look_back, rollback_plan
from backfill_assets.settings import cache_folder
from backfill_assets.state.environment import Environment
from backfill_assets.watch.closing import Watched, closing
from backfill_assets.watch.watch import take_a_look, watch


@dataclass(frozen=True, slots=True, kw_only=True)
class Housework:
    """What the janitor finds to do."""

    rounds: Rounds
    caches: tuple[CacheFile, ...]
    crowds: tuple[Crowd, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What the janitor found and did."""

    found: Housework
    swept: Swept
    joined: Mapping[str, str]
    """Model → why its corrections could not be joined; "" where they are."""


@dataclass(kw_only=True)
class Workspace(Releasing):
    """A loaded project and everything that acts on it. Nothing that needs a JVM is opened before it is used."""

    def look_back(self, release: str | None = None, select: Sequence[str] = ()) -> tuple[Rollback, list[Readability]]:
        """What going back to a release (None: before the last change) would be, and whether it can still be read."""
        found = look_back(
            self.project,
            self.control,
            self.log,
            environment=self.environment,
            now=self.now(),
            release=release,
            select=select,
        )
        return found, rehearse(found.pointers, self.storage, self.log, self.control.ledger)

    def roll_back(
        self,
        release: str | None,
        select: Sequence[str] = (),
        *,
        at_once: bool = False,
        build: Callable[[Workspace, Plan], object],
    ) -> RolledBack:
        """Go back to an older release: build and audit first what it lacks (or not: `at_once`), then move all pointers.

        `build` carries out a plan in a workspace. Nothing moves when anything is in the way or could not be built.
        """
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)

        def extend(found: Rollback) -> None:
            assert found.project is not None
            project, after = found.project, found.after.pointers
            place = replace(self, project=project, shown=after)
            sources = {name: self.pins.pin(source) for name, source in found.project.sources.items()}
            build(place, rollback_plan(found, self.now(), sources))

        def move(found: Rollback) -> Environment:
            moved = promote(
                self.control.environments,
                found.environment,
                found.pointers,
                views,
                remove=found.removed,
                by=self.user,
                back_to=found.release.id,
            )
            end_promoted(self.control, moved, by=self.user, views=lambda: views)
            return moved

        return go_back(self.look_back, extend, move, release, select, at_once=at_once)

    def janitor(self) -> Housework:
        """What could go: tables that nothing reaches, and what lies in the cache; and corrections that are too many to
        stay apart. Nothing is changed."""
        rounds = look_around(self.control, self.storage, now=self.now(), retention=self.retention)
        caches = old_cache_files(cache_folder(self.project.root), before=self.now() - self.retention)
        shown = self.control.environments.read(self.environment)
        crowded = crowds(self.control, self.log, self.project, shown)
        return Housework(rounds=rounds, caches=tuple(caches), crowds=tuple(crowded))

    def sweep(self) -> Cleared:
        """Do it, and join the small files of the control tables. Opens a session only where corrections are joined."""
        found = self.janitor()
        swept = sweep(self.control, self.storage, now=self.now(), retention=self.retention, by=self.user)
        remove_cache_files(found.caches)
        self.control.compact()
        joined = {crowd.pointer.model: self._join(crowd) for crowd in found.crowds}
        return Cleared(found=found, swept=swept, joined=joined)

    def _join(self, crowd: Crowd) -> str:
        model = self.project.models[crowd.pointer.model]
        try:
            views = self.shared_views()
            join(
                crowd,
                self.control,
                self.log,
                model,
                self.engine,
                environment=self.environment,
                views=views,
                by=self.user,
            )
        except BackfillError as error:
            return str(error)
        return ""

    def published(self) -> Workspace:
        """The same warehouse with the project as the environment shows it: what routine runs extend.

        Raises StateError, PlanError when a stored definition cannot be executed.
        """
        shown = self.control.environments.read(self.environment)
        project = published(self.project, shown, self.control.versions.all())
        return replace(self, project=project)

    def promote_green(self) -> tuple[Environment, Verdict, tuple[Obstacle, ...]]:
        """Promote, without the models that something is in the way of and those that read them; and what that is."""
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)
        facts = self.facts()
        plan = make_plan(self.project, facts, Request())
        held: list[Obstacle] = []
        models = plan.models
        while True:
            verdict = self.gate(Request(), facts, replace(plan, models=models))
            if verdict.open:
                break
            held.extend(verdict.obstacles)
            named = [f"{m}+" for o in verdict.obstacles for m in o.model.split(", ") if m in models]
            stuck = select_models(self.project, named) if named else models
            models = tuple(m for m in models if m not in stuck)
        moved = facts.environment
        if verdict.pointers:
            moved = promote(self.control.environments, facts.environment, verdict.pointers, views, by=self.user)
        return moved, verdict, tuple(held)

    def watch(self) -> Watched:
        """What is found of the environment and its sources. Opens a session only where a shared catalog has views.

        Raises StateError, PlanError when what is shown cannot be read as a project.
        """
        views, shown = self.shared_views(), self.control.environments.read(self.environment)
        if shown.promotion is not None:
            views = None  # they are ready for both releases, and say so
        records = self.control.versions.all()
        recorded = all((name, pointer.version) in records for name, pointer in shown.pointers.items())
        versions = {name: pointer.version for name, pointer in shown.pointers.items()}
        as_shown = replace(self.project, fingerprints={**self.project.fingerprints, **versions})
        found = take_a_look(
            published(self.project, shown, records) if recorded else as_shown,  # a missing record is a finding
            self.control,
            self.log,
            self.storage,
            SourceChanges(),
            environment=shown,
            fingerprints=self.project.fingerprints,
            now=self.now(),
            at=datetime.now(UTC),
            lasts=timedelta(hours=self.project.settings.watch_hours),
            views=views.drifted(shown) if views is not None else {},
        )
        notices = watch(found)
        return Watched(environment=shown.name, notices=notices, closing=closing(found, notices))
