"""Does what was counted in an interval pass an audit? Its thresholds applied, and both put into words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import cast

from backfill_assets.audits.reads import PROD, groups, other_table, texts
from backfill_assets.audits.rows import broken
from backfill_assets.core.intervals import Interval, utc
from backfill_assets.core.masking import HIDDEN, hides
from backfill_assets.core.model import Audit, Model

FEWEST_NEIGHBOURS = 3
"""A trend says nothing with fewer neighbours than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the audits found in one interval, by audit name where it is not about all.

    `totals` are what there is to compare where that is not rows (groups, entities, known records); `values` are
    metrics, `neighbours` those of the intervals around it; `nothing` names audits that had nothing to compare with.
    """

    rows: int = 0
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    totals: Mapping[str, int] = field(default_factory=dict[str, int])
    values: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    neighbours: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    nothing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`failures` of what was counted, or 1 for an interval that fails as a whole."""

    passed: bool
    failures: int
    observed: str


def verdict(model: Model, audit: Audit, interval: Interval, here: Counts, prod: int | None) -> Verdict:
    """Whether the interval passes. `prod` is how many rows the environment shows of it, None when it shows none."""
    arguments = audit.arguments
    match audit.kind:
        case "completeness":
            least = int(cast(int, arguments.get("min_rows") or 1))
            lacking = max(least - here.rows, 0)
            return Verdict(passed=not lacking, failures=lacking, observed=f"{here.rows} rows")
        case "row_count":
            return _row_count(audit, here, prod)
        case "null_rate":
            return _null_rate(audit, here)
        case "aggregate":
            return _aggregate(model, audit, here)
        case "trend":
            return _trend(model, audit, interval, here)
        case _:
            return _counted(audit, here)


def expectation(model: Model, audit: Audit) -> str:
    """What the audit expects, in words, with its thresholds."""
    arguments = audit.arguments
    where = f", where {arguments['where']}" if arguments.get("where") is not None else ""
    match audit.kind:
        case "completeness":
            least = int(cast(int, arguments.get("min_rows") or 1))
            return f"at least {least} row{'s' * (least != 1)}"
        case "row_count":
            return f"rows within ±{_float(arguments['within_percent']):g} % of {arguments.get('of') or PROD}"
        case "null_rate":
            share = _bounds(arguments.get("min_percent"), arguments.get("max_percent"), " %")
            return f"{share} of {arguments['column']} is NULL"
        case "aggregate":
            return f"{arguments['metric']} is {_bounds(arguments.get('min'), arguments.get('max'))}"
        case "trend":
            share, near = _float(arguments["max_change_percent"]), arguments["neighbours"]
            return f"{arguments['metric']} within ±{share:g} % of the median of the {near} intervals before and after"
        case "unique_grain":
            said = f"one row per {', '.join(model.grain)}"
        case "unique":
            said = f"one row per {', '.join(texts(arguments['columns']))}"
        case "expression":
            said = f"{arguments['expression']} in every row"
        case "relationships":
            columns = texts(arguments["columns"])
            fields = texts(arguments.get("fields")) or columns
            said = f"every {', '.join(columns)} is a {', '.join(fields)} of {other_table(audit.kind, arguments)}"
        case "entities":
            return f"every {_entities(audit)} has rows" + _tolerated_text(audit)
        case "reconcile":
            said = f"{arguments['metric']}{_by(audit)} is {_distance(audit)}{_compared(audit)}"
        case "known_records":
            return "every known record is there as expected"
        case "stable_key":
            said = "no key that is in another interval, too"
        case "sql":
            said = f"no row from audits/{arguments['file']}.sql"
        case _:
            said = f"no row with {broken(audit)}"
    return said + where + _tolerated_text(audit)


def tolerated(audit: Audit, total: int) -> int:
    """How many failures the audit puts up with, of this many."""
    limit = audit.arguments.get("tolerate") or 0
    return math.floor(total * float(limit.rstrip("%")) / 100) if isinstance(limit, str) else int(cast(int, limit))


def _counted(audit: Audit, here: Counts) -> Verdict:
    if audit.name in here.nothing:
        # The first release of a model has no prod to be compared with; any other table was named because it has rows.
        other = str(audit.arguments["of"])
        lacks = f"nothing in {other} to compare with"
        return Verdict(passed=other == PROD, failures=int(other != PROD), observed=lacks)
    bad = here.failures.get(audit.name, 0)
    total = here.totals.get(audit.name, here.rows)
    what = {"reconcile": "groups", "entities": "entities", "known_records": "known records"}.get(audit.kind, "rows")
    if audit.kind == "reconcile" and not groups(audit):
        what = "values"
    allowed = tolerated(audit, total)
    # An author's query may give a row that is none of the model's, or one of them many times.
    of = f"row{'s' * (bad != 1)} from its query" if audit.kind == "sql" else f"failing of {total} {what}"
    observed = f"{bad} {of}" + (f", {allowed} tolerated" if "tolerate" in audit.arguments else "")
    return Verdict(passed=bad <= allowed, failures=bad, observed=observed)


