"""What a packet says under a fixed clock, word for word. `python -m backfill_assets_tests.golden.test_packet_text`
writes the files of `packet/` anew: read the difference before it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.evidence.inputs import Inputs
from backfill_assets.evidence.make import make
from backfill_assets.plan.stages import Request, plan_from_json
from backfill_assets_tests.fakes import days, ranges
from backfill_assets_tests.packets import a_document, a_subject, some_inputs

GOLDEN = Path(__file__).parent / "packet"
WATCHED = ("packet.json", "release_note.md", "cutover_message.md")


def a_part_of_history() -> Inputs:
    """Two restated days, without a comparison or an approval."""
    scope = days("02", "03")
    whole = a_subject(days("01", "04"))
    subject = a_subject(
        scope,
        target=replace(whole.target, version="old.1f3a", intervals=ranges(scope)),
        before=whole.before,
        kept=ranges(days("01"), days("04")),
    )
    document = a_document(scope) | {"changes": {}}
    return some_inputs(
        subjects=(subject,), said=plan_from_json(document), approvals=(), proofs={}, consumers_confirmed=None
    )


def for_a_reason() -> Inputs:
    """Its author said what it is for."""
    inputs = some_inputs()
    return replace(inputs, said=replace(inputs.said, request=Request(why="a double click is one *click*")))


CASES: Mapping[str, Inputs] = {"changed": for_a_reason(), "partial": a_part_of_history()}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", WATCHED)
def test_word_for_word(case: str, name: str) -> None:
    """The packet, the release note and the message to the readers are what was reviewed."""
    _, files = make(CASES[case])
    assert files[name].decode() == (GOLDEN / case / name).read_text()


def test_a_part_of_history_says_so() -> None:
    """The release note of a partial range says it before anything else (E5)."""
    note = (GOLDEN / "partial" / "release_note.md").read_text()
    warning = "**This release covers a part of history only.**"
    assert note.index(warning) < note.index("## What changed")
    assert warning not in (GOLDEN / "changed" / "release_note.md").read_text()


if __name__ == "__main__":
    for case, inputs in CASES.items():
        (GOLDEN / case).mkdir(parents=True, exist_ok=True)
        for name in WATCHED:
            (GOLDEN / case / name).write_bytes(make(inputs)[1][name])
