"""How are two sides compared in Spark? The columns that both have, and the SQL that all questions about them share.

`profile.py` asks what each side holds, `pairs.py` what became of its rows; here are the rows that a sample shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.compare.diff import DiffColumn
from backfill_assets.compare.equality import Type, cast, common_type, counted_as, equal_sql
from backfill_assets.compare.questions import Question
from backfill_assets.core.errors import PlanError
from backfill_assets.core.intervals import Cadence
from backfill_assets.core.model import Model
from backfill_assets.sql.text import quoted

Fields = Sequence[tuple[str, str, Type]]
"""Of a side: each column's name, its type as Spark spells it, and as JSON."""

SLICE_VALUES = 500
SAMPLE_ROWS = 500
_UNITS = {Cadence.HOURLY: "DAY", Cadence.DAILY: "DAY", Cadence.WEEKLY: "WEEK", Cadence.MONTHLY: "MONTH"}
SIDES = (("old", "o"), ("new", "n"))


class NoSharedKeyError(PlanError):
    """Nothing tells which rows of two sides belong together."""

    def __init__(self, model: Model) -> None:
        super().__init__(
            f"the two sides of {model.name} cannot be compared",
            why=f"the grain is {', '.join(model.grain)}, and no column of it is on both sides",
            fix="compare versions that share a key",
        )
        self.model = model.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedColumn:
    """A column as both sides have it: `column.name`, and the spelling and type on each side."""

    column: DiffColumn
    old: tuple[str, Type] | None
    new: tuple[str, Type] | None
    type: Type
    """What both are compared in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two relations (SQL texts). Column `i` is called `c<i>` throughout."""

    columns: tuple[ComparedColumn, ...]
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

    def sample(
        self, old: str, new: str, windows: Mapping[str, tuple[str, str]], show: Sequence[int], count: int
    ) -> str:
        """Rows as text: `bf_status`, `k<i>` of the key, `o<i>` and `n<i>` of the columns to show.

        `windows` maps each kind of row to its first and last day. The keys are taken by the hash of the key without its
        time: the same ones each time, and each with all of its days.
        """
        key = {i: f"coalesce(o_key, n_key).k{i}" for i in self.keys}
        entity = [self.text(i, key[i]) for i in self.keys if i != self.time]
        order = ", ".join([f"xxhash64({', '.join(entity)})", *entity]) if entity else "bf_status"
        day = self.day(f"coalesce({self.value(self.time, 'n')}, {self.value(self.time, 'o')})")
        where = " OR ".join(
            f"(bf_status = '{kind}' AND bf_day >= '{first}' AND bf_day <= '{last}')"
            for kind, (first, last) in windows.items()
        )
        taken = ["bf_status", "bf_rank", "o_key IS NOT NULL AS o_here", "n_key IS NOT NULL AS n_here"]
        taken += [f"{self.text(i, key[i])} AS k{i}" for i in self.keys]
        for _, s in SIDES:
            taken += [f"{self.text(i, self.value(i, s))} AS {s}{i}" for i in show if self.has(i, s)]
        return (
            f"SELECT {', '.join(taken)} "
            f"FROM (SELECT *, dense_rank() OVER (PARTITION BY bf_status ORDER BY {order}) AS bf_rank FROM ("
            f"SELECT *, {day} AS bf_day FROM ({self.joined(old, new, self.compared)})) WHERE {where}) "
            f"WHERE bf_rank <= {count} AND coalesce(o_i, n_i) <= 3 "
            f"ORDER BY bf_status, bf_rank, bf_day, coalesce(o_key, n_key) LIMIT {SAMPLE_ROWS}"
        )

    def joined(self, old: str, new: str, compared: Sequence[int], *, unique: bool = False) -> str:
        """A row per pair, with `bf_status`, and in `d<i>` whether a compared column differs.

        Rows with the same key are numbered on both sides and joined by number as well: no row is lost or multiplied,
        and all of such a key count as unpaired. Where keys are known to be `unique`, numbering is left out.
        """
        different = [
            f"bf_paired AND NOT ({equal_sql(f'o_c{i}', f'n_c{i}', self.columns[i].type, self.near(i))}) AS d{i}"
            for i in compared
        ]
        taken = [
            f"{s}.c{i} AS {s}_c{i}"
            for i, c in enumerate(self.columns)
            for _, s in SIDES
            if not c.column.key and self.has(i, s)
        ]
        taken += [f"{s}.{have} AS {s}_{call}" for _, s in SIDES for have, call in _OWN]
        changed = f"WHEN {' OR '.join(f'd{i}' for i in compared)} THEN 'changed' " if compared else ""
        # Half of a few hundred thousand rows is quicker looked up than both sorted.
        hint, number = ("/*+ SHUFFLE_HASH(n) */ ", "") if unique else ("", " AND o.bf_i = n.bf_i")
        return (
            "SELECT *, CASE WHEN bf_many THEN 'unpaired' WHEN o_key IS NULL THEN 'added' "
            f"WHEN n_key IS NULL THEN 'removed' {changed}ELSE 'unchanged' END AS bf_status FROM ("
            f"SELECT {', '.join(['*', *different])} FROM ("
            "SELECT *, NOT bf_many AND o_key IS NOT NULL AND n_key IS NOT NULL AS bf_paired FROM ("
            "SELECT *, coalesce(o_n, 1) > 1 OR coalesce(n_n, 1) > 1 AS bf_many FROM ("
            f"SELECT {hint}{', '.join(taken)} FROM ({self._side(old, 'o', unique)}) o "
            f"FULL OUTER JOIN ({self._side(new, 'n', unique)}) n ON o.bf_key = n.bf_key{number}))))"
        )

    def day(self, time: str) -> str:
        """The first day of the interval that a time lies in (its day, for an hourly model), as text."""
        return f"CAST({self.date(time)} AS STRING)"

    def date(self, time: str) -> str:
        """The same as a date: quicker to group by."""
        return f"CAST({time} AS DATE)" if self.unit == "DAY" else f"trunc(CAST({time} AS DATE), '{self.unit}')"

    def _side(self, relation: str, side: str, unique: bool) -> str:
        """A side's rows with their key as one value (in which NULL equals NULL), numbered within it."""
        key = ", ".join(f"'k{i}', {self.read(i, side)}" for i in self.keys)
        values = [
            f"{self.read(i, side)} AS c{i}"
            for i, c in enumerate(self.columns)
            if not c.column.key and self.has(i, side)
        ]
        rows = f"SELECT {', '.join([f'named_struct({key}) AS bf_key', *values])} FROM ({relation})"
        if unique:
            return f"SELECT *, 1 AS bf_n, 1 AS bf_i FROM ({rows})"
        return (
            "SELECT *, count(*) OVER (PARTITION BY bf_key) AS bf_n, "
            f"row_number() OVER (PARTITION BY bf_key ORDER BY bf_key) AS bf_i FROM ({rows})"
        )

    def text(self, i: int, expression: str) -> str:
        kind = self.columns[i].type
        if not isinstance(kind, str):
            return f"to_json({expression})"
        return f"hex({expression})" if kind == "binary" else f"CAST({expression} AS STRING)"

    def near(self, i: int) -> float:
        """How far apart two values of a column may be: whole numbers are the same or not, also where one side has them
        as floats, as an id that became another one lies within any tolerance."""
        column = self.columns[i]
        kinds = {counted_as(side[1]) for side in (column.old, column.new) if side}
        return 0.0 if kinds == {"integer", "float"} else self.tolerance

    def has(self, i: int, side: str) -> bool:
        return (self.columns[i].old if side == "o" else self.columns[i].new) is not None

    def read(self, i: int, side: str) -> str:
        here = self.columns[i].old if side == "o" else self.columns[i].new
        assert here is not None
        return cast(quoted(here[0]), here[1], self.columns[i].type)

    def value(self, i: int, side: str) -> str:
        return f"{side}_key.k{i}" if self.columns[i].column.key else f"{side}_c{i}"


