"""A PySpark function becomes SQL that shows all it does, or none at all."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import backfill_assets.demo
from backfill_assets.python_models import compiled as python_sql
from backfill_assets.python_models.compiled import (
    NO_ANSWER,
    Compiled,
    PythonFunction,
    PythonUpstream,
    compile_functions,
)
from backfill_assets_tests.probes import first_probe

DEMO = Path(backfill_assets.demo.__file__).parent
HEAD = """\
from datetime import date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from backfill_assets import model

N = 1
"""


def upstream(parameter: str, table: str, **columns: str) -> PythonUpstream:
    return PythonUpstream(parameter=parameter, table=table, columns=tuple(columns.items()))


A = upstream("a", "raw.a", k="string", v="int", n="int", d="date")
B = upstream("b", "b", k="string", w="double")


def function(name: str, body: str, root: Path = Path("/nowhere"), upstreams: Any = (A, B)) -> PythonFunction:
    indented = "\n".join("    " + line for line in body.splitlines())
    code = f"{HEAD}\n@model(owner='me')\ndef {name}(a, b, interval) -> DataFrame:\n{indented}\n"
    path = root / "models" / f"{name}.py"
    return PythonFunction(name=name, path=path, code=code, root=root, digest=code, upstreams=upstreams)


def compiled(**bodies: str) -> dict[str, str | None]:
    return dict(compile_functions([function(name, body) for name, body in bodies.items()], None))


def rows(text: str | None) -> list[tuple[Any, ...]]:
    """What the SQL gives over two small tables."""
    assert text is not None
    text = first_probe(text)
    connection = duckdb.connect()
    connection.execute('CREATE TABLE "raw.a" (k TEXT, v INT, n INT, d DATE)')
    connection.execute(
        "INSERT INTO \"raw.a\" VALUES ('x', 1, 5, '2024-01-01'), ('x', 3, 2, '2024-01-02'),"
        " ('y', NULL, 1, '2024-01-03'), ('y', NULL, 1, '2024-01-03')"
    )
    connection.execute("CREATE TABLE b (k TEXT, w DOUBLE)")
    connection.execute("INSERT INTO b VALUES ('x', 0.5), ('z', 1.5)")
    found = connection.execute(sqlglot.transpile(text, read="spark", write="duckdb")[0]).fetchall()
    return sorted(found, key=repr)


def demo_function() -> PythonFunction:
    path = DEMO / "models" / "roi_analysis.py"
    performance = upstream(
        "campaign_performance", "campaign_performance", ds="date", campaign_id="int", campaign_name="string",
        channel="string", spend="decimal(18,6)", conversions="bigint", cost_per_acquisition="decimal(18,6)",
    )  # fmt: skip
    conversions = upstream(
        "conversions", "raw.conversions", conversion_id="string", click_time="timestamp", landed_on="date",
        campaign_id="int", channel="string", conversion_value="decimal(18,2)",
    )  # fmt: skip
    code = path.read_text(encoding="utf-8")
    return PythonFunction(
        name="roi_analysis", path=path, code=code, root=DEMO, digest=code, upstreams=(performance, conversions)
    )


@pytest.fixture(scope="module")
def demo() -> str:
    text = compile_functions([demo_function()], None)["roi_analysis"]
    assert text is not None
    return text


def test_the_demo_names_its_columns(demo: str) -> None:
    """The demo's Python model has the declared columns, and reads its upstreams by their names."""
    tree = sqlglot.parse_one(demo, dialect="spark")
    assert tree.named_selects == [
        "ds", "campaign_id", "campaign_name", "channel", "spend", "conversions", "revenue", "roi",
        "cost_per_acquisition", "spend_7d", "conversions_7d", "cost_per_acquisition_7d", "acquisition_cost_index",
    ]  # fmt: skip
    assert {"raw.conversions", "campaign_performance"} <= {table.name for table in tree.find_all(exp.Table)}
    assert {"conversion_value", "click_time", "landed_on"} <= {column.name for column in tree.find_all(exp.Column)}
    assert "1987-06-05" in demo and "2345-11-01" in demo  # the end and 14 days


