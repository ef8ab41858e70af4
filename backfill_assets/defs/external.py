"""What surrounds the models in Dagster's graph? Sources before them; prod's views and their consumers after."""

from __future__ import annotations

from typing import Any

import dagster as dg

from backfill_assets.core.model import Consumer, Project, Source
from backfill_assets.defs.links import review_link
from backfill_assets.defs.metadata import column_schema, split_owner, view_lineage
from backfill_assets.defs.names import consumer_key, local_name, model_key, source_key, view_key

SOURCES_GROUP = "sources"
CONSUMERS_GROUP = "consumers"


def external_specs(project: Project) -> list[dg.AssetSpec]:
    """Everything that Dagster shows and never runs. Sources that are existing assets are defined elsewhere."""
    existing = project.settings.dagster.existing_assets
    return [
        *(_source(project, s) for name, s in project.sources.items() if name not in existing),
        *(_view(project, name) for name in project.models),
        *(_consumer(project, c) for c in project.consumers.values()),
    ]


def _source(project: Project, source: Source) -> dg.AssetSpec:
    owners, metadata = split_owner(source.owner)
    metadata |= {"location": source.path or source.table, **review_link("source", source.name)}
    if source.columns:
        metadata["dagster/column_schema"] = column_schema(source.columns)
    if source.time_column:
        metadata["time column"] = source.time_column
    if source.freshness_hours:
        metadata["fresh within"] = f"{source.freshness_hours:g} hours"
    return dg.AssetSpec(
        source_key(project, source.name),
        description=source.description or None,
        owners=owners,
        kinds={"table" if source.table else source.format},
        group_name=local_name(project, SOURCES_GROUP),
        metadata=metadata,
    )


def _view(project: Project, name: str) -> dg.AssetSpec:
    model, environment = project.models[name], project.settings.environment
    owners, metadata = split_owner(model.owner)
    columns = project.columns[name]
    return dg.AssetSpec(
        view_key(project, name),
        deps=[dg.AssetDep(model_key(project, name))],
        description=f"What {environment} shows of {name}. Only a promotion moves it.\n\n{model.description}".strip(),
        owners=owners,
        kinds={"spark", "view"},
        group_name=local_name(project, environment),
        metadata={
            **metadata,
            **review_link("model", name),
            "dagster/table_name": f"{environment}.{name}",
            "dagster/column_schema": column_schema(columns, model.grain),
            "dagster/column_lineage": view_lineage(project, name, [c.name for c in columns]),
        },
    )


def _consumer(project: Project, consumer: Consumer) -> dg.AssetSpec:
    owners, metadata = split_owner(consumer.owner)
    more: dict[str, Any] = {"url": dg.MetadataValue.url(consumer.url)} if consumer.url else {}
    return dg.AssetSpec(
        consumer_key(project, consumer.name),
        deps=[dg.AssetDep(view_key(project, name)) for name in consumer.reads],
        description=consumer.description or None,
        owners=owners,
        kinds={consumer.kind},
        group_name=local_name(project, CONSUMERS_GROUP),
        metadata={**metadata, **review_link("consumer", consumer.name), **_terms(consumer), **more},
    )


def _terms(consumer: Consumer) -> dict[str, Any]:
    """What it reads and how, when it wants to know before, and when somebody made sure of that."""
    found: dict[str, Any] = {
        "criticality": consumer.criticality,
        "how it reads": consumer.how,
        "confirmed": str(consumer.last_verified) if consumer.last_verified else "never",
    }
    for name in consumer.reads:
        use = consumer.use(name)
        back = f", the newest {use.history} days" if use.history is not None else ""
        found[f"reads {name}"] = f"{', '.join(use.columns) or 'all columns'}{back}"
    if consumer.notice:
        found["notice"] = f"{consumer.notice} days"
    return found
