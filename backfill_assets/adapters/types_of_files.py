"""Which files have a column as another type than is read of all? Spark reads some of these as other values.

It takes the types of one file for those of all. In Parquet it looks at how a value is stored rather than at what it
means: 12.50 as decimal(9,2) is read as the int 1250, a date as the number of its day, without a word. From ORC it makes
NULL of a number that is too large, and 12 of 12.50.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from backfill_assets.adapters.parquet_footer import read_footer
from backfill_assets.adapters.source_files import SourceFile, each_file, newest
from backfill_assets.core.errors import TransientBuildError
from backfill_assets.core.model import Source
from backfill_assets.core.wording import first_few
from backfill_assets.plan.odd_files import LOOKED_AT, NANOSECONDS
from backfill_assets.project.file_schema import Values, Way, arrow_type, arrow_values
from backfill_assets.project.object_store import UnreachableError
from backfill_assets.sql.wider_types import as_signed, is_read_as, is_stored_as, keeps_numbers

MARK = "[SOURCE_FILE_OF_ANOTHER_TYPE]"
"""What the error begins with that a batch gets which reads such a column."""
_SAID = re.compile(re.escape(MARK) + r" (.*? is read of all its files)", re.DOTALL)
_MOST_FILES = 20_000
"""The newest of them are looked into, in each process."""

Others: TypeAlias = Values
"""Those of a file that are not read as they are."""


@dataclass(frozen=True, slots=True)
class TypesOfFiles:
    """The plain types in the columns of a source's files, as these say them."""

    format: str
    files: Mapping[SourceFile, Values]
    """All that each says."""

    def is_usual(self, column: str, type_: str, other: str) -> bool:
        """Whether more files have a column, in any letters, as just this type than as the other: of those that a plan
        looks at, the newest and the first."""
        low = column.lower()
        voting = {*newest(self.files, LOOKED_AT), *[*self.files][:1]}
        own = [
            as_signed(found)
            for file, values in self.files.items()
            if file in voting and low not in file.folder_columns
            for way, found in values
            if way == (low,)
        ]
        return own.count(type_) > own.count(other)

    def reads(self, found: str, said: str) -> bool:
        """Whether a column of the one type is read as the other, each value being the same."""
        if self.format == "orc":
            return keeps_numbers(found, said)
        return is_read_as(found, said) or is_stored_as(found, said)

    def by_others(self, read: Mapping[Way, str]) -> dict[Others, list[SourceFile]]:
        """The files by what of them is not read as it is; () of most. `read`: the types that all files are read with.
        What a file does not say, or its folders do, is nobody's fault here."""
        found: dict[Others, list[SourceFile]] = {}
        alike: dict[tuple[Values, frozenset[str]], Others] = {}
        for file, values in self.files.items():
            key = values, frozenset(file.folder_columns)
            if (others := alike.get(key)) is None:
                others = alike[key] = tuple(
                    sorted(
                        (way, type_)
                        for way, type_ in values
                        if way in read and way[0] not in key[1] and not self.reads(type_, read[way])
                    )
                )
            found.setdefault(others, []).append(file)
        return found


def types_of_files(source: Source, files: Collection[SourceFile]) -> TypesOfFiles:
    """What the newest files say of their types; of the others nothing is known. Raises TransientBuildError where one
    cannot be read just now."""
    chosen = {*newest(files, _MOST_FILES)}
    looked = [file for file in files if file in chosen]
    try:
        said = dict(zip(looked, each_file(looked, lambda file: _values(source, file)), strict=True))
    except UnreachableError as error:
        raise TransientBuildError(error.what, why=error.why, fix=error.fix) from error
    except OSError as error:
        raise TransientBuildError(
            f"a file of source {source.name} cannot be looked into",
            why=str(error),
            fix="run the same command again; if it persists, see that this account can read the source's files",
        ) from error
    return TypesOfFiles(source.format, {file: said.get(file, ()) for file in files})


def other_type_text(source: Source, files: Sequence[SourceFile], column: str, there: str, read: str) -> str:
    """What an error says where a value of these files is needed."""
    names = first_few(sorted("/".join(file.inside) for file in files))
    return f"{MARK} {column} is {there} in {names} of {source.name}, and {read} is read of all its files"


def other_type(text: str) -> str:
    """What of an error says that a file has another type; "" where it says no such thing."""
    found = _SAID.search(text)
    return found[1] if found else ""


def _values(source: Source, file: SourceFile) -> Values:
    try:
        return _of_orc(file) if source.format == "orc" else _of_parquet(file, source.time_column)
    except (PermissionError, FileNotFoundError):  # whoever reads it says so
        return ()


def _of_parquet(file: SourceFile, time_column: str | None) -> Values:
    footer = read_footer(file, time_column)
    # Spark refuses nanoseconds in words of its own.
    return tuple(value for value in (footer.values if footer else ()) if value[1] not in ("", NANOSECONDS))


@lru_cache(maxsize=20_000)
def _of_orc(file: SourceFile) -> Values:
    """But for instants: of those Arrow says another type than Spark."""
    from pyarrow import ArrowException
    from pyarrow.orc import ORCFile

    try:
        with file.opened() as opened:
            found = [(way, arrow_type(type_)) for way, type_ in arrow_values(ORCFile(opened).schema)]
            return tuple(
                (tuple(name.lower() for name in way), type_)
                for way, type_ in found
                if type_ and not type_.startswith("timestamp")
            )
    except UnreachableError:
        raise
    except OSError as error:
        if error.errno is not None:  # the disk's; Arrow has none for a file that is no ORC
            raise
    except (ArrowException, UnicodeError):
        pass
    return ()  # whoever reads it says what is wrong
