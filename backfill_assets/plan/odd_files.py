"""Do the files that are to be read have the columns that models read, as the others do? What a plan says where not.

A column that only newer files have came in the course of time. One that older files have and a newer one lacks was
forgotten more often than it was meant, and is NULL without an error. A type that is wider than that of the first file
makes Spark refuse the file, unless it is declared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backfill_assets.core.errors import Problem
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.model import UNKNOWN, Project, Source
from backfill_assets.core.wording import first_few, listed
from backfill_assets.plan.reasons import reads_of
from backfill_assets.plan.stages import Build, Plan, PlanWarning
from backfill_assets.sql.types import as_read
from backfill_assets.sql.wider_types import as_signed, is_read_as, is_stored_as, widens, wider_than

LOOKED_AT = 1_000
"""So many of a source's newest files a plan looks into, and the first."""
NANOSECONDS = "timestamp in nanoseconds"
"""Not a type of Spark's: what pandas writes where nobody tells it otherwise. No file of which Spark takes the types for
those of all may have it."""
IN_MICROSECONDS = "`df.to_parquet(…, coerce_timestamps='us', allow_truncated_timestamps=True)` in pandas"
"""How such a file is written for Spark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """What a file of a source has."""

    name: str
    """Its path below the source's."""
    days: Ranges | None
    """Of which time it has rows; None: nobody knows."""
    written: datetime
    columns: Mapping[str, str | None]
    """In lower case, with their types; None: the format says none, or it is not plain."""
    fields: frozenset[str] = frozenset()
    """What is in its structs, as `column.field`, in lower case; in arrays `column.element.field`."""
    misread_quotes: bool = False
    """Whether it is CSV with quotes within quotes that Spark does not take for such."""
    broken_rows: bool = False
    """Whether it is CSV with values that go on in the next line, which Spark takes for another row."""
    commas: frozenset[str] = frozenset()
    """Decimals (in lower case) that it writes with a comma, of CSV that Spark reads with points."""
    rounded: frozenset[str] = frozenset()
    """Decimals (in lower case) that it writes with more places after the point than are declared, of CSV and JSON."""
    misencoded: bool = False
    """Whether it is CSV with bytes that are not UTF-8, of a source that says no encoding."""
    unsaid_header: bool = False
    """Whether it is CSV that begins with the names of the columns, of a source that says no `header`."""


def odd_files(project: Project, plan: Plan, files: Mapping[str, Sequence[FileColumns]]) -> tuple[PlanWarning, ...]:
    """A warning for each column that files lack, or have as a type that is not read. `files`: of sources that the plan
    reads, those that were looked at, with the first of all."""
    found: list[PlanWarning] = []
    for name, there in files.items():
        source = project.sources[name]
        reads = _reads(project, plan, source)
        finer = _finer(there, reads) if reads else {}
        if finer:
            found.append(_in_nanoseconds(project, source, reads, finer))
        if reads and (headed := [file for file in there if file.unsaid_header]):
            found.append(_unsaid_header(project, source, _readers(reads), headed))
        if reads and (quoting := [file for file in there if file.misread_quotes]):
            found.append(_misread_quotes(project, source, _readers(reads), quoting))
        if reads and (broken := [file for file in there if file.broken_rows]):
            found.append(_broken_rows(project, source, _readers(reads), broken))
        if reads and (foreign := [file for file in there if file.misencoded]):
            found.append(_misencoded(project, source, _readers(reads), foreign))
        for column in (c.name for c in source.columns if c.name.lower() in reads):
            low, readers = column.lower(), reads[column.lower()]
            if commas := [file for file in there if low in file.commas]:
                found.append(_commas(project, source, column, [*readers], commas))
            if finer_numbers := [file for file in there if low in file.rounded]:
                found.append(_rounded(project, source, column, [*readers], finer_numbers))
            hit = [f for f in there if any(_meets(project, model, days, f) for model, days in readers.items())]
            if lacking := _lacking(lambda file, low=low: low in file.columns, hit, there):
                older = next(file.name for file in there if low in file.columns)
                found.append(_lacks(project, source, f"the column {column}", [*readers], lacking, older))
            found += _without_fields(project, source, column, readers, there)
            if source.format == "parquet" and not finer and (others := _unread(source, low, hit, there)):
                found.append(_of_another_type(project, source, column, [*readers], others, there))
    return tuple(found)


def _reads(project: Project, plan: Plan, source: Source) -> dict[str, dict[str, Ranges]]:
    """Column (in lower case) → the models that read it with what is built of them."""
    found: dict[str, dict[str, Ranges]] = defaultdict(dict)
    every = {column.name.lower() for column in source.columns}
    for stage in plan.stages:
        if isinstance(stage, Build) and any(u.name == source.name for u in project.models[stage.model].upstreams):
            known = reads_of(project.signatures.get(stage.model, UNKNOWN), source.name)
            for column in {name.lower() for name in known} or every:
                found[column][stage.model] = stage.intervals
    return found


