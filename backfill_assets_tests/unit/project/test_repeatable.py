"""A model gives the same rows when an interval is built again: what would not is refused, at its line."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import Project
from backfill_assets.project.loader import load_project
from backfill_assets_tests.unit.project.helpers import EVENTS, project, sql

ALLOWED = "start: 2024-01-01\ngrain: [ds]\nallow_nondeterministic: ids are only looked at\n"
SQL: dict[str, str] = {
    # what is refused -> an expression, or a FROM clause
    "current_date()": "current_date",
    "current_timestamp()": "current_timestamp()",
    "now()": "date_diff(now(), ds)",
    "localtimestamp()": "LOCALTIMESTAMP()",
    "unix_timestamp()": "unix_timestamp() - 1",
    "'today'": "DATE 'today'",
    "'now'": "CAST('now' AS TIMESTAMP)",
    "'tomorrow'": "to_date('tomorrow')",
    "'Yesterday'": "date_add('Yesterday', 1)",
    "current_time": "hour(current_time)",
    "session_user()": "lower(session_user)",
    "current_path": "current_path",
    "rand()": "CASE WHEN rand(7) < 0.5 THEN 1 END",
    "randn()": "randn()",
    "uuid()": "UUID()",
    "shuffle()": "shuffle(array(1, 2))",
    "monotonically_increasing_id()": "monotonically_increasing_id()",
    "spark_partition_id()": "spark_partition_id()",
    "input_file_name()": "input_file_name()",
    "current_user()": "current_user",
    "reflect()": "reflect('java.util.UUID', 'randomUUID')",
}
PURE = [
    "unix_timestamp(ds)", "to_timestamp('2024-01-01')", "CAST('nowhere' AS STRING)", "date_trunc('MONTH', ds)",
    "xxhash64(clicks)", "'rand()'", "DATE '2024-01-01'", "row_number() OVER (PARTITION BY ds ORDER BY campaign_id)",
]  # fmt: skip


def query(expression: str) -> str:
    return f"SELECT ds,\n  {expression} AS x\nFROM events WHERE ds >= :start AND ds < :end"


def problems(root: Path) -> list[tuple[str, int, str]]:
    with pytest.raises(ProjectError) as caught:
        load_project(root)
    assert all(p.why and "allow_nondeterministic" in p.fix for p in caught.value.problems)
    return [(p.file.name, p.line, p.what) for p in caught.value.problems]


@pytest.mark.parametrize(("name", "expression"), SQL.items())
def test_refused_in_sql(tmp_path: Path, name: str, expression: str) -> None:
    """At its line, by its name; allowed with a reason."""
    root = project(tmp_path / "no", m_sql=sql(query(expression)))
    assert problems(root) == [("m.sql", 6, f"`{name}` gives something else when `m` is built again")]
    load_project(project(tmp_path / "yes", m_sql=sql(query(expression), ALLOWED)))


@pytest.mark.parametrize("expression", PURE)
def test_fine_in_sql(tmp_path: Path, expression: str) -> None:
    """What only looks like it."""
    load_project(project(tmp_path, m_sql=sql(query(expression))))


CLOCKS = [
    "ds > 'today'", "'TODAY' <= ds", "coalesce(ds, ' today ')", "nvl(ds, 'now')", "datediff('today', ds)",
    "ds BETWEEN 'yesterday' AND '2024-01-01'", "'now' BETWEEN ds AND ds", "date 'now'", "timestamp 'today UTC'",
    "timestamp_ntz 'now'", "ds IN ('2024-01-01', 'tomorrow')", "'today' IN (SELECT ds FROM events)",
    "if(clicks > 1, 'today', ds)", "CASE WHEN clicks > 1 THEN 'today' ELSE ds END",
    "CASE ds WHEN 'today' THEN 1 END", "CASE 'today' WHEN ds THEN 1 END", "ds = (('today'))", "ds > 'to' 'day'",
    "ds > 'to' || 'day'", "ds > concat('to', 'day')", "ds > r'today'", "ds > lower('TODAY')",
    "ds > CAST('today' AS STRING)", "ds > CASE WHEN true THEN 'today' ELSE 'x' END", "year('today')",
    "lag(ds, 1, 'today') OVER (ORDER BY campaign_id, ds)", "ds - 'today'", "array('today', ds)", "ds <=> 'today'",
    "ds IS DISTINCT FROM 'today'", "sequence(ds, 'today')", "'today'::date", "TRY_CAST('today' AS TIMESTAMP)",
    "nullif(ds, 'today')", "equal_null(ds, 'today')", "map('a', ds, 'b', 'today')", "date_format('now', 'yyyy')",
    "coalesce(null, 'today', CAST(null AS DATE))", "'today' = (SELECT max(ds) FROM events)", "greatest(ds, 'today')",
    "clicks + datediff(:end, 'today') > 1 AND ds > '2024-01-01'", "ds = array('today')[0]",
    "ds > replace(replace(CAST(array('today') AS STRING), '[', ''), ']', '')",
]  # fmt: skip
TEXTS = [
    "'today'", "channel = 'today'", "'today' < channel", "channel IN ('today', 'week')", "channel LIKE 'today'",
    "CASE channel WHEN 'today' THEN 1 END", "CASE WHEN clicks > 1 THEN 'today' ELSE 'later' END",
    "if(clicks > 1, 'now', channel)", "coalesce(channel, 'now')", "concat('now', channel)", "upper('today')",
    "CAST('today' AS STRING)", "ds > 'epoch'", "DATE 'epoch'", "regexp_replace(channel, 'today', '')", "'Today only'",
    "struct('today' AS a)", "lower(channel) = 'now'", "channel || 'x' = 'now'", "nullif(channel, 'tomorrow')",
    "channel > 'nowhere'", "'2024' > 'today'", "ds = '2024-01-01'", "channel BETWEEN 'now' AND 'today'",
    "xxhash64('today')", "channel = 'today' OR ds > '2024-01-01'",
]  # fmt: skip
SPELLED = [
    "CAST(replace('2today', '2', '') AS DATE)", "ds > substr('xtoday', 2)", "ds > lpad('day', 5, 'to')",
    "CAST(chr(110) || 'ow' AS TIMESTAMP)", "CAST(CAST(X'746F646179' AS STRING) AS DATE)", "ds = array('xtoday')[0]",
    "CAST(named_struct('a', 'x today').a AS DATE)", "ds > element_at(map('a', 'x tomorrow'), 'a')",
    "ds > date_format(:start, \"'today'\")", "date_add(translate('t0day', '0', 'o'), 1)", "ds > reverse('wo' || 'n')",
    "ds IN (concat_ws('o', 't', 'day'))", "ds BETWEEN split('a,today', ',')[1] AND ds",
    "year(replace('n.ow', '.', ''))", "lower(date_format(CAST(replace('2today', '2', '') AS DATE), 'MMM'))",
    "datediff(ds, if(true, 'xx', nvl2(1, 'to', 'day')))", "CAST(date_format(:start, 'MMM') || 'onday' AS DATE)",
    "coalesce(ds, decode(1, 1, 'x', 'y'))", "ds - trim('x' FROM 'xtodayx')",
    "ds > regexp_replace(CAST(array('to', 'day') AS STRING), '[^a-z]', '')", "ds > format_string('%s', 'xtoday')",
    "ds > trim(BOTH '{}' FROM CAST(struct('today') AS STRING))", "ds > element_at(array('x', 'xtoday'), 2)",
    "ds > format_string('%cow', 110)", "ds > CAST(parse_json('\"today\"') AS STRING)",
    "ds > from_json('{\"a\": \"today\"}', 'a STRING').a", "ds > variant_get(parse_json('\"today\"'), '$', 'string')",
]  # fmt: skip
PLAIN = [
    "CAST(date_format(:start, 'yyyy-MM-01') AS DATE)", "ds >= concat(substr(:start, 1, 7), '-01')", "DATE '2024-01-01'",
    "to_date(date_format(:start, 'MMM yyyy'), 'MMM yyyy')", "to_date(channel, 'yyyy-MM-dd')", "make_date(2024, 1, 1)",
    "date_trunc('month', ds)", "CAST(channel AS DATE)", "ds > CAST('2024-01-01' AS DATE)", "date_add(ds, 7)",
    "CAST(concat(year(ds), '-01-01') AS DATE)", "ds >= '2024-01-' || '01'", "to_timestamp('2024-01-01 00:00:00')",
    "concat('today', date_format(:start, 'MMM'))", "date_format(:start, 'EEEE')",
    "channel = concat_ws('-', 'to', 'day')",
    "ds >= date_format(:start, \"yyyy-MM-dd'T'HH:mm:ss\")", "datediff(:end, :start)",
    "last_day(add_months(:start, -1))",
    "explode(split('yesterday,today', ','))", "array_contains(array('monday', 'tuesday'), channel)", "md5('today')",
    "channel IN (upper('yesterday'), 'x')", "CASE WHEN ds > '2024-01-01' THEN upper('yesterday') ELSE 'x' END",
    "from_unixtime(0) < ds", "lpad('1', 2, '0')", "ds BETWEEN date_sub(:start, 7) AND :end", "pmod(hash('today'), 2)",
    "channel = element_at(array('yesterday,today'), 1)", "channel = array('today')[0]",
    "ds = format_string('%d-01-01', 2024)", "ds > element_at(map('a', 'tomorro'), 'a')",
    "format_string('%s-%s', '2024', '01-01') = ds", "from_json('{\"a\": 1}', schema_of_json('{\"a\": 1}')).a",
    "named_struct('a', struct(1 AS b)).a.b", "ds >= map('a', '2024-01-01')['a']",
    "regexp_replace(channel, 'today', 'now')", "map('monday', 'tuesday')[channel]", "struct('monday' AS a, 'to' AS b)",
]  # fmt: skip
CHANNELS = EVENTS.replace("campaign_id, count", "campaign_id, channel, count").replace("BY 1, 2", "BY 1, 2, 3")


@pytest.mark.parametrize("expression", CLOCKS)
def test_a_text_that_is_the_clock(tmp_path: Path, expression: str) -> None:
    """Spark casts a text that meets a date, and some texts mean the clock then; SQL and its line are named."""
    root = project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS)
    [(file, line, what)] = problems(root)
    assert (file, line) == ("m.sql", 6)
    assert what.lower().split("`")[1].strip("' ").startswith(("today", "now", "yesterday", "tomorrow"))


@pytest.mark.parametrize("expression", TEXTS)
def test_a_text_that_is_none(tmp_path: Path, expression: str) -> None:
    """What meets texts only stays a text."""
    load_project(project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS))


@pytest.mark.parametrize("expression", SPELLED)
def test_a_text_that_may_become_the_clock(tmp_path: Path, expression: str) -> None:
    """Spark computes it before it looks for the words: who cannot see the outcome refuses it."""
    [(file, line, what)] = problems(project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS))
    assert (file, line) == ("m.sql", 6)
    assert what.endswith("` may give something else when `m` is built again")


@pytest.mark.parametrize("expression", PLAIN)
def test_a_date_as_people_write_it(tmp_path: Path, expression: str) -> None:
    """Columns, dates from parameters, formats of digits, texts among texts."""
    load_project(project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS))


@pytest.mark.parametrize(
    "expression",
    [
        "CAST('10:00' AS TIMESTAMP)", "TIMESTAMP 'T9:30:00.5'", "CAST(ds AS TIMESTAMP) >= '10:00'",
        "TRY_CAST(' 10:00:00 Europe/Berlin' AS TIMESTAMP)", "'10:00' = date_trunc('HOUR', CAST(ds AS TIMESTAMP))",
        "CAST(ds AS TIMESTAMP) IN ('2024-01-01 10:00', '10:00')",
    ],
)  # fmt: skip
def test_a_time_without_a_day(tmp_path: Path, expression: str) -> None:
    """Spark takes it for one of the day on which it runs."""
    [(file, line, what)] = problems(project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS))
    assert (file, line) == ("m.sql", 6) and what.endswith("` gives something else when `m` is built again")


@pytest.mark.parametrize(
    "expression",
    [
        "channel >= '10:00'", "date_format(ds, 'HH:mm') > '10:00'", "CAST('2024-01-01 10:00' AS TIMESTAMP)",
        "concat('10:00', channel)", "CAST(ds AS TIMESTAMP) >= '2024-01-01 10:00'", "CAST('10:00' AS STRING)",
        "coalesce(channel, '10:00') = '10:00'", "date_format(CAST(ds AS TIMESTAMP), 'HH:mm') IN ('10:00')",
    ],
)  # fmt: skip
def test_a_time_as_text(tmp_path: Path, expression: str) -> None:
    """Compared with texts, or with a day before it."""
    load_project(project(tmp_path, m_sql=sql(query(expression)), events_sql=CHANNELS))


def test_a_function_of_tables(tmp_path: Path) -> None:
    """What stands in FROM gives rows: columns of it, which no query takes for the clock."""
    rows = "(SELECT count(*) FROM range(0, 10, 1, 1) AS a CROSS JOIN range(3) AS b)"
    load_project(project(tmp_path, m_sql=sql(query(rows)), events_sql=CHANNELS))


def test_a_permission_that_a_text_needs(tmp_path: Path) -> None:
    """It is not called needless."""
    loaded = load_project(project(tmp_path, m_sql=sql(query("ds > 'today'"), ALLOWED)))
    assert loaded.warnings["m"] == ()


def test_whoever_runs_it(tmp_path: Path) -> None:
    """`user` is a column where a table has it, and else Spark's word for the account."""
    with pytest.raises(ProjectError) as caught:
        load_project(project(tmp_path, m_sql=sql(query("user"))))
    [problem] = caught.value.problems
    assert (problem.line, problem.what) == (6, "no column `user`")
    assert "whoever runs the batch" in problem.why
    users = CHANNELS.replace("channel", "channel AS user", 1)
    load_project(project(tmp_path / "column", m_sql=sql(query("user")), events_sql=users))


