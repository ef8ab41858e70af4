"""What of a consumer's answers may be kept? What is computed from no masked column, by the lineage of its query."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from backfill_assets.audits.masked import reads_masked, shown_outputs
from backfill_assets.contracts.rerun import Answer, Rerun, misses
from backfill_assets.core.consumer import ConsumerQuery
from backfill_assets.core.masking import HIDDEN, hide_values


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewMasks:
    """An environment's views by the lower-cased names that queries call them: columns, and which were ever masked."""

    columns: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    masks: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])


def masked_rerun(rerun: Rerun, query: ConsumerQuery, candidate: ViewMasks, shown: ViewMasks, salt: bytes) -> Rerun:
    """The rerun without values of masked columns, judged before they went.

    `salt` makes checksums that nobody can find a value for by trying: they compare the two answers, and nothing else.
    """
    told = replace(rerun.candidate, error=_error(query, rerun.candidate, candidate))
    return replace(
        rerun,
        missed=misses(query, told, _hidden(query, told, candidate)),
        candidate=_without_values(query, rerun.candidate, candidate, salt),
        shown=_without_values(query, rerun.shown, shown, salt) if rerun.shown is not None else None,
    )


def _hidden(query: ConsumerQuery, answer: Answer, views: ViewMasks) -> frozenset[str]:
    columns = [c.lower() for c in answer.columns]
    return frozenset(columns) - {*shown_outputs(query.sql, columns, views.columns, views.masks)}


def _error(query: ConsumerQuery, answer: Answer, views: ViewMasks) -> str:
    hides = answer.error and reads_masked(query.sql, views.columns, views.masks)
    return hide_values(answer.error) if hides else answer.error


def _without_values(query: ConsumerQuery, answer: Answer, views: ViewMasks, salt: bytes) -> Answer:
    hidden = _hidden(query, answer, views)
    salted = answer.checksum and reads_masked(query.sql, views.columns, views.masks)
    return replace(
        answer,
        checksum=_salted(answer.checksum, salt) if salted else answer.checksum,
        sample=tuple(
            tuple(HIDDEN if c.lower() in hidden else v for c, v in zip(answer.columns, row, strict=True))
            for row in answer.sample
        ),
        extremes={c: ends for c, ends in answer.extremes.items() if c.lower() not in hidden},
        sums={c: total for c, total in answer.sums.items() if c.lower() not in hidden},
        error=_error(query, answer, views),
    )


def _salted(checksum: str, salt: bytes) -> str:
    return hashlib.blake2b(checksum.encode(), key=salt, digest_size=8).hexdigest()