def _meets(project: Project, model: str, intervals: Ranges, file: FileColumns) -> bool:
    if file.days is None:
        return True
    calendar = project.models[model].calendar
    return bool(Ranges.of(calendar.meeting(part) for part in file.days) & intervals)


def _lacking(
    has: Callable[[FileColumns], bool], hit: Sequence[FileColumns], there: Sequence[FileColumns]
) -> list[FileColumns]:
    """The files without what one of an earlier time has: by their rows where that is known of all."""
    spans = [span for file in there if (span := file.days.span if file.days else None)]
    timed = len(spans) == len(there)

    def time(file: FileColumns) -> datetime:
        span = file.days.span if timed and file.days else None
        return span.start if span else file.written

    having = [time(file) for file in there if has(file)]
    return [file for file in hit if not has(file) and having and time(file) > min(having)]


def _without_fields(
    project: Project, source: Source, column: str, readers: Mapping[str, Ranges], there: Sequence[FileColumns]
) -> list[PlanWarning]:
    """A warning for the fields of a column that the same of its files lack, where models that read it name them."""
    low = column.lower()
    fields = {f for file in there for f in file.fields if f.startswith(f"{low}.")}
    met = {m: [f for f in there if low in f.columns and _meets(project, m, readers[m], f)] for m in readers if fields}
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[list[str], list[FileColumns]]] = {}
    for field in sorted(fields):
        name = re.compile(rf"""[.\["'`(]\s*{re.escape(field.rpartition(".")[2])}\b""", re.IGNORECASE)
        naming = [m for m in readers if name.search(project.models[m].code)]
        named = {file.name for m in naming for file in met[m]}
        hit = [file for file in there if file.name in named]
        if all(field in file.fields for file in hit):
            continue
        if lacking := _lacking(lambda file, field=field: field in file.fields, hit, there):
            key = tuple(naming), tuple(file.name for file in lacking)
            found.setdefault(key, ([], lacking))[0].append(field)
    return [
        _lacks(
            project,
            source,
            f"the field{'s' * (len(names) > 1)} {first_few(names)}",
            [*naming],
            lacking,
            next(file.name for file in there if names[0] in file.fields),
        )
        for (naming, _), (names, lacking) in found.items()
    ]


def _lacks(
    project: Project, source: Source, column: str, readers: Sequence[str], lacking: Sequence[FileColumns], older: str
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(lacking)} of {source.name} lack{'s' * (len(lacking) == 1)} {column}, which "
        f"{listed(readers)} read{'s' * (len(readers) == 1)}: it is NULL in these rows",
        why=f"files of an earlier time have it, such as {older}; a column that is gone was seldom meant to be NULL",
        fix=f"write the file again with {column}, then plan again; a `not_null` audit keeps such rows back",
    )


def _read_type(source: Source, column: str, there: Sequence[FileColumns]) -> str | None:
    """As which type Spark reads a column: that of the first file, or the declared one where it is wider, or that of
    more files."""
    own = [as_signed(type_) if (type_ := file.columns.get(column)) else None for file in there]
    said = next((as_read(c.type) for c in source.columns if c.type and c.name.lower() == column), None)
    if (first := own[0]) is None or said is None:
        return first or said
    return said if widens(first, said) or own.count(said) > own.count(first) else first


def _unread(source: Source, column: str, hit: Sequence[FileColumns], there: Sequence[FileColumns]) -> list[FileColumns]:
    if (read := _read_type(source, column, there)) is None:
        return []
    return [
        file
        for file in hit
        if (type_ := file.columns.get(column)) and not is_read_as(type_, read) and not is_stored_as(type_, read)
    ]


def _of_another_type(
    project: Project, source: Source, column: str, readers: Sequence[str], others: Sequence[FileColumns],
    there: Sequence[FileColumns],
) -> PlanWarning:  # fmt: skip
    low = column.lower()
    wide = wider_than({type_ for file in there if (type_ := file.columns.get(low))})
    fix = "write the file again with the type of the others, then plan again"
    if wide:
        fix = f"declare `{column}: {wide}` in {source.file.name}:{source.line}, in `columns:` with all others that are "
        fix += "read: it is read so of all files then"
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(others)} of {source.name} cannot be read by {listed(readers)}: {column} is "
        f"{others[0].columns[low]} there, and {_read_type(source, low, there)} is read",
        why=f"Spark takes the types of {there[0].name} for those of all files, but for declared ones that are wider, "
        "or that more files have",
        fix=fix,
    )


def _finer(there: Sequence[FileColumns], reads: Collection[str]) -> dict[str, list[FileColumns]]:
    """Column → the files that have it in nanoseconds, where Spark refuses these."""
    found: dict[str, list[FileColumns]] = defaultdict(list)
    for file in there:
        for column, type_ in file.columns.items():
            if type_ == NANOSECONDS and (column in reads or file is there[0]):
                found[column].append(file)
    return found