def test_the_demo_computes_what_pandas_does(demo: str) -> None:
    """The SQL of the demo's model gives the revenue, return and seven days that its description promises."""
    days = pd.date_range("2024-01-01", periods=9).date
    performance = pd.DataFrame(
        {
            "ds": days, "campaign_id": 1, "campaign_name": "one", "channel": "email",
            "spend": [Decimal(10 + i) for i in range(9)], "conversions": range(1, 10),
            "cost_per_acquisition": [Decimal(10 + i) / (1 + i) for i in range(9)],
        }
    )  # fmt: skip
    conversions = pd.DataFrame(
        {
            "conversion_id": ["p", "p", "q", "r"], "click_time": pd.to_datetime(["2024-01-02"] * 3 + ["2024-01-05"]),
            "landed_on": [days[3], days[4], days[5], days[8]], "campaign_id": 1, "channel": "email",
            "conversion_value": [Decimal("5.25"), Decimal("6.50"), Decimal("1.00"), Decimal("30.00")],
        }
    )  # fmt: skip
    connection = duckdb.connect()
    connection.register("campaign_performance", performance)
    connection.register("raw.conversions", conversions)
    got = (
        connection.execute(sqlglot.transpile(first_probe(demo), read="spark", write="duckdb")[0]).df().sort_values("ds")
    )
    revenue = [0.0, 7.5, 0.0, 0.0, 30.0, 0.0, 0.0, 0.0, 0.0]  # p counts once
    spend = performance["spend"].astype(float)
    assert got["revenue"].astype(float).tolist() == revenue
    assert got["roi"].tolist() == pytest.approx(((pd.Series(revenue) - spend) / spend).tolist())
    assert got["spend_7d"].astype(float).tolist() == spend.rolling(7, min_periods=1).sum().tolist()
    assert got["conversions_7d"].tolist() == performance["conversions"].rolling(7, min_periods=1).sum().tolist()


def test_what_compiles_is_right() -> None:
    """What SQLFrame would get wrong by itself (precedence, keys of outer joins, filled nulls) is right in the SQL."""
    found = compiled(
        dedup="return a.dropDuplicates(['k', 'v'])",
        limit="return a.orderBy(F.col('v').desc()).limit(2).limit(1).select('v')",
        union="return a.select('k', 'v').union(b.select('k', F.lit(0).alias('v')))",
        by_name="return a.select('v', 'k').unionByName(b.select('k', F.lit(0).alias('v')))",
        explode="return a.where('k = \"x\"').select(F.explode(F.array('v', 'n')).alias('e'))",
        window="w = Window.partitionBy('k').orderBy(F.col('v').desc())\n"
        "return a.withColumn('r', F.row_number().over(w)).where('r = 1').select('k', 'v')",
        self_join="m = a.groupBy('k').agg(F.max('v').alias('m'))\n"
        "return a.join(m, 'k').where(F.col('v') == F.col('m')).select('k', 'v')",
        full="return a.join(b, 'k', 'full').where(F.col('k') == 'z').select('k', 'w')",
        right="return a.join(b, 'k', 'right').where(F.col('k') == 'z').select('k', 'w')",
        anti="return b.join(a, 'k', 'left_anti')",
        precedence="return a.where('k = \"x\"').select((F.lit(False) == (F.col('v') > F.col('n'))).alias('p'))",
        case="return a.select(F.when(F.col('v') > 1, 'big').otherwise('small').alias('c')).distinct()",
        loop="for c in ('v', 'n'):\n    a = a.withColumnRenamed(c, c + '_2')\nreturn a.select('v_2')",
        own_column="c = a.withColumn('v', a.v * 2)\nreturn c.where(c.v > 2).select(c.v, 'n')",
        conditional="c = b.withColumnRenamed('k', 'j')\nreturn a.join(c, a.k == c.j).where(a.v > 1).select(a.k, c.w)",
        one_column_twice="c = F.col('k')\nx = a.join(b, 'k').select(c, 'w')\nreturn x.join(a.select(c, 'n'), 'k')",
        day="return a.where(f\"d >= '{interval.start:%Y-%m-%d}'\").where(F.col('d') < interval.end.date()).select('v')",
    )
    x1, x3, nothing = ("x", 1), ("x", 3), ("y", None)
    expected: dict[str, list[tuple[Any, ...]]] = {
        "limit": [(3,)], "union": [("x", 0), x1, x3, nothing, nothing, ("z", 0)],
        "by_name": [(0, "x"), (0, "z"), (1, "x"), (3, "x"), (None, "y"), (None, "y")],
        "explode": [(1,), (2,), (3,), (5,)], "window": [x3, nothing], "self_join": [x3], "full": [("z", 1.5)],
        "right": [("z", 1.5)], "anti": [("z", 1.5)], "precedence": [(False,), (True,)], "case": [("big",), ("small",)],
        "own_column": [(6, 2)], "conditional": [("x", 0.5)],
        "loop": [(1,), (3,), (None,), (None,)], "day": [(1,), (3,), (None,), (None,)],
        "one_column_twice": [("x", 0.5, 2), ("x", 0.5, 2), ("x", 0.5, 5), ("x", 0.5, 5)],
    }  # fmt: skip
    assert len(rows(found.pop("dedup"))) == 3
    assert {name: rows(text) for name, text in found.items()} == expected


