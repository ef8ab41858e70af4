"""Which plans were there, and what became of each? Every plan once, and after it what happened to it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, cast

from backfill_assets.core.errors import StateError
from backfill_assets.core.formats import refuse_newer
from backfill_assets.core.intervals import Ranges
from backfill_assets.state.ledger import new_id
from backfill_assets.state.store import Records, Row, Store, TableSpec


class PlanStatus(StrEnum):
    """What happened to a plan last. What OPEN and APPLIED plans build is taken; the others are history."""

    OPEN = "open"
    """Its building began."""
    APPLIED = "applied"
    """All that it builds is complete and audited."""
    SUPERSEDED = "superseded"
    """A newer plan of the same person changes the same models."""
    ABANDONED = "abandoned"
    PROMOTED = "promoted"
    """Its environment shows all that it built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTarget:
    """One version that a plan leads to, and the intervals that the plan builds or audits of it."""

    model: str
    version: str
    intervals: Ranges
    columns: tuple[str, ...] = ()
    """What the view of a version that is shown already will list (lower-cased), where the plan is about that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """A stored plan without its stages. Times are of the real clock, not of the project's."""

    id: str
    environment: str
    """Where it is meant to be promoted to."""
    targets: tuple[PlanTarget, ...]
    created: datetime
    """When it was opened: the last time, if it was ended in between."""
    by: str
    """Who opened it."""
    status: PlanStatus
    since: datetime
    """When it got this status."""
    opened_by: tuple[str, ...] = ()
    """Who else ever opened it."""

    @property
    def authors(self) -> tuple[str, ...]:
        """The accounts that made it: none of them is somebody else who looked at it."""
        return tuple(dict.fromkeys((self.by, *self.opened_by)))

    @property
    def live(self) -> bool:
        """Whether it may still be built or promoted."""
        return self.status in (PlanStatus.OPEN, PlanStatus.APPLIED)

    @property
    def versions(self) -> dict[str, str]:
        """Model → version."""
        return {t.model: t.version for t in self.targets}

    @property
    def candidate(self) -> str:
        """The environment in which its versions can be looked at beside the promoted ones."""
        return f"plan-{self.id}"


PLANS = TableSpec(
    name="plans",
    columns={
        "entry": "text",
        "id": "text",
        "environment": "text",
        "status": "text",
        "by": "text",
        "at": "time",
        "targets": "text",
        "plan": "text",
        "sequence": "int",
    },
    sequence="sequence",
)
FORMAT, _FIRST = 2, 1
"""How plans are stored; those that say none are of the first format. Those that name keys are of the second: releases
that know the first alone would carry them out for all rows of their days."""
_EVENTS = replace(PLANS, columns={n: kind for n, kind in PLANS.columns.items() if n != "plan"})
"""The same table without the plans themselves: nearly all of its bytes, and hardly anybody asks for them."""


