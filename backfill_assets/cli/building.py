"""Commands that say what is missing, and build it beside what is shown."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from backfill_assets.cli.base import (
    CLOSED,
    INCOMPLETE,
    AsJson,
    app,
    carry_out,
    open_place,
    promote_and_tell,
)
from backfill_assets.cli.request import Why, explained, with_request
from backfill_assets.cli.terminal import echo, print_json
from backfill_assets.core.errors import BackfillError, StateError
from backfill_assets.core.inert import markdown
from backfill_assets.core.intervals import ranges_json
from backfill_assets.plan.estimate import comparison, saving
from backfill_assets.plan.stages import Request

if TYPE_CHECKING:
    from backfill_assets.app.context import Context
    from backfill_assets.watch.notice import Notice


@app.command()
@with_request
def plan(
    request: Request,
    why: Why = None,
    as_json: AsJson = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
) -> None:
    """Say what changed and what is missing.

    What kind of change each model is and which columns carry it on; what would be built, in which order and how long it
    takes; what could move then, and whom that affects. Changes nothing, needs no Spark.
    """
    from backfill_assets.app.estimate import estimate_plan
    from backfill_assets.app.faults import find_faults
    from backfill_assets.app.gate import judge_plan, obstacles_ahead
    from backfill_assets.app.plan import claim_of, find_uncovered, plan_request, worded
    from backfill_assets.app.preflight import find_gaps, plan_impacts
    from backfill_assets.cli.faults import print_faults
    from backfill_assets.cli.impact import impact_markdown, print_impacts
    from backfill_assets.cli.plans import claim_json, print_claim
    from backfill_assets.cli.preflight import hint
    from backfill_assets.cli.render import obstacles_json, plan_markdown, print_plan, print_uncovered, uncovered_json
    from backfill_assets.cli.rules import print_notes

    request = explained(request, why)
    place = open_place()
    made = plan_request(place, request)
    claim = claim_of(place, made)
    made = worded(place, made, claim)
    estimate, gaps = estimate_plan(place, made), find_uncovered(place, made)
    impacts, wrong, ahead = plan_impacts(place, made), find_faults(place), obstacles_ahead(place, made)
    if as_json:
        more = {
            "estimate": estimate.to_json(),
            "open_plans": claim_json(claim),
            "uncovered": uncovered_json(gaps),
            "impact": [i.to_json() for i in impacts],
            "rules": list(place.rules().notes),
            "faults": [f.to_json() for f in wrong],
            "ahead": obstacles_json(ahead),
        }
        print_json(made.to_json() | more)
    elif as_markdown:
        notes = "".join(f"\n\n**{markdown(note)}.**" for note in place.rules().notes)
        notes += "".join(f"\n\n**{markdown(str(fault))}**" for fault in wrong)
        required = place.rules().rules.approvals.required
        blocking = tuple(g for g in find_gaps(place, made) if g.blocking) if required else ()
        echo(
            plan_markdown(made, place.project, estimate, gaps=blocking, ahead=ahead)
            + impact_markdown(made, impacts)
            + notes
        )
    else:
        idle = not (made.work or made.invalidations or made.texts or made.blocked)
        verdict = None
        with suppress(StateError):  # what cannot be read is the gate's to say, when somebody promotes
            verdict = judge_plan(place, request, place.facts(), made) if idle and made.stages else None
        stored = claim.continues.id if claim.continues else ""
        lacks = find_gaps(place, made)
        late = () if made.stages or made.blocked else late_notices(place)
        blocking = tuple(g for g in lacks if g.blocking) if place.rules().rules.approvals.required else ()
        print_plan(made, place.project, estimate, verdict=verdict, stored=stored, gaps=blocking, ahead=ahead, late=late)
        print_uncovered(gaps)
        print_impacts(made, impacts)
        if asked := "" if blocking else hint(lacks):
            echo(asked)
        print_claim(claim)
        print_faults(wrong)
        print_notes(place)


def late_notices(place: Context) -> tuple[Notice, ...]:
    """What is shown and was built before its sources changed; nothing where that cannot be told."""
    from backfill_assets.app.watch import find_late

    with suppress(BackfillError):  # `watch` says it
        return find_late(place)
    return ()


@app.command()
@with_request
def preflight(
    request: Request,
    as_json: AsJson = False,
) -> None:
    """Say what is known of a plan before it begins.

    For each model: target, window, key, sources and what they cover, late rows, timestamps, rules, acceptance,
    downstream, owners, way back; then what is missing. Code 4 when something of it blocks. Needs no Spark.
    """
    from backfill_assets.app.plan import plan_request
    from backfill_assets.app.preflight import preflight_grounds
    from backfill_assets.cli.preflight import print_preflight
    from backfill_assets.contracts.inventory import inventory
    from backfill_assets.contracts.preflight import preflight as look

    place = open_place()
    made = plan_request(place, request)
    grounds = preflight_grounds(place, made, extents=True)
    sheets, findings = inventory(place.project, made, grounds), look(place.project, made, grounds)
    if as_json:
        found = {"inventory": [s.to_json() for s in sheets], "findings": [f.to_json() for f in findings]}
        print_json({"id": made.id, **found})
    else:
        print_preflight(made, sheets, findings)
    if any(f.blocking for f in findings):
        raise typer.Exit(CLOSED)


@app.command()
def lineage(
    target: Annotated[str, typer.Argument(metavar="MODEL[.COLUMN]", help="A model, or one of its columns.")],
    as_json: AsJson = False,
) -> None:
    """Show what a column is made of, and who reads it.

    Up to the sources and down to the last model. Needs no Spark.
    """
    from backfill_assets.cli.lineage import lineage_json, print_lineage

    place = open_place()
    pointers = place.control.environments.read(place.environment).pointers
    shown = {name: [column for column, _ in pointer.columns] for name, pointer in pointers.items()}
    if as_json:
        print_json(lineage_json(place.project, target, shown))
    else:
        print_lineage(place.project, target, shown)


@app.command()
@with_request
def apply(
    request: Request,
    why: Why = None,
    promote_after: Annotated[
        bool, typer.Option("--promote", help="Promote afterwards if everything is green.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Build N intervals of each model, then tell what the rest takes.", min=1, max=100_000
        ),
    ] = None,
    empty: Annotated[
        bool, typer.Option("--empty", help="Record what is missing as complete, without computing it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build and audit what is missing, beside prod.

    Run it again at any time, also after a crash: it does only what is still missing. Prod shows what it showed.
    """
    from backfill_assets.app.candidate import open_plan, show_candidate
    from backfill_assets.app.check_texts import check_texts
    from backfill_assets.app.diff import find_drift
    from backfill_assets.app.estimate import estimate_plan, measure_run
    from backfill_assets.app.gate import obstacles_ahead
    from backfill_assets.app.plan import plan_request
    from backfill_assets.app.prove import prove_plan
    from backfill_assets.cli.plans import print_candidate, print_opened
    from backfill_assets.cli.proofs import print_proofs
    from backfill_assets.cli.render import print_ahead, print_frozen

    request = explained(request, why)
    place = open_place()
    if empty:
        from backfill_assets.cli.by_hand import apply_empty

        apply_empty(place, request, as_json=as_json)
        return
    made = plan_request(place, request)
    opened = open_plan(place, made)
    if opened and not as_json:
        print_opened(opened)
    if not as_json:
        print_frozen(made, place.project)
        print_ahead(made, obstacles_ahead(place, made))
    if sample is not None:
        from backfill_assets.plan.sample import sampled

        made = sampled(made, place.project, sample)
    guess, began = estimate_plan(place, made), datetime.now(UTC)
    outcomes, run = carry_out(place, made, quiet=as_json)
    took = measure_run(place, made, run, began)
    candidate = show_candidate(place, opened.plan.id) if opened else None
    complete = all(o.ok for o in outcomes.values()) and not made.blocked
    drift = find_drift(place, made) if opened and complete and sample is None else []
    texts = check_texts(place, made) if complete else ()
    proofs = prove_plan(place, opened.plan.id, drift) if opened and complete and sample is None else ()
    if as_json:
        from backfill_assets.cli.render import outcomes_json

        print_json(
            {
                "plan": made.to_json(),
                "complete": complete,
                "models": outcomes_json(outcomes),
                "estimate": guess.to_json(),
                "actual": took.to_json(),
                "candidate": candidate.name if candidate else None,
                "drift": [
                    {
                        "upstream": d.kept.upstream,
                        "readers": d.kept.readers,
                        "columns": d.kept.columns,
                        "by_word": d.kept.word is not None,
                        "intervals": ranges_json(d.intervals),
                    }
                    for d in drift
                ],
                "texts": [
                    {
                        "model": c.model,
                        "version": c.version,
                        "intervals": ranges_json(c.intervals),
                        "differ": ranges_json(c.differ),
                        "error": c.error,
                    }
                    for c in texts
                ],
                "findings": [{"name": f.name, "model": f.model, "text": f.text} for p in proofs for f in p.findings],
            }
        )
    else:
        from backfill_assets.cli.render import print_next, print_outcomes
        from backfill_assets.cli.texts import print_text_checks

        print_outcomes(made, outcomes, place.project, opened.plan.id if opened else "")
        print_text_checks(texts, place.project)
        if outcomes:
            echo(comparison(guess, took))
            if complete and sample is None and (less := saving(guess, took)):
                echo(less)
        for found in drift:
            echo(found)
        print_proofs(proofs)
        if opened and not promote_after:
            print_candidate(opened, candidate)
        if complete and not promote_after:
            print_next(made, opened.plan.id if opened else "")
        if sample is not None and complete:
            from backfill_assets.cli.render import print_plan

            rest = plan_request(place, request)
            print_plan(rest, place.project, estimate_plan(place, rest))
    if not complete or not all(check.equal for check in texts):
        raise typer.Exit(INCOMPLETE)
    if promote_after:
        promote_and_tell(place, request, plan=opened.plan.id if opened and made.patches else "", as_json=as_json)


