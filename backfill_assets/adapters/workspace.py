"""All that can be done with a project: what every way in starts from. Going back, extending, sweeping and watching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from backfill_assets.adapters.caches import CacheFile, old_cache_files, remove_cache_files
from backfill_assets.adapters.packets import packet_folders, remove_packet
from backfill_assets.adapters.releasing import Releasing
from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.audits.digest import audits_digest
from backfill_assets.contracts.publish import promoted_audits
from backfill_assets.core.errors import BackfillError, PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.evidence.orphans import UNDER_WAY, PacketFolder, orphans
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.project.settings import cache_folder
from backfill_assets.promote.clock import check_clock
from backfill_assets.promote.compaction import Crowd, crowds, join, joined_case
from backfill_assets.promote.extend import routine_case
from backfill_assets.promote.gate import Case, Verdict
from backfill_assets.promote.go_back import RolledBack, go_back, in_the_way, rollback_case
from backfill_assets.promote.janitor import Rounds, Swept, look_around, sweep
from backfill_assets.promote.lifecycle import end_promoted
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.promote.promote import recover
from backfill_assets.promote.rehearsal import Readability, rehearse
from backfill_assets.promote.rollback import Rollback, look_back, rollback_plan
from backfill_assets.state.environment import Environment
from backfill_assets.watch.closing import Watched, closing
from backfill_assets.watch.late import late
from backfill_assets.watch.look import Look
from backfill_assets.watch.notice import Notice
from backfill_assets.watch.watch import take_a_look, watch

if TYPE_CHECKING:
    from backfill_assets.adapters.spark_views import SparkViews


@dataclass(frozen=True, slots=True, kw_only=True)
class Housework:
    """What the janitor finds to do."""

    rounds: Rounds
    caches: tuple[CacheFile, ...]
    crowds: tuple[Crowd, ...]
    packets: tuple[PacketFolder, ...] = ()
    """Packets of releases that did not happen."""


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
        reason: str = "",
        build: Callable[[Workspace, Plan], object],
    ) -> RolledBack:
        """Go back to an older release: build and audit first what it lacks (or not: `at_once`), then move all pointers.

        `reason` says why, in the evidence. `build` carries out a plan in a workspace. Nothing moves when anything is in
        the way or could not be built.
        """
        views = self.shared_views()
        recover(self.control.environments, self.environment, views)

        def extend(found: Rollback) -> None:
            assert found.project is not None
            project, after = found.project, found.after.pointers
            place = replace(self, project=project, shown=after)
            sources = {name: self.pins.pin(source) for name, source in found.project.sources.items()}
            build(place, rollback_plan(found, self.now(), sources))

        def move(found: Rollback) -> tuple[Environment, Verdict]:
            def look() -> Case:
                again, proofs = self.look_back(found.release.id, select)
                way = in_the_way(again, proofs, at_once=at_once)
                return rollback_case(self.project, self.facts(), self.control, self.log, again, way, at_once=at_once)

            done = self.release(
                look,
                views,
                evidence=partial(self.seal, back_to=found.release, at_once=at_once, reason=reason),
                back_to=found.release.id,
                at_once=at_once,
                rules=self.rules_in_force,
            )
            if done.moved:
                end_promoted(self.control, done.environment, by=self.user, views=lambda: views)
            return done.environment, done.verdict

        return go_back(self.look_back, extend, move, release, select, at_once=at_once)

    def rules_in_force(self, case: Case) -> Mapping[str, object]:
        """The rules in force, as a release that brings nothing new to them records them."""
        return (case.facts.rules or self.rules()).to_json()

    def janitor(self) -> Housework:
        """What could go: tables that nothing reaches, and what lies in the cache; and corrections that are too many to
        stay apart. Nothing is changed."""
        now = self._real_now()
        rounds = look_around(self.control, self.storage, now=now, retention=self.retention)
        caches = old_cache_files(cache_folder(self.project.root), before=now - self.retention)
        shown = self.control.environments.read(self.environment)
        crowded = crowds(self.control, self.log, self.project, shown)
        return Housework(rounds=rounds, caches=tuple(caches), crowds=tuple(crowded), packets=self._orphans(now))

    def _orphans(self, now: datetime) -> tuple[PacketFolder, ...]:
        """Listed before the records are read: what is released meanwhile is known to them."""
        folders = packet_folders(self.warehouse)
        before = min(now - self.retention, datetime.now(UTC) - UNDER_WAY)
        return orphans(folders, self.control.releases.everywhere(), self.control.plans.all(), before=before)

    def _real_now(self) -> datetime:
        """What decides about ages of records, which are of the real clock; the project's may be fixed in the past."""
        return max(self.now(), datetime.now(UTC))

    def sweep(self, *, today: date | None = None) -> Cleared:
        """Do it, and join the small files of the control tables. Opens a session only where corrections are joined.

        Raises StateError, having removed nothing, when the clock jumped and nobody confirms that it is `today`.
        """
        now = self._real_now()
        check_clock(self.control, now=now, retention=self.retention, today=today)
        found = self.janitor()
        swept = sweep(self.control, self.storage, now=now, retention=self.retention, by=self.user)
        remove_cache_files(found.caches)
        for packet in found.packets:
            remove_packet(self.warehouse, packet)
        self.control.compact()
        joined = {crowd.pointer.model: self._join(crowd) for crowd in found.crowds}
        return Cleared(found=found, swept=swept, joined=joined)

    def _join(self, crowd: Crowd) -> str:
        model = self.project.models[crowd.pointer.model]

        def show(pointer: Pointer) -> Environment:
            def look() -> Case:
                return joined_case(crowd, pointer, self.control, self.project, self.facts(), self.log)

            done = self.release(
                look,
                self.shared_views(),
                evidence=self.seal,
                rules=self.rules_in_force,
            )
            if not done.verdict.open:
                raise PromotionError("the copy is not shown", why="; ".join(map(str, done.verdict.obstacles)))
            return done.environment

        try:
            join(crowd, self.control, self.log, model, self.engine, show=show)
        except BackfillError as error:
            return str(error)
        return ""

    def published(self) -> Workspace:
        """The same warehouse with the project as the environment shows it: what routine runs extend.

        Raises StateError, PlanError when a stored definition cannot be executed.
        """
        shown = self.control.environments.read(self.environment)
        audits = promoted_audits(self.control, self.environment)
        project = published(self.project, shown, self.control.versions.all(), audits)
        return replace(self, project=project)

    def promote_green(self) -> tuple[Environment, Verdict, tuple[Obstacle, ...]]:
        """Promote what a routine run extended, without the models that something is in the way of and those that read
        them; and what that is. Models that show another version by now than the run began with stay as they are."""
        held: tuple[Obstacle, ...] = ()

        def look() -> Case:
            nonlocal held
            facts = self.facts()
            case, held = routine_case(self.project, facts, lambda plan: self.case(Request(), facts, plan))
            return case

        done = self.release(
            look,
            self.shared_views(),
            evidence=self.seal,
            rules=self.rules_of,
        )
        return done.environment, done.verdict, held

    def watch(self) -> Watched:
        """What is found of the environment and its sources. Opens a session only where a shared catalog has views.

        Raises StateError, PlanError when what is shown cannot be read as a project.
        """
        found = self._look(self.shared_views())
        notices = watch(found)
        return Watched(environment=found.environment.name, notices=notices, closing=closing(found, notices))

    def late(self) -> tuple[Notice, ...]:
        """What is shown and was built before its sources changed: files are looked at, not into; no session.

        Raises StateError, PlanError when what is shown cannot be read as a project.
        """
        return tuple(notice for notice in late(self._look(None, footers=False)) if notice.finding)

    def _look(self, views: SparkViews | None, *, footers: bool = True) -> Look:
        shown = self.control.environments.read(self.environment)
        if shown.promotion is not None:
            views = None  # they are ready for both releases, and say so
        records = self.control.versions.all()
        recorded = all((name, pointer.version) in records for name, pointer in shown.pointers.items())
        versions = {name: pointer.version for name, pointer in shown.pointers.items()}
        audits = promoted_audits(self.control, self.environment)
        as_shown = replace(self.project, fingerprints={**self.project.fingerprints, **versions})
        return take_a_look(
            # a missing record is a finding
            published(self.project, shown, records, audits) if recorded else as_shown,
            self.control,
            self.log,
            self.storage,
            SourceChanges(),
            environment=shown,
            fingerprints=self.project.fingerprints,
            digests={
                name: audits_digest(self.project.models[name])
                for name, version in versions.items()
                if self.project.fingerprints.get(name) == version
            },
            now=self.now(),
            at=datetime.now(UTC),
            lasts=timedelta(hours=self.project.settings.watch_hours),
            views=views.drifted(shown) if views is not None else {},
            footers=footers,
        )
