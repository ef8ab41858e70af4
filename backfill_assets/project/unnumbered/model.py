"""Which hashes did a release without numbers give a model? Its query's, with what else it took for deciding rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Model, Signature
from backfill_assets.project.draft import Draft
from backfill_assets.project.fingerprint import unique_columns
from backfill_assets.project.outputs import Outputs
from backfill_assets.project.unnumbered.marks import Opaque, Table
from backfill_assets.project.unnumbered.query import query_signature

_DIALECT = "spark time zone UTC, ANSI on"
_NOT_HASHED = (
    "spark.sql.shuffle.", "spark.sql.adaptive.", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.files.",
)  # fmt: skip
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_LITERALS = (
    TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING,
    TokenType.BYTE_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING,
)  # fmt: skip


def settings_then(spark: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings that were a part of the hash.

    >>> settings_then({"spark.sql.ansi.enabled": "true", "spark.sql.files.ignoreCorruptFiles": "true"})
    {'spark.sql.ansi.enabled': 'true'}
    """
    return {k: v for k, v in spark.items() if k.startswith("spark.sql.") and not k.startswith(_NOT_HASHED)}


def signature_then(
    model: Model, draft: Draft, found: Outputs, spark: Mapping[str, str], upstreams: Mapping[str, Table]
) -> Signature:
    """The hashes of a model that is read by now, over upstreams with the hashes of then (by name).

    `spark` are the settings in force. Only `rows` and `columns` are filled.
    """
    settings: dict[str, object] = {
        "cadence": model.cadence.value,
        "time_column": model.time_column.lower(),
        "lookback": model.lookback,
        "spark": settings_then(spark),
        "dialect": _DIALECT,
    }
    if model.write != "replace":
        settings["write"] = model.write
    if model.dedupe:
        settings["dedupe"] = [[o.column.lower(), o.descending] for o in model.dedupe]
    if "write" in settings or "dedupe" in settings:
        settings["key"] = sorted(c.lower() for c in model.grain)
    if model.code_version:
        settings["code_version"] = model.code_version
    deciding = {model.time_column.lower()}
    if model.dedupe:
        deciding |= {c.lower() for c in (*model.grain, *(o.column for o in model.dedupe))}
    marker = (model.updated_at or "").lower()
    query = None
    if found.scopes:
        with suppress(Opaque):
            query = query_signature(found.scopes, {key: upstreams[name] for key, name in found.names.items()})
    if query is not None and deciding <= query.columns.keys():
        columns = dict(query.columns)
        if marker:
            columns[marker] = digest(columns.get(marker), "moves with its row")
        hashes = [query.columns[name] for name in sorted(deciding)]
        return Signature(rows=digest(query.rows, *hashes, settings), columns=columns)
    read = {f"{u.parameter}={u.name.lower()}": _version(upstreams[u.name].signature) for u in model.upstreams}
    logic = _sql_logic(draft.sql.tokens) if draft.sql else draft.logic
    rows = digest(logic, settings | ({"updated_at": marker} if marker else {}), read)
    return Signature(rows=rows, columns={c.name.lower(): digest(rows, c.name.lower()) for c in model.columns})


def table_then(model: Model, signature: Signature) -> Table:
    """The model as those that read it see it."""
    return Table(name=model.name, signature=signature, key=unique_columns(model))


def _version(signature: Signature) -> str:
    by_word = [signature.code] if signature.code else []
    return digest("version", signature.rows, sorted(signature.columns.items()), *by_word)


def _sql_logic(tokens: Sequence[Token]) -> str:
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
