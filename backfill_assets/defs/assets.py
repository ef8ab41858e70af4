"""How does a model look in Dagster? One partitioned asset, with all that its file says and its checks."""

# No `from __future__ import annotations`: Dagster reads the annotation of its context, here `context_`.

from collections.abc import Iterator
from typing import Any

import dagster as dg

from backfill_assets.audits.reads import tables_read
from backfill_assets.core.model import Model, Project
from backfill_assets.defs.checks import check_specs, summaries
from backfill_assets.defs.io_manager import IO_MANAGER_KEY, BuildRequest
from backfill_assets.defs.links import review_link
from backfill_assets.defs.metadata import describe_model, model_metadata, split_owner, split_tags
from backfill_assets.defs.names import local_name, model_key, source_key
from backfill_assets.defs.partitions import mapping, partitions
from backfill_assets.defs.report import log_checks, recorded
from backfill_assets.defs.runs import Runs
from backfill_assets.defs.warning_filters import ignore_preview_warnings

MODELS_GROUP = "models"


def model_asset(model: Model, runs: Runs) -> dg.AssetsDefinition:
    """The asset of a model. Its function only says what to build; the io manager builds it."""
    project = runs.context.project
    owners, unnamed = split_owner(model.owner)
    tags, untagged = split_tags(model.tags)

    @dg.asset(
        key=model_key(project, model.name),
        deps=_deps(model, project),
        partitions_def=partitions(model, clock=project.settings.clock),
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version=project.fingerprints[model.name],
        owners=owners,
        kinds={"spark", "delta", model.language},
        tags={**tags, "backfill/cadence": model.cadence.value},
        group_name=local_name(project, MODELS_GROUP),
        description=describe_model(model),
        metadata=model_metadata(model, project) | unnamed | untagged | review_link("model", model.name),
        check_specs=check_specs(project, model),
        io_manager_key=local_name(project, IO_MANAGER_KEY),
        pool=model.pool,
    )
    def compute(context_: dg.AssetExecutionContext) -> Iterator[Any]:
        order = BuildRequest(model=model, step=context_)
        with ignore_preview_warnings():
            output = dg.Output(order, data_version=dg.DataVersion(project.fingerprints[model.name]))
        yield output  # the io manager builds while this waits, and raises unless everything is green
        assert order.outcome is not None
        results = recorded(runs.context, model, order.outcome.green, order.outcome.requested)
        if order.outcome.built or order.outcome.results:
            log_checks(project, context_, model, order.outcome, results)
        yield from summaries(project, model, results)

    return compute


def _deps(model: Model, project: Project) -> list[dg.AssetDep]:
    """What the model is computed from, and what its audits look at: both come first."""
    return [
        dg.AssetDep(model_key(project, name), partition_mapping=mapping(model, project.models[name]))
        if name in project.models
        else dg.AssetDep(source_key(project, name))
        for name in tables_read(model)
    ]
