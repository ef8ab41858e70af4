"""A column that only an audit names, of a model whose columns nobody knew: refused before a row is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import DateType, LongType, StructField, StructType

from backfill_assets.adapters.version_table import create_version_table
from backfill_assets.build.engine import Job
from backfill_assets.core.errors import BuildError
from backfill_assets.core.model import Audit
from backfill_assets_tests.fakes import a_model


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [("expression", {"expression": "id > gone"}), ("not_null", {"columns": ["Gone"]}), ("unique", {"columns": "gone"})],
)
def test_a_column_that_only_an_audit_names(tmp_path: Path, kind: str, arguments: dict[str, object]) -> None:
    """The error says which, and that the audits name it; no table is made. Case does not matter."""
    schema = StructType([StructField("ds", DateType()), StructField("ID", LongType())])
    model = a_model("m", audits=(Audit(name="check", kind=kind, arguments=arguments),))
    with pytest.raises(BuildError) as caught:
        create_version_table(Job(model=model, version="v", inputs={}), schema, str(tmp_path / "t"))
    assert "has no column" in caught.value.what and "`audits` names it" in caught.value.why
    assert not (tmp_path / "t").exists()
    fine = a_model("m", audits=(Audit(name="check", kind="not_null", arguments={"columns": ["id", "DS"]}),))
    assert create_version_table(Job(model=fine, version="v", inputs={}), schema, str(tmp_path / "t"))
