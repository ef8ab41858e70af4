"""What points at intervals of a version, or of a restatement? At the commit that their coverage was seen at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.core.intervals import NOTHING, Cadence, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.pointer import Pointer, as_written
from backfill_assets.core.segments import Segments
from backfill_assets.plan.dropped_columns import view_columns
from backfill_assets.plan.facts import Facts
from backfill_assets.plan.patch import Patch, kept_segments
from backfill_assets.state.versions import Version


def pin(
    project: Project,
    facts: Facts,
    versions: Mapping[tuple[str, str], Version],
    name: str,
    intervals: Ranges,
    held: Ranges = NOTHING,
) -> Pointer:
    """A pointer that shows these intervals of a model, and nothing that was written since the facts were read.

    `held` intervals stay at the commit that they are shown at, and so does what is shown of the version where its table
    has other rows by now.
    What is shown beside the version's own table stays as it is: corrections, and older rows of a change made forward
    only.
    """
    model, version = project.models[name], project.fingerprints[name]
    stays = facts.tables.coverage[name].shown_apart
    shown = facts.environment.pointers.get(name)
    own = Segments(
        (
            *Segments.of_table(version, facts.tables.heads[name], intervals - stays.covers),
            *stays.cut(intervals),
            *(shown.segments.cut(held) if shown else ()),
        )
    )
    return Pointer(
        model=name,
        time_column=model.time_column,
        timestamps=model.cadence is Cadence.HOURLY,
        columns=as_written(view_columns(project, name, versions[name, version].columns), project.columns.get(name, ())),
        segments=shown_beside(facts, name, version).over(own),
    )


def shown_beside(facts: Facts, name: str, version: str) -> Segments:
    """The segments of other tables that a pointer of this version keeps. What is of older logic leaves it by a patch
    only, together with what reads it."""
    return kept_segments(facts.environment.pointers.get(name), version)


def patched(
    project: Project, facts: Facts, versions: Mapping[tuple[str, str], Version], name: str, patch: Patch
) -> Pointer:
    """What the environment shows of a model, with the patch's intervals from the patch's table."""
    shown, record = facts.environment.pointers[name], versions[name, patch.version]
    columns = as_written(view_columns(project, name, record.columns), project.columns.get(name, ()))
    known = versions.get((name, shown.version))  # its table may have columns that the view does not list
    whole = known.columns if known and set(shown.columns) <= set(known.columns) else shown.columns
    below = Segments(replace(s, columns=_other(s.columns or whole, columns)) for s in patch.below or shown.segments)
    above = patch.segments(facts.tables.head(name, patch.version))
    return replace(shown, columns=columns, segments=above.over(below))


def _other(there: tuple[tuple[str, str], ...], wanted: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return there if set(wanted) - set(there) else ()