def _row_count(audit: Audit, here: Counts, prod: int | None) -> Verdict:
    percent, other = _float(audit.arguments["within_percent"]), str(audit.arguments.get("of") or PROD)
    if prod is None:
        return Verdict(passed=True, failures=0, observed=f"{here.rows} rows, nothing in {other} to compare with")
    moved = abs(here.rows - prod) / prod * 100 if prod else (0.0 if not here.rows else 100.0)
    bad = moved > percent
    return Verdict(
        passed=not bad, failures=int(bad), observed=f"{here.rows} rows, {other} has {prod} ({moved:.2f} % apart)"
    )


def _null_rate(audit: Audit, here: Counts) -> Verdict:
    empty = here.failures.get(audit.name, 0)
    if not here.rows:
        return Verdict(passed=True, failures=0, observed="no rows")
    percent = empty / here.rows * 100
    low, high = audit.arguments.get("min_percent"), audit.arguments.get("max_percent")
    good = (low is None or percent >= _float(low)) and (high is None or percent <= _float(high))
    return Verdict(
        passed=good,
        failures=0 if good else max(empty, 1),
        observed=f"{empty} of {here.rows} rows are NULL ({percent:.2f} %)",
    )


def _masked(model: Model, audit: Audit) -> bool:
    """Whether a metric may be a value of a masked column, as `max(salary)` is."""
    return hides(f"{audit.arguments['metric']} {model.name}", {model.name: model.mask})


def _aggregate(model: Model, audit: Audit, here: Counts) -> Verdict:
    if not here.rows:
        return Verdict(passed=True, failures=0, observed="no rows")
    value = here.values.get(audit.name)
    low, high = audit.arguments.get("min"), audit.arguments.get("max")
    good = value is not None and (low is None or value >= _float(low)) and (high is None or value <= _float(high))
    said = HIDDEN if _masked(model, audit) else _said(value)
    return Verdict(passed=good, failures=int(not good), observed=f"{audit.arguments['metric']} is {said}")


def _trend(model: Model, audit: Audit, interval: Interval, here: Counts) -> Verdict:
    value, near = here.values.get(audit.name) or 0.0, here.neighbours.get(audit.name, ())

    def said(number: float) -> str:
        return HIDDEN if _masked(model, audit) else _said(number)

    if len(near) < FEWEST_NEIGHBOURS:
        return Verdict(
            passed=True, failures=0, observed=f"{said(value)}, {len(near)} neighbours are too few to compare"
        )
    usual = median(near)
    moved = (value - usual) / abs(usual) * 100 if usual else math.copysign(math.inf, value) if value else 0.0
    good = abs(moved) <= _float(audit.arguments["max_change_percent"])
    observed = f"{said(value)}, {moved:+.1f} % from {said(usual)} around it"
    reason = explanation(model, audit, interval)
    if not good and reason is not None:
        return Verdict(passed=True, failures=0, observed=f"{observed}; explained: {reason}")
    return Verdict(passed=good, failures=int(not good), observed=observed)


def explanation(model: Model, audit: Audit, interval: Interval) -> str | None:
    """The reason that a trend gives for what happened in an interval."""
    reasons = cast(Mapping[str, str], audit.arguments.get("explained") or {})
    return next((r for at, r in reasons.items() if model.cadence.floor(utc(at)) == interval.start), None)


def _tolerated_text(audit: Audit) -> str:
    limit = audit.arguments.get("tolerate")
    return "" if limit is None else f"; up to {limit} {'' if isinstance(limit, str) else 'rows '}tolerated"


def _entities(audit: Audit) -> str:
    column, field_ = audit.arguments["column"], audit.arguments.get("field")
    if (other := audit.arguments.get("of")) is not None:
        return f"{column} of {other}" + (f" ({field_})" if field_ else "")
    values = [str(v) for v in cast("list[object]", audit.arguments["values"])]
    shown = ", ".join(values[:10]) + (f" and {len(values) - 10} more" if len(values) > 10 else "")
    return f"{column} of {shown}"


def _by(audit: Audit) -> str:
    return f" by {', '.join(groups(audit))}" if groups(audit) else ""


def _compared(audit: Audit) -> str:
    there, other = audit.arguments.get("of_metric"), audit.arguments["of"]
    return f"{there} in {other}" if there is not None else f"that in {other}"


def _distance(audit: Audit) -> str:
    absolute, percent = audit.arguments.get("within"), audit.arguments.get("within_percent")
    allowed = [f"{_float(absolute):g}"] if absolute is not None else []
    allowed += [f"{_float(percent):g} %"] if percent is not None else []
    return f"within ±{' or ±'.join(allowed)} of " if allowed else "equal to "


def _bounds(low: object, high: object, unit: str = "") -> str:
    if low is None:
        return f"at most {_said(_float(high))}{unit}"
    if high is None:
        return f"at least {_said(_float(low))}{unit}"
    return f"between {_said(_float(low))} and {_said(_float(high))}{unit}"


def _said(value: float | None) -> str:
    return "NULL" if value is None else f"{value:.12g}"


def _float(value: object) -> float:
    return float(cast(float, value))
