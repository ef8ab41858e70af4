"""Is the walk in docs/architecture.md held to the code? What moved, is not called, or is one too many is refused."""

from __future__ import annotations

import pytest

from backfill_assets_tests import walk


def test_the_walk_is_true() -> None:
    """Every hop is there, and is called by the one above it."""
    *lines, told = walk.walk()
    assert lines and told.startswith(f"{len(walk.WALK.splitlines())} hops in ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("build.build:bild", "there is no build.build:bild"),
        ("build.build:build\n  build.batch:build_bath", "there is no build.batch:build_bath"),
        ("build.apply:apply\n  build.batch:build_batch", "does not call"),
        ("build.build:build\n  build.batch:build_batch\n  promote.promote:promote", "build:build does not call"),
        ("audits.scan:scan_audits\n  state.ledger:Ledger.append", "does not call"),
        ("build.build:build\n" * (walk.MOST + 1), "are more than"),
    ],
)  # fmt: skip
def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, text: str, why: str) -> None:
    """A name that is not there; a call that is not made; a list's `append`, which is not the ledger's; a long way."""
    monkeypatch.setattr(walk, "WALK", text)
    with pytest.raises(ValueError, match=why):
        walk.walk()
