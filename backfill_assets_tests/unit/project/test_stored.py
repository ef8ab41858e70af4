"""Does a stored definition say what the model said, also one that an earlier release stored?"""

from __future__ import annotations

import json

from backfill_assets.core.model import TOLERANCE
from backfill_assets.project.stored import from_definition, to_definition
from backfill_assets_tests.fakes import a_model


def test_what_a_diff_needs_is_stored() -> None:
    """Slices, masks and tolerance come back; a record without them has none."""
    model = a_model("orders", "raw", slices=("channel",), mask=("email",), tolerance=0.5, audits=())
    stored = json.loads(json.dumps(to_definition(model)))
    assert from_definition("orders", "1", stored) == model
    for name in ("slices", "mask", "tolerance"):
        del stored[name]
    old = from_definition("orders", "1", stored)
    assert (old.slices, old.mask, old.tolerance) == ((), (), TOLERANCE)
