"""Is CONTRIBUTING.md true? Every file that it names is there."""

from __future__ import annotations

import re

from backfill_assets_tests.projects import CHECKOUT

PLACES = ("", "backfill_assets/", "backfill_assets_tests/", "backfill_assets_tests/contracts/", "backfill_assets/defs/")


def test_every_file_that_is_named_is_there() -> None:
    """Named from the top level, from the package, or from the tests."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"[\w./-]+\.(?:py|md)\b", text))
    named |= set(re.findall(r"`((?:backfill_assets|docs)[\w/.]*)[ `]", text))
    assert len(named) > 20
    assert [name for name in sorted(named) if not any((CHECKOUT / place / name).exists() for place in PLACES)] == []
