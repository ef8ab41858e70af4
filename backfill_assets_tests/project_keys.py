"""Which keys may a file of a project have? For the tables of docs/models.md and docs/settings.md."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

_PAGE = re.compile(r"docs/([\w-]+)\.md(?:#([\w-]+))?")


def keys_table(declared: type, page: str) -> str:
    """A row a field of a dataclass or a pydantic model: its name, its default, and the text below it in the code.

    `docs/x.md#y` in a text becomes a link, seen from `page`. Raises KeyError for a field without a text.
    """
    meanings = dict(_texts(declared))
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, default in _defaults(declared).items():
        meaning = _PAGE.sub(lambda found: _link(found, page), meanings[name]).rstrip(".")
        rows.append(f"| `{name}` | {default}{' ' if default else ''}| {meaning} |")
    return "\n".join(rows)


def _texts(declared: type) -> Iterator[tuple[str, str]]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(declared)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for field, after in pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())
            case _:
                pass


def _defaults(declared: Any) -> Mapping[str, str]:
    if is_dataclass(declared):
        return {field.name: _shown(_default(field)) for field in fields(declared)}
    assert issubclass(declared, BaseModel)
    found = declared.model_fields.items()
    return {n: "required" if f.is_required() else _shown(f.get_default(call_default_factory=True)) for n, f in found}


def _default(field: Field[Any]) -> object:
    return field.default if field.default is not MISSING else None


def _shown(default: object) -> str:
    """As it is written in YAML; nothing for a default that is the absence of a value."""
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, bool):
        default = str(default).lower()
    elif isinstance(default, float):
        default = f"{default:g}".replace("e-0", "e-")
    return f"`{default}`" if isinstance(default, int | float | str) and default != "" else ""


def _link(found: re.Match[str], page: str) -> str:
    other, anchor = found.groups()
    text = (anchor or other).replace("-", " ")
    return f"[{text}]({'' if other == page else f'{other}.md'}{f'#{anchor}' if anchor else ''})"
