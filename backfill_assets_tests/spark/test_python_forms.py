"""Is the SQL that a Python model is compiled to what PySpark does? Every form that is seen through, run both ways."""

# ruff: noqa: E501  (tables of expressions)

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backfill_assets.core.intervals import Interval
from backfill_assets.python_models.compiled import PythonFunction, PythonUpstream, compile_functions
from backfill_assets.python_models.sqlframe import forms
from backfill_assets.python_models.sqlframe.compiling import PROBES
from backfill_assets.python_models.sqlframe.functions import Parameter, parameters
from backfill_assets_tests.probes import first_probe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

COLUMNS: dict[str, tuple[str, ...]] = {
    "n": ("i", "x", "q"), "x": ("x",), "p": ("one",), "j": ("i",), "y": ("one",), "t": ("t", "num"), "u": ("b64",),
    "v": ("pat",), "d": ("d", "z"), "w": ("d",), "z": ("z",), "i": ("day", "d"), "o": ("o",), "r": ("r",), "s": ("rs",), "f": ("rr",),
    "m": ("m",), "g": ("g",), "h": ("one",), "c": ("i", "x", "q", "t", "d", "z", "o"),
}  # fmt: skip
"""By letter of the forms: the columns that it is run over. A second parameter gets the twin (`i_`) where there is one."""
TWINS = ("i", "x", "q", "t", "num", "d", "z", "o", "r")
LITERALS: dict[str, list[Any]] = {
    "concat_ws": ["-"], "substring_index": [" ", 1], "lpad": [6, "*"], "rpad": [6, "ab"], "substring": [2, 3],
    "instr": ["b"], "locate": ["b", 2], "translate": ["abc", "xy"], "regexp_extract": [r"([A-z]+)\W*(\d*)", 2],
    "regexp_replace": [r"(\d)\.", r"<$1>"], "split": [r"[ \.]", 2], "format_number": [2], "format_string": ["%s'\\%%"],
    "overlay": [2, 1], "get_json_object": ["$.a[0]"], "sha2": [256], "next_day": ["Tue"], "trunc": ["MM"],
    "date_trunc": ["week"], "date_format": ["yyyy-MM-dd'T'HH:mm:ss.SSS EEE D a"], "to_date": ["yyyy-MM-dd"],
    "to_timestamp": ["yyyy-MM-dd"], "from_unixtime": ["dd/MM/yy hh:mm"], "from_utc_timestamp": ["Europe/Berlin"],
    "to_utc_timestamp": ["America/New_York"], "array_contains": [2], "array_remove": [2], "array_append": [7],
    "array_prepend": [7], "array_position": [2], "array_join": [",", "?"], "slice": [2, 2], "map_contains_key": ["a"],
    "conv": [10, 16], "ntile": [3], "lag": [2, 0], "lead": [1, 0], "round": [-1], "bround": [1], "sort_array": [False],
    "months_between": [False], "first": [True], "last": [True], "pow": [2], "power": [0.5], "atan2": [1], "hypot": [3.5],
    "shiftleft": [2], "shiftright": [1], "shiftrightunsigned": [1], "repeat": [2], "date_add": [3], "date_sub": [-400],
    "dateadd": [1], "add_months": [-1], "array_repeat": [2], "get": [1],
}  # fmt: skip

