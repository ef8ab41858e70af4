"""What do the files of a CSV source call their columns? Values go by their file's header, not by their places."""

from __future__ import annotations

import csv
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import StringIO

from backfill_assets.adapters.source_files import SourceFile, each_file
from backfill_assets.core.errors import PlanError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError
from backfill_assets.sql.types import decimal_parts

UTF_8 = "utf-8"
"""What Spark takes CSV for, where a source says nothing."""
_BYTES = 64 * 1024
"""A header that is longer is not read here."""
_CHARACTERS = 16 * 1024
"""Of these the values are looked at."""
_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:[. ]\d{3})+),(?:\d{1,2}|\d{4,})")
"""A number that is none with commas between thousands: `12,50`, `1.234,5678`; not `12,500`, which may be."""
_PLACES = re.compile(r"[+-]?\d*\.(\d*?)0*")
"""A number with a point, and its places after that without zeros at the end."""
_TELLING = 2
"""So many names in one line are no accident."""
_FIRST_CHARACTERS = 2 * 1024
"""Of these, after the first line, the places of numbers are looked at: most files have some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a source's CSV files are written, by Spark's options of the reader."""

    separator: str
    quote: str
    escape: str
    comment: str
    encoding: str
    line_end: str
    """Empty: any of the usual."""
    null: str
    """What is written for NULL."""

    @classmethod
    def of(cls, source: Source) -> Dialect:
        return cls(
            separator=source.separator,
            quote=source.option("quote", '"'),
            escape=source.option("escape", "\\"),
            comment=source.option("comment"),
            encoding=source.option("encoding") or source.option("charset", UTF_8),
            line_end=source.option("linesep"),
            null=source.option("nullvalue"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderColumns:
    """How a file has its source's columns."""

    there: tuple[str | None, ...]
    """The file's own, in their order: each as the source declares it, None where it does not."""
    folders: tuple[str, ...] = ()
    """Declared ones that the names of its folders hold (`site=01`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What the first part of a file says."""

    names: tuple[str, ...] | None = None
    """As its first line calls the columns; () where it has no line, None where it cannot be read."""
    doubles_quotes: bool = False
    """Whether it writes a quote within quotes as two, as pandas, Excel and DuckDB do."""
    breaks_lines: bool = False
    """Whether a quoted value goes on in the next line."""
    commas: frozenset[str] = frozenset()
    """Columns (in lower case) with numbers that have a decimal comma: `12,50`."""
    places: Mapping[str, int] = field(default_factory=dict[str, int])
    """Columns (in lower case) with numbers that have places after the point: how many at most."""
    has_other_bytes: bool = False
    """Whether it has bytes that are none of its encoding, for each of which Spark reads U+FFFD."""


def corrupt_record(source: Source) -> str:
    """The column in which Spark puts lines that it cannot read, in lower case: no file has it."""
    return source.option("columnnameofcorruptrecord", "_corrupt_record").lower()


def by_header(source: Source, files: Sequence[SourceFile]) -> list[tuple[HeaderColumns | None, list[SourceFile]]]:
    """The files by how they have the source's columns; None: that cannot be told. A file without a line has no rows,
    and is left out. Raises PlanError where a file's header is none of the source."""
    found: dict[HeaderColumns | None, list[SourceFile]] = {}
    for file, columns in zip(files, each_file(files, lambda file: columns_of(source, file)), strict=True):
        if columns is None or columns.there:
            found.setdefault(columns, []).append(file)
    return list(found.items())


def columns_of(source: Source, file: SourceFile) -> HeaderColumns | None:
    """How a file has the columns by its header; None where that cannot be told. Raises PlanError as `as_declared`."""
    names = header_of(source, file)
    return None if names is None else as_declared(source, file, names)


def as_declared(source: Source, file: SourceFile, names: Sequence[str]) -> HeaderColumns:
    """How a file that calls its columns so has those of its source.

    Raises PlanError where they are none of the source: it has a column twice, no declared one, or not the one that says
    which time a row is of, so that all of its rows would be of none.
    """
    declared = {c.name.lower(): c.name for c in source.columns}
    parts = {*file.folder_columns}
    folders = tuple(name for low, name in declared.items() if low in parts)
    # What a folder says counts, as Spark has it, also where the file has a column of that name.
    there = tuple(None if name.lower() in parts else declared.get(name.lower()) for name in names)
    if twice := sorted({name for name in there if name and there.count(name) > 1}):
        what = f"a file of source {source.name} has the column {', '.join(twice)} more than once"
        raise unlike(source, file, names, what)
    known = {name.lower() for name in (*there, *folders) if name}
    if there and not known - parts and declared.keys() - parts:
        raise unlike(source, file, names, f"a file of source {source.name} has none of its columns")
    time = (source.time_column or "").lower()
    if there and time and time not in known and (source.format == "csv" or time in declared):
        what = f"a file of source {source.name} lacks {source.time_column}, its time column"
        raise unlike(source, file, names, what)
    return HeaderColumns(there=there, folders=folders)


def unlike(source: Source, file: SourceFile, names: Sequence[str], what: str) -> PlanError:
    """The refusal of a file that calls its columns so."""
    said, header = one_line(", ".join(names))[:300], source.format == "csv"
    by_places = "; with `options: {enforceSchema: true}` they go by their places, whatever a header says"
    return PlanError(
        what,
        why=f"the header of {file.place} is: {said}" if header else f"the columns of {file.place} are: {said}",
        fix=f"call columns in {source.file}:{source.line} as the files do, each once{by_places * header}",
    )


def header_of(source: Source, file: SourceFile) -> tuple[str, ...] | None:
    """The names in a file's first line, as it writes them; () where it has no line, None where it cannot be read."""
    return _beginning(file, Dialect.of(source)).names


def begins_with_names(source: Source, file: SourceFile) -> bool:
    """Whether the first line of a file has all declared columns as its names, of a source that does not say whether
    there is a header: Spark reads that line as a row."""
    if source.option("header") or source.option("mode").upper() == "DROPMALFORMED":
        return False
    if len(source.columns) < _TELLING and all(column.type in (None, "string") for column in source.columns):
        return False  # a word that is the column's name may be a value
    names = {name.lower() for name in header_of(source, file) or ()}
    known = {*file.folder_columns, corrupt_record(source)}
    return {column.name.lower() for column in source.columns} - known <= names


def misreads_quotes(source: Source, file: SourceFile) -> bool:
    """Whether a file, as far as it is looked at, has quotes within quotes that Spark does not take for such: it expects
    a backslash before them, unless the source says another `escape`."""
    return not source.option("escape") and _beginning(file, Dialect.of(source)).doubles_quotes


def breaks_rows(source: Source, file: SourceFile) -> bool:
    """Whether a file, as far as it is looked at, has a value that goes on in the next line, which Spark takes for
    another row, unless the source says `multiLine`."""
    return source.option("multiline").lower() != "true" and _beginning(file, Dialect.of(source)).breaks_lines


def decimal_commas(source: Source, file: SourceFile) -> frozenset[str]:
    """The columns that are declared as decimals and have `12,50` in a file, as far as it is looked at: Spark takes the
    comma for one of thousands and reads 1250, unless the source says its `locale`."""
    if source.option("locale"):
        return frozenset()
    decimals = {c.name.lower() for c in source.columns if (c.type or "").startswith("decimal")}
    return _beginning(file, Dialect.of(source)).commas & decimals if decimals else frozenset()


def rounded_decimals(source: Source, file: SourceFile) -> frozenset[str]:
    """The columns of a file, as far as it is looked at, with numbers of more places after the point than their declared
    type has: Spark rounds them. Not of those that its folders hold, or where points are none of decimals."""
    if source.option("locale", "en").partition("-")[0] != "en":
        return frozenset()
    return finer_decimals(source, file, lambda: _beginning(file, Dialect.of(source)).places)


def finer_decimals(source: Source, file: SourceFile, places: Callable[[], Mapping[str, int]]) -> frozenset[str]:
    """The decimals (in lower case) of which the file has more `places` after the point than are declared, whatever its
    format; not those that its folders hold. Nobody looks where none is declared."""
    scales = {c.name.lower(): parts[1] for c in source.columns if (parts := decimal_parts(c.type))}
    here, there = scales.keys() - {*file.folder_columns}, places() if scales else {}
    return frozenset(name for name in here if there.get(name, 0) > scales[name])


def is_misencoded(source: Source, file: SourceFile) -> bool:
    """Whether a file, as far as it is looked at, has bytes that are not UTF-8, of a source that says no `encoding`."""
    dialect = Dialect.of(source)
    return dialect.encoding == UTF_8 and _beginning(file, dialect).has_other_bytes


@lru_cache(maxsize=100_000)
def _beginning(file: SourceFile, dialect: Dialect) -> Beginning:
    try:
        with file.text() as opened:
            content = bytes(opened.read(_BYTES))
        text, odd = _decoded(content, dialect.encoding)
        text = text.removeprefix("\ufeff")
        names = _names(text, dialect, whole=len(content) < _BYTES)
        ends = len(content) < _BYTES
        rows = _odd_rows(text[:_CHARACTERS], dialect, whole=ends and len(text) <= _CHARACTERS)
        head = text.find("\n") + _FIRST_CHARACTERS
        first = rows or _rows(text[:head], dialect, whole=ends and len(text) <= head)
        if names and any("\ufffd" in name for name in names):
            names = None  # nobody knows what they are called
        return Beginning(
            names=names,
            has_other_bytes=odd,
            doubles_quotes=_doubles_quotes(text, dialect),
            breaks_lines=any("\n" in value for row in rows for value in row),
            commas=frozenset(
                name.lower()
                for row in rows
                for name, value in zip(names or (), row, strict=False)
                if _DECIMAL_COMMA.fullmatch(value.strip())
            ),
            places=_places(names or (), first, dialect.null),
        )
    except UnreachableError:
        raise
    except (OSError, ValueError, LookupError, csv.Error):  # gone, damaged, nobody may read it: whoever reads it says so
        return Beginning()


def _decoded(content: bytes, encoding: str) -> tuple[str, bool]:
    """The text as Spark reads it, which may end within a letter, and whether bytes are none of the encoding."""
    decoder = getincrementaldecoder(encoding)
    try:
        return decoder("strict").decode(content), False
    except UnicodeDecodeError:
        return decoder("replace").decode(content), True


def _odd_rows(text: str, dialect: Dialect, *, whole: bool) -> list[list[str]]:
    """The rows of a text where a value can have a comma or a line's end; none else."""
    plain = dialect.quote not in text and (dialect.separator == "," or "," not in text)
    return [] if plain else _rows(text, dialect, whole=whole)


def _rows(text: str, dialect: Dialect, *, whole: bool) -> list[list[str]]:
    """The rows of a text, without the last one where it may go on; none where this reader does not take it."""
    separator, quote = dialect.separator, dialect.quote
    if len(separator) != 1 or len(quote) != 1 or dialect.comment or dialect.line_end:
        return []
    escape = dialect.escape if len(dialect.escape) == 1 and dialect.escape != quote else None
    try:
        rows = list(csv.reader(StringIO(text, newline=""), delimiter=separator, quotechar=quote, escapechar=escape))
    except (csv.Error, ValueError):
        return []
    return rows if whole else rows[:-1]


def _places(names: Sequence[str], rows: Sequence[Sequence[str]], null: str) -> dict[str, int]:
    """
    >>> _places(["Net", "n"], [["Net", "n"], ["1.50", "3"], ["2.125", "4.0"], ["-9.9999", ""]], "-9.9999")
    {'net': 3, 'n': 0}
    """
    found: dict[str, int] = {}
    for row in rows:
        for name, value in zip(names, row, strict=False):
            if "." in value and value != null and (number := _PLACES.fullmatch(value.strip())):
                found[name.lower()] = max(found.get(name.lower(), 0), len(number[1]))
    return found


def _doubles_quotes(text: str, dialect: Dialect) -> bool:
    """Whether a quoted value has a quote within, written as two; not where a backslash is before it."""
    quote, separator = dialect.quote, dialect.separator
    if len(quote) != 1 or len(separator) != 1:
        return False
    if dialect.comment:
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(dialect.comment))
    begins = rf"(?:^|[\r\n{re.escape(separator)}]){re.escape(quote)}"
    if not re.search(rf"{begins}[^\\{re.escape(quote)}]*{re.escape(quote) * 2}", text):
        return False
    try:
        rows = csv.reader(StringIO(text, newline=""), delimiter=separator, quotechar=quote)
        return any(quote in value.replace(f"\\{quote}", "") for row in rows for value in row)
    except (csv.Error, ValueError):  # what this reader does not take, Spark may
        return False


def _names(text: str, dialect: Dialect, *, whole: bool) -> tuple[str, ...] | None:
    """The names in a text's first line; `whole`: it is all of the file."""
    lines = text.split(dialect.line_end) if dialect.line_end else re.split(r"\r\n|\r|\n", text)
    comment, quote = dialect.comment, dialect.quote
    number = next((n for n, one in enumerate(lines) if one.strip() and not (comment and one.startswith(comment))), None)
    if number is None:
        return () if whole else None
    line = lines[number]
    odd = quote and line.count(quote) % 2  # a name goes on in the next line
    if odd or (number == len(lines) - 1 and not whole) or any(not c.isprintable() and c != "\t" for c in line):
        return None
    separator = dialect.separator
    if len(separator) != 1 or len(quote) > 1:  # more than the reader takes
        return tuple(name.strip().strip(quote) for name in line.split(separator))
    quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    found = next(csv.reader([line], delimiter=separator, quotechar=quote or None, quoting=quoting), [])
    return tuple(name.strip() for name in found)
