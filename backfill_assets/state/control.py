"""All the records of one warehouse, in one hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from backfill_assets.state.approvals import Approvals
from backfill_assets.state.contracts import ContractTable
from backfill_assets.state.environment import Environment, Environments
from backfill_assets.state.ledger import Ledger
from backfill_assets.state.ledger_rows import KnownRows
from backfill_assets.state.plans import Plans
from backfill_assets.state.proofs import Proofs
from backfill_assets.state.releases import Releases
from backfill_assets.state.removals import Removals
from backfill_assets.state.results import AuditResults
from backfill_assets.state.rules import RulesRecords
from backfill_assets.state.salt import Salt
from backfill_assets.state.store import Store
from backfill_assets.state.text_checks import TextChecks
from backfill_assets.state.versions import Versions
from backfill_assets.state.writer_leases import WriterLeases


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The control tables of one warehouse."""

    ledger: Ledger
    results: AuditResults
    versions: Versions
    environments: Environments
    plans: Plans
    approvals: Approvals
    proofs: Proofs
    releases: Releases
    removals: Removals
    contracts: ContractTable
    rules: RulesRecords
    salt: Salt
    text_checks: TextChecks
    writer_leases: WriterLeases

    def compact(self) -> None:
        """Join the small files that many commits left in each table."""
        for each in (
            self.ledger, self.results, self.versions, self.environments,
            self.plans, self.approvals, self.proofs, self.rules, self.text_checks, self.writer_leases,
        ):  # fmt: skip
            each.compact()

    @classmethod
    def over(cls, store: Store, known: KnownRows | None = None) -> Self:
        """Open every table of the store; nothing is read or created yet. `known`: what remembers rows of the ledger."""
        return cls(
            ledger=Ledger(store, known),
            results=AuditResults(store),
            versions=Versions(store),
            environments=Environments(store),
            plans=Plans(store),
            approvals=Approvals(store),
            proofs=Proofs(store),
            releases=Releases(store),
            removals=Removals(store),
            contracts=ContractTable(store),
            rules=RulesRecords(store),
            salt=Salt(store),
            text_checks=TextChecks(store),
            writer_leases=WriterLeases(store),
        )

    def lasting(self) -> list[Environment]:
        """Every environment that is not a plan's own."""
        candidates = {record.candidate for record in self.plans.all()}
        return [self.environments.read(name) for name in self.environments.names() if name not in candidates]
