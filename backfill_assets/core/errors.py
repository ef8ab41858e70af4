"""What went wrong, why, and how to fix it? One error root for everything the system refuses.

A failed audit or a closed gate is a result, not an exception: those are returned, never raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class BackfillError(Exception):
    """A refusal in three parts. `str()` gives the lines that a person reads.

    >>> print(BackfillError("cannot read x.sql", why="no such file", fix="create it"))
    cannot read x.sql
    why: no such file
    fix: create it
    """

    retryable = False
    exit_code = 1

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        self.what, self.why, self.fix = what, why, fix
        super().__init__(what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.why:
            lines.append(f"why: {self.why}")
        if self.fix:
            lines.append(f"fix: {self.fix}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a project's files, with the place to look at (`line` counts from 1, 0 = unknown)."""

    file: Path
    line: int = 0
    what: str
    why: str = ""
    fix: str = ""

    def place(self, root: Path) -> str:
        """Where it is, from the project's folder: `models/orders.sql:7`."""
        name = self.file.relative_to(root) if self.file.is_relative_to(root) else self.file
        return f"{name.as_posix()}:{self.line}" if self.line else name.as_posix()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return "\n".join(
            [f"{place}: {self.what}", *(f"  {k}: {v}" for k, v in (("why", self.why), ("fix", self.fix)) if v)]
        )


class ProjectError(BackfillError):
    """The project's files have problems; all of them are listed at once, in `problems`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=lambda p: (str(p.file), p.line, p.what)))
        count = len(self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the project")

    def __str__(self) -> str:
        return "\n".join([self.what, *map(str, self.problems)])


class SettingsError(BackfillError):
    """A setting, an argument or the machine itself does not allow what was asked."""


class PlanError(BackfillError):
    """The request cannot be planned (a reversed range, an unknown model, nothing that could be built)."""


class UsageError(SettingsError, PlanError):
    """The request itself is wrong: options that do not go together, a model that does not exist, a reversed range."""

    exit_code = 2


class BuildError(BackfillError):
    """An interval could not be computed or written. Running it again will not help."""

    divisible = False
    """Whether a part of the interval may be computed all the same."""


class DataError(BuildError):
    """Some rows of the interval cannot be computed, or are too many at once. A part without them can."""

    divisible = True


class TransientBuildError(BuildError):
    """An interval could not be computed or written, for a reason that may pass: worth another attempt."""

    retryable = True
    divisible = True


class WriteConflictError(TransientBuildError):
    """Another writer was faster. What is left to do is known after another look."""

    divisible = False


class SourceChangedError(TransientBuildError):
    """A source's files are not those that the plan froze; a file that is away may come back."""

    divisible = False


class SourceRewrittenError(BuildError):
    """A source's files are not those that the plan froze, and will not be again: some were written again, or came."""


class EngineDiedError(TransientBuildError):
    """What computes is gone, whatever it was doing. Another one may be opened."""

    divisible = False


class EngineOutOfMemoryError(EngineDiedError):
    """It ended because what was computed at once did not fit into its memory. A part of it may."""

    divisible = True


class RunEndedError(BuildError):
    """Nothing else of this run can succeed either: what is done is kept, and the same command goes on from there."""


class HeldError(BuildError):
    """Nothing of an interval was begun, as no batch begins any more: that is no failure of it."""


class PromotionError(BackfillError):
    """The environment cannot be moved, or another promotion is in its way."""


class LostRaceError(PromotionError):
    """The environment moved since it was looked at. Nothing was changed: look again, and decide again."""


class StateError(BackfillError):
    """The control tables or a version table are not as the system left them."""


class DamagedLogError(StateError):
    """The log of a Delta table is not whole: nothing is read from the table."""


class ConflictError(StateError):
    """Somebody else committed first. Nothing was written; look again and retry."""

    retryable = True


def too_busy(what: str, error: type[BackfillError] = StateError) -> BackfillError:
    """Every attempt to commit lost its race: `the plans are too busy`."""
    return error(what, why="every attempt lost its race", fix="try again in a minute")
