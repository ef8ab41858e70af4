"""What do the audits find in these intervals? A few passes over the rows, and more for what these cannot tell."""

from __future__ import annotations

from datetime import datetime

from backfill_assets.audits.compile import compile_scan
from backfill_assets.audits.counts import Counts
from backfill_assets.audits.kinds import AuditKind, kind_of
from backfill_assets.audits.reads import tables_of
from backfill_assets.audits.relations import Relations, Row, by_interval
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model


def scan_audits(model: Model, intervals: Ranges, tables: Relations) -> dict[datetime, Counts]:
    """What each interval amounts to, by its start; for every interval, also one without rows."""
    look = AuditScope(model=model, intervals=intervals, tables=tables)
    audits = [kind_of(audit) for audit in model.audits]
    views = {name: tables.table(name).view for a in audits if a.looked_up() for name in tables_of(a.audit)}
    scan = compile_scan(model, tables.rows(), views, count=tables.count())
    rows: dict[datetime, Row] = {}
    for text in scan.texts:
        for at, row in by_interval(tables.ask(text)).items():
            rows[at] = {**rows.get(at, {}), **row}
    expected = tables.ask(scan.expected)[0] if scan.expected else {}
    passes, found = Passes(rows=rows, cells=scan.cells, expected=expected), Findings()
    for kind, same in _by_kind(audits).items():
        kind.find_all(same, look, passes, found)
    return {at: found.counts(at, rows.get(at)) for at in look.starts}


def _by_kind(audits: list[AuditKind]) -> dict[type[AuditKind], list[AuditKind]]:
    found: dict[type[AuditKind], list[AuditKind]] = {}
    for audit in audits:
        found.setdefault(type(audit), []).append(audit)
    return found
