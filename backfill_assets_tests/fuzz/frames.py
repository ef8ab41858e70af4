"""Random PySpark models: a few steps over `t`, so that an edit moves, drops or changes one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from backfill_assets_tests.fuzz.expressions import Expressions
from backfill_assets_tests.fuzz.tree import Node, listed, seq

COLUMNS = {"id": "int", "x": "int", "y": "int", "g": "string"}
HEAD = """\
from pyspark.sql import Window
from pyspark.sql import functions as F


"""


def is_python(text: str) -> bool:
    """Whether a model's text is a PySpark function, not SQL."""
    return text.startswith(HEAD)


def frame_model(name: str, random: Random) -> Node:
    """A function of that name which gives `COLUMNS`."""
    steps = _Steps(random)
    body = [steps.step() for _ in range(random.randint(1, 4))]
    chain = replace(listed(body, "\n    ", least=0), again=steps.step)
    last = seq("return df.select(", listed([f'"{c}"' for c in COLUMNS], least=4), ")")
    return seq(HEAD, f"def {name}(t, u, v, interval):\n    df = t\n    ", chain, "\n    ", last, "\n")


class _Steps:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = Expressions(random, spark=True).pick

    def step(self) -> Node:
        """One statement. All give the columns `COLUMNS`, perhaps more."""

        def make() -> Node:
            forms: list[Callable[[], Node]] = [
                lambda: seq("df = df.", self.pick("where", "filter"), "(", self.condition(), ")"),
                lambda: seq("df = df.", self.pick("where", "filter"), "(", self.condition(), ")"),
                lambda: seq("df = df.withColumn(", self.pick('"x"', '"y"'), ", ", self.number(), ")"),
                lambda: seq('df = df.withColumn("g", ', self.text(), ")"),
                lambda: seq("df = df.withColumn(", self.pick('"x"', '"y"'), ", ", self.window(), ")"),
                lambda: seq("df = df.withColumn(", self.pick('"x"', '"y"'), ", ", self.window(), ")"),
                lambda: seq('df = df.select("id", "g", ', self.number(), '.alias("x"), ', self.number(), '.alias("y"))'),
                lambda: seq('df = df.selectExpr("id", "x", "g", "', self.pick("y + 1", "coalesce(y, x)", "count(*) OVER ()"), ' AS y")'),
                lambda: seq("df = df.orderBy(", listed(['"id"', '"x"', '"y"', '"g"'], least=4), ").limit(", self.pick("2", "3", "4"), ")"),
                lambda: seq('df = df.select("id", "x", "y", "g").distinct()'),
                lambda: seq('df = df.groupBy("id", "g").agg(', self.aggregate(), '.alias("x"), ', self.aggregate(), '.alias("y"))'),
                lambda: seq("df = df.join(v.select(F.col(\"k\").alias(\"vk\"), F.col(\"z\").alias(\"vz\")), F.col(\"vk\") == F.col(", self.pick('"id"', '"x"'), "), ", self.pick('"left"', '"left"', '"inner"', '"leftouter"'), ').drop("vk", "vz")'),
                lambda: seq("df = df.join(u.select(F.col(\"k\").alias(\"id\")), \"id\", ", self.pick('"left_semi"', '"left_anti"', '"left"', '"inner"'), ")"),
                lambda: seq('df = df.select("id", "x", "y", "g").', self.pick("union", "unionAll", "unionByName"), '(t.select("id", ', self.pick('"x", "y"', '"y", "x"'), ', "g"))'),
                lambda: seq("df = df.", self.pick("fillna(0)", "fillna('z')", 'fillna({"g": "z"})', 'fillna(0, subset=["x"])', 'na.fill({"x": 7})', 'dropna(subset=["x"])', 'na.drop("all")', "dropna(how='any', subset=['x', 'y'])")),
                lambda: seq("df = df.", self.pick('withColumnRenamed("x", "n").withColumnRenamed("n", "x")', 'alias("q")', 'drop("ds")', 'replace("a", "b", subset=["g"])', "replace(1, 2)")),
            ]  # fmt: skip
            return self.random.choice(forms)()

        return replace(seq(make()), kind="step", scope="steps", again=self.step)

    def condition(self) -> Node:
        column = self.pick('F.col("x")', 'F.col("y")', 'F.col("id")', "df.x", "df.id", 'df["y"]')
        forms: list[Callable[[], Node]] = [
            lambda: seq(column, self.pick(" > ", " < ", " == ", " != "), self.pick("0", "1", "2")),
            lambda: seq(column, self.pick(".isNull()", ".isNotNull()", ".isin(1, 2)", ".between(0, 2)")),
            lambda: seq("(", self.condition(), self.pick(") & (", ") | ("), self.condition(), ")"),
            lambda: seq("~(", self.condition(), ")"),
            lambda: self.pick('"x > 0"', '"x > 1"', '"y IS NULL"', "\"g = 'a'\"", '"id <> 2"'),
            lambda: seq('F.col("g")', self.pick(' == "a"', '.like("a%")', '.startswith("a")', ".eqNullSafe(None)")),
        ]
        found = self.random.choice(forms[:4] + forms[5:] if self.random.random() < 0.8 else forms)()
        return replace(seq(found), kind="py condition", scope="steps", again=self.condition)

    def number(self) -> Node:
        forms: list[Callable[[], Node]] = [
            lambda: self.pick('F.col("x")', 'F.col("y")', 'F.col("id")'),
            lambda: seq('(F.col("x")', self.pick(" + ", " - ", " * "), self.pick("1", "2", 'F.col("y")'), ")"),
            lambda: seq("F.coalesce(", self.pick('"x", "y"', '"y", "x"', 'F.col("x"), F.lit(0)'), ")"),
            lambda: seq("F.when(", self.condition_on_columns(), ", ", self.pick("1", 'F.col("x")'), ")", self.pick("", ".otherwise(0)", '.otherwise(F.col("y"))')),
            lambda: seq("F.length(", self.pick('"g"', 'F.upper("g")', 'F.concat("g", "g")'), ")"),
            lambda: seq(self.pick('F.abs("x")', 'F.greatest("x", "y")', 'F.least("x", "y")', 'F.expr("x + 1")', 'F.expr("x & y")', 'F.lit(3)', 'F.nvl("x", "y")', 'F.isnull("x").cast("int")')),
        ]  # fmt: skip
        return replace(seq(self.random.choice(forms)()), kind="py number", scope="steps", again=self.number)

    def condition_on_columns(self) -> Node:
        return seq(self.pick('F.col("x")', 'F.col("y")'), self.pick(" > ", " < ", " == "), self.pick("0", "1"))

    def text(self) -> Node:
        return self.pick(
            'F.upper("g")', 'F.lower("g")', 'F.col("g")', 'F.concat("g", F.lit("z"))', 'F.concat_ws("-", "g", "g")',
            'F.substring("g", 1, 1)', 'F.regexp_replace("g", "a", "b")', 'F.coalesce("g", F.lit("?"))', 'F.trim("g")',
            'F.lit("c")', 'F.col("x").cast("string")', 'F.lpad("g", 3, "x")', 'F.translate("g", "ab", "ba")',
        )  # fmt: skip

    def aggregate(self) -> Node:
        return self.pick(
            'F.sum("x").cast("int")', 'F.max("y")', 'F.min("x")', 'F.count("*").cast("int")', 'F.count("x").cast("int")',
            'F.count_distinct("y").cast("int")', 'F.sum(F.col("x") + 1).cast("int")', 'F.max(F.coalesce("x", "y"))',
            'F.sum_distinct("x").cast("int")',
        )  # fmt: skip

    def window(self) -> Node:
        def make() -> Node:
            by = self.pick("", '.partitionBy("g")', '.partitionBy("x")', '.partitionBy("id")')
            order = self.pick(
                '.orderBy("id", "x", "y", "g")',
                '.orderBy(F.desc("id"), "x", "y", "g")',
                '.orderBy(F.col("x").asc_nulls_last(), "id", "y", "g")',
            )
            frame = self.pick(
                "",
                "",
                ".rowsBetween(-1, 0)",
                ".rowsBetween(Window.unboundedPreceding, Window.currentRow)",
                ".rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)",
            )
            function = self.random.choice([
                lambda: seq(self.pick("F.row_number()", "F.rank()", "F.dense_rank()", 'F.lag("x")', 'F.lag("x", 2)', 'F.lead("y", 1, 0)'), ".over(Window", by, order, ")"),
                lambda: seq(self.pick('F.sum("x")', 'F.max("y")', 'F.count("*")', 'F.first("x")', 'F.last("x", True)'), ".over(Window", by, order, frame, ")"),
            ])()  # fmt: skip
            return seq(function, '.cast("int")')

        return replace(seq(make()), kind="py window", scope="steps", again=self.window)
