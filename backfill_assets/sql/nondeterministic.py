"""What in a model's code gives something else when the same interval is built again? The clock, chance, the cluster.

A retry, a rebuild of one day or a comparison of old and new needs that the same inputs give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from backfill_assets.sql.column_check import USER, WITHOUT_BRACKETS
from backfill_assets.sql.parsing import WRITTEN_AS, SqlError, parse
from backfill_assets.sql.places import line_of
from backfill_assets.sql.text_clocks import Tables, clock_texts, daytimes, text_of


class Nondeterminism(Enum):
    """What a function depends on beside its arguments, and what to write instead."""

    CLOCK = (
        "it depends on when the batch runs",
        "use :start and :end (in Python: interval.start, interval.end), which are the same whenever it runs",
    )
    CHANCE = "no two runs of it draw the same", "take a hash of the row's key, as in `xxhash64(id)`"
    LAYOUT = (
        "it depends on how rows are spread over files and tasks",
        "take a hash of the row's key, or a column that the source has",
    )
    SESSION = "it depends on who runs the batch, and where", "write the value into the query"
    USER = (
        "Spark takes the name for whoever runs the batch where no table has such a column, and not all that the query "
        "reads have known columns",
        "for a column, name its table, as in `t.user`, or declare the columns of what is read; else write the value",
    )
    SPELLED = (
        "Spark computes this text and then makes a date or an instant of it, where 'now', 'today', 'tomorrow' and "
        "'yesterday' are the clock; nobody can see that it gives none of them",
        "write the text as one literal, or `DATE '2024-01-01'`; for the clock :start and :end",
    )
    DAYLESS = (
        "Spark makes an instant of it, and takes a time without a day for one of the day on which it runs",
        "write the day as well, as in TIMESTAMP '2024-01-01 10:00'; a time of each row's own day is "
        "`ds + INTERVAL 10 HOURS`, and one without a day is compared as text: `date_format(at, 'HH:mm') >= '10:00'`",
    )
    PROGRAM = (
        "it runs a program, and nobody can see what that gives",
        "write it in SQL, or as a Python model",
    )
    UNREAD = (
        "its name cannot be read from the code, and functions of that name may be the clock or chance",
        'write it as a literal: `F.sum("x")`, or `getattr(F, name)` with `name` of a loop over literals',
    )
    SAMPLE = (
        "which rows it takes depends on how they are spread over tasks, even with a seed",
        "filter by a hash of the key, as in `pmod(xxhash64(id), 100) < 10`",
    )

    @property
    def why(self) -> str:
        return self.value[0]

    @property
    def fix(self) -> str:
        return self.value[1]

    @property
    def verb(self) -> str:
        unsure = (Nondeterminism.USER, Nondeterminism.SPELLED, Nondeterminism.PROGRAM, Nondeterminism.UNREAD)
        return "may give" if self in unsure else "gives"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionUse:
    """A use of such a function. `file` is relative to the project where it is not the model's own."""

    name: str
    cause: Nondeterminism
    line: int
    file: str = ""


FUNCTIONS: dict[str, Nondeterminism] = {
    **dict.fromkeys(
        ("current_date", "curdate", "current_timestamp", "now", "localtimestamp", "current_time", "localtime"),
        Nondeterminism.CLOCK,
    ),
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), Nondeterminism.CHANCE),
    **dict.fromkeys(
        (
            "monotonically_increasing_id", "spark_partition_id", "input_file_name", "input_file_block_start",
            "input_file_block_length",
        ),
        Nondeterminism.LAYOUT,
    ),
    **dict.fromkeys(
        (
            "current_user", "user", "session_user", "current_catalog", "current_database", "current_schema",
            "reflect", "java_method", "try_reflect",
        ),
        Nondeterminism.SESSION,
    ),
}  # fmt: skip
"""Spark's functions, by their names in SQL and in pyspark.sql.functions."""
_CLOCKS = (exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Localtimestamp, exp.Localtime)
_WITHOUT_BRACKETS: dict[str, Nondeterminism] = dict(
    zip(WITHOUT_BRACKETS, (Nondeterminism.CLOCK, Nondeterminism.SESSION), strict=True)
)
"""Functions of Spark that need no brackets and that sqlglot takes for columns."""


def uses_in_query(tree: exp.Expr) -> Iterator[FunctionUse]:
    """The uses in a parsed query; lines count from 1 within its text."""
    for node in tree.walk(prune=lambda n: isinstance(n, exp.Hint)):
        name = str(node.meta_get(WRITTEN_AS) or "").lower()
        if isinstance(node, exp.Anonymous):
            name = node.name.lower()
        if isinstance(node, exp.TableSample):
            yield FunctionUse(name="TABLESAMPLE", cause=Nondeterminism.SAMPLE, line=_line(node))
        elif isinstance(node, exp.QueryTransform):
            yield FunctionUse(name="TRANSFORM … USING", cause=Nondeterminism.PROGRAM, line=_line(node))
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in _WITHOUT_BRACKETS:
            yield FunctionUse(name=node.name, cause=_WITHOUT_BRACKETS[node.name.lower()], line=_line(node))
        elif name in FUNCTIONS:
            yield FunctionUse(name=f"{name}()", cause=FUNCTIONS[name], line=_line(node))
        elif isinstance(node, _CLOCKS):  # `unix_timestamp()` has one for its argument
            parent = str(node.parent.meta_get(WRITTEN_AS) or "").lower() if node.parent else ""
            yield FunctionUse(name=f"{parent or node.key}()", cause=Nondeterminism.CLOCK, line=_line(node))


def uses_of_texts(tree: exp.Expr, tables: Tables | None = None) -> Iterator[FunctionUse]:
    """The texts that mean the clock, times without a day, and `user`; `tables` as `clock_texts` takes them."""
    for node in clock_texts(tree, tables):
        if (text := text_of(node)) is not None:
            yield FunctionUse(name=f"'{text}'", cause=Nondeterminism.CLOCK, line=_line(node))
        else:
            yield FunctionUse(name=node.sql("spark"), cause=Nondeterminism.SPELLED, line=_line(node))
    for node in daytimes(tree, tables or ()):
        yield FunctionUse(name=f"'{text_of(node)}'", cause=Nondeterminism.DAYLESS, line=_line(node))
    if tables is None or all(tables):  # a `user` that no table has is told as a column that is not there
        return
    named = {c.name.lower() for table in tables for c in table} | {a.alias.lower() for a in tree.find_all(exp.Alias)}
    for node in tree.find_all(exp.Column):
        if node.name.lower() == USER and not node.table and USER not in named:
            yield FunctionUse(name=node.name, cause=Nondeterminism.USER, line=_line(node))


def uses_in_text(text: str, tables: Tables | None = None) -> list[FunctionUse]:
    """The uses in SQL text; none where it does not parse. `tables`: the columns of those that it reads."""
    try:
        return [u for tree in parse(text).statements for u in (*uses_in_query(tree), *uses_of_texts(tree, tables))]
    except SqlError:
        return []


def _line(node: exp.Expr) -> int:
    around: exp.Expr | None = node
    while around is not None:
        if (line := around.meta_get("line")) is not None:
            return line
        if any(n.meta_get("line") for n in around.walk()):
            return line_of(around)
        around = around.parent
    return 1
