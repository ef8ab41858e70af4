"""A model gives the same rows when an interval is built again: what would not is refused, at its line."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from backfill_assets.errors import ProjectError
from backfill_assets.snapshots.loader import load_project
from backfill_assets.snapshots.model import Project
from backfill_assets_tests.unit.snapshots.helpers import project, sql

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
    "rand()": "CASE WHEN rand(7) < 0.5 THEN 1 END",
    "randn()": "randn()",
    "uuid()": "UUID()",
    "shuffle()": "shuffle(array(1, 2))",
    "monotonically_increasing_id()": "monotonically_increasing_id()",
    "spark_partition_id()": "spark_partition_id()",
    "input_file_name()": "input_file_name()",
    "current_user()": "current_user()",
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