_OWN = (("bf_key", "key"), ("bf_n", "n"), ("bf_i", "i"))


def compile_diff(question: Question, old: Fields, new: Fields) -> Comparison:
    """The query for two sides with these columns. Raises PlanError when they share no column of the key, or when a
    slice is no column of both."""
    model = question.model
    here, there = ({name.lower(): (name, text, kind) for name, text, kind in fields} for fields in (old, new))
    key = {g.lower() for g in model.grain}
    for now, before in question.renamed.items():
        if now in there and now not in here and before in here and before not in there:
            here[now] = here.pop(before)  # read by its own name, called by the new one
    columns: list[ComparedColumn] = []
    for low in (*there, *(n for n in here if n not in there)):
        a, b = here.get(low), there.get(low)
        known = [side[2] for side in (a, b) if side]
        kind = common_type(known[0], known[-1])
        columns.append(
            ComparedColumn(
                column=DiffColumn(
                    name=(b or a or ("",))[0],
                    kind=counted_as(kind),
                    old_type=a and a[1],
                    new_type=b and b[1],
                    key=low in key and a is not None and b is not None,
                    masked=low in question.mask,
                    was=a[0] if a and b and a[0] != b[0] and a[0].lower() == b[0].lower() else "",
                ),
                old=(a[0], a[2]) if a else None,
                new=(b[0], b[2]) if b else None,
                type=kind,
            )
        )
    numbers = {c.column.name.lower(): i for i, c in enumerate(columns)}
    if not any(c.column.key for c in columns):
        raise NoSharedKeyError(model)
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
    return Comparison(
        columns=tuple(columns),
        slices=tuple(slices[1:]),
        time=numbers[model.time_column.lower()],
        unit=_UNITS[model.cadence],
        tolerance=question.tolerance,
    )
