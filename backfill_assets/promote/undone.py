"""What did rollbacks take away of plans that were promoted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.core.wording import first_few
from backfill_assets.promote.lifecycle import shows_target
from backfill_assets.state.control import Control
from backfill_assets.state.plans import PlanRecord, PlanStatus, PlanTarget
from backfill_assets.state.releases import PointerMove, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What rollbacks took away of a plan that was promoted."""

    models: Mapping[str, str]
    """Model → the rollback; not of models that are shown as the plan built them, or that other releases replaced."""
    whole: bool
    """Whether nothing of the plan is shown."""

    @property
    def release(self) -> str:
        """The rollback that took away all of it; "" where a part is shown, and where they were several."""
        found = {*self.models.values()}
        return next(iter(found)) if self.whole and len(found) == 1 else ""

    def __str__(self) -> str:
        """`undone by r9`; of a part `a, b undone by r9; c undone by r7`."""
        if self.release:
            return f"undone by {self.release}"
        by: dict[str, list[str]] = {}
        for model, release in self.models.items():
            by.setdefault(release, []).append(model)
        return "; ".join(f"{first_few(models)} undone by {release}" for release, models in by.items())


def rolled_back_plans(control: Control, records: Sequence[PlanRecord]) -> dict[str, Undone]:
    """Plan → what rollbacks took away of what it had promoted; not of plans of which all is shown, or came back."""
    found: dict[str, Undone] = {}
    done = [r for r in records if r.status is PlanStatus.PROMOTED]
    for name in {r.environment for r in done}:
        shown = control.environments.read(name)
        releases = control.releases.all(name)
        places = {r.id: r.revision for r in releases}
        promoted = {plan: r.revision for r in releases if not r.back_to for plan in r.evidence}
        for record in (r for r in done if r.environment == name):
            gone = [t for t in record.targets if not shows_target(shown, t)]
            since = promoted.get(record.id)
            back = [r for r in releases if r.back_to and (since is None or _before(r, since, places))]
            by = {t.model: r.id for t in gone for r in back if _takes_away(r, t)}  # by the newest of them
            if by:
                found[record.id] = Undone(models=by, whole=len(gone) == len(record.targets))
    return found


def _before(back: Release, since: int, places: Mapping[str, int]) -> bool:
    """Whether a rollback goes from a state with, or after, that release back to one before it."""
    return places.get(back.back_to, -1) < since < back.revision


def _takes_away(release: Release, target: PlanTarget) -> bool:
    return any(m.model == target.model and _leaves(m, target.version) for m in release.moves)


def _leaves(move: PointerMove, version: str) -> bool:
    before, after = (
        {logic for s in (p.segments if p else ()) for logic in (s.version, s.logic)} for p in (move.before, move.after)
    )
    return version in before - after
