"""A total looks wrong: what is it made of, and who else reads it? Before and after an edit (F1).

No Spark is started.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backfill_assets_tests.projects import backfill_here, small_project

CONSUMERS = """\
last_verified: 2024-01-03
consumers:
  - {name: board, owner: cmo@example.com, reads: {running: [total]}}
  - {name: counts, owner: me@example.com, reads: {daily: [n]}}
"""


def look(root: Path, target: str) -> Any:
    """What `lineage` says, as JSON."""
    said = backfill_here("lineage", target, "--json", project=root)
    assert said.code == 0, said
    return said.json


def upwards(root: Path, column: str) -> set[str]:
    """All that a column is made of, asked step by step as a person does."""
    found, todo = set[str](), [column]
    while todo:
        name = todo.pop()
        model, _, last = name.rpartition(".")
        up = look(root, name)["columns"][last] if model in ("daily", "running") else []
        todo += [u for u in up if u not in found]
        found |= set(up)
    return found


def downwards(root: Path, column: str) -> set[str]:
    """All consumers of a column, asked the same way."""
    found, todo = set[str](), [column]
    while todo:
        name = todo.pop()
        told = look(root, name)
        found |= {c["name"] for c in told["consumers"]}
        todo += [f"{reader}.{c}" for reader, uses in told["read_by"].items() for c in uses[name.rpartition(".")[2]]]
    return found


def test_from_a_wrong_total_to_all_who_read_it(tmp_path: Path) -> None:
    """The tree and the single steps say the same; an edited formula has the readers that it had; nobody reads a column
    that is new; of one that there is not, those that there are are named."""
    root = small_project(tmp_path, days=2)
    (root / "consumers.yml").write_text(CONSUMERS)
    tree = backfill_here("lineage", "running.total", project=root)
    assert tree.code == 0
    made_of = upwards(root, "running.total")
    assert {"daily.total", "raw.events.amount"} <= made_of and "raw.events.id" not in made_of
    assert all(name in tree.out for name in made_of) and "board (dashboard of cmo@example.com): total" in tree.out
    assert downwards(root, "daily.total") == {"board"} and downwards(root, "daily.n") == {"counts"}

    model = root / "models" / "daily.sql"
    first = model.read_text()
    for old, column in (("sum(amount) AS total", "total"), ("count(*) AS n", "n")):
        before = downwards(root, f"daily.{column}")
        model.write_text(first.replace(old, f"1 + {old}"))
        assert downwards(root, f"daily.{column}") == before
    model.write_text(first.replace("AS total", "AS total, max(amount) AS most"))
    assert "raw.events.amount" in upwards(root, "daily.most") and not downwards(root, "daily.most")
    unknown = backfill_here("lineage", "daily.amount", project=root)
    assert unknown.code == 2 and "why: it has: ds, kind, n, total, most" in unknown.err
