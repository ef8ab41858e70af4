"""Every mutation still fits the code and names tests that there are; docs/architecture.md says how to run them."""

from __future__ import annotations

import ast

import pytest

from backfill_assets.promote.gate import RULES
from backfill_assets_tests.mutations.copies import ROOT
from backfill_assets_tests.mutations.every import MUTATIONS
from backfill_assets_tests.mutations.mutation import Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.what)
def test_a_mutation_fits_the_code(mutation: Mutation) -> None:
    """Its text is there exactly once, what it becomes is other code, and its tests are there."""
    text = (ROOT / mutation.edit.file).read_text(encoding="utf-8")
    changed = mutation.edit.applied(text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        there = (ROOT / "backfill_assets_tests" / "unit" / file).read_text(encoding="utf-8")
        assert f"def {name}(" in there if name else there


def test_every_rule_of_the_gate_is_broken_once() -> None:
    broken = {m.what.partition(":")[0] for m in MUTATIONS}
    assert not {rule.__name__ for rule in RULES} - broken
    assert len(MUTATIONS) >= 40
