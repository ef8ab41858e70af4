"""Which models are built up to the clock, as nobody can tell how far their sources reach?"""

from __future__ import annotations

from collections.abc import Collection

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Model, Project, Source
from backfill_assets.core.wording import listed
from backfill_assets.plan.stages import Build, Plan, PlanWarning

_OF_TEXTS = """\
it is more than what is read for that (64 MB, 5,000 files), or where nobody looks, or its options or values do not say \
a time"""
_WHY = {
    "csv": _OF_TEXTS,
    "json": _OF_TEXTS,
    "parquet": "its files do not say how far the column reaches, and to read it is more than is done for that (1 GB, "
    "5,000 files), or where nobody looks, or some lack the column, or it is of no time",
    "delta": "its log says nothing of the column for some files: it has statistics of the first 32 columns by default",
}


def unknown_days(project: Project, plan: Plan, known: Collection[str]) -> tuple[PlanWarning, ...]:
    """A warning for each source of which it is not `known` for which days it has rows, and that a model reads of which
    nothing refuses days without rows."""
    if plan.request.restate or plan.request.end:
        return ()
    building = {stage.model for stage in plan.stages if isinstance(stage, Build)}
    found: list[PlanWarning] = []
    for name in (n for n in plan.sources if n in project.sources and n not in known):
        source = project.sources[name]
        if source.time_column is None or not source.cut_off or source.ready:
            continue
        readers = [n for n in project.models if n in building and _open_ended(project.models[n], name)]
        if readers:
            are = "is" if len(readers) == 1 else "are"
            what = f"how far {name} reaches cannot be told: {listed(readers)} {are} built up to the clock"
            warning = PlanWarning(
                model=readers[0],
                place=Problem(file=source.file, line=source.line, what=what).place(project.root),
                what=what,
                why=f"{_why(source)}; a day that has not come is built without rows, and passes for complete",
                fix="write a `completeness` audit or an `end:` into the model's header; or `cut_off: false` at the "
                "source, if days may be without rows",
            )
            found.append(warning)
    return tuple(found)


def _why(source: Source) -> str:
    if source.path is None:
        return "it is a table of a catalog, into which plans do not look"
    return _WHY.get(source.format, f"no plan looks into {source.format}")


def _open_ended(model: Model, source: str) -> bool:
    """Whether a model reads a source, and nothing refuses its days without rows."""
    reads = any(upstream.name == source for upstream in model.upstreams)
    refused = any(audit.kind == "completeness" and audit.blocking for audit in model.audits)
    return reads and model.end is None and not refused
