"""How is a diff stored? As plain JSON values that read back to the same diff; decimals stay exact, as text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from backfill_assets.compare.diff import (
    ColumnMove,
    Diff,
    Kind,
    ModelDiff,
    RowCounts,
    RowGroup,
    Sample,
    Slice,
    Stats,
    Value,
)
from backfill_assets.core.codec import from_plain, to_plain

Json = dict[str, Any]
_RENAMED = {"proofs": "unchanged_by_proof", "old_keys": "keys"}
_APART = frozenset({"total", "days", "slices", "samples"})
"""What is not stored as its fields are."""
_VALUES = ("sum", "p50", "p95", "min", "max")
_READ: Mapping[Kind, Callable[[Any], Value]] = {"decimal": Decimal, "float": float, "integer": int}


def diff_to_json(diff: Diff) -> Json:
    """Times are ISO 8601 UTC, ranges half-open pairs; decimals, NaN and infinities are text."""
    return {"old": diff.old, "new": diff.new, "models": [_model(to_plain(m)) for m in diff.models]}


def diff_from_json(raw: Mapping[str, Any]) -> Diff:
    """The diff that `diff_to_json` gave."""
    return Diff(old=raw["old"], new=raw["new"], models=tuple(map(_model_back, raw["models"])))


def diff_id(diff: Diff) -> str:
    """A hash of all that it says."""
    return hashlib.sha256(json.dumps(diff_to_json(diff), sort_keys=True).encode()).hexdigest()[:16]


def _model(said: Json) -> Json:
    if not said["distributions"]:
        del said["distributions"]  # as diffs were written before there were any: their hash stays
    if not said["until"]:
        del said["until"]  # the same
    for column in said["columns"]:
        if not column["was"]:
            del column["was"]  # the same
    said["old_keys"] = {"old": said["old_keys"], "new": said.pop("new_keys")}
    return {_RENAMED.get(name, name): value for name, value in said.items()} | {
        "total": _group(said["total"]),
        "days": [_group(g) for g in said["days"]],
        "slices": [
            {"column": s["column"], "complete": s["complete"], "groups": [_group(g) for g in s["groups"]]}
            for s in said["slices"]
        ],
        "samples": [s | {side: dict(s[side]) for side in ("key", "old", "new")} for s in said["samples"]],
    }


def _group(said: Json) -> Json:
    return {"name": said["name"], "rows": said["rows"], "columns": {m.pop("column"): m for m in said["moves"]}}


def _model_back(raw: Json) -> ModelDiff:
    keys = {"old_keys": raw["keys"]["old"], "new_keys": raw["keys"]["new"]}
    plain = {name: value for name, value in raw.items() if name not in _APART}
    found = from_plain(ModelDiff, plain | keys | {"proofs": raw["unchanged_by_proof"]})
    kinds: dict[str, Kind] = {c.name: c.kind for c in found.columns}
    return replace(
        found,
        total=_group_back(raw["total"], kinds),
        days=tuple(_group_back(g, kinds) for g in raw["days"]),
        slices=tuple(
            Slice(column=s["column"], complete=s["complete"], groups=tuple(_group_back(g, kinds) for g in s["groups"]))
            for s in raw["slices"]
        ),
        samples=tuple(
            from_plain(Sample, s | {side: [list(pair) for pair in s[side].items()] for side in ("key", "old", "new")})
            for s in raw["samples"]
        ),
    )


def _group_back(raw: Json, kinds: Mapping[str, Kind]) -> RowGroup:
    return RowGroup(
        name=raw["name"],
        rows=from_plain(RowCounts, raw["rows"]),
        moves=tuple(
            ColumnMove(
                column=name,
                changed=m["changed"],
                old=_stats_back(m["old"], kinds[name]),
                new=_stats_back(m["new"], kinds[name]),
            )
            for name, m in raw["columns"].items()
        ),
    )


def _stats_back(raw: Json | None, kind: Kind) -> Stats | None:
    if raw is None:
        return None
    read = _READ.get(kind, str)
    values = {name: None if raw[name] is None else read(raw[name]) for name in _VALUES}
    mean = None if raw["mean"] is None else float(raw["mean"])
    return Stats(nulls=raw["nulls"], distinct=raw["distinct"], mean=mean, **cast(dict[str, Any], values))
