"""Are the records that the gate judged by still what they were? Asked right before pointers move.

Pointers exclude each other in one table; what was judged by is in others: somebody withdraws a day, gives up the plan,
records a finding or changes the rules while a packet is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.core.errors import LostRaceError
from backfill_assets.promote.case import Case
from backfill_assets.state.control import Control
from backfill_assets.state.ledger import DECIDING
from backfill_assets.state.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsRead:
    """How far the records were, at the latest, that a look reads."""

    ledger: int
    others: tuple[int, ...]
    """Plans, approvals, proofs."""


def records_read(control: Control) -> RecordsRead:
    """To be asked before the look."""
    others = control.plans.revision(), control.approvals.revision(), control.proofs.revision()
    return RecordsRead(ledger=control.ledger.revision(), others=others)


def refuse_moved(control: Control, read: RecordsRead, case: Case, in_force: Mapping[str, object]) -> None:
    """Raises LostRaceError when the case may be judged otherwise by now.

    Of the ledger only what the environment would show counts: builds of other versions go on all the time.
    """
    now = records_read(control)
    if now.others != read.others:
        raise _moved(case, "plans, approvals or findings were recorded")
    if now.ledger != read.ledger:
        shown = {(p.model, v) for p in case.after.values() for s in p.segments for v in (s.version, s.logic)}
        for entry in control.ledger.since(read.ledger, {model for model, _ in shown}, kinds=DECIDING):
            if (entry.model, entry.version) in shown:
                raise _moved(case, f"{entry.interval} of {entry.model} {entry.version} was {entry.kind.value}")
    if in_force and control.rules.in_force(case.environment.name, Rules()).id != in_force["id"]:
        raise _moved(case, "other rules are in force")


def _moved(case: Case, why: str) -> LostRaceError:
    return LostRaceError(
        f"{case.environment.name} was judged by older records; nothing was changed", why=why, fix="promote again"
    )
