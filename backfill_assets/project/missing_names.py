"""Does a Python model name a column that nothing it reads has? Its first batch would fail; the plan says it before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from backfill_assets.core.errors import Problem
from backfill_assets.core.model import Column, Model
from backfill_assets.core.wording import did_you_mean, first_few
from backfill_assets.project.draft import Draft

_UNRESOLVED = re.compile(r"Column '(\w+)' could not be resolved")
"""What SQLFrame says of the SQL that a function stands for."""


def missing_names(
    draft: Draft, root: Path, model: Model, why: str, visible: Mapping[str, Sequence[Column]]
) -> Iterator[Problem]:
    """A warning, as the code may make the column in a way that nobody follows. `why`: what keeps it from being SQL;
    `visible`: by table, the columns that readers see."""
    found = _UNRESOLVED.search(why)
    tables = {upstream.name: [c.name for c in visible.get(upstream.name, ())] for upstream in model.upstreams}
    if found is None or not all(tables.values()):
        return
    name = found[1].casefold()
    if name == "_metadata" or any(name == column.casefold() for columns in tables.values() for column in columns):
        return
    for file, text in model.files.items():
        if line := _named_at(text, name):
            have = "; ".join(f"`{table}` has {first_few(columns)}" for table, columns in tables.items())
            every = sorted({column for columns in tables.values() for column in columns})
            yield Problem(
                file=root / file,
                line=line,
                what=f"`{draft.name}` names a column `{found[1]}`, which nothing that it reads has",
                why=f"{have}; unless the code makes it, the first batch fails",
                fix=did_you_mean(found[1], every, "name one of these"),
            )
            return


def _named_at(text: str, name: str) -> int | None:
    """The first line of a file whose code has a name: as a text or an attribute, else within a text."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
    exact: list[int] = []
    within: list[int] = []
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as said) if said.casefold() == name:
                exact.append(node.lineno)
            case ast.Attribute(attr=attr) if attr.casefold() == name:
                exact.append(node.lineno)
            case ast.Constant(value=str() as said) if word.search(said):
                within.append(node.lineno)
            case _:
                pass
    return min(exact or within, default=None)
