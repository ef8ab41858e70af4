"""Whose pin was begun, moved or ended by a process that died over it? Until then its views may say anything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from backfill_assets.promote.promote import alive
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Promotion
from backfill_assets.state.pinned import consumer_of


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptedPin:
    """A consumer whose views nobody has put right yet. `pinned`: whether the records keep it on a release."""

    consumer: str
    promotion: Promotion
    pinned: bool

    @property
    def what(self) -> str:
        """A sentence's end, after the consumer's name."""
        done = "is kept on a release" if self.pinned else "is kept on no release any more, or not yet"
        at = f"{self.promotion.opened:%Y-%m-%d %H:%M} UTC"
        return f"{done}, but its views may say otherwise: what was begun at {at} was never finished"

    @property
    def remedy(self) -> str:
        again = f"backfill unpin {self.consumer}"
        return f"the same `backfill pin` again, or {again}" if self.pinned else f"{again} finishes it"

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {"consumer": self.consumer, "what": self.what, "fix": self.remedy}


def interrupted_pins(control: Control, environment: str, *, now: datetime) -> tuple[InterruptedPin, ...]:
    """Those of an environment, and those that died before they said of which. `now` is of the real clock."""
    found: list[InterruptedPin] = []
    for name in control.environments.names():
        if not (consumer := consumer_of(name)):
            continue
        seen = control.environments.read(name)
        if seen.promotion is None or alive(seen.promotion, now=now):
            continue
        homes = [r.pin["environment"] for r in control.releases.all(name) if r.pin]
        if not homes or homes[-1] == environment:
            found.append(InterruptedPin(consumer=consumer, promotion=seen.promotion, pinned=bool(seen.pointers)))
    return tuple(found)