def test_values_that_differ_give_sql_that_differs() -> None:
    """Two functions of one SQL do the same: a float is no decimal, an end no sum, a literal no other's."""
    found = compiled(
        double="return a.select((F.col('v') * 1.5).alias('x'))",
        decimal="return a.select((F.col('v') * Decimal('1.5')).alias('x'))",
        left="return a.select(((F.col('v') == F.col('n')) > F.col('d')).alias('x'))",
        right="return a.select((F.col('v') == (F.col('n') > F.col('d'))).alias('x'))",
        end="return a.where(F.col('d') < interval.end.date())",
        sum="return a.where(F.col('d') < interval.start.date() + timedelta(days=3))",
        aware="return a.where(F.col('d') < F.lit(interval.end))",
        naive="return a.where(F.col('d') < F.lit(interval.end.replace(tzinfo=None)))",
        one=r"return a.select(F.lit('a\\b').alias('x'))",
        two=r"return a.select(F.lit('a\\\\b').alias('x'))",
    )
    assert None not in found.values()
    assert len(set(found.values())) == len(found)


ESCAPES = {
    "collect": "a.collect()\nreturn a", "count": "return a.limit(a.count())", "rdd": "a.rdd\nreturn a",
    "to_pandas": "a.toPandas()\nreturn a", "udf": "return a.select(F.udf(lambda k: k)('k').alias('k'))",
    "pandas": "import pandas\nreturn a", "map_in_pandas": "return a.mapInPandas(lambda rows: rows, 'k string')",
    "sample": "return a.sample(0.5)", "random_split": "return a.randomSplit([1.0, 2.0])[0]",
    "fill_all": "return a.na.fill(0)", "fill": "return a.fillna({'v': 7})",
    "dropna": "return a.dropna()", "pivot": "return a.groupBy('k').pivot('d', ['x']).agg(F.sum('v').alias('v'))",
    "conf": "a.sparkSession.conf.get('x')\nreturn a", "session": "return SparkSession.builder.getOrCreate().table('x')",
    "create": "return a.sparkSession.createDataFrame([('x', 1)], ['k', 'v'])",
    "view": "a.createOrReplaceTempView('x')\nreturn a", "schema": "return a if a.schema else b",
    "environment": "import os\nreturn a.limit(int(os.environ.get('N', '3')))", "file": "open('/dev/null')\nreturn a",
    "random": "import random\nreturn a", "time": "import time\nreturn a", "dynamic": "__import__('time')\nreturn a",
    "now": "return a.where(F.col('d') < datetime.now())", "today": "return a.where(F.col('d') < date.today())",
    "month": "return a if interval.start.month == 1 else a.distinct()",
    "weekday": "return a if interval.start.date().weekday() else a.distinct()",
    "compared": "return a if interval.start > datetime(2024, 1, 1) else a.distinct()",
    "compared_date": "return a if interval.end.date() == date(2024, 1, 1) else a.distinct()",
    "compared_text": "return a if str(interval.start) < '2024' else a.distinct()",
    "hidden_in_text": "text = f'from {interval.start}'\nreturn a if text < 'from 2024' else a.distinct()",
    "truth": "return a if interval.start else a.distinct()", "hashed": "return {interval.start: a}[interval.start]",
    "length": "return a.limit((interval.end - interval.start).days)",
    "number": "return a.limit(int(interval.start.strftime('%Y')))",
    "read_again": "return a if date.fromisoformat(interval.start.isoformat()[:10]).year else b",
    "cut": "return a.where(F.col('d') >= F.lit(interval.start.replace(day=1)))",
    "swallowed": "try:\n    interval.start.month\nexcept BaseException:\n    pass\nreturn a",
    "failed_over": "try:\n    a = a.withColumnRenamed('no', 'x')\nexcept ValueError:\n    a = a.distinct()\nreturn a",
    "state": "global N\nN += 1\nreturn a.limit(N)", "column_truth": "return a if a.k == 'x' else a.distinct()",
    "asked": "return a if hasattr(a, 'foo') else a.distinct()", "unnamed": "return a.select(F.sum('v'))",
    "two_orders": "return a.orderBy('k').orderBy('v').limit(1)",
    "two_partitions": "w = Window.partitionBy('k').partitionBy('d')\nreturn a.select(F.sum('v').over(w).alias('s'))",
    "lambda": "return a.select(F.transform(F.array('v'), lambda v: v + 1).alias('t'))",
    "right_key": "return a.join(b, 'k', 'left').where(b.k.isNull()).select('k')",
    "self_condition": "late = a.where('v > 1')\nreturn a.join(late, a.v < late.v, 'left_anti')",
    "same_names": "return a.join(b, a.k == b.k)", "no_condition": "return a.join(b)",
    "no_column": "return a.select('nope')", "nothing": "return None",
    "dropped": "return a.select(F.nth_value('v', 2, True).alias('v'))", "no_columns": "return a.select()",
    "old_column": "return a.withColumn('v', a.v * 2).where(a.v > 1)",
    "its_type": "return a if type(interval.start) is datetime else a.distinct()", "regex": "import re\nreturn a",
    "killed": "raise SystemExit(0)", "printed": "print('[\"printed\", \"SELECT 1\"]')\nraise ValueError",
}  # fmt: skip


