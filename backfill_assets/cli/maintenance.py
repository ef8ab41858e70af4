"""When is a plan built, where heavy builds run in windows? A sentence, and the notice for those whom it concerns."""

from __future__ import annotations

from rich.text import Text

from backfill_assets.cli.terminal import out
from backfill_assets.core.escaping import markdown
from backfill_assets.plan.maintenance import Maintenance


def print_maintenance(found: Maintenance | None) -> None:
    """The sentence and the notice; nothing without windows."""
    if found is None:
        return
    console = out()
    console.print(Text(found.sentence))
    console.print("Maintenance notice (draft)")
    for line in found.notice.splitlines():
        console.print(Text(f"  {line}".rstrip(), style="dim"))


def maintenance_markdown(found: Maintenance | None) -> str:
    """The same for a pull request, the notice folded."""
    if found is None:
        return ""
    folded = f"<details><summary>Maintenance notice (draft)</summary>\n\n{found.notice}\n</details>"
    return f"\n\n{markdown(found.sentence)}.\n\n{folded}"
