"""What does a plan's packet say, where only Markdown is shown? An owner's questions, and its note; cut to a length."""

from __future__ import annotations

from collections.abc import Iterator

from backfill_assets.core.escaping import markdown
from backfill_assets.evidence.notes import release_note
from backfill_assets.evidence.questions import questions
from backfill_assets.evidence.shape import Packet
from backfill_assets.evidence.shortened import LONGEST, shortened


def packet_text(packet: Packet, longest: int = LONGEST) -> str:
    """The packet as Markdown, of `longest` characters and a line at most."""
    return shortened("\n".join([*_asked(packet), "", release_note(packet)]), packet.plan.id, longest)


def _asked(packet: Packet) -> Iterator[str]:
    yield "| question | answer | number | why |\n|---|---|---|---|"
    for one in questions(packet):
        yield f"| {one.asks} | {one.said} | {markdown(one.number)} | {markdown(one.why)} |"
