"""What is compared in the data before a plan's models move?"""

from __future__ import annotations

from dataclasses import replace

from backfill_assets.core.model import ColumnRef, Override, Project, Signature
from backfill_assets.plan.category import Category, TableChange
from backfill_assets.plan.proof import Drift, kept_readers
from backfill_assets.plan.stages import Plan, Request
from backfill_assets_tests.fakes import NOW, a_model, a_project, days, ranges

WORD = Override(
    model="a",
    version="a-0",
    code="a-9",
    columns=("ds", "n"),
    reason="only moved",
    place="models/a.sql:3",
    reaches=("b",),
)


def project() -> Project:
    """b reads `n` of a."""
    reads = frozenset((ColumnRef(table="a", column="n"),))
    signature = Signature(rows="r", columns={"ds": "1"}, row_reads=reads)
    return replace(a_project(a_model("a"), a_model("b", "a")), signatures={"b": signature})


def plan(change: TableChange, *overrides: Override) -> Plan:
    return Plan(
        environment="prod",
        now=NOW,
        request=Request(),
        models=("a", "b"),
        stages=(),
        blocked=(),
        kept={},
        sources={},
        changes={"a": change, "b": TableChange(category=Category.UNCHANGED)},
        overrides=overrides,
    )


ADDED = TableChange(category=Category.ADDITIVE, added=("m",))


def test_what_kept_models_read() -> None:
    """The columns that they read of what changed."""
    [kept] = kept_readers(project(), plan(ADDED))
    assert (kept.upstream, kept.readers, kept.columns, kept.word) == ("a", ("b",), ("n",), None)


def test_what_an_author_vouched_for() -> None:
    """Every column of the word, whether somebody reads it or not; its remedy is to take the word back."""
    word, reads = kept_readers(project(), plan(ADDED, WORD))
    assert (word.upstream, word.readers, word.columns, word.word) == ("a", (), ("ds", "n"), WORD)
    assert reads.columns == ("n",)
    drift = Drift(kept=word, intervals=ranges(days("03", "04")), again={})
    assert str(drift) == (
        "a is not the same as version a-0 in ds, n: other rows or values in 2024-01-03..2024-01-04\n"
        "  models/a.sql:3 says that it is: only moved\n"
        "  Remove `same_as` there, or name fewer columns; unless what it reads changed since that version was built."
    )


def test_what_a_readers_author_vouched_for_may_differ() -> None:
    """b reads the column that changed and is kept by its own author's word: that it differs is no news."""
    changed = TableChange(category=Category.BREAKING, columns=("n",))
    assert kept_readers(project(), plan(changed, replace(WORD, model="b"))) == []


def test_a_word_for_a_table_that_is_not_built() -> None:
    """The version itself is shown: there is nothing to compare."""
    assert kept_readers(project(), plan(TableChange(category=Category.UNCHANGED), WORD)) == []
