"""Which checks of a SQLMesh project belong to no model? They are named one by one: nothing here is like them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.core.errors import Problem
from backfill_assets.files.documents import read_yaml
from backfill_assets.files.texts import read_text
from backfill_assets.importing.found import Left, Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.importing.sqlmesh_file import properties_in, statements_in


def unwritten_checks(root: Path) -> Iterator[Left]:
    """The audits that are `standalone`, and the unit tests, each at its line. `root` is resolved."""
    for file, place in _files(root, "audits", "*.sql"):
        yield from _standalone(read_text(file, []) or "", place)
    for pattern in ("test*.yaml", "test*.yml"):
        for file, place in _files(root, "tests", pattern):
            yield from _unit_tests(file, place)


def _files(root: Path, folder: str, pattern: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((root / folder).rglob(pattern)):
        if path.is_file() and path.resolve().is_relative_to(root):
            yield path, path.relative_to(root).as_posix()


def _standalone(text: str, place: str) -> Iterator[Left]:
    if "standalone" not in text.lower():
        return
    try:
        for statement in statements_in(text):
            if (name := _standalone_name(text, statement)) is not None:
                yield Left(
                    place=f"{place}:{statement[0].line}", what=f"the standalone audit {plain(name)}",
                    why="it is of no model there",
                    fix="write it in audits/, for a model that it reads (`backfill docs audits`)",
                )  # fmt: skip
    except Untranslatable as error:
        yield Left(place=f"{place}:{error.line}", what="the audits of this file", why=error.why)


def _standalone_name(text: str, statement: Sequence[Token]) -> str | None:
    if statement[0].text.upper() != "AUDIT" or len(statement) < 2 or statement[1].token_type is not TokenType.L_PAREN:
        return None
    said = properties_in(text, statement[2:-1])
    if "standalone" not in said or said["standalone"].text.lower() != "true":
        return None
    return said["name"].text if "name" in said else "(without a name)"


def _unit_tests(file: Path, place: str) -> Iterator[Left]:
    problems: list[Problem] = []
    text = read_text(file, problems)
    document = read_yaml(text, file, problems) if text is not None else None
    if document is None or not isinstance(document.data, Mapping):
        said = [(p.line, p.what) for p in problems] or [(1, "it is no mapping")]
        yield from (Left(place=f"{place}:{line}", what="the unit tests of this file", why=why) for line, why in said)
        return
    for name in document.data:
        at = f"{place}:{document.line_of(str(name))}"
        yield Left(place=at, what=f"the unit test {plain(str(name))}", why="nothing here is like it")
