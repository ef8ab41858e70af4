"""What does an owner ask about one model? The questions of the plan that it waits for, as far as they are about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from backfill_assets.app.context import Context
from backfill_assets.app.evidence import look_at_plan
from backfill_assets.core.errors import BackfillError
from backfill_assets.state.plans import PlanRecord

if TYPE_CHECKING:
    from backfill_assets.evidence.questions import ReviewerQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestions:
    """The plan that a model waits for, or was changed by last, and what is asked about the model."""

    plan: PlanRecord
    answers: tuple[ReviewerQuestion, ...] = ()
    """Nothing where the plan has ended, or `problem` is in the way."""
    problem: str = ""
    packet: str = ""
    """What the plan's packet says about the model, as Markdown."""


def plans_of_models(context: Context, models: Iterable[str]) -> dict[str, PlanRecord]:
    """Model → its newest open plan, one that leads to the loaded version before all others, else the newest plan that
    was; models that no plan ever changed are left out."""
    loaded = context.project.fingerprints
    found: dict[str, tuple[tuple[bool, bool, datetime], PlanRecord]] = {}
    for record in context.control.plans.all():
        for target in record.targets if record.environment == context.environment else ():
            rank = record.live, record.live and target.version == loaded.get(target.model), record.created
            if target.model not in found or rank > found[target.model][0]:
                found[target.model] = rank, record
    return {name: found[name][1] for name in models if name in found}


def ask_of_models(context: Context, plans: Mapping[str, PlanRecord]) -> dict[str, ModelQuestions]:
    """What is asked about models, of the plan of each. Every plan is read once; where one cannot be, that is said of
    its models and of no others. Raises StateError where nothing can be read at all."""
    from backfill_assets.evidence.of_model import of_model  # pydantic: planning has no need of it
    from backfill_assets.evidence.packet_text import packet_text
    from backfill_assets.evidence.questions import questions
    from backfill_assets.evidence.sentences import summary

    found = {name: ModelQuestions(plan=record) for name, record in plans.items()}
    live = {record.id: record for record in plans.values() if record.live}
    facts = context.facts() if live else None
    for record in live.values():
        names = [name for name, plan in plans.items() if plan.id == record.id]
        try:
            packet = look_at_plan(context, record, facts)
            for name in names:
                part = of_model(packet, name)
                text = packet_text(part.model_copy(update={"summary": summary(part)}))
                found[name] = ModelQuestions(plan=record, answers=questions(part), packet=text)
        except BackfillError as error:
            found |= {name: ModelQuestions(plan=record, problem=str(error)) for name in names}
    return found
