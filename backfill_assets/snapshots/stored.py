"""What did a version's code say? A model as a record that can be executed again while newer code is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from backfill_assets.errors import StateError
from backfill_assets.intervals import Cadence, utc
from backfill_assets.snapshots.model import Audit, Column, Model, Rule, Terms, Upstream

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
        "spark": dict(model.spark),
        "helpers": list(model.helpers),
        "upstreams": [[u.name, u.parameter] for u in model.upstreams],
        "columns": [[c.name, c.type, c.description] for c in model.columns],
        "audits": [
            {"name": a.name, "kind": a.kind, "arguments": dict(a.arguments), "blocking": a.blocking}
            for a in model.audits
        ],
        "contract": terms_json(model.terms),
    }


def terms_json(terms: Terms) -> dict[str, object]:
    """What a header's `contract:` promised, as plain JSON values."""
    return {
        "semantics": dict(terms.semantics),
        "deletes": terms.deletes,
        "late_rows": terms.late_rows,
        "rules": [[r.text, r.since and r.since.isoformat(), r.until and r.until.isoformat()] for r in terms.rules],
        "validation_owner": terms.validation_owner,
    }


def terms_from_json(said: Mapping[str, Any]) -> Terms:
    """The same back; a record of an earlier release promised nothing."""
    if not said:
        return Terms()
    return Terms(
        semantics=said["semantics"],
        deletes=said["deletes"],
        late_rows=said["late_rows"],
        rules=tuple(
            Rule(text=t, since=utc(a) if a else None, until=utc(b) if b else None) for t, a, b in said["rules"]
        ),
        validation_owner=said["validation_owner"],
    )


def from_definition(name: str, version: str, stored: Mapping[str, object]) -> Model:
    """The model that a version was built by.

    Raises StateError when it cannot be executed as it was: a Python model whose helper modules are files of the project
    may find others there now, and a record of an earlier release lacks parts.
    """
    if helpers := cast(Sequence[str], stored.get("helpers") or ()):
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"it imports {', '.join(helpers)}, which may be others now",
            fix="load the code that it was built by, or put what it needs into the model's own file",
        )
    return described(name, version, stored)


def described(name: str, version: str, stored: Mapping[str, object]) -> Model:
    """The model that a version was built by, to look at, not to execute. Raises StateError when the record is old."""
    said = cast(Mapping[str, Any], stored)
    try:
        return Model(
            name=name,
            path=Path(said["path"]),
            cadence=Cadence(said["cadence"]),
            start=utc(said["start"]),
            end=utc(said["end"]) if said["end"] else None,
            grain=tuple(said["grain"]),
            spark=said["spark"],
            upstreams=tuple(Upstream(name=n, parameter=p) for n, p in said["upstreams"]),
            columns=tuple(Column(name=n, type=t, description=d) for n, t, d in said["columns"]),
            audits=tuple(
                Audit(name=a["name"], kind=a["kind"], arguments=a["arguments"], blocking=a["blocking"])
                for a in said["audits"]
            ),
            terms=terms_from_json(said.get("contract") or {}),
            **{field: said[field] for field in _PLAIN},
        )
    except KeyError as error:
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"its record has no {error}: an earlier release made it",
            fix="load the code that it was built by",
        ) from None
