"""How does it look what `backfill apply` did: what was built, how long it took, what was found, and what comes next?"""

from __future__ import annotations

from backfill_assets.app.apply import Built, Checked, left_of_plan
from backfill_assets.app.context import Context
from backfill_assets.app.estimate import estimate_plan
from backfill_assets.app.plan import plan_request
from backfill_assets.cli.outcomes import outcomes_json, print_in_the_way, print_next, print_outcomes
from backfill_assets.cli.plan_text import print_plan
from backfill_assets.cli.plans import print_candidate
from backfill_assets.cli.promotion import obstacles_json
from backfill_assets.cli.proofs import print_proofs
from backfill_assets.cli.terminal import echo
from backfill_assets.cli.texts import print_text_checks
from backfill_assets.core.codec import to_plain
from backfill_assets.plan.estimate_text import comparison, duration, saving


def print_applied(context: Context, built: Built, checked: Checked, *, last: bool) -> None:
    """For a person; `last`: nothing comes after it in this command, so that what may come next is said."""
    started, outcomes = built.started, built.carried.outcomes
    print_outcomes(started.plan, outcomes, context.project, started.stored)
    if built.held:
        goes_on = "; the same command goes on from there" * built.goes_on
        echo(f"stopped before all batches had begun: {built.held}{goes_on}")
    print_text_checks(checked.texts, context.project)
    if outcomes:
        echo(comparison(started.estimate, built.actual))
        if built.all_green and not started.sample and (less := saving(started.estimate, built.actual)):
            echo(less)
    for found in checked.proved.drift:
        echo(found)
    print_proofs(checked.proved.proofs)
    if checked.proved.proofs:
        took = duration(checked.seconds, checked.seconds)
        echo(f"Comparing with what is shown took {took}; estimates are of building only.")
    if started.opened and last:
        print_candidate(started.opened, built.candidate)
    if built.all_green and (rest := left_of_plan(context, started)):
        echo(f"More of the plan is missing. Next: {rest}")
    elif built.all_green and (last or started.plan.blocked) and checked.proved.in_the_way:
        print_in_the_way(started.plan.environment, checked.proved.in_the_way)
    elif built.all_green and last:
        print_next(started.plan, started.stored, lacking=bool(started.gaps))
    if started.sample and built.complete:
        rest = plan_request(context, started.whole.request, facts=built.facts)
        print_plan(rest, context.project, estimate_plan(context, rest))


def applied_json(built: Built, checked: Checked) -> dict[str, object]:
    """What an apply did as plain values; `maintenance` where there are windows, `held` where not all of it began."""
    return {
        **({"maintenance": started.to_json()} if (started := built.started.maintenance) else {}),
        **({"held": built.held} if built.held else {}),
        "plan": built.started.plan.to_json(),
        "amendment": to_plain(built.started.amendment),
        "complete": built.complete,
        "compared_seconds": round(checked.seconds, 3),
        "models": outcomes_json(built.carried.outcomes),
        "estimate": built.started.estimate.to_json(),
        "actual": built.actual.to_json(),
        "candidate": built.candidate.name if built.candidate else None,
        "drift": [
            {
                "upstream": d.kept.upstream,
                "readers": d.kept.readers,
                "columns": d.kept.columns,
                "by_word": d.kept.word is not None,
                "intervals": d.intervals.to_plain(),
            }
            for d in checked.proved.drift
        ],
        "texts": [
            {
                "model": c.model,
                "version": c.version,
                "intervals": c.intervals.to_plain(),
                "differ": c.differ.to_plain(),
                "error": c.error,
            }
            for c in checked.texts
        ],
        "in_the_way": obstacles_json(checked.proved.in_the_way),
        "findings": [
            {"name": f.name, "model": f.model, "text": f.text} for p in checked.proved.proofs for f in p.findings
        ],
    }
