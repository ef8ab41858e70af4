"""Which rows fail an audit? A few of each interval in which it failed, by key and by what is wrong with them."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from backfill_assets.audits.kinds import kind_of
from backfill_assets.audits.relations import INTERVAL, Relations, interval_start
from backfill_assets.audits.scope import AuditScope
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Audit, Model

SAMPLE_SIZE = 5


def sample_failures(model: Model, audit: Audit, intervals: Ranges, tables: Relations) -> dict[datetime, list[str]]:
    """Interval start → at most SAMPLE_SIZE failing keys. Nothing for an audit that is about whole intervals."""
    found: dict[datetime, list[str]] = defaultdict(list)
    look = AuditScope(model=model, intervals=intervals, tables=tables)
    starts = look.starts
    for query in kind_of(audit).samples(look):
        few = (
            f"SELECT {INTERVAL}, sample FROM (SELECT {INTERVAL}, sample, row_number() OVER (PARTITION BY {INTERVAL} "
            f"ORDER BY sample) AS bf_n FROM ({query})) WHERE bf_n <= {SAMPLE_SIZE} ORDER BY {INTERVAL}, sample"
        )
        for row in tables.ask(few):
            at = interval_start(row[INTERVAL]) if row[INTERVAL] is not None else None
            for start in starts if at is None else [at]:
                if start in starts and len(found[start]) < SAMPLE_SIZE:
                    found[start].append(row["sample"])
    return found
