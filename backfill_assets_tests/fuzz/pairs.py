"""A random chain of models and an edit of one of them; the same seed and number give the same pair."""

from __future__ import annotations

from random import Random

from backfill_assets_tests.fuzz.case import Pair, TableSpec
from backfill_assets_tests.fuzz.data import DATASETS, PORTABLE, SPARK
from backfill_assets_tests.fuzz.edits import edited
from backfill_assets_tests.fuzz.frames import COLUMNS, frame_model
from backfill_assets_tests.fuzz.idioms import idiom
from backfill_assets_tests.fuzz.queries import TYPES, Columns, Queries
from backfill_assets_tests.fuzz.tree import Node, seq

MODELS = ("ma", "mb", "mc")


def pair(seed: int | str, number: int, *, spark: bool) -> Pair:
    """The pair of that number. `spark`: with what only Spark has."""
    random = Random(f"{seed} {number} {spark}")
    while True:
        found = _pair(random, spark)
        if found is not None:
            return found


def _pair(random: Random, spark: bool) -> Pair | None:
    sources = SPARK if spark else PORTABLE
    chosen = dict(random.sample(sorted(sources.items()), random.choice([2, 3])))
    directed = idiom(random, spark) if random.random() < 0.4 else None
    trees: dict[str, Node] = {}
    if spark and random.random() < 0.08:
        directed = None
        trees["ma"] = frame_model("ma", random)
        chosen = {"ma": TableSpec(columns=COLUMNS)} | dict(list(chosen.items())[:1])
    new: dict[str, str] = {}
    if directed is not None:
        kind, columns, old_text, new_text = directed
        trees["ma"], new["ma"] = seq(old_text), new_text
        chosen = {"ma": TableSpec(columns=columns)} | dict(list(chosen.items())[:1])
    length = random.choice([1, 1, 1, 2, 2, 3])
    for name in MODELS[len(trees) : length]:
        queries = Queries(random, spark, dict(chosen))
        if trees and random.random() < 0.4:
            above = list(trees)[-1]
            tree, want = _reader(queries, above, chosen[above].columns, random, spark)
        else:
            want = queries.columns()
            tree = queries.model(want)
        trees[name] = tree
        chosen = {name: TableSpec(columns=want)} | dict(list(chosen.items())[:2])
    old = {name: str(tree) for name, tree in trees.items()}
    if directed is None:
        kind = ""
        for _ in range(10):
            name = random.choice([*trees, next(iter(trees))])
            if (found := edited(trees[name], random)) is not None:
                new[name], kind = str(found[0]), found[1]
                break
        else:
            return None
    new = {name: new.get(name, text) for name, text in old.items()}
    if old == new:
        return None
    return Pair(old=old, new=new, kind=kind, tables=sources, dataset=random.randrange(DATASETS))


def _reader(queries: Queries, above: str, columns: Columns, random: Random, spark: bool) -> tuple[Node, Columns]:
    """A model that reads all of another by `*`, by position."""
    names = list(columns)
    forms = [
        (seq(f"SELECT * FROM {above}"), columns),
        (seq(f"SELECT * FROM {above} UNION ALL SELECT * FROM {above}"), columns),
    ]
    literal = ", ".join(
        {"int": "7", "string": "'z'", "date": "DATE '2024-01-01'"}.get(k, f"CAST(NULL AS {k})")
        for k in columns.values()
    )
    operation = queries.ex.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT")
    forms.append((seq(f"SELECT * FROM {above} ", operation, f" SELECT {literal}"), columns))
    forms.append(
        (
            seq(f"SELECT {literal} ", operation, f" SELECT * FROM {above}"),
            {f"c{i}": k for i, k in enumerate(columns.values())},
        )
    )
    if forms[-1][1]:
        first = ", ".join(f"{v} AS c{i}" for i, v in enumerate(literal.split(", ")))
        forms[-1] = (seq(f"SELECT {first} ", operation, f" SELECT * FROM {above}"), forms[-1][1])
    ends = ", ".join(f"p{i}" for i in range(len(names)))
    forms.append(
        (
            seq(f"SELECT {ends} FROM (SELECT * FROM {above}) AS s({ends})"),
            {f"p{i}": k for i, k in enumerate(columns.values())},
        )
    )
    forms.append((seq(f"SELECT * FROM {above} ORDER BY ALL LIMIT ", queries.ex.pick("1", "2", "3")), columns))
    forms.append((seq(f"SELECT DISTINCT * FROM {above}"), columns))
    if spark:
        forms += [
            (
                seq("SELECT CAST(", queries.ex.pick("hash", "xxhash64"), f"(*) % 1000 AS INT) AS a FROM {above}"),
                {"a": "int"},
            ),
            (seq(f"SELECT to_json(struct(*)) AS a FROM {above}"), {"a": "string"}),
            (
                seq("SELECT CAST(count(", queries.ex.pick("DISTINCT *", "*", "1"), f") AS INT) AS a FROM {above}"),
                {"a": "int"},
            ),
            (seq(f"SELECT coalesce(*) AS a FROM (SELECT {names[0]} FROM {above})"), {"a": columns[names[0]]}),
            (seq(f"SELECT concat_ws('-', array(*)) AS a FROM {above}"), {"a": "string"})
            if set(columns.values()) == {"string"}
            else (seq(f"SELECT size(array(struct(*))) AS a FROM {above}"), {"a": "int"}),
            (
                seq(
                    f"SELECT a, b FROM (SELECT * FROM {above}) LATERAL VIEW explode(array(1)) AS b"
                    if "a" in columns and "b" not in columns
                    else f"SELECT * FROM {above}"
                ),
                {"a": columns["a"], "b": "int"} if "a" in columns and "b" not in columns else columns,
            ),
        ]
    tree, want = random.choice(forms)
    return tree, {n: k if k in TYPES else "int" for n, k in want.items()}
