"""What is not needed any more, and how does it go?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial

from backfill_assets.adapters.caches import CacheFile, old_cache_files, remove_cache_files
from backfill_assets.adapters.named_tables import NamedTableStorage
from backfill_assets.adapters.packets import packet_folders, remove_packet
from backfill_assets.app.context import Context
from backfill_assets.app.evidence import seal_release
from backfill_assets.app.release import mover
from backfill_assets.core.errors import BackfillError, PromotionError
from backfill_assets.core.pointer import Pointer
from backfill_assets.evidence.orphans import UNDER_WAY, PacketFolder, orphans
from backfill_assets.project.settings import cache_folder
from backfill_assets.promote.clock import check_clock
from backfill_assets.promote.compaction import Corrections, compact, compaction_case, find_many_corrections
from backfill_assets.promote.janitor import Cleanup, Unreachable, find_unreachable, sweep
from backfill_assets.promote.promote import recover, write_again
from backfill_assets.promote.release import Attempt, release_case
from backfill_assets.state.environment import Environment, schema_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Housework:
    """What the janitor finds to do."""

    rounds: Unreachable
    caches: tuple[CacheFile, ...]
    crowds: tuple[Corrections, ...]
    packets: tuple[PacketFolder, ...] = ()
    """Packets of releases that did not happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JanitorRequest:
    """What the janitor is asked for."""

    apply: bool = False
    """Really do it; without it nothing is changed."""
    today: date | None = None
    """The date, where somebody confirms it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What the janitor found and did."""

    found: Housework
    swept: Cleanup | None = None
    """What was removed; None: nothing was to be changed."""
    rewritten: tuple[str, ...] = ()
    """Views of a shared catalog that did not say what they are to say, where its tables have names, and do now."""
    joined: Mapping[str, str] = field(default_factory=dict[str, str])
    """Model → why its corrections could not be joined; "" where they are."""


def clear_up(context: Context, request: JanitorRequest) -> Cleared:
    """Find what is not needed any more, and remove it if the request says so. Raises what `remove_garbage` does."""
    if request.apply:
        return remove_garbage(context, today=request.today)
    return Cleared(found=find_garbage(context))


def find_garbage(context: Context) -> Housework:
    """What could go: tables that nothing reaches, and what lies in the cache; and corrections that are too many to
    stay apart. Nothing is changed."""
    now = _real_now(context)
    rounds = find_unreachable(context.control, context.storage, now=now, retention=context.retention)
    caches = old_cache_files(cache_folder(context.project.root), before=now - context.retention)
    shown = context.control.environments.read(context.environment)
    crowded = find_many_corrections(context.control, context.log, context.project, shown)
    return Housework(rounds=rounds, caches=tuple(caches), crowds=tuple(crowded), packets=_orphans(context, now))


def remove_garbage(context: Context, *, today: date | None = None) -> Cleared:
    """Do it, and join the small files of the control tables. Opens a session only where corrections are joined.

    Raises StateError, having removed nothing, when the clock jumped and nobody confirms that it is `today`.
    """
    now = _real_now(context)
    check_clock(context.control, now=now, retention=context.retention, today=today)
    found = find_garbage(context)
    storage = context.storage
    if context.project.settings.tables is not None:
        storage = NamedTableStorage(storage, lambda: views.named if (views := context.shared_views()) else None)
    swept = sweep(context.control, storage, now=now, retention=context.retention, by=context.user)
    remove_cache_files(found.caches)
    for packet in found.packets:
        remove_packet(context.warehouse, packet)
    context.control.compact()
    joined = {crowd.pointer.model: _join(context, crowd) for crowd in found.crowds}
    return Cleared(found=found, swept=swept, joined=joined, rewritten=tuple(_write_views_again(context)))


def _write_views_again(context: Context) -> Iterator[str]:
    """Where tables have names: have every view call them so, that was made before, or that somebody changed."""
    views = context.shared_views() if context.project.settings.tables is not None else None
    if views is None:
        return
    for name in context.control.environments.names():
        seen = recover(context.control.environments, name, views)
        if drifted := sorted(views.drifted(seen)):
            write_again(context.control.environments, seen, drifted, views)
            yield from (f"{schema_name(name)}.{model}" for model in drifted)


def _orphans(context: Context, now: datetime) -> tuple[PacketFolder, ...]:
    """Listed before the records are read: what is released meanwhile is known to them."""
    folders = packet_folders(context.warehouse)
    before = min(now - context.retention, datetime.now(UTC) - UNDER_WAY)
    return orphans(folders, context.control.releases.everywhere(), context.control.plans.all(), before=before)


def _real_now(context: Context) -> datetime:
    """What decides about ages of records, which are of the real clock; the project's may be fixed in the past."""
    return max(context.now(), datetime.now(UTC))


def _join(context: Context, crowd: Corrections) -> str:
    model = context.project.models[crowd.pointer.model]

    def show(pointer: Pointer) -> Environment:
        def look() -> Attempt:
            facts = context.facts()
            return Attempt(case=compaction_case(crowd, pointer, context.control, context.project, facts, context.log))

        done = release_case(mover(context), look, evidence=partial(seal_release, context))
        if not done.verdict.open:
            raise PromotionError("the copy is not shown", why="; ".join(map(str, done.verdict.obstacles)))
        return done.environment

    try:
        compact(crowd, context.control, context.log, model, context.engine, show=show)
    except BackfillError as error:
        return str(error)
    return ""