COLUMN_FORMS: dict[str, list[str]] = {
    "__eq__": ["F.col('i') == F.col('i_')", "F.col('t') == 'b'", "F.col('d') == date(2024, 2, 29)", "F.col('q') == 1.5",
               "F.col('z') == datetime(2024, 2, 29, 12, 30, tzinfo=UTC)", "F.col('q') == Decimal('1.500')"],
    "__ne__": ["F.col('i') != F.col('i_')", "F.col('x') != 0.0"],
    "__lt__": ["F.col('t') < F.col('t_')", "F.lit(False) == (F.col('i') < F.col('i_'))"],
    "__le__": ["F.col('x') <= F.col('x_')"], "__gt__": ["F.col('d') > F.col('d_')"],
    "__ge__": ["F.col('i') >= 1.5", "F.col('z') >= interval.start", "F.col('d') < interval.end.date()",
               "F.col('t') > f'{interval.start:%Y-%m}'", "F.col('t') > '%s' % interval.end.date().isoformat()"],
    "__and__": ["F.col('o') & F.col('o_')", "F.col('o') & (F.col('i') > 0) | F.col('o_')"],
    "__or__": ["F.col('o') | F.col('o_')", "(F.col('o') | F.col('o_')) & F.col('o')"],
    "__rand__": ["True & F.col('o')"], "__ror__": ["False | F.col('o')"],
    "__invert__": ["~F.col('o')", "~(F.col('i') == 1) & F.col('o')"],
    "__add__": ["F.col('i') + F.col('i_')", "F.col('q') + F.col('i')", "F.col('x') + 1", "F.col('q') + Decimal('0.05')"],
    "__radd__": ["1 + F.col('i')"], "__sub__": ["F.col('i') - F.col('i_')", "F.col('q') - (F.col('i') - F.col('i_'))"],
    "__rsub__": ["1.5 - F.col('i')"], "__mul__": ["F.col('q') * F.col('q_')", "F.col('i') * (F.col('i_') + 1)"],
    "__rmul__": ["2 * F.col('x')"], "__truediv__": ["F.col('i') / F.col('one')", "F.col('q') / F.col('one') / 3"],
    "__rtruediv__": ["1 / F.col('one')"], "__mod__": ["F.col('i') % F.col('one')", "F.col('i') % 3"],
    "__rmod__": ["7 % F.col('one')"], "__neg__": ["-F.col('i')", "-(F.col('i') - F.col('i_'))"],
    "alias": ["F.col('i').alias('other')"], "name": ["F.col('i').name('other')"],
    "when": ["F.when(F.col('i') > 1, 'big').when(F.col('i') > 0, F.col('t'))", "F.when(F.col('o'), F.col('q')).otherwise(0)"],
    "otherwise": ["F.when(F.col('o'), 1).otherwise(None)", "F.when(F.col('o'), 1).otherwise(2.5)"],
    "isNull": ["F.col('t').isNull()", "(F.col('i') + 1).isNull()"], "isNotNull": ["F.col('x').isNotNull()"],
    "isNaN": ["F.col('x').isNaN()"], "eqNullSafe": ["F.col('t').eqNullSafe(F.col('t_'))", "F.col('i').eqNullSafe(None)"],
    "startswith": ["F.col('t').startswith('A')", "F.col('t').startswith(F.col('t_'))"],
    "endswith": ["F.col('t').endswith('b')"], "contains": ["F.col('t').contains('%')", "F.col('t').contains(F.col('t_'))"],
    "rlike": [r"F.col('t').rlike('^[A-Z]+\\W?')", r"F.col('t').rlike('\\\\')"],
    "like": ["F.col('t').like('_b%')", r"F.col('t').like('%\\%%')"], "ilike": ["F.col('t').ilike('AB%')"],
    "substr": ["F.col('t').substr(2, 2)", "F.col('t').substr(F.col('one'), F.lit(2))"],
    "isin": ["F.col('i').isin(1, 2)", "F.col('t').isin(['a', 'b', None])", "~F.col('i').isin([1, 2])",
             "F.col('i').isin(F.col('i_'), 1)"],
    "between": ["F.col('i').between(0, F.col('i_'))", "F.col('d').between(date(2024, 1, 1), '2024-12-31')"],
    "getItem": ["F.col('m').getItem('a')", "F.split('t', ' ').getItem(0)"], "__getitem__": ["F.col('m')['b']"],
    "astype": ["F.col('i').astype('string')"],
    "over": ["F.sum('i').over(Window.partitionBy('g'))", "(F.sum('i').over(Window.partitionBy('g')) + F.col('i'))"],
}  # fmt: skip
CAST_FORMS: dict[str, tuple[str, ...]] = {
    "string": ("i", "x", "q", "d", "z", "o"), "int": ("i", "q", "num", "o"), "integer": ("num",), "bigint": ("i", "num"),
    "long": ("q",), "double": ("i", "q", "num"), "float": ("i", "q", "x"), "boolean": ("i", "q"), "date": ("day", "z"),
    "timestamp": ("day", "d"), "smallint": ("i",), "tinyint": ("i",), "binary": ("t",), "decimal(12,2)": ("i", "q", "num"),
    "decimal(5, 1)": ("one",),
}  # fmt: skip
LITERAL_FORMS = (
    "1", "-1", "3000000000", "1.5", "-0.0", "1e300", "True", "None", "'it\\'s'", r"'a\\b\n'", "''", "'%_'", "Decimal('0.05')",
    "Decimal('-12.500')", "Decimal('100')", "date(2024, 2, 29)", "datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC)", "'ü€'",
    "interval.start", "interval.end.date()", "str(interval.start)", "'{}'.format(interval.start.date())",
    "interval.start - timedelta(days=3)",
)  # fmt: skip
ORDER_FORMS: dict[str, str] = {
    n: f"F.row_number().over(Window.orderBy(F.col('t').{n}(), 'id'))"
    for n in forms.COLUMN_METHODS if n.startswith(("asc", "desc"))
}  # fmt: skip
WINDOW_FORMS: dict[str, list[str]] = {
    "partitionBy": ["F.sum('i').over(Window.partitionBy('g', F.col('o')))", "F.count('*').over(Window.partitionBy(['g']))"],
    "orderBy": ["F.sum('i').over(Window.partitionBy('g').orderBy('one'))", "F.rank().over(Window.orderBy(F.col('i').desc()))",
                "F.sum('x').over(Window.orderBy('t', 'id'))", "F.first('i').over(Window.partitionBy('g').orderBy('id'))"],
    "rowsBetween": ["F.sum('i').over(Window.orderBy('id').rowsBetween(-1, 1))",
                    "F.count('i').over(Window.orderBy('id').rowsBetween(Window.unboundedPreceding, Window.currentRow))",
                    "F.max('i').over(Window.orderBy('id').rowsBetween(1, Window.unboundedFollowing))"],
    "rangeBetween": ["F.sum('i').over(Window.partitionBy('g').orderBy('one').rangeBetween(-2, 0))",
                     "F.min('i').over(Window.orderBy(F.col('one').desc()).rangeBetween(-1, 2))"],
}  # fmt: skip
EXPR_FORMS = ("i + i_ * 2", "upper(t)", "case when o then 'x' else t end", "i > 1 and not o", "cast(i as string)")
ODD_FUNCTIONS: dict[str, list[str]] = {
    "col": ["F.col('I')"], "column": ["F.column('i')"], "lit": [f"F.lit({text})" for text in LITERAL_FORMS],
    "expr": [f'F.expr("{text}")' for text in EXPR_FORMS], "when": ["F.when(F.col('i').isNull(), -1).otherwise(F.col('i'))"],
    "broadcast": [], "count_distinct": ["F.count_distinct('i', F.col('t'))", "F.count_distinct('x')"],
    "countDistinct": ["F.countDistinct('t')"], "sum_distinct": ["F.sum_distinct('q')"], "asc": [], "desc": [],
    "asc_nulls_first": [], "asc_nulls_last": [], "desc_nulls_first": [], "desc_nulls_last": [],
}  # fmt: skip
"""What `functions.py` writes out; the orders and broadcast() are in the forms of frames."""

