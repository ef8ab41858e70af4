"""How does that look which is wrong with published rows?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.terminal import out
from backfill_assets.plan.faults import Fault


def print_faults(faults: Sequence[Fault]) -> None:
    """Each with its remedy."""
    for fault in faults:
        out().print(Text(str(fault), style="red"))
