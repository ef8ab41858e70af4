"""How does a person learn that a text counts as unchanged, and whether it gives the same rows?"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from backfill_assets.cli.terminal import out
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Project
from backfill_assets.plan.changed_texts import ChangedText, remedy
from backfill_assets.state.text_checks import TextCheck


def text_line(text: ChangedText, project: Project) -> str:
    """What is compared of a model that counts as unchanged."""
    return (
        f"{text.model} counts as unchanged, but version {text.version} was built from another text of it: "
        f"apply computes {_count(text.model, text.intervals, project)} from both and compares them"
    )


def print_text_checks(checks: Sequence[TextCheck], project: Project) -> None:
    """What came of comparing texts that count as unchanged."""
    for check in checks:
        what = f"{check.model}: {_count(check.model, check.intervals, project)} computed by the loaded text"
        if check.equal:
            out().print(Text(f"compared  {what}: the rows of version {check.version}"))
            continue
        found = check.error or f"other rows than version {check.version} in {check.differ}"
        out().print(Text("differs  ", style="bold red") + Text(f"{what}: {found}"))
        out().print(Text(f"  fix: {remedy(project, check.model)}"))


def _count(model: str, intervals: Ranges, project: Project) -> str:
    count = intervals.count(project.models[model].cadence)
    return f"{count} interval{'s' * (count != 1)}"
