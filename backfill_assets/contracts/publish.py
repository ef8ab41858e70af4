"""Which contract does prod keep of each model, and which would it keep after a promotion?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.contracts.contract import Contract, contract_from_json, promised, published
from backfill_assets.snapshots.model import Project
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Contracts:
    """By model. What is shown and has no known contract is None in `old`."""

    old: Mapping[str, Contract | None]
    new: Mapping[str, Contract]


def read_contracts(project: Project, control: Control, shown: Environment) -> Contracts:
    """The contracts of what an environment shows, and those of the code."""
    if not shown.pointers:
        return Contracts(old={}, new={name: promised(project, name) for name in project.models})
    versions, kept = control.versions.all(), control.contracts.read(shown.name)
    old: dict[str, Contract | None] = {}
    for name, pointer in shown.pointers.items():
        document = kept.get((name, pointer.version))
        old[name] = contract_from_json(document) if document else published(versions.get((name, pointer.version)))
    new = {n: promised(project, n, versions.get((n, project.fingerprints[n]))) for n in project.models}
    return Contracts(old=old, new=new)


def publish_contracts(
    project: Project, control: Control, shown: Environment, models: Collection[str], *, at: datetime
) -> None:
    """After a promotion: record under which contracts these models are shown, where that is not known already."""
    contracts = read_contracts(project, control, shown)
    control.contracts.append(
        shown.name,
        {
            (name, pointer.version): contracts.new[name].to_json()
            for name, pointer in shown.pointers.items()
            if name in models
            and project.fingerprints.get(name) == pointer.version
            and contracts.old[name] != contracts.new[name]
        },
        at=at,
    )
