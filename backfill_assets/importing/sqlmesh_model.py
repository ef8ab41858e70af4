"""What does the MODEL of a file say: its kind, its intervals, its header; and what of it has another meaning here?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from backfill_assets.core.wording import day_text
from backfill_assets.files.validation import name_problem
from backfill_assets.importing.foreign import Entry, Foreign, ForeignKind
from backfill_assets.importing.found import Remark, ToCheck, Translation, Untranslatable
from backfill_assets.importing.header import plain
from backfill_assets.importing.numbers import whole
from backfill_assets.importing.settle import LONGEST, TOO_LONG, settle
from backfill_assets.importing.sqlmesh_audits import audits
from backfill_assets.importing.sqlmesh_config import Config
from backfill_assets.importing.sqlmesh_file import ModelFile, Property, inside, names_in, split
from backfill_assets.importing.sqlmesh_intervals import SqlmeshIntervals, intervals_of
from backfill_assets.importing.sqlmesh_macros import Filled, without_macros
from backfill_assets.importing.sqlmesh_times import first_instant, instant_after, sorts, spark_format
from backfill_assets.importing.types import spark_type

_KINDS = {
    "INCREMENTAL_BY_TIME_RANGE": ForeignKind.INTERVALS, "INCREMENTAL_BY_UNIQUE_KEY": ForeignKind.INTERVALS,
    "INCREMENTAL_BY_PARTITION": ForeignKind.FILTERED, "FULL": ForeignKind.TABLE, "VIEW": ForeignKind.VIEW,
    "EMBEDDED": ForeignKind.PART,
}  # fmt: skip
_PHYSICAL = frozenset({
    "clustered_by", "table_format", "storage_format", "physical_properties", "virtual_properties", "stamp",
    "formatting", "ignored_rules", "references", "optimize_query", "physical_version", "session_properties", "tags",
    "depends_on", "cron_tz", "pre_statements", "post_statements", "gateway", "default_catalog", "project",
})  # fmt: skip
"""Properties that decide no row. What some of them do has to be looked at (`_LOOKED_AT`)."""
_LOOKED_AT = {
    "signals": "what they wait for is not waited for here: see `ready` (`backfill docs models`)",
    "allow_partials": "an interval that is not over is never published here",
    "physical_properties": "some of them change how rows are stored",
    "session_properties": "some of them change what a query computes",
    "pre_statements": "what they do before the query is not done here",
    "post_statements": "what they do after the query is not done here",
    "gateway": "it is computed by another engine than the others",
    "default_catalog": "names of tables have another catalog",
}
_READ = frozenset({
    "name", "kind", "dialect", "owner", "start", "end", "cron", "description", "grain", "grains", "audits", "enabled",
    "interval_unit", "columns", "column_descriptions", "partitioned_by", "signals", "allow_partials",
})  # fmt: skip
_KIND_PLAIN = {"partition_by_time_column": "true", "forward_only": "false", "disable_restatement": "false"}
_KIND_READ = ("time_column", "unique_key")
_COMMENT = re.compile(r"/\*(.*?)\*/|--([^\n]*)", re.DOTALL)


@dataclass(slots=True, kw_only=True)
class ModelReading:
    """A model's file as it is read; `checks` and `remarks` are added to."""

    place: str
    file: ModelFile
    config: Config
    own: frozenset[str]
    found: Translation
    checks: list[ToCheck] = field(default_factory=list[ToCheck])
    remarks: list[Remark] = field(default_factory=list[Remark])

    @property
    def said(self) -> str:
        """The model's name: what is written, else what the file's place says."""
        name = self.file.properties.get("name")
        return name.text if name is not None else inferred_name(self.place)

    @property
    def dialect(self) -> str:
        own = self.file.properties.get("dialect")
        return (own.text if own is not None else self.config.defaults.get("dialect", "")).split(",")[0].strip().lower()

    def check(self, line: int, what: str, why: str = "") -> None:
        self.checks.append(ToCheck(model=self.said, place=f"{self.place}:{line}", what=what, why=why))

    def remark(self, line: int, what: str) -> None:
        self.remarks.append(Remark(model=self.said, place=f"{self.place}:{line}", what=what))


