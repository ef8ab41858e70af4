"""How are an environment's views made in a Spark catalog? Altered in place, never dropped and created."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from backfill_assets.adapters.named_tables import NamedTables
from backfill_assets.adapters.session_kind import is_remote
from backfill_assets.adapters.table_log import DeltaTableLog
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Ranges
from backfill_assets.core.pointer import Pointer
from backfill_assets.core.settings import TableNames
from backfill_assets.files.no_access import NoAccessError
from backfill_assets.promote.views import ENVIRONMENTS_TABLE, expanded_view, plain_view, view_name
from backfill_assets.state.environment import Environment, schema_name
from backfill_assets.state.table_contents import with_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

PROVISIONAL = "backfill.provisional"
"""A property of the views of models that have a settling window: what of them was provisional when it was written, or
nothing. `SHOW TBLPROPERTIES` reads it."""


def show_environment(
    spark: SparkSession,
    environment: Environment,
    warehouse: str,
    models: Collection[str] | None = None,
    provisional: Mapping[str, Ranges] | None = None,
) -> SparkSession:
    """Give the session the environment's views (of these models; None: all), all of one revision, with what of them is
    `provisional`. Returns the session.

    A shared catalog has them already: nothing is done there. Raises StateError when a table does not give what was
    promoted: Spark says nothing when a table's log is damaged.
    """
    wanted = [m for m in environment.pointers if models is None or m in models]
    with_counts(DeltaTableLog(warehouse), [environment.pointers[m] for m in wanted])
    return _put_views(spark, environment, warehouse, wanted, provisional)


def show_readable(spark: SparkSession, environment: Environment, warehouse: str) -> dict[str, StateError]:
    """Give the session the views of the models whose tables give what was promoted; of the others why they do not."""
    log, lost = DeltaTableLog(warehouse), dict[str, StateError]()
    for model, pointer in environment.pointers.items():
        try:
            with_counts(log, (pointer,))
        except NoAccessError:
            raise
        except StateError as error:
            lost[model] = error
    _put_views(spark, environment, warehouse, [m for m in environment.pointers if m not in lost])
    return lost


def _put_views(
    spark: SparkSession,
    environment: Environment,
    warehouse: str,
    wanted: Sequence[str],
    provisional: Mapping[str, Ranges] | None = None,
) -> SparkSession:
    if is_shared_catalog(spark):
        return spark
    session: object = spark
    if is_remote(session):  # no session of a server has a catalog of its own: others would see what is made there
        for model in wanted:
            query = plain_view(environment.pointers[model], warehouse)
            session.show(schema_name(environment.name), model, query)
    else:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS `{schema_name(environment.name)}`")
        SparkViews(spark, warehouse, provisional=lambda _: provisional or {}).settle(environment, wanted)
    return spark


class SparkViews:
    """A ViewCatalog over the session catalog of a Spark session."""

    def __init__(
        self,
        spark: SparkSession,
        warehouse: str,
        grace: timedelta = timedelta(seconds=5),
        provisional: Callable[[Environment], Mapping[str, Ranges]] = lambda _: {},
        named: NamedTables | None = None,
    ) -> None:
        """`provisional` says what an environment shows provisionally, of each model that has a window. Views call the
        tables as they are `named`; None: by their paths."""
        self._spark, self._warehouse, self._provisional = spark, warehouse, provisional
        self.grace, self.named = grace, named

    @property
    def _names(self) -> TableNames | None:
        return self.named.names if self.named else None

    def prepare(self, pointers: Sequence[Pointer]) -> None:
        if self.named is not None:
            self.named.register([ENVIRONMENTS_TABLE, *((p.model, s.version) for p in pointers for s in p.segments)])

    def expand(self, environment: str, moves: Sequence[tuple[Pointer, Pointer]], cutover: datetime) -> None:
        self.prepare([pointer for move in moves for pointer in move])
        schema = schema_name(environment)

        def one(move: tuple[Pointer, Pointer]) -> None:
            query = expanded_view(*move, environment, self._warehouse, self._names, cutover=cutover)
            self._put(schema, move[0].model, query)

        _side_by_side(one, moves)

    def settle(self, environment: Environment, models: Collection[str]) -> None:
        schema, provisional = schema_name(environment.name), self._provisional(environment)
        shown = environment.pointers
        self.prepare([shown[model] for model in models if model in shown])

        def one(model: str) -> None:
            if (pointer := shown.get(model)) is None:
                self._spark.sql(f"DROP VIEW IF EXISTS {view_name(schema, model)}")
                return
            self._put(schema, model, plain_view(pointer, self._warehouse, self._names))
            if (part := provisional.get(model)) is not None:
                said = f"SET TBLPROPERTIES ('{PROVISIONAL}' = '{part}')"
            else:  # it had a window once
                said = f"UNSET TBLPROPERTIES IF EXISTS ('{PROVISIONAL}')"
            self._spark.sql(f"ALTER VIEW {view_name(schema, model)} {said}")

        _side_by_side(one, list(models))

    def drifted(self, environment: Environment) -> dict[str, str]:
        """Model → what its view says otherwise than the environment, while no promotion is open."""
        schema = schema_name(environment.name)
        found: dict[str, str] = {}
        for model, pointer in environment.pointers.items():
            if not self._spark.catalog.tableExists(f"{schema}.{model}"):
                found[model] = "there is no view"
                continue
            rows = self._spark.sql(f"DESCRIBE TABLE EXTENDED {view_name(schema, model)}").collect()
            text = next((r["data_type"] for r in rows if r["col_name"] == "View Text"), "")
            said = text.split()
            if said == plain_view(pointer, self._warehouse, self._names).split():
                continue
            if said == plain_view(pointer, self._warehouse).split():  # `tables:` came later
                found[model] = "the view calls its tables by their paths"
            else:
                found[model] = f"the view does not show release {environment.releases[model]}"
        return found

    def _put(self, schema: str, model: str, query: str) -> None:
        # CREATE OR REPLACE VIEW drops and creates: readers would see the gap. ALTER VIEW has none.
        name = view_name(schema, model)
        if self._spark.catalog.tableExists(f"{schema}.{model}"):
            self._spark.sql(f"ALTER VIEW {name} AS {query}")
        else:
            self._spark.sql(f"CREATE DATABASE IF NOT EXISTS `{schema}`")
            self._spark.sql(f"CREATE VIEW IF NOT EXISTS {name} AS {query}")


_VIEWS_AT_ONCE = 8
"""Altering a view is mostly waiting: for the catalog, and for the log of its table."""


def _side_by_side(change: Callable[[T], None], each: Sequence[T]) -> None:
    """Change many views at a time. Raises what the first one of them raises, when all have ended."""
    if len(each) < 2:
        for one in each:
            change(one)
        return
    with ThreadPoolExecutor(max_workers=_VIEWS_AT_ONCE) as pool:
        for _ in pool.map(change, each):
            pass


def is_shared_catalog(spark: SparkSession) -> bool:
    """Whether views are kept for all: in a metastore. A Spark Connect server is asked for its own configuration."""
    return spark.conf.get("spark.sql.catalogImplementation", "in-memory") == "hive"
