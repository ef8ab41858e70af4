"""All mutations, by what they break."""

from __future__ import annotations

from backfill_assets_tests.mutations.approvals import APPROVALS
from backfill_assets_tests.mutations.dagster import PARTITIONS
from backfill_assets_tests.mutations.gate import FINDINGS, GATE, SETTLED
from backfill_assets_tests.mutations.mutation import Mutation
from backfill_assets_tests.mutations.operations import (
    COUNTING,
    EVIDENCE,
    EXTENDING,
    HISTORY,
    KNOWN_DAYS,
    ROLLBACK,
    RULES_CHANGE,
    SWEEPING,
    TURNS,
)
from backfill_assets_tests.mutations.plans import (
    AHEAD,
    COPIES,
    FROZEN,
    JANITOR,
    KEEPING,
    LEASES,
    ROUTINE,
    SAMPLES,
    TEXTS,
)

MUTATIONS: tuple[Mutation, ...] = (
    *GATE,
    *SETTLED,
    *FINDINGS,
    *APPROVALS,
    *ROUTINE,
    *SAMPLES,
    *TEXTS,
    *LEASES,
    *FROZEN,
    *COPIES,
    *AHEAD,
    *KEEPING,
    *JANITOR,
    *ROLLBACK,
    *SWEEPING,
    *RULES_CHANGE,
    *COUNTING,
    *EXTENDING,
    *EVIDENCE,
    *HISTORY,
    *TURNS,
    *KNOWN_DAYS,
    *PARTITIONS,
)
