"""What may a reader of a model rely on? Its columns, what is in them, its grain and its partitions, as one value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from backfill_assets.audits.reads import texts
from backfill_assets.core.calendar import Calendar
from backfill_assets.core.codec import as_list
from backfill_assets.core.model import Audit, Project
from backfill_assets.state.versions import Version


@as_list
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a contract says of one column. `type` is a Spark type, None when nobody knows it."""

    name: str
    type: str | None = None
    nullable: bool = True
    """Whether NULL may be in it: no blocking audit says otherwise."""
    values: tuple[str, ...] | None = None
    """All values that a blocking audit accepts, sorted; None: any."""
    semantics: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a model promises. Column names are lower-cased: Spark does not tell case apart."""

    columns: tuple[Promise, ...]
    grain: tuple[str, ...]
    time_column: str
    """The table is partitioned by it."""
    cadence: str
    """With the zone of its days, where it has one."""

    @property
    def time_zone(self) -> str:
        """The time zone of `cadence`; "": UTC."""
        return self.cadence.partition(" in ")[2]


def promised(project: Project, name: str, built: Version | None = None) -> Contract:
    """What the loaded code promises of a model. `built` is its version's record, if any: that has exact types."""
    model = project.models[name]
    known = dict(built.columns) if built else {}
    resolved = project.columns.get(name, model.columns)
    columns = {c.name: known.get(c.name, c.type) for c in resolved} or known
    return _contract(
        columns, model.audits, model.terms.semantics,
        grain=model.grain, time_column=model.time_column, calendar=model.calendar,
    )  # fmt: skip


def published_contract(record: Version | None) -> Contract | None:
    """What a version promised when it was made; None when its record does not say."""
    if record is None or not {"audits", "grain", "time_column", "cadence"} <= set(record.definition):
        return None
    said = cast(Mapping[str, Any], record.definition)
    audits = [
        Audit(name=a["name"], kind=a["kind"], arguments=_arguments(a["arguments"]), blocking=a["blocking"])
        for a in said["audits"]
    ]
    return _contract(
        dict(record.columns), audits, (said.get("contract") or {}).get("semantics", {}),
        grain=said["grain"], time_column=said["time_column"], calendar=Calendar.of_definition(said),
    )  # fmt: skip


def _contract(
    columns: Mapping[str, str | None], audits: Iterable[Audit], semantics: Mapping[str, str],
    *, grain: Collection[str], time_column: str, calendar: Calendar,
) -> Contract:  # fmt: skip
    blocking = [a for a in audits if a.blocking]
    complete = [a for a in blocking if a.kind == "not_null" and not a.arguments.get("where")]
    filled = {c.lower() for a in complete for c in texts(a.arguments["columns"])} | {time_column.lower()}
    accepted: dict[str, set[str]] = {}
    for audit in blocking:
        match audit.arguments:
            case {"column": str() as column, "values": tuple() as values} if audit.kind == "accepted_values":
                these = {str(v) for v in values}
                accepted[column.lower()] = accepted.get(column.lower(), these) & these
            case _:
                pass
    meanings = {name.lower(): " ".join(text.split()) for name, text in semantics.items()}
    return Contract(
        columns=tuple(
            Promise(
                name=name.lower(),
                type=kind,
                nullable=name.lower() not in filled,
                values=tuple(sorted(accepted[name.lower()])) if name.lower() in accepted else None,
                semantics=meanings.get(name.lower(), ""),
            )
            for name, kind in columns.items()
        ),
        grain=tuple(c.lower() for c in grain),
        time_column=time_column.lower(),
        cadence=str(calendar),
    )


def _arguments(stored: Mapping[str, object]) -> dict[str, object]:
    """JSON knows no tuples."""
    return {k: tuple(cast("list[object]", v)) if isinstance(v, list) else v for k, v in stored.items()}
