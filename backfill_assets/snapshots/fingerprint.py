"""Which version of a model is this? A hash of everything that decides its rows, and of nothing else."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.snapshots.model import Model, Source

# How every session of the system evaluates SQL: part of what rows mean.
_DIALECT = "spark time zone UTC, ANSI on"
# Settings that change how fast rows come, never which rows.
_SPEED_ONLY = ("spark.sql.shuffle.", "spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.files.")
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_LITERALS = (
    TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING,
    TokenType.BYTE_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING,
)  # fmt: skip


def model_fingerprint(model: Model, logic: str, spark: Mapping[str, str], upstreams: Mapping[str, str]) -> str:
    """16 hex digits that change exactly when the model's rows may.

    `logic` is the canonical code, `spark` the settings in force, `upstreams` the fingerprint of each table it reads.
    """
    return _digest({
        "logic": logic,
        "cadence": model.cadence.value,
        "time_column": model.time_column.lower(),
        "lookback": model.lookback,
        "spark": {k: v for k, v in spark.items() if k.startswith("spark.sql.") and not k.startswith(_SPEED_ONLY)},
        "dialect": _DIALECT,
        "upstreams": {f"{u.parameter}={u.name.lower()}": upstreams[u.name] for u in model.upstreams},
    })  # fmt: skip


def source_fingerprint(source: Source, location: str) -> str:
    """A source's physical identity. `location` is its path as written, so that a project's folder may move."""
    return _digest({"format": source.format, "location": location, "options": dict(source.options)})


def sql_logic(tokens: Sequence[Token]) -> str:
    """SQL text without what cannot change rows: comments, hints, spacing, the case of keywords and function names.

    Tokens and not a parsed tree: sqlglot parses some different functions to one node (`size(NULL)` is not
    `array_size(NULL)`), and a change that goes unnoticed is worse than one rebuild too many.
    """
    parts: list[str] = []
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.HINT or kind is TokenType.SEMICOLON:
            continue
        if kind in _NAMES:
            call = index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN
            parts.append(f"n:{token.text.upper() if call and kind is TokenType.VAR else token.text}")
        elif kind in _LITERALS:
            parts.append(f"{kind.name}:{token.text}")
        else:
            parts.append(" ".join(token.text.upper().split()))
    return json.dumps(parts)


def python_logic(modules: Iterable[tuple[str, ast.Module]]) -> str:
    """Modules (name, tree) without what cannot change rows: docstrings, comments, spacing, `@model` arguments."""
    return json.dumps([(name, _dump(tree)) for name, tree in sorted(modules, key=lambda m: m[0])])


def is_model_decorator(node: ast.expr) -> bool:
    """Whether a decorator is `@model(...)` or `@backfill_assets.model(...)`."""
    target = node.func if isinstance(node, ast.Call) else node
    match target:
        case ast.Name(id="model") | ast.Attribute(value=ast.Name(id="backfill_assets"), attr="model"):
            return True
        case _:
            return False


def _dump(node: object) -> str:
    """Like `ast.dump`, but the same in every Python version: what is empty is left out."""
    if isinstance(node, list):
        return f"[{','.join(_dump(n) for n in _without_docstring(node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields: list[str] = []
    for name, value in ast.iter_fields(node):
        if name == "decorator_list":
            value = [d.func if isinstance(d, ast.Call) and is_model_decorator(d) else d for d in value]
        if value is None or value == [] or name in ("ctx", "type_comment", "type_ignores", "kind"):
            continue
        fields.append(f"{name}={_dump(value)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _without_docstring(nodes: list[object]) -> list[object]:
    """A body without bare texts: they do nothing."""
    return [
        n for n in nodes
        if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant) and isinstance(n.value.value, str))
    ]  # fmt: skip


def _digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