FRAME_FORMS: dict[str, list[str]] = {
    "select": ["a.select('g', F.col('i').alias('n'), a.t)", "a.select(['id', 'x'])", "a.select('*').select('id')"],
    "where": ["a.where(a.o).select('id')", "a.where(\"t = 'b' or i > 1\").where('o').select('id', 'i')",
              "a.select('g', F.sum('i').over(Window.partitionBy('g')).alias('s')).where('s > 3')",
              "a.where(F.col('i') > 1).select('g', F.sum('i').over(Window.partitionBy('g')).alias('s'))"],
    "filter": ["a.filter(~F.col('o')).select('id')"],
    "withColumn": ["a.select('id', 'i').withColumn('i', F.col('i') + 1).withColumn('k', F.col('i') * 2)",
                   "a.select('id', 'i').withColumn('I', F.col('i') + 1)"],
    "withColumns": ["a.select('id', 'i').withColumns({'i': F.col('i') + 1, 'k': F.col('i') * 2})"],
    "withColumnRenamed": ["a.select('id', 'i').withColumnRenamed('i', 'k').where('k > 1')",
                          "a.select('id').withColumnRenamed('nope', 'k')"],
    "withColumnsRenamed": ["a.select('id', 'i').withColumnsRenamed({'i': 'k', 'id': 'i'})"],
    "drop": ["a.select('id', 'i', 't').drop('t', 'nope')", "a.select('id', 'i').drop(F.col('i'))"],
    "distinct": ["a.select('t', 'i').distinct()"],
    "dropDuplicates": ["a.select('x').dropDuplicates()", "a.dropDuplicates(['g', 'o']).select('g', 'o')"],
    "drop_duplicates": ["a.select('t').drop_duplicates()"],
    "limit": ["a.orderBy('id').limit(3).select('id')", "a.orderBy(F.col('id').desc()).limit(4).limit(2).select('id')"],
    "orderBy": ["a.orderBy('t', 'id').limit(4).select('id')", "a.orderBy(F.desc('i'), 'id').limit(3).select('id')",
                "a.orderBy(F.asc_nulls_last('x'), F.desc_nulls_first('t'), 'id').limit(5).select('id')",
                "a.orderBy(F.asc('o'), F.asc_nulls_first('t'), F.desc_nulls_last('i'), 'id').limit(5).select('id')",
                "a.orderBy('i', 'id', ascending=False).limit(3).select('id')"],
    "sort": ["a.sort(F.col('d').desc(), 'id').limit(2).select('id', 'd')"],
    "join": [f"a.select('id', 'g', 't', 'i').join(b.select('g', 'w'), 'g', '{how}')" for how in
             ("inner", "left", "right", "full", "leftsemi", "left_anti", "outer", "left_outer", "right_outer")]
    + ["a.select('id', 't', 'i').join(b.select('g', 't', 'w'), ['t'])",
       "a.select('id', 'i').join(b.select('k', 'w'), F.col('i') == F.col('k'), 'left')",
       "a.select('id', 'i').join(b.select('k', 'w'), (F.col('i') >= F.col('k')) & F.col('w').isNotNull(), 'full')",
       "a.select('id', 't').join(b.select('t', 'w'), 't', 'full').where(F.col('t').isNull())",
       "a.select('id', 'g').join(F.broadcast(b.select('g', 'w')), on=['g'], how='left').where('w is null')",
       "a.select('id', 'g').join(b.select('g', 'w'), 'g').join(b.select('g', 'k'), 'g', 'left')",
       "a.select('id', 'i').join(b.select('k', 'w'), [F.col('i') == F.col('k'), F.col('id') > 2])"],
    "crossJoin": ["a.select('id').crossJoin(b.select('w'))"],
    "union": ["a.select('t', 'i').union(b.select('t', 'k'))"], "unionAll": ["a.select('t').unionAll(b.select('t'))"],
    "unionByName": ["a.select('t', 'g').unionByName(b.select('g', 't'))",
                    "a.select('t', 'i').unionByName(b.select('w', 't'), allowMissingColumns=True)"],
    "intersect": ["a.select('t').intersect(b.select('t'))"], "exceptAll": ["a.select('t').exceptAll(b.select('t'))"],
    "groupBy": ["a.groupBy('g', F.col('o').alias('p')).agg(F.sum('i').alias('s'))",
                "a.groupBy(F.year('d').alias('y')).agg(F.max('x').alias('m')).where('m > 1')",
                "a.groupBy('g').agg(F.sum('i').alias('s')).groupBy('s').agg(F.count('*').alias('n'))"],
    "groupby": ["a.groupby('t').agg(F.min('i').alias('m'))"],
    "agg": ["a.agg(F.sum('i').alias('s'), F.count(F.lit(1)).alias('n'))"],
    "transform": ["a.transform(lambda f: f.select('id'))"],
    "alias": ["a.alias('z').select('id')"], "hint": ["a.hint('broadcast').select('id')"],
    "cache": ["a.select('id').cache()"], "persist": ["a.select('id').persist()"],
    "unpersist": ["a.select('id').unpersist()"], "repartition": ["a.repartition(2, 'g').select('id')"],
    "coalesce": ["a.coalesce(1).select('id')"],
}  # fmt: skip
GROUPED_FORMS: dict[str, list[str]] = {
    "agg": ["a.groupBy('g').agg(F.sum('i').alias('s'), F.max('t').alias('m'))"], "count": ["a.groupBy('o').count()"],
}  # fmt: skip
HEAD = """\
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from pyspark.sql import Window
from pyspark.sql import functions as F


"""
ROWS, AT_ONCE = 12, 100
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false",
}  # fmt: skip
A = {
    "id": "int", "g": "string", "one": "int", "i": "int", "i_": "int", "x": "double", "x_": "double",
    "q": "decimal(12,3)", "q_": "decimal(12,3)", "t": "string", "t_": "string", "num": "string", "num_": "string",
    "b64": "string", "pat": "string", "day": "string", "d": "date", "d_": "date", "z": "timestamp", "z_": "timestamp",
    "o": "boolean", "o_": "boolean", "r": "array<int>", "r_": "array<int>", "rs": "array<string>",
    "rr": "array<array<int>>", "m": "map<string,int>",
}  # fmt: skip
B = {"g": "string", "t": "string", "k": "int", "w": "int"}


