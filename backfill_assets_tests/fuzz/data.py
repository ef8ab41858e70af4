"""Over which rows are edits tried? Few values, so that keys and rows meet: NULLs, ties, mixed case, numbers as text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random

from backfill_assets_tests.fuzz.case import TableSpec

PORTABLE: Mapping[str, TableSpec] = {
    "t": TableSpec(columns={"id": "int", "x": "int", "y": "int", "g": "string", "s": "string", "ds": "date", "f": "double"}),
    "u": TableSpec(columns={"k": "int", "z": "int", "w": "string", "d": "date"}),
    "v": TableSpec(columns={"k": "int", "z": "int", "w": "string"}, key=frozenset({"k"})),
    "n": TableSpec(columns={"k": "string", "z": "int"}, key=frozenset({"k"})),
    "p": TableSpec(columns={"k": "string", "z": "int"}, key=frozenset({"k"})),
}  # fmt: skip
"""`n` has a key of texts that are numbers, `p` one of texts that are dates: several of them are one number, one date."""
SPARK: Mapping[str, TableSpec] = PORTABLE | {
    "r": TableSpec(
        columns={"id": "int", "x": "int", "a": "array<int>", "st": "struct<a:int,b:string>", "at": "timestamp", "h": "string"}
    ),
}  # fmt: skip
"""`r` has what DuckDB writes otherwise; `h` holds small JSON."""

DAYS = ("2024-01-01", "2024-01-02", "2024-02-29", "2023-12-31")
_VALUES: Mapping[str, tuple[object, ...]] = {
    "int": (None, -1, 0, 1, 2, 2, 3),
    "double": (None, 0.0, 0.5, 1.5, 1.5, -2.0),
    "date": (None, *DAYS),
    "g": (None, "a", "a", "b", "A", "", "ab"),
    "w": (None, "a", "b", "B", "10", "9"),
    "s": (None, "1", "01", "2", "2", " 1", "10", "9", "0"),
    "a": (None, (), (1,), (1, 2), (2, None), (3, 3)),
    "st": (None, (1, "a"), (None, "b"), (2, None), (1, "A")),
    "at": (None, "2024-01-01 00:00:00", "2024-01-01 13:05:09", "2024-02-29 23:59:59"),
    "h": (None, '{"a": 1, "b": "x"}', '{"a": null}', '{"A": 2}', '{"b": "y", "a": 3}'),
}
_NUMBERS = ("1", "01", "2", "+2", "10", " 1", "0")
_DATES = ("2024-01-01", "2024-1-1", "2024-01-02", "2024-2-29", "2024-02-29")
DATASETS = 6
EMPTY = 5
"""The number of the dataset in which most tables are empty."""


@cache
def rows(dataset: int) -> Mapping[str, tuple[tuple[object, ...], ...]]:
    """The rows of all tables, dates and timestamps as text. Of an even number `t.id` and `r.id` tell rows apart."""
    random = Random(f"rows {dataset}")
    found: dict[str, tuple[tuple[object, ...], ...]] = {}
    for name, spec in SPARK.items():
        count = {"t": 9, "u": 7, "r": 5}.get(name, 0)
        if dataset == EMPTY:
            count = random.choice([0, 0, 1])
        if spec.key:
            found[name] = tuple((key, *_row(spec, random)[1:]) for key in _keys(name, dataset))
            continue
        made = [_row(spec, random) for _ in range(count)]
        if dataset % 2 == 0 and name in ("t", "r"):
            numbers = random.sample(range(12), count)
            made = [(number, *row[1:]) for number, row in zip(numbers, made, strict=True)]
        elif made:
            made.append(random.choice(made))  # a twin
        found[name] = tuple(made)
    return found


def _row(spec: TableSpec, random: Random) -> tuple[object, ...]:
    return tuple(
        random.choice(_VALUES.get(name) or _VALUES.get(kind) or (None,)) for name, kind in spec.columns.items()
    )


def _keys(name: str, dataset: int) -> tuple[object, ...]:
    if dataset == EMPTY:
        return ()
    return {"v": (None, 0, 1, 2, 5), "n": _NUMBERS, "p": _DATES}[name]
