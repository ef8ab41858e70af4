"""Use case: what do the views say? A query, or a session, over an environment, all of one release."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backfill_assets.app.context import Context
from backfill_assets.core.errors import PlanError
from backfill_assets.promote.lifecycle import ended_text, find_plan
from backfill_assets.sql.unlogged import unlogged
from backfill_assets.state.control import Control
from backfill_assets.state.environment import Environment, schema_name

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRows:
    """What a query gave: its columns, and its first rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: bool
    """Whether there are further ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownViews:
    """A session in which an environment's views are, by their qualified names."""

    spark: SparkSession
    views: tuple[str, ...]
    revision: int


def query_views(context: Context, query: str, *, environment: str | None, limit: int) -> QueryRows:
    """The first rows of a query over the views of environments (None: of the project's own), which may be named in it.

    Raises BuildError with Spark's reason when it is not valid, SourceChangedError when files of an adopted table that
    it reads are gone, or others.
    """
    from backfill_assets.adapters.query import first_rows
    from backfill_assets.adapters.spark_views import show_environment

    name = environment or context.environment
    shown = context.control.environments.read(name)
    environments = context.control.environments.names()
    query = _in_schemas(query, environments)
    parts, mentioned = context.provisional(shown), _mentioned(query)
    _refuse_lost_files(context, shown, _of(name, mentioned))
    spark = show_environment(context.spark, shown, context.warehouse, _of(name, mentioned), parts)
    for other in environments:
        if other != name and (models := _of(other, mentioned)):
            beside = context.control.environments.read(other)
            _refuse_lost_files(context, beside, models)
            show_environment(spark, beside, context.warehouse, models)
    views = [f"{schema_name(name)}.{model}" for model in sorted(shown.pointers)] or why_none(context.control, name)
    columns, rows = first_rows(spark, query, at_most=limit + 1, views=views)
    return QueryRows(columns=tuple(columns), rows=tuple(rows[:limit]), more=len(rows) > limit)


def why_none(control: Control, environment: str) -> list[str]:
    """What there is in the place of views where a candidate's plan is over; empty where it is not, or none is known."""
    with suppress(PlanError):
        record = find_plan(control, environment)
        if environment == record.candidate and not record.live:
            over = ended_text(control, record.id) or f"plan {record.id} was promoted: {record.environment} shows it"
            return [f"none, as {over}"]
    return []


def show_views(context: Context, *, environment: str | None) -> ShownViews:
    """A session with all views of an environment (None: of the project's own)."""
    from backfill_assets.adapters.spark_views import show_environment

    name = environment or context.environment
    shown = context.control.environments.read(name)
    spark = show_environment(context.spark, shown, context.warehouse, provisional=context.provisional(shown))
    views = tuple(f"{schema_name(name)}.{model}" for model in shown.pointers)
    return ShownViews(spark=spark, views=views, revision=shown.revision)


def _refuse_lost_files(context: Context, shown: Environment, models: Sequence[str] | None) -> None:
    """Raise SourceChangedError for files of adopted tables: their owner may have written over them, or deleted them,
    of which our log of them, whose counts are compared, knows nothing. None: which ones are read cannot be told."""
    from backfill_assets.adapters.inputs import check_adopted

    for name, pointer in shown.pointers.items():
        for segment, within in pointer.segments.tables() if models and name in models else ():
            for part in within:
                check_adopted(context.warehouse, name, segment, part)


def _mentioned(query: str) -> list[tuple[str, str]] | None:
    """Schema and name of the tables that a query may mean, so that only their views are made; None when that cannot be
    told."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        with unlogged():
            tree = sqlglot.parse_one(query, dialect="spark")
    except SqlglotError:
        return None
    if not isinstance(tree, exp.Query):
        return None
    return [(t.db.lower(), t.name) for t in tree.find_all(exp.Table)]


def _of(environment: str, mentioned: Sequence[tuple[str, str]] | None) -> list[str] | None:
    """Those that are models of an environment."""
    schema = schema_name(environment).lower()
    return None if mentioned is None else [name for place, name in mentioned if place == schema]


def _in_schemas(query: str, environments: Sequence[str]) -> str:
    """The query with the schemas of candidate environments for their names: `plan-1f3a`.m is the view plan_1f3a.m."""
    for name in environments:
        if name != schema_name(name):
            query = re.sub(rf"(?<![\w-])`?{re.escape(name)}`?\.(?=[\w`])", f"{schema_name(name)}.", query)
    return query
