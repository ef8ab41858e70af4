"""A project in memory over a source that is really there, day by day: built, promoted, watched."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pandas as pd
from deltalake import write_deltalake

from backfill_assets.adapters.source_changes import SourceChanges
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.apply import apply
from backfill_assets.core.model import Model, Source
from backfill_assets.plan.facts import read_facts
from backfill_assets.plan.patch import Patch
from backfill_assets.plan.published import published
from backfill_assets.plan.stages import Request
from backfill_assets.promote.promote import promote
from backfill_assets.state.environment import Environment
from backfill_assets.state.ledger import DECIDING, Kind, by_version
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.late import late_sources
from backfill_assets.watch.notice import Notice, NoticeKind
from backfill_assets.watch.watch import SourceReader, read_source_facts, read_watch_facts, watch
from backfill_assets_tests.fakes import NOW, World, gated


class Lookout:
    """A world with one source, `raw`."""

    def __init__(self, *models: Model, source: Source, reader: SourceReader | None = None) -> None:
        self.world, self.now = World(*models), NOW
        self.source, self.reader = source, reader or SourceChanges()
        self.code = self.world.project = replace(self.world.project, sources={"raw": source})

    @property
    def prod(self) -> Environment:
        return self.world.control.environments.read("prod")

    def pin(self) -> dict[str, object]:
        return dict(FilePins().pin(self.source))

    def release(self, request: Request | None = None) -> dict[str, Patch]:
        """Apply and promote what the code says; the patches of the plan."""
        request, world = request or Request(), self.world
        world.project = self.code
        plan = world.plan(request, self.now)
        bench = world.bench(patches=plan.patches, pins={"raw": self.pin()}, now=self.now)
        apply(bench, plan)
        facts = world.facts(self.now)
        again = world.plan(request, self.now)
        verdict = gated(world.project, facts, world.control.versions.all(), request, again.models, again.patches)
        assert verdict.open, verdict
        promote(world.control.environments, facts.environment, verdict.pointers, None, note=ReleaseNote(by="ana"))
        return dict(plan.patches)

    def look(self, *, hours: float = 1) -> WatchFacts:
        """`hours` after this moment, by the real clock."""
        world, shown = self.world, self.prod
        read = partial(
            read_source_facts,
            published(self.code, shown, world.control.versions.all()),
            world.control,
            world.tables,
            self.reader,
            environment=shown,
            fingerprints=self.code.fingerprints,
            digests={name: audits_digest(m) for name, m in self.code.models.items() if self._is_shown(shown, name)},
            now=self.now,
            at=datetime.now(UTC) + timedelta(hours=hours),
            lasts=timedelta(hours=24),
        )
        found = read()
        facts = read_facts(self.code, world.control, world.tables, world.pins, now=self.now, environment=shown.name)
        assert read(loaded=facts.standing) == found, "what the facts know is known otherwise"
        entries = by_version(world.control.ledger.entries(kinds=DECIDING | {Kind.FAILED}))
        one_by_one = replace(found, reads=None, entries=entries)
        assert late_sources(found) == late_sources(one_by_one), "columns say other than entries"
        return read_watch_facts(found, world.control, world.tables, world.tables, self.reader)

    def _is_shown(self, shown: Environment, name: str) -> bool:
        pointer = shown.pointers.get(name)
        return pointer is not None and pointer.version == self.code.fingerprints[name]

    def notices(self) -> tuple[Notice, ...]:
        return watch(self.look())

    def late(self) -> dict[str, str]:
        """Model → the intervals that are proposed to be restated."""
        return {n.model: str(n.intervals) for n in self.notices() if n.kind is NoticeKind.LATE}

    def said(self, kind: NoticeKind) -> list[str]:
        return [f"{n.model} {n.intervals}: {n.what}" for n in self.notices() if n.kind is kind]


def delta(path: Path) -> Source:
    return Source(name="raw", path=str(path), time_column="at", freshness_hours=36, owner="tracking", file=path)


def rows(*instants: str) -> pd.DataFrame:
    return pd.DataFrame({"at": pd.to_datetime(list(instants), utc=True, format="ISO8601"), "n": range(len(instants))})


def append(path: Path, *days: str) -> None:
    """Rows of these days of January 2024, all in one commit, a file each day."""
    frame = rows(*(f"2024-01-{d}T10:00" for d in days)).assign(day=[int(d) for d in days])
    write_deltalake(path, frame, mode="append", partition_by=["day"])


def ten_days(path: Path) -> None:
    append(path, *(f"{d:02}" for d in range(1, 11)))
