"""What does the product say of a chain of models, and of an edit of it?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Column, Model, Signature, Upstream
from backfill_assets.plan.category import TableChange, change_between
from backfill_assets.project.algorithm import version_of
from backfill_assets.project.fingerprint import model_signature, sql_logic
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import SqlError, parse
from backfill_assets.sql.signature import Opaque, Table, query_signature
from backfill_assets_tests.fuzz.case import Models, Pair, TableSpec
from backfill_assets_tests.fuzz.compiled import Compiled, logic_of, reads_of
from backfill_assets_tests.fuzz.frames import COLUMNS, is_python

_START = datetime(2024, 1, 1, tzinfo=UTC)
_CONSTANT = "ds"


class Refused(Exception):
    """The product takes the query for wrong; why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Of one model: its signature, its columns (none: unknown), and whether it could not be taken apart."""

    signature: Signature
    columns: tuple[Column, ...]
    opaque: bool

    @property
    def version(self) -> str:
        return version_of(self.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the product says of one model of a pair. `kept`: its table stays."""

    old: Said
    new: Said
    change: TableChange

    @property
    def kept(self) -> bool:
        return self.old.version == self.new.version


def verdicts(pair: Pair, python: Compiled = MappingProxyType({})) -> dict[str, Verdict]:
    """Of each model of a pair; `python`: the SQL of its PySpark models. Raises Refused; any other exception is a defect
    of the product."""
    old = say(pair.old, pair.tables, python)
    new = say(pair.new, pair.tables, python, {n: said for n, said in old.items() if n not in pair.reached})
    return {
        name: Verdict(old=old[name], new=new[name], change=change_between(old[name].signature, new[name].signature))
        for name in old
    }


def say(
    models: Models,
    sources: Mapping[str, TableSpec],
    python: Compiled = MappingProxyType({}),
    known: Mapping[str, Said] = MappingProxyType({}),
) -> dict[str, Said]:
    """The signature of each model, made as `read_project` makes it; `known` need not be made again. Raises Refused."""
    tables: dict[str, Table] = {}
    columns: dict[str, tuple[Column, ...]] = {}
    for name, spec in sources.items():
        rows = digest("source", name)
        marks = {c: digest(rows, c, kind) for c, kind in spec.columns.items()}
        columns[name] = tuple(Column(name=c, type=kind) for c, kind in spec.columns.items())
        signature = Signature(rows=rows, columns=marks)
        tables[name] = Table(name=name, signature=signature, key=spec.key, columns=columns[name])
    found: dict[str, Said] = {}
    for name, text in models.items():
        if name in known:
            said = known[name]
        elif is_python(text):
            said = _python_model(name, text, python[text], tables, columns)
        else:
            said = _model(name, text, tables, columns)
        found[name] = said
        columns[name] = said.columns
        tables[name] = Table(name=name, signature=said.signature, columns=said.columns)
    return found


def _python_model(
    name: str, code: str, text: str | None, tables: Mapping[str, Table], columns: Mapping[str, tuple[Column, ...]]
) -> Said:
    """One whose `columns:` are declared. Its SQL counts where there is any, else its code as a whole."""
    if text is not None:
        return _model(name, text, tables, columns, logic_of(code))
    upstreams = tuple(Upstream(name=read, parameter=read) for read in reads_of(code))
    declared = tuple(Column(name=c, type=kind) for c, kind in COLUMNS.items())
    model = Model(
        name=name, path=Path(f"{name}.py"), language="python", code=code, start=_START, grain=(_CONSTANT,),
        upstreams=upstreams, time_column=_CONSTANT, columns=declared,
    )  # fmt: skip
    read = {u.name: tables[u.name].signature for u in upstreams}
    signature = model_signature(model, None, logic_of(code), {}, read, {**columns, name: declared})
    return Said(signature=signature, columns=declared, opaque=True)


def _model(
    name: str,
    text: str,
    tables: Mapping[str, Table],
    columns: Mapping[str, tuple[Column, ...]],
    logic: str = "",
) -> Said:
    try:
        sql = parse(text)
    except SqlError as error:
        raise Refused(error.why) from None
    if len(sql.statements) != 1:
        raise Refused(f"{len(sql.statements)} statements")
    if unknown := [r.name for r in sql.references if r.key not in tables]:
        raise Refused(f"no table {unknown}")
    logic = logic or sql_logic(sql)
    resolved = resolve(sql, {r.key: (r.key, columns[r.key]) for r in sql.references})
    if resolved.findings:
        raise Refused(resolved.findings[0].what)
    query: Signature | None = None
    if resolved.columns is not None:
        with suppress(Opaque):
            query = query_signature(sql, {r.key: tables[r.key] for r in sql.references})
    upstreams = tuple(Upstream(name=r.key) for r in sql.references)
    model = Model(
        name=name, path=Path(f"{name}.sql"), language="sql", code=text, start=_START, grain=(_CONSTANT,),
        upstreams=upstreams, time_column=_CONSTANT,
    )  # fmt: skip
    visible = {**columns, name: resolved.columns or ()}
    # A model has a time column. A query without one counts as one that has a constant beside its columns.
    dated = query if query is None or _CONSTANT in query.columns else _with(query, _CONSTANT)
    signature = model_signature(model, dated, logic, {}, {u.name: tables[u.name].signature for u in upstreams}, visible)
    if query is not None:
        signature = replace(signature, columns={c: signature.columns[c] for c in query.columns})
    return Said(signature=signature, columns=resolved.columns or (), opaque=query is None)


def _with(query: Signature, name: str) -> Signature:
    return replace(query, columns={**query.columns, name: "constant"})
