"""What do the audits find in these intervals? Everything that one pass over the rows can tell, in one aggregate query.

To count a key's distinct values beside other things, Spark carries all of these along with each key, and of several
keys it repeats each row once a key. So every further key has a pass of its own, which reads only its columns. Of many
rows the first one has, too; of few rows a pass costs more than that. What no pass can tell is asked after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from backfill_assets.audits.counts import Counts
from backfill_assets.audits.kinds import AuditKind, kind_of
from backfill_assets.audits.reads import tables_of
from backfill_assets.audits.relations import INTERVAL, ROWS, Relations, Row, by_interval
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.sql.text import as_text, interval_start

MANY = 500_000
"""Rows from which on a pass of its own for each key is quicker. `bench/audits.py` measures it."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """Each of `texts` gives a row per interval: INTERVAL, ROWS, and some columns of `cells`.

    `expected` gives one row: of each audit that asks how many there should be, that number, under the name of the
    audit's first cell; "" when there is no such audit.
    """

    texts: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """Audit name → its columns, for audits that these passes answer."""
    expected: str


def compile_scan(model: Model, rows: str, views: Mapping[str, str], *, count: int = 0) -> _Scan:
    """The scan over the view `rows`, which has about `count`; `views` are the tables that audits refer to, by name."""
    audits = [kind_of(audit) for audit in model.audits]
    passes: dict[str, _Pass] = {}
    cells: dict[str, tuple[str, ...]] = {}
    counts: list[str] = []
    keys = (key for audit in audits if (key := audit.distinct(model)))
    along = next(keys, "") if count < MANY else ""
    for number, audit in enumerate(audits):
        found = audit.cells(model)
        if not found:
            continue
        key = audit.distinct(model)
        taken = passes.setdefault("" if key == along else key, _Pass())
        cells[audit.called] = tuple(f"bf_{number}_{part}" for part in range(len(found)))
        taken.selected += [f"{text} AS {column}" for text, column in zip(found, cells[audit.called], strict=True)]
        if join := audit.join(views):
            taken.joins.append(join)
        if expected := audit.expected(views):
            counts.append(f"({expected}) AS {cells[audit.called][0]}")
    first = passes.pop("", _Pass())
    return _Scan(
        texts=tuple(one.text(model, rows) for one in (first, *passes.values())),
        cells=cells,
        expected=f"SELECT {', '.join(counts)}" if counts else "",
    )


@dataclass(slots=True)
class _Pass:
    """What one look at the rows is asked."""

    selected: list[str] = field(default_factory=list[str])
    joins: list[str] = field(default_factory=list[str])

    def text(self, model: Model, rows: str) -> str:
        start = interval_start(model)
        selected = [f"{as_text(start)} AS {INTERVAL}", f"count(*) AS {ROWS}", *self.selected]
        return f"SELECT {', '.join(selected)} FROM {' '.join([rows, *self.joins])} GROUP BY {start}"
