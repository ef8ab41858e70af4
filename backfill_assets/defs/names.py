"""What is a thing of a project called in Dagster? Every key, and every name of a job, resource or tag, is made here.

Of several projects in one Dagster instance, `key_prefix` keeps assets and tags apart, which are the instance's; of
several in one code location, `job_prefix` keeps what is named there apart (docs/dagster.md).
"""

from __future__ import annotations

import dagster as dg

from backfill_assets.core.model import Project
from backfill_assets.project import dagster_names


def model_key(project: Project, name: str) -> dg.AssetKey:
    return _key(project, name)


def model_of(project: Project, key: dg.AssetKey) -> str | None:
    """The model that a key is of, if it is one of this project's."""
    name = key.path[-1]
    return name if name in project.models and model_key(project, name) == key else None


def source_key(project: Project, name: str) -> dg.AssetKey:
    """`raw.orders` is `raw/orders`; without the prefix when it is an asset of somebody else's."""
    parts = name.split(".")
    return dg.AssetKey(parts) if name in project.settings.dagster.existing_assets else _key(project, *parts)


def view_key(project: Project, model: str) -> dg.AssetKey:
    """`prod/orders`: what the project's environment shows of a model."""
    return _key(project, project.settings.environment, model)


def consumer_key(project: Project, name: str) -> dg.AssetKey:
    return _key(project, "consumer", name)


def local_name(project: Project, name: str) -> str:
    """The name of a job, a schedule, a sensor, an op, a resource or a group, which is one of its code location's."""
    return f"{project.settings.dagster.job_prefix}{name}"


def job_text(project: Project, command: str) -> str:
    """How a message tells which job does what a command does: with the name that it has in Dagster."""
    return dagster_names.job_text(project.settings.dagster, command)


def run_tag(project: Project, name: str) -> str:
    """The key of a run's tag that says something of this project: a run, and a Dagster backfill, may be of several.

    `backfill/plan`; with the prefix `marketing/eu`: `backfill/marketing.eu.plan`.
    """
    return f"backfill/{'.'.join((*project.settings.dagster.key_prefix, name))}"


def _key(project: Project, *parts: str) -> dg.AssetKey:
    return dg.AssetKey([*project.settings.dagster.key_prefix, *parts])
