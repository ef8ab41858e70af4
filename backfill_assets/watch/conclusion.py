"""How does a watch end? A sentence: what was released, how long ago, and whether anything is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backfill_assets.plan.commands import restate_command
from backfill_assets.watch.facts import WatchFacts
from backfill_assets.watch.freshness import Seam, last_change, seams
from backfill_assets.watch.notice import Notice

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """Where the watch after the last change stands. `release` is empty when there was none."""

    release: str
    at: datetime | None
    back: bool
    """Whether it was a rollback."""
    hours: float
    """Since the release."""
    lasts: float
    """How many hours the watch goes on."""
    findings: int
    seams: tuple[Seam, ...]
    """Of the models that the release changed."""

    @property
    def closed(self) -> bool:
        """Whether the watch is over, and nothing is found."""
        return not self.findings and self.hours >= self.lasts

    @property
    def sentence(self) -> str:
        """In plain words."""
        if not self.release:
            return "nothing was released yet" if not self.findings else f"{self.findings} found"
        since = f"since the {'rollback' if self.back else 'promotion'} of {self.release} {self.hours:.0f} h ago"
        if self.findings:
            return f"open: {self.findings} found; the last change is the release {self.release}, {self.hours:.0f} h ago"
        if self.closed:
            return f"closed: quiet {since}; nothing is found after {self.lasts:g} h"
        return f"still watching, {self.hours:.0f} h of {self.lasts:g}: quiet {since}"

    def to_json(self) -> dict[str, object]:
        """As `backfill watch --json` prints it."""
        return {
            "release": self.release or None,
            "at": self.at and self.at.isoformat(),
            "hours": round(self.hours, 2),
            "of_hours": self.lasts,
            "findings": self.findings,
            "closed": self.closed,
            "sentence": self.sentence,
            "seams": [
                {"model": s.model, "extended_by": s.extended_by or None, "due": s.due and s.due.isoformat()}
                for s in self.seams
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one look at an environment came to."""

    environment: str
    notices: tuple[Notice, ...]
    closing: Conclusion

    @property
    def findings(self) -> tuple[Notice, ...]:
        """What somebody has to look at."""
        return tuple(n for n in self.notices if n.finding)

    @property
    def restate(self) -> tuple[str, ...]:
        """What `--restate` takes so that one plan makes up for all late source data that can be by now."""
        return tuple(argument for n in self.notices if not n.waits for argument in n.restate)

    def to_json(self) -> dict[str, object]:
        """As `backfill watch --json` prints it."""
        return {
            "environment": self.environment,
            "notices": [n.to_json() for n in self.notices],
            "restate": restate_command(self.restate) if self.restate else None,
            "closing": self.closing.to_json(),
        }


def conclude(look: WatchFacts, notices: Sequence[Notice]) -> Conclusion:
    """The verdict on the last release that did more than to add intervals."""
    release = last_change(look)
    return Conclusion(
        release=release.id if release else "",
        at=release.at if release else None,
        back=bool(release and release.back_to),
        hours=(look.at - release.at) / _HOUR if release else 0.0,
        lasts=look.lasts / _HOUR,
        findings=sum(n.finding for n in notices),
        seams=tuple(s for s in seams(look) if release and s.release == release.id),
    )
