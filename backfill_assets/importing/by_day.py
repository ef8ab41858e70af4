"""Which outputs of a query say the day of the input that a row comes from, and what in it looks at several days?

Read of a query whose columns are qualified, and whose bounds are placeholders. Unlike `days`, it refuses nothing: what
is not known to be of one day is a *mixture*, with its line. A day is an interval here: of a weekly model it is a week.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from backfill_assets.importing.bounds import line_of
from backfill_assets.importing.numbers import whole
from backfill_assets.importing.spans import (
    MOMENT,
    PARSED,
    UNKNOWN,
    elsewhere,
    longest,
    span_of,
    start_of,
    to_date,
    truncated_to,
    within,
)
from backfill_assets.sql.select_parts import conjuncts

_LIMIT = "LIMIT: so many rows of all that is computed at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A part of a query whose value for one day may depend on rows of others."""

    line: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a query gives. `days` are outputs that are the day of the input; `bounded`: rows of the wanted days only.

    `models` are dated tables whose rows come through by their day; `free` are those that are read whole. `cut`: rows
    are left out by a number of them (LIMIT). `spans` are those of outputs that are made of days of the input, or are
    truncated; `starts` are those of which an output is the first moment. `told` are outputs that are the very value
    by which rows are cut to the interval, although nobody knows its span: by which conditions; of what is the same in
    all rows, by none.
    """

    days: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    bounded: bool = False
    models: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    cut: bool = False
    spans: Mapping[str, str] = field(default_factory=dict[str, str])
    starts: Mapping[str, str] = field(default_factory=dict[str, str])
    told: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


@dataclass(slots=True)
class _Part:
    name: str
    rows: Rows
    optional: bool
    days: set[str]
    bounded: bool
    sides: set[str] = field(default_factory=set[str])
    compared: set[str] = field(default_factory=set[str])
    """Columns that something of the interval is compared with, in whatever way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayReading:
    """The rows of a whole query, and its mixtures. `bounds` are the spans of what is compared with the interval;
    `untold` are the comparisons whose span is not known."""

    rows: Rows
    mixtures: tuple[Mixture, ...]
    bounds: tuple[str, ...] = ()
    untold: frozenset[str] = frozenset()

    def complete(self, name: str) -> bool:
        """Whether all that is cut by something of an unknown span is cut by the very value of this output."""
        told = self.rows.told.get(name)
        return not self.untold or (told is not None and (not told or self.untold <= told))


def read_by_day(
    tree: exp.Expr, dated: Mapping[str, frozenset[str]], models: frozenset[str], line: int, cadence: str = "daily"
) -> DayReading:
    """`dated`: day columns of tables, by lower-cased dotted names as the query has them; `models`: those among them
    that are not there as a whole when a day is computed."""
    reader = _Reader(dated=dated, models=models, line=line, cadence=cadence)
    rows = reader.read(tree, {})
    return DayReading(
        rows=rows,
        mixtures=tuple(dict.fromkeys(reader.mixtures)),
        bounds=tuple(sorted(reader.bounds)),
        untold=frozenset(reader.untold),
    )