def test_a_text_in_python(tmp_path: Path) -> None:
    """Compared by PySpark."""
    text = BY_ANOTHER_NAME.replace("pick = F.rand", "pick = lambda: F.col('ds') > 'today'").replace("double", "boolean")
    [(file, line, what)] = problems(project(tmp_path, m_py=text))
    assert (file, what.split("`")[1]) == ("m.py", "'today'"), line


def test_a_sample(tmp_path: Path) -> None:
    """Which rows are taken depends on the cluster, even with a seed."""
    text = "SELECT ds FROM events\nTABLESAMPLE (10 PERCENT) REPEATABLE (7) WHERE ds >= :start AND ds < :end"
    [(_, line, what)] = problems(project(tmp_path, m_sql=sql(text)))
    assert (line, what.split("`")[1]) in {(5, "TABLESAMPLE"), (6, "TABLESAMPLE")}


def test_a_permission_needs_a_reason(tmp_path: Path) -> None:
    """An empty one allows nothing."""
    root = project(tmp_path, m_sql=sql(query("uuid()"), ALLOWED.replace("ids are only looked at", "''")))
    with pytest.raises(ProjectError, match="a reason must say something"):
        load_project(root)


# --- Python -----------------------------------------------------------------------------------------------------------

HEAD = """\
import datetime
import random
import time
import uuid as u
from datetime import date
from datetime import datetime as dt

import numpy as np
from pyspark.sql import functions as F
from pyspark.sql.functions import rand as chance

from backfill_assets import model

import _h

STAMP = dt.now()


def helper():
    return _h.hidden()


def nobody():
    return u.uuid4()


@model(start="2024-01-01", grain=["ds"], columns={"ds": {"type": "date"}})
def m(events, interval):
"""
HELPER = "import time\n\n\ndef hidden():\n    return time.time()\n\n\ndef unused():\n    return time.time()\n"
PYTHON: dict[str, str] = {
    "current_date()": "return events.where(F.col('ds') < F.current_date())",
    "rand()": "return events.withColumn('r', chance(3))",
    "monotonically_increasing_id()": "return events.withColumn('r', F.monotonically_increasing_id())",
    "unix_timestamp()": "return events.withColumn('r', F.unix_timestamp())",
    "datetime.datetime.now()": "return events.where(F.col('ds') < F.lit(datetime.datetime.now()))",
    "datetime.date.today()": "return events.where(F.col('ds') < F.lit(date.today()))",
    "random.random()": "return events.where(F.col('clicks') < random.random())",
    "numpy.random.rand()": "return events.where(F.col('clicks') < np.random.rand())",
    "sample()": "return events.sample(0.5)",
    "uuid()": "return events.withColumn('id', F.expr('uuid()'))",
    "now()": "return events.where('ds < now()')",
}