def _a() -> list[tuple[Any, ...]]:
    """Rows with NULL in every column but the keys, ties, mixed case, and text that looks like numbers."""

    def pick(values: list[Any], n: int, step: int = 1) -> Any:
        return values[(n * step) % len(values)]

    ints, doubles = [1, 2, None, -3, 1, 0, 7], [0.5, -0.0, None, float("nan"), 1e10, 2.5, 0.0, float("inf")]
    exact = [Decimal("1.500"), None, Decimal("-0.050"), Decimal("7.000"), Decimal("2.500")]
    texts = ["Ab", "b", None, "ab", "", " 1.50 b ", "A%b_\\", "b"]
    numbers = ["1", "01", None, "-7", "3", "1"]
    days = [date(2024, 2, 29), None, date(1987, 6, 5), date(2023, 12, 31), date(2024, 2, 29)]
    instants = [datetime(2024, 2, 29, 12, 30, tzinfo=UTC), datetime(2024, 3, 31, 1, 59, 59, 5, tzinfo=UTC), None]
    truth, arrays = [True, None, False], [[2, 1, None, 2], [], None, [7, 2]]
    return [
        (
            n, pick(["a", "B", "b"], n), n % 4 + 1, pick(ints, n), pick(ints, n, 3), pick(doubles, n), pick(doubles, n, 3),
            pick(exact, n), pick(exact, n, 2), pick(texts, n), pick(texts, n, 3), pick(numbers, n), pick(numbers, n, 5),
            "QWI=", "^[Aa].*b", pick(["2024-02-29", None, "1999-12-31"], n), pick(days, n), pick(days, n, 2),
            pick(instants, n), pick(instants, n, 2), pick(truth, n), pick(truth, n, 2), pick(arrays, n), pick(arrays, n, 3),
            pick([["a", None, "1"], None, []], n), pick([[[1, 2], [3]], None, [[]]], n), pick([{"a": 1, "b": None}, None], n),
        )
        for n in range(ROWS)
    ]  # fmt: skip