@pytest.fixture(scope="module")
def escapes() -> dict[str, str | None]:
    return compiled(
        **{name + "_": body for name, body in (ESCAPES | {"fine": "print(1, flush=True)\nreturn a"}).items()}
    )


@pytest.mark.parametrize("name", ESCAPES)
def test_what_sql_does_not_show_has_none(name: str, escapes: dict[str, str | None]) -> None:
    """Rows, the clock, files, chance, a look at the interval: no SQL. Its neighbours in the same call keep theirs."""
    assert escapes[name + "_"] is None
    assert escapes["fine_"] is not None


def test_a_function_that_hangs_is_the_only_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that does not end has no SQL, also when it hangs in C; those before and after it have."""
    monkeypatch.setattr(python_sql, "SECONDS", 1)
    found = compiled(before="return a", hang="while True: pass", in_c="return a.limit(9 ** 9 ** 9)", after="return a")
    assert {name for name, text in found.items() if text is None} == {"hang", "in_c"}


def test_helpers_beside_the_file_are_held_to_the_same(tmp_path: Path) -> None:
    """A helper module of the project is imported; one that reads the clock as it is imported leaves no SQL."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "_good.py").write_text(
        "from pyspark.sql import functions as F\n\n\ndef twice(name):\n    return F.col(name) * 2\n", encoding="utf-8"
    )
    (tmp_path / "clock.py").write_text("from datetime import date\n\nTODAY = date.today()\n", encoding="utf-8")
    files = (tmp_path / "models" / "_good.py", tmp_path / "clock.py")
    body = "from _good import twice\nreturn a.select(twice('v').alias('v'))"
    good, bad = function("good", body, tmp_path), function("bad", "import clock\nreturn a", tmp_path)
    good, bad = replace(good, files=files), replace(bad, files=files)
    found = compile_functions([good, bad], None)
    assert "* 2" in str(found["good"])
    assert found["bad"] is None


