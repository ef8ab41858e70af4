"""What does an audit look at? Its arguments as names and texts, without a parser: planning asks, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from backfill_assets.core.model import Audit, Model

PROD = "prod"
"""What `of:` calls that which the environment shows of the same model."""


def audit_tables(model: Model) -> tuple[str, ...]:
    """The other models and the sources that the model's audits read."""
    return tuple(dict.fromkeys(name for audit in model.audits for name in tables_of(audit) if name != model.name))


def tables_of(audit: Audit) -> tuple[str, ...]:
    """The models and sources that an audit reads; an `sql` audit's own model among them when its query names it."""
    if audit.kind == "sql":
        return texts(audit.arguments.get("reads"))
    name = other_table(audit.kind, audit.arguments)
    return () if name is None else (name,)


def other_table(kind: str, arguments: Mapping[str, object]) -> str | None:
    """The model or source that `to` or `of` names."""
    name = arguments.get("to") if kind == "relationships" else arguments.get("of")
    return None if name is None or name == PROD else str(name)


def expressions(arguments: Mapping[str, object]) -> Iterator[str]:
    """The SQL texts about the model's own rows."""
    for key in ("expression", "where", "metric"):
        if (text := arguments.get(key)) is not None:
            yield str(text)


def records(audit: Audit) -> Sequence[Mapping[str, object]]:
    """The rows that a `known_records` audit expects."""
    return cast(Sequence[Mapping[str, object]], audit.arguments.get("records") or ())


def groups(audit: Audit) -> Mapping[str, str]:
    """The columns by which a `reconcile` audit compares: here → there."""
    return cast(Mapping[str, str], audit.arguments.get("by") or {})


def texts(values: object) -> tuple[str, ...]:
    """The names in an argument: one, several or none. Stored definitions hold lists."""
    return (values,) if isinstance(values, str) else tuple(cast(Sequence[str], values or ()))
