"""How is it told where sources have no rows for what is to be built?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.ranges import short
from backfill_assets.cli.terminal import print_section, styled
from backfill_assets.plan.uncovered import Uncovered


def print_uncovered(found: Sequence[Uncovered]) -> None:
    """Where sources have no rows for what is to be built."""
    print_section("Days without rows", map(_line, found))


def _line(gap: Uncovered) -> Text:
    has = f"has {gap.has}" if gap.has else "has no rows"
    where = short(gap.intervals)
    return styled("[yellow]{} has no rows in {}[/], which {} reads; it {}", gap.source, where, gap.model, has)


def uncovered_json(found: Sequence[Uncovered]) -> list[dict[str, object]]:
    """What has no source rows as plain values."""
    return [
        {
            "source": gap.source,
            "model": gap.model,
            "intervals": gap.intervals.to_plain(),
            "count": gap.count,
            "has": gap.has.to_plain(),
        }
        for gap in found
    ]
