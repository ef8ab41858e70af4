# ruff: noqa: E501 (tables)
"""Each way in which a project's file can be wrong is reported at its line, with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import Problem, ProjectError
from backfill_assets.project.loader import load_project
from backfill_assets.project.sql_files import read_sql_model
from backfill_assets_tests.unit.project.helpers import EVENTS, PYTHON, SOURCES, project, sql

WHERE = "WHERE ds >= :start AND ds < :end"
HEADER = "start: 2024-01-01\ngrain: [ds]\n"
GOOD = f"SELECT ds, clicks FROM events {WHERE}"


def _py(old: str, new: str) -> str:
    assert old in PYTHON
    return PYTHON.replace(old, new)


def _consumer(lines: str) -> str:
    return f"consumers:\n  - name: d\n    {lines}\n"


def _query(text: str, more: str = "min_rows: 1") -> str:
    return _consumer(f'reads: [events]\n    queries:\n      - {{name: q, sql: "{text}",\n         {more}}}')


CASES: list[tuple[str, str, str, int, str, str]] = [
    # name, file, text, line, what, remedy
    ("no header", "m_sql", GOOD, 1, "no header", "begin the file with /*"),
    ("missing start", "m_sql", sql(GOOD, "grain: [ds]\n"), 1, "`start` is missing", "add `start: 2024-01-01`"),
    ("missing grain", "m_sql", sql(GOOD, "start: 2024-01-01\n"), 1, "`grain` is missing", "add `grain: [ds"),
    ("unknown key", "m_sql", sql(GOOD, HEADER + "onwer: me\n"), 4, "unknown key `onwer`", "did you mean `owner`?"),
    ("duplicate key", "m_sql", sql(GOOD, HEADER + "start: 2024-02-01\n"), 4, "`start` is given twice", "keep one"),
    ("not YAML", "m_sql", sql(GOOD, HEADER + "owner: [a\n"), 5, "not valid YAML", "indentation"),
    ("bad date", "m_sql", sql(GOOD, "start: soon\ngrain: [ds]\n"), 2, "not a date", "add `start: 2024-01-01`"),
    ("bad cadence", "m_sql", sql(GOOD, HEADER + "cadence: dayly\n"), 4, "did you mean `daily`", "write hourly, daily"),
    ("cron", "m_sql", sql(GOOD, HEADER + 'ready: "6:00"\n'), 4, "not the five fields of a cron", 'in quotes, as in "0 6'),
    ("no such tick", "m_sql", sql(GOOD, HEADER + 'ready: "0 6 30 2 *"\n'), 4, "it never ticks", "counts as over"),
    ("cron in YAML", "m_sql", sql(GOOD, HEADER + "ready: */5 * * * *\n"), 4, "`ready` is wrong", "0/5 for */5"),
    ("lookback", "m_sql", sql(GOOD, HEADER + "lookback: -1\n"), 4, "`lookback`", "0 or more"),
    ("write", "m_sql", sql(GOOD, HEADER + "write: insert\n"), 4, "`write` is wrong", "write replace, or merge"),
    ("dedupe", "m_sql", sql(GOOD, HEADER + "dedupe: {order_by: [clicks]}\n"), 4, "`clicks desc` to keep the latest", "order_by"),
    ("dedupe column", "m_sql", sql(GOOD, HEADER + "dedupe:\n  order_by:\n    - clikcs desc\n"), 6, "`clikcs` is not a col", "`clicks`?"),
    ("marker", "m_sql", sql(GOOD, HEADER + "updated_at: ds\n"), 4, "beside the grain", "name the column"),
    ("marker in key", "m_sql", sql(GOOD, HEADER + "write: merge\nupdated_at: ds\n"), 5, "beside the grain", "name the column"),
    ("timeout", "m_sql", sql(GOOD, HEADER + "timeout: soon\n"), 4, "not a duration", "90s, 20m or 2h"),
    ("end first", "m_sql", sql(GOOD, HEADER + "end: 2023-01-01\n"), 4, "`end` must be after `start`", "or remove"),
    ("bad type", "m_sql", sql(GOOD, HEADER + "columns:\n  clicks: {type: nubmer}\n"), 5, "not a type", "description"),
    ("other type", "m_sql", sql(f"SELECT ds, count(*) AS n FROM events {WHERE} GROUP BY ds",
     HEADER + "columns:\n  n: {type: int}\n"), 5, "`n` is declared int, and the query gives bigint", "type: bigint"),
    ("undeclared", "m_sql", sql(GOOD, HEADER + "columns:\n  clikcs: x\n"), 5, "no column `clikcs`", "`clicks`?"),
    ("grain column", "m_sql", sql(GOOD, "start: 2024-01-01\ngrain:\n  - ds\n  - id\n"), 5, "`id` is not a col", "use one of"),
    ("time column", "m_sql", sql(GOOD, HEADER + "time_column: day\n"), 4, "time column `day`", "use one of: ds"),
    ("time type", "m_sql", sql(GOOD, HEADER + "time_column: clicks\n"), 4, "needs a date", "CAST(… AS DATE)"),
    ("audit kind", "m_sql", sql(GOOD, HEADER + "audits:\n  - not_nul: ds\n"), 5, "unknown audit", "did you mean `not_null`?"),
    ("audit column", "m_sql", sql(GOOD, HEADER + "audits:\n  - not_null: dss\n"), 5, "`dss` is not a column", "`ds`?"),
    ("audit range", "m_sql", sql(GOOD, HEADER + "audits:\n  - range: {column: ds}\n"), 5, "needs `min`", "- range: {"),
    ("audit key", "m_sql", sql(GOOD, HEADER + "audits:\n  - completeness: {x: 1}\n"), 5, "unknown key `x`", "known keys: name"),
    ("slice column", "m_sql", sql(GOOD, HEADER + "slices: [id]\n"), 4, "slices: `id` is not a col", "use one of"),
    ("mask column", "m_sql", sql(GOOD, HEADER + "mask: [id]\n"), 4, "mask: `id` is not a col", "use one of"),
    ("tolerance", "m_sql", sql(GOOD, HEADER + "tolerance: 2\n"), 4, "`tolerance` is wrong", "relative to the larger"),
    ("audit twins", "m_sql", sql(GOOD, HEADER + "audits:\n  - completeness: {name: a}\n  - unique_grain: {name: a}\n"), 6,
     "two audits are named `a`", "rename"),
    ("no query", "m_sql", sql(""), 4, "no query", "write one SELECT"),
    ("syntax", "m_sql", sql("SELECT ds\nFROM events e x y\nWHERE :start < :end"), 6, "not valid SQL", "this line"),
    ("open quote", "m_sql", sql("SELECT ds FROM events\nWHERE ds > 'a :start :end"), 6, "not valid SQL", "this line"),
    ("two queries", "m_sql", sql(f"{GOOD};\n{GOOD}"), 5, "one query", "keep one SELECT"),
    ("DML", "m_sql", sql("INSERT INTO x SELECT 1"), 5, "not INSERT", "write a SELECT"),
    ("DDL", "m_sql", sql("DROP TABLE events"), 5, "not DROP", "write a SELECT"),
    ("no window", "m_sql", sql("SELECT ds FROM events"), 5, ":start and :end", "event_time >= :start"),
    ("parameter", "m_sql", sql(f"SELECT ds FROM events\n{WHERE}\nAND clicks > :least"), 7, "`:least`", "into the query"),
    ("unknown table", "m_sql", sql(f"SELECT ds\nFROM evnets\n{WHERE}"), 6, "reads `evnets`", "did you mean `events`?"),
    ("itself", "m_sql", sql(f"SELECT ds\nFROM M\n{WHERE}"), 6, "reads itself", "lookback"),
    ("time travel", "m_sql", sql(f"SELECT ds\nFROM events VERSION AS OF 3\n{WHERE}"), 6, "fixed version", "remove"),
    ("named by a text", "m_sql", sql(f"SELECT ds,\n  IDENTIFIER('cli' || 'cks') AS c\nFROM events {WHERE}"), 6, "names something by a text", "write the name itself"),
    ("read by a text", "m_sql", sql(f"SELECT ds\nFROM identifier ('events') {WHERE}"), 6, "names something by a text", "write the name itself"),
    ("unions", "m_sql", sql(f"{GOOD}\n" + f"UNION ALL {GOOD} -- one more\n" * 1001), 1006, "this query is too large", "models of their own"),
    ("pipes", "m_sql", sql("FROM events\n" + "|> WHERE ds >= :start AND ds < :end\n" * 2000), 206, "this query is too large", "models of their own"),
    ("column", "m_sql", sql(f"SELECT ds,\n  clikcs AS c\nFROM events {WHERE}"), 6, "no column `clikcs`", "`clicks`?"),
    ("qualified", "m_sql", sql(f"SELECT ds,\n  e.clikcs AS c\nFROM events e {WHERE}"), 6, "`e` has no column", "`clicks`?"),
    ("alias", "m_sql", sql(f"SELECT ds,\n  f.clicks AS c\nFROM events {WHERE}"), 6, "alias named `f`", "names in scope"),
    ("ambiguous", "m_sql", sql(f"SELECT a.ds,\n  clicks\nFROM events a JOIN events b ON a.ds = b.ds WHERE a.{WHERE[6:]}"),
     6, "`clicks` is ambiguous", "`a.clicks` or `b.clicks`"),
    ("alias twice", "m_sql", sql(f"SELECT 1 AS ds\nFROM events JOIN events ON 1=1 {WHERE}"), 6, "two tables", "own alias"),
    ("no name", "m_sql", sql(f"SELECT ds,\n  clicks + 1\nFROM events {WHERE}"), 6, "column 2 (`clicks + 1`)", "add an alias"),
    ("name twice", "m_sql", sql(f"SELECT ds,\n  clicks AS DS\nFROM events {WHERE}"), 6, "two columns are named", "rename"),
    ("star twice", "m_sql", sql("SELECT a.*, b.ds\nFROM events a JOIN events b ON a.ds = b.ds WHERE a.ds > :start + :end"), 5,
     "two columns are named `ds`", "EXCEPT"),
    ("model name", "1st_sql", sql(GOOD), 1, "cannot name a model", "rename the file"),
    ("python syntax", "p_py", "def f(:\n", 1, "not valid Python", "this line"),
    ("keyword twice", "p_py", _py("    grain", '    start="2024-01-02",\n    grain'), 6, "this is not valid Python", "at this line"),
    ("no model", "p_py", "x = 1\n", 1, "no function here is a model", "_p.py"),
    ("no interval", "p_py", _py(", interval", ""), 10, "no parameter `interval`", "def roi(events, raw, interval)"),
    ("not literal", "p_py", _py('"2024-01-01"', "today()"), 5, "`start` is not a literal", "constant"),
    ("python key", "p_py", _py("    grain", '    onwer="x",\n    grain'), 6, "unknown key `onwer`", "did you mean `owner`?"),
    ("python type", "p_py", _py('"double"', '"nubmer"'), 7, "not a type", "description"),
    ("upstream", "p_py", _py('"raw": "raw.ad_events"', '"raw": "raw.events"'), 8, "reads `raw.events`", "`raw.ad_events`?"),
    ("parameter name", "p_py", _py("roi(events", "roi(event"), 10, "reads `event`", "did you mean `events`?"),
    ("mapping", "p_py", _py('{"raw": "raw.ad_events"}', '{"raw": "events", "q": "events"}'), 8, "names `q`", "parameters are"),
    ("python audit", "p_py", _py("    upstream", '    audits=[\n        {"not_null": "dss"},\n    ],\n    upstream'), 9,
     "`dss` is not a column", "did you mean `ds`?"),
    ("source place", "sources", "sources:\n  - name: a\n", 2, "either `path` or `table`", "write `path:"),
    ("source places", "sources", SOURCES + "    table: x.y\n", 5, "not both", "write `path:"),
    ("source columns", "sources", SOURCES + "  - {name: b, path: x, format: csv}\n", 5, "columns of `b`", "columns: {"),
    ("source gone", "sources", SOURCES + "  - {name: b, path: x}\n", 5, "columns of `b`", "or create the delta table"),
    ("source type", "sources", SOURCES.replace("bigint", "nubmer"), 4, "not a type", "name: type"),
    ("source time", "sources", SOURCES + "    time_column: ts\n", 5, "no column `ts`", "name one of"),
    ("source key", "sources", SOURCES + "    fresh: 3h\n", 5, "unknown key `fresh`", "did you mean `freshness`?"),
    ("source ready", "sources", SOURCES + "    time_column: event_time\n    ready: _SUCCESS\n", 6, "`ready", "write later_rows, or {file"),
    ("ready file", "sources", SOURCES + "    format: csv\n    time_column: event_time\n    ready: {file: a/b}\n", 7, "not the name of a file", "{file: _SUCCESS}"),
    ("ready of Delta", "sources", SOURCES + "    time_column: event_time\n    ready: {file: _SUCCESS}\n", 6, "nothing of its commits", "later_rows"),
    ("ready when", "sources", SOURCES + "    ready: later_rows\n", 5, "`time_column` is needed", "later_rows"),
    ("ready and not", "sources", SOURCES + "    time_column: event_time\n    cut_off: false\n    ready: later_rows\n", 7, "`cut_off: false` says", "later_rows"),
    ("ready table", "sources", SOURCES.replace("path: data/ad_events", "table: x.y") + "    time_column: event_time\n    ready: later_rows\n", 6,
     "without Spark", "later_rows"),
    ("source twin", "sources", SOURCES + "  - {name: RAW.ad_events, table: x}\n", 5, "two sources", "rename"),
    ("source is model", "sources", SOURCES + "  - {name: Events, path: x, columns: {a: int}}\n", 1, "taken", "rename"),
    ("sources list", "sources", "source: []\n", 1, "unknown key `source`", "`sources`"),
    ("consumer", "consumers", "consumers:\n  - name: d\n    reads:\n      - evnets\n", 4, "`evnets`", "`events`?"),
    ("consumer kind", "consumers", "consumers:\n  - name: d\n    kind: chart\n    reads: [events]\n", 3, "`kind`", "dashboard"),
    ("consumer column", "consumers", _consumer("reads: {events: ['']}"), 3, "not the name of a column", "what it reads"),
    ("consumer model", "consumers", _consumer("reads:\n      evnets: [ds]"), 4, "`evnets`", "`events`?"),
    ("consumer days", "consumers", _consumer("reads: [events]\n    history: long"), 4, "number of days", "correct"),
    ("consumer date", "consumers", _consumer("reads: [events]\n    last_verified: soon"), 4, "`last_verified`", "asked its owner"),
    ("list date", "consumers", "last_verified: soon\nconsumers: []\n", 1, "`last_verified`", "asked its owner"),
    ("query", "consumers", _query("SELECT FROM FROM"), 5, "`q` is not valid SQL", "correct the query"),
    ("queries", "consumers", _query("SELECT 1; SELECT 2"), 5, "it holds 2 statements", "one SELECT"),
    ("query that writes", "consumers", _query("UPDATE prod.events SET clicks = 0"), 5, "UPDATE is no SELECT", "one SELECT"),
    ("query that drops", "consumers", _query("DROP TABLE x"), 5, "DROP is no SELECT", "one SELECT"),
    ("query that runs code", "consumers", _query("SELECT reflect('java.lang.System', 'exit', 1)"), 5, "runs code", "SELECT"),
    ("query with a script", "consumers", _query("SELECT TRANSFORM(ds) USING 'sh' FROM prod.events"), 5, "more than", "SELECT"),
    ("query of a file", "consumers", _query("SELECT * FROM text.`/etc/passwd`"), 5, "is a file", "SELECT"),
    ("query view", "consumers", _query("SELECT 1 FROM prod.evnets"), 5, "`prod.evnets`, which is not a view", "`events`?"),
    ("query schema", "consumers", _query("SELECT 1 FROM events"), 5, "`events`, which is not a view", "write `prod.events`"),
    ("query reads", "consumers", _query("SELECT 1 FROM prod.m"), 5, "not among what `d` reads", "add `m`"),
    ("query bound", "consumers", _query("SELECT 1 AS n", "bounds: {n: {}}"), 6, "needs `min`", "bounds: {column"),
    ("evaluation", "consumers", _consumer("reads: [events]\n    evaluations:\n      - {name: e, query: q, days: 2024-01-01}"), 5,
     "no query of `d`", "none yet"),
    ("evaluation ways", "consumers", _consumer("reads: [events]\n    evaluations:\n      - {name: e, days: 2024-01-01}"), 5,
     "either a `query` or a `command`", "or `command:`"),
    ("contract key", "m_sql", sql(GOOD, HEADER + "contract:\n  grain: [ds]\n"), 5, "unknown key `contract.grain`", "have their own keys"),
    ("contract column", "m_sql", sql(GOOD, HEADER + "contract:\n  semantics:\n    clikcs: n\n"), 6, "contract's `clikcs`", "`clicks`?"),
    ("contract rule", "m_sql", sql(GOOD, HEADER + "contract:\n  rules:\n    - {rule: x, since: 2024-02-01, until: 2024-01-01}\n"), 6,
     "`until` must be after `since`", "own keys"),
    ("settings", "backfill", "warehose: x\n", 1, "warehose", "`warehouse`?"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "line", "what", "fix"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_problem(tmp_path: Path, file: str, text: str, line: int, what: str, fix: str) -> None:
    """The problem is at the right line and says what to do."""
    root = project(tmp_path, **({"m_sql": sql(GOOD)} | {file: text}))
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    problems = caught.value.problems
    found = [p for p in problems if p.line == line and what in p.what and fix in p.fix]
    assert found, "\n".join(map(str, problems))
    assert all(p.fix for p in problems)


def test_all_problems_at_once(tmp_path: Path) -> None:
    """Several problems in several files are all reported, each once."""
    root = project(
        tmp_path,
        a_sql=sql("SELECT ds, nope AS n FROM events WHERE ds >= :start", "grain: [ds]\nonwer: x\n"),
        b_sql=sql(f"SELECT ds FROM evnets {WHERE}"),
        p_py=_py("roi(events", "roi(event"),
        consumers="consumers:\n  - {name: d, reads: [zzz]}\n",
    )
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    places = [(p.file.name, p.line) for p in caught.value.problems]
    assert places == [
        ("consumers.yml", 2),
        ("a.sql", 1),
        ("a.sql", 3),
        ("a.sql", 5),
        ("a.sql", 5),
        ("b.sql", 5),
        ("p.py", 10),
    ]


def test_what_a_model_reads_already_is_no_suggestion(tmp_path: Path) -> None:
    """Nor what reads the missing name itself: that is not mistyped, but gone."""
    lost = f"SELECT f.ds FROM funnel f JOIN funnels USING (ds) {WHERE}"
    root = project(
        tmp_path,
        funnels_sql=sql(GOOD),
        weekly_funnel_sql=sql(lost),
        funnel_report_sql=sql(lost),
        consumers="consumers:\n  - {name: d, reads: [funnels, funnel]}\n",
    )
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    fixes = {p.file.name: p.fix for p in caught.value.problems if "`funnel`" in p.what}
    assert set(fixes) == {"consumers.yml", "weekly_funnel.sql", "funnel_report.sql"}
    assert (
        fixes["weekly_funnel.sql"] == fixes["funnel_report.sql"] == "add a model `funnel`, or declare it in sources.yml"
    )
    assert "`funnels`" not in fixes["consumers.yml"]


def test_a_broken_upstream_is_reported_once(tmp_path: Path) -> None:
    """Models that read a broken model do not repeat its problem."""
    root = project(tmp_path, a_sql=sql("SELECT FROM WHERE x y z"), b_sql=sql(f"SELECT ds, n FROM a {WHERE}"))
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    assert {p.file.name for p in caught.value.problems} == {"a.sql"}


def test_cycle_names_the_chain(tmp_path: Path) -> None:
    """A cycle is one problem that names the chain."""
    root = project(tmp_path, a_sql=sql(f"SELECT ds FROM b {WHERE}"), b_sql=sql(f"SELECT ds FROM a {WHERE}"))
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    assert [p.what for p in caught.value.problems] == ["models depend on each other: a reads b reads a"]


def test_name_twice_in_different_case(tmp_path: Path) -> None:
    """Two models whose names differ in case only are one name to Spark."""
    root = project(tmp_path, Roi_sql=sql(GOOD), roi_py=PYTHON)
    with pytest.raises(ProjectError, match="1 problem"):
        load_project(root)


def test_a_name_is_of_ascii_letters(tmp_path: Path) -> None:
    """`ü` is a letter to whoever reads the message, and none that every catalog takes."""
    problems: list[Problem] = []
    file = tmp_path / "übung.sql"
    file.write_text(EVENTS)
    read_sql_model(file, problems)
    [found] = problems
    assert found.what == "`übung` cannot name a model"
    assert found.why == "it is not made of ASCII letters (a-z, A-Z), digits and _ only, or starts with a digit"
    assert found.fix == "rename the file: ASCII letters (a-z, A-Z), digits and _, not starting with a digit"
