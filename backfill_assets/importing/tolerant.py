"""How does a query that is not known to give the same rows read here, and what of it has to be checked?

It is written whenever its rows can be told apart by intervals. What engines may compute otherwise, and what looks at
several days, is listed. What cannot be computed by days is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.dialects import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError

from backfill_assets.importing.bounds import Bounds, line_of, with_bounds
from backfill_assets.importing.by_day import DayReading, Mixture, day_column, read_by_day
from backfill_assets.importing.columns import flat, outputs, qualified, temporal
from backfill_assets.importing.differences import EngineDifference, differences
from backfill_assets.importing.found import Untranslatable
from backfill_assets.importing.inferred_types import rounded
from backfill_assets.importing.keys import key_of
from backfill_assets.importing.percentiles import exact_percentiles, for_spark
from backfill_assets.importing.query import parse
from backfill_assets.importing.resolve import Inline, Lookup, ResolvedQuery, resolve
from backfill_assets.importing.spans import CADENCES, MOMENT, UNKNOWN, length, longest
from backfill_assets.importing.truncations import spark_truncations
from backfill_assets.importing.weekdays import spark_weekdays
from backfill_assets.sql.text import quoted

INTERVALS = {
    "hourly": ("HOUR", "hour"),
    "daily": ("DAY", "ds"),
    "weekly": ("WEEK", "week"),
    "monthly": ("MONTH", "month"),
}
_MOST_TRIES = 60
_CLOCK = (
    exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTime, exp.Rand, exp.Uuid, exp.CurrentUser,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignQuery:
    """A query of another tool. `bounded`: the tool itself computes it by intervals; else always all of it.

    `time_column` is what the tool tells intervals by (empty: it says none); `time_format` is the form of its texts for
    Spark, empty where a cast reads them, None where Spark does not; `cut` are inputs that the tool cuts to the
    interval by a column of theirs, by lower-cased names as written. `run` is the cadence of which one run there
    computes one interval; empty for another time. `batch` is how many it computes at once where several are missing, 0
    for all. `inferred`: the tool makes the table with types that it infers.
    """

    text: str
    line: int
    dialect: str
    bounded: bool
    time_column: str = ""
    time_format: str | None = ""
    cadence: str = "daily"
    run: str = "daily"
    batch: int = 1
    inferred: bool = False
    cut: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenQuery:
    """A query for Spark. `columns` are Spark types, empty where unknown; `cadence` is how long intervals have to be;
    `one_by_one`: they have to be computed each by itself; `lookback` are intervals before it that one reads; `clock`
    are functions that give something else each time."""

    text: str
    cadence: str
    time_column: str
    original: str
    columns: Mapping[str, str]
    reads: tuple[str, ...]
    inlined: tuple[str, ...]
    key: tuple[str, ...]
    one_by_one: bool
    lookback: int
    by_day: bool
    clock: tuple[str, ...]
    checks: tuple[EngineDifference, ...]


def write(asked: ForeignQuery, lookup: Lookup) -> WrittenQuery:
    """The query for Spark. Raises Untranslatable."""
    resolved, bounds, checks = _prepared(asked, lookup)
    tree = resolved.tree
    tables = {name: k.columns for name, k in resolved.reads.items()}
    shape = qualified(tree, tables)
    columns = outputs(shape) if shape is not None else None
    if shape is None or columns is None:
        unknown = sorted(k.name for k in resolved.reads.values() if not k.columns)
        why = f"the columns of {', '.join(unknown)} are not known" if unknown else "a star in it is not understood"
        fix = "declare the columns in sources.yml, and import again"
        raise Untranslatable("the columns of the query cannot be told", why=why, fix=fix, line=asked.line)
    if asked.inferred:
        checks += rounded(shape, asked.line)
    said = asked.cadence
    asked, wanted, reading = _by_interval(asked, resolved, shape, columns, bounds)
    if asked.cadence != said:
        checks.append(_longer(asked, wanted, reading))
    kind = columns.get(wanted, columns.get(wanted.lower(), ""))
    _checked(asked, resolved, bounds, reading, wanted, kind, checks)
    rows, mixtures = reading.rows, reading.mixtures
    mixed = bool(mixtures or bounds.values)
    exact = asked.bounded and rows.bounded and not mixed and wanted.lower() in rows.days and not bounds.moved
    first = asked.cadence != "daily" and rows.starts.get(wanted.lower()) == length(asked.cadence)
    text, time_column = _text(asked, tree, columns, wanted, kind, exact, first, checks)
    types = {**columns, time_column: "timestamp" if asked.cadence == "hourly" else "date"}
    return WrittenQuery(
        text=text, cadence=asked.cadence, time_column=time_column, original=wanted, columns=types,
        reads=tuple(k.name for k in resolved.reads.values()), inlined=resolved.inlined, key=key_of(shape, {}),
        one_by_one=asked.bounded and mixed, lookback=_lookback(bounds.moved, asked.cadence), by_day=not mixed,
        clock=tuple(sorted({_called(n) for n in tree.find_all(*_CLOCK)})),
        checks=tuple(sorted(dict.fromkeys(checks), key=lambda c: (c.line, c.what))),
    )  # fmt: skip


def inline(asked: ForeignQuery, name: str, lookup: Lookup) -> tuple[Inline, tuple[EngineDifference, ...]]:
    """The query as a part of those that read it. Raises Untranslatable."""
    resolved, bounds, checks = _prepared(asked, lookup)
    if bounds.values or bounds.moved:
        line, said = bounds.values[0] if bounds.values else (asked.line, "a bound")
        raise Untranslatable(f"`{said}` in a model without days", line=line)
    return (
        Inline(name=name, tree=resolved.tree, reads=resolved.reads, inlined=resolved.inlined),
        tuple(checks),
    )


def _prepared(asked: ForeignQuery, lookup: Lookup) -> tuple[ResolvedQuery, Bounds, list[EngineDifference]]:
    tree = parse("\n" * (asked.line - 1) + asked.text, asked.line, asked.dialect)
    if not isinstance(tree, exp.Query):
        raise Untranslatable("the model is no query", line=asked.line)
    checks = differences(tree, asked.dialect, asked.line)
    exact_percentiles(tree, asked.dialect, asked.line)
    spark_truncations(tree, asked.dialect, asked.line)
    spark_weekdays(tree, asked.dialect)
    distinct = tree.args.get("distinct")
    chooses = isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None
    if not (chooses or tree.args.get("limit") or tree.args.get("offset")):
        tree.set("order", None)  # a table has none; with these it says which rows there are
    cut: list[tuple[exp.Table, str]] = []
    if asked.cut:
        for table in tree.find_all(exp.Table):
            column = asked.cut.get(".".join(p.name for p in table.parts).lower())
            if column:
                cut.append((table, column))
    resolved = resolve(tree, lookup, asked.line)
    for table, column in cut:
        _cut(table, column)
    for select in resolved.tree.find_all(exp.Select):
        for node in select.expressions:  # `id::INT` is called id by the tools, and otherwise by Spark
            if not isinstance(node, exp.Alias | exp.Column | exp.Star) and not node.alias and node.output_name:
                node.replace(exp.alias_(node.copy(), node.output_name))
    return resolved, with_bounds(resolved.tree, asked.line), checks


def _cut(table: exp.Table, column: str) -> None:
    """An input cut to the interval, as the tool does it."""
    alias = table.alias_or_name
    plain = table.copy()
    plain.set("alias", None)
    plain.set("joins", None)
    name = exp.column(column)
    where = exp.And(
        this=exp.GTE(this=name.copy(), expression=exp.Placeholder(this="start")),
        expression=exp.LT(this=name.copy(), expression=exp.Placeholder(this="end")),
    )
    query = exp.select("*").from_(plain).where(where, copy=False)
    sub = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias)))
    if table.args.get("joins"):
        sub.set("joins", table.args["joins"])
    table.replace(sub)


def _by_interval(
    asked: ForeignQuery, resolved: ResolvedQuery, shape: exp.Query, columns: Mapping[str, str], bounds: Bounds
) -> tuple[ForeignQuery, str, DayReading]:
    """The output that tells intervals, how the query reads by them, and of which cadence they have to be for each to
    have all of its rows. Raises Untranslatable where there is none."""
    wanted, reading = _by_day(asked, resolved, shape, columns)
    if not asked.bounded or shape.find(exp.Placeholder) is None:  # nothing is cut: each reads all
        return asked, wanted, reading
    own, unit = reading.rows.spans.get(wanted.lower(), MOMENT), length(asked.cadence)
    if not reading.complete(wanted.lower()):
        raise _no_interval(asked, shape, wanted, UNKNOWN, "")
    if wanted.lower() in reading.rows.told:
        own = MOMENT  # what is read is told by the very value
    bound = longest(b for b in reading.bounds if b != UNKNOWN)
    needed = CADENCES.get(longest([own, unit, bound]))
    if needed is None:
        raise _no_interval(asked, shape, wanted, own, bound if longest([own, unit]) in CADENCES else "")
    if needed == "daily" and asked.run == "weekly" and (reading.mixtures or bounds.values):
        needed = "weekly"
    if needed == asked.cadence:
        return asked, wanted, reading
    longer = replace(asked, cadence=needed)
    return longer, *_by_day(longer, resolved, shape, columns)


def _no_interval(asked: ForeignQuery, shape: exp.Query, wanted: str, span: str, bound: str) -> Untranslatable:
    """Why no interval holds all rows of a value: of the time column, or of what is read (`bound`)."""
    node = next((n for n in shape.selects if n.alias_or_name == wanted), shape)
    line = line_of(node, asked.line)
    if span == UNKNOWN:
        what = f"the time column `{wanted}` is not shown to be of the interval that its rows are read of"
        why = (
            f"what is read is cut to one {length(asked.cadence)}; rows of another `{wanted}` would be left out, or "
            "have a part of their input"
        )
        fix = "filter what is read by the very expression that the time column is, and write the model by hand"
        return Untranslatable(what, why=why, fix=fix, line=line)
    what = f"the time column `{wanted}` is of a {span}, in a model of {length(asked.cadence)}s"
    if bound:
        what = f"what is read is cut by a {bound}, in a model of {length(asked.cadence)}s"
    why = "each would have a part of its input only; intervals here are hours, days, weeks (from Monday) or months"
    fix = "let it be computed by days there; weeks and months become intervals here"
    if (bound or span) not in CADENCES:
        fix = f"give its rows by month (date_trunc('month', …)), and let what reads it add up each {span}"
    return Untranslatable(what, why=why, fix=fix, line=line)


def _longer(asked: ForeignQuery, wanted: str, reading: DayReading) -> EngineDifference:
    """What to check of intervals that are longer here, and why they are."""
    unit = length(asked.cadence)
    said = f"`cadence: {asked.cadence}`"
    if asked.cadence == "weekly":
        said += ", from Monday to Sunday"
    if reading.rows.spans.get(wanted.lower(), MOMENT) == unit:
        why = (
            f"`{wanted}` is of a {unit}: a shorter interval would have a part of its input only. Here each has all of "
            "it; there a run gives what its own days come to"
        )
    elif unit in reading.bounds:
        why = f"what is read is told by the {unit}: a shorter interval would read all of it, or nothing"
    else:
        why = f"what is computed looks at all that a run reads, which is as long as a {unit} there"
    return EngineDifference(line=asked.line, what=said, why=why)


def _lookback(days: int, cadence: str) -> int:
    """Days as intervals, rounded up."""
    return {"hourly": 24 * days, "weekly": -(-days // 7), "monthly": -(-days // 28)}.get(cadence, days)


def _by_day(
    asked: ForeignQuery, resolved: ResolvedQuery, shape: exp.Query, columns: Mapping[str, str]
) -> tuple[str, DayReading]:
    """The output that tells intervals, and how the query reads by days."""
    dated = {flat(n): k.days for n, k in resolved.reads.items() if k.model}
    models = frozenset(flat(n) for n, k in resolved.reads.items() if k.model)
    line = asked.line
    first = read_by_day(shape, dated, models, line, asked.cadence)
    said = next((n for n in columns if n.lower() == asked.time_column.lower()), "") if asked.time_column else ""
    if asked.time_column and not said:
        return _day_of(asked, resolved, shape, columns)
    if asked.bounded and said:
        return said, first
    best: tuple[tuple[bool, int, int], str, DayReading] | None = None
    for reading in [first, *_tries(resolved, shape, dated, models, line)]:
        for place, name in enumerate(columns):
            if name.lower() not in reading.rows.days:
                continue
            rank = name != said, len(reading.mixtures), place
            if best is None or rank < best[0]:
                best = rank, name, reading
    if best is None:
        what = f"`{said}` is not a day of the input" if said else "no column says which day a row is of"
        why = "a model here has rows of days: each belongs to one, and stays there"
        fix = "keep it there as a query over what is shown here, or read its table as a source (`backfill docs models`)"
        raise Untranslatable(what, why=why, fix=fix, line=line)
    if best[2].rows.cut:
        fix = "keep it there as a query over what is shown here"
        cut = next((m for m in best[2].mixtures if m.what.startswith("LIMIT")), Mixture(line=line, what="LIMIT"))
        why = "which rows are in it changes with each new row: they are of no day"
        raise Untranslatable("LIMIT", why=why, fix=fix, line=cut.line)
    return best[1], best[2]


def _day_of(
    asked: ForeignQuery, resolved: ResolvedQuery, shape: exp.Query, columns: Mapping[str, str]
) -> tuple[str, DayReading]:
    """The output that is the day of a column by which new rows are told, where that is no output itself."""
    by, line = asked.time_column.lower(), asked.line
    models = {flat(n): k for n, k in resolved.reads.items() if k.model}
    for name, known in () if asked.bounded else resolved.reads.items():
        if by not in {c.lower() for c in known.columns} or (known.model and by not in known.days):
            continue
        dated = {**{n: k.days for n, k in models.items()}, flat(name): frozenset([by])}
        reading = read_by_day(shape, dated, frozenset(models), line)
        for column in columns:
            if column.lower() in reading.rows.days and not reading.rows.cut:
                return column, reading
    raise Untranslatable(
        f"the query gives no column `{asked.time_column}`", why=f"it gives {', '.join(columns)}; none is its day",
        fix=f"let it give `{asked.time_column}`, or CAST({asked.time_column} AS DATE), and import again", line=line,
    )  # fmt: skip


def _tries(
    resolved: ResolvedQuery, shape: exp.Query, dated: Mapping[str, frozenset[str]], models: frozenset[str], line: int
) -> list[DayReading]:
    """The query read with one column of one source as the day of its rows."""
    read: list[DayReading] = []
    wanted = _cast_to_days(shape)
    for name, known in resolved.reads.items():
        if known.model:
            continue
        for column, kind in known.columns.items():
            if (temporal(kind) or column.lower() in wanted) and len(read) < _MOST_TRIES:
                read.append(read_by_day(shape, {**dated, flat(name): frozenset([column.lower()])}, models, line))
    return read


def _cast_to_days(shape: exp.Query) -> set[str]:
    """Columns of which the query itself makes days."""
    found: set[str] = set()
    for node in shape.find_all(exp.Cast, exp.Func):
        if type(node) is exp.Cast and not temporal(
            node.to.sql(dialect="spark").lower().replace("timestamp_ltz", "timestamp")
        ):
            continue
        column = day_column(node)
        if column is not None:
            found.add(column.name.lower())
    return found


def _checked(
    asked: ForeignQuery,
    resolved: ResolvedQuery,
    bounds: Bounds,
    reading: DayReading,
    wanted: str,
    kind: str,
    checks: list[EngineDifference],
) -> None:
    """Note what is to be checked. Raises Untranslatable for what is read whole of a model."""
    by_flat = {flat(n): k.name for n, k in resolved.reads.items()}
    if reading.rows.free:
        names = ", ".join(sorted(by_flat[n] for n in reading.rows.free))
        first = reading.mixtures[0] if reading.mixtures else Mixture(line=asked.line, what="")
        fix = "join it by its day, cut it to the interval, or write `lookback` for earlier days"
        why = f"{first.what}: a day's rows would depend on all days of it, which a plan does not follow"
        raise Untranslatable(f"all days of {names} are read", why=why, fix=fix, line=first.line)
    for mixture in reading.mixtures:
        why = _alone(asked) if asked.bounded else (
            "there each run computes all rows anew; here an interval keeps what it was given when it was built, "
            "and each batch reads all of the input"
        )  # fmt: skip
        checks.append(EngineDifference(line=mixture.line, what=mixture.what, why=why))
    for line, said in bounds.values:
        why = f"its value is that of the interval: {_alone(asked)}"
        checks.append(EngineDifference(line=line, what=f"`{said}` is a value", why=why))
    for column in bounds.dates:
        if not isinstance(column, exp.Column):
            continue
        declared = {k.columns[n] for k in resolved.reads.values() for n in k.columns if n == column.name.lower()}
        for one in sorted(declared or {kind}):
            if one and not temporal(one):
                why = "texts are compared with a date: Spark casts them, and stops at one that is none"
                what = f"`{column.name}` is {one}"
                checks.append(EngineDifference(line=line_of(column, asked.line), what=what, why=why))
    if bounds.moved:
        said = f"`lookback: {_lookback(bounds.moved, asked.cadence)}`"
        why = f"{said} says that an interval reads so many earlier {length(asked.cadence)}s"
        checks.append(EngineDifference(line=asked.line, what="a bound before the interval", why=why))
    if kind == "timestamp" and bounds.dates and asked.cadence != "hourly":
        why = "a date as the last bound leaves out all of that day but its midnight there; here the whole day is read"
        checks.append(EngineDifference(line=asked.line, what=f"`{wanted}` is a timestamp", why=why))
    if asked.bounded and wanted.lower() not in reading.rows.days:
        why = "it is not shown to be the day of the input: rows of other intervals are left out"
        checks.append(EngineDifference(line=asked.line, what=f"the time column `{wanted}`", why=why))
    if asked.time_column and asked.time_column.lower() not in reading.rows.columns:
        why = f"new rows are told by `{asked.time_column}` there, which the query does not give: this is its day"
        checks.append(EngineDifference(line=asked.line, what=f"the time column `{wanted}`", why=why))
    elif wanted.lower() != asked.time_column.lower():
        why = "nothing there says by what days are told: it is the first output that is the day of an input's row"
        checks.append(EngineDifference(line=asked.line, what=f"the time column `{wanted}`", why=why))


def _alone(asked: ForeignQuery) -> str:
    """What is computed for an interval by itself here, and what a run there has at once."""
    here = f"it is computed for each {length(asked.cadence)} by itself (`batch_size: 1`)"
    one_by_one = asked.run == asked.cadence != "weekly"
    if one_by_one and asked.batch == 1:
        return f"{here}, as a run there does"
    if one_by_one:
        most = f"up to {asked.batch}" if asked.batch else "all that are missing (no `batch_size`)"
        return f"{here}; a run there computes {most} at once: where that is more than one, its rows are others"
    return (
        f"{here}; a run there computes all that is over at its tick at once: where that is another time, its rows are "
        "others"
    )


def _text(
    asked: ForeignQuery, tree: exp.Query, columns: Mapping[str, str], wanted: str, kind: str, exact: bool, first: bool,
    checks: list[EngineDifference],
) -> tuple[str, str]:  # fmt: skip
    """The query for Spark, cut to the wanted intervals, and its time column. `first`: its values are the first days of
    intervals."""
    if asked.time_format is None and not temporal(kind):
        why, fix = "Spark cannot make a day of it by `to_date`", "give a date as the time column there"
        raise Untranslatable(f"the form of the time column `{wanted}`", why=why, fix=fix, line=asked.line)
    inner = _spark(tree, asked.line, checks)
    unit, added = INTERVALS[asked.cadence]
    at = quoted(wanted)
    if kind == "date" and asked.cadence != "hourly" and first:
        names, day, bound = [quoted(n) for n in columns], wanted, at
    elif kind == "date" and asked.cadence == "daily":
        if exact:
            return inner, wanted
        names, day, bound = [quoted(n) for n in columns], wanted, at
    elif kind == "timestamp" or asked.cadence != "daily" or (asked.time_format and kind != "date"):
        day = added if added not in columns else f"{wanted}_{added}"
        moment = at if kind in ("timestamp", "date") else _moment(at, unit, kind, asked.time_format or "")
        truncated = f"date_trunc('{unit}', {moment})"
        whole = {"DAY": f"CAST({moment} AS DATE)", "HOUR": truncated}.get(unit, f"CAST({truncated} AS DATE)")
        names, bound = [*(quoted(n) for n in columns), f"{whole} AS {day}"], moment
    else:
        day, bound = wanted, f"CAST({at} AS DATE)"
        names = [f"{bound} AS {at}" if n == wanted else quoted(n) for n in columns]
        why = "its type is not known to be a date: it is cast, which stops at a value that is none"
        checks.append(
            EngineDifference(
                line=asked.line, what=f"the time column `{wanted}` is {kind or 'of no known type'}", why=why
            )
        )
    body = "\n".join(f"  {one}" if one else one for one in inner.splitlines())
    said = ",\n  ".join(names)
    text = f"SELECT\n  {said}\nFROM (\n{body}\n) AS rows_of_days\nWHERE {bound} >= :start AND {bound} < :end"
    return text, day


def _moment(at: str, unit: str, kind: str, form: str) -> str:
    """The time that a text says."""
    if not form:
        return f"CAST({at} AS {'TIMESTAMP' if unit == 'HOUR' else 'DATE'})"
    said = at if kind == "string" else f"CAST({at} AS STRING)"
    return f"to_{'timestamp' if unit == 'HOUR' else 'date'}({said}, '{form}')"


def _called(node: exp.Expr) -> str:
    return node.sql(dialect="spark").lower().removesuffix("()") + "()"


def _spark(tree: exp.Query, line: int, checks: list[EngineDifference]) -> str:
    generator = Dialect.get_or_raise("spark").generator(
        pretty=True, comments=False, unsupported_level=ErrorLevel.IGNORE
    )
    try:
        text = generator.generate(for_spark(tree))
    except RecursionError:
        raise Untranslatable("the query is nested too deeply", line=line) from None
    except (SqlglotError, ValueError, TypeError, AttributeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise Untranslatable("the query cannot be written for Spark", why=why, line=line) from None
    lost = generator.unsupported_messages
    checks += [EngineDifference(line=line, what=m[:200], why="Spark has nothing that is the same") for m in lost]
    return text
