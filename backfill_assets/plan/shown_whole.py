"""What of a model is over because an environment shows it whole, whatever `ready` says by now?

A `ready` that is written, or ticks later, holds back what comes. It makes no open interval of a published one: that
would be built as a part, and parts are replaced without an approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backfill_assets.core.intervals import NOTHING
from backfill_assets.core.model import Model, Project
from backfill_assets.core.pointer import Pointer
from backfill_assets.state.shown_state import ShownState


def with_shown_whole(
    project: Project,
    pointers: Mapping[str, Pointer],
    standing: Mapping[str, ShownState],
    zones: Mapping[str, str],
) -> Project:
    """The project, its models with the end of what is shown of them and was not built as a part. `standing` says what
    was. By days of another zone (`zones`: of those that are shown) nothing is said of a model's own."""

    def one(model: Model) -> Model:
        pointer, state = pointers.get(model.name), standing.get(model.name)
        if pointer is None or not model.waits or zones.get(model.name, model.time_zone) != model.time_zone:
            return model
        whole = (pointer.covers - (state.partial if state else NOTHING)).span
        return replace(model, whole_until=whole.end) if whole else model

    return replace(project, models={name: one(model) for name, model in project.models.items()})
