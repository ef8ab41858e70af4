"""How does what an apply did look? On a screen, and as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from backfill_assets.build.outcome import Outcome
from backfill_assets.cli.plan_stages import cut_off_lines
from backfill_assets.cli.plan_words import ahead_lines
from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, out, styled
from backfill_assets.core.codec import to_plain
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount
from backfill_assets.plan.commands import apply_command, awaited_command, promote_command
from backfill_assets.plan.stage_reasons import noted_of_complete
from backfill_assets.plan.stages import Plan, Promote
from backfill_assets.promote.obstacle import Obstacle


def _rows(outcome: Outcome) -> str:
    """What this run wrote: that of the days which were complete before it is not counted again."""
    return f"{outcome.rows:,} rows{' by this run' if outcome.green - outcome.built else ''}"


def print_outcomes(plan: Plan, outcomes: Mapping[str, Outcome], project: Project, opened: str = "") -> None:
    """What an apply did, what failed, and how to mend it; `opened` is the id of the stored plan that it worked on."""
    console = out()
    for stage in plan.invalidations:
        console.print(f"Invalidated {stage.model} {short(stage.intervals)} of version {stage.version}")
    if not plan.work:
        console.print(f"Nothing to build: plan {opened or plan.id} has no missing interval.")
        for line in cut_off_lines(plan, project):
            console.print(line)
        for said in noted_of_complete(plan.kept):
            console.print(Text(said))
    table = grid(0, 1)
    for name, outcome in outcomes.items():
        cadence = project.models[name].cadence
        done, asked = outcome.green.count(cadence), outcome.requested.count(cadence)
        table.add_row(
            Text("done" if outcome.ok else "incomplete", style="green" if outcome.ok else "red"),
            Text(name, style="bold"),
            f"{done} of {amount(asked, cadence)} green",
            _rows(outcome),
            f"{outcome.wall:.1f} s",
        )
    if outcomes:
        console.print(table)
    for outcome in outcomes.values():
        if outcome.partial:
            what = f"{outcome.model} {short(outcome.partial)} is partial"
            console.print(f"{what}: the interval has not ended yet, and is built again once it has.")
        if outcome.rowless:
            cadence = project.models[outcome.model].cadence
            none = f"{amount(outcome.rowless.count(cadence), cadence)}: {short(outcome.rowless)}"
            console.print(
                styled(
                    "[yellow]{} has no rows[/] on {}. If it should have some, add the audit [bold]completeness[/]; "
                    "it passed without one",
                    outcome.model,
                    none,
                )
            )
        if outcome.doubt:
            console.print(Text(outcome.doubt, style="yellow"))
        if outcome.changes is not None:
            console.print(
                styled(
                    "[dim]{} merged: {}; {} bytes rewritten[/]", outcome.model, outcome.changes, f"{outcome.bytes:,}"
                )
            )
        _print_trouble(console, outcome)
    for stuck in plan.blocked:
        console.print(styled("[yellow]{} waits[/] for {} {}", stuck.model, stuck.upstream, short(stuck.needs)))
    green = all(o.ok for o in outcomes.values())
    if green and (more := awaited_command(plan, project.models)):
        console.print(styled("Next, with what was not selected and is waited for: [bold]{}[/]", more))
    elif plan.blocked or not green:
        again = apply_command(plan.request)
        console.print(styled("Intervals that passed are kept. Once the cause is mended: [bold]{}[/]", again))


def print_next(plan: Plan, opened: str, *, lacking: bool = False) -> None:
    """What comes after an apply that is complete; `opened` is the id of the stored plan that it worked on, `lacking`
    whether preflight misses something of it, which was told."""
    if any(isinstance(stage, Promote) for stage in plan.stages):
        steps = ["mend what backfill preflight names"] if lacking else []
        steps += [f"backfill approve {opened}"] if opened and plan.owners else []
        steps.append(f"backfill promote {opened}".strip() if plan.patches else promote_command(plan.request))
        out().print(
            styled("{} is unchanged. Next: ", plan.environment)
            + Text(", then ").join(Text(step, style="bold") for step in steps)
        )


def print_in_the_way(environment: str, obstacles: Sequence[Obstacle]) -> None:
    """Why what an apply built can be neither approved nor promoted as it is."""
    lines = [f"{environment} cannot show what is built, so it was not compared:", *ahead_lines(obstacles)]
    out().print(Text("\n".join(lines), style="yellow"))


def outcomes_json(outcomes: Mapping[str, Outcome]) -> dict[str, object]:
    """Outcomes as plain values; `seconds` are summed over batches by phase."""
    return {
        name: {
            "version": o.version,
            "complete": o.ok,
            "requested": o.requested.to_plain(),
            "green": o.green.to_plain(),
            "partial": o.partial.to_plain(),
            "built": o.built.to_plain(),
            "red": o.red.to_plain(),
            "rowless": o.rowless.to_plain(),
            "unsteady": list(o.unsteady),
            "rows": o.rows,
            "bytes": o.bytes,
            "changes": to_plain(o.changes),
            "wall_seconds": round(o.wall, 3),
            "seconds": {phase: round(s, 3) for phase, s in o.seconds.items()},
            "failures": [{"interval": str(f.interval), "error": f.error} for f in o.failures],
            "waits": [
                {"intervals": w.intervals.to_plain(), "upstream": w.upstream, "needs": w.needs.to_plain()}
                for w in o.waits
            ],
            "failed_audits": [
                {
                    "audit": r.check,
                    "interval": str(r.interval),
                    "blocking": r.blocking,
                    "observed": r.observed,
                    "expected": r.expected,
                    "sample": list(r.sample),
                }
                for r in o.results
                if not r.passed
            ],
        }
        for name, o in outcomes.items()
    }


_AT = "\0"
"""Where an error names its interval."""


def _print_trouble(console: Console, outcome: Outcome) -> None:
    alike: dict[str, list[Interval]] = {}
    for failure in outcome.failures:  # what several batches say of their intervals is said once, of all of these
        alike.setdefault(failure.error.replace(str(failure.interval), _AT, 1), []).append(failure.interval)
    for error, intervals in alike.items():
        console.print(Text(error.replace(_AT, short(Ranges.of(intervals))), style="red"))
    failed = [r for r in outcome.results if not r.passed]
    for check in sorted({r.check for r in failed}):
        of = sorted((r for r in failed if r.check == check), key=lambda r: r.interval)
        first = of[0]
        where = short(Ranges.of(r.interval for r in of))
        mark = Text("audit failed", style="red") if first.blocking else Text("warning", style="yellow")
        one = f"the first of them, {first.interval}: " if len(of) > 1 else ""
        detail = f"{one}{first.observed}; expected {first.expected}"
        console.print(styled("{} {}.{} on {}: {}", mark, outcome.model, check, where, detail))
        if first.sample:
            console.print(Text(f"  e.g. {'; '.join(first.sample)}", style="dim"))
    for waiting in outcome.waits:
        lacks = f"{waiting.upstream} {short(waiting.needs)}"
        console.print(styled("[yellow]{} waits[/] on {} for {}", outcome.model, short(waiting.intervals), lacks))
