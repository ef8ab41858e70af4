"""Do models of local days fit what they read: other models by the zones of their days, and instants by their code?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Column, Model, Source
from backfill_assets.project.draft import Draft
from backfill_assets.project.outputs import Outputs
from backfill_assets.sql.bare_bounds import bare_bounds, utc_day


def zone_problems(models: Mapping[str, Model], drafts: Mapping[str, Draft]) -> Iterator[Problem]:
    """A problem for each model that reads days which are not its own: nobody could say which hours they have in common.

    Local days may consist of hours and days of UTC, whose beginnings and ends are known, and of local days of the same
    zone.
    """
    for model in models.values():
        for upstream in (models[u.name] for u in model.upstreams if u.name in models):
            if (found := _misfit(model, upstream)) is not None:
                why, fix = found
                what = f"`{model.name}` cannot read `{upstream.name}`"
                draft = drafts[model.name]
                reads = (r.line for r in draft.reads if r.name.lower() == upstream.name.lower())
                yield draft.problem(next(reads, draft.line), what=what, why=why, fix=fix)


def misread_bounds(draft: Draft, outputs: Outputs, columns: Mapping[str, Sequence[Column]]) -> Iterator[Problem]:
    """A problem for each place where code of local days takes their dates for instants; `columns` are those of each
    model and source. Of Python only what compiles to SQL can be looked at."""
    zone = draft.header.time_zone if draft.header else ""
    if not zone:
        return
    tables = {key: columns.get(name, ()) for key, name in outputs.names.items()}
    python = draft.language == "python"
    for found in bare_bounds(outputs.scopes, tables):
        said = f"interval.{found.end}" if python else f":{found.end}"
        call = f"F.to_utc_timestamp(F.lit({said}), '{zone}')" if python else f"to_utc_timestamp({said}, '{zone}')"
        yield draft.problem(
            draft.line if python else draft.code_line + found.line - 1,
            what=f"`{found.column}` is an instant, and `{said}` the date of a local day",
            why=f"Spark would compare it with the midnight of UTC, and leave out hours of {zone}",
            fix=f"write `{call}`, the instant at which that day begins",
        )
    if draft.header and (day := utc_day(outputs.scopes, tables, draft.header.time_column)):
        yield draft.problem(
            draft.line if python else draft.code_line + day.line - 1,
            what=f"`{draft.header.time_column}` is the day of UTC of `{day.column}`",
            why=f"the model has the days of {zone}",
            fix=f"write `CAST(from_utc_timestamp({day.column}, '{zone}') AS DATE)`",
        )


def unnamed_zone(
    draft: Draft, model: Model, models: Mapping[str, Model], sources: Mapping[str, Source]
) -> Iterator[Problem]:
    """A warning where a query reads instants and names no zone, or another one than the header."""
    zone = model.time_zone if model.language == "sql" else ""
    reads = [name for name in dict.fromkeys(u.name for u in model.upstreams) if _has_instants(name, models, sources)]
    if zone and reads and zone not in draft.code:
        yield draft.problem(
            draft.line,
            what=f"the code of `{model.name}` does not name {zone}, whose days it has",
            why=f"it reads instants of UTC from {', '.join(reads)}, which must become local days",
            fix=f"convert them: `CAST(from_utc_timestamp(…, '{zone}') AS DATE) AS {model.time_column}`",
        )


def _has_instants(name: str, models: Mapping[str, Model], sources: Mapping[str, Source]) -> bool:
    if name in models:
        return models[name].cadence is Cadence.HOURLY
    column = (sources[name].time_column or "").lower()
    return any(c.name.lower() == column and (c.type or "").startswith("timestamp") for c in sources[name].columns)


def _misfit(model: Model, upstream: Model) -> tuple[str, str] | None:
    if upstream.time_zone == model.time_zone:
        return None
    days = f"{_days(upstream)}; `{model.name}` has {_days(model)}"
    if upstream.time_zone:
        if model.cadence is Cadence.HOURLY:
            return f"it has {days}", f"read what `{upstream.name}` reads"
        fix = f"write `time_zone: {upstream.time_zone}` into its header, or read what `{upstream.name}` reads"
        return f"it has {days}", fix
    if upstream.cadence in (Cadence.HOURLY, Cadence.DAILY):
        return None
    fix = f"read what `{upstream.name}` reads, or write `time_zone: {model.time_zone}` into the header of that"
    return f"it has {upstream.cadence.unit}s of UTC, which begin within days of {model.time_zone}", fix


def _days(model: Model) -> str:
    return f"{model.cadence.unit}s of {model.time_zone or 'UTC'}"