BESIDE = {
    "packages": "import os, pandas as pd\nimport pyspark.pandas as ps\nfrom numpy import nan\nLIMIT = os.environ",
    "a UDF": "from pyspark.sql.functions import udf\n@udf('string')\ndef other(k):\n    return k.upper()",
    "a UDF of its own type": "KIND = T.ArrayType(T.StringType())\nother = F.udf(lambda k: [k], KIND)",
    "of pandas": "import pandas as pd\n@F.pandas_udf(T.LongType())\ndef other(v: pd.Series):\n    return v",
    "annotations": "import pandas as pd\ndef other(v: pd.DataFrame | None) -> dict[str, pd.Series]:\n    ...",
    "a try": "def other(a):\n    try:\n        return a.k\n    except ValueError:\n        return a",
    "a pattern": "import re\nWORDS = re.compile('[a-z]+')",
    "attributes of its own": "class P:\n    x = 1\nP.x = 2\ndef f():\n    ...\nf.y = P()\nsetattr(f.y, 'z', 2)",
    "a star": "from pyspark.sql.functions import *\nfrom pyspark.sql.types import *",
    "a model": "@model(owner='me', columns={'k': {'type': 'int'}})\ndef other(a, interval):\n    assert a.k.__class__",
}
"""What may stand in a model's file, or in one that it imports, while nothing of it is used."""
TOUCHED = {
    "a package": ("import os", "os.environ"), "a name of it": ("from numpy import nan", "-nan"),
    "a UDF": ("@F.udf\ndef other(k):\n    return k", "other('k')"),
    "its truth": ("from numpy import nan", "1 if nan else 2"),
    "its type": ("from numpy import nan", "isinstance(nan, int)"),
    "in a text": ("from numpy import nan", "f'{nan}'"), "in a list": ("from numpy import nan", "nan in ['x']"),
    "as a column": ("from numpy import nan", "F.lit(nan)"), "as a default": ("from numpy import nan\nM = nan", "M + 1"),
    "a call of what is defined": ("def put(f):\n    F.col = F.lit\n@put\n@F.udf\ndef other(k):\n    return k", "1"),
    "a call of anything": ("import operator\nX = operator.setitem(F.udf.__globals__, 'col', F.lit)", "1"),
    "a method of what makes UDFs": ("X = F.udf.__globals__.update(col=F.lit)", "1"),
    "an attribute of what is defined": (
        "class P:\n    @property\n    def udf(self):\n        F.col = F.lit\n        return F.udf\nX = P().udf", "1",
    ),
    "what only looks like a UDF": ("def udf(f):\n    F.col = F.lit\n    return F.udf(f)\nother = udf(len)", "1"),
    "whether it is None": ("from numpy import nan", "nan is None"),
    "whether it is not": ("from numpy import nan", "nan is not True"),
    "a case of it": ("from numpy import nan", "1\n    match nan:\n        case None:\n            a = a.distinct()"),
    "whether it can be called": ("from numpy import nan", "callable(nan)"),
    "a name that a star rebinds": ("mode = 'strict'\nfrom pyspark.sql.functions import *", "mode == 'strict'"),
    "a package for what it does": ("import sqlglot", "1"),
    "what is set on a class of Spark's": ("DataFrame.where = lambda self, c: self", "1"),
    "what is set on a module": ("F.round = F.bround", "1"),
    "what is set by name": ("list(map(setattr, [F], ['round'], [F.bround]))", "1"),
    "what was a UDF": ("from pyspark.sql.functions import udf\nudf = print\nother = udf(F.x)", "1"),
}  # fmt: skip
"""What is used of it after all, or does something when it is defined."""


