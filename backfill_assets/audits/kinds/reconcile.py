"""Does a metric agree with another table? Both sides by interval and group, joined, in one query for all metrics that
share the table, the period and the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Self

from backfill_assets.audits.counts import AuditVerdict, Counts
from backfill_assets.audits.kinds.arguments import Distance, Groups, Metric, Percent, Table
from backfill_assets.audits.kinds.base import Tolerant, interval_literal
from backfill_assets.audits.reads import PROD
from backfill_assets.audits.relations import INTERVAL, Relations, by_interval
from backfill_assets.audits.relations import AuditedTable as View
from backfill_assets.audits.scope import AuditScope, Findings, Passes
from backfill_assets.core.intervals import Cadence, Interval, Ranges
from backfill_assets.core.masking import HIDDEN, metric_hidden
from backfill_assets.core.model import Model
from backfill_assets.sql.expressions import columns_of
from backfill_assets.sql.text import hidden, interval_text, literal, quoted, value_text

GROUPS = "bf_groups"


class Reconcile(Tolerant):
    kind = "reconcile"
    example = "- reconcile: {metric: sum(clicks), of: prod, by: [channel], within_percent: 1}"
    page = (
        (
            "- reconcile: {metric: sum(clicks), of: prod, by: [channel], within_percent: 1}",
            "in each group, the metric is about what prod shows; a group that only one side has fails",
        ),
        (
            "- reconcile: {metric: sum(clicks), of: raw.clicks, of_metric: count(*), by: {campaign_id: "
            "campaign}, within: 3}",
            "the same against another model or a source: its metric, its names of the groups, an absolute "
            "tolerance (of two, the wider counts)",
        ),
        (
            "- reconcile: {metric: sum(clicks), of: raw.clicks, of_metric: count(*), period: monthly, within: 1}",
            "the same by whole months: each interval of a month passes or fails as its month does, once all of that is "
            "built",
        ),
    )
    by_interval = True

    metric: Metric
    of: Table
    of_metric: Metric | None = None
    by: Groups | None = None
    within: Distance | None = None
    within_percent: Percent | None = None
    period: Literal["daily", "weekly", "monthly"] | None = None
    """The longer intervals by which it compares, if any."""

    @property
    def groups(self) -> Mapping[str, str]:
        """The columns by which it compares: here → there."""
        return self.by or {}

    def title(self) -> Sequence[str]:
        return (self.kind, self.of)

    def there(self) -> Sequence[str]:
        return [*self.groups.values(), *columns_of(self.of_metric or self.metric)]

    @classmethod
    def find_all(cls, audits: Sequence[Self], look: AuditScope, passes: Passes, found: Findings) -> None:
        together: dict[tuple[object, ...], list[Self]] = {}
        for audit in audits:
            together.setdefault((audit.of, audit.period, *audit.groups.items()), []).append(audit)
        for same in together.values():
            _find(same, look, found)

    def samples(self, look: AuditScope) -> Sequence[str]:
        table = self._compared_with(look.tables)
        return [self._differences(look, table)] if table is not None and self._comparable(table) else ()

    def verdict(self, model: Model, interval: Interval, here: Counts, prod: int | None) -> AuditVerdict:
        if self.called in here.unfinished:
            whole = self.cadence(model)
            said = f"not all of the {whole.unit} of {whole.floor(interval.start):%Y-%m-%d} is built: not compared yet"
            return AuditVerdict(passed=True, failures=0, observed=said)
        if self.called not in here.nothing:
            return super().verdict(model, interval, here, prod)
        # The first release of a model has no prod to be compared with; any other table was named because it has rows.
        lacks = f"nothing in {self.of} to compare with"
        return AuditVerdict(passed=self.of == PROD, failures=int(self.of != PROD), observed=lacks)

    def observed(self, bad: int, total: int) -> str:
        return f"{bad} failing of {total} {'groups' if self.groups else 'values'}"

    def rule(self, model: Model) -> str:
        by = f" by {', '.join(self.groups)}" if self.groups else ""
        allowed = [f"{self.within:g}"] if self.within is not None else []
        allowed += [f"{self.within_percent:g} %"] if self.within_percent is not None else []
        distance = f"within ±{' or ±'.join(allowed)} of" if allowed else "equal to"
        whole = f" of the whole {self.cadence(model).unit}" if self.period else ""
        return f"{self.metric}{whole}{by} is {distance} {self.of_metric or 'that'} in {self.of}"

    def cadence(self, model: Model) -> Cadence:
        """The intervals by which it compares."""
        return Cadence(self.period) if self.period else model.cadence

    def differs(self, number: int) -> str:
        """Whether two values are further apart than is allowed; one without the other always is."""
        here, there = f"bf_here{number}", f"bf_there{number}"
        share = float(self.within_percent or 0) / 100
        absolute = literal(float(self.within or 0))
        allowed = f"greatest({absolute}, {literal(share)} * abs({there}))" if share else absolute
        return f"NOT ({here} <=> {there}) AND coalesce(abs({here} - {there}) > {allowed}, true)"

    def _comparable(self, other: View) -> bool:
        """Whether a table has what is compared: an older release may lack the column."""
        return self.of != PROD or all(column.lower() in other.columns for column in self.there())

    def _compared_with(self, tables: Relations) -> View | None:
        return tables.shown() if self.of == PROD else tables.table(self.of)

    def _differences(self, look: AuditScope, other: View) -> str:
        """INTERVAL and `sample`: the groups in which it fails, with both values."""
        model, mask = look.model, literal(HIDDEN)
        shown = [
            mask if hidden(model, here) or there.lower() in other.mask else value_text(f"bf_g{n}")
            for n, (here, there) in enumerate(self.groups.items())
        ]
        key = [f"{literal(f'{c}=')}, {text}, ', '" for c, text in zip(self.groups, shown, strict=True)]
        told = not metric_hidden(f"{self.metric} {self.of_metric or ''}", (*model.mask, *other.mask))
        mine, theirs = (value_text(value) if told else mask for value in ("bf_here0", "bf_there0"))
        said = [*key, mine, literal(" here, "), theirs, literal(f" in {self.of}")]
        differ = f"SELECT * FROM ({_joined([self], look, other)}) WHERE {self.differs(0)}"
        if not self.period:
            return f"SELECT {INTERVAL}, concat({', '.join(said)}) AS sample FROM ({differ})"
        whole = self.cadence(model)
        units = " UNION ALL ".join(
            f"SELECT {interval_literal(start)} AS bf_unit, {interval_literal(whole.floor(start))} AS bf_period"
            for start in look.starts
        )
        period = [literal(f"{whole.unit} of "), f"substr({INTERVAL}, 1, 10)", literal(": ")]
        return (
            f"SELECT bf_unit AS {INTERVAL}, concat({', '.join([*period, *said])}) AS sample "
            f"FROM ({differ}) JOIN ({units}) ON bf_period = {INTERVAL}"
        )


def _find(audits: Sequence[Reconcile], look: AuditScope, found: Findings) -> None:
    """Counts for audits that share the other table and the groups."""
    other = audits[0]._compared_with(look.tables)  # pyright: ignore[reportPrivateUsage]
    able = [audit for audit in audits if other and audit._comparable(other)]  # pyright: ignore[reportPrivateUsage]
    if other is None or not able:
        for audit in audits:
            found.nothing[audit.called].update(look.starts)
        return
    # A row per interval: how many groups there are, and of each audit those in which it fails.
    failing = ", ".join(f"count_if({audit.differs(n)}) AS bf_{n}" for n, audit in enumerate(able))
    joined = _joined(able, look, other)
    query = f"SELECT {INTERVAL}, count(*) AS {GROUPS}, {failing} FROM ({joined}) GROUP BY 1"
    rows = by_interval(look.tables.ask(query))
    cadence = audits[0].cadence(look.model)
    periods = {at: Interval(start := cadence.floor(at), cadence.shift(start, 1)) for at in look.starts}
    unfinished = _not_in(periods, look.tables.whole().covers) if audits[0].period else set[datetime]()
    lacking = _not_in(periods, other.covers) - unfinished
    for audit in audits:
        found.nothing[audit.called].update(lacking if audit in able else set(look.starts) - unfinished)
        found.unfinished[audit.called].update(unfinished)
    judged = {at: row for at, whole in periods.items() if at not in unfinished and (row := rows.get(whole.start))}
    for n, audit in enumerate(able):
        found.failures[audit.called] = {at: row[f"bf_{n}"] for at, row in judged.items() if at not in lacking}
        found.totals[audit.called] = {at: row[GROUPS] for at, row in judged.items()}


def _not_in(periods: Mapping[datetime, Interval], covers: Ranges | None) -> set[datetime]:
    """The starts of the intervals whose period is not all there."""
    return {at for at, whole in periods.items() if covers is not None and Ranges((whole,)) - covers}


def _joined(audits: Sequence[Reconcile], look: AuditScope, other: View) -> str:
    """INTERVAL, the groups as `bf_g0`…, and each audit's metric as `bf_here0`… and `bf_there0`…"""
    by, cadence = audits[0].groups, audits[0].cadence(look.model)
    span = look.intervals.span
    assert span is not None
    cover = cadence.cover(span)
    rows, start = look.tables.rows(), interval_text(look.model)
    if audits[0].period:
        whole = look.tables.whole()
        rows, start = f"{whole.view} WHERE {whole.within(cover)}", whole.start(cadence)
    here = {f"bf_here{n}": audit.metric for n, audit in enumerate(audits)}
    there = {f"bf_there{n}": audit.of_metric or audit.metric for n, audit in enumerate(audits)}
    mine = _side(rows, start, list(by), here)
    theirs = _side(f"{other.view} WHERE {other.within(cover)}", other.start(cadence), list(by.values()), there)
    keys = [INTERVAL, *(f"bf_g{n}" for n in range(len(by)))]
    on = " AND ".join(f"a.{key} <=> b.{key}" for key in keys)
    values = [f"{side}{n}" for side in ("bf_here", "bf_there") for n in range(len(audits))]
    selected = ", ".join([*(f"coalesce(a.{key}, b.{key}) AS {key}" for key in keys), *values])
    return f"SELECT {selected} FROM ({mine}) AS a FULL OUTER JOIN ({theirs}) AS b ON {on}"


def _side(rows: str, interval: str, by: Sequence[str], metrics: Mapping[str, str]) -> str:
    keys = [interval, *(quoted(c) for c in by)]
    selected = [f"{interval} AS {INTERVAL}", *(f"{quoted(c)} AS bf_g{n}" for n, c in enumerate(by))]
    selected += [f"({text}\n) AS {name}" for name, text in metrics.items()]
    return f"SELECT {', '.join(selected)} FROM {rows} GROUP BY {', '.join(keys)}"
