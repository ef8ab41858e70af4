"""What does a reviewer of a pull request want to know first? The plan in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from backfill_assets.contracts.impact import Impact
from backfill_assets.core.escaping import markdown
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount, first_few
from backfill_assets.plan.category import Category
from backfill_assets.plan.estimate import PlanEstimate
from backfill_assets.plan.estimate_text import duration, money
from backfill_assets.plan.stages import Approve, Build, Plan


def brief(
    plan: Plan, project: Project, estimate: PlanEstimate, impacts: Sequence[Impact], obstacles: int = 0
) -> list[str]:
    """Lines of a Markdown list: how many models change and how, what is computed and what that takes, whom it affects,
    who is asked, and that `obstacles` close the gate whatever is built."""
    kinds = Counter(change.category for change in plan.changes.values())
    changed = [f"{count} {kind.said}" for kind in Category if kind is not Category.UNCHANGED and (count := kinds[kind])]
    total = sum(count for kind, count in kinds.items() if kind is not Category.UNCHANGED)
    how = f"{total} of {len(project.models)} models ({', '.join(changed)})" if total else "no model"
    lines = [f"**Changes**: {how}"]
    builds = [stage for stage in plan.work if isinstance(stage, Build)]
    if builds:
        what = first_few(
            f"{amount(stage.count, project.models[stage.model].cadence)} of {stage.model}" for stage in builds
        )
        lines.append(f"**Builds**: {markdown(what)}{_takes(estimate)}")
    else:
        lines.append("**Builds**: nothing")
    if any(impact.level for impact in impacts):
        worst = sorted((i for i in impacts if i.level), key=lambda i: -i.level.rank if i.level else 0)
        said = first_few(f"{i.consumer.name} ({i.level.said})" for i in worst if i.level)
        lines.append(f"**Affects**: {markdown(said)}")
    owners = [owned for stage in plan.stages if isinstance(stage, Approve) for owned in stage.owners]
    if owners:
        lines.append(f"**Asks**: {markdown(first_few(owned.owner or 'somebody else' for owned in owners))}")
    if obstacles:
        lines.append(
            f"**In the way**: {obstacles} thing{'s' * (obstacles != 1)} to be mended before a promotion, see below"
        )
    return [f"- {line}" for line in lines]


def _takes(estimate: PlanEstimate) -> str:
    takes = estimate.total
    said = [f"≈ {duration(takes.seconds.low, takes.seconds.high)}"] if takes.seconds else []
    if estimate.price and takes.cost:
        said.append(money(estimate.price.currency, takes.cost.low, takes.cost.high))
    return f" ({', '.join(said)})" if said else ""
