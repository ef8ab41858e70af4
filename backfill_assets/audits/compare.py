"""How is a metric reconciled with another table? Both sides by interval and group, joined, in one query for all metrics
that share the table and the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from backfill_assets.audits.compile import INTERVAL
from backfill_assets.audits.reads import groups
from backfill_assets.audits.relations import Table
from backfill_assets.audits.text import hidden, interval_text, literal, quoted, value_text
from backfill_assets.core.masking import HIDDEN, hides
from backfill_assets.core.model import Audit, Model

GROUPS = "bf_groups"


def together(audits: Sequence[Audit]) -> list[list[Audit]]:
    """The `reconcile` audits, those together that compare with the same table by the same groups."""
    found: dict[tuple[object, ...], list[Audit]] = {}
    for audit in audits:
        if audit.kind == "reconcile":
            found.setdefault((audit.arguments["of"], *groups(audit).items()), []).append(audit)
    return list(found.values())


def compare_query(model: Model, audits: Sequence[Audit], rows: str, other: Table) -> str:
    """A row per interval: INTERVAL, GROUPS, and for each audit, in `bf_0` and so on, the groups in which it fails."""
    failing = ", ".join(f"count_if({differs(audit, n)}) AS bf_{n}" for n, audit in enumerate(audits))
    return f"SELECT {INTERVAL}, count(*) AS {GROUPS}, {failing} FROM ({_joined(model, audits, rows, other)}) GROUP BY 1"


def difference_query(model: Model, audit: Audit, rows: str, other: Table) -> str:
    """INTERVAL and `sample`: the groups in which an audit fails, with both values."""
    mask, masked = literal(HIDDEN), {model.name: (*model.mask, *other.mask)}
    groups_text = [
        mask if hidden(model, here) or there.lower() in other.mask else value_text(f"bf_g{n}")
        for n, (here, there) in enumerate(groups(audit).items())
    ]
    key = [f"{literal(f'{c}=')}, {text}, ', '" for c, text in zip(groups(audit), groups_text, strict=True)]
    metrics = " ".join(str(audit.arguments.get(name) or "") for name in ("metric", "of_metric"))
    told = not hides(f"{metrics} {model.name}", masked)
    mine, theirs = (value_text(value) if told else mask for value in ("bf_here0", "bf_there0"))
    there = literal(f" in {audit.arguments['of']}")
    said = f"{mine}, {literal(' here, ')}, {theirs}"
    text = f"concat({', '.join([*key, said, there])})"
    return (
        f"SELECT {INTERVAL}, {text} AS sample FROM ({_joined(model, [audit], rows, other)}) WHERE {differs(audit, 0)}"
    )


def differs(audit: Audit, number: int) -> str:
    """Whether two values are further apart than the audit allows; one without the other always is."""
    here, there = f"bf_here{number}", f"bf_there{number}"
    share = float(cast(float, audit.arguments.get("within_percent") or 0)) / 100
    absolute = literal(float(cast(float, audit.arguments.get("within") or 0)))
    allowed = f"greatest({absolute}, {literal(share)} * abs({there}))" if share else absolute
    return f"NOT ({here} <=> {there}) AND coalesce(abs({here} - {there}) > {allowed}, true)"


def _joined(model: Model, audits: Sequence[Audit], rows: str, other: Table) -> str:
    """INTERVAL, the groups as `bf_g0`…, and each audit's metric as `bf_here0`… and `bf_there0`…"""
    by = groups(audits[0])
    mine = _side(
        rows, interval_text(model), list(by), {f"bf_here{n}": a.arguments["metric"] for n, a in enumerate(audits)}
    )
    theirs = _side(
        f"{other.view} WHERE {other.within}",
        other.bucket,
        list(by.values()),
        {f"bf_there{n}": a.arguments.get("of_metric") or a.arguments["metric"] for n, a in enumerate(audits)},
    )
    keys = [INTERVAL, *(f"bf_g{n}" for n in range(len(by)))]
    on = " AND ".join(f"a.{key} <=> b.{key}" for key in keys)
    values = [f"{side}{n}" for side in ("bf_here", "bf_there") for n in range(len(audits))]
    selected = ", ".join([*(f"coalesce(a.{key}, b.{key}) AS {key}" for key in keys), *values])
    return f"SELECT {selected} FROM ({mine}) AS a FULL OUTER JOIN ({theirs}) AS b ON {on}"


def _side(rows: str, interval: str, by: Sequence[str], metrics: Mapping[str, object]) -> str:
    keys = [interval, *(quoted(c) for c in by)]
    selected = [f"{interval} AS {INTERVAL}", *(f"{quoted(c)} AS bf_g{n}" for n, c in enumerate(by))]
    selected += [f"({text}\n) AS {name}" for name, text in metrics.items()]
    return f"SELECT {', '.join(selected)} FROM {rows} GROUP BY {', '.join(keys)}"