@dataclass(slots=True, kw_only=True)
class _Reader:
    dated: Mapping[str, frozenset[str]]
    models: frozenset[str]
    line: int
    cadence: str
    mixtures: list[Mixture] = field(default_factory=list[Mixture])
    bounds: set[str] = field(default_factory=set[str])
    untold: set[str] = field(default_factory=set[str])
    selects: int = 0

    def mix(self, node: exp.Expr, what: str) -> None:
        self.mixtures.append(Mixture(line=line_of(node, self.line), what=what))

    def read(self, tree: exp.Expr, known: Mapping[str, Rows]) -> Rows:
        if (clause := tree.args.get("with_")) is not None:
            if clause.args.get("recursive"):
                self.mix(tree, "WITH RECURSIVE")
            inner = dict(known)
            for cte in clause.expressions:
                inner[cte.alias.lower()] = self.read(cte.this, inner)
            known = inner
        if isinstance(tree, exp.Subquery | exp.Paren):
            return self.read(tree.this, known)
        if isinstance(tree, exp.SetOperation):
            return self._set(tree, known)
        return self._select(tree, known) if isinstance(tree, exp.Select) else Rows()

    def _set(self, tree: exp.SetOperation, known: Mapping[str, Rows]) -> Rows:
        left, right = self.read(tree.this, known), self.read(tree.expression, known)
        names = left.columns or tuple(_names(tree.this))
        places = {i for i, n in enumerate(right.columns) if n in right.days}
        free = left.free | right.free
        undated = [r for r in (left, right) if not r.days and not r.models and not r.bounded]
        days = frozenset(n for i, n in enumerate(names) if n in left.days and i in places)
        if not days and (left.days or right.days):
            self.mix(tree, "a UNION of rows of days and others" if undated else "a UNION whose sides have other days")
            free |= left.models | right.models
        limited = bool(tree.args.get("limit") or tree.args.get("offset"))
        if limited:
            self.mix(tree, _LIMIT)
        cut = left.cut or right.cut or limited
        return Rows(
            days=days, columns=names, bounded=left.bounded and right.bounded, models=left.models | right.models,
            free=free, cut=cut, spans=_of_both(names, left, right),
            starts=_starts_of_both(names, left, right), told=_told_of_both(names, left, right),
        )  # fmt: skip

    def _select(self, tree: exp.Select, known: Mapping[str, Rows]) -> Rows:
        parts, conditions = self._parts(tree, known)
        dated = [p for p in parts if p.days or p.rows.models]
        self.selects += 1
        by = f"{self.selects}:"
        plain = [c for c, _ in conditions if self._bound(c, parts, by)]
        self._compared(tree, [c for c, _ in conditions], plain, parts, by)
        for part in parts:
            if part.sides and part.sides < {"start", "end"}:
                self.mix(tree, f"{part.name}: one bound only, so rows of many days are read")
        dated = [p for p in parts if p.days or p.bounded or p in dated]
        groups = _groups(parts, conditions, self.cadence)
        main: set[tuple[str, str]] = max(groups, key=lambda g: len({n for n, _ in g}), default=set())
        free = frozenset[str]().union(*(p.rows.free for p in parts))
        mixed = False
        apart = [p for p in dated if p.days and not any((p.name, c) in main for c in p.days)]
        if len(dated) > 1 and apart:
            names = ", ".join(p.name for p in apart)
            self.mix(tree, f"{names}: the join does not say that rows are of the same day")
            free |= frozenset[str]().union(*(p.rows.models for p in apart if not p.bounded))
        if main and any(p.bounded and any((p.name, c) in main for c in p.days) for p in parts):
            for part in parts:
                part.bounded = part.bounded or any((part.name, c) in main for c in part.days)
        members = {(p.name, c) for p in parts for c in p.days if not p.optional}
        full = any(str(j.args.get("side") or "").upper() == "FULL" for j in tree.args.get("joins") or [])
        outer = {(p.name, c) for p in parts for c in p.days} if full else set[tuple[str, str]]()
        models = frozenset[str]().union(*(p.rows.models for p in parts if not p.bounded))
        if dated:
            mixed = self._mixed(tree, members)
        if self._subqueries(tree, known, bool(dated)) and dated:
            mixed = True
        days: set[str] = set()
        spans, starts, told = dict[str, str](), dict[str, str](), dict[str, frozenset[str]]()
        for node in tree.expressions:
            if (conditions_of := self._told(node, parts, by)) is not None:
                told[node.alias_or_name.lower()] = conditions_of
            if (span := span_of(node, _looker(parts))) is not None:
                spans[node.alias_or_name.lower()] = span
            if (start := start_of(node, _starter(parts))) is not None:
                starts[node.alias_or_name.lower()] = start
            if _is_day(node.this if isinstance(node, exp.Alias) else node, members, outer, self.cadence):
                days.add(node.alias_or_name.lower())
        grouped = self._grouped(tree, members, bool(dated))
        if dated and tree.args.get("distinct") is not None:
            on = tree.args["distinct"].args.get("on")
            by = on.expressions if isinstance(on, exp.Tuple) else [on] if on is not None else []
            if (by and not any(_is_day(e, members, outer, self.cadence) for e in by)) or (not by and not days):
                self.mix(tree, "DISTINCT over several days")
                mixed = True
        cut = any(p.rows.cut for p in parts) or bool(tree.args.get("limit") or tree.args.get("offset"))
        if tree.args.get("limit") or tree.args.get("offset"):
            self.mix(tree, _LIMIT)
            mixed = True
        if grouped or mixed:
            free |= models
        bounded = bool(dated) and any(p.bounded for p in parts if not p.optional)
        return Rows(
            days=frozenset(days), columns=tuple(_names(tree)), bounded=bounded, models=models, free=free, cut=cut,
            spans=spans, starts=starts, told=told,
        )  # fmt: skip

    def _parts(
        self, tree: exp.Select, known: Mapping[str, Rows]
    ) -> tuple[list[_Part], list[tuple[exp.Expr, _Part | None]]]:
        parts: list[_Part] = []
        conditions: list[tuple[exp.Expr, _Part | None]] = []
        clause = tree.args.get("from_")
        if clause is not None:
            parts.append(self._part(clause.this, known))
        for join in tree.args.get("joins") or []:
            side = str(join.args.get("side") or "").upper()
            if side in ("RIGHT", "FULL"):
                for part in parts:
                    part.optional = True
            part = self._part(join.this, known)
            part.optional = side in ("LEFT", "FULL")
            parts.append(part)
            on = join.args.get("on")
            if on is not None:
                conditions += [(c, part if part.optional else None) for c in conjuncts(on)]
        if (where := tree.args.get("where")) is not None:
            conditions += [(c, None) for c in conjuncts(where.this)]
        return parts, conditions

    def _part(self, node: exp.Expr, known: Mapping[str, Rows]) -> _Part:
        name = node.alias_or_name.lower()
        if isinstance(node, exp.Subquery):
            rows = self.read(node.this, known)
        elif isinstance(node, exp.Table):
            said = ".".join(p.name for p in node.parts).lower()
            if "." not in said and said in known:
                rows = known[said]
            else:
                days = self.dated.get(said, frozenset())
                models = frozenset([said]) if said in self.models else frozenset[str]()
                rows = Rows(days=days, models=models)
        else:
            rows = Rows()
        return _Part(name=name, rows=rows, optional=False, days=set(rows.days), bounded=rows.bounded)

    def _bound(self, conjunct: exp.Expr, parts: Sequence[_Part], by: str) -> bool:
        """Mark the column that a placeholder is compared with: it says the day, and rows are of the wanted ones. False
        for what is no such comparison."""
        if not isinstance(conjunct, exp.GTE | exp.GT | exp.LT | exp.LTE | exp.EQ) or not _with_interval(conjunct):
            return False
        span = self._span(conjunct.this, parts, by)
        column = day_column(conjunct.this, self.cadence) if span != UNKNOWN else None
        side = next((s for s in ("start", "end") if conjunct.expression.find(exp.Placeholder).this == s), "")  # pyright: ignore
        for part in parts:
            if column is not None and part.name == column.table.lower():
                if not part.rows.days or column.name.lower() in part.rows.days:
                    part.days.add(column.name.lower())
                if not isinstance(conjunct.expression, exp.Placeholder):
                    self.mix(conjunct, f"`{_said(conjunct)}`: a bound that is not the interval's own")
                part.sides |= {side} if not isinstance(conjunct, exp.EQ) else {"start", "end"}
                part.bounded = part.bounded or part.sides >= {"start", "end"}
        _compare(conjunct.this, parts)
        return True

    def _span(self, node: exp.Expr, parts: Sequence[_Part], by: str) -> str | None:
        """The span of what is compared with the interval."""
        span = span_of(node, lambda c: _looker(parts)(c) or MOMENT)
        if span is not None:
            self.bounds.add(span)
        if span == UNKNOWN:
            self.untold.add(by + _bare(node))
        return span

    def _compared(
        self, tree: exp.Select, conditions: Sequence[exp.Expr], plain: Sequence[exp.Expr], parts: Sequence[_Part],
        by: str,
    ) -> None:  # fmt: skip
        """Note what is compared with the interval otherwise, as in an OR: of which days rows are read is not known."""
        others = [c for c in conditions if not any(c is p for p in plain)]
        cut = {id(n) for c in others for n in c.walk(prune=lambda n: isinstance(n, exp.Query))}
        known = {id(c) for c in plain}
        for node in (*_own(tree, exp.Predicate), *others):
            if id(node) in known or not node.find(exp.Placeholder) or any(_inner(node)):
                continue
            _compare(node, parts)
            if id(node) not in cut:
                continue
            if _with_interval(node):
                self._span(node.this, parts, by)
            elif node.find(exp.Column):
                self._span(node, parts, by)

    def _told(self, node: exp.Expr, parts: Sequence[_Part], by: str) -> frozenset[str] | None:
        """By which comparisons of an unknown span an output is cut; None where it is not by its very value."""
        if isinstance(node, exp.Alias):
            node = node.this
        if not node.find(exp.Column) and node.find(exp.Placeholder) and not node.find(exp.Query):
            return frozenset()
        if self.untold and (said := by + _bare(node)) in self.untold:
            return frozenset([said])
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            part = next((p for p in parts if p.name == node.table.lower()), None)
            return part.rows.told.get(node.name.lower()) if part is not None else None
        return None

    def _mixed(self, tree: exp.Select, members: set[tuple[str, str]]) -> bool:
        """Windows that look at rows of several days."""
        mixed = False
        for window in _own(tree, exp.Window):
            if not any(_is_day(e, members, set(), self.cadence) for e in window.args.get("partition_by") or []):
                named = window.args.get("alias")
                said = f"`{_said(window)}`" if named is None else "a window"
                self.mix(window, f"{said}: a window that is not of one day")
                mixed = True
        return mixed

    def _grouped(self, tree: exp.Select, members: set[tuple[str, str]], dated: bool) -> bool:
        group = tree.args.get("group")
        if group is None:
            inner = [e for e in _own(tree, exp.AggFunc) if not _in_window(e)]
            if inner and dated:
                self.mix(inner[0], "an aggregate of all rows, without GROUP BY")
            return bool(inner)
        keys = list(group.expressions)
        if group.args.get("all"):
            keys = [e.this if isinstance(e, exp.Alias) else e for e in tree.expressions if not e.find(exp.AggFunc)]
        by_day = any(_is_day(k, members, set(), self.cadence) for k in _resolved(tree, keys))
        if not by_day and dated:
            self.mix(group, "GROUP BY without the day")
        return not by_day

    def _subqueries(self, tree: exp.Select, known: Mapping[str, Rows], dated: bool) -> bool:
        """Whether a condition or an output looks at another query of days."""
        found = False
        for query in _own(tree, exp.Query):
            rows = self.read(query, known)
            if rows.days or rows.models or rows.bounded:
                found = True
                self.mix(query, "a subquery in a condition or an output")
        return found and dated


