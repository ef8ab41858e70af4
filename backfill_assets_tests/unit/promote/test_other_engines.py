"""What do views say to engines other than Spark? Text that their grammars read, and a head that says the release."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
import sqlglot
from sqlglot import exp

from backfill_assets.core.errors import PromotionError
from backfill_assets.core.intervals import Interval, Ranges, utc
from backfill_assets.core.segments import Segment
from backfill_assets.promote.duckdb_views import PinnedFiles
from backfill_assets.promote.trino_views import TrinoPlace, trino_view
from backfill_assets.promote.view_scripts import ShownEnvironment, duckdb_script, trino_script
from backfill_assets.state.releases import Release
from backfill_assets_tests.fakes import a_pointer, days

PLACE = TrinoPlace(catalog="delta", tables="backfill_tables")
NOW = utc("2024-02-01")
OLD = (("DS", "date"), ("id", "int"), ("late", "date"))
VIEW = replace(
    a_pointer("orders", "v1", days("01")),
    columns=(("ds", "date"), ("id", "bigint"), ("late", "timestamp"), ("new", "array<struct<end:decimal(9,2)>>")),
    segments=(
        Segment(version="v1", commit=3, interval=days("01", "03"), columns=OLD),
        Segment(version="v2.adopted-1f", commit=5, interval=days("04")),
    ),
)


def release(name: str = "r1", by: str = "ana") -> Release:
    at: datetime = utc("2024-01-09T10:11:12")
    return Release(id=name, environment="prod", revision=1, at=at, by=by, back_to="", moves=())


def showing(**more: object) -> ShownEnvironment:
    said = ShownEnvironment(
        environment="prod", pointers={"orders": VIEW}, release=release(), newest=True, written=NOW, retention_days=30
    )
    return replace(said, **more)  # type: ignore[arg-type]


def files_of(*_: object) -> list[PinnedFiles]:
    return [PinnedFiles(paths=("/w/it's.parquet",), columns=frozenset({"ds", "id", "late", "new"}))]


def statements(script: str, dialect: str) -> list[exp.Expression]:
    return [s for s in sqlglot.parse(script, dialect=dialect) if s is not None]


def test_trino_reads_each_table_at_its_commit() -> None:
    """By its registered name, cut to its days; what an older table lacks is NULL, a date is its midnight in UTC."""
    first, second = trino_view(VIEW, PLACE).split("\nUNION ALL\n")
    assert first == (
        'SELECT "DS" AS "ds", CAST("id" AS BIGINT) AS "id", '
        'with_timezone(CAST("late" AS TIMESTAMP), \'UTC\') AS "late", '
        'CAST(NULL AS ARRAY(ROW("end" DECIMAL(9, 2)))) AS "new"\n'
        'FROM "delta"."backfill_tables"."orders__v1" FOR VERSION AS OF 3\n'
        "WHERE \"ds\" >= DATE '2024-01-01' AND \"ds\" < DATE '2024-01-04'"
    )
    assert 'FROM "delta"."backfill_tables"."orders__v2_adopted_1f" FOR VERSION AS OF 5\n' in second
    assert second.startswith('SELECT "ds" AS "ds", "id" AS "id", "late" AS "late", "new" AS "new"\n')
    hour = Interval.of("2024-01-01T05:00", "2024-01-01T06:00")
    hourly = replace(VIEW, timestamps=True, segments=(Segment(version="v2", commit=1, interval=hour),))
    assert "\"ds\" >= TIMESTAMP '2024-01-01 05:00:00 UTC'" in trino_view(hourly, PLACE)


def test_trino_parses_the_script() -> None:
    """Schemas, names for the tables, then the views: in an order in which each finds what it needs."""
    script = trino_script(showing(gone={"returns"}), "/w", PLACE)
    found = statements(script, "trino")
    kinds = [str(s.args.get("kind") or s.this) for s in found]
    assert kinds[:2] == ["SCHEMA", "SCHEMA"] and kinds[4:] == ["VIEW", "VIEW"]
    assert all(isinstance(s, exp.Command) for s in found[2:4]), "CALL is not in sqlglot's grammar"
    assert isinstance(found[4], exp.Drop) and "returns" in found[4].sql()
    view = found[5]
    assert isinstance(view, exp.Create) and view.args["replace"] and not list(view.find_all(exp.Command))
    assert [t.args["version"].args["expression"].this for t in view.find_all(exp.Table) if t.args.get("version")] == [
        "3",
        "5",
    ]
    assert "table_location => 'file:///w/orders/v1'" in script
    assert "table_location => 's3://lake/w/orders/v1'" in trino_script(showing(), "s3://lake/w", PLACE)


def test_a_script_says_its_release() -> None:
    """Which, of when, by whom, that it does not move, and how long its files stay; nobody's name ends the comment."""
    script = duckdb_script(showing(release=release(by="eve\nDROP TABLE x; --")), {"orders": files_of})
    head = [line for line in script.splitlines() if line.startswith("--")]
    assert head[0] == (
        "-- Views of prod for DuckDB: release r1, of 2024-01-09 10:11:12 UTC, by eve\\nDROP TABLE x; --."
    )
    assert "-- Written at 2024-02-01 00:00:00 UTC by `backfill export views`." in head
    assert any("does not move by itself" in line for line in head) and any("at least 30 days" in line for line in head)
    assert not any("older one" in line for line in head)
    kinds = [type(s).__name__ for s in statements(script, "duckdb")]
    assert kinds == ["Transaction", "Create", "Create", "Comment", "Commit"]
    assert any("older one" in line for line in duckdb_script(showing(newest=False), {"orders": files_of}).splitlines())


def test_candidates_have_no_release() -> None:
    """Their schema is one that catalogs take, and what is provisional is said of each view."""
    shown = showing(environment="plan-1f3a", release=None, provisional={"orders": Ranges((days("04"),))})
    script = duckdb_script(shown, {"orders": files_of})
    assert 'CREATE OR REPLACE VIEW "plan_1f3a"."orders"' in script and "no release" in script
    assert "provisional: 2024-01-04" in script and "'/w/it''s.parquet'" in script


@pytest.mark.parametrize("kind", ["variant", "interval day", "array<variant>"])
def test_types_without_an_equal(kind: str) -> None:
    """Refused, by the column's name, before anything is written."""
    view = replace(VIEW, columns=(*VIEW.columns[:3], ("new", kind)))
    for script in (
        lambda: duckdb_script(showing(pointers={"orders": view}), {"orders": files_of}),
        lambda: trino_script(showing(pointers={"orders": view}), "/w", PLACE),
    ):
        with pytest.raises(PromotionError, match="column new of orders cannot be shown in"):
            script()
