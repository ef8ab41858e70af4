"""Which questions does an owner ask of a plan, and how can they be answered? Known before any packet is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Grade = Literal["good", "look", "bad", "open", "none"]
"""All is well; there is something to look at; it is not as it has to be; nobody knows yet; it does not apply."""

ASKED: Mapping[str, str] = {
    "keys": "Is every key there once?",
    "rows": "How many rows come and go?",
    "moved": "Did only move what should?",
    "contracts": "Do promises to readers hold?",
    "queries": "Do readers' own queries still answer?",
    "audits": "Are the audits green?",
    "owner": "Did the owners approve?",
}
"""Short name → question, in the order in which they are asked."""

ANSWERS: Mapping[Grade, str] = {
    "good": "all is well",
    "look": "to be looked at",
    "bad": "not as it has to be",
    "open": "not known yet",
    "none": "does not apply",
}
