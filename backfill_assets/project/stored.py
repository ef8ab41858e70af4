"""What did a version's code say? A model as a record that can be executed again while newer code is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.core.model import TOLERANCE, Audit, Column, Model, Order, Project, Rule, Terms, Upstream
from backfill_assets.project.algorithm import ALGORITHM

_PLAIN = (
    "language", "code", "description", "owner", "time_column", "lookback", "batch_size", "batch_concurrency", "retries",
    "timeout", "pool",
)  # fmt: skip


def to_definition(model: Model) -> dict[str, object]:
    """The model as plain JSON values."""
    plain: dict[str, object] = {name: getattr(model, name) for name in _PLAIN}
    return plain | {
        "path": str(model.path),
        "text": model.text,
        "files": dict(model.files),
        "cadence": model.cadence.value,
        "start": model.start.isoformat(),
        "end": model.end and model.end.isoformat(),
        "grain": list(model.grain),
        "write": model.write,
        "dedupe": [[o.column, o.descending] for o in model.dedupe],
        "updated_at": model.updated_at,
        "slices": list(model.slices),
        "mask": list(model.mask),
        "unmask": dict(model.unmask),
        "tolerance": model.tolerance,
        "spark": dict(model.spark),
        "helpers": list(model.helpers),
        "code_version": model.code_version,
        "allow_nondeterministic": model.allow_nondeterministic,
        "same_as": asdict(model.same_as) if model.same_as else None,
        "upstreams": [[u.name, u.parameter, list(u.columns)] for u in model.upstreams],
        "columns": [[c.name, c.type, c.description] for c in model.columns],
        "audits": audits_json(model.audits),
        "contract": terms_json(model.terms),
    }


def made_from(project: Project, model: Model) -> dict[str, object]:
    """What else its signature is made of, so that another release can make it again."""
    read = [project.sources[u.name] for u in model.upstreams if u.name in project.sources]
    return {
        "algorithm": ALGORITHM,
        "project": {"sources": {s.name: s.declared for s in read}, "spark": dict(project.settings.spark)},
    }


def audits_json(audits: Iterable[Audit]) -> list[dict[str, object]]:
    """Audits as plain JSON values."""
    return [{"name": a.name, "kind": a.kind, "arguments": dict(a.arguments), "blocking": a.blocking} for a in audits]


def audits_from_json(said: Sequence[Mapping[str, Any]]) -> tuple[Audit, ...]:
    """The same back."""
    return tuple(Audit(name=a["name"], kind=a["kind"], arguments=a["arguments"], blocking=a["blocking"]) for a in said)


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
            text=said.get("text", ""),
            files=said.get("files", {}),
            cadence=Cadence(said["cadence"]),
            start=utc(said["start"]),
            end=utc(said["end"]) if said["end"] else None,
            grain=tuple(said["grain"]),
            write=said.get("write", "replace"),  # an earlier release knew no other
            dedupe=tuple(Order(column=c, descending=d) for c, d in said.get("dedupe", ())),
            updated_at=said.get("updated_at"),
            slices=tuple(said.get("slices", ())),
            mask=tuple(said.get("mask", ())),
            unmask=said.get("unmask", {}),
            tolerance=said.get("tolerance", TOLERANCE),
            spark=said["spark"],
            # An earlier release wrote no columns: its versions read them as they are in the table.
            upstreams=tuple(Upstream(name=n, parameter=p, columns=tuple(*c)) for n, p, *c in said["upstreams"]),
            columns=tuple(Column(name=n, type=t, description=d) for n, t, d in said["columns"]),
            audits=audits_from_json(said["audits"]),
            terms=terms_from_json(said.get("contract") or {}),
            code_version=said.get("code_version", ""),
            **{field: said[field] for field in _PLAIN},
        )
    except KeyError as error:
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"its record has no {error}: an earlier release made it",
            fix="load the code that it was built by",
        ) from None
