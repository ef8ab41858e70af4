"""When is a plan built, where heavy builds run in windows, and who is told of that before? A sentence and a notice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from backfill_assets.core.escaping import markdown, one_line
from backfill_assets.core.model import Consumer, Model
from backfill_assets.core.windows import Windows
from backfill_assets.core.wording import amount, listed
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import duration
from backfill_assets.plan.stages import Build, Plan

MOST = 1000
"""Windows that are looked at: when it is done after so many nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timetable:
    """In which windows so much work is done."""

    opens: datetime | None
    """When the first one opens; None: it is open."""
    count: int | None
    """How many windows it takes, and when it is `done`; None: nobody knows."""
    done: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """The windows in which a plan is built, and whom that concerns."""

    windows: Windows
    timetable: Timetable
    work: str
    """How long it takes: `7-9 h of work`; "": nobody knows."""
    plan: str
    environment: str
    why: str
    builds: tuple[tuple[str, str], ...]
    """Each model, and how much of it."""
    owners: tuple[str, ...]
    """Of these models."""
    consumers: tuple[tuple[str, str], ...]
    """Who reads these models, with their owners ("": nobody is named)."""

    @property
    def sentence(self) -> str:
        """When it is built, and when it is done."""
        at, told = self.timetable, self.windows.told
        said = f"builds in windows ({self.windows}): {self.work or 'nobody knows how long it takes'}"
        if at.done is not None:
            said += f" = {self._count}, done about {told(at.done)}"
        return f"{said}; the next window opens at {told(at.opens)}" if at.opens else said

    @property
    def notice(self) -> str:
        """A draft for those whom it concerns, Markdown."""
        names = listed([name for name, _ in self.builds])
        to = sorted({*self.owners, *(owner for _, owner in self.consumers if owner)})
        at, told = self.timetable, self.windows.told
        when = [f"In these windows only: {self.windows}."]
        when += [f"Not before {told(at.opens)}."] if at.opens else []
        when += [f"It takes {self.work}." if self.work else "Nobody knows yet how long it takes."]
        when += [f"Done about {told(at.done)}, after {self._count}, where nothing fails."] if at.done else []
        readers = [f"{name} ({owner or 'no owner is named'})" for name, owner in self.consumers]
        what = [f"{count} of {name}." for name, count in self.builds]
        what += [f"The reason: {self.why}"] if self.why else []
        what.append(f"{self.environment} goes on to show what it shows: a promotion, of which you are told, moves it.")
        whom = [f"Who reads these models: {listed(readers)}." if readers else "Nobody is listed as a reader of them."]
        whom.append("Who uses the same machine: it is busy in these windows. Routine runs go first.")
        lines = [f"Subject: Maintenance: {one_line(names)} will be computed", ""]
        lines += [f"To: {markdown(', '.join(to))}", ""] if to else []
        for title, said in (("What:", what), ("When:", when), ("Whom it concerns:", whom)):
            lines += [title, "", *(f"- {markdown(line)}" for line in said), ""]
        return "\n".join([*lines, markdown(f"Plan {self.plan} for {self.environment}."), ""])

    @property
    def _count(self) -> str:
        return f"{self.timetable.count} window{'s' * (self.timetable.count != 1)}"

    def to_json(self) -> dict[str, object]:
        """As plain values; instants in UTC."""
        return {
            "windows": str(self.windows),
            "opens": self.timetable.opens and self.timetable.opens.isoformat(),
            "count": self.timetable.count,
            "done": self.timetable.done and self.timetable.done.isoformat(),
            "sentence": self.sentence,
            "consumers": [{"consumer": name, "owner": owner} for name, owner in self.consumers],
            "owners": list(self.owners),
            "notice": self.notice,
        }


def maintenance(
    windows: Windows | None,
    plan: Plan,
    models: Mapping[str, Model],
    consumers: Iterable[Consumer],
    estimate: PlanEstimate,
    at: datetime,
) -> Maintenance | None:
    """When a plan that is begun `at` an instant is built; None without windows, and for one that builds nothing."""
    builds = [stage for stage in plan.work if isinstance(stage, Build)]
    if windows is None or not builds:
        return None
    known = [stage for stage in builds if stage.model in models]
    takes, names = estimate.total.seconds, {stage.model for stage in builds}
    some = f" without {', '.join(estimate.unknown)}" if estimate.unknown else ""
    return Maintenance(
        windows=windows,
        timetable=timetable(windows, takes.likely if takes and not some else None, at),
        work=f"{duration(takes.low, takes.high)} of work{some}" if takes else "",
        plan=plan.id,
        environment=plan.environment,
        why=plan.request.why,
        builds=tuple(
            (s.model, amount(s.intervals.count(models[s.model].cadence), models[s.model].cadence)) for s in known
        ),
        owners=tuple(sorted({models[stage.model].owner for stage in known} - {""})),
        consumers=tuple((c.name, c.owner) for c in consumers if names & set(c.reads)),
    )


def timetable(windows: Windows, seconds: float | None, at: datetime) -> Timetable:
    """The windows that so many seconds of work take from an instant on; None: nobody knows how many."""
    first = next(windows.coming(at)).start
    opens = first if first > at else None
    left = seconds
    for number, part in enumerate(islice(windows.coming(at), MOST), start=1):
        if left is None:
            break
        long = (part.end - part.start).total_seconds()
        if left <= long:
            return Timetable(opens=opens, count=number, done=part.start + timedelta(seconds=left))
        left -= long
    return Timetable(opens=opens, count=None, done=None)
