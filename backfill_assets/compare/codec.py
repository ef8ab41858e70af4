"""How is a diff stored? As plain JSON values that read back to the same diff; decimals stay exact, as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from backfill_assets.compare.diff import (
    Diff,
    DiffColumn,
    Group,
    Keys,
    Kind,
    ModelDiff,
    Move,
    Proof,
    Rows,
    Sample,
    Slice,
    Stats,
    Value,
)
from backfill_assets.core.intervals import Interval, Ranges, utc

Json = dict[str, Any]
_ROWS = ("old", "new", "unchanged", "changed", "added", "removed", "unpaired_old", "unpaired_new")
_KEYS = ("null_rows", "duplicate_keys", "duplicate_rows")
_VALUES = ("sum", "p50", "p95", "min", "max")


def diff_to_json(diff: Diff) -> Json:
    """Times are ISO 8601 UTC, ranges half-open pairs; decimals, NaN and infinities are text."""
    return {"old": diff.old, "new": diff.new, "models": [_model(m) for m in diff.models]}


def diff_from_json(raw: Mapping[str, Any]) -> Diff:
    """The diff that `Diff.to_json` gave."""
    return Diff(old=raw["old"], new=raw["new"], models=tuple(_model_back(m) for m in raw["models"]))


def _model(m: ModelDiff) -> Json:
    return {
        "model": m.model,
        "grain": list(m.grain),
        "time_column": m.time_column,
        "tolerance": m.tolerance,
        "old": list(m.old),
        "new": list(m.new),
        "compared": _ranges(m.compared),
        "unchanged_by_proof": [
            {"interval": _pair(p.interval), "version": p.version, "commits": list(p.commits), "rows": p.rows}
            for p in m.proofs
        ],
        "only_old": _ranges(m.only_old),
        "only_new": _ranges(m.only_new),
        "keys": {"old": _fields(m.old_keys, _KEYS), "new": _fields(m.new_keys, _KEYS)},
        "columns": [
            {
                "name": c.name,
                "kind": c.kind,
                "old_type": c.old_type,
                "new_type": c.new_type,
                "key": c.key,
                "masked": c.masked,
            }
            for c in m.columns
        ],
        "total": _group(m.total),
        "days": [_group(g) for g in m.days],
        "slices": [
            {"column": s.column, "complete": s.complete, "groups": [_group(g) for g in s.groups]} for s in m.slices
        ],
        "samples": [{"kind": s.kind, "key": dict(s.key), "old": dict(s.old), "new": dict(s.new)} for s in m.samples],
    }


def _group(group: Group) -> Json:
    return {
        "name": group.name,
        "rows": _fields(group.rows, _ROWS),
        "columns": {m.column: {"changed": m.changed, "old": _stats(m.old), "new": _stats(m.new)} for m in group.moves},
    }


def _stats(stats: Stats | None) -> Json | None:
    if stats is None:
        return None
    plain = {"nulls": stats.nulls, "distinct": stats.distinct, "mean": _plain(stats.mean)}
    return plain | {name: _plain(getattr(stats, name)) for name in _VALUES}


def _plain(value: Value) -> object:
    return (
        str(value) if isinstance(value, Decimal) or (isinstance(value, float) and not math.isfinite(value)) else value
    )


def _fields(value: object, names: Sequence[str]) -> Json:
    return {name: getattr(value, name) for name in names}


def _pair(interval: Interval) -> list[str]:
    return [interval.start.isoformat(), interval.end.isoformat()]


def _ranges(ranges: Ranges) -> list[list[str]]:
    return [_pair(i) for i in ranges]


def _model_back(raw: Json) -> ModelDiff:
    columns = tuple(DiffColumn(**c) for c in raw["columns"])
    kinds: dict[str, Kind] = {c.name: c.kind for c in columns}
    return ModelDiff(
        model=raw["model"],
        grain=tuple(raw["grain"]),
        time_column=raw["time_column"],
        tolerance=raw["tolerance"],
        old=tuple(raw["old"]),
        new=tuple(raw["new"]),
        compared=_ranges_back(raw["compared"]),
        proofs=tuple(
            Proof(
                interval=_interval(p["interval"]),
                version=p["version"],
                commits=(p["commits"][0], p["commits"][1]),
                rows=p["rows"],
            )
            for p in raw["unchanged_by_proof"]
        ),
        only_old=_ranges_back(raw["only_old"]),
        only_new=_ranges_back(raw["only_new"]),
        old_keys=Keys(**raw["keys"]["old"]),
        new_keys=Keys(**raw["keys"]["new"]),
        columns=columns,
        total=_group_back(raw["total"], kinds),
        days=tuple(_group_back(g, kinds) for g in raw["days"]),
        slices=tuple(
            Slice(column=s["column"], complete=s["complete"], groups=tuple(_group_back(g, kinds) for g in s["groups"]))
            for s in raw["slices"]
        ),
        samples=tuple(
            Sample(
                kind=s["kind"], key=tuple(s["key"].items()), old=tuple(s["old"].items()), new=tuple(s["new"].items())
            )
            for s in raw["samples"]
        ),
    )


def _group_back(raw: Json, kinds: Mapping[str, Kind]) -> Group:
    return Group(
        name=raw["name"],
        rows=Rows(**raw["rows"]),
        moves=tuple(
            Move(
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
    read: Mapping[Kind, Callable[[Any], Value]] = {"decimal": Decimal, "float": float, "integer": int}
    convert = read.get(kind, str)
    values = {name: None if raw[name] is None else convert(raw[name]) for name in _VALUES}
    mean = None if raw["mean"] is None else float(raw["mean"])
    return Stats(nulls=raw["nulls"], distinct=raw["distinct"], mean=mean, **cast(dict[str, Any], values))


def _interval(pair: Sequence[str]) -> Interval:
    return Interval(utc(pair[0]), utc(pair[1]))


def _ranges_back(raw: Sequence[Sequence[str]]) -> Ranges:
    return Ranges.of(map(_interval, raw))
