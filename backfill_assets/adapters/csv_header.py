"""What do the files of a CSV source call their columns? Values go by their file's header, not by their places."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from backfill_assets.adapters.source_files import SourceFile, each_file
from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Source
from backfill_assets.project.object_store import UnreachableError

_BYTES = 1024 * 1024
"""A header that is longer is not read here."""
_MATTER = ("sep", "delimiter", "quote", "escape", "comment", "encoding", "charset", "linesep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How a file has its source's columns."""

    there: tuple[str | None, ...]
    """The file's own, in their order: each as the source declares it, None where it does not."""
    folders: tuple[str, ...] = ()
    """Declared ones that the names of its folders hold (`site=01`)."""


def corrupt_record(source: Source) -> str:
    """The column in which Spark puts lines that it cannot read, in lower case: no file has it."""
    return source.option("columnnameofcorruptrecord", "_corrupt_record").lower()


def by_header(source: Source, files: Sequence[SourceFile]) -> list[tuple[Columns | None, list[SourceFile]]]:
    """The files by how they have the source's columns; None: that cannot be told. A file without a line has no rows,
    and is left out. Raises PlanError where a file has a declared column twice."""
    found: dict[Columns | None, list[SourceFile]] = {}
    for file, columns in zip(files, each_file(files, lambda file: columns_of(source, file)), strict=True):
        if columns is None or columns.there:
            found.setdefault(columns, []).append(file)
    return list(found.items())


def check_declared(source: Source, files: Sequence[SourceFile]) -> None:
    """Raise PlanError where no file has a column that the source declares. As many files are looked at as that takes,
    the newest first: it may be younger than most."""
    if source.format != "csv" or source.columns_by == "place":
        return
    missing = {c.name for c in source.columns if c.name.lower() != corrupt_record(source)}
    newest: SourceFile | None = None
    for file in sorted(files, key=lambda file: file.written, reverse=True):
        columns = columns_of(source, file)
        if columns is None:
            return
        newest = newest or (file if columns.there else None)
        missing -= {*columns.there, *columns.folders}
        if not missing:
            return
    if newest is not None:
        names = ", ".join(c.name for c in source.columns if c.name in missing)
        raise PlanError(
            f"no file of source {source.name} has the column {names}",
            why=f"the header of {newest.place} is: {', '.join(header_of(source, newest) or ())}",
            fix=f"call it in {source.file}:{source.line} as the files do; with `options: {{enforceSchema: true}}` "
            "columns go by their places, whatever a header says",
        )


def columns_of(source: Source, file: SourceFile) -> Columns | None:
    """How a file has the columns; None where that cannot be told. Raises PlanError where it has one twice."""
    if (names := header_of(source, file)) is None:
        return None
    declared = {c.name.lower(): c.name for c in source.columns}
    there = tuple(declared.get(name.lower()) for name in names)
    if twice := sorted({name for name in there if name and there.count(name) > 1}):
        raise PlanError(
            f"a file of source {source.name} has the column {', '.join(twice)} more than once",
            why=f"the header of {file.place} is: {', '.join(names)}",
            fix="give each column of the file a name of its own",
        )
    folders = {part.partition("=")[0].lower() for part in file.inside[:-1] if "=" in part}
    return Columns(there=there, folders=tuple(n for low, n in declared.items() if low in folders and n not in there))


def header_of(source: Source, file: SourceFile) -> tuple[str, ...] | None:
    """The names in a file's first line, as it writes them; () where it has no line, None where it cannot be read."""
    said = ((name, source.option(name, '"' if name == "quote" else "")) for name in _MATTER)
    return _header(file, tuple((name, value) for name, value in said if value or name == "quote"))


@lru_cache(maxsize=100_000)
def _header(file: SourceFile, options: tuple[tuple[str, str], ...]) -> tuple[str, ...] | None:
    said = dict(options)
    try:
        with file.text() as opened:
            content = bytes(opened.read(_BYTES))
        text = content.decode(said.get("encoding", said.get("charset", "utf-8-sig")), errors="replace")
    except UnreachableError:
        raise
    except (OSError, ValueError, LookupError):  # it is gone, damaged, or nobody may read it: whoever reads it says so
        return None
    text, comment = text.removeprefix("\ufeff"), said.get("comment")
    lines = text.split(said["linesep"]) if "linesep" in said else text.splitlines()
    line = next((one for one in lines if one.strip() and not (comment and one.startswith(comment))), "")
    if len(line) == len(text) and len(content) == _BYTES:
        return None
    return tuple(name.strip() for name in _names(line, said)) if line else ()


def _names(line: str, said: dict[str, str]) -> Iterable[str]:
    separator, quote = said.get("sep", said.get("delimiter", ",")).replace("\\t", "\t"), said["quote"]
    if len(separator) != 1 or len(quote) > 1:  # more than the reader takes
        return [name.strip().strip(quote) for name in line.split(separator)]
    quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    return next(csv.reader([line], delimiter=separator, quotechar=quote or None, quoting=quoting), [])
