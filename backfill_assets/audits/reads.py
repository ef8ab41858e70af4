"""What does an audit look at? It is in its stored arguments, whose names mean the same in every kind.

So planning, which asks, needs no kind. `to` and `of` name another model or source, or PROD; `file` names a query in
`audits/`, whose tables are in `reads`; `neighbours` counts intervals around; `column`, `columns`, `by` and `records`
name the model's columns, and so do the SQL texts in `expression`, `where` and `metric`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Audit, Model

PROD = "prod"
"""What `of:` calls that which the environment shows of the same model."""
_EXPRESSIONS = ("expression", "where", "metric")
"""Arguments that are SQL about the model's own rows."""


def audit_tables(model: Model) -> tuple[str, ...]:
    """The other models and the sources that the model's audits read."""
    return tuple(dict.fromkeys(name for audit in model.audits for name in tables_of(audit) if name != model.name))


def tables_read(model: Model) -> tuple[str, ...]:
    """The models and sources that a model is computed from, and those that its audits read."""
    return tuple(dict.fromkeys((*(upstream.name for upstream in model.upstreams), *audit_tables(model))))


def tables_of(audit: Audit) -> tuple[str, ...]:
    """The models and sources that an audit reads; its own model among them when its query names that."""
    name = other_table(audit.arguments)
    return texts(audit.arguments.get("reads")) if name is None else (name,)


def other_table(arguments: Mapping[str, object]) -> str | None:
    """The model or source that `to` or `of` names."""
    name = arguments.get("to") or arguments.get("of")
    return None if name is None or name == PROD else str(name)


def compares_with_prod(audit: Audit) -> bool:
    """Whether a metric is compared with what prod shows of the same model."""
    return audit.arguments.get("of") == PROD and "metric" in audit.arguments


def period(audit: Audit) -> Cadence | None:
    """The longer intervals in which it adds up the model's rows, where it does."""
    said = audit.arguments.get("period")
    return None if said is None else Cadence(said)


def reach(audit: Audit) -> int:
    """How many intervals before and after each one it looks at."""
    return int(cast(int, audit.arguments.get("neighbours", 0)))


def columns(audit: Audit) -> tuple[str, ...]:
    """The columns of the model that an audit is about."""
    from backfill_assets.sql.expressions import columns_of  # a parser, which planning does not need

    arguments = audit.arguments
    return once(
        [
            *texts(arguments.get("columns")),
            *texts(arguments.get("column")),
            *(column for key in _EXPRESSIONS if key in arguments for column in columns_of(str(arguments[key]))),
            *cast(Mapping[str, str], arguments.get("by") or {}),
            *(c for record in cast(Sequence[Mapping[str, object]], arguments.get("records") or ()) for c in record),
        ]
    )


def once(names: Iterable[str]) -> tuple[str, ...]:
    """Each of these columns once, as it is spelled first: Spark does not tell case apart."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.lower(), name)
    return tuple(found.values())


def texts(values: object) -> tuple[str, ...]:
    """The names in an argument: one, several or none. Stored definitions hold lists."""
    return (values,) if isinstance(values, str) else tuple(cast(Sequence[str], values or ()))
