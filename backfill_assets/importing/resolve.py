"""What do the names of tables in a query mean here? Models, sources, or models that become a part of the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from backfill_assets.importing.bounds import line_of
from backfill_assets.importing.found import Untranslatable


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A model or source here. `columns` are Spark types by lower-cased names, empty where they are unknown; `days`
    are those that say a row's day. `model`: its days are computed here, one after another. `unsure`: its types are not
    known for certain. `broken`: its declaration there is to be mended first."""

    name: str
    columns: Mapping[str, str]
    days: frozenset[str] = frozenset()
    model: bool = False
    unsure: bool = False
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """A model without days of its own: its query becomes a WITH of its readers. Bounds in it are the reader's."""

    name: str
    tree: exp.Query
    reads: Mapping[str, Known]
    inlined: tuple[str, ...]


Meaning = Known | Inline
Lookup = Callable[[str, int], Meaning]
"""From a name as written, and its line, to what it means. Raises Untranslatable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuery:
    """A query with the names of here. `reads` by lower-cased names; `inlined` are models that are a part of it."""

    tree: exp.Query
    reads: Mapping[str, Known]
    inlined: tuple[str, ...]


def resolve(tree: exp.Query, lookup: Lookup, line: int) -> ResolvedQuery:
    """The query with each table's name replaced, and inlined models in its WITH. Raises Untranslatable."""
    reads: dict[str, Known] = {}
    inline: dict[str, Inline] = {}
    found: list[tuple[exp.Table, Meaning | str]] = []
    _visit(tree, frozenset(), lookup, line, found)
    for _, meaning in found:
        if isinstance(meaning, Known):
            reads[meaning.name.lower()] = meaning
        elif isinstance(meaning, Inline):
            _collect(meaning, inline)
            reads |= meaning.reads
    taken = {n for n in reads if "." not in n} | {n.lower() for n in inline}
    for column in tree.find_all(exp.Column):
        for key in ("catalog", "db"):
            column.set(key, None)  # a table is called by its last name, or its alias
    renamed = {
        c.alias.lower(): _free(c.alias, taken | {x.alias.lower() for x in tree.find_all(exp.CTE)})
        for c in tree.find_all(exp.CTE)
        if c.alias.lower() in taken
    }
    for cte in list(tree.find_all(exp.CTE)):
        if (new := renamed.get(cte.alias.lower())) is not None:
            cte.args["alias"].set("this", exp.to_identifier(new))
    for node, meaning in found:
        _rename(node, renamed.get(meaning, meaning) if isinstance(meaning, str) else meaning.name)
    parts = [exp.CTE(this=i.tree.copy(), alias=exp.TableAlias(this=exp.to_identifier(i.name))) for i in inline.values()]
    if parts:
        clause = tree.args.get("with_")
        if clause is None:
            tree.set("with_", exp.With(expressions=parts))
        else:
            clause.set("expressions", [*parts, *clause.expressions])
    _apart(tree, {}, taken, frozenset(map(id, parts)))
    return ResolvedQuery(tree=tree, reads=reads, inlined=tuple(inline))


def _collect(one: Inline, into: dict[str, Inline]) -> None:
    """Its own parts come first: their WITH is the reader's, so that each of them is there once."""
    tree = one.tree.copy()
    clause = tree.args.get("with_")
    own = {n.lower() for n in one.inlined}
    if clause is not None and own:
        kept: list[exp.Expr] = []
        for cte in clause.expressions:
            if cte.alias.lower() not in own:
                kept.append(cte)
            elif cte.alias.lower() not in into:
                inner = Inline(name=cte.alias, tree=cte.this, reads={}, inlined=())
                into[cte.alias.lower()] = inner
        if kept:
            clause.set("expressions", kept)
        else:
            tree.set("with_", None)
    into.setdefault(one.name.lower(), Inline(name=one.name, tree=tree, reads=one.reads, inlined=()))


def _visit(
    node: exp.Expr, known: frozenset[str], lookup: Lookup, line: int, found: list[tuple[exp.Table, Meaning | str]]
) -> None:
    """Each table with what it means: a CTE's name, or a meaning."""
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for cte in clause.expressions:
            inner = known | {cte.alias.lower()} if clause.args.get("recursive") else known
            _visit(cte.this, inner, lookup, line, found)
            known |= {cte.alias.lower()}
    for key, value in node.args.items():
        if key == "with_":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Table) and isinstance(child.this, exp.Identifier):
                written = ".".join(p.name for p in child.parts)
                if not child.args.get("db") and written.lower() in known:
                    found.append((child, written.lower()))
                else:
                    found.append((child, lookup(written, line_of(child, line))))
                _visit(child, known, lookup, line, found)
            elif isinstance(child, exp.Table) and not isinstance(child.this, exp.Identifier):
                said = " ".join(child.sql(comments=False).split())[:80]
                why, fix = "the query reads files itself", "declare it in sources.yml, and let a model read that"
                raise Untranslatable(f"`{said}`", why=why, fix=fix, line=line_of(child, line))
            elif isinstance(child, exp.Expr):
                _visit(child, known, lookup, line, found)


def _rename(node: exp.Table, name: str) -> None:
    parts = name.split(".")
    old = node.name
    if not node.alias and parts[-1] != old:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(old)))
    for key in ("catalog", "db"):
        node.set(key, None)
    node.set("this", exp.to_identifier(parts[-1]))
    for key, part in zip(("db", "catalog"), reversed(parts[:-1]), strict=False):
        node.set(key, exp.to_identifier(part))


def _apart(node: exp.Expr, known: Mapping[str, str], taken: set[str], parts: frozenset[int]) -> None:
    """Give each WITH a name of its own, also those of parts within parts: sqlglot writes all of them at the top for
    Spark, where they would take the place of one another, and of models. `known`: names in reach, as they are by now.
    """
    clause = node.args.get("with_")
    if isinstance(clause, exp.With):
        for cte in clause.expressions:
            old = cte.alias.lower()
            new = cte.alias if old not in taken or id(cte) in parts else _free(cte.alias, taken)
            _apart(cte.this, {**known, old: new} if clause.args.get("recursive") else known, taken, parts)
            if new != cte.alias:
                cte.args["alias"].set("this", exp.to_identifier(new))
            taken.add(new.lower())
            known = {**known, old: new}
    for key, value in node.args.items():
        if key == "with_":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Table) and not child.args.get("db"):
                new = known.get(child.name.lower(), child.name)
                if new.lower() != child.name.lower():
                    _rename(child, new)
            if isinstance(child, exp.Expr):
                _apart(child, known, taken, parts)


def _free(name: str, taken: set[str]) -> str:
    """A name for a WITH that no table of the query has."""
    new = f"{name}_rows"
    while new.lower() in taken:
        new += "_"
    return new
