"""What an imported query reads is told whatever its columns are called."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from backfill_assets.importing.columns import qualified


@pytest.mark.parametrize("name", ["a; b", '"q"', "count(1)", "plain"])
def test_a_column_of_any_name_is_found(name: str) -> None:
    tree = parse_one(f"SELECT `{name}` AS n FROM t", dialect="spark")
    assert isinstance(tree, exp.Query)
    found = qualified(tree, {"t": {name: "int"}})
    assert found is not None and found.selects[0].is_type("int")
