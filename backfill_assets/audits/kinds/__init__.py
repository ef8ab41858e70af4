"""Which kinds of audits are there? A module a family; a class is a kind, with all that is known of it.

A new kind is a class in the module of its family, and nothing else: header, SQL, verdict, words and docs/audits.md ask
the classes. A new family is added to `_FAMILIES`, in the order of the page.
"""

from __future__ import annotations

from collections.abc import Mapping

from backfill_assets.audits.kinds import (
    aggregate,
    keys,
    known_records,
    nulls,
    presence,
    query,
    reconcile,
    trend,
    values,
)
from backfill_assets.audits.kinds.base import AuditKind
from backfill_assets.core.model import Audit

_FAMILIES = (nulls, keys, values, presence, aggregate, reconcile, trend, known_records, query)
ALL: Mapping[str, type[AuditKind]] = {
    kind.kind: kind
    for family in _FAMILIES
    for kind in vars(family).values()
    if isinstance(kind, type) and issubclass(kind, AuditKind) and "kind" in vars(kind)
}
"""What an audit's `kind` may be, in the order in which people are told."""
KINDS: Mapping[str, type[AuditKind]] = {name: kind for name, kind in ALL.items() if kind.example}
"""Those that a header may declare."""


def kind_of(audit: Audit) -> AuditKind:
    """What answers for an audit."""
    return ALL[audit.kind].stored(audit)
