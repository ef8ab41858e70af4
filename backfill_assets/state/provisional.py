"""What is provisional of what an environment shows? Of a pinned consumer's, what was when its release was made."""

from __future__ import annotations

from datetime import datetime

from backfill_assets.core.intervals import Ranges
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment
from backfill_assets.state.pinned import pinned_as, settled_then
from backfill_assets.state.settling import settling, shown_calendar


def provisional_parts(control: Control, environment: Environment, now: datetime) -> dict[str, Ranges]:
    """Model → what of it an environment shows provisionally, of all that have a window there. Raises StateError."""
    pin = pinned_as(control, environment)
    found = settled_then(control, pin) if pin is not None else settling(control, environment.name, now)
    shown = [p for p in environment.pointers.values() if p.model in found.since]
    versions = control.versions.all() if shown else {}
    return {p.model: found.provisional(p.model, shown_calendar(p, versions), p.covers) for p in shown}
