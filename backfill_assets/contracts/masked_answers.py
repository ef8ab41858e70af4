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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mask:
    """What of an answer is not kept: values of `hidden` outputs; and whether the query `reads` a masked table."""

    hidden: frozenset[str]
    reads: bool


def masked_rerun(rerun: Rerun, query: ConsumerQuery, candidate: ViewMasks, shown: ViewMasks, salt: bytes) -> Rerun:
    """The rerun without values of masked columns, judged before they went.

    `salt` makes checksums that nobody can find a value for by trying: they compare the two answers, and nothing else.
    """
    mask = _mask(query, rerun.candidate, candidate)
    told = replace(rerun.candidate, error=_error(rerun.candidate, mask))
    return replace(
        rerun,
        missed=misses(query, told, mask.hidden),
        candidate=_without_values(rerun.candidate, mask, salt),
        shown=_without_values(rerun.shown, _mask(query, rerun.shown, shown), salt) if rerun.shown is not None else None,
    )


def _mask(query: ConsumerQuery, answer: Answer, views: ViewMasks) -> _Mask:
    if not reads_masked(query.sql, views.columns, views.masks):
        return _Mask(hidden=frozenset(), reads=False)
    columns = [c.lower() for c in answer.columns]
    seen = shown_outputs(query.sql, columns, views.columns, views.masks)
    return _Mask(hidden=frozenset(columns).difference(seen), reads=True)


def _error(answer: Answer, mask: _Mask) -> str:
    return hide_values(answer.error) if answer.error and mask.reads else answer.error


def _without_values(answer: Answer, mask: _Mask, salt: bytes) -> Answer:
    return replace(
        answer,
        checksum=_salted(answer.checksum, salt) if answer.checksum and mask.reads else answer.checksum,
        sample=tuple(
            tuple(HIDDEN if c.lower() in mask.hidden else v for c, v in zip(answer.columns, row, strict=True))
            for row in answer.sample
        ),
        extremes={c: ends for c, ends in answer.extremes.items() if c.lower() not in mask.hidden},
        sums={c: total for c, total in answer.sums.items() if c.lower() not in mask.hidden},
        error=_error(answer, mask),
    )


def _salted(checksum: str, salt: bytes) -> str:
    return hashlib.blake2b(checksum.encode(), key=salt, digest_size=8).hexdigest()
