"""Which version of a model is this? Its query's signature with everything else that decides rows, and nothing more."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from backfill_assets.core.digest import digest
from backfill_assets.core.model import ALL, EXACT, Column, ColumnRef, Model, Signature, Source, deciding_options
from backfill_assets.project.algorithm import column_of_whole, version_of
from backfill_assets.project.spark_settings import settings_that_count
from backfill_assets.python_models.reads import is_model_decorator, mentions_docstrings
from backfill_assets.sql.parsing import Sql

# How every session of the system evaluates SQL: part of what rows mean.
_DIALECT = "spark time zone UTC, ANSI on"
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_BEFORE_FIELDS = (TokenType.COLON, TokenType.DOT)
_LITERALS = (
    TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING,
    TokenType.BYTE_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING,
)  # fmt: skip


def model_signature(
    model: Model,
    query: Signature | None,
    logic: str,
    spark: Mapping[str, str],
    upstreams: Mapping[str, Signature],
    columns: Mapping[str, Sequence[Column]],
) -> Signature:
    """What decides the model's rows and columns.

    `query` is its query's signature, `logic` its canonical code, which stands for all of it where there is none;
    `spark` are the settings in force, `upstreams` the signature of each table it reads, `columns` those of each table
    in the order in which they are read (none where nobody knows them).
    """
    settings: dict[str, object] = {
        "cadence": model.cadence.value,
        "time_column": model.time_column.lower(),
        "lookback": model.lookback,
        "spark": settings_that_count(spark),
        "dialect": _DIALECT,
        **_writing(model),
    }
    if model.time_zone:
        settings["time_zone"] = model.time_zone
    if model.code_version:
        settings["code_version"] = model.code_version
    deciding = _deciding(model, query.columns if query else ())
    read = {f"{u.parameter}={u.name.lower()}": version_of(upstreams[u.name]) for u in model.upstreams}
    marker = {"updated_at": model.updated_at.lower()} if model.updated_at else {}
    whole = digest(logic, settings | marker, read) if model.language == "python" else ""
    if query is not None and deciding <= query.columns.keys():
        # The time column says which interval a row belongs to: where it moves, rows do.
        hashes = [query.columns[name] for name in sorted(deciding)]
        marks = dict(query.columns)
        if model.updated_at:
            marks[model.updated_at.lower()] = digest(marks.get(model.updated_at.lower()), "moves with its row")
        reads = query.row_reads.union(*(query.column_reads.get(name, ()) for name in deciding if model.dedupe))
        decided = digest(query.rows, *hashes, settings)
        would = query.would_read
        if model.language == "python":  # what it is compiled to names the columns that are there
            would |= {ColumnRef(table=u.name, column=ALL) for u in model.upstreams}
        return replace(query, rows=decided, columns=marks, row_reads=reads, would_read=would, whole=whole)
    # Code that nobody looks into may read columns by their places.
    places = {u.name.lower(): [c.name for c in columns.get(u.name, ())] for u in model.upstreams}
    rows = digest(logic, settings | marker, read, places)
    known = columns.get(model.name) or model.columns
    return Signature(rows=rows, columns={c.name.lower(): column_of_whole(rows, c.name) for c in known}, whole=whole)


def _writing(model: Model) -> dict[str, object]:
    """How a batch becomes rows. Nothing for a plain replace, so that versions of earlier releases keep their names."""
    said: dict[str, object] = {}
    if model.write != "replace":
        said["write"] = model.write
    if model.dedupe:
        said["dedupe"] = [[o.column.lower(), o.descending] for o in model.dedupe]
    if said:
        said["key"] = sorted(c.lower() for c in model.grain)
    return said


def _deciding(model: Model, columns: Iterable[str]) -> set[str]:
    """The columns whose values decide rows: the time column says which interval a row belongs to, and of rows of one
    grain the order says which stays; where equal ones are one, all `columns` do."""
    names = {model.time_column}
    if model.dedupe == (EXACT,):
        names |= {*model.grain, *columns}
    elif model.dedupe:
        names |= {*model.grain, *(o.column for o in model.dedupe)}
    return {name.lower() for name in names}


def source_signature(source: Source, location: str) -> Signature:
    """A source's physical identity, and its columns as they are declared: with their places where these say which
    values are theirs."""
    rows, columns = source_fingerprint(source, location), dict[str, str]()
    for place, column in enumerate(source.columns):
        at = (place,) if source.columns_by == "place" else ()
        columns[column.name.lower()] = digest(rows, column.name.lower(), column.type, *at)
    return Signature(rows=rows, columns=columns)


def unique_columns(model: Model) -> frozenset[str] | None:
    """The columns that a blocking audit finds unique: no two rows of the table share them. None when no audit looks."""
    if any(a.kind == "unique_grain" and a.blocking and not a.arguments.get("tolerate") for a in model.audits):
        return frozenset(c.lower() for c in (*model.grain, model.time_column))
    return None


def declared_key(source: Source) -> frozenset[str] | None:
    """The columns that its entry says are unique; each build that reads the source looks first. None: no key."""
    return frozenset(c.lower() for c in source.key) or None


def source_fingerprint(source: Source, location: str) -> str:
    """A source's physical identity. `location` is its path as written, so that a project's folder may move."""
    return digest(source.format, location, deciding_options(source.options))


def sql_logic(sql: Sql) -> str:
    """SQL text without what cannot change rows: comments, hints, spacing, the case of keywords and function names.

    Tokens and not a parsed tree: sqlglot parses some different functions to one node (`size(NULL)` is not
    `array_size(NULL)`), and a change that goes unnoticed is worse than one rebuild too many.
    """
    tokens = sql.tokens
    # A name that is a keyword as well is as it is written: a field of a struct shows it.
    names = {i.meta_get("start") for tree in sql.statements for i in tree.find_all(exp.Identifier)}
    parts: list[str] = []
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.HINT or kind is TokenType.SEMICOLON:
            continue
        if kind in _NAMES:
            call = index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN
            parts.append(f"n:{token.text.upper() if call and kind is TokenType.VAR else token.text}")
        elif kind in _LITERALS:
            parts.append(f"{kind.name}:{sql.code[token.start : token.end + 1]}")
        elif token.start in names or (index and tokens[index - 1].token_type in _BEFORE_FIELDS):
            parts.append(f"n:{token.text}")
        else:
            parts.append(" ".join(token.text.upper().split()))
    return json.dumps(parts)


def python_logic(modules: Iterable[tuple[str, ast.Module]], files: Mapping[str, bytes] | None = None) -> str:
    """Modules (name, tree) without what cannot change rows: docstrings, comments, spacing, `@model` arguments.

    `files` are others that the code reads, by name. Docstrings count as soon as any of the modules mentions them.
    """
    known = sorted(modules, key=lambda m: m[0])
    keep = any(mentions_docstrings(tree) for _, tree in known)
    parts = [(name, _dump(tree, keep)) for name, tree in known]
    read = sorted((name, hashlib.sha256(content).hexdigest()) for name, content in (files or {}).items())
    return json.dumps(parts + read)


class _Written(str):
    """What is part of a dump already."""

    __slots__ = ()


def _dump(tree: object, docstrings: bool) -> str:
    """Like `ast.dump`, but the same in every Python version: what is empty is left out. As deep as it may be."""
    found: list[str] = []
    stack: list[object] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _Written):
            found.append(node)
        elif isinstance(node, list | ast.AST):
            stack += reversed(list(_parts(node, docstrings)))
        else:
            found.append(repr(node))
    return "".join(found)


def _parts(node: list[object] | ast.AST, docstrings: bool) -> Iterator[object]:
    """What a node's dump is made of, in order."""
    if isinstance(node, list):
        items = [("", item) for item in (node if docstrings else _without_docstring(node))]
        yield _Written("[")
    else:
        items = [(f"{name}=", value) for name, value in _fields(node)]
        yield _Written(f"{type(node).__name__}(")
    for n, (name, value) in enumerate(items):
        yield _Written(f"{',' * (n > 0)}{name}")
        yield value
    yield _Written("]" if isinstance(node, list) else ")")


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    for name, value in ast.iter_fields(node):
        if name == "decorator_list":
            value = [d.func if isinstance(d, ast.Call) and is_model_decorator(d) else d for d in value]
        if value is not None and value != [] and name not in ("ctx", "type_comment", "type_ignores", "kind"):
            yield name, value


def _without_docstring(nodes: list[object]) -> list[object]:
    """A body without bare texts: they do nothing."""
    return [
        n for n in nodes
        if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str))
    ]  # fmt: skip