def python(root: Path, body: str) -> Path:
    return project(root, m_py=HEAD + indent(body, "    ") + "\n", _h_py=HELPER)


@pytest.mark.parametrize(("name", "body"), PYTHON.items())
def test_refused_in_python(tmp_path: Path, name: str, body: str) -> None:
    """Whatever it is called after an import, also within SQL text."""
    line = HEAD.count("\n") + 1
    found = problems(python(tmp_path, body))
    assert found == [("m.py", line, f"`{name}` gives something else when `m` is built again")]


@pytest.mark.parametrize(
    "line",
    [
        "now = datetime.datetime.now", "now = getattr(datetime.datetime, 'now')", "pick = random.choice",
        "day = time.strftime('%d')", "day = pandas.Timestamp('now')", "draw = map(np.random.rand, [1])",
    ],
)  # fmt: skip
def test_refused_where_it_is_handed_on(tmp_path: Path, line: str) -> None:
    """It may be called by any name."""
    text = HEAD.replace("import random", "import random, pandas")
    assert text != HEAD
    root = project(tmp_path, m_py=text + f"    {line}\n    return events\n", _h_py=HELPER)
    assert [(file, at) for file, at, _ in problems(root)] == [("m.py", text.count("\n") + 1)]


def test_what_a_model_reaches(tmp_path: Path) -> None:
    """A constant and a function of the file, and what that calls of a helper file; not what nobody calls."""
    found = problems(python(tmp_path, "return events.where(F.col('ds') < F.lit(STAMP)).limit(helper())"))
    assert [(file, line) for file, line, _ in found] == [
        ("_h.py", 5),
        ("m.py", HEAD[: HEAD.index("STAMP")].count("\n") + 1),
    ]


