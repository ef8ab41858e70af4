"""What is there of a version of a model? What its table has, and what an environment shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from backfill_assets.core.pointer import Pointer
from backfill_assets.state.ledger import Coverage, EntriesByVersion
from backfill_assets.state.shown_state import as_shown, shown_state
from backfill_assets.state.tables import TableLog, known_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a version amounts to, and the commit of its table at which that was seen (-1: there is no table)."""

    coverage: Coverage
    head: int


def seen(
    groups: EntriesByVersion,
    log: TableLog,
    model: str,
    version: str,
    pointer: Pointer | None,
    *,
    audits: str,
    over: datetime | None = None,
) -> Seen:
    """One version, where what the `pointer` shows of it counts as it is shown (None: nothing is, or does).

    `groups` are the entries of the model's versions, `audits` is the digest of its present audits. What was built
    while its interval was open counts if that ends after `over`: whoever builds goes on from it. Readers give none:
    to them a partial interval is not there.
    """
    found, head = known_coverage(
        groups.get((model, version), []), log, model=model, version=version, audits=audits, over=over
    )
    known = shown_state(pointer, groups, log, audits=audits) if pointer else None
    return Seen(coverage=as_shown(found, version, pointer, known), head=head)
