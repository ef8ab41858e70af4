"""How do consumers look: who they are and when that was confirmed, and what their queries give over a candidate?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rich.console import Console
from rich.text import Text

from backfill_assets.cli.pins import print_pins
from backfill_assets.cli.terminal import grid, out
from backfill_assets.contracts.answer_changes import answer_changes
from backfill_assets.contracts.confirmed import stale_since
from backfill_assets.contracts.rerun import Answer, Rerun, Reruns
from backfill_assets.core.codec import to_plain
from backfill_assets.core.consumer import Consumer
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Project
from backfill_assets.state.pinned import PinnedConsumer


def print_consumers(project: Project, pins: Sequence[PinnedConsumer]) -> None:
    """A line a consumer, what is confirmed no more, and who is kept on a release."""
    console = out()
    if not project.consumers:
        print_pins(pins, project.settings.now().date())
        console.print("consumers.yml names nobody. Who reads the prod views? See `backfill docs consumers`")
        return
    today, limit = project.settings.now().date(), project.settings.consumers_stale_days
    table = grid(0)
    for c in project.consumers.values():
        old = stale_since(c.last_verified, today, limit) is not None
        table.add_row(
            Text(c.name, style="bold"),
            f"{c.kind}, {c.criticality}",
            c.owner or Text("no owner", style="red"),
            _reads(c),
            f"{c.notice} days' notice" if c.notice else "",
            f"queries: {len(c.queries)}" if c.queries else Text("no query", style="yellow"),
            Text(_confirmed(c.last_verified), style="yellow" if old else "dim"),
        )
    console.print(table)
    print_pins(pins, today)
    console.print(f"The list as a whole: {_confirmed(project.consumers_verified)}")


def consumers_json(project: Project, pins: Sequence[PinnedConsumer]) -> dict[str, object]:
    """Consumers as plain values."""
    kept = {pin.consumer: pin.to_json() for pin in pins}
    today, limit = project.settings.now().date(), project.settings.consumers_stale_days
    return {
        "last_verified": project.consumers_verified and project.consumers_verified.isoformat(),
        "consumers": [
            {
                "name": c.name,
                "kind": c.kind,
                "owner": c.owner,
                "criticality": c.criticality,
                "how": c.how,
                "reads": {
                    name: {"columns": list(use.columns), "history_days": use.history} for name, use in c.uses.items()
                },
                "notice_days": c.notice,
                "queries": [q.name for q in c.queries],
                "evaluations": [{"name": e.name, "days": str(e.days)} for e in c.evaluations],
                "last_verified": c.last_verified and c.last_verified.isoformat(),
                "stale": stale_since(c.last_verified, today, limit) is not None,
                "pin": kept.get(c.name),
            }
            for c in project.consumers.values()
        ],
    }


def print_reruns(found: Reruns) -> None:
    """Each query's answer over the candidate beside prod's, and what is not as it has to be."""
    console = out()
    if not found.reruns:
        console.print("No consumer with a query reads what this plan changes.")
        return
    console.print(f"Consumers' queries over plan-{found.plan}, beside prod")
    for rerun in found.reruns:
        mark = Text("ok", style="green") if rerun.met else Text("not as expected", style="red")
        name = f"{rerun.consumer}.{rerun.evaluation or rerun.query}"
        console.print(Text("  ") + mark + Text(f"  {name}  ", style="bold") + Text(_compared(rerun), style="dim"))
        for missed in rerun.missed:
            console.print(Text(f"    {missed}", style="red"))
        if not rerun.same and not rerun.candidate.error and not rerun.evaluation:
            _print_samples(console, rerun)


def _compared(rerun: Rerun) -> str:
    word = "evaluation, " if rerun.evaluation else ""
    if rerun.shown is None:
        return f"{word}{rerun.query}"
    if rerun.shown.error:
        return f"{word}{rerun.candidate.rows} rows; prod cannot answer: {rerun.shown.error}"
    if rerun.same:
        return f"{word}{rerun.candidate.rows} rows, the same as prod's"
    how = answer_changes(to_plain(rerun.shown), to_plain(rerun.candidate))
    return f"{word}{rerun.candidate.rows} rows, which differ from prod's: {one_line(how)}"


def _print_samples(console: Console, rerun: Rerun) -> None:
    for word, answer in (("prod", rerun.shown), ("new", rerun.candidate)):
        for row in _rows(answer):
            console.print(Text(f"    {word:<4} {row}", style="dim"))


def _rows(answer: Answer | None) -> list[str]:
    if answer is None:
        return []
    return [", ".join(f"{n} {v}" for n, v in zip(answer.columns, row, strict=False)) for row in answer.sample]


def _reads(consumer: Consumer) -> str:
    parts: list[str] = []
    for name in consumer.reads:
        use = consumer.use(name)
        columns = f"{len(use.columns)} columns" if use.columns else "all"
        back = f", {use.history} days" if use.history is not None else ""
        parts.append(f"{name} ({columns}{back})")
    return ", ".join(parts)


def _confirmed(when: date | None) -> str:
    return f"confirmed {when}" if when else "never confirmed"