def _in_nanoseconds(
    project: Project, source: Source, reads: Mapping[str, Mapping[str, Ranges]],
    finer: Mapping[str, Sequence[FileColumns]],
) -> PlanWarning:  # fmt: skip
    files = {file.name: file for each in finer.values() for file in each}
    readers = _readers(reads)
    return _warning(
        project,
        source,
        readers,
        what=f"{_files([*files.values()])} of {source.name} cannot be read by {listed(readers)}: {listed([*finer])} "
        f"{'has' if len(finer) == 1 else 'have'} nanoseconds there",
        why="Spark's instants are microseconds, and its Parquet reader refuses finer ones; pandas writes them",
        fix=f"write the files again: {IN_MICROSECONDS}, the same words in pyarrow's `write_table`",
    )


def _misread_quotes(
    project: Project, source: Source, readers: Sequence[str], quoting: Sequence[FileColumns]
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(quoting)} of {source.name} write{'s' * (len(quoting) == 1)} a quote within quotes as "
        f'`""`, which {listed(readers)} read{"s" * (len(readers) == 1)} otherwise',
        why="Spark expects a backslash before it: such a value keeps its quotes, or goes on in the next columns",
        fix=f"add `escape: '\"'` to `options:` in {source.file.name}:{source.line}: pandas, Excel and DuckDB write so; "
        "`escape: '\\'` says that it is meant as it stands",
    )


def _unsaid_header(
    project: Project, source: Source, readers: Sequence[str], headed: Sequence[FileColumns]
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(headed)} of {source.name} begin{'s' * (len(headed) == 1)} with the names of the columns, which "
        f"{listed(readers)} read{'s' * (len(readers) == 1)} as a row",
        why="Spark takes the first line of CSV for a row unless the source says otherwise: where a name does not fit "
        "its column's type the build fails, and where all are texts it is one more row",
        fix=f"add `header: true` to `options:` in {source.file.name}:{source.line}; `header: false` says that it is a "
        "row",
    )


def _broken_rows(
    project: Project, source: Source, readers: Sequence[str], broken: Sequence[FileColumns]
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(broken)} of {source.name} {'have' if len(broken) > 1 else 'has'} quoted values that go on in "
        f"the next line, which {listed(readers)} read{'s' * (len(readers) == 1)} as rows of their own",
        why="Spark reads CSV a line a row; what is left of a broken row passes where its types fit",
        fix=f"add `multiLine: true` to `options:` in {source.file.name}:{source.line}",
    )


def _misencoded(
    project: Project, source: Source, readers: Sequence[str], foreign: Sequence[FileColumns]
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(foreign)} of {source.name} {'have' if len(foreign) > 1 else 'has'} letters that are not UTF-8, "
        f"which {listed(readers)} read{'s' * (len(readers) == 1)} as \ufffd: Müller is M\ufffdller in all rows",
        why="Spark reads CSV as UTF-8 unless the source says otherwise, and says nothing of bytes that are not",
        fix=f"add `encoding: ISO-8859-1` to `options:` in {source.file.name}:{source.line} where they are Latin-1, or "
        "write them as UTF-8; `encoding: UTF-8` says that they are meant as they stand",
    )


def _commas(
    project: Project, source: Source, column: str, readers: Sequence[str], files: Sequence[FileColumns]
) -> PlanWarning:
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(files)} of {source.name} write{'s' * (len(files) == 1)} {column} with a decimal comma, which "
        f"{listed(readers)} read{'s' * (len(readers) == 1)} otherwise: 12,50 as 1250, 1.234,56 as 1.23",
        why="Spark takes a comma in a decimal for one between thousands, and says nothing",
        fix=f"add `locale: de-DE` (or whose numbers these are) to `options:` in {source.file.name}:{source.line}; "
        "`locale: en-US` says that they are thousands",
    )


def _rounded(
    project: Project, source: Source, column: str, readers: Sequence[str], files: Sequence[FileColumns]
) -> PlanWarning:
    declared = next(c.type for c in source.columns if c.name == column)
    return _warning(
        project,
        source,
        readers,
        what=f"{_files(files)} of {source.name} write{'s' * (len(files) == 1)} {column} with more places after the "
        f"point than {declared} has, which {listed(readers)} read{'s' * (len(readers) == 1)} rounded",
        why="Spark rounds each value to what is declared, and says nothing",
        fix=f"declare `{column}` with more places in {source.file.name}:{source.line}; a `string` that the model casts "
        "says that rounding is meant",
    )


def _readers(reads: Mapping[str, Mapping[str, Ranges]]) -> list[str]:
    return list(dict.fromkeys(model for models in reads.values() for model in models))


def _files(files: Sequence[FileColumns]) -> str:
    return first_few(sorted(file.name for file in files))


def _warning(project: Project, source: Source, readers: Sequence[str], *, what: str, why: str, fix: str) -> PlanWarning:
    place = Problem(file=source.file, line=source.line, what=what).place(project.root)
    return PlanWarning(model=readers[0], place=place, what=what, why=why, fix=fix)
