"""How do the tables of versions get names in a catalog? As external tables over their folders, each name made once.

A name is made before a view says it, and taken away before the janitor deletes the folder. Neither writes to the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote

from backfill_assets.adapters.spark_errors import causes, spark_reason
from backfill_assets.core.errors import StateError
from backfill_assets.core.intervals import Interval
from backfill_assets.core.settings import TableNames
from backfill_assets.project.object_store import plain_uri
from backfill_assets.promote.views import table_text
from backfill_assets.sql.text import literal, quoted
from backfill_assets.state.table_names import table_name
from backfill_assets.state.tables import Readable, StoredTable, TableStorage
from backfill_assets.state.versions import VersionKey, table_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class NamedTables:
    """The tables of one warehouse by their names in a catalog of a Spark session."""

    def __init__(self, spark: SparkSession, warehouse: str, names: TableNames) -> None:
        self._spark, self._warehouse, self.names = spark, warehouse, names
        self._schema = f"{quoted(names.catalog)}.{quoted(names.schema)}"
        self._known: set[VersionKey] = set()

    def register(self, tables: Iterable[VersionKey]) -> None:
        """Give each of these tables its name, unless it has it. Killed anywhere, the same again goes on.

        Raises StateError when a name is of another table, such as that of another warehouse, and when the catalog
        refuses one.
        """
        for table in dict.fromkeys(tables):
            if table in self._known:
                continue
            name, path = self._name(table), table_path(self._warehouse, *table)
            said = self._described(table)
            if not said:
                self._do(name, f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
                self._do(name, f"CREATE TABLE IF NOT EXISTS {name} USING DELTA LOCATION {literal(path)}")
                said = self._described(table)
            _check(name, said, path)
            self._known.add(table)

    def unregister(self, model: str, version: str) -> None:
        """Take a table's name away, and leave its files alone. Harmless where it has none.

        Raises StateError for a name that is of another table, or of one whose files the catalog would delete.
        """
        self._known.discard((model, version))
        name = self._name((model, version))
        said = self._described((model, version))
        if said:
            _check(name, said, table_path(self._warehouse, model, version))
            self._do(name, f"DROP TABLE IF EXISTS {name}")

    def _name(self, table: VersionKey) -> str:
        return table_text(*table, self._warehouse, self.names)

    def _described(self, table: VersionKey) -> dict[str, str]:
        """What the catalog says of a table's name; nothing when there is none."""
        catalog, schema = quoted(self.names.catalog), literal(self.names.schema.lower())
        if not self._spark.sql(f"SHOW SCHEMAS IN {catalog} LIKE {schema}").collect():
            return {}
        # What else there is to ask would read the table's log, which may be half gone: a janitor was killed over it.
        named = f"SHOW TABLE EXTENDED IN {self._schema} LIKE {literal(table_name(*table))}"
        rows = self._spark.sql(named).collect()
        if not rows:
            return {}
        [row] = rows
        pairs = (line.partition(": ") for line in str(row["information"]).splitlines())
        return {key.strip(): value.strip() for key, _, value in pairs}

    def _do(self, name: str, statement: str) -> None:
        from pyspark.errors import PySparkException

        try:
            self._spark.sql(statement)
        except PySparkException as error:
            raise StateError(
                f"the catalog refuses {name}",
                why=spark_reason(causes(error)),
                fix=f"allow this account to create and drop tables in {self._schema}, over the warehouse's folders",
            ) from None


class NamedTableStorage:
    """A TableStorage whose tables have names: they go first, so that no name is of a folder that is gone."""

    def __init__(self, storage: TableStorage, named: Callable[[], NamedTables | None]) -> None:
        """`named` opens the catalog, if there is one; called only when a table is removed."""
        self._storage, self._named = storage, named

    def tables(self) -> list[StoredTable]:
        return self._storage.tables()

    def readable(self, model: str, version: str, commit: int, interval: Interval, *, footers: bool = True) -> Readable:
        return self._storage.readable(model, version, commit, interval, footers=footers)

    def last_look(self, model: str, version: str, interval: Interval) -> float | None:
        return self._storage.last_look(model, version, interval)

    def remove(self, model: str, version: str) -> None:
        if (named := self._named()) is not None:
            named.unregister(model, version)
        self._storage.remove(model, version)


def _check(name: str, said: dict[str, str], path: str) -> None:
    """Raise StateError unless the name is of this folder's table, and of nothing that a DROP would delete."""
    kind, location = said.get("Type", ""), said.get("Location", "")
    if kind.upper() != "EXTERNAL" or not _is_at(location, path):
        raise StateError(
            f"{name} is another table",
            why=f"the catalog has {kind or 'something'} at {location or 'no place'}; it should be external at {path}",
            fix="name another schema at `tables:` in backfill.yml: each warehouse has one of its own",
        )


def _is_at(location: str, path: str) -> bool:
    """Whether a catalog's location is this path. Catalogs add a scheme, and some write a path as a URI does; ours is
    none: its `%` and `#` are its own.

    >>> _is_at("file:/w/orders/v1", "/w/orders/v1"), _is_at("file:///w/a%20b", "/w/a b"), _is_at("s3a://b/w/", "s3://b/w")
    (True, True, True)
    >>> _is_at("file:/w/a%20b#1", "/w/a%20b#1"), _is_at("/w/a%20b", "/w/a%20b"), _is_at("file:/w/other", "/w/orders")
    (True, True, False)
    """
    if not path.startswith("/"):
        return plain_uri(location) == plain_uri(path)
    said = "/" + location.removeprefix("file:").strip("/")
    return path.rstrip("/") in (said, unquote(said))