@app.command()
def withdraw(
    days: Annotated[list[str], typer.Argument(metavar="MODEL:DAY..DAY", help="Intervals of the code's version.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the ledger.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make intervals missing again.

    Those that were declared empty, or built and not published, and what was built from them: the next apply builds
    them. Needs no Spark.
    """
    from backfill_assets.app import by_hand
    from backfill_assets.cli.by_hand import print_withdrawn, withdrawn_json
    from backfill_assets.plan.asked import days_of

    place = open_place()
    done = by_hand.withdraw(place, [days_of(text) for text in days], reason=reason)
    if as_json:
        print_json(withdrawn_json(done))
    else:
        print_withdrawn(done, place.project)


@app.command()
def routine(as_json: AsJson = False) -> None:
    """Extend what prod shows by the intervals that are over, and publish them.

    By the published versions, whatever code is loaded. A model with a red audit holds back what reads it, nothing else.
    """
    from backfill_assets.app.plan import plan_request
    from backfill_assets.app.routine import promote_green, published_context
    from backfill_assets.cli.render import outcomes_json, print_outcomes, print_promotion, promotion_json
    from backfill_assets.cli.rules import print_notes

    place = published_context(open_place())
    before = place.control.environments.read(place.environment)
    made = plan_request(place, resume=False)
    outcomes, _ = carry_out(place, made, quiet=as_json)
    after, verdict, held = promote_green(place)
    if as_json:
        print_json(
            {
                "plan": made.to_json(),
                "models": outcomes_json(outcomes),
                "promotion": promotion_json(before, after, verdict),
                "held_back": [str(obstacle) for obstacle in held],
            }
        )
    else:
        print_outcomes(made, outcomes, place.project)
        print_promotion(before, after, verdict)
        for obstacle in held:
            echo(f"held back: {obstacle}")
        print_notes(place)
    if held or made.blocked:
        raise typer.Exit(INCOMPLETE)
