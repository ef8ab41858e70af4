"""What did a version's code say? A model as a record that can be executed again while newer code is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, cast

from backfill_assets.core.codec import from_plain, to_plain
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import utc
from backfill_assets.core.model import ALL, Audit, Model, Project, Signature, Source, Upstream, deciding_options
from backfill_assets.project.algorithm import ALGORITHM, BY_PLACE, named_by
from backfill_assets.project.locations import plain_path
from backfill_assets.project.object_store import is_s3, plain_uri
from backfill_assets.project.spark_settings import settings_that_count

_ALWAYS = (
    "language", "code", "description", "owner", "time_column", "lookback", "batch_size", "batch_concurrency", "retries",
    "timeout", "pool", "path", "cadence", "start", "end", "grain", "spark", "upstreams", "columns",
)  # fmt: skip
_LATER = (
    "text", "files", "write", "dedupe", "updated_at", "slices", "mask", "unmask", "tolerance", "code_version",
)  # fmt: skip
"""What the first releases did not write."""
_IF_SAID = ("ready", "time_zone")
"""What is written only where a header says it."""
_UNREAD = ("helpers", "same_as", "allow_nondeterministic")
"""What the model that is read back does not have."""


OF_ANY_DAYS = ("settle", "retries", "timeout", "pool")
"""What of a header is no part of a version, but what `HeaderThen` has."""
OF_ITS_DAYS = ("ready", "batch_size", "batch_concurrency")
"""What is neither, and means something else by days of another cadence or zone."""


def as_said(model: Model, loaded: Model, names: Iterable[str]) -> Model:
    """The model with these of another header."""
    return replace(model, **{name: getattr(loaded, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderThen:
    """What a model's header said at some time of what is no part of its version."""

    audits: tuple[Audit, ...]
    grain: tuple[str, ...]
    """What its rows were held against; empty: not known."""
    mask: tuple[str, ...] = ()
    start: datetime | None = None
    """None: not known."""
    end: datetime | None = None
    until: datetime | None = None
    """How far it was shown then; None: not known, nor where it ended."""

    @classmethod
    def now(cls, model: Model) -> HeaderThen:
        """What it says."""
        return cls(audits=model.audits, grain=model.grain, mask=model.mask, start=model.start, end=model.end)

    @classmethod
    def of(cls, definition: Mapping[str, object]) -> HeaderThen | None:
        """That of a version's record; None where an earlier release made it, and it does not say it."""
        if "audits" not in definition:
            return None
        said = cast("Mapping[str, Any]", definition)
        start, end = (utc(said[name]) if said.get(name) else None for name in ("start", "end"))
        mask, grain = tuple(said.get("mask") or ()), tuple(said["grain"])
        return cls(audits=audits_from_json(said["audits"]), grain=grain, mask=mask, start=start, end=end)


def to_definition(model: Model) -> dict[str, object]:
    """The model as plain JSON values."""
    plain: dict[str, object] = {name: to_plain(getattr(model, name)) for name in (*_ALWAYS, *_LATER, *_UNREAD)}
    plain |= {name: said for name in _IF_SAID if (said := to_plain(getattr(model, name)))}
    return plain | {"audits": audits_json(model.audits), "contract": to_plain(model.terms)}


def made_from(project: Project, model: Model) -> dict[str, object]:
    """What else its signature is made of, so that another release can make it again."""
    read = [project.sources[u.name] for u in model.upstreams if u.name in project.sources]
    return {
        "algorithm": ALGORITHM,
        "project": {"sources": {s.name: s.declared for s in read}, "spark": dict(project.settings.spark)},
    }


UNSAID = "its record does not say from what it was published: an earlier release made it"
PUT_BACK = "put back what was there, or promote what is declared now; then backfill routine"
"""What helps where a model is not extended, as it would read something else than what was published."""


def declared_otherwise(project: Project, model: Model, stored: Mapping[str, object], signature: Signature) -> str:
    """Why a version is not made from what its record says, were it built by this project; "" where it is.

    `model` is as stored; `signature` the version's, which says what of a source's columns it reads.
    """
    return next(what_is_otherwise(project, model, stored, signature), "")


def what_is_otherwise(
    project: Project, model: Model, stored: Mapping[str, object], signature: Signature
) -> Iterator[str]:
    """All of these reasons."""
    if "project" not in stored:
        yield UNSAID
        return
    then = cast(Mapping[str, Mapping[str, str]], stored["project"])
    for upstream in model.upstreams:
        if (source := project.sources.get(upstream.name)) is None:
            continue
        if source.name not in then["sources"] or _place(then["sources"][source.name]) != _place(source.declared):
            yield f"its source {source.name} is declared otherwise than when it was published"
            continue
        # Records of older releases may have columns by name, which says nothing of their places.
        ordered = named_by(stored) >= BY_PLACE
        yield from _columns_otherwise(source, upstream, then["sources"][source.name], signature, ordered=ordered)
    if settings_that_count(then["spark"]) != settings_that_count(project.settings.spark):
        yield "the Spark settings are others than when it was published"