def foreign_model(reading: ModelReading) -> Foreign | None:
    """The model; None for one that is not enabled there. Raises Untranslatable without a usable name."""
    file, properties = reading.file, reading.file.properties
    name = properties.get("name")
    line = name.line if name is not None else file.line
    if not re.fullmatch(r"[\w.\"`]+", reading.said):
        why = "known are letters, digits, _ and dots (blueprints are not evaluated)"
        raise Untranslatable(f"the model's name {plain(reading.said)}", why=why, line=line)
    if (enabled := properties.get("enabled")) is not None and enabled.text.lower() != "true":
        if enabled.text.lower() == "false":
            at = f"{reading.place}:{enabled.line}"
            reading.found.remarks.append(
                Remark(model=reading.said, place=at, what="not enabled there, so it is left out")
            )
            return None
        reading.check(enabled.line, f"`enabled {plain(enabled.text)}`", "it is taken for enabled")
    said = ".".join(part.strip('"`') for part in reading.said.split("."))
    own = said.split(".")[-1]
    if problem := name_problem(own):
        raise Untranslatable(f"the name {plain(own)}", why=problem, line=line)
    kind, word = _kind(reading)
    within = properties["kind"].within if "kind" in properties else None
    filled = _query(reading)
    refused = file.problem or _refusal(word, properties, file)
    if isinstance(filled, Untranslatable):
        refused, filled = refused or filled, Filled(text="", filled=())
    for line, what in filled.filled:
        reading.check(line, what, "its value is written as it is now")
    for line, what in file.others:
        why = "statements beside the query are not carried over"
        reading.check(line, f"`{' '.join(what.split())[:80]}`", why)
    intervals = intervals_of(reading.file, reading.config, kind, reading.check)
    header = _header(reading, within or {}, intervals)
    ready = {"ready": intervals.ready} if intervals.ready else {}
    entries = _audits(reading)
    columns = own_columns(reading)
    batch = whole(within["batch_size"].text) or 0 if within and "batch_size" in within else 0
    return Foreign(
        key=said.lower(), said=said, name=own, file=reading.place, line=file.line, kind=kind, dialect=reading.dialect,
        query=filled.text, query_line=file.query_line, time_column=_time_column(reading, within or {}, kind),
        time_format=_time_format(within or {}),
        start=_start(reading, intervals), end=_end(reading, intervals, kind), cadence=intervals.cadence.value,
        run=intervals.run_of(batch), batch=batch, inferred="columns" not in properties,
        header={**header, **ready}, grain=_grain(reading), by_key=_key(within or {}), audits=entries,
        table=said, columns=columns, described=_described(reading),
        checks=tuple(reading.checks), remarks=tuple(reading.remarks), problem=refused,
    )  # fmt: skip


def inferred_name(place: str) -> str:
    """`models/silver/orders.sql` is silver.orders, where a project infers names."""
    return ".".join(place.rpartition(".")[0].split("/")[1:])


def own_columns(reading: ModelReading) -> dict[str, str]:
    """What `columns (…)` says, as Spark types; empty when one of them cannot be told."""
    said = reading.file.properties.get("columns")
    tokens = inside(said.tokens) if said is not None else None
    found: dict[str, str] = {}
    for part in split(tokens or ()):
        kind = spark_type(" ".join(t.text for t in part[1:]), reading.dialect)
        if kind is None:
            return {}
        found[part[0].text] = kind
    return found


def _kind(reading: ModelReading) -> tuple[ForeignKind, str]:
    said = reading.file.properties.get("kind")
    word = said.tokens[0].text.upper() if said is not None and said.tokens else (
        reading.config.defaults.get("kind", "VIEW").upper()
    )  # fmt: skip
    return _KINDS.get(word, ForeignKind.TABLE), word


