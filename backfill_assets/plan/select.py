"""Which models did somebody mean? Names, `+name` (and all upstream), `name+` (and all downstream), `*`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backfill_assets.core.errors import UsageError
from backfill_assets.core.intervals import NOTHING, Interval, Ranges
from backfill_assets.core.model import Project
from backfill_assets.core.reach import reach
from backfill_assets.core.wording import did_you_mean
from backfill_assets.plan.missing import upstream_models


def select_models(project: Project, patterns: Sequence[str]) -> tuple[str, ...]:
    """The models that the patterns name, in dependency order; no pattern means all.

    Raises UsageError for a name that is no model.
    """
    if not patterns:
        return tuple(project.models)
    chosen: set[str] = set()
    above: list[str] = []
    below: list[str] = []
    for pattern in (part for p in patterns for part in p.replace(",", " ").split()):
        name = pattern.strip("+")
        if name == "*":
            return tuple(project.models)
        if name not in project.models:
            raise UsageError(
                f"no model named {name}",
                why=f"the project has: {', '.join(project.models) or 'no models'}",
                fix=did_you_mean(name, project.models, "name one of these, or use +name, name+ or *", quote=""),
            )
        chosen.add(name)
        if pattern.startswith("+"):
            above.append(name)
        if pattern.endswith("+"):
            below.append(name)
    if above:
        chosen.update(reach(above, lambda n: upstream_models(project, project.models[n])))
    if below:
        readers = project.readers()
        chosen.update(reach(below, lambda n: readers.get(n, ())))
    return tuple(name for name in project.models if name in chosen)


def one_of(names: Sequence[str], name: str) -> str:
    """A model that must be one of these. Raises UsageError, with the closest."""
    if name in names:
        return name
    raise UsageError(
        f"no model named {name}",
        why=f"there are: {', '.join(names) or 'no models'}",
        fix=did_you_mean(name, names, "name one of these", quote=""),
    )


def asked_of_each(project: Project, asked: Iterable[tuple[str, Interval]]) -> dict[str, Ranges]:
    """Model → its whole intervals over all that was asked of it; of one that there is not, the time as it was asked."""
    found: dict[str, Ranges] = {}
    for name, time in asked:
        model = project.models.get(name)
        whole = model.cadence.cover(time) if model else time
        found[name] = found.get(name, NOTHING) | Ranges((whole,))
    return found
