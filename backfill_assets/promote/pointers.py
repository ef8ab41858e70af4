"""What points at intervals of a version, or of a restatement? At the commit that their coverage was seen at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.intervals import Cadence, Ranges
from backfill_assets.plan.patch import Patch, overlay, restated
from backfill_assets.plan.plan import Facts
from backfill_assets.snapshots.model import Project
from backfill_assets.state.environment import Pointer, Segment, as_written
from backfill_assets.state.versions import Version


def pin(
    project: Project, facts: Facts, versions: Mapping[tuple[str, str], Version], name: str, intervals: Ranges
) -> Pointer:
    """A pointer that shows these intervals of a model, and nothing that was written since the facts were read.

    What was restated and published stays as it is.
    """
    model, version = project.models[name], project.fingerprints[name]
    return Pointer(
        model=name,
        time_column=model.time_column,
        timestamps=model.cadence is Cadence.HOURLY,
        columns=as_written(versions[name, version].columns, project.columns.get(name, ())),
        segments=overlay(
            [Segment(version=version, commit=facts.heads[name], interval=part) for part in intervals],
            restated(facts.environment.pointers.get(name), version),
        ),
    )


def patched(facts: Facts, name: str, patch: Patch) -> Pointer:
    """What the environment shows of a model, with the patch's intervals from the patch's table."""
    shown = facts.environment.pointers[name]
    return replace(shown, segments=overlay(shown.segments, patch.segments(facts.patched_heads[patch.version])))
