"""How do the checks of candidates stay true? A sensor answers them again when records, code or the day are others.

It tells only what Dagster does not know: an event costs 10 ms, so a tick tells only so many. A look at an open plan
takes up to seconds, so only some are looked at in a tick, those that waited longest first; of plans that have ended
none is needed.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import dagster as dg

from backfill_assets.app.context import Context
from backfill_assets.app.model_questions import plans_of_models
from backfill_assets.defs.candidate_checks import MOST_EVENTS, MOST_PLANS, promised_answers, unreported_answers
from backfill_assets.defs.names import local_name, model_key
from backfill_assets.state.plans import PlanRecord

SECONDS_BETWEEN_TICKS = 30


def candidate_sensor(context: Context) -> dg.SensorDefinition:
    """The sensor. Its cursor is what everything was told of, and the open plans that are still to be looked at."""

    @dg.sensor(
        name=local_name(context.project, "candidate_sensor"),
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Answers what owners ask of open plans, as checks of their models, whenever the records change.",
    )
    def answers_to_events(tick: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        plans = plans_of_models(context, context.project.models)
        state = _state(context, tick.instance, plans)
        cursor: dict[str, Any] = json.loads(tick.cursor) if tick.cursor else {}
        waiting: list[str] = cursor.get("left", [])
        if cursor.get("of") == state and not waiting:
            return dg.SkipReason("nothing happened since the last look")
        live = list(dict.fromkeys(r.id for r in plans.values() if r.live))
        queue = _queue(live, waiting, anew=cursor.get("of") != state)
        now, left = queue[:MOST_PLANS], queue[MOST_PLANS:]
        looked = {name: record for name, record in plans.items() if not record.live or record.id in now}
        found = unreported_answers(context, tick.instance, looked)
        events = found[:MOST_EVENTS]  # what is told is known in the next tick, which finds the rest
        return dg.SensorResult(
            asset_events=events,
            cursor=json.dumps({"of": state if len(found) == len(events) else "", "left": left}),
            skip_reason=None if events else "everything is known already",
        )

    return answers_to_events


def _queue(live: Sequence[str], waiting: Sequence[str], *, anew: bool) -> list[str]:
    """The open plans to look at: those that waited first, and all others where anything is new."""
    first = [plan for plan in waiting if plan in live]
    return [*first, *(plan for plan in live if anew and plan not in first)]


def _state(context: Context, instance: dg.DagsterInstance, plans: dict[str, PlanRecord]) -> str:
    """A hash of all that the answers depend on: records, code, the day (approvals end), and what Dagster shows of them:
    it takes them for outdated after a materialization, and for skipped where a run ended before its last step."""
    control, project = context.control, context.project
    records = instance.get_asset_records([model_key(project, name) for name in plans])
    parts = [
        *(
            each.revision()
            for each in (
                control.plans, control.ledger, control.environments, control.results,
                control.approvals, control.proofs, control.rules, control.text_checks,
            )
        ),
        project.fingerprints,
        repr(sorted(project.consumers.items())),
        f"{context.clock():%Y-%m-%d} {context.now():%Y-%m-%d}",
        promised_answers(project, instance, [project.models[name] for name in plans]),
        sorted((str(r.asset_entry.asset_key), r.asset_entry.last_materialization_storage_id or 0) for r in records),
    ]  # fmt: skip
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
