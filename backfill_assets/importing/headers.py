"""What does the header of a translated model say? Its grain, first day, time column and audits, and what to check."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime

from backfill_assets.core.cron import over_from
from backfill_assets.core.intervals import Cadence, utc
from backfill_assets.core.wording import day_text
from backfill_assets.files.validation import column_name
from backfill_assets.importing.foreign import Entry, Foreign, ForeignKind
from backfill_assets.importing.found import Remark, ToCheck, TranslatedModel
from backfill_assets.importing.header import model_text, plain
from backfill_assets.importing.tolerant import WrittenQuery
from backfill_assets.sql.text import quoted

FIRST_DAY = date(2000, 1, 1)
"""The `start` of a model whose first day nobody says: a model begins with its data where its sources say how far that
goes (docs/models.md)."""
_ENDS = 250
"""How many ends of intervals are looked at: of weeks, those of more than four years."""


def model_file(
    model: Foreign, written: WrittenQuery, start: date | None, inner: Sequence[ToCheck], there: Collection[str]
) -> TranslatedModel:
    """The model's file. `start` is the first day of those that say none; `inner` are checks of its inlined parts;
    `there` are the models and sources that audits may look at."""
    checks = [*model.checks, *(model.check(c.line, c.what, c.why) for c in written.checks), *inner]
    given = {name.lower(): name for name in written.columns}
    header = {k: v for k, v in model.header.items() if k in ("description", "owner")}
    header["start"] = _start(model, start, written.cadence, checks)
    if (end := _end(model, written.cadence, checks)) is not None:
        header["end"] = end
    if written.cadence != "daily":
        header["cadence"] = written.cadence
    remarks: list[Remark] = []
    grain = _grain(model, written, given, checks, remarks)
    header["grain"] = list(grain)
    if written.time_column != "ds":
        header["time_column"] = written.time_column
    header |= {k: v for k, v in model.header.items() if k not in ("description", "owner")}
    if written.cadence != model.cadence:
        header.pop("batch_size", None)  # it counts the shorter intervals
        if "ready" in header and _at_each_end(str(header["ready"]), written.cadence):
            del header["ready"]  # it is no later than the end of the longer one
    if written.clock:
        uses = ", ".join(written.clock)
        header["allow_nondeterministic"] = f"taken over as it was: {uses}"
        why = "built again, it gives other rows: take it out, or use `:end`, and `allow_nondeterministic` with it"
        checks.append(model.check(model.line, f"the clock or chance: {uses}", why))
    if written.one_by_one:
        header |= {"batch_size": 1}
    if written.lookback:
        header["lookback"] = written.lookback
    audits, looked_at = _audits(model, written, given, there, checks)
    keyed = written.time_column.lower() not in {g.lower() for g in grain}
    if keyed and model.by_key and {g.lower() for g in grain} == {k.lower() for k in model.by_key}:
        header["write"] = "merge"
        why = (
            "there a row of a key replaces the older one, also of another day; here it is red (`stable_key`) when a "
            "key comes again on another day"
        )
        checks.append(model.check(model.line, f"rows are told apart by {', '.join(grain)}", why))
    elif keyed and not written.by_day and model.kind is not ForeignKind.INTERVALS:
        audits.append({"unique": {"columns": list(grain), "scope": "table"}})
    described = {given[c.lower()]: text for c, text in model.described.items() if c.lower() in given and text}
    if described:
        header["columns"] = {c: plain(text) for c, text in described.items()}
    if audits:
        header["audits"] = audits
    if written.time_column not in (written.original, model.time_column) and written.original in given.values():
        checks_or_not = f"a column {written.time_column} is added: the {_unit(written)} of {written.original}"
        header.setdefault("columns", {})
        columns = dict(header["columns"]) if isinstance(header["columns"], Mapping) else {}
        header["columns"] = {**columns, written.time_column: checks_or_not.partition(": ")[2]}
    origin = f"{model.file}:{model.line}"
    return TranslatedModel(
        name=model.name, text=model_text(origin, header, written.text), origin=origin,
        reads=tuple(dict.fromkeys((*written.reads, *looked_at))),
        checks=tuple(dict.fromkeys(checks)), remarks=tuple(remarks),
        inlined=tuple(n.lower() for n in written.inlined), table=model.table,
    )  # fmt: skip


def _unit(written: WrittenQuery) -> str:
    return Cadence(written.cadence).unit


def _at_each_end(cron: str, cadence: str) -> bool:
    """Whether a cron ticks whenever an interval of the cadence ends."""
    intervals = Cadence(cadence)
    end = intervals.floor(utc(FIRST_DAY))
    for _ in range(_ENDS):
        if over_from([cron], end) != end:
            return False
        end = intervals.shift(end, 1)
    return True


def _start(model: Foreign, start: date | None, cadence: str, checks: list[ToCheck]) -> date | str:
    """Where an interval begins: one within it would leave out the interval, with the rows that it has there."""
    said = utc(model.start or start or FIRST_DAY)
    first = Cadence(cadence).floor(said)
    written = f"`start: {day_text(first)}` is written"
    if model.start is None and start is None:
        why = "nothing before it is ever expected: write the first day that the model has, or import with `--start DAY`"
        checks.append(model.check(model.line, f"no first day is said there: {written}", why))
    elif first != said:
        unit = Cadence(cadence).unit
        why = (
            f"there the first day is {day_text(said)}: here its whole {unit} is built, with what there is from before "
            "that day"
        )
        checks.append(model.check(model.line, f"{written}, where that {unit} begins", why))
    return _as_said(first)


def _end(model: Foreign, cadence: str, checks: list[ToCheck]) -> date | str | None:
    """Where the last interval ends: with an end within it, it would not be built."""
    if model.end is None:
        return None
    said = utc(model.end)
    end = Cadence(cadence).ceil(said)
    if end != said:
        unit = Cadence(cadence).unit
        why = f"there nothing is computed from {day_text(said)} on: here the whole {unit} before it is built"
        checks.append(model.check(model.line, f"`end: {day_text(end)}` is written, where that {unit} ends", why))
    return _as_said(end)


def _as_said(moment: datetime) -> date | str:
    """As YAML has it: a day, or an instant."""
    return moment.date() if moment == Cadence.DAILY.floor(moment) else day_text(moment)


def _grain(
    model: Foreign, written: WrittenQuery, given: Mapping[str, str], checks: list[ToCheck], remarks: list[Remark]
) -> tuple[str, ...]:
    said = model.grain or model.by_key
    key = [given[c.lower()] for c in written.key if c.lower() in given and _plain(c)]
    if len(key) != len(written.key):
        key = []
    unique = list(_unique(model, given))
    if said and all(c.lower() in given for c in said):
        own = tuple(given[c.lower()] for c in said)
        return _tested(model, own, unique, key if len(key) < len(given) else [], remarks)
    if said:
        missing = ", ".join(c for c in said if c.lower() not in given)
        checks.append(model.check(model.line, f"the grain names {missing}", "the query has no such column"))
    if key:
        return tuple(key)
    if unique:
        return unique[0]
    why = "nothing there says which columns tell rows apart: all of them are written; name the key's alone"
    checks.append(model.check(model.line, "the grain", why))
    return tuple(c for c in given.values() if _plain(c))


def _unique(model: Foreign, given: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The columns that an audit says to be unique, in all rows that have them."""
    for entry in model.audits:
        for kind, one in entry.items():
            columns = one.get("columns") if isinstance(one, Mapping) else None
            where = str(one.get("where", "")) if isinstance(one, Mapping) else ""
            if kind != "unique" or not isinstance(columns, list) or not all(str(c).lower() in given for c in columns):
                continue
            if not where or where == f"{quoted(str(columns[0]))} IS NOT NULL":
                yield tuple(given[str(c).lower()] for c in columns)