def _looker(parts: Sequence[_Part]) -> Callable[[exp.Column], str | None]:
    """The spans of the columns that a SELECT reads."""
    by_name = {p.name: p for p in parts}

    def look(column: exp.Column) -> str | None:
        part = by_name.get(column.table.lower())
        if part is None:
            return None
        name = column.name.lower()
        return part.rows.spans.get(name, MOMENT if name in part.days or name in part.compared else None)

    return look


def _starter(parts: Sequence[_Part]) -> Callable[[exp.Column], str | None]:
    by_name = {p.name: p.rows.starts for p in parts}
    return lambda column: by_name.get(column.table.lower(), {}).get(column.name.lower())


def _starts_of_both(names: Sequence[str], left: Rows, right: Rows) -> dict[str, str]:
    other = [right.starts.get(name) for name in right.columns]
    return {n: s for n, o in zip(names, other, strict=False) if (s := left.starts.get(n)) is not None and s == o}


def _told_of_both(names: Sequence[str], left: Rows, right: Rows) -> dict[str, frozenset[str]]:
    others = [right.told.get(name) for name in right.columns]
    return {
        n: s | o for n, o in zip(names, others, strict=False) if (s := left.told.get(n)) is not None and o is not None
    }


def _with_interval(node: exp.Expr) -> bool:
    """Whether something is compared with values of the interval alone."""
    if not isinstance(node, exp.Binary | exp.Between | exp.In) or node.this.find(exp.Placeholder):
        return False
    bounds = [b for k, v in node.args.items() if k != "this" for b in _many(v)]
    return any(b.find(exp.Placeholder) for b in bounds) and not any(b.find(exp.Column) for b in bounds)


