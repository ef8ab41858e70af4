"""What does Dagster say of a model's candidate? A check each question that an owner asks before approving.

They are answered from the records: by their own step, at the end of jobs that change what is known, and by a sensor for
all that happened elsewhere. None blocks anything: what may be promoted is the gate's to say.
"""

# No `from __future__ import annotations`: Dagster reads the annotation of its context, here `context_`.

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster import AssetCheckEvaluation

from backfill_assets.app.context import Context
from backfill_assets.app.model_questions import ModelQuestions, ask_of_models, plans_of_models
from backfill_assets.core.escaping import visible
from backfill_assets.core.model import Model, Project
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.links import review_link
from backfill_assets.defs.names import local_name, model_key
from backfill_assets.evidence.asked import ASKED
from backfill_assets.state.plans import PlanRecord

if TYPE_CHECKING:
    from backfill_assets.evidence.questions import ReviewerQuestion

PREFIX = "candidate_"
STEP = "candidate"
OWNER = "owner"
"""The question whose check has the packet: whoever answers it reads that first."""
MOST_EVENTS = 300
"""At once: each costs some 10 ms."""
MOST_PLANS = 5
"""Open plans that a tick, or the end of a job, looks at: a look takes up to seconds, and a tick has a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a check says: all is well or not, how bad that is, and why."""

    passed: bool
    severity: dg.AssetCheckSeverity
    description: str
    metadata: Mapping[str, Any]


def asked_of(model: Model) -> dict[str, str]:
    """Check → question. An audit of the author's that has the name of one keeps it."""
    taken = {audit.name for audit in model.audits}
    return {check: name for name in ASKED if (check := f"{PREFIX}{name}") not in taken}


def candidate_specs(project: Project) -> list[dg.AssetCheckSpec]:
    """A check of each question, for each model."""
    return [
        dg.AssetCheckSpec(
            check,
            asset=model_key(project, model.name),
            description=f"{ASKED[name]} Asked of the open plan that changes {model.name}.",
            blocking=False,
            metadata=review_link("model", model.name),
        )
        for model in project.models.values()
        for check, name in asked_of(model).items()
    ]


