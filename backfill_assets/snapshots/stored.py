"""What did a version's code say? A model as a record that can be executed again while newer code is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from backfill_assets.errors import StateError
from backfill_assets.intervals import Cadence, utc
from backfill_assets.snapshots.model import TOLERANCE, Audit, Column, Model, Upstream

_PLAIN = (
    "language", "code", "description", "owner", "time_column", "lookback", "batch_size", "batch_concurrency", "retries",
    "timeout", "pool",
)  # fmt: skip


def to_definition(model: Model) -> dict[str, object]:
    """The model as plain JSON values."""
    plain: dict[str, object] = {name: getattr(model, name) for name in _PLAIN}
    return plain | {
        "path": str(model.path),
        "cadence": model.cadence.value,
        "start": model.start.isoformat(),
        "end": model.end and model.end.isoformat(),
        "grain": list(model.grain),
        "slices": list(model.slices),
        "mask": list(model.mask),
        "tolerance": model.tolerance,
        "spark": dict(model.spark),
        "helpers": list(model.helpers),
        "upstreams": [[u.name, u.parameter] for u in model.upstreams],
        "columns": [[c.name, c.type, c.description] for c in model.columns],
        "audits": [
            {"name": a.name, "kind": a.kind, "arguments": dict(a.arguments), "blocking": a.blocking}
            for a in model.audits
        ],
    }


def from_definition(name: str, version: str, stored: Mapping[str, object]) -> Model:
    """The model that a version was built by.

    Raises StateError when it cannot be executed as it was: a Python model whose helper modules are files of the project
    may find others there now, and a record of an earlier release lacks parts.
    """
    said = cast(Mapping[str, Any], stored)
    if said.get("helpers"):
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"it imports {', '.join(said['helpers'])}, which may be others now",
            fix="load the code that it was built by, or put what it needs into the model's own file",
        )
    try:
        return Model(
            name=name,
            path=Path(said["path"]),
            cadence=Cadence(said["cadence"]),
            start=utc(said["start"]),
            end=utc(said["end"]) if said["end"] else None,
            grain=tuple(said["grain"]),
            slices=tuple(said.get("slices", ())),
            mask=tuple(said.get("mask", ())),
            tolerance=said.get("tolerance", TOLERANCE),
            spark=said["spark"],
            upstreams=tuple(Upstream(name=n, parameter=p) for n, p in said["upstreams"]),
            columns=tuple(Column(name=n, type=t, description=d) for n, t, d in said["columns"]),
            audits=tuple(
                Audit(name=a["name"], kind=a["kind"], arguments=a["arguments"], blocking=a["blocking"])
                for a in said["audits"]
            ),
            **{field: said[field] for field in _PLAIN},
        )
    except KeyError as error:
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"its record has no {error}: an earlier release made it",
            fix="load the code that it was built by",
        ) from None