def _refusal(word: str, properties: Mapping[str, Property], file: ModelFile) -> Untranslatable | None:
    """Why a kind cannot be expressed here."""
    said = properties.get("kind")
    line = said.line if said is not None else file.line
    if "blueprints" in properties:
        at = properties["blueprints"].line
        return Untranslatable("blueprints", why="macros are not evaluated", fix="write each model out", line=at)
    if word not in _KINDS:
        why = "no model here has rows that are not of an interval, that are only appended, or that are made by code"
        fix = "go on writing its table there, and read it as a source"
        return Untranslatable(f"the kind {word}", why=why, fix=fix, line=line)
    if not file.query and file.problem is None:
        return Untranslatable("the model has no query", line=file.line)
    return None


def _query(reading: ModelReading) -> Filled | Untranslatable:
    file = reading.file
    try:
        return without_macros(
            file.query, reading.dialect, file.query_line, reading.config.variables, file.defined or {}
        )
    except Untranslatable as error:
        return error


def _header(reading: ModelReading, kind: Mapping[str, Property], intervals: SqlmeshIntervals) -> dict[str, object]:
    """Description, owner, and how it is built; properties that are not carried over are noted."""
    properties, header = reading.file.properties, dict[str, object]()
    for key in ("description", "owner"):
        usual = reading.config.defaults.get(key, "") if key == "owner" else ""
        if text := plain(properties[key].text) if key in properties else usual:
            header[key] = text
    for key, said in properties.items():
        if key in _LOOKED_AT and said.text.lower() != "false":
            reading.check(said.line, f"`{key}` is not carried over", _LOOKED_AT[key])
        elif key in _PHYSICAL:
            reading.remark(said.line, f"`{key}` is not carried over")
        elif key not in _READ and key != "blueprints":
            reading.check(said.line, f"`{plain(key)}` of MODEL", "it is not known here")
    said = properties.get("partitioned_by")
    column = kind.get("time_column")
    if said is not None and column is not None:
        by = next(iter(inside(column.tokens) or column.tokens)).text.lower()
        if by not in [n.lower() for n in names_in(said.tokens)] or "(" in said.text.strip("()"):
            why = "where partitions are replaced whole, others of the days in them are lost there"
            reading.check(said.line, f"`partitioned_by {plain(said.text)}`", why)
    if (typed := properties.get("columns")) is not None:
        reading.check(
            typed.line, "`columns (…)`", "the table there has these types: cast in the query where it matters"
        )
    for key, said in kind.items():
        word = said.text.lower()
        match key:
            case "batch_size" | "batch_concurrency" if number := whole(word):
                header[key] = number
            case "lookback" if (number := whole(word)) is not None:
                header |= _settle(reading, said.line, number, intervals)
            case "forward_only" | "disable_restatement" if word == "true":
                why = "history is kept or computed anew as a plan says: `--forward-only DAY`"
                reading.check(said.line, f"`{key}`", why)
            case "when_matched" | "merge_filter":
                reading.check(said.line, f"`{key}`", "here all values of a row with its key are the new ones")
            case _ if key not in _KIND_READ and _KIND_PLAIN.get(key) != word:
                reading.check(said.line, f"`{plain(key)} {plain(word)[:60]}` of the kind", "it is not known here")
            case _:
                pass
    return header


def _settle(reading: ModelReading, line: int, lookback: int, intervals: SqlmeshIntervals) -> dict[str, str]:
    """Lookback counts intervals there: the header's `settle` is how long after its end one is computed again."""
    counted = f"lookback {lookback} of `{intervals.unit.replace('_', ' ')}` intervals"
    if not lookback:
        return {}
    if lookback > LONGEST // intervals.least or (length := intervals.computed_again(lookback)) > LONGEST:
        reading.check(line, counted, TOO_LONG)
        return {}
    reading.remark(line, f"{counted} is `settle: {settle(length)}`: they are built again when a source changed")
    return {"settle": settle(length)}


def _time_column(reading: ModelReading, kind: Mapping[str, Property], how: ForeignKind) -> str:
    said = kind.get("time_column")
    if said is None and how is ForeignKind.INTERVALS and "unique_key" not in kind:
        reading.check(reading.file.line, "the kind has no time column")
    if said is not None:
        tokens = list(inside(said.tokens) or said.tokens)
        if not tokens:
            reading.check(said.line, "the kind's time column is empty")
            return ""
        if (form := _time_format(kind)) != "":
            why = "where it is no date, days are told by `to_date` of it here, in a column that is added"
            if form and not sorts(form):
                why += "; there texts are compared, whose order is not that of days: its rows are others"
            reading.check(said.line, f"the time column's format {plain(tokens[2].text)}", why if form else "")
        return tokens[0].text
    partitions = reading.file.properties.get("partitioned_by")
    names = names_in(partitions.tokens) if partitions is not None else []
    return names[0] if len(names) == 1 and how is not ForeignKind.INTERVALS and re.fullmatch(r"\w+", names[0]) else ""


