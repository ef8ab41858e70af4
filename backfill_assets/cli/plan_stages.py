"""How do the stages of a plan look on a screen? A line for each thing to do, and for what is left out."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import grid, styled
from backfill_assets.core.model import Project
from backfill_assets.core.wording import amount, amount_of
from backfill_assets.plan.stages import Approve, AuditStage, Build, Invalidate, Plan, Promote


def stage_lines(plan: Plan, project: Project) -> Table:
    """A line for each thing to do, each model that is kept, and each that waits."""
    table = grid(0, 1)
    for stage in plan.stages:
        match stage:
            case Build():
                table.add_row(
                    Text("build", style="green"),
                    Text(stage.model, style="bold"),
                    amount_of(stage.count, project.models[stage.model].calendar),
                    short(stage.intervals),
                    _batches(len(stage.batches), stage.concurrency),
                    stage.reason + _through(stage, plan),
                )
            case AuditStage():
                table.add_row(
                    Text("audit", style="cyan"),
                    Text(stage.model, style="bold"),
                    amount_of(stage.count, project.models[stage.model].calendar),
                    short(stage.intervals),
                    "",
                    "built, but not audited with the present audits",
                )
            case Invalidate():
                table.add_row(
                    Text("invalidate", style="yellow"),
                    Text(stage.model, style="bold"),
                    _units(stage, project),
                    short(stage.intervals),
                    stage.version,
                    stage.reason,
                )
            case Approve() | Promote():
                continue
    for names, reason in _kept(plan):
        table.add_row(Text("keep", style="dim"), Text(names, style="dim"), "", "", "", Text(reason, style="dim"))
    for stuck in plan.blocked:
        calendar = project.models[stuck.model].calendar
        table.add_row(
            Text("wait", style="yellow"),
            Text(stuck.model, style="bold"),
            amount_of(stuck.count, calendar),
            short(stuck.intervals),
            "",
            f"needs {stuck.upstream} {short(stuck.needs)}",
        )
    return table


def _kept(plan: Plan) -> list[tuple[str, str]]:
    """The models that stay as they are, and why: a line each, or, where these are many, a line for each reason."""
    if len(plan.kept) <= _MANY_KEPT:
        return [*plan.kept.items()]
    by_reason: dict[str, list[str]] = {}
    for name, reason in plan.kept.items():
        by_reason.setdefault(reason, []).append(name)
    return [
        (names[0] if len(names) == 1 else f"{len(names)} models", reason) for reason, names in sorted(by_reason.items())
    ]


_MANY_KEPT = 30


def cut_off_lines(plan: Plan, project: Project) -> list[Text]:
    """What is left out for want of rows to read, of the models that read sources; the others follow from these."""
    found: list[Text] = []
    direct = [cut for cut in plan.cut_off if cut.reads[0] in project.sources]
    for cut in direct:
        rest = amount(cut.count, project.models[cut.model].cadence)
        have, until = "has no rows" if len(cut.reads) == 1 else "have no rows", "until there are some"
        if ready := project.sources[cut.reads[0]].ready:
            have, until = ("is not ready", ready.awaited) if len(cut.reads) == 1 else ("are not ready", "until then")
        found.append(
            styled("[yellow]{} {}[/] for {} of {}, ", ", ".join(cut.reads), have, rest, cut.model)
            + Text(f"{short(cut.intervals)}: not expected {until}")
        )
    if any(not project.sources[cut.reads[0]].ready for cut in direct):
        found.append(
            styled("[dim]Where a source may rightly have none, write `cut_off: false` for it in sources.yml.[/]")
        )
    return found


def _through(stage: Build, plan: Plan) -> str:
    return f"; {short(stage.open)} through {plan.now:%Y-%m-%d %H:%M} UTC only" if stage.open else ""


def _units(stage: Invalidate, project: Project) -> str:
    model = project.models.get(stage.model)
    return amount(stage.count, model.cadence) if model else f"{stage.count} intervals"


def _batches(count: int, concurrency: int) -> str:
    if count == 1:
        return "1 batch"
    at_once = min(count, concurrency)
    return f"{count} batches, {at_once} at a time" if at_once > 1 else f"{count} batches, one by one"
