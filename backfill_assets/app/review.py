"""What does a reviewer look at? What waits for whom, a plan, files of packets. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import look_at_plan, plan_files, read_release_evidence, release_folder
from backfill_assets.app.model_questions import plans_of_models
from backfill_assets.app.waiting import Waiting, read_waiting
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.promote.undone import Undone, rolled_back_plans
from backfill_assets.state.plans import PlanRecord
from backfill_assets.state.releases import Release

if TYPE_CHECKING:
    from backfill_assets.evidence.shape import Packet

NEWEST = 10
"""How many ended plans, and how many releases, are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What waits for whom, all open plans, and what happened last; the newest first."""

    environment: str
    waiting: Waiting
    open: tuple[PlanRecord, ...]
    ended: tuple[PlanRecord, ...]
    why: Mapping[str, str]
    """Open plan → what its author said that it is for."""
    undone: Mapping[str, Undone]
    """Promoted plan → what rollbacks took away of it."""
    releases: tuple[Release, ...]
    notes: tuple[str, ...]
    """That approvals are off, and where files say other rules than those in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLook:
    """A plan, what its packet says, and the release that shows it ("": none)."""

    record: PlanRecord
    packet: Packet
    release: str
    upstreams: Mapping[str, tuple[str, ...]]
    """Model → what it reads, by the loaded code."""


def read_front(context: Context, who: str = "") -> Front:
    """What waits for `who`, by any of their names; "": for anybody. Raises StateError."""
    records = [r for r in reversed(context.control.plans.all()) if r.environment == context.environment]
    live, ended = [r for r in records if r.live], [r for r in records if not r.live][:NEWEST]
    return Front(
        environment=context.environment,
        waiting=read_waiting(context, who),
        open=tuple(live),
        ended=tuple(ended),
        why={r.id: context.control.plans.why(r.id) for r in live},
        undone=rolled_back_plans(context.control, ended),
        releases=tuple(reversed(context.control.releases.all(context.environment)[-NEWEST:])),
        notes=tuple(context.rules().notes),
    )


def review_plan(context: Context, plan: str) -> PlanLook:
    """A plan as it stands now, or as its release sealed it. Raises PlanError, StateError."""
    record = find_plan(context.control, plan)
    shown = [r for r in context.control.releases.all(record.environment) if record.id in r.evidence and not r.back_to]
    models = context.project.models
    return PlanLook(
        record=record,
        packet=look_at_plan(context, record),
        release=shown[-1].id if shown else "",
        upstreams={name: tuple(dict.fromkeys(u.name for u in m.upstreams)) for name, m in models.items()},
    )


def plan_of_model(context: Context, model: str) -> str:
    """The newest open plan that changes a model, else the newest that did; "" where none ever did."""
    return _newest(context, [model])


def plan_of_source(context: Context, source: str) -> str:
    """The same of the models that read a source."""
    return _newest(
        context, [n for n, m in context.project.models.items() if any(u.name == source for u in m.upstreams)]
    )


def plan_of_consumer(context: Context, consumer: str) -> str:
    """The same of the models that a consumer reads."""
    found = context.project.consumers.get(consumer)
    return _newest(context, list(found.reads) if found else [])


def _newest(context: Context, models: list[str]) -> str:
    plans = plans_of_models(context, models).values()
    return max(plans, key=lambda r: (r.live, r.created)).id if plans else ""


def packet_file(context: Context, plan: str, name: str) -> bytes | None:
    """A file of a plan's packet: of the sealed one, or as it would be written now. None where there is none of that
    name. Raises PlanError, StateError."""
    return plan_files(context, find_plan(context.control, plan)).get(name)


def release_file(context: Context, release: str, name: str) -> bytes | None:
    """A file of a release's packet. Raises PromotionError, and StateError for one that is damaged."""
    found = read_release_evidence(context, release)
    return release_folder(context, found.said["release"]).read(name)
