"""How are two sides compared in Spark? One full outer join on the key and one aggregate; a small query for samples.

Rows with the same key are numbered on both sides and joined by number as well: no row is lost or multiplied, and all of
such a key count as unpaired. Each joined row is then taken apart into its old and its new half, each of which counts
for its own day and slice: a row that moved to another day is missing in one and there in the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.audit.compile import quoted
from backfill_assets.compare.ask import Question
from backfill_assets.compare.diff import DiffColumn
from backfill_assets.compare.same import Type, cast, common, kind_of, same, sql_type
from backfill_assets.errors import PlanError
from backfill_assets.intervals import Cadence

Fields = Sequence[tuple[str, str, Type]]
"""Of a side: each column's name, its type as Spark spells it, and as JSON."""

SLICE_VALUES = 500
SAMPLE_ROWS = 500
_UNITS = {Cadence.HOURLY: "DAY", Cadence.DAILY: "DAY", Cadence.WEEKLY: "WEEK", Cadence.MONTHLY: "MONTH"}
_SIDES = (("old", "o"), ("new", "n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as both sides have it: `column.name`, and the spelling and type on each side."""

    column: DiffColumn
    old: tuple[str, Type] | None
    new: tuple[str, Type] | None
    type: Type
    """What both are compared in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The comparison of two relations (SQL texts). Column `i` is called `c<i>` throughout."""

    columns: tuple[Column, ...]
    slices: tuple[int, ...]
    time: int
    """The number of the time column."""
    unit: str
    tolerance: float

    @property
    def keys(self) -> tuple[int, ...]:
        return tuple(i for i, c in enumerate(self.columns) if c.column.key)

    @property
    def compared(self) -> tuple[int, ...]:
        return tuple(i for i, c in enumerate(self.columns) if c.column.both and not c.column.key)

    def aggregate(self, old: str, new: str) -> str:
        """A row per side and group: all rows, each day, each value of a slice. `g_day` and `g_<n>` are 0 in its own."""
        names = ["day", *map(str, range(len(self.slices)))]
        sets = ", ".join(["(bf_side)", *(f"(bf_side, bf_{n})" for n in names)])
        halves = ", ".join(self._half(side, s) for side, s in _SIDES)
        changed = ", ".join([f"d{i}" for i in self.compared])
        parts = ", ".join([self._bucket(f"h.c{self.time}") + " AS bf_day", *self._slices()])
        aggregates = [
            *(f"grouping(bf_{n}) AS g_{n}" for n in names),
            "count(*) AS bf_rows",
            *(f"count_if(bf_status = '{s}') AS {s}" for s in ("unchanged", "changed", "added", "removed", "unpaired")),
            "count_if(bf_null) AS null_rows",
            "count_if(bf_n > 1 AND bf_i = 1) AS duplicate_keys",
            "count_if(bf_n > 1) AS duplicate_rows",
            *(f"count_if(d{i} AND bf_side = 'new') AS changed{i}" for i in self.compared),
            *(part for i in range(len(self.columns)) for part in self._stats(i)),
        ]
        grouped = (
            f"SELECT bf_side, {', '.join(f'bf_{n}' for n in names)}, {', '.join(aggregates)} FROM ("
            f"SELECT bf_status, {changed + ', ' if changed else ''}h.*, {parts} FROM ({self._joined(old, new)}) "
            f"LATERAL VIEW inline(array({halves})) h WHERE h.bf_here) "
            f"GROUP BY bf_side, {', '.join(f'bf_{n}' for n in names)} GROUPING SETS ({sets})"
        )
        if not self.slices:
            return grouped
        # A slice of very many values is cut off, by the order of its values.
        groups = ", ".join(f"g_{n}" for n in names)
        values = ", ".join(f"bf_{n}" for n in names[1:])
        ranked = f"SELECT *, dense_rank() OVER (PARTITION BY {groups} ORDER BY {values}) AS bf_rank FROM ({grouped})"
        sliced = " OR ".join(f"g_{n} = 0" for n in names[1:])
        return f"SELECT * FROM ({ranked}) WHERE bf_rank <= {SLICE_VALUES + 1} OR NOT ({sliced})"

    def sample(
        self, old: str, new: str, windows: Mapping[str, tuple[str, str]], show: Sequence[int], count: int
    ) -> str:
        """Rows as text: `bf_status`, `k<i>` of the key, `o<i>` and `n<i>` of the columns to show.

        `windows` maps each kind of row to its first and last day. The keys are taken by the hash of the key without its
        time: the same ones each time, and each with all of its days.
        """
        key = {i: f"coalesce(o_key, n_key).k{i}" for i in self.keys}
        entity = [self._text(i, key[i]) for i in self.keys if i != self.time]
        order = ", ".join([f"xxhash64({', '.join(entity)})", *entity]) if entity else "bf_status"
        day = self._bucket(f"coalesce({self._value(self.time, 'n')}, {self._value(self.time, 'o')})")
        where = " OR ".join(
            f"(bf_status = '{kind}' AND bf_day >= '{first}' AND bf_day <= '{last}')"
            for kind, (first, last) in windows.items()
        )
        taken = ["bf_status", "bf_rank", "o_key IS NOT NULL AS o_here", "n_key IS NOT NULL AS n_here"]
        taken += [f"{self._text(i, key[i])} AS k{i}" for i in self.keys]
        for _, s in _SIDES:
            taken += [f"{self._text(i, self._value(i, s))} AS {s}{i}" for i in show if self._has(i, s)]
        return (
            f"SELECT {', '.join(taken)} "
            f"FROM (SELECT *, dense_rank() OVER (PARTITION BY bf_status ORDER BY {order}) AS bf_rank FROM ("
            f"SELECT *, {day} AS bf_day FROM ({self._joined(old, new)})) WHERE {where}) "
            f"WHERE bf_rank <= {count} AND coalesce(o_i, n_i) <= 3 "
            f"ORDER BY bf_status, bf_rank, bf_day, coalesce(o_key, n_key) LIMIT {SAMPLE_ROWS}"
        )

    def _joined(self, old: str, new: str) -> str:
        """A row per pair, with `bf_status`, and in `d<i>` whether the column differs."""
        different = [
            f"bf_paired AND NOT ({same(f'o_c{i}', f'n_c{i}', self.columns[i].type, self.tolerance)}) AS d{i}"
            for i in self.compared
        ]
        taken = [
            f"{s}.c{i} AS {s}_c{i}"
            for i, c in enumerate(self.columns)
            for _, s in _SIDES
            if not c.column.key and self._has(i, s)
        ]
        taken += [f"{s}.{have} AS {s}_{call}" for _, s in _SIDES for have, call in _OWN]
        changed = f"WHEN {' OR '.join(f'd{i}' for i in self.compared)} THEN 'changed' " if self.compared else ""
        return (
            "SELECT *, CASE WHEN bf_many THEN 'unpaired' WHEN o_key IS NULL THEN 'added' "
            f"WHEN n_key IS NULL THEN 'removed' {changed}ELSE 'unchanged' END AS bf_status FROM ("
            f"SELECT {', '.join(['*', *different])} FROM ("
            "SELECT *, NOT bf_many AND o_key IS NOT NULL AND n_key IS NOT NULL AS bf_paired FROM ("
            "SELECT *, coalesce(o_n, 1) > 1 OR coalesce(n_n, 1) > 1 AS bf_many FROM ("
            f"SELECT {', '.join(taken)} FROM ({self._side(old, 'o')}) o FULL OUTER JOIN ({self._side(new, 'n')}) n "
            "ON o.bf_key = n.bf_key AND o.bf_i = n.bf_i))))"
        )

    def _side(self, relation: str, side: str) -> str:
        """A side's rows with their key as one value (in which NULL equals NULL), numbered within it."""
        key = ", ".join(f"'k{i}', {self._read(i, side)}" for i in self.keys)
        values = [
            f"{self._read(i, side)} AS c{i}"
            for i, c in enumerate(self.columns)
            if not c.column.key and self._has(i, side)
        ]
        return (
            "SELECT *, count(*) OVER (PARTITION BY bf_key) AS bf_n, "
            "row_number() OVER (PARTITION BY bf_key ORDER BY bf_key) AS bf_i FROM ("
            f"SELECT {', '.join([f'named_struct({key}) AS bf_key', *values])} FROM ({relation}))"
        )

    def _half(self, name: str, side: str) -> str:
        nulls = " OR ".join(f"{side}_key.k{i} IS NULL" for i in self.keys)
        parts = [
            f"'bf_side', '{name}', 'bf_here', {side}_key IS NOT NULL, 'bf_null', {nulls}",
            f"'bf_n', {side}_n, 'bf_i', {side}_i",
        ]
        for i, c in enumerate(self.columns):
            if not self._has(i, side):
                value = f"CAST(NULL AS {'BOOLEAN' if c.column.kind == 'nested' else sql_type(c.type)})"
            elif c.column.kind == "nested":
                value = f"nullif({self._value(i, side)} IS NULL, true)"  # NULL where it is
            else:
                value = self._value(i, side)
            parts.append(f"'c{i}', {value}")
        return f"named_struct({', '.join(parts)})"

    def _stats(self, i: int) -> list[str]:
        column, c = self.columns[i].column, f"c{i}"
        found = [f"count_if({c} IS NULL) AS nulls{i}"]
        if column.kind == "nested":
            return found
        found.append(f"hll_sketch_estimate(hll_sketch_agg(IF({c} IS NULL, NULL, xxhash64({c})), 12)) AS distinct{i}")
        if column.masked:
            return found
        n = f"CAST({c} AS INT)" if self.columns[i].type == "boolean" else c
        if column.kind == "text":
            return [*found, *(f"{self._text(i, f'{f}({c})')} AS {f}{i}" for f in ("min", "max"))]
        if not column.key:
            wide = {"integer": f"CAST({n} AS DECIMAL(38, 0))", "float": f"CAST({n} AS DOUBLE)"}.get(column.kind, n)
            found += [
                f"try_sum({wide}) AS sum{i}",
                f"percentile_approx({n}, array(0.5D, 0.95D)) AS percentiles{i}",
            ]
        return [*found, *(f"{f}({n}) AS {f}{i}" for f in ("min", "max"))]

    def _slices(self) -> list[str]:
        return [f"{self._text(i, f'h.c{i}')} AS bf_{n}" for n, i in enumerate(self.slices)]

    def _bucket(self, time: str) -> str:
        return f"date_format(date_trunc('{self.unit}', {time}), 'yyyy-MM-dd')"

    def _text(self, i: int, expression: str) -> str:
        kind = self.columns[i].type
        if not isinstance(kind, str):
            return f"to_json({expression})"
        return f"hex({expression})" if kind == "binary" else f"CAST({expression} AS STRING)"

    def _has(self, i: int, side: str) -> bool:
        return (self.columns[i].old if side == "o" else self.columns[i].new) is not None

    def _read(self, i: int, side: str) -> str:
        here = self.columns[i].old if side == "o" else self.columns[i].new
        assert here is not None
        return cast(quoted(here[0]), here[1], self.columns[i].type)

    def _value(self, i: int, side: str) -> str:
        return f"{side}_key.k{i}" if self.columns[i].column.key else f"{side}_c{i}"


_OWN = (("bf_key", "key"), ("bf_n", "n"), ("bf_i", "i"))


def compile_diff(question: Question, old: Fields, new: Fields) -> Query:
    """The query for two sides with these columns. Raises PlanError when they share no column of the key, or when a
    slice is no column of both."""
    model = question.model
    here, there = ({name.lower(): (name, text, kind) for name, text, kind in fields} for fields in (old, new))
    key = {g.lower() for g in model.grain}
    columns: list[Column] = []
    for low in (*there, *(n for n in here if n not in there)):
        a, b = here.get(low), there.get(low)
        known = [side[2] for side in (a, b) if side]
        kind = common(known[0], known[-1])
        columns.append(
            Column(
                column=DiffColumn(
                    name=(b or a or ("",))[0],
                    kind=kind_of(kind),
                    old_type=a and a[1],
                    new_type=b and b[1],
                    key=low in key and a is not None and b is not None,
                    masked=low in question.mask,
                ),
                old=(a[0], a[2]) if a else None,
                new=(b[0], b[2]) if b else None,
                type=kind,
            )
        )
    numbers = {c.column.name.lower(): i for i, c in enumerate(columns)}
    if not any(c.column.key for c in columns):
        raise PlanError(
            f"the two sides of {model.name} cannot be compared",
            why=f"the grain is {', '.join(model.grain)}, and no column of it is on both sides",
            fix="compare versions that share a key",
        )
    declared = {s.lower() for s in model.slices}
    slices: list[int] = []
    for name in (model.time_column, *question.slices):
        i = numbers.get(name.lower())
        if name.lower() in declared and (i is None or not columns[i].column.both):
            continue  # a new column: there is nothing to relate its values to yet
        if i is None or not columns[i].column.both or columns[i].column.kind == "nested":
            shared = ", ".join(c.column.name for c in columns if c.column.both and c.column.kind != "nested")
            raise PlanError(
                f"{model.name} cannot be compared by {name}",
                why="it is no plain column of both sides" if i is not None else "neither side has such a column",
                fix=f"name one of: {shared}",
            )
        slices.append(i)
    return Query(
        columns=tuple(columns),
        slices=tuple(slices[1:]),
        time=numbers[model.time_column.lower()],
        unit=_UNITS[model.cadence],
        tolerance=question.tolerance,
    )