def candidate_checks(context: Context) -> dg.AssetChecksDefinition | None:
    """The checks, any of which can be executed alone; None in a project without models."""
    project = context.project
    specs = candidate_specs(project)
    if not specs:
        return None

    @dg.multi_asset_check(
        name=local_name(project, STEP),
        specs=specs,
        can_subset=True,
        description="Ask what an owner asks before approving, of the records. Reads only; needs no Spark.",
    )
    def candidate(context_: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        chosen = context_.selected_asset_check_keys
        keys = {key.asset_key for key in chosen}
        models = [m for m in project.models.values() if model_key(project, m.name) in keys]
        with short_failures():
            launched = acting(context, context_.run)
            plans = plans_of_models(launched, [m.name for m in models])
            found = ask_of_models(launched, plans)
        for model in models:
            for check, said in answers(model, found.get(model.name)).items():
                if dg.AssetCheckKey(model_key(project, model.name), check) in chosen:
                    yield dg.AssetCheckResult(
                        asset_key=model_key(project, model.name),
                        check_name=check,
                        passed=said.passed,
                        severity=said.severity,
                        description=said.description,
                        metadata=said.metadata,
                    )

    return candidate


def answers(model: Model, found: ModelQuestions | None) -> dict[str, Said]:
    """What each check of a model says. `found`: None where no plan ever changed it."""
    checks = asked_of(model)
    if found is None:
        return dict.fromkeys(checks, _over(f"no plan changes {model.name}", {}))
    plan = found.plan
    metadata = {"plan": plan.id, "plan is": plan.status.value, **review_link("plan", plan.id)}
    if found.problem:
        problem = _said("open", f"plan {plan.id}: {found.problem}", metadata)
        return dict.fromkeys(checks, problem)
    if not plan.live:
        said = f"no open plan changes {model.name}; plan {plan.id}, the last that did, is {plan.status.value}"
        return dict.fromkeys(checks, _over(said, metadata))
    known = {question.name: question for question in found.answers}
    told = {name: metadata | ({"packet": dg.MetadataValue.md(found.packet)} if name == OWNER else {}) for name in known}
    return {check: _answer(known[name], plan, told[name]) for check, name in checks.items() if name in known}


def unreported_answers(
    context: Context, instance: dg.DagsterInstance, plans: Mapping[str, PlanRecord]
) -> list[AssetCheckEvaluation]:
    """Events for the checks that say something else than Dagster knows, or than it shows: what was said before a
    model's newest materialization counts as said of older rows. `plans` are those of models."""
    if not plans:
        return []
    project = context.project
    models = [project.models[name] for name in plans]
    known, newest = _known(project, instance, models), _materialized(project, instance, models)
    found = ask_of_models(context, plans)
    events: list[AssetCheckEvaluation] = []
    for model in models:
        for check, said in answers(model, found[model.name]).items():
            event = AssetCheckEvaluation(
                asset_key=model_key(project, model.name),
                check_name=check,
                passed=said.passed,
                severity=said.severity,
                description=said.description,
                metadata=said.metadata,
                blocking=False,
            )
            last = known.get(event.asset_check_key)
            if last is None or _other(last, event) or last.create_timestamp <= newest.get(event.asset_key, 0.0):
                events.append(event)
    return events


def promised_answers(project: Project, instance: dg.DagsterInstance, models: Sequence[Model]) -> list[str]:
    """The runs that are to answer, or ended before they did."""
    found = _known(project, instance, models).values()
    return sorted({r.run_id for r in found if not isinstance(r.evaluation, AssetCheckEvaluation)})


def tell_answers(context: Context, step: dg.OpExecutionContext) -> None:
    """Log, at the end of a job, what the checks of the newest open plans, and of those that ended, say by now. The
    sensor tells the rest."""
    plans = plans_of_models(context, context.project.models)
    live = sorted({r.id: r.since for r in plans.values() if r.live}.items(), key=lambda at: at[1], reverse=True)
    newest = {plan for plan, _ in live[:MOST_PLANS]}
    looked = {name: record for name, record in plans.items() if not record.live or record.id in newest}
    for event in unreported_answers(context, step.instance, looked)[:MOST_EVENTS]:
        step.log_event(event)  # pyright: ignore[reportArgumentType]  # Dagster takes it, though its types do not say so


def _answer(question: "ReviewerQuestion", plan: PlanRecord, metadata: Mapping[str, Any]) -> Said:
    more = {"number": question.number, "answer": question.said}
    told = ": ".join(text for text in (question.number.strip("—"), question.why) if text)
    return _said(question.answer, f"{told} (plan {plan.id})", {**more, **metadata})


def _said(answer: str, text: str, metadata: Mapping[str, Any]) -> Said:
    severity = dg.AssetCheckSeverity.ERROR if answer == "bad" else dg.AssetCheckSeverity.WARN
    told = {key: visible(value) if isinstance(value, str) else value for key, value in metadata.items()}
    return Said(passed=answer in ("good", "none"), severity=severity, description=visible(text), metadata=told)


def _over(text: str, metadata: Mapping[str, Any]) -> Said:
    return _said("none", text, metadata)


def _known(project: Project, instance: dg.DagsterInstance, models: Iterable[Model]) -> Mapping[dg.AssetCheckKey, Any]:
    """The last evaluation of each check, whoever told it."""
    keys = [dg.AssetCheckKey(model_key(project, m.name), check) for m in models for check in asked_of(m)]
    return instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)


def _materialized(project: Project, instance: dg.DagsterInstance, models: Iterable[Model]) -> dict[dg.AssetKey, float]:
    """When each model was materialized last, by Dagster's own events."""
    records = instance.get_asset_records([model_key(project, m.name) for m in models])
    return {
        r.asset_entry.asset_key: last.timestamp for r in records if (last := r.asset_entry.last_materialization_record)
    }


def _other(last: Any, event: AssetCheckEvaluation) -> bool:
    said = last.evaluation
    if not isinstance(said, AssetCheckEvaluation):  # planned, and its run has not come to it
        return True
    return (said.passed, said.severity, said.description, said.metadata) != (
        event.passed,
        event.severity,
        event.description,
        event.metadata,
    )