def beside(name: str, above: str, body: str) -> PythonFunction:
    made = function(name, body)
    return replace(made, code=(code := made.code.replace("\nN = 1\n", f"\nN = 1\n{above}\n")), digest=code)


@pytest.fixture(scope="module")
def with_neighbours() -> dict[str, str | None]:
    fine = {f"m{i}": above for i, above in enumerate(BESIDE.values())}
    not_fine = {f"t{i}": pair for i, pair in enumerate(TOUCHED.values())}
    return dict(
        compile_functions(
            [beside(name, above, "return a.where('v > 1')") for name, above in fine.items()]
            + [beside(name, above, f"x = {use}\nreturn a") for name, (above, use) in not_fine.items()],
            None,
        )
    )


@pytest.mark.parametrize("number", range(len(BESIDE)), ids=list(BESIDE))
def test_what_a_model_does_not_use_is_no_matter(number: int, with_neighbours: dict[str, str | None]) -> None:
    """Other packages, UDFs and functions that nobody can follow take the SQL from those that use them alone."""
    assert "> 1" in str(with_neighbours[f"m{number}"])


@pytest.mark.parametrize("number", range(len(TOUCHED)), ids=list(TOUCHED))
def test_what_it_uses_is(number: int, with_neighbours: dict[str, str | None]) -> None:
    """Or what could have changed something when it was defined."""
    assert with_neighbours[f"t{number}"] is None


def test_a_helper_has_what_the_model_does_not_use(tmp_path: Path) -> None:
    """A file that all models import, with what only some of them use."""
    text = "from pyspark.sql import functions as F, types as T\n\n\ndef twice(name):\n    return F.col(name) * 2\n\n\n"
    helper = tmp_path / "helpers.py"
    helper.write_text(text + "\n".join(BESIDE[k] for k in ("of pandas", "a pattern", "a try")))
    good = replace(
        function("good", "from helpers import other, twice\nreturn a.select(twice('v').alias('v'))", tmp_path)
    )
    bad = replace(function("bad", "from helpers import other\nreturn a.select(other('v'))", tmp_path))
    found = compile_functions([replace(f, files=(helper,)) for f in (good, bad)], None)
    assert "* 2" in str(found["good"])
    assert found["bad"] is None


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("a process was started")


