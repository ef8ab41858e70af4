"""What does an asset of the user's own get when it reads a model? The version that the code says, green rows only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backfill_assets.adapters.inputs import input_frame
from backfill_assets.adapters.version_table import in_interval
from backfill_assets.adapters.workspace import Workspace
from backfill_assets.audit.digest import audits_digest
from backfill_assets.build.engine import ModelInput
from backfill_assets.errors import BuildError
from backfill_assets.intervals import Interval, Ranges
from backfill_assets.snapshots.model import Model
from backfill_assets.state.tables import version_coverage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def model_frame(workspace: Workspace, model: Model, asked: Interval | None) -> DataFrame:
    """The rows of the asked interval (None: of all that is complete), at one commit of the version's table.

    Raises BuildError when an asked interval is not built and audited.
    """
    version = workspace.project.fingerprints[model.name]
    entries = [e for e in workspace.control.ledger.entries([model.name]) if e.version == version]
    have, head = version_coverage(
        entries, workspace.log, model=model.name, version=version, audits=audits_digest(model)
    )
    wanted = Ranges((asked,)) if asked else have.complete
    if lacking := wanted - have.complete:
        raise BuildError(
            f"cannot read {model.name}: {lacking} is not complete",
            why=f"version {version} has {have.complete}",
            fix=f"materialize {model.name} for {lacking} first",
        )
    if head < 0 or not wanted:
        raise BuildError(f"cannot read {model.name}: nothing of it is built", fix=f"materialize {model.name} first")
    frame = input_frame(workspace.spark, workspace.warehouse, ModelInput(model=model, version=version, commit=head))
    condition = " OR ".join(f"({in_interval(model, part)})" for part in wanted)
    return frame.where(condition)