class Plans(Records):
    """The append-only table of plans. What a plan says is written once; a later row is a status, or what it is for."""

    spec = PLANS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._events = store.table(_EVENTS)

    def all(self) -> list[PlanRecord]:
        """Every plan, oldest first."""
        return self.read_at()[0]

    def read_at(self) -> tuple[list[PlanRecord], int]:
        """Every plan, oldest first, and the revision that this is of: what `put` wants to know."""
        rows, revision = self._events.read_at()
        opened: dict[str, None] = {}
        events: dict[str, list[Row]] = {}
        for row in sorted(rows, key=_order):
            name = cast(str, row["id"])
            events.setdefault(name, []).append(row)
            if row["status"] == PlanStatus.OPEN:
                opened.pop(name, None)  # opened again: it is the newest now
                opened[name] = None
        return [_record(events[name]) for name in opened], revision

    def document(self, plan: str) -> Mapping[str, Any] | None:
        """What the plan said when it was first stored (`Plan.to_json`); None for an unknown id. Raises StateError when
        a newer release stored it."""
        rows = sorted(self._table.read({"id": [plan]}), key=_order)
        if not (said := [json.loads(cast(str, row["plan"])) for row in rows if row["plan"]]):
            return None
        first, *later = said
        _refuse_newer(plan, first.pop("format", _FIRST))
        for said in later:
            first["request"] = {**first.get("request", {}), "why": said["why"]}
        return first

    def put(self, record: PlanRecord, document: Mapping[str, object], *, revision: int) -> None:
        """Store the plan and open it; one that is open already is left as it is, one that was ended is opened again.

        Another reason of one that is opened again is kept beside what it says. Raises ConflictError, having written
        nothing, when any plan moved since `revision`: look again who has what.
        """
        known = next((r for r in self.all() if r.id == record.id), None)
        if known is not None and known.live:
            return
        entry = new_id()
        request = cast(Mapping[str, Any], document.get("request", {}))
        text = json.dumps({**document, "format": FORMAT if request.get("ids") else _FIRST}, sort_keys=True)
        if known:
            why = cast(str, request.get("why", ""))
            text = json.dumps({"why": why}) if why and why != self.why(record.id) else ""
        self._table.replace(
            [_row(entry, record, PlanStatus.OPEN, record.by, _after(known, record.created), text)],
            where={"entry": [entry]},
            revision=revision,
            note={"plan": record.id},
        )

    def why(self, plan: str) -> str:
        """What its author said that a plan is for; empty: nothing."""
        return (self.document(plan) or {}).get("request", {}).get("why", "")

    def explain(self, record: PlanRecord, why: str) -> None:
        """From now on that is what the plan is for; neither its status nor its times change."""
        self._table.append([_row(new_id(), record, record.status, record.by, record.since, json.dumps({"why": why}))])

    def mark(self, records: Collection[PlanRecord], status: PlanStatus, *, by: str, at: datetime) -> None:
        """From now on the plans have this status, whatever other machines' clocks said before."""
        if records:
            self._table.append([_row(new_id(), r, status, by, _after(r, at)) for r in records])
            self._table.compact()


def _refuse_newer(plan: str, found: object) -> None:
    try:
        refuse_newer(found, FORMAT)
    except ValueError as error:
        raise StateError(
            f"plan {plan} cannot be read",
            why=str(error),
            fix=f"upgrade this program; or end the plan with the release that stored it: backfill abandon {plan}",
        ) from None


def _after(known: PlanRecord | None, at: datetime) -> datetime:
    return max(at, known.since + timedelta(microseconds=1)) if known else at


def _order(row: Row) -> tuple[int, datetime, int, str]:
    """In the order of commits. Those of older releases are ordered by their clocks, and by what follows what."""
    follows = list(PlanStatus).index(PlanStatus(cast(str, row["status"])))
    return cast(int, row["sequence"]), cast(datetime, row["at"]), follows, cast(str, row["id"])


def _record(events: Sequence[Row]) -> PlanRecord:
    """A plan of its events, oldest first."""
    first, last = events[0], events[-1]
    opened = [row for row in events if row["status"] == PlanStatus.OPEN][-1]
    return PlanRecord(
        id=cast(str, first["id"]),
        environment=cast(str, first["environment"]),
        targets=tuple(
            PlanTarget(model=model, version=version, intervals=Ranges.of_plain(parts), columns=tuple(*columns))
            for model, version, parts, *columns in json.loads(cast(str, first["targets"]))
        ),
        created=cast(datetime, opened["at"]),
        by=cast(str, opened["by"]),
        status=PlanStatus(cast(str, last["status"])),
        since=cast(datetime, last["at"]),
        opened_by=tuple(
            sorted({cast(str, r["by"]) for r in events if r["status"] == PlanStatus.OPEN} - {opened["by"]})
        ),
    )


def _row(entry: str, record: PlanRecord, status: PlanStatus, by: str, at: datetime, plan: str = "") -> Row:
    targets = [
        [t.model, t.version, t.intervals.to_plain(), *([list(t.columns)] if t.columns else [])] for t in record.targets
    ]
    return {
        "entry": entry,
        "id": record.id,
        "environment": record.environment,
        "status": status.value,
        "by": by,
        "at": at,
        "targets": json.dumps(targets),
        "plan": plan,
        "sequence": 0,
    }