_B = [("a", "b", 1, 5), ("a", "b", 2, None), (None, "Ab", None, 7), ("b", None, 7, 1), ("c", "01", 1, 2)]


def ddl(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{n} {t}" for n, t in columns.items())


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """The two tables, as frames and as views, in a session that compiles no Java for twelve rows."""
    session = spark.newSession()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    made = {
        "a": session.createDataFrame(_a(), ddl(A)).coalesce(1),
        "b": session.createDataFrame(_B, ddl(B)).coalesce(1),
    }
    for name, frame in made.items():
        frame.createOrReplaceTempView(f"forms_{name}")
    return made


def compiled(bodies: Mapping[str, str]) -> dict[str, str]:
    """The SQL of each body, for the first of the probes; all have one."""
    upstreams = tuple(
        PythonUpstream(parameter=p, table=f"forms_{p}", columns=tuple(c.items())) for p, c in (("a", A), ("b", B))
    )
    functions = [
        PythonFunction(
            name=name, path=Path(f"/nowhere/models/{name}.py"), root=Path("/nowhere"), digest="", upstreams=upstreams,
            code=f"{HEAD}def {name}(a, b, interval):\n    return {body}\n",
        )
        for name, body in bodies.items()
    ]  # fmt: skip
    found = compile_functions(functions, None)
    assert [bodies[name] for name in bodies if not found.get(name)] == []
    return {name: first_probe(text) for name, text in found.items() if text}


def as_written(body: str, tables: Mapping[str, DataFrame]) -> DataFrame:
    """What PySpark makes of it."""
    names: dict[str, Any] = {}
    exec(HEAD, names)
    return eval(body, names | tables | {"interval": Interval(*PROBES[0])})


def told(frame: DataFrame) -> DataFrame:
    """Each row as one text, doubles and NULLs included."""
    from pyspark.sql import functions as F

    names = [f"c{n}" for n in range(len(frame.columns))]
    return frame.toDF(*names).select(F.to_json(F.struct(*names), {"ignoreNullFields": "false"}).alias("row"))


def differences(tables: Mapping[str, DataFrame], bodies: Mapping[str, str]) -> list[str]:
    """The bodies whose SQL gives other rows, or columns of other names or types. All are run as one job each way."""
    from pyspark.sql import functions as F

    wrong: list[str] = []
    both: list[tuple[str, DataFrame, DataFrame]] = []
    for name, sql in compiled(bodies).items():
        one, other = as_written(bodies[name], tables), tables["a"].sparkSession.sql(sql)
        schemas = [[(f.name.lower(), f.dataType) for f in frame.schema.fields] for frame in (one, other)]
        if schemas[0] != schemas[1]:
            wrong.append(f"{bodies[name]}: {schemas[0]} is {schemas[1]}")
        else:
            both.append((name, one, other))

    def rows(side: int) -> dict[str, list[str]]:
        tagged = [told(pair[side]).select(F.lit(pair[0]).alias("name"), "row") for pair in both]
        found: dict[str, list[str]] = {name: [] for name, _, _ in both}
        while len(tagged) > 1:  # in halves, because each union analyses again all that is below it
            pairs = zip(tagged[::2], [*tagged[1::2], None], strict=False)
            tagged = [one.unionAll(other) if other is not None else one for one, other in pairs]
        for row in tagged[0].collect():
            found[row["name"]].append(row["row"])
        return {name: sorted(texts) for name, texts in found.items()}

    one, other = rows(1), rows(2)
    return wrong + [f"{bodies[name]}: {one[name]} is {other[name]}" for name in one if one[name] != other[name]]


def differing_columns(
    tables: Mapping[str, DataFrame], expressions: list[str], wrapped: str = "a.select('id', {})"
) -> list[str]:
    """The same for expressions: the columns of a few wide queries."""
    parts = [expressions[at : at + AT_ONCE] for at in range(0, len(expressions), AT_ONCE)]
    named = [", ".join(f"({e}).alias('c{n}')" for n, e in enumerate(part)) for part in parts]
    texts = compiled({f"m{n}": wrapped.format(columns) for n, columns in enumerate(named)})
    wrong: list[str] = []
    for at, part in enumerate(parts):
        one, other = as_written(wrapped.format(named[at]), tables), tables["a"].sparkSession.sql(texts[f"m{at}"])
        assert len(one.columns) == len(other.columns) == len(part) + 1
        rows = [sorted(map(tuple, frame.collect()), key=lambda r: repr(r[0])) for frame in (one, other)]
        for n, expression in enumerate(part, start=1):
            kinds = [frame.schema.fields[n].dataType.simpleString() for frame in (one, other)]
            values = [[_plain(row[n]) for row in side] for side in rows]
            if kinds[0] != kinds[1] or values[0] != values[1]:
                wrong.append(f"{expression}: {kinds[0]} {values[0]} is {kinds[1]} {values[1]}")
    return wrong


def _plain(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, list) else repr(value)


def calls(name: str, form: str) -> Iterator[str]:
    """Calls of a function over its columns, by name and as columns; with each of its optional parameters."""
    known = parameters(form)
    literals = LITERALS.get(name, [])
    for count in range(sum(not p.optional for p in known), len(known) + 1):
        chosen = known[:count]
        width = (
            1 if count < len(known) and count > 1 else max([len(COLUMNS.get(p.kind, "x")) for p in chosen], default=1)
        )
        if any(p.optional for p in chosen):
            width = 1
        for row in range(width):
            yield f"F.{name}({', '.join(_arguments(chosen, row, iter(literals)))})"


def _arguments(chosen: list[Parameter], row: int, literals: Iterator[Any]) -> Iterator[str]:
    for at, parameter in enumerate(chosen):
        by_name = f"{parameter.name}=" if parameter.name and at == len(chosen) - 1 else ""
        columns = COLUMNS.get(parameter.kind)
        if columns is None and parameter.kind in "KXL" and at == 0:
            columns = ("x",)
        if columns is None:
            yield f"{by_name}{next(literals)!r}"
            continue
        column = columns[row % len(columns)]
        column += "_" if column in TWINS and at % 2 else ""
        yield f"F.col('{column}')" if (row + at) % 2 else f"'{column}'"


def test_every_form_is_run() -> None:
    """Nothing is on the lists of what is seen through that the tests below leave out."""
    assert COLUMN_FORMS.keys() | ORDER_FORMS.keys() | {"cast"} == set(forms.COLUMN_METHODS)
    assert {text for text in CAST_FORMS if not text.startswith("decimal")} == set(forms.CASTS)
    assert WINDOW_FORMS.keys() == set(forms.WINDOW_METHODS)
    assert FRAME_FORMS.keys() == set(forms.FRAME_METHODS) and GROUPED_FORMS.keys() == set(forms.GROUPED_METHODS)
    assert ODD_FUNCTIONS.keys() == set(forms.WRITTEN_OUT)
    assert all(calls(name, form) for name, form in forms.FUNCTIONS.items())


def test_functions_of_a_row(tables: dict[str, DataFrame]) -> None:
    """Functions, operators, literals and casts give the same values of the same types."""
    expressions = [call for name, form in forms.SCALARS.items() for call in calls(name, form)]
    expressions += [e for name in ("col", "column", "lit", "expr", "when") for e in ODD_FUNCTIONS[name]]
    expressions += [e for name, found in COLUMN_FORMS.items() if name != "over" for e in found]
    expressions += [f"F.col('{c}').cast('{kind}')" for kind, columns in CAST_FORMS.items() for c in columns]
    assert differing_columns(tables, expressions) == []


def test_functions_of_many_rows(tables: dict[str, DataFrame]) -> None:
    """Aggregates give the same of each group, and over a window."""
    found = [call for name, form in forms.AGGREGATES.items() for call in calls(name, form)]
    odd = [e for name in ("count_distinct", "countDistinct", "sum_distinct") for e in ODD_FUNCTIONS[name]]
    assert differing_columns(tables, ["F.count('*')", *found, *odd], "a.groupBy('g').agg({})") == []


def test_windows(tables: dict[str, DataFrame]) -> None:
    """Functions over windows of every form give the same to each row."""
    over = "Window.partitionBy('g').orderBy('one', 'id')"
    found = [f"{call}.over({over})" for name, form in forms.WINDOWED.items() for call in calls(name, form)]
    found += [e for forms_ in WINDOW_FORMS.values() for e in forms_] + list(ORDER_FORMS.values()) + COLUMN_FORMS["over"]
    assert differing_columns(tables, found) == []


def test_tables(tables: dict[str, DataFrame]) -> None:
    """Methods of DataFrames and groups, and functions that make rows, give the same rows."""
    bodies = [b for found in (FRAME_FORMS | GROUPED_FORMS).values() for b in found]
    bodies += [
        f"a.select('id', {call}.alias('item'))" for name, form in forms.GENERATORS.items() for call in calls(name, form)
    ]
    assert differences(tables, {f"m{n}": body for n, body in enumerate(bodies)}) == []
