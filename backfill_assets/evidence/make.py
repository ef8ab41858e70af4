"""Which files make a packet? All of them from the same inputs, as bytes that are ready to be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backfill_assets.core.codec import to_plain
from backfill_assets.evidence.inputs import Inputs
from backfill_assets.evidence.notes import cutover_message, release_note
from backfill_assets.evidence.packet import packet
from backfill_assets.evidence.page import page
from backfill_assets.evidence.shape import Packet
from backfill_assets.evidence.write import KEYS, MESSAGE, NOTE, PACKET, PAGE, TABLES, as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A packet in its folder. `digest` is its manifest's; `changed` says whether it was written just now."""

    packet: Packet
    location: str
    digest: str
    changed: bool


def make(inputs: Inputs) -> tuple[Packet, Mapping[str, bytes]]:
    """The packet, and every file of its folder but the manifest."""
    made, ids = packet(inputs), inputs.said.request.ids
    return made, {
        PACKET: as_json(made.model_dump(mode="json")),
        PAGE: page(made).encode(),
        NOTE: release_note(made).encode(),
        MESSAGE: cutover_message(made).encode(),
        TABLES: as_json({"tables": [to_plain(s.table) for s in inputs.subjects if s.table]}),
        **({KEYS: ids.to_csv().encode()} if ids else {}),
    }
