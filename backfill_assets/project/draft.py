"""What is known of a model when only its own file has been read? Its header, its code, and the names it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from backfill_assets.core.errors import Problem
from backfill_assets.files.documents import Document
from backfill_assets.project.header import Header
from backfill_assets.python_models.pivots import OpenPivot
from backfill_assets.python_models.reads import Unseen
from backfill_assets.sql.nondeterministic import FunctionUse
from backfill_assets.sql.parsing import Sql


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRead:
    """A name that a model reads, as written, and where; `parameter` is what a Python function calls it."""

    name: str
    line: int
    parameter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One model's file. `header` and `sql` are None when they cannot be read; that is reported already."""

    name: str
    path: Path
    line: int = 1
    language: Literal["sql", "python"]
    code: str
    code_line: int = 1
    text: str = ""
    """The whole file."""
    document: Document
    header: Header | None
    wrong: frozenset[str] = frozenset()
    """The header's keys that are wrong: what they are about cannot be checked."""
    reads: tuple[DraftRead, ...] = ()
    sql: Sql | None = None
    logic: str = ""
    uses: tuple[FunctionUse, ...] = ()
    """Of functions that give something else each time."""
    modules: tuple[str, ...] = ()
    """The files, relative to the project, that a Python model's code is in, or that it reads by a literal name."""
    unseen: tuple[Unseen, ...] = ()
    """What a Python model reads as it is built, and its version does not depend on."""
    open_pivots: tuple[OpenPivot, ...] = ()
    """Where a Python model pivots without naming the values."""
    description: str = ""
    read: bool = True
    """Whether there is more than the name: of a file that cannot be read, that is all that others can refer to."""

    def problem(self, line: int, *, what: str, why: str = "", fix: str = "") -> Problem:
        """A problem at a line of the file."""
        return Problem(file=self.path, line=line, what=what, why=why, fix=fix)
