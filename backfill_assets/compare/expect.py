"""Did what should move move, and nothing else? A verdict on a diff, from columns that somebody named beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backfill_assets.compare.diff import ColumnMove, Diff, ModelDiff
from backfill_assets.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A column (or, without one, anything in a model) that should move, or should not."""

    model: str
    column: str = ""
    moves: bool

    def __str__(self) -> str:
        return f"{self.model}.{self.column}" if self.column else self.model


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """An expectation that the diff does not bear out."""

    expected: Expectation
    found: str

    def __str__(self) -> str:
        return f"{self.expected} {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of the expectations: `held` were borne out, each of `surprises` is a reason not to promote."""

    held: tuple[Expectation, ...]
    surprises: tuple[Surprise, ...]

    @property
    def ok(self) -> bool:
        return not self.surprises

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "ok": self.ok,
            "held": [{"of": str(e), "moves": e.moves} for e in self.held],
            "surprises": [{"of": str(s.expected), "moves": s.expected.moves, "found": s.found} for s in self.surprises],
        }


def expectation(text: str, columns: Mapping[str, Sequence[str]], *, moves: bool) -> Expectation:
    """The expectation that `model.column` (or `model`) says; `columns` are the known ones of each model.

    Raises UsageError for a name that is neither. A model whose columns nobody knows has any.
    """
    model, dot, column = text.partition(".")
    option = f"--expect-{'moved' if moves else 'unmoved'} {text}"
    if model not in columns:
        raise UsageError(
            f"{option} names no model", why=f"the project has: {', '.join(columns)}", fix="write MODEL.COLUMN, or MODEL"
        )
    if dot and not column:
        raise UsageError(f"{option} names no column", why="nothing follows the dot", fix="write MODEL.COLUMN, or MODEL")
    known = {c.lower(): c for c in columns[model]}
    if column and known and column.lower() not in known:
        raise UsageError(
            f"{option} names no column of {model}", why=f"it has: {', '.join(known.values())}", fix="name one of these"
        )
    return Expectation(model=model, column=known.get(column.lower(), column), moves=moves)


def expectations(
    columns: Mapping[str, Sequence[str]], moved: Sequence[str], unmoved: Sequence[str]
) -> list[Expectation]:
    """All that was named: `model.column`, or `model`. Raises UsageError for a name that nobody knows."""
    return [
        *(expectation(text, columns, moves=True) for text in moved),
        *(expectation(text, columns, moves=False) for text in unmoved),
    ]


def judge_moves(diff: Diff, expected: Sequence[Expectation]) -> Judgement:
    """Hold the expectations against what moved.

    Days that only one side shows were not compared: they say nothing about a column. What was not compared at all has
    neither moved nor stayed, which bears out nothing.
    """
    held: list[Expectation] = []
    surprises: list[Surprise] = []
    for one in expected:
        model = diff.of(one.model)
        found = _found(model, one)
        if found is None:
            held.append(one)
        else:
            surprises.append(Surprise(expected=one, found=found))
    return Judgement(held=tuple(held), surprises=tuple(surprises))


def _found(model: ModelDiff | None, one: Expectation) -> str | None:
    """What contradicts the expectation; None when nothing does."""
    should = "should have moved" if one.moves else "should not have moved"
    if model is None or not (model.compared or model.proofs):
        return f"{should}, and was not compared"
    column = next((c for c in model.columns if c.name.lower() == one.column.lower()), None) if one.column else None
    if one.column and model.compared and column is None:
        return f"{should}, and is on neither side"
    if column is not None and not column.both:
        what = "is new" if column.old_type is None else "is gone"
        return None if one.moves else f"{should}, and {what}"
    moves = [m for m in model.moved if not column or m.column == column.name]
    if one.moves:
        return None if moves or (not one.column and not model.total.rows.same) else f"{should}, but did not"
    if moves:
        return f"{should}, but {'; '.join(_how(m) for m in moves)}"
    if not one.column and not model.total.rows.same:
        return f"{should}, but has other rows"
    return None


def _how(move: ColumnMove) -> str:
    if move.changed:
        return f"{move.column} changed in {move.changed:,} row{'s' * (move.changed != 1)}"
    return f"{move.column} is not the same in other rows"
