"""Use case: try the texts that count as unchanged on data, before what they compute may be promoted."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.app.context import Context
from backfill_assets.build.text_check import compare_texts
from backfill_assets.core.model import Project
from backfill_assets.plan.changed_texts import remedy
from backfill_assets.plan.stages import Plan
from backfill_assets.state.text_checks import TextCheck


def check_texts(context: Context, plan: Plan) -> tuple[TextCheck, ...]:
    """Compare what the plan names, a few intervals each. Opens a session only when there is anything to compare.

    Raises BuildError, StateError, SettingsError.
    """
    if not plan.texts:
        return ()
    bench = context.bench(plan.sources)
    with bench.beating():
        return compare_texts(bench, plan.texts)


def problems(checks: Sequence[TextCheck], project: Project) -> list[str]:
    """What is not equal, a paragraph a model, and what to do."""
    return [
        f"{c.model}: the loaded text differs from version {c.version}: {c.error or c.differ}\n"
        f"  fix: {remedy(project, c.model)}"
        for c in checks
        if not c.equal
    ]
