"""How does an estimate look? Lines for a person, a Markdown table for a pull request or an issue."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from backfill_assets.core.wording import amount
from backfill_assets.plan.estimate import Estimate, PlanEstimate, StageEstimate
from backfill_assets.plan.estimate_text import duration, money

TOTAL = "total"
ROWS = ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1, ""))
BYTES = ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1, " B"))


def estimate_lines(estimate: PlanEstimate) -> list[Text]:
    """A line a Build stage, in columns, and one for all of it, each with its basis below; none for a plan that builds
    nothing.

    Money is in the last one only: models that run side by side share the machine.
    """
    if not estimate.stages:
        return []
    works = [_work(stage) for stage in estimate.stages]
    wide, wider = max(len(s.model) for s in estimate.stages), max(map(len, works))
    found: list[Text] = []
    for stage, work in zip(estimate.stages, works, strict=True):
        numbers = _numbers(estimate, stage.takes).rstrip()
        found.append(Text.assemble((stage.model.ljust(wide), "bold"), f"  {work.ljust(wider)}  {numbers}"))
        found.append(Text(f"  {stage.takes.basis}", style="dim"))
    total = estimate.total
    found.append(Text.assemble((TOTAL.ljust(wide), "bold"), f"  {_numbers(estimate, total)}", (total.basis, "dim")))
    return found


def estimate_markdown(estimate: PlanEstimate) -> list[str]:
    """The rows of a Markdown table, its head first; none for a plan that builds nothing."""
    if not estimate.stages:
        return []
    head = ["model", "intervals", "time", "rows", "size", "basis"]
    body = [[f"`{stage.model}`", _work(stage), *_cells(stage.takes), stage.takes.basis] for stage in estimate.stages]
    body.append([f"**{TOTAL}**", "", *_cells(estimate.total), estimate.total.basis])
    if estimate.price:
        head.insert(-1, f"cost ({estimate.price.per_hour:g} {estimate.price.currency} an hour)")
        for row in body[:-1]:
            row.insert(-1, "")
        body[-1].insert(-1, _cost(estimate, estimate.total))
    return [_row(head), _row("---" for _ in head), *map(_row, body)]


def quantity(value: float, units: Iterable[tuple[float, str]]) -> str:
    """A large number in two digits, with its unit.

    >>> quantity(912_345, ROWS), quantity(0, ROWS), quantity(2_360_000, BYTES), quantity(45_678, ROWS)
    ('910 k', '0', '2.4 MB', '46 k')
    """
    value = float(f"{value:.2g}")
    size, name = next(((s, n) for s, n in units if value >= s), (1, ""))
    return f"{value / size:,.1f}".removesuffix(".0") + name


def _work(stage: StageEstimate) -> str:
    return f"{amount(stage.count, stage.cadence)} in {stage.batches} batch{'es' * (stage.batches != 1)}"


def _numbers(estimate: PlanEstimate, takes: Estimate) -> str:
    time, rows, _ = _cells(takes)
    cost = _cost(estimate, takes) if takes is estimate.total else ""
    return "".join(f"{said}  " for said in (time, rows and f"{rows} row{'s' * (rows != '≈ 1')}", cost) if said)


def _cells(takes: Estimate) -> tuple[str, str, str]:
    return (
        f"≈ {duration(takes.seconds.low, takes.seconds.high)}" if takes.seconds else "",
        f"≈ {quantity(takes.rows, ROWS)}" if takes.rows is not None else "",
        f"≈ {quantity(takes.bytes, BYTES)}" if takes.bytes is not None else "",
    )


def _cost(estimate: PlanEstimate, takes: Estimate) -> str:
    if not estimate.price or not takes.cost:
        return ""
    return money(estimate.price.currency, takes.cost.low, takes.cost.high)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