@pytest.mark.parametrize(
    "body",
    [
        "return events.where(F.col('ds') < F.lit(datetime.datetime(2024, 1, 1)))",
        "rng = np.random.default_rng(7)\nreturn events.where(F.col('clicks') < rng.integers(9))",
        "return events.withColumn('t', F.unix_timestamp('ds'))",
        "time.sleep(0)\nreturn events",
        "return events.where('ds < date_sub(ds, 1)')",
    ],
)
def test_fine_in_python(tmp_path: Path, body: str) -> None:
    """What is the same each time."""
    assert "m" in load_project(python(tmp_path, body)).models


def test_allowed_in_python(tmp_path: Path) -> None:
    """With a reason, as an argument of the decorator."""
    text = (
        HEAD.replace('grain=["ds"]', 'grain=["ds"], allow_nondeterministic="a demo"')
        + "    return events.sample(0.5)\n"
    )
    loaded: Project = load_project(project(tmp_path, m_py=text, _h_py=HELPER))
    assert loaded.models["m"].allow_nondeterministic == "a demo"


BY_ANOTHER_NAME = """\
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], columns={"ds": {"type": "date"}, "r": {"type": "double"}})
def m(events, interval):
    pick = F.rand
    return events.select("ds", pick().alias("r"))
"""


