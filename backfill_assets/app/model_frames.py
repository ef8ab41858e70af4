"""Use case: what does an asset of the user's own get when it reads a model? Green rows only.

Of the version that the code says; in a run that is tagged with a plan, as the plan's candidate environment shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.adapters.inputs import input_frame, model_frame
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.app.context import Context
from backfill_assets.audits.digest import audits_digest
from backfill_assets.build.engine import ModelInput
from backfill_assets.core.errors import BuildError
from backfill_assets.core.intervals import Interval, Ranges
from backfill_assets.core.model import Model
from backfill_assets.plan.patch import segments_beside
from backfill_assets.project.dagster_names import job_text
from backfill_assets.promote.lifecycle import find_plan
from backfill_assets.state.ledger import DECIDING, by_version
from backfill_assets.state.seen import seen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def version_frame(context: Context, model: Model, asked: Interval | None) -> DataFrame:
    """The rows of the asked interval (None: of all that is complete), at one commit of the version's table, with the
    corrections that are published over it.

    Raises BuildError when an asked interval is not built and audited.
    """
    version = context.project.fingerprints[model.name]
    groups, digest = by_version(context.control.ledger.entries([model.name], kinds=DECIDING)), audits_digest(model)
    shown = context.control.environments.read(context.environment).pointers.get(model.name)
    there = seen(groups, context.log, model.name, version, shown, audits=digest)
    have, head = there.coverage, there.head
    wanted = Ranges((asked,)) if asked else have.complete
    if lacking := wanted - have.complete:
        raise BuildError(
            f"cannot read {model.name}: {lacking} is not complete",
            why=f"version {version} has {have.complete}",
            fix=f"materialize {model.name} for {lacking} first",
        )
    if head < 0 or not wanted:
        raise BuildError(f"cannot read {model.name}: nothing of it is built", fix=f"materialize {model.name} first")
    read = ModelInput(model=model, version=version, commit=head, over=segments_beside(shown, version, have))
    frame = input_frame(context.spark, context.warehouse, read)
    condition = " OR ".join(f"({in_interval(model, part)})" for part in wanted)
    return frame.where(condition)


def candidate_frame(context: Context, plan: str, model: Model, asked: Interval | None) -> DataFrame:
    """The rows of the asked interval (None: of all) as the candidate environment of a plan shows them.

    Raises PlanError for an unknown or ended plan, BuildError when it does not show all of the interval.
    """
    candidate = context.control.environments.read(find_plan(context.control, plan).candidate)
    pointer = candidate.pointers.get(model.name)
    shown = pointer.covers if pointer else Ranges()
    wanted = Ranges((asked,)) if asked else shown
    if pointer is None or wanted - shown:
        raise BuildError(
            f"cannot read {model.name} of plan {plan}: {candidate.name} does not show {wanted - shown or 'it'}",
            why=f"it shows {shown} of it",
            fix=f"build it first: {job_text(context.project.settings.dagster, 'apply')}, or `backfill apply`",
        )
    frame = model_frame(context.spark, context.warehouse, model, pointer.segments)
    return frame.where(" OR ".join(f"({in_interval(model, part)})" for part in wanted))
