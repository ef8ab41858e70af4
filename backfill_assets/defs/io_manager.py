"""How does a materialization become data? The io manager builds what the ledger says is missing of the run's range.

It is hard-coded: no run config can point it anywhere, and nothing it does can touch what an environment shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import dagster as dg

from backfill_assets.build.build import build
from backfill_assets.build.outcome import Outcome
from backfill_assets.build.text_check import refused_text
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import Model
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.names import model_of
from backfill_assets.defs.partitions import chosen, require_over
from backfill_assets.defs.plan_tags import named_plan
from backfill_assets.defs.range_plans import as_planned, plan_of, worked_on
from backfill_assets.defs.report import Worked, held_text, report
from backfill_assets.defs.runs import Runs, hold_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

IO_MANAGER_KEY = "version_tables"


@dataclass(slots=True)
class BuildRequest:
    """What an asset's function returns: the model to build, and the step that asks for it.

    `outcome` is filled in when it is done.
    """

    model: Model
    step: dg.AssetExecutionContext
    outcome: Outcome | None = None


class VersionTables(dg.IOManager):
    """Writes versions of models, and reads them for assets of the user's own."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def handle_output(self, context: dg.OutputContext, obj: BuildRequest) -> None:
        """Build the order's range. Raises Failure, after reporting what is good, when any interval is not green."""
        self._build(obj)

    def load_input(self, context: dg.InputContext) -> DataFrame:
        """The upstream's rows of the asked partitions as a Spark DataFrame, of the version that the code says.

        A run that is tagged with a plan reads them as the plan's candidate environment shows them.
        Raises BuildError when any of them is not built and audited, or no model of the project, PlanError for an
        unknown plan.
        """
        from backfill_assets.app.model_frames import candidate_frame, version_frame

        project = self._runs.context.project
        name = model_of(project, context.asset_key)
        if name is None:
            raise BuildError(
                f"cannot read {context.asset_key.to_user_string()}",
                why=f"it is no model of the project {project.settings.name}",
                fix="name the IO manager of its own project as `input_manager_key`",
            )
        model = project.models[name]
        asked = None
        if context.has_asset_partitions:
            asked = chosen(model.cadence, context.asset_partition_keys, {})
        if plan := named_plan(project, context.step_context.dagster_run.tags):
            return candidate_frame(self._runs.context, plan, model, asked)
        return version_frame(self._runs.context, model, asked)

    def _build(self, order: BuildRequest) -> None:
        step, model = order.step, order.model
        with short_failures():
            context = acting(self._runs.context, step.run)
            require_lasting(step.instance)
            keys = step.partition_keys if step.has_partition_key or step.has_partition_key_range else []
            interval = chosen(model.cadence, keys, step.run.tags)
            require_over(context.project, model, interval, context.now())
            bench = self._runs.bench(step)
            plan = plan_of(context, step, model, interval, bench.pins)  # what is in its way is said before any building
            bench = as_planned(context, step, bench, plan, model, interval) if plan else bench
            bench = replace(bench, hold=hold_of(context, step.run.tags, plan))
            with bench.beating():
                asked = Ranges((interval,))
                order.outcome = refused_text(bench, model.name, asked) or build(bench, model.name, asked)
            worked = worked_on(context, step, plan) if plan else Worked(metadata={})
            if bench.hold.ended and not order.outcome.ok:
                said = held_text(bench.hold.ended, goes_on=not bench.hold.with_plan)
                worked = replace(worked, problems=(said, *worked.problems))
        report(context, step, model, order.outcome, worked)
