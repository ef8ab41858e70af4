"""What is seen through is listed, and nothing else is."""

from __future__ import annotations

import pytest

from backfill_assets.core.digest import digest
from backfill_assets.core.model import Column, Signature
from backfill_assets.plan.category import Category, change_between
from backfill_assets.sql.parsing import parse
from backfill_assets.sql.signature import Opaque, Table, query_signature
from backfill_assets_tests.projects import CHECKOUT
from backfill_assets_tests.unit.sql.signature_pairs import KEYS, OTHER, SAME, TYPES


def table(name: str) -> Table:
    types = TYPES[name]
    return Table(
        name=name,
        signature=Signature(rows=digest(name), columns={c: digest(name, c) for c in types}),
        key=KEYS.get(name),
        columns=tuple(Column(name=c, type=t) for c, t in types.items()),
    )


TABLES = {name: table(name) for name in TYPES}


def signature_of(sql: str) -> Signature | None:
    """None: opaque."""
    try:
        return query_signature(parse(sql), TABLES)
    except Opaque:
        return None


def test_each_rewrite_has_pairs() -> None:
    """What the docs list has queries that prove it in Spark, and these are listed."""
    text = (CHECKOUT / "docs" / "categories.md").read_text()
    _, table = text.split("| name | same | if | because |\n|---|---|---|---|\n")
    listed = [line.split(" | ")[0].removeprefix("| ") for line in table.split("\n\n")[0].splitlines()]
    assert sorted(listed) == sorted(SAME)


@pytest.mark.parametrize(("name", "old", "new"), [(name, *pair) for name, pairs in SAME.items() for pair in pairs])
def test_is_seen_through(name: str, old: str, new: str) -> None:
    """The rows count as the same, and the values of columns that both have."""
    before, after = signature_of(old), signature_of(new)
    assert before is not None and after is not None
    found = change_between(before, after)
    assert not found.rows and not found.columns, found


@pytest.mark.parametrize(("old", "new"), OTHER)
def test_is_not_seen_through(old: str, new: str) -> None:
    """The rows or a column count as other ones, or a text as opaque."""
    before, after = signature_of(old), signature_of(new)
    assert before is None or after is None or change_between(before, after).category is Category.BREAKING