def _inner(node: exp.Expr) -> Iterator[exp.Expr]:
    """Conditions with something of the interval within another."""
    return (n for n in node.find_all(exp.Predicate) if n is not node and n.find(exp.Placeholder))


def _compare(node: exp.Expr, parts: Sequence[_Part]) -> None:
    for column in node.find_all(exp.Column):
        for part in parts:
            if part.name == column.table.lower():
                part.compared.add(column.name.lower())


def _bare(node: exp.Expr) -> str:
    while isinstance(node, exp.Paren):
        node = node.this
    return node.sql(comments=False)


def _of_both(names: Sequence[str], left: Rows, right: Rows) -> dict[str, str]:
    """The spans of a UNION's outputs, which go by their places."""
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        other = right.columns[place] if place < len(right.columns) else ""
        spans = [s for s in (left.spans.get(name), right.spans.get(other)) if s is not None]
        if spans:
            found[name] = longest(spans)
    return found


def day_column(node: exp.Expr | None, cadence: str = "daily") -> exp.Column | None:
    """The column of which this is the value, or the interval."""
    while node is not None:
        if elsewhere(node) or (to_date(node) and not within("day", cadence)):
            return None
        match node:
            case exp.Column():
                return node
            case exp.Paren() | exp.Date() | exp.TsOrDsToDate() | exp.Alias() | exp.TsOrDsToTimestamp():
                node = node.this
            case exp.StrToTime() | exp.StrToDate() | exp.ParseTime() | exp.UnixToTime() | exp.Trim() | exp.StrToUnix():
                node = node.this
            case exp.Anonymous() if node.name.lower().startswith(PARSED) and node.expressions:
                node = node.expressions[0]
            case exp.Cast() if node.to.this in (exp.DType.DATE, *exp.DataType.TEMPORAL_TYPES, *exp.DataType.TEXT_TYPES):
                node = node.this
            case exp.DateTrunc() | exp.TimestampTrunc() if within(truncated_to(node), cadence):
                node = node.this
            case _:
                return None
    return None


