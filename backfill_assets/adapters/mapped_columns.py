"""Which columns of its files does a Delta table call by which names? Where it maps them, a rename writes no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Name = tuple[str, ...]
"""Of a column; of a field within one, the names that lead there. Lower-cased."""
_PHYSICAL = "delta.columnMapping.physicalName"


def physical_names(schema: Mapping[str, Any]) -> dict[Name, str]:
    """Name → what files call it, as in a log: of all columns and the fields in them.

    `schema`: a table's, as its log has it.

    >>> physical_names({"type": "struct", "fields": [{"name": "A", "type": "long", "metadata": {}}]})
    {('a',): 'A'}
    """
    return dict(_named(schema, ()))


def other_columns(then: Mapping[Name, str], now: Mapping[Name, str]) -> list[str]:
    """The names by which another column is read than before.

    >>> other_columns({("a",): "col-1", ("b",): "col-2"}, {("a",): "col-2", ("c",): "col-3"})
    ['a']
    """
    return sorted(".".join(name) for name, physical in now.items() if then.get(name, physical) != physical)


def _named(type_: object, inside: Name) -> Iterator[tuple[Name, str]]:
    if not isinstance(type_, Mapping):
        return
    for field in type_.get("fields", ()):
        name = (*inside, field["name"].lower())
        yield name, str((field.get("metadata") or {}).get(_PHYSICAL, field["name"]))
        yield from _named(field["type"], name)
    for part in ("elementType", "keyType", "valueType"):
        yield from _named(type_.get(part), (*inside, part))
