"""The engine for what is the same in both: DuckDB, a millisecond a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from backfill_assets_tests.fuzz.case import TableSpec
from backfill_assets_tests.fuzz.engine import Failure, Result, Rows, World, permuted

_INVALID = (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException, duckdb.NotImplementedException)


class DuckEngine:
    """One database for each set of rows."""

    name = "duckdb"

    def __init__(self) -> None:
        self._databases: dict[tuple[object, int], duckdb.DuckDBPyConnection] = {}

    def run(self, worlds: Sequence[World], permutation: int = 0) -> list[Mapping[str, Result | Failure]]:
        return [self._world(world, permutation) for world in worlds]

    def _world(self, world: World, permutation: int) -> Mapping[str, Result | Failure]:
        database = self._database(world.tables, world.rows, permutation)
        found: dict[str, Result | Failure] = {}
        failed: Failure | None = None
        for name, text in world.models.items():
            if failed is None:
                found[name] = _result(database, text, name, permutation)
                if isinstance(found[name], Failure):
                    failed = found[name]
            else:
                found[name] = failed
        return {name: found[name] for name in world.only}

    def _database(self, tables: Mapping[str, TableSpec], rows: Rows, permutation: int) -> duckdb.DuckDBPyConnection:
        key = (tuple((n, tuple(s.columns.items()), rows[n]) for n, s in tables.items()), permutation)
        if key not in self._databases:
            if len(self._databases) > 20:
                self._databases.pop(next(iter(self._databases))).close()
            database = self._databases[key] = duckdb.connect()
            database.execute("SET threads = 1")
            for name, spec in tables.items():
                columns = ", ".join(f"{c} {k}" for c, k in spec.columns.items())
                database.execute(f"CREATE TABLE {name} ({columns})")
                if rows[name]:
                    marks = ", ".join("?" for _ in spec.columns)
                    database.executemany(f"INSERT INTO {name} VALUES ({marks})", permuted(rows[name], permutation))
        return self._databases[key]


def _result(database: duckdb.DuckDBPyConnection, text: str, name: str, permutation: int) -> Result | Failure:
    try:
        kind = "TABLE" if permutation else "VIEW"
        database.execute(f'CREATE OR REPLACE TEMP {kind} "_{name}" AS {text}')
        if permutation:
            order = "DESC" if permutation % 2 else "ASC"
            database.execute(f'CREATE OR REPLACE TEMP TABLE "{name}" AS SELECT * FROM "_{name}" ORDER BY ALL {order}')
        else:
            database.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS SELECT * FROM "_{name}"')
        database.execute(f'SELECT * FROM "_{name}"')
        assert database.description is not None
        names = [str(d[0]).lower() for d in database.description]
        types = [str(d[1]) for d in database.description]
        rows = tuple(tuple(repr(value) for value in row) for row in database.fetchall())
    except _INVALID as error:
        return Failure(why=_first(error), invalid=True)
    except duckdb.Error as error:
        return Failure(why=_first(error), invalid=False)
    if len(set(names)) != len(names):
        return Failure(why="a name comes twice", invalid=True)
    return Result(types=dict(zip(names, types, strict=True)), rows=rows)


def _first(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
