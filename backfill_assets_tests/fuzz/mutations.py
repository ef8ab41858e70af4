"""Would the fuzzer notice? Each rewrite's precondition is taken out once, in a copy of the code; the fuzzer has to find it.

`python -m backfill_assets_tests.fuzz.mutations` tries all of them with as many edits as CI runs, and with the directed pairs,
in DuckDB; `--spark` those that need Spark with the directed pairs there, too.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass

from backfill_assets_tests.mutations.copies import Copy, Edit, copied

SIGNATURE = "backfill_assets/sql/signature/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """`old` is in the file once, and becomes `new`: `what` is not looked at any more."""

    what: str
    file: str
    old: str
    new: str
    spark: bool = False

    @property
    def edit(self) -> Edit:
        return Edit(file=SIGNATURE + self.file, old=self.old, new=self.new)


MUTATIONS = (
    Mutation(what="the rows that a window sees", file="expressions.py", old='over = ["window", self._context.window]', new='over = ["window"]'),
    Mutation(what="FILTER, OVER and the like behind a call", file="expressions.py", old="names, modifiers, over)", new="names, over)"),
    Mutation(what="the order under a LIMIT", file="query.py", old='mix("limit", shaped.relation.rows, order, counts)', new='mix("limit", shaped.relation.rows, counts)'),
    Mutation(what="what LIMIT and OFFSET say", file="query.py", old='mix("limit", shaped.relation.rows, order, counts)', new='mix("limit", shaped.relation.rows, order)'),
    Mutation(what="the columns under DISTINCT", file="select.py", old='mix("distinct", rows, in_any_order(mark for _, mark in columns))', new='mix("distinct", rows)'),
    Mutation(what="the columns of UNION, EXCEPT, INTERSECT", file="query.py", old="values = [] if everyone else [mark for _, mark in columns]", new="values = []"),
    Mutation(what="which side a column of a set operation is from", file="query.py", old='mix("either", mark, other)', new='mix("either", mark)'),
    Mutation(what="RIGHT and FULL beside a keyed LEFT JOIN", file="select.py", old='item.kind == "LEFT" and not outer and', new='item.kind == "LEFT" and'),
    Mutation(what="that a joined key is unique", file="joins.py", old="return right.key <= fixed", new="return bool(fixed)"),
    Mutation(what="what a keyed LEFT JOIN compares", file="select.py", old='mix("left", relation.rows, in_any_order(map(together, conditions_)))', new='mix("left", relation.rows)'),
    Mutation(what="that ON of an outer join is no filter", file="select.py", old='inner = inner and item.kind == "INNER"', new="inner = inner and True"),
    Mutation(what="of which table a column is", file="relations.py", old='mark if placed.place == 0 and self.alone else mix("of", placed.place, mark)', new="mark"),
    Mutation(what="which sign compares", file="rewrites.py", old='_EITHER_WAY = ("=", "<>", "<=>")', new='_EITHER_WAY = ("=", "<>", "<=>", "<", "<=")'),
    Mutation(what="what HAVING asks", file="select.py", old='rows = mix("having", rows, in_any_order(together(c) for c in conditions(node.having, context)))', new='rows = mix("having", rows)'),
    Mutation(what="that OR keeps AND together", file="expressions.py", old='if any(isinstance(n, Tok) and (n.is_word("OR") or n.is_symbol("->")) for n in nodes):', new="if False:"),
    Mutation(what="types of joined keys", file="joins.py", old="if mine.type is None or mine.type != theirs.type:", new="if False:", spark=True),
    Mutation(what="names and order of what `*` means in a function", file="expressions.py", old='mix("star", *[[column, mark] for column, mark in context.scope.everything(of)])', new='mix("star")', spark=True),
    Mutation(what="what a LATERAL VIEW makes rows of", file="select.py", old="view.function, rows, self._arguments(view.arguments))", new="view.function, rows)", spark=True),
    Mutation(what="names of a struct's fields", file="expressions.py", old="names = _written(group.nodes) if name in NAMES_ITS_FIELDS else []", new="names: list[object] = []", spark=True),
    Mutation(what="the order of operators", file="expressions.py", old="else i for i in items])", new="else i for i in sorted(items, key=str)])", spark=True),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """1 when a mutation is not found, or its text is not in the code any more."""
    parser = argparse.ArgumentParser(prog="python -m backfill_assets_tests.fuzz.mutations", description=__doc__)
    parser.add_argument("--edits", type=int, default=410, help="how many in DuckDB (410, as CI)")
    parser.add_argument("--seed", default="2024")
    parser.add_argument("--spark", action="store_true", help="those that need Spark, too")
    asked = parser.parse_args(arguments)
    missed = 0
    with copied() as copy:
        for mutation in MUTATIONS:
            if mutation.spark and not asked.spark:
                continue
            found = tried(mutation, copy, asked.edits, asked.seed)
            missed += not found
            print(f"{'found' if found else 'MISSED':7}{mutation.what}", flush=True)
    return 1 if missed else 0


def tried(mutation: Mutation, copy: Copy, edits: int, seed: str) -> bool:
    """Whether the fuzzer finds it. ValueError where the code has changed."""
    directed = ["--corpus", str(copy.folder / "backfill_assets_tests" / "fuzz" / "directed.jsonl")]
    ways = [["--engine", "spark", *directed]] if mutation.spark else [["--edits", str(edits), "--seed", seed], directed]
    with copy.edited(mutation.edit):
        return any(_finds(way, copy) for way in ways)


def _finds(way: list[str], copy: Copy) -> bool:
    """Whether a run of the fuzzer over a copy of the code finds anything. ValueError when it does not end."""
    command = [sys.executable, "-m", "backfill_assets_tests.fuzz", *way, "--claims-only", "--whole", "--enough", "1"]
    done = subprocess.run(
        command, cwd=copy.folder, env=dict(copy.environment), capture_output=True, text=True, check=False
    )
    if "untrue or crashed" not in done.stdout:
        raise ValueError(f"{shlex.join(command)}: {done.stderr[-500:]}")
    return done.returncode == 1


if __name__ == "__main__":
    sys.exit(main())
