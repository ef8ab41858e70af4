"""What the product says of an edit is so: over 500 random edits a run, and each class in which it once was not.

`python -m backfill_assets_tests.fuzz` runs more of them, and makes what it finds small.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from backfill_assets_tests.fuzz.case import Pair
from backfill_assets_tests.fuzz.cli import described
from backfill_assets_tests.fuzz.corpus import DIRECTED, read_corpus
from backfill_assets_tests.fuzz.duck import DuckEngine
from backfill_assets_tests.fuzz.engine import Engine
from backfill_assets_tests.fuzz.pairs import pair
from backfill_assets_tests.fuzz.run import Tally, run
from backfill_assets_tests.fuzz.spark import SparkEngine, fast

FIXED = "2024"
DUCKDB, SPARK = {FIXED: 150, "commit": 260}, {FIXED: 40, "commit": 60}
"""How many edits of which seed: 510 in all."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[SparkEngine]:
    with fast(spark):
        yield SparkEngine(spark)


def moving_seed() -> str:
    """The commit: new edits with each, and the same ones whenever it is tested again."""
    root = Path(__file__).parent
    asked = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    found = subprocess.run(asked, check=False, capture_output=True, text=True)
    return found.stdout.strip() or FIXED


def nothing_untrue(pairs: Iterable[Pair], engine: Engine, again: str) -> Tally:
    """What running them came to. Fails with each thing that is said and not so, and how to run it `again`."""
    tally = run(pairs, engine, precision=False)
    assert not tally.found, "\n".join([f"again, and made small: {again}", *map(described, tally.found[:10])])
    return tally


def random_edits(counts: dict[str, int], engine: Engine) -> None:
    for name, count in counts.items():
        seed = moving_seed() if name == "commit" else name
        pairs = (pair(seed, number, spark=engine.name == "spark") for number in range(count))
        again = f"python -m backfill_assets_tests.fuzz --edits {count} --seed {seed} --engine {engine.name}"
        print(again)
        tally = nothing_untrue(pairs, engine, again)
        assert tally.invalid + tally.refused.total() + tally.failed < count / 2, "most edits said nothing"


def test_edits_in_duckdb() -> None:
    """Random edits of chains of models, in what Spark and DuckDB share."""
    random_edits(DUCKDB, DuckEngine())


def test_edits_in_spark(engine: SparkEngine) -> None:
    """Random edits with what only Spark has: pipes, generators, `*` in functions, casts, PySpark functions."""
    random_edits(SPARK, engine)


def test_directed_edits(engine: SparkEngine) -> None:
    """Each class of edits of which something untrue was once said, over two sets of rows."""
    again = f"python -m backfill_assets_tests.fuzz --corpus {DIRECTED.name} --engine spark"
    nothing_untrue(read_corpus(DIRECTED, spark=True, datasets=(0, 1)), engine, again)