def _place(declared: str) -> tuple[object, ...]:
    """What decides which rows a source has, of its entry."""
    entry: Mapping[str, Any] = json.loads(declared) if declared else {}
    path = entry.get("path")
    options: Mapping[str, object] = entry.get("options") or {}
    said = {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
    return (
        entry.get("format") or "delta",
        plain_path(plain_uri(path) if is_s3(path) else path) if path else None,
        entry.get("table"),
        deciding_options(said),
    )


def _columns_otherwise(
    source: Source, upstream: Upstream, declared: str, signature: Signature, *, ordered: bool
) -> Iterator[str]:
    """Which columns have another type by now, or are gone, or came, so that the version would read something else.

    Of code that nobody looks into that is any column; one that came reaches no code that is given the columns that it
    was made from. Nothing, where the entry of then, or that of now, says no columns.
    """
    entry: Mapping[str, Any] = json.loads(declared) if declared else {}
    then = {name.lower(): said.get("type") or "" for name, said in cast(Any, entry.get("columns") or {}).items()}
    now = {c.name.lower(): c.type or "" for c in source.columns}
    if not then or not now:
        return
    said = source.columns_by == "place" and (ordered or list(then) != sorted(then))
    places = [list(columns) for columns in (then, now)] if said else []
    refs = signature.row_reads.union(*signature.column_reads.values())
    whole = not refs
    reads = {r.column for r in refs if r.table == source.name}
    would = {r.column for r in signature.would_read if r.table == source.name}
    for name, type_ in then.items():
        read = whole or name in reads
        if name in now and now[name] != type_ and read:
            where = f"column {name} of its source {source.name}"
            yield f"{where} is {_type(now[name])} by now, and was {_type(type_)} when it was published"
        elif name not in now and (read or ALL in would):
            yield f"column {name} of its source {source.name} is gone, and was there when it was published"
        elif name in now and read and len({columns.index(name) for columns in places}) > 1:
            yield f"column {name} of its source {source.name}, whose files have no names for it, is at another place"
    given = {c.lower() for c in upstream.columns}
    if given and given <= now.keys():
        return
    for name in (n for n in now if n not in then):
        if whole or ALL in would or name in would:
            yield f"column {name} of its source {source.name} is there by now, and was not when it was published"


def _type(known: str) -> str:
    return known or "of a type that nobody declares"


def audits_json(audits: Iterable[Audit]) -> list[dict[str, object]]:
    """Audits as plain JSON values."""
    return [{"name": a.name, "kind": a.kind, "arguments": dict(a.arguments), "blocking": a.blocking} for a in audits]


def audits_from_json(said: Sequence[Mapping[str, Any]]) -> tuple[Audit, ...]:
    """Audits from the JSON that `audits_json` wrote."""
    return tuple(Audit(name=a["name"], kind=a["kind"], arguments=a["arguments"], blocking=a["blocking"]) for a in said)


def from_definition(name: str, version: str, stored: Mapping[str, object]) -> Model:
    """The model that a version was built by.

    Raises StateError when it cannot be executed as it was: a Python model may find other files of the project by now
    where its record has none of their texts, and a record of an earlier release lacks parts.
    """
    if missing := _not_stored(stored):
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"it reads {', '.join(missing)}, which may be {'another' if len(missing) == 1 else 'others'} now",
            fix="load the code that it was built by, or put what it needs into the model's own file",
        )
    return described(name, version, stored)


def _not_stored(stored: Mapping[str, object]) -> list[str]:
    """The project's files that a Python model takes from disk: data, and modules whose texts its record has not.

    What is imported is found by its text; one whose name the code writes out may be opened as well.
    """
    texts = cast(Mapping[str, str], stored.get("files") or {})
    helpers = cast(Sequence[str], stored.get("helpers") or ())
    return [h for h in helpers if h not in texts or any(PurePosixPath(h).name in text for text in texts.values())]


def described(name: str, version: str, stored: Mapping[str, object]) -> Model:
    """The model that a version was built by, to look at, not to execute. Raises StateError when the record is old."""
    try:
        said: dict[str, Any] = {n: stored[n] for n in _ALWAYS}
        said |= {n: stored[n] for n in (*_LATER, *_IF_SAID) if n in stored}
        audits = audits_from_json(cast(Any, stored["audits"]))
        return replace(from_plain(Model, said | {"name": name, "terms": stored.get("contract") or {}}), audits=audits)
    except KeyError as error:
        raise StateError(
            f"version {version} of {name} cannot be extended by its stored code",
            why=f"its record has no {error}: an earlier release made it",
            fix="load the code that it was built by",
        ) from None
