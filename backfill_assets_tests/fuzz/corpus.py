"""Pairs from a file: one JSON object a line.

`{"old": …, "new": …}`: two Spark SQL queries over the fuzzer's own tables (see `data.py`), or over those of `tables`:
`{"t": {"columns": {"id": "int"}, "key": ["id"], "rows": [[1], [null]]}}`; dates and timestamps are texts, `key` is
what an audit finds unique. With `upstream`, models that are read and stay: `{"m": "SELECT …"}`; `old` and `new` may
also be objects of several models, `{"a": "SELECT …", "b": "SELECT … FROM a"}`, in the order in which they read each
other. `what` says what it is about. Other keys, blank lines and lines that begin with # are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from backfill_assets_tests.fuzz.case import Pair, TableSpec
from backfill_assets_tests.fuzz.data import DATASETS, PORTABLE, SPARK, rows

DIRECTED = Path(__file__).parent / "directed.jsonl"
"""A pair or more of each class of which something untrue was once said."""


def read_corpus(path: Path, *, spark: bool, datasets: Sequence[int] = range(DATASETS)) -> Iterator[Pair]:
    """The pairs of a file; those over the fuzzer's tables once for each set of rows. ValueError names a bad line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            yield from _pairs(json.loads(line), f"{path.name}:{number}", spark, datasets)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}:{number}: not a pair: {type(error).__name__}: {error}") from None


def _pairs(entry: Mapping[str, Any], place: str, spark: bool, datasets: Sequence[int]) -> Iterator[Pair]:
    old, new = ({**entry.get("upstream", {}), **_models(entry[side])} for side in ("old", "new"))
    if list(old) != list(new):
        raise ValueError("`old` and `new` are of different models")
    kind = entry.get("what") or place
    if "tables" in entry:
        tables = {name: _table(said) for name, said in entry["tables"].items()}
        there = {
            name: tuple(tuple(_value(v) for v in row) for row in said["rows"]) for name, said in entry["tables"].items()
        }
        yield Pair(old=old, new=new, kind=kind, tables=tables, rows=there)
        return
    tables = SPARK if spark else PORTABLE
    for dataset in datasets:
        yield Pair(old=old, new=new, kind=kind, tables=tables, rows=rows(dataset), dataset=dataset)


def _models(said: object) -> dict[str, str]:
    return {"model": said} if isinstance(said, str) else {str(n): str(t) for n, t in dict(said).items()}  # type: ignore[call-overload]


def _table(said: Mapping[str, Any]) -> TableSpec:
    key = said.get("key")
    return TableSpec(columns=dict(said["columns"]), key=frozenset(key) if key else None)


def _value(value: object) -> object:
    return tuple(map(_value, value)) if isinstance(value, list) else value
