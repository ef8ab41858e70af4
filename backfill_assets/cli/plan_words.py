"""What do a plan's screen and its Markdown say alike? What follows when it is built, and what its models declare."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from backfill_assets.contracts.preflight import Gap
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Override
from backfill_assets.core.wording import first_few
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.stages import Approve, AuditStage, Build, Invalidate, Plan, PlanWarning, Promote
from backfill_assets.promote.obstacle import Obstacle


def ahead_lines(ahead: Sequence[Obstacle | Gap]) -> list[str]:
    """What the gate will refuse, with the remedies."""
    return [f"  {line}" for obstacle in ahead for line in one_line_each(str(obstacle))]


def afterwards(
    plan: Plan, gaps: Sequence[Gap] = (), ahead: Sequence[Obstacle] = (), *, approved: bool = False
) -> list[str]:
    """What follows when everything is built; nothing is announced that `gaps`, or what is `ahead`, forbid, nor an
    approval that was given (`approved`)."""
    said: list[str] = []
    for stage in plan.stages:
        match stage:
            case Approve():
                owners = [*map(str, stage.owners)]
                needs = f"It needs approval by {' and by '.join(owners)}: what is published changes."
                said.append(f"It has the approval of {' and of '.join(owners)}." if approved else needs)
            case Promote():
                models = first_few(one.model for one in stage.models)
                if gaps:
                    head = (
                        f"{models} cannot be shown in {stage.environment} before this is mended (backfill preflight):"
                    )
                    said.append("\n".join([head, *ahead_lines(gaps)]))
                if ahead:
                    head = f"{models} cannot be shown in {stage.environment}, also when all of it is built:"
                    said.append("\n".join([head, *ahead_lines(ahead)]))
                if not gaps and not ahead:
                    said.append(f"Then backfill promote shows {models} in {stage.environment}, in one step.")
            case Build() | AuditStage() | Invalidate():
                pass
    return said


def one_line_each(text: str) -> list[str]:
    """The lines of a text of ours, each with its control characters visible."""
    return [one_line(line) for line in text.splitlines()]


def has_history(change: TableChange | None) -> bool:
    """Whether there is a history whose way of changing is to be told."""
    return change is None or change.category is not Category.NEW


def override_words(word: Override) -> str:
    return f"the rows of version {word.version}, and its values in {first_few(word.columns)}, because: {word.reason}"


def kept_warning_words(kept: Sequence[PlanWarning]) -> tuple[str, str]:
    """That there are warnings about models that a plan leaves as they are, and the command that tells them."""
    names = tuple(dict.fromkeys(warning.model for warning in kept))
    command = " ".join(["backfill plan", *(f"--select {shlex.quote(name)}" for name in names)])
    left = "which this plan leaves as it is" if len(names) == 1 else "which this plan leaves as they are"
    return f"{len(kept)} about {first_few(names)}, {left}:", command
