"""Which contract does prod keep of each model, and which would it keep after a promotion?"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backfill_assets.contracts.contract import Contract, promised, published_contract
from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.project.stored import HeaderThen, audits_from_json, audits_json
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment

AUDITS = "audits"
"""Where a stored contract keeps the audits; those of earlier releases do not."""
GRAIN, MASK, START, END, UNTIL = "spelled_grain", "mask", "start", "end", "until"
"""And what else the header says that is no part of the version, and how far the model was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedContracts:
    """By model. What is shown and has no known contract is None in `old`."""

    old: Mapping[str, Contract | None]
    new: Mapping[str, Contract]


def read_contracts(project: Project, control: Control, shown: Environment) -> PublishedContracts:
    """The contracts of what an environment shows, and those of the code."""
    if not shown.pointers:
        return PublishedContracts(old={}, new={name: promised(project, name) for name in project.models})
    versions, kept = control.versions.all(), control.contracts.read(shown.name)
    old: dict[str, Contract | None] = {}
    for name, pointer in shown.pointers.items():
        document = kept.get((name, pointer.version))
        old[name] = (
            from_plain(Contract, document) if document else published_contract(versions.get((name, pointer.version)))
        )
    new = {n: promised(project, n, versions.get((n, project.fingerprints[n]))) for n in project.models}
    return PublishedContracts(old=old, new=new)


def publish_contracts(
    project: Project, control: Control, shown: Environment, models: Collection[str], *, at: datetime
) -> None:
    """After a promotion: record under which contracts these models are shown, and with which audits, where that is not
    known already."""
    contracts, known = read_contracts(project, control, shown), promoted_headers(control, shown.name)
    versions = control.versions.all()

    def news(name: str, version: str) -> bool:
        record = versions.get((name, version))
        then = known.get((name, version)) or (HeaderThen.of(record.definition) if record else None)
        if then is None or contracts.old[name] != contracts.new[name]:
            return True
        return not _alike(_stored(then), _stored(HeaderThen.now(project.models[name])))

    def document(name: str, pointer: Pointer) -> dict[str, Any]:
        until = pointer.segments[-1].interval.end.isoformat()
        return to_plain(contracts.new[name]) | _stored(HeaderThen.now(project.models[name])) | {UNTIL: until}

    control.contracts.append(
        shown.name,
        {
            (name, pointer.version): document(name, pointer)
            for name, pointer in shown.pointers.items()
            if name in models and project.fingerprints.get(name) == pointer.version and news(name, pointer.version)
        },
        at=at,
    )


def promoted_headers(control: Control, environment: str) -> dict[tuple[str, str], HeaderThen]:
    """The headers that versions were promoted with last, by (model, version), where they are not that of its record."""
    kept = control.contracts.read(environment)
    return {
        key: HeaderThen(
            audits=audits_from_json(document[AUDITS]),
            grain=tuple(document.get(GRAIN) or ()),
            mask=tuple(document.get(MASK) or ()),
            **{name: utc(document[name]) if document.get(name) else None for name in (START, END, UNTIL)},
        )
        for key, document in kept.items()
        if AUDITS in document
    }


def _stored(header: HeaderThen) -> dict[str, object]:
    """As a document has it, beside how far the model was shown."""
    return {
        AUDITS: audits_json(header.audits),
        GRAIN: list(header.grain),
        MASK: sorted(c.lower() for c in header.mask),
        START: header.start.isoformat() if header.start else "",
        END: header.end.isoformat() if header.end else "",
    }


def _alike(one: object, other: object) -> bool:
    """Whether two of them say the same; tuples are lists once they were stored."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)