def _time_format(kind: Mapping[str, Property]) -> str | None:
    """As Spark has it; empty for none that matters, None for one that Spark does not read."""
    said = kind.get("time_column")
    tokens = list(inside(said.tokens) or ()) if said is not None else []
    return spark_format(tokens[2].text) if len(tokens) == 3 else ""


def _start(reading: ModelReading, intervals: SqlmeshIntervals) -> datetime | None:
    """Where the first interval begins: there it is the one that holds what is said."""
    said = reading.file.properties.get("start")
    text = (said.text if said is not None else reading.config.defaults.get("start", "")).strip("'\" ")
    if not text:
        return None
    line = said.line if said is not None else reading.file.line
    found = first_instant(text)
    if found is None:
        reading.check(line, f"`start {plain(text)}`", "it is no date, or not the same each day: a first day is needed")
        return None
    first = intervals.begin(found)
    if first != found:
        reading.remark(line, f"`start {plain(text)}` is {day_text(first)}, where the interval that holds it begins")
    return first


def _end(reading: ModelReading, intervals: SqlmeshIntervals, kind: ForeignKind) -> datetime | None:
    """Where the last interval ends: there it is the one that holds the last moment before the end."""
    said = reading.file.properties.get("end")
    if said is None:
        return None
    text = said.text.strip("'\" ")
    what = f"`end {plain(text)}`"
    if kind in (ForeignKind.VIEW, ForeignKind.PART):
        reading.remark(said.line, f"{what} is not carried over: it leaves out no row of a {kind}")
        return None
    if kind is not ForeignKind.INTERVALS:
        why = "there all of it is not computed anew after that, whatever its rows' days are: no `end` is written"
        reading.check(said.line, what, why)
        return None
    found = instant_after(text)
    if found is None:
        reading.check(said.line, what, "it is no date, or not the same each day: no `end` is written")
        return None
    end = intervals.end(found)
    reading.remark(said.line, f"{what} is `end: {day_text(end)}`: the first that the model does not have")
    return end


def _grain(reading: ModelReading) -> tuple[str, ...]:
    said = reading.file.properties.get("grain") or reading.file.properties.get("grains")
    return tuple(dict.fromkeys(names_in(said.tokens))) if said is not None else ()


def _key(kind: Mapping[str, Property]) -> tuple[str, ...]:
    said = kind.get("unique_key")
    return tuple(dict.fromkeys(names_in(said.tokens))) if said is not None else ()


def _audits(reading: ModelReading) -> tuple[Entry, ...]:
    said = reading.file.properties.get("audits")
    if said is None:
        return ()
    entries, lost = audits(said, reading.own, reading.dialect)
    for error in lost:
        reading.check(error.line, f"{error.what} is not carried over", error.why)
    return tuple(entries)


def _described(reading: ModelReading) -> dict[str, str]:
    """Descriptions of columns: said, or in a comment behind an output of the last SELECT."""
    found: dict[str, str] = dict(_comments(reading.file.query))
    said = reading.file.properties.get("column_descriptions")
    for part in split(inside(said.tokens) or ()) if said is not None else ():
        if len(part) == 3 and part[1].text == "=":
            found[part[0].text] = part[2].text
    return found


def _comments(query: str) -> Iterator[tuple[str, str]]:
    for line in query.splitlines():
        if (found := _COMMENT.search(line)) is None:
            continue
        text = " ".join((found[1] or found[2] or "").split()).rstrip("\\").strip()
        name = re.search(r"(\w+)\s*(?:::\s*[\w(), ]+?)?\s*,?\s*$", line[: found.start()])
        if text and name is not None:
            yield name[1], text
