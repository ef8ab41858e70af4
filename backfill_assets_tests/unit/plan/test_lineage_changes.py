"""Columns that read others than before are named with what was written about them, in plan, diff and packet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backfill_assets.app.diff import Compared
from backfill_assets.cli.diff import diff_json, print_diff
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.compare.expect import judge_moves
from backfill_assets.core.codec import to_plain
from backfill_assets.core.model import Column, ColumnRef, Signature
from backfill_assets.evidence.make import make
from backfill_assets.plan.estimate import estimate
from backfill_assets.plan.lineage_changes import LineageChange, lineage_changes, written, written_then
from backfill_assets.plan.reasons import ROWS
from backfill_assets.project.stored import to_definition
from backfill_assets_tests.fakes import World, a_model, days
from backfill_assets_tests.packets import a_subject, some_inputs
from backfill_assets_tests.unit.compare.test_diff_text import a_diff

LOCAL = "the customer's wall clock, without a zone"


def reads(*columns: str) -> frozenset[ColumnRef]:
    return frozenset(ColumnRef(table="raw.c", column=column) for column in columns)


def a_signature(rows: str = "at", **columns: str) -> Signature:
    """What each column reads, as words; `rows` is what decides which rows there are."""
    return Signature(
        rows="r",
        columns=dict.fromkeys(columns, "h"),
        row_reads=reads(*rows.split()),
        column_reads={name: reads(*words.split()) for name, words in columns.items()},
    )


def said(
    old: Signature, new: Signature, was: dict[str, str] | None = None, says: dict[str, str] | None = None
) -> list[str]:
    described = {"local": f"{LOCAL}."}
    found = lineage_changes("m", old, new, was or {}, says or {}, lambda ref: described.get(ref.column, ""))
    return [one.text for one in found]


def test_another_column_than_before() -> None:
    """The new one with what is written about it, the old one, and that what is written of the result stays."""
    old, new = a_signature(cpa="spend click_time"), a_signature(cpa="spend local")
    words = {"cpa": "Spend per acquisition."}
    assert said(old, new, words, words) == [
        f"cpa now reads raw.c.local ('{LOCAL}') instead of raw.c.click_time; its written meaning is unchanged"
    ]
    assert said(old, new, words, {"cpa": "By the local day."})[0].endswith("; its written meaning was changed as well")
    assert said(old, new)[0].endswith("instead of raw.c.click_time")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (a_signature(a="x"), a_signature(a="x y"), "a now reads raw.c.y as well"),
        (a_signature(a="x y"), a_signature(a="y"), "a does not read raw.c.x any more"),
        (a_signature(a="x y", b="x y"), a_signature(a="y", b="y"), "a, b do not read raw.c.x any more"),
        (
            a_signature("at", a="x"),
            a_signature("local", a="x"),
            f"which rows there are now depends on raw.c.local ('{LOCAL}') instead of raw.c.at",
        ),
        (
            a_signature("at", a="at"),
            a_signature("y", a="y"),
            "a, and which rows there are, now read raw.c.y instead of raw.c.at",
        ),
    ],
)  # fmt: skip
def test_more_and_less(old: Signature, new: Signature, text: str) -> None:
    """What comes to be read, what is read no more, of columns together where it is the same; and rows."""
    assert said(old, new) == [text]


def test_nothing_to_say() -> None:
    """The same columns, columns of one side only, and code that nobody looks into."""
    whole = Signature(rows="r", columns={"a": "h"})
    assert said(a_signature(a="x"), a_signature(a="x", b="y")) == []
    assert said(whole, a_signature(a="x")) == said(a_signature(a="x"), whole) == []


def test_what_is_written_is_kept_with_the_version() -> None:
    """A header's descriptions and what its contract says they mean, as the version's record keeps them."""
    column = Column(name="Spend", type="int", description="In  cents.")
    model = a_model("m", columns=(column, Column(name="ds")))
    assert written_then(to_definition(model)) == {"spend": "In cents."}
    assert written([("spend", "In cents.")], {"Spend": "EUR", "n": "rows"}) == {"spend": "In cents.; EUR", "n": "rows"}


ONE = LineageChange(
    model="ads", columns=("spend",), before=("raw.c.at",), now=("raw.c.local",), meaning="unchanged",
    text="spend now reads raw.c.[red]local instead of raw.c.at; its written meaning is unchanged",
)  # fmt: skip


def test_the_diff_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Below its model, before the rows; and as values."""
    diff, judgement = a_diff(), judge_moves(a_diff(), [])
    other = replace(ONE, model="other", text="not of this")
    print_diff(Compared(diff=diff, judgement=judgement, rewired=(ONE, other)))
    head, line, *_ = capsys.readouterr().out.splitlines()
    assert head.startswith("ads  ") and line.strip() == ONE.text
    assert diff_json(Compared(diff=diff, judgement=judgement, rewired=(ONE,)))["lineage"] == [to_plain(ONE)]


def test_the_pull_request_and_the_packet_say_it() -> None:
    """As text, whatever is in it."""
    world = World(a_model("ads", "raw"))
    plan = replace(world.plan(), rewired=(replace(ONE, columns=(ROWS,)),))
    text = plan_markdown(plan, world.project, estimate(plan.work, [], world.project.models, at_once=1))
    assert "`ads`: spend now reads raw.c.\\[red\\]local instead of raw.c.at" in text
    packet, files = make(replace(some_inputs(), subjects=(a_subject(days("01", "04"), rewired=(ONE.text,)),)))
    assert any("Spend now reads raw.c.[red]local instead of" in line for line in packet.summary.changed)
    assert "Spend now reads raw.c.[red]local instead of" in files["packet.html"].decode()
    assert "Spend now reads raw.c.\\[red\\]local instead of" in files["release_note.md"].decode()
