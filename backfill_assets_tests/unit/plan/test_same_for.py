"""A reader is left beside a changed upstream only where its text would give the same: computed here by DuckDB."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Column, Signature
from backfill_assets.plan.category import change_between, same_for
from backfill_assets.sql.parsing import parse
from backfill_assets.sql.signature import Table, query_signature

OLD = {"id": "int", "x": "int"}
VALUES = {"id": [1, 2, 2], "x": [10, 20, 20], "z": [7, 8, 9], "n": [5, 5, 6]}
OTHER = {"k": [2, 3], "z": [8, 0]}
AFTERS = {
    "a column more": ["id", "x", "z"],
    "one more, in the middle": ["id", "n", "x"],
    "another order": ["x", "id"],
    "the same": ["id", "x"],
}
READERS = {
    # what it gives over each of AFTERS, as the code says: same (s) or perhaps not (-)
    "SELECT id, x + 1 AS y FROM a": "ssss",
    "SELECT * FROM a": "ssss",
    "SELECT id FROM (SELECT * FROM a)": "ssss",
    "SELECT count(*) AS c, max(id) AS m FROM a": "ssss",
    "SELECT * FROM a UNION ALL SELECT k, z FROM o": "---s",
    "SELECT id, x FROM a UNION ALL SELECT k, z FROM o": "ssss",
    "SELECT count(*) AS c, max(id) AS m FROM (SELECT DISTINCT * FROM a)": "---s",
    "SELECT id, (SELECT max(k) FROM o WHERE k = id) AS m FROM a": "ssss",
    "SELECT k FROM o WHERE EXISTS (SELECT 1 FROM a WHERE id = k AND x > z)": "-sss",
    "SELECT z AS q FROM o WHERE k IN (SELECT id FROM a WHERE z > 7)": "-sss",
    "SELECT id, x AS n FROM a GROUP BY id, n": "s-ss",
    "SELECT p, q FROM a AS r(p, q)": "---s",
    "SELECT p, q FROM (SELECT * FROM a) AS r(p, q)": "---s",
    "SELECT p FROM (SELECT * FROM a WHERE id > 1) AS r(p, q)": "---s",
    "WITH r(p, q) AS (SELECT * FROM a) SELECT q FROM r": "---s",
}


def table(columns: list[str]) -> Table:
    marks = {c: digest("a", c) for c in columns}
    typed = tuple(Column(name=c, type="int") for c in columns)
    return Table(name="a", signature=Signature(rows=digest("a"), columns=marks), columns=typed)


def signed(reader: str, columns: list[str]) -> Signature:
    other = Signature(rows="o", columns={c: digest("o", c) for c in OTHER})
    o = Table(name="o", signature=other, columns=tuple(Column(name=c, type="int") for c in OTHER))
    return query_signature(parse(reader), {"a": table(columns), "o": o})


def rows(reader: str, columns: list[str]) -> Counter[tuple[object, ...]] | None:
    """What DuckDB gives, without columns that only `*` brings; None where the text is not valid any more."""
    with duckdb.connect() as engine:
        for name, there in (("a", {c: VALUES[c] for c in columns}), ("o", OTHER)):
            engine.execute(f"CREATE TABLE {name} ({', '.join(f'{c} INT' for c in there)})")
            for row in zip(*there.values(), strict=True):
                engine.execute(f"INSERT INTO {name} VALUES {row}")
        try:
            found = engine.execute(reader)
            names = [d[0] for d in found.description or ()]
            shared = sorted(n for n in names if n not in columns or n in OLD)
            return Counter(tuple(row[names.index(n)] for n in shared) for row in found.fetchall())
        except duckdb.Error:
            return None


@pytest.mark.parametrize(("reader", "said"), READERS.items())
def test_a_reader_beside_a_changed_upstream(reader: str, said: str) -> None:
    """What is called the same is, whatever else the upstream has, and in whatever order."""
    before = list(OLD)
    signature = signed(reader, before)
    for (what, after), expected in zip(AFTERS.items(), said, strict=True):
        change = change_between(table(before).signature, table(after).signature)
        same = same_for(signature, "a", change, before, after)
        assert same == (expected == "s"), what
        assert not same or rows(reader, before) == rows(reader, after), what


def test_what_is_not_taken_apart() -> None:
    """Nobody can say."""
    change = change_between(table(["id"]).signature, table(["id"]).signature)
    assert not same_for(Signature(rows="r", columns={"id": "1"}), "a", change)
