"""How does a project live among the assets of somebody's Dagster project? As a component, which `dg` knows by name."""

# No `from __future__ import annotations`: Dagster reads the annotations of the component's fields.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import click
import dagster as dg
from dagster.components.resolved.model import Resolver

from backfill_assets.app.new_project import make_project
from backfill_assets.core.errors import BackfillError
from backfill_assets.defs.build_definitions import build_definitions


class ProjectScaffolder(dg.Scaffolder[Any]):
    """Makes the template's project (settings, a source with data, models, a consumer) beside the `defs.yaml`."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """Raises a ClickException when the folder holds anything already: nothing is overwritten."""
        try:
            make_project(request.target_path)
        except BackfillError as problem:
            raise click.ClickException(str(problem)) from None
        dg.scaffold_component(request, {"project": "."})


@dg.scaffold_with(ProjectScaffolder)
@dataclass
class BackfillProjectComponent(dg.Component, dg.Resolvable):
    """A folder of models that are rebuilt beside prod, proved, approved and promoted in one step.

    Of several in one Dagster instance each needs a `key_prefix` of its own, of several in one code location a
    `job_prefix` as well. The steps of a run share one Spark session, so all runs of the location are in one process
    each, unless `in_process` is off.
    """

    project: Annotated[
        str,
        Resolver.default(
            description="The folder with `backfill.yml`, relative to the component's. `.` is the component's own.",
            examples=[".", "../../../models"],
        ),
    ] = "."
    key_prefix: Annotated[
        str | Sequence[str] | None,
        Resolver.default(
            description="What the keys of all its assets begin with, if not as `backfill.yml` says.",
            examples=["marketing", ["marketing", "eu"]],
        ),
    ] = None
    job_prefix: Annotated[
        str | None,
        Resolver.default(
            description="What the names of its jobs, schedules, sensors, resources and groups begin with, if not as "
            "`backfill.yml` says.",
            examples=["marketing_"],
        ),
    ] = None
    existing_assets: Annotated[
        Sequence[str] | None,
        Resolver.default(
            description="Sources that are assets of this Dagster project already, as the models name them: "
            "`raw.orders` is the asset `raw/orders`. Their pages stay those assets' own.",
            examples=[["raw.orders"]],
        ),
    ] = None

    in_process: Annotated[
        bool,
        Resolver.default(
            description="Name Dagster's in-process executor for the whole code location. `false`: name none, so that "
            "it can have an `executor=` of its own; then each step may be a process with a Spark session.",
            examples=[False],
        ),
    ] = True

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the project. Raises a ClickException that says each problem of its files in plain text."""
        try:
            return build_definitions(
                context.path / self.project,
                key_prefix=self.key_prefix,
                job_prefix=self.job_prefix,
                existing_assets=self.existing_assets,
                in_process=self.in_process,
            )
        except BackfillError as problems:
            raise click.ClickException(str(problems)) from None
