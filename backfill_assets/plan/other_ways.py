"""How else could a changed model's history be changed, what would prove it, and how is it asked for?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backfill_assets.core.model import Model
from backfill_assets.core.reach import reach
from backfill_assets.plan.category import Category
from backfill_assets.plan.commands import apply_command, with_why
from backfill_assets.plan.stages import Plan
from backfill_assets.plan.strategy import PROOF, Strategy, alternatives


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWay:
    """A strategy that fits a model as well."""

    model: str
    strategy: Strategy
    proof: str
    """What has to hold of the model afterwards."""
    command: str
    """As a shell takes it."""

    @property
    def words(self) -> str:
        """A sentence, without the command."""
        return f"{self.model} by {self.strategy}: {self.proof}."


def other_ways(plan: Plan, models: Mapping[str, Model]) -> list[OtherWay]:
    """What may be asked for instead, of the models with a history that this plan changes; not of those that follow one
    of them, and not where somebody chose. In dependency order."""
    changed = {
        name
        for name, way in plan.strategies.items()
        if way is not Strategy.DUAL_RUN and (change := plan.changes.get(name)) and change.category is not Category.NEW
    }
    asked = dict(plan.request.strategies)
    mine = {*changed, *asked}

    def read(name: str) -> list[str]:
        return [u.name for u in models[name].upstreams if u.name in models]

    first = [n for n in plan.models if n in changed - asked.keys() and mine.isdisjoint(reach([n], read))]
    return [
        OtherWay(
            model=name,
            strategy=way,
            proof=PROOF[way],
            command=with_why(
                apply_command(replace(plan.request, strategies=(*plan.request.strategies, (name, way.value)))),
                plan.request,
            ),
        )
        for name in first
        for way in alternatives(plan.strategies[name])
    ]
