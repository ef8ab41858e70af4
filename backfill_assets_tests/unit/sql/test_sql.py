# ruff: noqa: E501 (tables)
"""Table names are replaced at their places in the text, and nothing else changes."""

from __future__ import annotations

import pytest
from sqlglot import exp

from backfill_assets.sql.constant_texts import may_spell_clock
from backfill_assets.sql.expression_types import expression_type
from backfill_assets.sql.parsing import LostTablesError, SqlError, parse, splice

TABLES = {"a": "t_a", "b": "t_b", "raw.ev": "delta.`/x`", "raw.semi": "v1"}
CASES = [
    ("SELECT a.x FROM a", "SELECT a.x FROM t_a AS a"),
    ("SELECT * FROM `A` x JOIN A AS y", "SELECT * FROM t_a x JOIN t_a AS y"),
    ("SELECT * FROM `a`, b", "SELECT * FROM t_a AS `a`, t_b AS b"),
    ("SELECT 'a', -- from a\n/* a */ a.a FROM  a  WHERE t >= :start", "SELECT 'a', -- from a\n/* a */ a.a FROM  t_a AS a  WHERE t >= :start"),
    ("SELECT raw.ev.x, ev.y FROM raw.ev", "SELECT ev.x, ev.y FROM delta.`/x` AS ev"),
    ("SELECT raw . `EV`.s.f, RAW.ev.* FROM raw.ev", "SELECT `EV`.s.f, ev.* FROM delta.`/x` AS ev"),
    ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "WITH a AS (SELECT * FROM t_a AS a) SELECT * FROM a"),
    ("WITH b AS (SELECT 1), c AS (SELECT * FROM b, a) SELECT * FROM B", "WITH b AS (SELECT 1), c AS (SELECT * FROM b, t_a AS a) SELECT * FROM B"),
    ("SELECT * FROM b WHERE EXISTS (WITH b AS (SELECT 1) SELECT * FROM b)", "SELECT * FROM t_b AS b WHERE EXISTS (WITH b AS (SELECT 1) SELECT * FROM b)"),
    ("WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n FROM a) SELECT * FROM a", "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n FROM a) SELECT * FROM a"),
    ("SELECT * FROM a LATERAL VIEW explode(a.l) q AS z UNION ALL SELECT * FROM b z", "SELECT * FROM t_a AS a LATERAL VIEW explode(a.l) q AS z UNION ALL SELECT * FROM t_b z"),
    ("SELECT * FROM a PIVOT (sum(x) FOR k IN ('u'))", "SELECT * FROM t_a AS a PIVOT (sum(x) FOR k IN ('u'))"),
    ("SELECT * FROM a TABLESAMPLE (9 PERCENT) WHERE (x)", "SELECT * FROM t_a TABLESAMPLE (9 PERCENT) AS a WHERE (x)"),
    ("SELECT * FROM a TABLESAMPLE (9 ROWS) REPEATABLE (3)", "SELECT * FROM t_a TABLESAMPLE (9 ROWS) REPEATABLE (3) AS a"),
    ("SELECT * FROM a TABLESAMPLE (9 PERCENT) s", "SELECT * FROM t_a TABLESAMPLE (9 PERCENT) s"),
    ("SELECT /*+ BROADCAST(a) */ * FROM a", "SELECT /*+ BROADCAST(a) */ * FROM t_a AS a"),
    ("SELECT * FROM range(3), a x(p, q), (a JOIN b ON 1=1)", "SELECT * FROM range(3), t_a x(p, q), (t_a AS a JOIN t_b AS b ON 1=1)"),
    ("SELECT * FROM other", "SELECT * FROM other"),
    ("SELECT semi.n FROM raw.semi WHERE raw.semi.n > 1", "SELECT semi.n FROM v1 AS `semi` WHERE semi.n > 1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES)
def test_splice(before: str, after: str) -> None:
    """Only references to the given tables change."""
    assert splice(before, TABLES) == after


def test_references_have_lines_and_names() -> None:
    """A reference is named as written, at its line."""
    found = parse("SELECT 1\nFROM raw.Ev\nJOIN `b`").references
    assert [(r.name, r.key, r.line) for r in found] == [("raw.Ev", "raw.ev", 2), ("b", "b", 3)]


@pytest.mark.parametrize(
    "code",
    [
        "SELECT 'a -- b\\\n' FROM a",
        "SELECT x -- a\\ \nFROM a",
        "SELECT x /* -- b\\\n */ FROM a",
        "SELECT limit, x FROM a",
    ],
)
def test_what_only_looks_like_a_mistake(code: str) -> None:
    """A text and a comment may hold anything."""
    assert parse(code).references


@pytest.mark.parametrize(
    "code",
    [
        "FROM a |> SELECT x, y\nUNION ALL SELECT x, y FROM b",
        "SELECT * FROM (FROM a |> WHERE x > 1 |> SELECT x\nEXCEPT SELECT x FROM b)",
    ],
)
def test_what_follows_a_pipe_is_not_lost(code: str) -> None:
    """sqlglot drops a set operation after the last pipe, and what it reads: it is refused, with what works."""
    with pytest.raises(LostTablesError) as refused:
        parse(code)
    assert refused.value.line == 2 and "in parentheses" in refused.value.fix


@pytest.mark.parametrize(
    "code",
    [
        "(FROM a |> SELECT x) UNION ALL SELECT x FROM b",
        "FROM a |> SELECT x |> UNION ALL (SELECT x FROM b)",
        "FROM a |> SELECT x |> UNION ALL SELECT x FROM b EXCEPT SELECT x FROM b",
        "FROM a |> SELECT * EXCEPT (y) |> JOIN b ON x = y",
        "SELECT x FROM b UNION ALL FROM a |> SELECT x",
    ],
)
def test_set_operations_with_pipes_keep_their_tables(code: str) -> None:
    assert {r.name for r in parse(code).references} == {"a", "b"}


def test_parameters() -> None:
    """Named parameters are found; colons within types and texts are not parameters."""
    sql = parse("SELECT ':no', CAST(x AS STRUCT<f:INT>)\nFROM a WHERE t >= :start\nAND t < :end")
    assert dict(sql.parameters) == {"end": 3, "start": 2}


@pytest.mark.parametrize(
    ("code", "line", "column", "why"),
    [
        ("SELECT 1\nFROM a b c", 2, 10, "Unexpected token near `c`"),
        ("SELECT x\nFROM a\nWHERE x = = 1", 3, 11, "`=` lacks a part near `=`"),
        ("SELECT x BETWEEN 1\n  FROM a", 2, 3, "`BETWEEN` lacks a part near `FROM`"),
        ("SELECT x\nFROM a\nWHERE x > 'b", 3, 0, "not closed"),
        ("SELECT x,\n  y,\nFROM a", 2, 4, "a comma that nothing follows, before `FROM`"),
        ("SELECT concat(x, ) FROM a", 1, 16, "before `)`"),
        ("SELECT x FROM a\nGROUP BY x,", 2, 11, "before the end"),
        ("SELECT x, -- C:\\temp\\\n  y\nFROM a", 1, 11, "takes in the next line"),
        ("SELECT x /* a\\\n */ FROM a -- b\nWHERE x > 1 -- c\\\n", 3, 13, "takes in the next line"),
    ],
)
def test_a_syntax_error_has_a_place(code: str, line: int, column: int, why: str) -> None:
    """Line and column count from 1 within the text; of what is not closed only the line is known."""
    with pytest.raises(SqlError) as caught:
        parse(code)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert why in caught.value.why
    place = f" in column {column}" if column else ""
    assert caught.value.what == f"SQL syntax error{place}: this is not valid SQL"


@pytest.mark.parametrize("code", ["CASE WHEN a THEN NULL END", "coalesce(NULL, NULL)", "if(a, NULL, NULL) || 'x'"])
def test_an_expression_of_nulls_alone_has_no_type(code: str) -> None:
    """A model with one of them loads: it neither has a type nor spells the clock."""
    [tree] = parse(f"SELECT {code} AS x").statements
    node = tree.find(exp.Case, exp.Coalesce, exp.If)
    assert node is not None and expression_type(node, lambda _: "boolean") is None
    assert not any(may_spell_clock(n) for n in tree.walk())


@pytest.mark.parametrize("text", ["EXECUTE IMMEDIATE 'SELECT 1'", "CALL clean()", "SHOW VIEWS"])
def test_a_statement_that_is_kept_as_a_text_is_not_logged(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """The refusal says what is wrong; the parser's own warning came before it, on the terminal."""
    assert len(parse(text).statements) == 1 and not caplog.records
