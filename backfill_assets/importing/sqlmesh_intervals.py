"""Of which length are the intervals of a SQLMesh model, when are they over, and how long are they computed again?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from backfill_assets.core.cron import check_cron, over_from
from backfill_assets.core.intervals import Cadence
from backfill_assets.importing.foreign import ForeignKind
from backfill_assets.importing.header import plain
from backfill_assets.importing.sqlmesh_config import Config
from backfill_assets.importing.sqlmesh_file import ModelFile

Note = Callable[[int, str, str], None]
_WORDS = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * SUN",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_UNITS = {
    "year": timedelta(days=365), "month": timedelta(days=28), "day": timedelta(days=1), "hour": timedelta(hours=1),
    "half_hour": timedelta(minutes=30), "quarter_hour": timedelta(minutes=15), "five_minute": timedelta(minutes=5),
}  # fmt: skip
"""SQLMesh's units of an interval. A model's is the longest that is not longer than its cron's ticks are apart, so a
weekly one has days."""
_CADENCES = {"year": Cadence.MONTHLY, "month": Cadence.MONTHLY, "day": Cadence.DAILY, "hour": Cadence.HOURLY}
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_STEP_FROM = {0: "0", 1: "0", 2: "1", 3: "1", 4: "0"}
"""With which number a step of a cron's field begins."""
_TICKS = 100
_HOURS, _DAYS = timedelta(days=62), timedelta(days=4 * 366)
"""How many ticks, and intervals, are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlmeshIntervals:
    """The `cadence` here; the `unit` there, in which batches and lookback are counted; `ready`, where the `cron` ticks
    later than an interval ends. An empty `cron` is one that cannot be read."""

    cadence: Cadence
    unit: str
    cron: str
    ready: str = ""

    @property
    def least(self) -> timedelta:
        """How long the shortest of a unit is."""
        return _UNITS[self.unit]

    def run_of(self, batch: int) -> str:
        """The cadence of which a run there, at a tick of the cron, computes one interval; empty for another time. It
        computes so many units at once as a `batch` has: with one, each is computed by itself at whatever tick."""
        if not self.cron or (batch == 1 and self.unit == self.cadence.unit):
            return self.cadence.value
        if self.unit != self.cadence.unit:
            return ""
        from cronsim import CronSim

        ticks = [self.cadence.floor(t) for t in islice(CronSim(self.cron, _FIRST - timedelta(seconds=1)), _TICKS)]
        if all(self.cadence.shift(a, 1) == b for a, b in pairwise(ticks)):
            return self.cadence.value
        weekly = self.cadence is Cadence.DAILY and all(self.cadence.shift(a, 7) == b for a, b in pairwise(ticks))
        return "weekly" if weekly else ""

    def begin(self, moment: datetime) -> datetime:
        """Where the interval there that holds a moment begins.

        >>> SqlmeshIntervals(cadence=Cadence.MONTHLY, unit="month", cron="").begin(datetime(2024, 3, 17)).day
        1
        """
        match self.unit:
            case "year":
                return Cadence.MONTHLY.floor(moment).replace(month=1)
            case unit if unit in _CADENCES:
                return _CADENCES[unit].floor(moment)
            case _:
                hour = Cadence.HOURLY.floor(moment)
                return hour + (moment - hour) // self.least * self.least

    def end(self, moment: datetime) -> datetime:
        """The first end of an interval there that is not before a moment."""
        begin = self.begin(moment)
        return begin if begin == moment else self._later(begin, 1)

    def computed_again(self, lookback: int) -> timedelta:
        """For how long after its end an interval is computed again there: until the tick at which the one `lookback`
        units after it is over; of all intervals the longest, in whole days, hours or minutes.

        >>> SqlmeshIntervals(cadence=Cadence.DAILY, unit="day", cron="0 0 * * SUN").computed_again(2).days
        8
        """
        whole = min(_UNITS[self.unit], timedelta(days=1)) if self.unit in _CADENCES else timedelta(minutes=1)
        longest = max((until - end for end, until in self._last_times(lookback)), default=timedelta())
        return longest // whole * whole

    def _last_times(self, lookback: int) -> Iterator[tuple[datetime, datetime]]:
        end, last = _FIRST, _FIRST + (_HOURS if self.cadence is Cadence.HOURLY else _DAYS)
        while end < last:
            yield end, over_from([self.cron] if self.cron else (), self._later(end, lookback))
            end = self.cadence.shift(end, 1)

    def _later(self, end: datetime, lookback: int) -> datetime:
        match self.unit:
            case "year":
                return end.replace(year=end.year + lookback)
            case "month":
                return Cadence.MONTHLY.shift(end, lookback)
            case _:
                return end + lookback * _UNITS[self.unit]


def intervals_of(file: ModelFile, config: Config, kind: ForeignKind, check: Note) -> SqlmeshIntervals:
    """The intervals that a file says. Models that are computed whole have none there: they have days here."""
    said = file.properties.get("cron")
    text = (said.text if said is not None else config.defaults.get("cron", "@daily")).strip("'\" ").lower()
    line = said.line if said is not None else file.line
    try:
        cron = check_cron(_WORDS.get(text, text))
    except ValueError as error:
        check(line, f"the cron {plain(text)}", f"{error}; intervals are taken for days that are over as they end")
        cron = ""
    unit = _unit(cron)
    if (own := file.properties.get("interval_unit")) is not None:
        word, line = own.text.strip("'\"").lower(), own.line
        if word not in _UNITS:
            check(line, f"`interval_unit {plain(own.text)}`", "it is not known here")
        unit = word if word in _UNITS else unit
    if kind is not ForeignKind.INTERVALS:
        return SqlmeshIntervals(cadence=Cadence.DAILY, unit="day", cron="")
    if unit == "year" or unit not in _CADENCES:
        said_so = f"`interval_unit {unit}`" if own is not None else f"the cron {plain(text)}"
        why = "intervals shorter than an hour are hours here" if unit != "year" else (
            "its intervals are years there, and months here: rows that are of a year have to be written otherwise"
        )  # fmt: skip
        check(line, said_so, why)
    cadence = _CADENCES.get(unit, Cadence.HOURLY)
    zone = file.properties.get("cron_tz")
    if zone is not None and zone.text.strip("'\"").upper() != "UTC":
        check(zone.line, f"`cron_tz {plain(zone.text)}`", "`ready` is in UTC here")
    at_its_end = {Cadence.DAILY: "0 0 * * *", Cadence.MONTHLY: "0 0 1 * *"}.get(cadence, cron)
    return SqlmeshIntervals(
        cadence=cadence, unit=unit, cron=cron, ready=_ready(cron) if cron not in ("", at_its_end) else ""
    )


def _unit(cron: str) -> str:
    if not cron:
        return "day"
    from cronsim import CronSim

    apart = min(b - a for a, b in pairwise(islice(CronSim(cron, _FIRST - timedelta(seconds=1)), _TICKS)))
    return next((unit for unit, length in _UNITS.items() if length <= apart), "five_minute")


def _ready(cron: str) -> str:
    """Without `*/`, which ends the comment that a header is in."""
    return " ".join(field.replace("*/", f"{_STEP_FROM[i]}/") for i, field in enumerate(cron.split()))