def test_what_is_in_the_cache_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL and its absence are both remembered, by what they were compiled from."""
    functions = [function("good", "return a"), function("bad", "return a.collect()")]
    first = compile_functions(functions, tmp_path / "cache")
    assert (first["good"] is None, first["bad"]) == (False, None)
    assert sorted(file.suffix for file in (tmp_path / "cache").iterdir()) == [".json", ".json"]
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert compile_functions(functions, tmp_path / "cache") == first
    wider = upstream("b", "b", k="string", w="double", z="int")
    for changed in (function("good", "return b"), function("good", "return a", upstreams=(A, wider))):
        with pytest.raises(AssertionError, match="was started"):
            compile_functions([changed], tmp_path / "cache")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sql": 1}', "{}"])
def test_a_corrupt_cache_file_is_a_miss(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not what was written is compiled again and replaced."""
    monkeypatch.setattr(
        python_sql, "_compile", lambda functions, _: {f.name: Compiled(sql="SELECT 1") for f in functions}
    )
    compile_functions([function("good", "return a")], tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(content, encoding="utf-8")
    monkeypatch.setattr(
        python_sql, "_compile", lambda functions, _: {f.name: Compiled(sql="SELECT 2") for f in functions}
    )
    assert compile_functions([function("good", "return a")], tmp_path) == {"good": "SELECT 2"}
    assert json.loads(file.read_text(encoding="utf-8")) == {"sql": "SELECT 2", "why": ""}


def test_a_worker_that_was_stopped_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What got no answer has no SQL now, and is asked again the next time."""
    said = b'["one", "SELECT 1", "", ""]\n["two", "SEL'
    monkeypatch.setattr(python_sql, "_ask", lambda request, seconds: said)
    functions = [function("one", "return a"), function("two", "return b")]
    failed: dict[str, str] = {}
    assert compile_functions(functions, tmp_path, failed) == {"one": "SELECT 1"}
    assert len(list(tmp_path.iterdir())) == 1 and failed == {"two": NO_ANSWER}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("PermissionError(13, 'Permission denied', '/usr/lib/python/decimal.py')", "PermissionError: [Errno 13]"),
        ("ModuleNotFoundError('No module named sqlglot.x', name='sqlglot.x')", "ModuleNotFoundError: No module"),
        ("MemoryError('while importing')", "MemoryError: while importing"),
        ("ModuleNotFoundError('no pandas', name='pandas')", ""),
        ("OSError('by somebody')", ""),
        ("ValueError('whatever')", ""),
    ],
)
def test_a_fault_of_the_machine_is_not_remembered(
    error: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of Python's or of a library's that the worker cannot read is no property of the code; it is told."""
    here = "from backfill_assets.python_models.sqlframe import __main__ as worker"
    broken = f"def fail(*_):\n    raise {error}\n{here}\nworker.compile_function = fail\nworker.main()"
    paths = "import sys; sys.path += {paths!r}\n"
    monkeypatch.setattr(python_sql, "_START_CODE", paths + broken)
    failed: dict[str, str] = {}
    found = compile_functions([function("m", "return a")], tmp_path, failed)
    assert (found, bool(failed)) == (({}, True) if told else ({"m": None}, False))
    assert failed.get("m", "").startswith(told) and len(list(tmp_path.iterdir())) == (not told)


def test_an_error_that_an_author_raises_is_a_property_of_the_code(tmp_path: Path) -> None:
    """Whatever its class and what it says: it arises in the project's files."""
    failed: dict[str, str] = {}
    raised = function("m", "raise PermissionError(13, 'Permission denied', '/usr/lib/python/decimal.py')")
    assert compile_functions([raised], tmp_path, failed) == {"m": None} and not failed


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("a = a.select('k')\nreturn a.fillna(0)", "models/m.py:15: DataFrame.fillna"),
        ("import pandas", "models/m.py:14: import pandas"),
        ("return a.where(F.col('n') > N).limit(nothing)", "models/m.py:14: NameError: name 'nothing' is not defined"),
        ("return None", "it returns no DataFrame"),
        ("while True: pass", "it ended its process, or takes more than it may (1 s, 2048 MiB)"),
    ],
)
def test_why_a_function_has_no_sql(body: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in its way, with the line; the same when it is remembered."""
    monkeypatch.setattr(python_sql, "SECONDS", 1 if "while" in body else python_sql.SECONDS)
    for _ in range(2):
        whole: dict[str, str] = {}
        assert compile_functions([function("m", body)], tmp_path, whole=whole) == {"m": None}
        assert whole == {"m": why}


def test_an_upstream_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the columns of an upstream there is no SQL, and nothing is started to find that out."""
    monkeypatch.setattr(subprocess, "Popen", refuse)
    unknown = function("m", "return a", upstreams=(A, upstream("b", "b")))
    whole: dict[str, str] = {}
    assert compile_functions([unknown], None, whole=whole) == {"m": None}
    assert whole == {"m": "nobody knows the columns of b"}


def test_the_planning_process_stays_light() -> None:
    """Compiling imports neither SQLFrame nor PySpark into the process that asks."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from backfill_assets.python_models.compiled import PythonFunction, PythonUpstream, compile_functions\n"
        "read = PythonUpstream(parameter='a', table='a', columns=(('k', 'string'),))\n"
        "here, code = Path('/nowhere'), 'def m(a, interval): return a'\n"
        "m = PythonFunction(name='m', path=here / 'm.py', code=code, root=here, digest='', upstreams=(read,))\n"
        "assert compile_functions([m], None)['m']\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('sqlframe', 'pyspark', 'sqlglot')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
