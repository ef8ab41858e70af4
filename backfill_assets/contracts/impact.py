"""Whom does a plan affect? For each consumer: by which columns, on which of the days that it reads, and how badly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from backfill_assets.contracts.levels import ContractChange, Level, compare_contracts, worst
from backfill_assets.contracts.publish import PublishedContracts
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.consumer import Consumer, Evaluation
from backfill_assets.core.intervals import NOTHING, Cadence, Interval, Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.plan.category import Category
from backfill_assets.plan.patch import ALL_TIME
from backfill_assets.plan.stages import Plan
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import PinnedConsumer

_CRITICALITY = ("high", "medium", "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a plan changes of a model that is shown. `days` are those on which values may differ."""

    changes: tuple[ContractChange, ...]
    days: Ranges
    time_zone: str = ""
    """Of its days; empty: UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelImpact:
    """What of it reaches a consumer. `days` are those among the days that it reads; none: only promises change."""

    model: str
    level: Level
    changes: tuple[ContractChange, ...]
    days: Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a plan means for a consumer; nothing when `models` is empty."""

    consumer: Consumer
    models: tuple[ModelImpact, ...] = ()
    notice_until: datetime | None = None
    """When the time is over that its owner wants to know before; None: no notice is needed."""
    void: tuple[Evaluation, ...] = ()
    """Evaluations that looked at days which change: they do not hold any more."""
    pin: PinnedConsumer | None = None
    """What it is kept on: what changes reaches it when that is over."""

    @property
    def level(self) -> Level | None:
        """The worst of its models; None: it is not affected."""
        return max((m.level for m in self.models), key=lambda level: level.rank, default=None)

    @property
    def affected(self) -> bool:
        """Whether it may see other numbers, or fail."""
        return self.level is not None and self.level.rank >= Level.BEHAVIOURAL.rank

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        c = self.consumer
        return {
            "consumer": c.name,
            "kind": c.kind,
            "owner": c.owner,
            "criticality": c.criticality,
            "how": c.how,
            "affected": self.affected,
            "level": self.level and self.level.value,
            "models": [
                {
                    "model": m.model,
                    "level": m.level.value,
                    "changes": [{"level": x.level.value, "column": x.column, "what": x.what} for x in m.changes],
                    "days": m.days.to_plain(),
                }
                for m in self.models
            ],
            "notice_days": c.notice,
            "notice_until": self.notice_until and self.notice_until.isoformat(),
            "void_evaluations": [{"name": e.name, "days": str(e.days)} for e in self.void],
            "last_verified": c.last_verified and c.last_verified.isoformat(),
            "pin": self.pin and self.pin.to_json(),
        }


def impacts(
    plan: Plan,
    consumers: Iterable[Consumer],
    shown: Environment,
    contracts: PublishedContracts,
    pins: Iterable[PinnedConsumer] = (),
) -> tuple[Impact, ...]:
    """The plan's impact on every consumer, the worst first. `shown` is the environment that the plan is for."""
    moved = touched(plan, shown, contracts)
    kept = {pin.consumer: pin for pin in pins}
    found = [replace(_impact(c, moved, plan.now), pin=kept.get(c.name)) for c in consumers]
    return tuple(
        sorted(
            found,
            key=lambda i: (
                -i.level.rank if i.level else 1,
                _CRITICALITY.index(i.consumer.criticality),
                i.consumer.name,
            ),
        )
    )


def touched(plan: Plan, shown: Environment, contracts: PublishedContracts) -> dict[str, Touched]:
    """What the plan changes of what is shown, by model; days that are only added change nothing."""
    found: dict[str, Touched] = {}
    for name in plan.models:
        pointer = shown.pointers.get(name)
        if pointer is None:
            continue
        change, patch = plan.changes.get(name), plan.patches.get(name)
        changed = change is not None and change.category not in (Category.NEW, Category.UNCHANGED)
        changes = (
            *compare_contracts(contracts.old.get(name), contracts.new[name], change),
            *(_other_letters(old, new) for old, new in plan.respelled.get(name, ())),
        )
        if patch and not changed:
            changes, days = (*changes, _values("is computed again")), patch.intervals
        elif older := older_rows(plan, name, pointer):
            changes, days = (*changes, _values("older rows get the present logic")), older
        else:
            moves = pointer.covers & patch.intervals if patch else pointer.covers
            days = moves if any(c.values for c in changes) else NOTHING
        if changes:
            found[name] = Touched(changes=changes, days=days, time_zone=contracts.new[name].time_zone)
    return found


def older_rows(plan: Plan, name: str, pointer: Pointer) -> Ranges:
    """Published days of older logic (a change that was made forward only) that the plan builds with the present one."""
    built = Ranges.of(i for s in plan.work if s.model == name and s.version == pointer.version for i in s.intervals)
    return pointer.older.covers & built


def _other_letters(old: str, new: str) -> ContractChange:
    what = f"will be called {new}, of other letters: pandas, Arrow and polars do not find {old} any more"
    return ContractChange(level=Level.BREAKING, column=old.lower(), what=what)


def _values(what: str) -> ContractChange:
    return ContractChange(level=Level.BEHAVIOURAL, what=what, values=True)


def _impact(consumer: Consumer, moved: Mapping[str, Touched], now: datetime) -> Impact:
    models: list[ModelImpact] = []
    differ = NOTHING
    for name in consumer.reads:
        if name not in moved:
            continue
        use = consumer.use(name)
        mine = {c.lower() for c in use.columns}
        about = tuple(c for c in moved[name].changes if not c.column or not mine or c.column in mine)
        if any(c.values for c in about):
            differ = differ | moved[name].days
        read = _window(use.history, now, moved[name].time_zone)
        days = moved[name].days & read if any(c.values for c in about) else NOTHING
        changes = tuple(c for c in about if not c.values or days)
        level = worst(changes)
        if level is not None:
            models.append(ModelImpact(model=name, level=level, changes=changes, days=days))
    found = Impact(
        consumer=consumer,
        models=tuple(models),
        void=tuple(e for e in consumer.evaluations if Ranges((e.days,)) & differ),
    )
    if not found.affected or not consumer.notice:
        return found
    return replace(found, notice_until=now + timedelta(days=consumer.notice))


def _window(history: int | None, now: datetime, time_zone: str) -> Ranges:
    """The days that somebody reads who looks back so many days from now: from UTC's today, or where a zone's newest day
    that is over ends before that, from there."""
    if history is None:
        return Ranges((ALL_TIME,))
    today = min(Cadence.DAILY.floor(now), Calendar(Cadence.DAILY, time_zone).over(now))
    return Ranges((Interval(today - timedelta(days=history), ALL_TIME.end),))
