"""How does a project live among the assets of somebody's Dagster project? As a component, which `dg` knows by name."""

# No `from __future__ import annotations`: Dagster reads the annotations of the component's fields.

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import click
import dagster as dg
from dagster.components.resolved.model import Resolver

from backfill_assets.app.context import Context
from backfill_assets.app.new_project import make_project
from backfill_assets.core.errors import BackfillError
from backfill_assets.core.wording import listed
from backfill_assets.defs.build_definitions import definitions


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

    One such component a code location: its jobs (`apply`, `promote`, ...) and resources have fixed names, and its runs
    share one Spark session, so all runs of the location are in one process each.
    """

    project: Annotated[
        str,
        Resolver.default(
            description="The folder with `backfill.yml`, relative to the component's. `.` is the component's own.",
            examples=[".", "../../../models"],
        ),
    ] = "."
    existing_assets: Annotated[
        Sequence[str],
        Resolver.default(
            description="Sources that are assets of this Dagster project already, as the models name them: "
            "`raw.orders` is the asset `raw/orders`. Their pages stay those assets' own.",
            examples=[["raw.orders"]],
        ),
    ] = field(default_factory=list[str])

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the project. Raises a ClickException that says each problem of its files in plain text."""
        try:
            found = Context.open(context.path / self.project)
        except BackfillError as problems:
            raise click.ClickException(str(problems)) from None
        if unknown := sorted(set(self.existing_assets) - found.project.sources.keys()):
            raise click.ClickException(
                f"existing_assets names {listed(unknown)}, and the project has no such source: name one of "
                f"{listed(sorted(found.project.sources))}"
            )
        return definitions(found, elsewhere=self.existing_assets)
