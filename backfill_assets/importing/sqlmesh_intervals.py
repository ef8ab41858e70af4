"""Of which length are the intervals of a SQLMesh model, and when are they over?"""

from __future__ import annotations

import re
from collections.abc import Callable

from backfill_assets.importing.foreign import Kind
from backfill_assets.importing.header import plain
from backfill_assets.importing.sqlmesh_config import Config
from backfill_assets.importing.sqlmesh_file import ModelFile

Note = Callable[[int, str, str], None]
_WORDS = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * SUN",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
_UNITS = {"hour": "hourly", "day": "daily", "month": "monthly"}


def cadence(file: ModelFile, config: Config, kind: Kind, check: Note) -> tuple[str, dict[str, object]]:
    """The cadence, and the header's `ready` for a cron that ticks later than an interval ends.

    An interval there has the length that its cron's ticks are apart: hours and months, else days, also of a weekly
    one. Models that are computed whole have no intervals there: they have days here.
    """
    said = file.properties.get("cron")
    text = (said.text if said is not None else config.defaults.get("cron", "@daily")).strip("'\" ").lower()
    line = said.line if said is not None else file.line
    text = _WORDS.get(text, text)
    unit = file.properties.get("interval_unit")
    length = _length(text)
    if unit is not None:
        length = _UNITS.get(unit.text.strip("'\"").lower(), "")
        if not length:
            check(unit.line, f"`interval_unit {plain(unit.text)}`", "intervals here are hours, days, weeks or months")
            length = "hourly" if "minute" in unit.text.lower() else "daily"
    elif not length:
        check(line, f"the cron {plain(text)}", "intervals shorter than an hour are hours here")
        length = "hourly"
    if kind is not Kind.INTERVALS:
        return "daily", {}
    plain_cron = {"daily": "0 0 * * *", "hourly": "0 * * * *", "monthly": "0 0 1 * *"}[length]
    zone = file.properties.get("cron_tz")
    if zone is not None and zone.text.strip("'\"").upper() != "UTC":
        check(zone.line, f"`cron_tz {plain(zone.text)}`", "`ready` is in UTC here")
    if text == plain_cron or len(text.split()) != 5 or length == "hourly":
        return length, {}
    return length, {"ready": re.sub(r"(^| )\*/(\d)", r"\g<1>0/\2", text)}


def _length(cron: str) -> str:
    """How long intervals are; empty for parts of an hour."""
    fields = cron.split()
    if len(fields) != 5:
        return "daily"
    minute, hour, day, month, _ = fields
    if not re.fullmatch(r"\d+", minute):
        return ""
    if not re.fullmatch(r"\d+", hour):
        return "hourly"
    if re.fullmatch(r"\d+|l", day) and month == "*":
        return "monthly"
    return "daily"
