"""How do stored plans look: who else is at work, which plans there are, and what is left of an abandoned one?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from backfill_assets.cli.estimates import BYTES, quantity
from backfill_assets.cli.terminal import grid, out, styled
from backfill_assets.core.escaping import one_line
from backfill_assets.plan.amendment import Amendment
from backfill_assets.plan.leases import Claim
from backfill_assets.promote.lifecycle import Abandoned, Opened, collision_text, parallel_plan_text, plan_text
from backfill_assets.promote.undone import Undone
from backfill_assets.state.environment import Environment, schema_name
from backfill_assets.state.plans import PlanRecord, PlanStatus

STYLES: Mapping[PlanStatus, str] = {PlanStatus.OPEN: "yellow", PlanStatus.APPLIED: "cyan", PlanStatus.PROMOTED: "green"}


def print_claim(claim: Claim) -> None:
    """How a plan stands to those that are open; nothing when it stands alone."""
    console = out()
    for collision in claim.collisions:
        console.print(Text(collision_text(collision), style="red"))
    if claim.collisions:
        ends = ", ".join(f"backfill abandon {c.plan.id}" for c in claim.collisions)
        console.print(f"It cannot be applied before that is promoted, or abandoned: {ends}")
    for old in claim.supersedes:
        console.print(f"Applying it replaces your {plan_text(old)}")
    for other in claim.beside:
        console.print(Text(parallel_plan_text(other), style="yellow"))
    if claim.continues:
        console.print(f"This is what is left of {plan_text(claim.continues)}")


def claim_json(claim: Claim) -> dict[str, object]:
    """How a plan stands to open ones as plain values."""
    return {
        "continues": claim.continues and claim.continues.id,
        "supersedes": [r.id for r in claim.supersedes],
        "beside": [{"id": b.plan.id, "by": b.plan.by, "request": b.request.to_plain()} for b in claim.beside],
        "collisions": [
            {"id": c.plan.id, "by": c.plan.by, "created": c.plan.created.isoformat(), "models": list(c.models)}
            for c in claim.collisions
        ],
    }


def print_opened(opened: Opened) -> None:
    """Which older plans ended because this one began, and which are open beside it."""
    for other in opened.beside:
        out().print(Text(parallel_plan_text(other), style="yellow"))
    for old in opened.superseded:
        out().print(f"Replaced your {plan_text(old)}; its candidate environment is gone")


def print_amendment(amendment: Amendment | None) -> None:
    """What became of the world since a stored plan was opened."""
    for sentence in amendment.words if amendment else ():
        out().print(Text(one_line(sentence), style="yellow"))


def print_candidate(opened: Opened, shown: Environment | None) -> None:
    """Where the new rows can be looked at."""
    if shown is None:
        out().print(styled("[yellow]plan {} was ended meanwhile:[/] it has no candidate environment", opened.plan.id))
    elif built := [
        m for m, v in opened.plan.versions.items() if m in shown.pointers and shown.pointers[m].version == v
    ]:
        query = f"SELECT * FROM {schema_name(shown.name)}.{built[0]}"
        out().print(
            styled('Look at it beside {}: [bold]backfill sql -e {} "{}"[/]', opened.plan.environment, shown.name, query)
        )


def plan_json(record: PlanRecord) -> dict[str, object]:
    """A stored plan as plain values."""
    return {
        "id": record.id,
        "environment": record.environment,
        "candidate": record.candidate if record.live else None,
        "by": record.by,
        "created": record.created.isoformat(),
        "status": record.status.value,
        "since": record.since.isoformat(),
        "models": [{"model": m, "version": v} for m, v in record.versions.items()],
    }


def undone_json(undone: Undone | None) -> dict[str, object]:
    """What rollbacks took away of a plan as plain values: the one that took all of it, and each by its model."""
    return {
        "undone_by": undone.release or None if undone else None,
        "undone_models": dict(undone.models) if undone else {},
    }


def print_plans(records: Sequence[PlanRecord], undone: Mapping[str, Undone]) -> None:
    """A line a plan, newest first; `undone` says which rollbacks took a plan's rows away."""
    console = out()
    if not records:
        console.print(styled("No plan was applied yet. Next: [bold]backfill plan[/]"))
        return
    table = grid(0)
    for r in reversed(records):
        table.add_row(
            Text(r.id, style="bold"),
            r.by,
            f"{r.created:%Y-%m-%d %H:%M} UTC",
            Text(f"promoted, {undone[r.id]}", style="yellow")
            if r.id in undone
            else Text(r.status.value, style=STYLES.get(r.status, "dim")),
            ", ".join(r.versions),
        )
    console.print(table)


def abandoned_json(done: Abandoned) -> dict[str, object]:
    """An abandoned plan as plain values."""
    return plan_json(done.plan) | {
        "already": done.already,
        "freed": [{"model": f.model, "version": f.version, "path": f.path, "bytes": f.bytes} for f in done.freed],
    }


def print_abandoned(done: Abandoned) -> None:
    """What is left of a plan: the record, and tables for the janitor."""
    console, plan = out(), done.plan
    console.print(
        f"Plan {plan.id} was abandoned already, at {plan.since:%Y-%m-%d %H:%M} UTC."
        if done.already
        else f"Abandoned plan {plan.id}. {plan.environment} was not touched; {plan.candidate} is gone."
    )
    if not done.freed:
        console.print("Nothing is left for the janitor: what it built is needed elsewhere, or was not begun.")
        return
    console.print("The janitor will free")
    for freed in done.freed:
        console.print(Text(f"  {freed.model} {freed.version}  {quantity(freed.bytes, BYTES)}  {freed.path}"))