def _tested(
    model: Foreign, own: tuple[str, ...], unique: Sequence[tuple[str, ...]], key: Sequence[str], remarks: list[Remark]
) -> tuple[str, ...]:
    """The grain that is said, unless an audit, or the query's own groups, tell that rows need more than that."""
    merged = not model.guessed and {k.lower() for k in model.by_key} == {c.lower() for c in own}
    if merged or any(set(u) <= set(own) for u in unique):
        return own
    other = next((u for u in unique if set(u) > set(own)), ())
    if not other and model.guessed:
        other = unique[0] if unique else tuple(key) if set(key) > set(own) else ()
    if other:
        why = f"as a test or the groups of the query say: {', '.join(own)} need not be unique there"
    elif model.guessed:
        why = "guessed from `unique_key`, by which rows are deleted there: it need not be unique"
    else:
        return own
    what = f"`grain: [{', '.join(other or own)}]`, {why}"
    remarks.append(Remark(model=model.said, place=f"{model.file}:{model.line}", what=what))
    return other or own


def _plain(name: str) -> bool:
    try:
        column_name(name)
    except ValueError:
        return False
    return True


def _audits(
    model: Foreign, written: WrittenQuery, given: Mapping[str, str], there: Collection[str], checks: list[ToCheck]
) -> tuple[list[Entry], list[str]]:
    """The audits with the columns as the query calls them, and what they look at; those of columns and tables that are
    not there are to be checked."""
    found: list[Entry] = []
    looked_at: list[str] = []
    for entry in model.audits:
        for kind, said in entry.items():
            options = dict(said) if isinstance(said, Mapping) else {}
            columns = options.get("columns", options.get("column"))
            names = [str(c) for c in columns] if isinstance(columns, list) else [str(columns)] if columns else []
            missing = [c for c in names if c.lower() not in given]
            if missing:
                what = f"the audit {kind} of {', '.join(missing)} is not written"
                checks.append(model.check(model.line, what, "the query has no such column"))
                continue
            if (other := options.get("to")) is not None:
                if other not in there:
                    what = f"the audit {kind} of {', '.join(names)} is not written"
                    checks.append(model.check(model.line, what, f"{other} is no model and no source here"))
                    continue
                looked_at.append(str(other))
            if isinstance(columns, list):
                options["columns"] = [given[c.lower()] for c in names]
            elif columns:
                options["column"] = given[names[0].lower()]
            dated = written.time_column.lower() in {c.lower() for c in names}
            if kind == "unique":
                options.pop("scope", None)
                if not dated:
                    options["scope"] = "table"
            if {kind: options} not in found:
                found.append({kind: options})
    return found, looked_at
