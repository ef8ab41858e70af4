"""What of a Python model is not the same again: by whatever spelling, and nothing of ordinary code."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from backfill_assets.python_models.uses import uses_in_python
from backfill_assets.sql.nondeterministic import Nondeterminism

HEAD = """\
import datetime, time
import numpy as np
import pandas as pd
import pendulum
import pyspark
from datetime import datetime as dt
from lib import days
from pyspark.sql import functions as F, types as T
WORD = "now"
SUMS = {"a": "sum", "b": "max"}
class Window:
    def today(self):
        return 1
def m(events, interval):
"""
SPARK = {
    'F.call_function("now")': "now()",
    'F.call_function("uuid")': "uuid()",
    'F.call_function("system.builtin.RAND")': "rand()",
    'F.call_udf("current_date")': "current_date()",
    'F.call_function("unix_timestamp")': "unix_timestamp()",
    'pyspark.sql.functions.call_function("no" + "w")': "now()",
    'cf = F.call_function\ncf("now")': "now()",
    'getattr(F, "ra" + "nd")()': "rand()",
    'name = "rand"\ngetattr(F, f"{name}")()': "rand()",
    '[getattr(F, name)() for name in ("sum", "rand")]': "rand()",
    "f = F\nf.rand()": "rand()",
    'F.expr("now" + "()")': "now()",
    'F.expr(f"datediff(now(), {events})")': "now()",
}
CLOCKS = {
    'np.datetime64("now")': "numpy.datetime64()",
    'np.datetime64("today", "D")': "numpy.datetime64()",
    "time.asctime()": "time.asctime()",
    "time.monotonic_ns()": "time.monotonic_ns()",
    "time.perf_counter_ns()": "time.perf_counter_ns()",
    "time.process_time_ns()": "time.process_time_ns()",
    "time.time_ns()": "time.time_ns()",
    "time.clock_gettime(time.CLOCK_REALTIME)": "time.clock_gettime()",
    "time.clock_gettime_ns(0)": "time.clock_gettime_ns()",
    "time.gmtime()": "time.gmtime()",
    "clock = time.gmtime": "time.gmtime()",
    "interval.start.now()": "now()",
    "interval.start.__class__.utcnow()": "utcnow()",
    "type(interval.start).today()": "today()",
    "map(interval.end.now, [])": "now()",
    "start = interval.start\nstart.now()": "now()",
    'getattr(dt, "utc" + "now")()': "datetime.datetime.utcnow()",
    "d = datetime.datetime\nd.utcnow()": "datetime.datetime.utcnow()",
    "pd.Timestamp.now()": "pandas.Timestamp.now()",
    "pd.Timestamp.today()": "pandas.Timestamp.today()",
    'pd.Timestamp(ts_input="now")': "pandas.Timestamp()",
    'pd.to_datetime(["today"])': "pandas.to_datetime()",
    "pendulum.now()": "pendulum.now()",
}
TEXTS = {
    'F.lit("now").cast("timestamp")': "'now'",
    'F.lit("10:00").cast("timestamp")': "'10:00'",
    'F.lit("now").try_cast("timestamp")': "'now'",
    'F.lit("today").astype(T.DateType())': "'today'",
    'F.lit(WORD).cast("date")': "'now'",
    'text = F.lit("now")\ntext.cast("timestamp")': "'now'",
    'F.to_timestamp(F.lit("now"))': "'now'",
    'F.try_to_timestamp(F.lit("now"))': "'now'",
    'F.to_date(F.lit("today"))': "'today'",
    'F.call_function("to_date", F.lit("today"))': "'today'",
    'F.coalesce("channel", F.lit("now")).cast("date")': "'now'",
    'F.concat(F.lit("no"), F.lit("w")).cast("timestamp")': "'now'",
    '[F.lit(t).cast("date") for t in ("later", "now")]': "'now'",
    'x = "a"\nx = "now"\nF.lit(x).cast("date")': "'now'",
}
UNREAD = {
    "F.call_function(events.name)": "F.call_function(…)",
    "getattr(F, events.name)()": "getattr(F, events.name)",
    "getattr(dt, events.name)()": "getattr(dt, events.name)",
    "vars(F)[events.name]()": "vars(F)",
    "F.__dict__[events.name]()": "__dict__",
}
PLAIN = [
    'F.call_function("sum", "x")', '[F.call_function(how, c) for c, how in SUMS.items()]',
    '[getattr(F, how)(c) for c, how in SUMS.items()]', 'getattr(F, "sum")("x")', 'getattr(events, events.name)',
    'np.datetime64("2024-01-01")', 'pd.Timestamp("2024-01-01")', "time.gmtime(0)", "time.sleep(1)",
    'time.strftime("%d", time.gmtime(0))', 'dt.fromisoformat("2024-01-01")', "events.today", "events.now > 1",
    "Window().today()", "days.today(interval)", 'F.lit("2024-01-01").cast("date")', 'F.to_date("today")',
    'F.to_timestamp(F.lit("2024-01-01"))', 'F.lit(f"{interval.start:%Y}-01-01").cast("date")', 'F.to_date("x", "yyyy")',
    'F.to_date(F.concat(F.lit("2024"), F.lit("-01-01")))', 'F.date_trunc("month", F.col("x"))', 'F.trunc("ds", "d")',
    'F.col("status") == "today"', 'F.lit("today").alias("label")', 'F.lit("now").cast("string")',
    'F.when(F.col("a") > 1, F.lit("now")).otherwise("today")', 'F.coalesce("x", F.lit("now"))', 'F.unix_timestamp("d")',
    'F.col("label") >= "today"', 'F.col("label").between("a", "now")', "Clock(interval.start).today()",
    "mylib.calendar.today(interval)", "find(interval).now()", 'F.col("ds") >= interval.start.date()',
    'F.expr(f"sum({events})")', 'F.date_format("ds", "yyyy-MM-dd")',
]  # fmt: skip


def found(body: str) -> list[tuple[str, int, Nondeterminism]]:
    tree = ast.parse(HEAD + indent(body, "    ") + "\n")
    model = tree.body[-1]
    assert isinstance(model, ast.FunctionDef)
    library = ast.parse("def today(interval):\n    return interval.start\n")
    uses = uses_in_python(model, [("m.py", tree), ("lib/days.py", library)])
    return [(u.name, u.line, u.cause) for u in dict.fromkeys(uses)]


@pytest.mark.parametrize(("body", "name"), (SPARK | CLOCKS | TEXTS).items())
def test_not_the_same_again(body: str, name: str) -> None:
    """Named once, at its line."""
    lines = [HEAD.count("\n") + 1 + at for at, _ in enumerate(body.split("\n"))]
    [(told, line, cause)] = found(body)
    assert told == name and line in lines and cause is not Nondeterminism.UNREAD


@pytest.mark.parametrize(("body", "name"), UNREAD.items())
def test_a_name_that_nobody_can_read(body: str, name: str) -> None:
    """It may be any function."""
    assert found(body) == [(name, HEAD.count("\n") + 1, Nondeterminism.UNREAD)]


@pytest.mark.parametrize("body", PLAIN)
def test_ordinary_code(body: str) -> None:
    """What is the same each time, however it is written."""
    assert found(body) == []


def test_everything_of_a_module() -> None:
    """`import *` brings the clock without naming it; a name of the file's own is not it."""
    text = "from time import *\nfrom pyspark.sql.functions import *\ndef m(events, interval, rand):\n    {}\n"
    for body, names in (("time()", ["time.time()"]), ("now()", ["now()"]), ("rand", []), ("sum('x')", [])):
        tree = ast.parse(text.format(body))
        model = tree.body[-1]
        assert isinstance(model, ast.FunctionDef)
        assert [u.name for u in uses_in_python(model, [("m.py", tree)])] == names


def test_a_name_that_stands_for_itself() -> None:
    """What is made of itself again and again is not followed for ever."""
    assert found("\n".join(f"node = node.part{n}" for n in range(9)) + "\nnode.now") == []
