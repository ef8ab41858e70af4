"""Which consumers are kept on a release while others move on? Each by an environment of its own, `pin-<consumer>`.

What it is kept on is said by the commit that points there: the pointers and their reason come and go together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast

from backfill_assets.core.pointer import Pointer
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, schema_name
from backfill_assets.state.settling import Settling, settling_by

_PREFIX = "pin-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedConsumer:
    """A consumer, the release that it is kept on, and until when."""

    consumer: str
    environment: str
    """Whose release it is."""
    release: str
    until: date
    """The last day."""
    reason: str
    by: str
    at: datetime
    pointers: Mapping[str, Pointer]
    """What the release showed of the models that it reads."""

    @property
    def home(self) -> str:
        """The environment that has its views."""
        return pin_environment(self.consumer)

    @property
    def schema(self) -> str:
        """Where these are."""
        return schema_name(self.home)

    def overdue(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.until

    @property
    def said(self) -> dict[str, object]:
        """What the record of it says beside who pinned it, and when."""
        return {
            "environment": self.environment,
            "release": self.release,
            "until": self.until.isoformat(),
            "reason": self.reason,
        }

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "consumer": self.consumer,
            **self.said,
            "by": self.by,
            "at": self.at.isoformat(),
            "schema": self.schema,
            "models": sorted(self.pointers),
        }


def pin_environment(consumer: str) -> str:
    """The environment that a consumer reads while it is pinned; its schema has `_` for `-`.

    >>> pin_environment("cfo_weekly_export")
    'pin-cfo_weekly_export'
    """
    return f"{_PREFIX}{consumer}"


def consumer_of(environment: str) -> str:
    """Whose pin an environment is; "" where it is nobody's.

    >>> consumer_of("pin-cfo_weekly_export"), consumer_of("prod")
    ('cfo_weekly_export', '')
    """
    return environment.removeprefix(_PREFIX) if environment.startswith(_PREFIX) else ""


def pinned_consumers(
    control: Control, environment: str, consumers: Collection[str] | None = None
) -> tuple[PinnedConsumer, ...]:
    """Every consumer that is kept on a release of an environment, by name. Of these `consumers` it is quicker to tell
    than of all that anybody ever named."""
    among = None if consumers is None else [pin_environment(name) for name in consumers]
    names = [name for name in control.environments.names(among) if consumer_of(name)]
    found = (pinned_as(control, control.environments.read(name)) for name in names)
    return tuple(pin for pin in found if pin is not None and pin.environment == environment)


def pinned_as(control: Control, seen: Environment) -> PinnedConsumer | None:
    """Whom an environment keeps on what; None where it shows nothing, or is nobody's pin."""
    if not seen.pointers or not consumer_of(seen.name):
        return None
    until_then = [r for r in control.releases.all(seen.name) if r.revision <= seen.revision]
    record = until_then[-1]
    said = cast(Mapping[str, Any], record.pin)
    return PinnedConsumer(
        consumer=consumer_of(seen.name),
        environment=said["environment"],
        release=said["release"],
        until=date.fromisoformat(said["until"]),
        reason=said["reason"],
        by=record.by,
        at=record.at,
        pointers=seen.pointers,
    )


def settled_then(control: Control, pin: PinnedConsumer) -> Settling:
    """What was provisional when the release was made: its rows may have become others since, in the environment."""
    releases = control.releases.all(pin.environment)
    upto = releases[: 1 + next(n for n, r in enumerate(releases) if r.id == pin.release)]
    last = cast(int, upto[-1].rules.get("number", 0))
    rules = [record for record in control.rules.of(pin.environment) if record.number <= last]
    return settling_by(rules, upto, upto[-1].clock or upto[-1].at)
