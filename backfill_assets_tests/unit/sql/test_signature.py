"""What changes of a query change its rows, and which change which column? Edits in a table, random ones in DuckDB.

`docs/categories.md` is generated from the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import duckdb
import pytest
import sqlglot

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Column, Signature
from backfill_assets.plan.category import Category, TableChange, change_between
from backfill_assets.sql.columns import resolve
from backfill_assets.sql.parsing import parse
from backfill_assets.sql.signature import Opaque, Table, query_signature

T = {"id": "int", "ds": "date", "g": "string", "x": "int", "y": "int"}
U = {"k": "int", "z": "int", "w": "string"}


def table(name: str, columns: dict[str, str], key: frozenset[str] | None = None) -> Table:
    marks = {c: digest(name, c) for c in columns}
    typed = tuple(Column(name=c, type=t) for c, t in columns.items())
    return Table(name=name, signature=Signature(rows=digest(name), columns=marks), key=key, columns=typed)


TABLES = {"t": table("t", T), "u": table("u", U), "v": table("v", U, frozenset({"k"}))}


def signature_of(sql: str) -> Signature | None:
    parsed = parse(sql)
    resolved = resolve(parsed, {r.key: (r.key, TABLES[r.key].columns) for r in parsed.references})
    assert not resolved.findings, resolved.findings
    try:
        return query_signature(parsed, TABLES)
    except Opaque:
        return None


def change(old: str, new: str) -> TableChange:
    before, after = signature_of(old), signature_of(new)
    assert before is not None and after is not None
    return change_between(before, after)


@dataclass(frozen=True)
class Edit:
    """`columns`: whose values may differ, None for the rows."""

    what: str
    old: str
    new: str
    category: Category
    why: str
    columns: tuple[str, ...] | None = ()


NO, ADD, GONE, BREAK = Category.UNCHANGED, Category.ADDITIVE, Category.REMOVAL, Category.BREAKING
EDITS = [
    Edit("formatting, comments, case of keywords", "SELECT id, x FROM t", "select id, -- the id\n  x\nfrom t", NO,
         "no token that counts changed"),
    Edit("a table's alias", "SELECT t.id, t.x FROM t", "SELECT a.id, a.x FROM t AS a", NO,
         "columns are told apart by their table's position, not its name"),
    Edit("a CTE's name", "WITH a AS (SELECT id, x FROM t WHERE x > 0) SELECT id, x FROM a",
         "WITH b AS (SELECT id, x FROM t WHERE x > 0) SELECT id, x FROM b", NO, "a CTE counts as what it says"),
    Edit("a CTE instead of a subquery", "SELECT id, n FROM (SELECT id, x + 1 AS n FROM t)",
         "WITH a AS (SELECT id, x + 1 AS n FROM t) SELECT id, n FROM a", NO, "it says the same"),
    Edit("an expression moved into a CTE", "SELECT id, (x + 1) * 2 AS n FROM t",
         "WITH a AS (SELECT id, x + 1 AS m FROM t) SELECT id, m * 2 AS n FROM a", NO, "put together it is the same"),
    Edit("order of columns", "SELECT id, x FROM t", "SELECT x, id FROM t", NO,
         "the table is the same; the view lists its columns in the new order"),
    Edit("order of the conditions that AND joins", "SELECT id FROM t WHERE x > 0 AND y > 0",
         "SELECT id FROM t WHERE y > 0 AND x > 0", NO, "AND does not care"),
    Edit("order of GROUP BY", "SELECT id, g, sum(x) AS n FROM t GROUP BY id, g",
         "SELECT id, g, sum(x) AS n FROM t GROUP BY g, id", NO, "groups are sets"),
    Edit("ordinals instead of names", "SELECT id, g, sum(x) AS n FROM t GROUP BY id, g",
         "SELECT id, g, sum(x) AS n FROM t GROUP BY 1, 2", NO, "they mean the same expressions"),
    Edit("another column", "SELECT id, x FROM t", "SELECT id, x, y FROM t", ADD, "the others are as they were"),
    Edit("another aggregate of the same groups", "SELECT g, sum(x) AS n FROM t GROUP BY g",
         "SELECT g, sum(x) AS n, max(y) AS m FROM t GROUP BY g", ADD, "the groups are the same"),
    Edit("another window column", "SELECT id, x FROM t",
         "SELECT id, x, sum(x) OVER (PARTITION BY g ORDER BY id) AS s FROM t", ADD, "windows neither add nor drop rows"),
    Edit("another column on both sides of UNION ALL", "SELECT id FROM t UNION ALL SELECT k AS id FROM u",
         "SELECT id, x FROM t UNION ALL SELECT k AS id, z AS x FROM u", ADD, "UNION ALL keeps every row"),
    Edit("a LEFT JOIN on a unique key", "SELECT id, x FROM t",
         "SELECT t.id, t.x, v.z FROM t LEFT JOIN v ON v.k = t.id", ADD,
         "each row finds one partner at most: `v` has `k` for its grain, and a blocking audit says it is unique"),
    Edit("a LEFT JOIN of groups on what they are grouped by", "SELECT id, x FROM t",
         "SELECT t.id, t.x, a.n FROM t LEFT JOIN (SELECT k, count(*) AS n FROM u GROUP BY k) AS a ON a.k = t.id", ADD,
         "a group comes once"),
    Edit("what a joined column is computed from",
         "SELECT t.id, t.x, a.n FROM t LEFT JOIN (SELECT k, count(*) AS n FROM u GROUP BY k) AS a ON a.k = t.id",
         "SELECT t.id, t.x, a.n FROM t LEFT JOIN (SELECT k, count(*) AS n FROM u WHERE z > 0 GROUP BY k) AS a ON a.k = t.id",
         BREAK, "the join keeps the rows: only its columns can differ", ("n",)),
    Edit("a LEFT JOIN on anything else", "SELECT id, x FROM t",
         "SELECT t.id, t.x, u.z FROM t LEFT JOIN u ON u.k = t.id", BREAK, "a row may find several partners", None),
    Edit("a column under DISTINCT", "SELECT DISTINCT id FROM t", "SELECT DISTINCT id, x FROM t", BREAK,
         "rows that were one become several", None),
    Edit("a column under GROUP BY ALL", "SELECT g, sum(x) AS n FROM t GROUP BY ALL",
         "SELECT g, y, sum(x) AS n FROM t GROUP BY ALL", BREAK, "it is grouped by as well", None),
    Edit("an aggregate under GROUP BY ALL", "SELECT g, sum(x) AS n FROM t GROUP BY ALL",
         "SELECT g, sum(x) AS n, max(y) AS m FROM t GROUP BY ALL", ADD, "the groups are the same"),
    Edit("a column on both sides of UNION", "SELECT id FROM t UNION SELECT k AS id FROM u",
         "SELECT id, x FROM t UNION SELECT k AS id, z AS x FROM u", BREAK, "UNION drops rows that are equal", None),
    Edit("an aggregate in a query without groups", "SELECT 1 AS a FROM t", "SELECT 1 AS a, count(*) AS n FROM t", BREAK,
         "many rows become one", None),
    Edit("a generator", "SELECT id FROM t", "SELECT id, explode(array(x, y)) AS e FROM t", BREAK,
         "one row becomes several", None),
    Edit("a LATERAL VIEW", "SELECT id FROM t", "SELECT id, e FROM t LATERAL VIEW explode(array(x, y)) a AS e", BREAK,
         "one row becomes several", None),
    Edit("a filter", "SELECT id FROM t WHERE x > 0", "SELECT id FROM t WHERE x > 1", BREAK, "other rows pass", None),
    Edit("a filter in a CTE", "WITH a AS (SELECT id, x FROM t WHERE x > 0) SELECT id, x FROM a",
         "WITH a AS (SELECT id, x FROM t WHERE x >= 0) SELECT id, x FROM a", BREAK, "other rows pass", None),
    Edit("a filter in a subquery of WHERE", "SELECT id FROM t WHERE id IN (SELECT k FROM u)",
         "SELECT id FROM t WHERE id IN (SELECT k FROM u WHERE z > 0)", BREAK, "other rows pass", None),
    Edit("the condition of a SEMI JOIN", "SELECT id FROM t LEFT SEMI JOIN u ON u.k = t.id",
         "SELECT id FROM t LEFT SEMI JOIN u ON u.k = t.x", BREAK, "other rows pass", None),
    Edit("the order under a LIMIT", "SELECT id, x FROM (SELECT id, x FROM t ORDER BY x LIMIT 3)",
         "SELECT id, x FROM (SELECT id, x FROM t ORDER BY x DESC LIMIT 3)", BREAK, "others come first", None),
    Edit("the order without one", "SELECT id, x FROM t ORDER BY x", "SELECT id, x FROM t", NO, "a table has no order"),
    Edit("a scalar subquery", "SELECT id, (SELECT max(z) FROM u WHERE u.k = t.id) AS m FROM t",
         "SELECT id, (SELECT max(z) FROM u WHERE u.k = t.x) AS m FROM t", BREAK, "that column may differ", ("m",)),
    Edit("HAVING", "SELECT g, sum(x) AS n FROM t GROUP BY g", "SELECT g, sum(x) AS n FROM t GROUP BY g HAVING sum(x) > 0",
         BREAK, "groups are left out", None),
    Edit("QUALIFY", "SELECT id, x FROM t", "SELECT id, x FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY x) = 1",
         BREAK, "rows are left out", None),
    Edit("the kind of a join", "SELECT t.id, u.z FROM t JOIN u ON u.k = t.id",
         "SELECT t.id, u.z FROM t LEFT JOIN u ON u.k = t.id", BREAK, "rows without a partner stay", None),
    Edit("another group", "SELECT g, sum(x) AS n FROM t GROUP BY g", "SELECT g, id, sum(x) AS n FROM t GROUP BY g, id",
         BREAK, "groups are smaller", None),
    Edit("LIMIT", "SELECT id FROM t", "SELECT id FROM t LIMIT 5", BREAK, "rows are left out", None),
    Edit("an expression", "SELECT id, x + 1 AS n, y FROM t", "SELECT id, x + 2 AS n, y FROM t", BREAK,
         "that column may differ, the others do not", ("n",)),
    Edit("a cast", "SELECT id, x FROM t", "SELECT id, CAST(x AS BIGINT) AS x FROM t", BREAK, "its type differs", ("x",)),
    Edit("TRY_CAST for CAST", "SELECT id, CAST(g AS INT) AS n FROM t", "SELECT id, TRY_CAST(g AS INT) AS n FROM t", BREAK,
         "what failed is NULL", ("n",)),
    Edit("a function that differs in little", "SELECT id, size(array(x)) AS n FROM t",
         "SELECT id, array_size(array(x)) AS n FROM t", BREAK, "`size(NULL)` is not `array_size(NULL)`", ("n",)),
    Edit("a window's partition", "SELECT id, sum(x) OVER (PARTITION BY g) AS s FROM t",
         "SELECT id, sum(x) OVER (PARTITION BY id) AS s FROM t", BREAK, "that column may differ", ("s",)),
    Edit("a named window", "SELECT id, sum(x) OVER w AS s FROM t WINDOW w AS (PARTITION BY g)",
         "SELECT id, sum(x) OVER w AS s FROM t WINDOW w AS (PARTITION BY id)", BREAK, "that column may differ", ("s",)),
    Edit("what an inner expression is computed from", "SELECT id, m * 2 AS n, y FROM (SELECT id, x + 1 AS m, y FROM t)",
         "SELECT id, m * 2 AS n, y FROM (SELECT id, x + 3 AS m, y FROM t)", BREAK, "it is followed through", ("n",)),
    Edit("a column less", "SELECT id, x, y FROM t", "SELECT id, x FROM t", GONE,
         "nothing to compute again; who reads it breaks"),
    Edit("another name", "SELECT id, x AS a FROM t", "SELECT id, x AS b FROM t", GONE,
         "the plan says what it is called now; who reads the old name breaks"),
]  # fmt: skip


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.what)
def test_edit(edit: Edit) -> None:
    """Each kind of edit has its category, and names the columns that may differ."""
    found = change(edit.old, edit.new)
    assert found.category is edit.category
    assert (None if found.rows else found.columns) == edit.columns


def test_a_rename_is_told() -> None:
    """The old and the new name of a column that is computed as before."""
    assert change("SELECT id, x AS a FROM t", "SELECT id, x AS b FROM t").renamed == (("a", "b"),)


def test_the_order_of_self_joined_tables_counts() -> None:
    """`now.x` and `before.x` are the same column of the same table, and not the same value."""
    sql = "SELECT now.id, {} AS v FROM t AS now JOIN t AS before ON now.id = before.y"
    assert change(sql.format("now.x"), sql.format("before.x")).columns == ("v",)


@pytest.mark.parametrize(
    "sql",
    ["SELECT id FROM t TABLESAMPLE (10 ROWS)", "SELECT a.id FROM t PIVOT (sum(x) FOR g IN ('a')) AS a",
     "SELECT id, c FROM (SELECT id, inline(array(struct(x))) AS (c) FROM t)"],
)  # fmt: skip
def test_what_cannot_be_taken_apart_is_said_to_be(sql: str) -> None:
    """No signature at all: the whole text decides then."""
    assert signature_of(sql) is None


# --- random edits, run ------------------------------------------------------------------------------------------------

EXPRESSIONS = ["a.id", "a.x", "a.y", "a.x + a.y", "a.x * 2", "coalesce(a.y, 0)", "CASE WHEN a.x > 1 THEN a.y END"]
CHOICES = {
    "cte": ["", "x > 0", "y IS NOT NULL", "g = 'a'"],
    "where": ["", "a.x > 0", "a.y < 3"],
    "join": ["", "LEFT JOIN u ON u.k = a.id", "JOIN u ON u.k = a.id", "LEFT JOIN s ON s.k = a.id", "LEFT JOIN s ON s.n = a.id"],
    "sub": ["count(*) AS n FROM u", "sum(z) AS n FROM u", "sum(z) AS n FROM u WHERE z > 2", "sum(z) AS n FROM u WHERE k > 0"],
    "group": [False, False, True],
    "distinct": [False, True],
    "window": ["", "sum(a.x) OVER (PARTITION BY a.g)", "count(*) OVER (PARTITION BY a.id)"],
    "union": ["", "", "UNION ALL", "UNION"],
    "having": ["", "HAVING count(*) > 1"],
    "joined": [False, True],
}  # fmt: skip


def a_query(random: Random) -> dict[str, Any]:
    """The parts of a query; `text` puts them together."""
    parts: dict[str, Any] = {name: random.choice(values) for name, values in CHOICES.items()}
    return parts | {"columns": random.choices(EXPRESSIONS, k=random.randint(1, 3))}


def edited(query: dict[str, Any], random: Random) -> dict[str, Any]:
    """The query with one part changed: a column more, a column less, another column, or another choice."""
    columns = list(query["columns"])
    match random.choice(["more", "less", "other", "join", "sub", "part", "part"]):
        case "more":
            return query | {"columns": [*columns, random.choice(EXPRESSIONS)]}
        case "less":
            return query | {"columns": columns[:-1]}
        case "other":
            return query | {"columns": [random.choice(EXPRESSIONS), *columns[1:]]}
        case kind:
            name = random.choice(sorted(CHOICES)) if kind == "part" else kind
            return query | {name: random.choice([v for v in CHOICES[name] if v != query[name]])}


def text(q: dict[str, Any]) -> str:
    values = list(q["columns"])
    if q["joined"] and q["join"]:
        values.append("s.n" if " s " in q["join"] else "u.z")
    named = [f"{f'sum({c})' if q['group'] else c} AS c{i}" for i, c in enumerate(values)]
    if q["window"] and not q["group"]:
        named.append(f"{q['window']} AS win")
    main = f"SELECT {'DISTINCT ' * q['distinct']}{', '.join(['a.g AS k0', *named])} FROM b AS a {q['join']}"
    main += f" WHERE {q['where']}" if q["where"] else ""
    main += f" GROUP BY a.g {q['having']}" if q["group"] else ""
    main = f"{main} {q['union']} {main}" if q["union"] else main
    where = f" WHERE {q['cte']}" if q["cte"] else ""
    return f"WITH b AS (SELECT id, g, x, y FROM t{where}), s AS (SELECT k, {q['sub']} GROUP BY k) {main}"


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Few values, so that rows are often equal; keys that come several times, and not at all."""
    random = Random(1)
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (id INT, x INT, y INT, g TEXT, ds DATE); CREATE TABLE u (k INT, z INT, w TEXT)")
        for _ in range(40):
            numbers = [random.choice([None, 0, 1, 2, 3]) for _ in range(3)]
            db.execute("INSERT INTO t VALUES (?, ?, ?, ?, DATE '2024-01-01')", [*numbers, random.choice("ab")])
        for _ in range(8):
            db.execute(
                "INSERT INTO u VALUES (?, ?, ?)", [random.randint(0, 2), random.randint(0, 5), random.choice("vw")]
            )
        yield db


def test_what_is_said_to_stay_stays(database: duckdb.DuckDBPyConnection) -> None:
    """500 queries and an edit of each, run on the same rows: where the signatures say that rows and columns are the same,
    DuckDB finds them the same."""
    random = Random(20240301)
    seen: Counter[Category] = Counter()
    for _ in range(500):
        before = a_query(random)
        old, new = text(before), text(edited(before, random))
        one, two = signature_of(old), signature_of(new)
        assert one is not None and two is not None
        found = change_between(one, two)
        seen[found.category] += 1
        if found.rows:
            continue
        same = ", ".join(c for c in one.columns if one.columns[c] == two.columns.get(c)) or "1"
        results = [
            Counter(database.sql(f"SELECT {same} FROM ({sqlglot.transpile(q, 'spark', 'duckdb')[0]})").fetchall())
            for q in (old, new)
        ]
        assert results[0] == results[1], f"{old}\n{new}"
    assert all(seen[c] > 10 for c in (NO, ADD, GONE, BREAK)), seen
