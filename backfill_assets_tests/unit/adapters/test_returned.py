"""What a Python model's function returned that Spark cannot write: what it is, where it was made, what to return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame
from pyspark.sql.group import GroupedData

from backfill_assets.adapters.returned import frame_of
from backfill_assets.core.errors import BuildError
from backfill_assets_tests.fakes import a_model

CODE = "from backfill_assets import model\n\n\n@model(start='2024-01-01')\ndef ret(orders, interval):\n    return 1\n"
MODEL = a_model("ret", "orders", language="python", code=CODE, path=Path("/project/models/ret.py"))
MAKE = "return `orders.sparkSession.createDataFrame(…)` of it"


@pytest.mark.parametrize(
    ("made", "what", "fix"),
    [
        (pd.DataFrame(), "a pandas DataFrame, not Spark's", MAKE),
        (pd.Series(dtype="int64"), "a pandas Series, not Spark's", MAKE),
        ([1], "a list, not a DataFrame", MAKE),
        (3, "an int, not a DataFrame", "return the frame itself"),
        (None, "None", "end each way through the function with `return` and the frame"),
        (GroupedData.__new__(GroupedData), "groups without a result (GroupedData)", "`.agg(…)`"),
    ],
)
def test_no_frame(made: Any, what: str, fix: str) -> None:
    """File and line are the function's; it is not tried again."""
    with pytest.raises(BuildError) as told:
        frame_of(made, MODEL, Path("/project"))
    assert told.value.what == f"`ret` returns {what} (models/ret.py:5)"
    assert fix in told.value.fix and "DataFrame" in told.value.why and not told.value.retryable


@pytest.mark.parametrize("kind", [DataFrame, RemoteFrame])
def test_a_frame(kind: Any) -> None:
    """A session's own, and that of a Spark Connect server."""
    frame = kind.__new__(kind, None, None)
    assert frame_of(frame, MODEL, Path("/project")) is frame