def _is_day(node: exp.Expr, members: set[tuple[str, str]], outer: set[tuple[str, str]], cadence: str) -> bool:
    if isinstance(node, exp.Coalesce) and outer:
        found = [day_column(e, cadence) for e in (node.this, *node.expressions)]
        return all(c is not None and (c.table.lower(), c.name.lower()) in outer for c in found)
    column = day_column(node, cadence)
    return column is not None and (column.table.lower(), column.name.lower()) in members


def _groups(
    parts: Sequence[_Part], conditions: Sequence[tuple[exp.Expr, _Part | None]], cadence: str
) -> list[set[tuple[str, str]]]:
    """Columns that are of one day, by the equalities between them; parts learn which of theirs are among them."""
    days = {p.name: p for p in parts}
    links: list[tuple[tuple[str, str], tuple[str, str], str]] = []
    for conjunct, joined in conditions:
        if not isinstance(conjunct, exp.EQ | exp.NullSafeEQ):
            continue
        left, right = day_column(conjunct.this, cadence), day_column(conjunct.expression, cadence)
        if left is None or right is None or left.table == right.table:
            continue
        if joined is not None and joined.name not in (left.table.lower(), right.table.lower()):
            continue
        ends = [(c.table.lower(), c.name.lower()) for c in (left, right)]
        links.append((ends[0], ends[1], joined.name if joined is not None else ""))
    groups = [{(p.name, c) for c in p.days} for p in parts if p.days]
    changed = True
    while changed:
        changed = False
        for group in groups:
            for one, other, optional in links:
                for here, there in ((one, other), (other, one)):
                    part = days.get(there[0])
                    if optional and optional != there[0]:
                        continue  # a row without a match stays: of what it is joined to, the ON says nothing
                    if here in group and there not in group and part is not None:
                        if part.days and there[1] not in part.days:
                            continue  # its rows are of days by another column
                        part.days.add(there[1])
                        group |= {(part.name, c) for c in part.days}
                        changed = True
    return groups


def _own(tree: exp.Select, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """What is in a SELECT itself: neither in its FROM, nor in a query within."""
    keys = ("expressions", "where", "having", "qualify", "order", "windows", "group")
    roots = [n for key in keys for n in _many(tree.args.get(key))]
    roots += [j.args["on"] for j in tree.args.get("joins") or [] if j.args.get("on") is not None]
    while roots:
        node = roots.pop()
        if isinstance(node, kind):
            yield node
        if not isinstance(node, exp.Query) or isinstance(node, exp.Subquery):
            roots += [c for c in node.iter_expressions() if not (isinstance(node, exp.Subquery) and kind is exp.Query)]


def _many(value: object) -> list[exp.Expr]:
    if isinstance(value, list):
        return [v for v in value if isinstance(v, exp.Expr)]
    return [value] if isinstance(value, exp.Expr) else []


def _in_window(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
        parent = parent.parent
    return isinstance(parent, exp.Window) and node.arg_key != "partition_by"


def _resolved(tree: exp.Select, keys: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """Keys of a GROUP BY: places and names of outputs as what they stand for."""
    for key in keys:
        place = whole(str(key.this)) if isinstance(key, exp.Literal) else None
        if place and place <= len(tree.expressions):
            key = tree.expressions[place - 1]
        elif isinstance(key, exp.Column) and not key.table:
            key = next((e for e in tree.expressions if e.alias_or_name.lower() == key.name.lower()), key)
        yield key.this if isinstance(key, exp.Alias) else key


def _said(node: exp.Expr) -> str:
    return " ".join(node.sql(comments=False).split())[:80]


def _names(tree: exp.Expr) -> list[str]:
    return [name.lower() for name in tree.named_selects] if isinstance(tree, exp.Query) else []
