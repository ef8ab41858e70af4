"""A packet where only Markdown is shown: the questions, the note, and where the rest is; never longer than said."""

from __future__ import annotations

import pytest

from backfill_assets.evidence.notes import release_note
from backfill_assets.evidence.packet import packet
from backfill_assets.evidence.packet_text import packet_text
from backfill_assets.evidence.questions import questions
from backfill_assets.evidence.shortened import LONGEST
from backfill_assets_tests.packets import some_inputs


def test_it_has_the_questions_and_the_note() -> None:
    made = packet(some_inputs())
    text = packet_text(made)
    table, _, note = text.partition("\n\n")
    assert note == release_note(made) and len(table.splitlines()) == 2 + len(questions(made))
    for one in questions(made):
        assert f"| {one.asks} | {one.said} | " in table


@pytest.mark.parametrize("longest", [200, 700, LONGEST])
def test_it_is_cut_at_a_line(longest: int) -> None:
    """What is left out is said, with the command that shows it."""
    made = packet(some_inputs())
    whole, text = packet_text(made, 10**6), packet_text(made, longest)
    if len(whole) <= longest:
        assert text == whole
        return
    kept, _, last = text.rstrip().rpartition("\n")
    assert len(kept) <= longest and whole.startswith(kept) and whole[len(kept) - 1] == "\n"
    assert last == f"…the rest is in the packet: `backfill evidence {made.plan.id}`"
