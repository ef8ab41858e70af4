"""Which entities are a sample, and which models of a plan can be computed for these alone?

An entity is in a sample by a hash of its key: on both sides, each time, and in each model that has the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from backfill_assets.core.errors import PlanError, UsageError
from backfill_assets.core.escaping import one_line
from backfill_assets.core.model import Model, Project
from backfill_assets.plan.ids import WHOLE
from backfill_assets.plan.stages import Build, Plan
from backfill_assets.sql.text import quoted

Columns = Sequence[tuple[str, str]]
"""Names and types of a table's, in Spark's SQL."""
_PARTS = 1_000_000
_SEED = "a sample of entities"
_MOST = 100_000
_SHARE = re.compile(r"\d{1,2}(\.\d{1,4})?%", re.ASCII)
_COUNT = re.compile(r"\d{1,6}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySample:
    """The entities that a share of all possible hashes names: `parts` of a million, of the values of `column`."""

    column: str
    parts: int

    def __str__(self) -> str:
        share = f"{Decimal(self.parts) / 10_000:f}"
        return f"{share.rstrip('0').rstrip('.') if '.' in share else share}% of {self.column}"

    def taken(self, column: str) -> str:
        """The SQL condition of their rows, where a table calls the key so; rows without it are not among them."""
        value = quoted(column)
        hashed = f"pmod(xxhash64(CAST({value} AS STRING), '{_SEED}'), {_PARTS})"
        return f"coalesce({hashed} < {self.parts} AND {value} IS NOT NULL, false)"


class _LeftOut(Exception):
    """Why no sample of a model can be computed."""


def sample_of(
    sample: str | int | None, by: str | None, spell: Callable[[str], str] = "--{}".format
) -> int | EntitySample | None:
    """How much is built: so many intervals of each model, the rows of some entities, or (None) all.

    Raises UsageError for what is neither, quoting the options as `spell` writes them.

    >>> sample_of("3", None), str(sample_of("0.5%", "Shop"))
    (3, '0.5% of shop')
    """
    if sample is None:
        return None
    text = str(sample).strip()
    if by is not None:
        if not by.strip():
            fix = "name a column of the key, as campaign_id"
            raise UsageError(f"{spell('by')} is empty", why="it would name no entities", fix=fix)
        parts = int(Decimal(text[:-1]) * 10_000) if _SHARE.fullmatch(text) else 0
        if not parts:
            raise UsageError(
                f"{spell('sample')} {one_line(text)} with {spell('by')} is not understood",
                why="of entities a share is taken, more than 0% and less than 100%",
                fix=f"write {spell('sample')} 1% {spell('by')} {one_line(by)}",
            )
        return EntitySample(column=by.strip().lower(), parts=parts)
    if _SHARE.fullmatch(text):
        raise UsageError(
            f"{spell('sample')} {text} needs {spell('by')}", why="a share is one of entities, and these have a key",
            fix=f"write {spell('sample')} {text} {spell('by')} campaign_id, or a number of intervals",
        )  # fmt: skip
    if not _COUNT.fullmatch(text) or not 1 <= int(text) <= _MOST:
        raise UsageError(
            f"{spell('sample')} {one_line(text)} is not understood",
            why=f"it is a number of intervals in 1..{_MOST}, or a share of entities",
            fix=f"write {spell('sample')} 3, or {spell('sample')} 1% {spell('by')} campaign_id",
        )
    return int(text)


def followed(project: Project, plan: Plan, sample: EntitySample) -> tuple[dict[str, str], dict[str, str]]:
    """Of the models that a plan builds: what each that can be computed for these entities calls their key, and why
    others cannot.

    Raises UsageError where the key is masked or no model has it, PlanError where nothing is to be built.
    """
    builds = [stage.model for stage in plan.stages if isinstance(stage, Build)]
    if not builds:
        raise PlanError(
            "there is nothing to take a sample of", why="all that the plan is about is built",
            fix="compare it: backfill diff; or name what is to be computed, as --restate MODEL:DAY..DAY",
        )  # fmt: skip
    taken: dict[str, str] = {}
    left: dict[str, str] = {}
    for name in builds:
        model, copied = project.models[name], plan.copies.get(name)
        above = {u.name for u in model.upstreams if u.name in builds}
        if copied:
            called = ", ".join(f"{was} is {now} now" for was, now in copied.renamed)
            left[name] = f"the plan copies rows of it that are shown ({called}), and computes none"
            continue
        try:
            taken[name] = _key(model, taken, left) if above else _own(project, model, sample)
        except _LeftOut as why:
            left[name] = str(why)
    if not taken:
        raise UsageError(
            f"--by {one_line(sample.column)} takes a sample of no model",
            why="; ".join(f"{name}: {why}" for name, why in left.items()),
            fix="name a column of the key of the first model that is built",
        )
    return taken, left


def incomparable(old: tuple[str, Columns], new: tuple[str, Columns]) -> str:
    """Why a key is not the same text on both sides, so that these would be of other entities; "" when it is. Each side
    says what the key is called there, and its columns.

    >>> incomparable(("shop", (("shop", "int"),)), ("Shop", (("Shop", "bigint"),)))
    ''
    """
    (was, shown), (now, computed) = old, new
    kind = next((kind for name, kind in shown if name.lower() == was.lower()), "")
    other = next((kind for name, kind in computed if name.lower() == now.lower()), "")
    if not kind:
        return f"what is shown of it has no column {was}"
    if _written(kind) != _written(other):
        return f"{was} is {kind} in what is shown, {now} {other} now: equal values may be other texts"
    return ""


def _written(kind: str) -> str:
    """What tells how Spark writes values of a type as text."""
    kind = kind.lower()
    return "integer" if kind in WHOLE else "string" if kind.startswith("varchar") else kind


def _own(project: Project, model: Model, sample: EntitySample) -> str:
    known = {column.name.lower() for column in project.columns.get(model.name, ())}
    if sample.column in {c.lower() for c in model.mask}:
        raise UsageError(
            f"--by {one_line(sample.column)} takes no sample of {model.name}",
            why="the column is masked, and who is in a sample would tell something of it",
            fix=f"name another column of its key: {', '.join(model.grain)}",
        )
    if sample.column not in {c.lower() for c in model.grain}:
        what = "it has no such column" if known and sample.column not in known else "it is no part of its key"
        raise _LeftOut(f"{what} ({', '.join(model.grain) or 'it says none'})")
    return sample.column


def _key(model: Model, taken: Mapping[str, str], left: Mapping[str, str]) -> str:
    """What a model that reads others of the sample calls their key. Raises _LeftOut."""
    from backfill_assets.sql.passed_columns import RowsMixed, passed_columns

    above = [u.name for u in model.upstreams if u.name in taken or u.name in left]
    if missing := [name for name in above if name in left]:
        raise _LeftOut(f"it reads {', '.join(missing)}")
    if model.language != "sql":
        raise _LeftOut("nobody can tell which rows a Python function puts together")
    first, *others = above
    try:
        column = passed_columns(model.code, first, [taken[first]], others)[taken[first]].lower()
    except RowsMixed as mixed:
        raise _LeftOut(str(mixed)) from None
    if column in {c.lower() for c in model.mask}:
        raise _LeftOut(f"{column} is masked")
    if column not in {c.lower() for c in model.grain}:
        raise _LeftOut(f"{column} is no part of its key")
    return column
