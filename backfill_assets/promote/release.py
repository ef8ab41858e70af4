"""How does an environment move? Look, ask the gate, move; and look again when it moved in between.

This is the only way to a release: whatever somebody wants to be shown comes as a Case, and is judged by what is shown
at the moment of the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from backfill_assets.core.attempts import attempts
from backfill_assets.core.errors import LostRaceError, PromotionError, too_busy
from backfill_assets.core.pointer import Pointer
from backfill_assets.promote.case import Case, Purpose
from backfill_assets.promote.gate import Verdict, gate
from backfill_assets.promote.judged import records_read, refuse_moved
from backfill_assets.promote.promote import ViewCatalog, new_release, promote, recover
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, Environments
from backfill_assets.state.release_note import ReleaseNote
from backfill_assets.state.table_contents import with_counts
from backfill_assets.state.tables import TableLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One look at what would move. What else a use case has found by it is in an attempt of its own kind."""

    case: Case


A = TypeVar("A", bound=Attempt, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Generic[A]):
    """How it ended. `environment` is what there is afterwards, whether it moved or not."""

    environment: Environment
    verdict: Verdict
    attempt: A
    """The last one."""
    packets: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plan, or release → the digest of its packet, as written for the last attempt that the gate let through."""

    @property
    def moved(self) -> bool:
        return self.verdict.open and self.verdict.moves


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing(Generic[A]):
    """A release that the gate let through, and that is about to move: what its packet is written of."""

    release: str
    attempt: A
    pointers: tuple[Pointer, ...]
    """As they will be recorded: counted."""
    removed: tuple[str, ...]
    rules: Mapping[str, object]
    """Which ones are in force."""

    @property
    def case(self) -> Case:
        return self.attempt.case


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """Who moves which environment, over which records, and its views in a shared catalog."""

    control: Control
    log: TableLog
    environment: str
    views: ViewCatalog | None
    by: str
    rules: Callable[[Case], Mapping[str, object]] = lambda _: {}
    """Says which rules are in force for what moves."""


def release_case(
    mover: Mover,
    look: Callable[[], A],
    *,
    evidence: Callable[[Sealing[A]], Mapping[str, str]],
    back_to: str = "",
    at_once: bool = False,
) -> Released[A]:
    """Move the environment to what `look` finds, if the gate is open. A lost race is gated again, with fresh facts;
    so is what was judged by records or rules that others changed before all was ready to move. Where that comes to the
    same, the packets that were written stand.

    An interrupted promotion is finished or withdrawn first. `evidence` writes the packets of what moves and returns
    their digests: of the release by its id, of plans by theirs; nothing moves without the release's own. `back_to` is
    the release that a rollback goes to, `at_once` whether it takes losses into the bargain. Raises PromotionError when
    another promotion is under way, or the environment is too busy, or there is no packet.
    """
    control, environment = mover.control, mover.environment
    release, digests, pointers = new_release(), dict[str, str](), tuple[Pointer, ...]()
    sealed: tuple[object, ...] | None = None
    for _ in attempts(_ATTEMPTS):
        recover(control.environments, environment, mover.views)
        read = records_read(control)
        attempt = look()
        case = attempt.case
        verdict = gate(case)
        if not verdict.open and _moved_since(control.environments, case.environment):
            continue  # what it was judged by was read before that, and after it
        if not verdict.open or not verdict.moves:
            return Released(environment=case.environment, verdict=verdict, attempt=attempt, packets=digests)
        in_force = mover.rules(case)
        judged = verdict, dict(case.environment.pointers), dict(in_force)
        if sealed != judged:
            pointers = with_counts(mover.log, verdict.pointers)
            sealing = Sealing(
                release=release, attempt=attempt, pointers=pointers, removed=verdict.removed, rules=in_force
            )
            digests, sealed = dict(evidence(sealing)), judged
        if not digests.get(release):
            raise PromotionError(
                f"{environment} does not move", why=f"release {release} has no evidence packet", fix="report it, please"
            )
        note = ReleaseNote(
            by=mover.by,
            back_to=back_to,
            evidence=digests,
            compaction=case.purpose is Purpose.JOIN,
            rules=in_force,
            at_once=at_once,
            changed=verdict.changed,
            clock=case.facts.now,
            settling=case.purpose is Purpose.ROUTINE and bool(verdict.changed),
        )
        try:
            moved = promote(
                control.environments,
                case.environment,
                pointers,
                mover.views,
                release=release,
                remove=verdict.removed,
                note=note,
                check=partial(refuse_moved, control, read, case, in_force),
            )
        except LostRaceError:
            continue
        return Released(environment=moved, verdict=verdict, attempt=attempt, packets=digests)
    raise too_busy(f"{environment} is too busy", PromotionError)


def _moved_since(environments: Environments, seen: Environment) -> bool:
    return environments.read(seen.name).pointers != seen.pointers


_ATTEMPTS = 20