def test_called_by_another_name(tmp_path: Path) -> None:
    """A function that is only handed on counts where it is named."""
    [(file, line, what)] = problems(project(tmp_path, m_py=BY_ANOTHER_NAME))
    assert (file, line, what.split("`")[1]) == ("m.py", 8, "rand()")


@pytest.mark.parametrize("line", ["import numpy", "import pandas as pd", "import _h"])
def test_a_file_that_no_sql_is_made_of(tmp_path: Path, line: str) -> None:
    """What only its code shows is refused there, too."""
    body = BY_ANOTHER_NAME.replace("from backfill_assets", f"{line}\nfrom backfill_assets")
    body = body.replace("pick().alias", "F.to_timestamp(F.lit('now')).alias").replace("    pick = F.rand\n", "")
    [(file, at, what)] = problems(project(tmp_path, m_py=body, _h_py=HELPER))
    assert (file, at, what.split("`")[1]) == ("m.py", 9, "'now'")


def test_a_name_that_nobody_can_read(tmp_path: Path) -> None:
    """A warning, unless the header allows it."""
    body = BY_ANOTHER_NAME.replace("F.rand", "getattr(F, interval.name)")
    [warning] = load_project(project(tmp_path / "warned", m_py=body)).warnings["m"]
    assert (warning.line, warning.what.split("`")[1]) == (8, "getattr(F, interval.name)")
    assert "cannot be read" in warning.why and "allow_nondeterministic" in warning.fix
    body = body.replace('grain=["ds"]', 'grain=["ds"], allow_nondeterministic="a demo"')
    assert load_project(project(tmp_path / "allowed", m_py=body)).warnings["m"] == ()
