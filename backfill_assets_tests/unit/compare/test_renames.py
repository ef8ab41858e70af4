"""A column that a new version calls otherwise is the same one to a diff: it stays masked, and is the key as before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.compare.query import Fields, compile_diff
from backfill_assets.compare.questions import Question, questions
from backfill_assets.compare.sides import Side
from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Signature
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, FakeTables, a_model, a_pointer, a_project, days

OLD: Fields = [("ds", "date", "date"), ("Id", "bigint", "long"), ("email", "string", "string")]
NEW: Fields = [("ds", "date", "date"), ("key", "bigint", "long"), ("contact", "string", "string")]
WAS = {"ds": "h1", "id": "h2", "email": "h3"}


def asked(now: dict[str, str], *, mask: tuple[list[str], list[str]] = ([], [])) -> Question:
    """Of version 1, with columns `OLD`, and version 2, whose columns have these meanings."""
    versions = {
        ("users", version): Version(
            model="users",
            version=version,
            upstream={},
            columns=(),
            definition={"mask": masks},
            signature=Signature(rows="rows", columns=columns),
            created=NOW,
        )
        for version, columns, masks in (("1", WAS, mask[0]), ("2", now, mask[1]))
    }
    old, new = (a_pointer("users", version, days("01")) for version in "12")
    project = a_project(a_model("users", grain=("key",)))
    tables = FakeTables()
    for version in "12":
        tables.create("users", version)
    sides = Side(name="prod", pointers={"users": old}), Side(name="plan", pointers={"users": new})
    [found] = questions(project, versions, tables, *sides)
    return found


RENAMED = {"ds": "h1", "key": "h2", "contact": "h3"}


@pytest.mark.parametrize("mask", [(["email"], []), ([], ["contact"]), (["Email"], ["contact"])])
def test_a_mask_follows_a_rename(mask: tuple[list[str], list[str]]) -> None:
    """To both sides, whichever of the versions had it."""
    found = asked(RENAMED, mask=mask)
    assert found.mask == {"email", "contact"}
    query = compile_diff(found, OLD, NEW)
    assert {c.column.name for c in query.columns if c.column.masked} == {"email", "contact"}


def test_another_column_is_not_masked_by_it() -> None:
    """What the new version computes otherwise has a mask of its own, or none."""
    assert asked(RENAMED | {"contact": "h9"}, mask=(["email"], [])).mask == {"email"}


def test_a_renamed_key_is_the_key() -> None:
    """Read by its own name on each side, and called by the new one."""
    query = compile_diff(asked(RENAMED), OLD, NEW)
    [key] = [c for c in query.columns if c.column.key]
    assert (key.column.name, key.old, key.new) == ("key", ("Id", "long"), ("key", "long"))
    assert [c.column.name for c in query.columns] == ["ds", "key", "contact", "email"]
    assert query.read(1, "o") == "`Id`" and query.read(1, "n") == "`key`"


def test_a_masked_key_stays_masked() -> None:
    query = compile_diff(asked(RENAMED, mask=(["id"], [])), OLD, NEW)
    assert [c.column.masked for c in query.columns if c.column.key] == [True]


def test_another_key_is_none() -> None:
    """One that is computed otherwise, or whose name the old side has for something else: they share no key."""
    with pytest.raises(PlanError, match="cannot be compared"):
        compile_diff(asked(RENAMED | {"key": "h9"}), OLD, NEW)
    swapped = replace(asked(RENAMED), renamed={"key": "id"})
    both = [*OLD, ("key", "bigint", "long")]
    query = compile_diff(swapped, both, NEW)
    assert [(c.old, c.new) for c in query.columns if c.column.key] == [(("key", "long"), ("key", "long"))]


def test_other_letters_are_kept_apart_from_other_names() -> None:
    """What only letters tell apart is one column, and is told."""
    new: Fields = [("DS", "date", "date"), *NEW[1:]]
    query = compile_diff(asked(RENAMED), OLD, new)
    assert {c.column.name: c.column.was for c in query.columns if c.column.was} == {"DS": "ds"}


def test_whole_numbers_that_become_floats_are_exact() -> None:
    """An id that is another order's by now lies within any tolerance of the old one."""
    old = [("ds", "date", "date"), ("key", "int", "integer"), ("a", "bigint", "long"), ("b", "double", "double")]
    new = [("ds", "date", "date"), ("key", "int", "integer"), ("a", "double", "double"), ("b", "float", "float")]
    query = compile_diff(asked(RENAMED), old, new)
    assert {c.column.name: query.near(i) for i, c in enumerate(query.columns)} == {
        "ds": 1e-9, "key": 1e-9, "a": 0.0, "b": 1e-9,
    }  # fmt: skip
    assert "abs(o_c2 - n_c2) <= 0.0D" in query.joined("old", "new", query.compared)
