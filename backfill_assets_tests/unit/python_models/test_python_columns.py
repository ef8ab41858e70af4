"""A Python model without `columns:` has those of the SQL that it compiles to, and what reads it knows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.core.errors import ProjectError
from backfill_assets.core.model import ColumnRef
from backfill_assets.plan.category import Category, change_between
from backfill_assets.project.loader import load_project
from backfill_assets.python_models import compiled as python_sql
from backfill_assets_tests.unit.project.helpers import project, sql

HEAD = """\
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["ds"]{more})
def {name}({read}, interval):
    return {body}
"""
DAILY = HEAD.format(
    name="daily", read="events", more="",
    body="events.groupBy('ds').agg(F.sum('spend').alias('Spend'), F.count('*').alias('n'))",
)  # fmt: skip
NEXT = HEAD.format(name="nxt", read="daily", more="", body="daily.withColumn('twice', F.col('n') * 2)")
AFTER = sql("SELECT ds, twice, spend FROM nxt WHERE ds >= :start AND ds < :end")


def test_columns_and_lineage_come_from_the_sql(tmp_path: Path) -> None:
    """Two Python models and an SQL model in a row, of which none declares a column."""
    found = load_project(project(tmp_path, daily_py=DAILY, nxt_py=NEXT, after_sql=AFTER))
    names = {model: [c.name for c in columns] for model, columns in found.columns.items()}
    assert names["daily"] == ["ds", "Spend", "n"]
    assert names["nxt"] == ["ds", "Spend", "n", "twice"]
    assert names["after"] == ["ds", "twice", "spend"]
    assert found.lineage["daily"]["Spend"] == (ColumnRef(table="events", column="spend"),)
    assert found.lineage["after"]["twice"] == (ColumnRef(table="nxt", column="twice"),)
    assert set(found.signatures["daily"].columns) == {"ds", "spend", "n"}


def test_declaring_them_is_no_change(tmp_path: Path) -> None:
    """The same version, with or without `columns:`, upstream and downstream."""
    before = load_project(project(tmp_path, daily_py=DAILY, nxt_py=NEXT, after_sql=AFTER))
    said = ', columns={"ds": {"type": "date"}, "Spend": "What it cost.", "n": "How many."}'
    declared = DAILY.replace('grain=["ds"]', f'grain=["ds"]{said}')
    after = load_project(project(tmp_path, daily_py=declared, nxt_py=NEXT, after_sql=AFTER))
    assert after.fingerprints == before.fingerprints
    assert [c.description for c in after.columns["daily"]][1:] == ["What it cost.", "How many."]


def test_one_more_column_is_additive(tmp_path: Path) -> None:
    """A column that nobody reads is added: what reads the model keeps its version."""
    before = load_project(
        project(tmp_path, daily_py=DAILY, after_sql=AFTER.replace("twice", "n").replace("nxt", "daily"))
    )
    more = DAILY.replace("alias('n'))", "alias('n'), F.max('clicks').alias('most'))")
    after = load_project(project(tmp_path, daily_py=more))
    assert change_between(before.signatures["daily"], after.signatures["daily"]).category is Category.ADDITIVE
    assert after.fingerprints["after"] == before.fingerprints["after"]


def test_wrong_names_are_told(tmp_path: Path) -> None:
    """A grain that the compiled columns do not have is a problem at its line."""
    with pytest.raises(ProjectError, match="`dss` is not a column of `daily`"):
        load_project(project(tmp_path, daily_py=DAILY.replace('["ds"]', '["dss"]')))


def test_a_worker_that_was_stopped_is_asked_again(tmp_path: Path) -> None:
    """No answer is no answer for good: the project is read again the next time."""
    root = project(tmp_path, daily_py=DAILY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))
        patch.setattr(python_sql, "_ask", lambda request, seconds: b"")
        unread = load_project(root)
        assert unread.columns["daily"] == ()
        [warning] = [w for w in unread.warnings["daily"] if "could not take `daily` apart" in w.what]
        assert python_sql.NO_ANSWER in warning.why and "not remembered" in warning.why and warning.fix
        patch.undo()
        patch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))
        whole = load_project(root)
        assert len(whole.columns["daily"]) == 3 and not whole.warnings["daily"]


def test_what_cannot_be_compiled_has_what_it_declares(tmp_path: Path) -> None:
    """A model that looks at rows has no columns but those that it declares."""
    opaque = DAILY.replace("return ", "events.collect()\n    return ")
    assert load_project(project(tmp_path, daily_py=opaque)).columns["daily"] == ()


def test_a_part_of_what_cannot_be_compiled(tmp_path: Path) -> None:
    """Such a model has just what it declares: who declares one column learns why the others are none."""
    opaque = DAILY.replace("return ", "events.collect()\n    return ").replace(
        'grain=["ds"]', 'grain=["ds"], columns={"n": "How many."}, audits=[{"not_null": ["cost"]}]'
    )
    with pytest.raises(ProjectError) as refused:
        load_project(project(tmp_path, daily_py=opaque))
    problems = [p for p in refused.value.problems if "is not a column of" in p.what]
    assert len(problems) == 3 and {p.why for p in problems} == {
        "its columns cannot be told from its code: it has those that its `columns` declare, which are all"
    }
    with pytest.raises(ProjectError) as refused:
        load_project(project(tmp_path, daily_py=DAILY.replace('["ds"]', '["dss"]')))
    assert [p.why for p in refused.value.problems] == [""]


SAID = ', columns={"ds": {"type": "date"}, "n": "How many."}'
SHOWN = ("ds", "n", "extra")


def test_declaring_what_is_shown_is_no_change(tmp_path: Path) -> None:
    """Code that nobody looks into gives what it gave, whatever is declared of it: the same version."""
    opaque = DAILY.replace("return ", "events.collect()\n    return ")
    nothing, two, one = (
        load_project(project(tmp_path, daily_py=opaque.replace('["ds"]', f'["ds"]{said}')))
        for said in ("", SAID, ', columns={"ds": {"type": "date"}}')
    )
    assert set(two.signatures["daily"].columns) == {"ds", "n"}
    assert nothing.fingerprints["daily"] == two.fingerprints["daily"] == one.fingerprints["daily"]
    for before in (nothing, two, one):
        for after in (nothing, two, one):
            change = change_between(before.signatures["daily"], after.signatures["daily"], SHOWN)
            assert str(change) == "unchanged", change


def test_opaque_code_that_changed_is_breaking(tmp_path: Path) -> None:
    """Whatever is declared: rows may differ. Only what prod does not show is called new."""
    opaque = DAILY.replace("return ", "events.collect()\n    return ")
    before = load_project(project(tmp_path, daily_py=opaque)).signatures["daily"]
    edited = opaque.replace("F.count('*')", "F.count('spend')").replace('["ds"]', f'["ds"]{SAID}')
    after = load_project(project(tmp_path, daily_py=edited)).signatures["daily"]
    assert str(change_between(before, after, SHOWN)) == "breaking: rows may differ"
    assert str(change_between(before, after, ["DS"])) == "breaking: rows may differ; adds n"
    assert str(change_between(after, before, SHOWN)) == "breaking: rows may differ"
