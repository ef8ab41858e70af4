"""Is a change of a source's columns told as that, and not as one of the model's code?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from backfill_assets.app.plan import plan_request
from backfill_assets.core.errors import PlanError
from backfill_assets.plan.own_change import APART_BY_NOW, WHOLE_BY_NOW, own_changes
from backfill_assets.plan.reasons import AS_WRITTEN, OWN_CODE
from backfill_assets.plan.stages import Plan, Request
from backfill_assets.project.stored import to_definition
from backfill_assets.python_models import compiled
from backfill_assets.state.versions import Version
from backfill_assets_tests.fakes import NOW, a_model, a_project
from backfill_assets_tests.projects import days, write_events, write_project
from backfill_assets_tests.unit.plan.test_leases import environment
from backfill_assets_tests.unit.plan.test_published_columns import declare, promoted
from backfill_assets_tests.unsparked import promoted as released
from backfill_assets_tests.unsparked import unsparked

FEWER_DIGITS = '{id: bigint, at: timestamp, kind: string, amount: "decimal(10,0)"}'
TYPE = "column amount of its source raw.events is decimal(10,0) by now, and was decimal(10,2) when it was published"
PYTHON = """\
from pyspark.sql import functions as F

from backfill_assets import model


@model(start="2024-01-01", grain=["ds"], owner="ana@example.com", upstream={"events": "raw.events"})
def total(events, interval):
    now = events.where((F.col("at") >= interval.start) & (F.col("at") < interval.end))
    return now.groupBy(F.to_date("at").alias("ds")).agg(F.count("*").alias("n"))
"""


def planned(root: Path) -> Plan:
    return plan_request(unsparked(root), Request())


def edit_code(root: Path, old: str, new: str) -> None:
    file = root / "models" / "daily.sql"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_type_is_the_sources(tmp_path: Path) -> None:
    """No file of a model was touched."""
    root = promoted(tmp_path)
    declare(root, FEWER_DIGITS)
    assert planned(root).because["daily"] == (TYPE,)


@pytest.mark.parametrize(("old", "new"), [("sum(amount)", "sum(amount + 1)"), ("grain:", "lookback: 1\ngrain:")])
def test_both_are_said(tmp_path: Path, old: str, new: str) -> None:
    """Code and header are the model's own."""
    root = promoted(tmp_path)
    edit_code(root, old, new)
    assert planned(root).because["daily"] == ("its own code changed",)
    declare(root, FEWER_DIGITS)
    assert planned(root).because["daily"] == ("its own code changed", TYPE)


def test_its_text_and_zone_are_its_code() -> None:
    """The digest of its text is of its helpers' as well, without comments: what its files say beside that is none."""
    model = a_model("m", language="python", text="x", files={"lib/p.py": "x = 1"})
    definition = {**to_definition(model), "project": {"sources": {}, "spark": {}}}
    then = Version(model="m", version="m-0", upstream={}, columns=(), definition=definition, created=NOW)
    shown = environment(m="m-0")
    for now, code in (
        (model, False),
        (replace(model, files={"lib/p.py": "x = 1  # one"}), False),
        (replace(model, text="y", files={"lib/p.py": "x = 2"}), True),
        (replace(model, time_zone="Europe/Berlin"), True),
    ):
        assert own_changes(a_project(now), shown, {"m": then})["m"].code == code


def test_of_a_delta_table_that_was_replaced(tmp_path: Path) -> None:
    """Its columns are nowhere declared: they are read from its log, and a version remembers them."""
    table = tmp_path / "data" / "ord"

    def overwritten(v: pa.Array) -> None:
        ds = pa.array([date(2024, 1, 1)] * len(v))
        write_deltalake(table, pa.table({"ds": ds, "v": v}), mode="overwrite", schema_mode="overwrite")

    overwritten(pa.array([1, 2], pa.int64()))
    model = "/*\nstart: 2024-01-01\nend: 2024-01-02\nowner: ana@example.com\ngrain: [ds]\n*/\n"
    query = "SELECT ds, sum(v) AS v FROM raw.ord WHERE ds >= :start AND ds < :end GROUP BY ds\n"
    sources = "sources:\n  - {name: raw.ord, format: delta, path: data/ord, time_column: ds}\n"
    write_project(tmp_path, {"total.sql": model + query}, sources=sources, clock="2024-01-03")
    released(tmp_path)
    overwritten(pa.array(["1", "2"]))
    said = "column v of its source raw.ord is string by now, and was bigint when it was published"
    assert planned(tmp_path).because["total"] == (said,)


def test_letters_of_what_it_reads(tmp_path: Path) -> None:
    """A model that shows the names of columns has other rows by them; nobody edited it, and what it reads is the same
    to all others."""
    header = "/*\nstart: 2024-01-01\nowner: ana@example.com\ngrain: [ds]\n*/\n"
    first = "SELECT CAST(at AS DATE) AS ds, max(amount) AS most FROM raw.events WHERE at >= :start AND at < :end\n"
    first += "GROUP BY 1\n"
    write_events(tmp_path, days=2)
    second = "SELECT ds, to_json(struct(*)) AS j FROM a WHERE ds >= :start AND ds < :end\n"
    write_project(tmp_path, {"a.sql": header + first, "b.sql": header + second}, clock="2024-01-03")
    released(tmp_path)
    (tmp_path / "models" / "a.sql").write_text(header + first.replace("most", "Most"))
    assert planned(tmp_path).because["b"][0] == AS_WRITTEN
    (tmp_path / "models" / "b.sql").write_text(header + second.replace("AS j", "AS j, 1 AS n"))
    assert planned(tmp_path).because["b"][0] == OWN_CODE


def test_an_edit_beside_a_change_of_what_it_reads(tmp_path: Path) -> None:
    """Both are told: an edit that rides along is no smaller one."""
    header = "/*\nstart: 2024-01-01\nowner: ana@example.com\ngrain: [ds]\n*/\n"
    first = "SELECT CAST(at AS DATE) AS ds, max(amount) AS most FROM raw.events WHERE at >= :start AND at < :end\n"
    first += "GROUP BY 1\n"
    second = "SELECT ds, most * 2 AS twice FROM a WHERE ds >= :start AND ds < :end\n"
    write_events(tmp_path, days=2)
    write_project(tmp_path, {"a.sql": header + first, "b.sql": header + second}, clock="2024-01-03")
    released(tmp_path)
    (tmp_path / "models" / "a.sql").write_text(header + first.replace("max(amount)", "max(amount) + 1"))
    reads = "reads a.most for twice"
    assert planned(tmp_path).because["b"] == (reads,)
    (tmp_path / "models" / "b.sql").write_text(header + second.replace("* 2", "*   2 /* as before */"))
    assert planned(tmp_path).because["b"] == (reads,)
    (tmp_path / "models" / "b.sql").write_text(header + second.replace("* 2", "* 3"))
    assert planned(tmp_path).because["b"] == (OWN_CODE, reads)


def test_columns_that_come_are_read_by_a_star(tmp_path: Path) -> None:
    """And by a name that meant another column: the reason is what came, not code that nobody edited."""
    header = "/*\nstart: 2024-01-01\nowner: ana@example.com\ngrain: [ds]\n*/\n"
    first = "SELECT CAST(at AS DATE) AS ds, max(amount) AS most FROM raw.events WHERE at >= :start AND at < :end\n"
    first += "GROUP BY 1\n"
    where = "FROM a WHERE ds >= :start AND ds < :end\n"
    star = f"SELECT ds, to_json(struct(*)) AS j {where}"
    taken = f"SELECT ds, most AS least, least + 1 AS more {where}"
    write_events(tmp_path, days=2)
    files = {"a.sql": header + first, "b.sql": header + star, "c.sql": header + taken}
    write_project(tmp_path, files, clock="2024-01-03")
    released(tmp_path)
    (tmp_path / "models" / "a.sql").write_text(header + first.replace("AS most", "AS most, min(amount) AS least"))
    because = planned(tmp_path).because
    assert because["b"] == ("reads a.least, which a did not have, for j",)
    assert because["c"] == ("reads a.least, which a did not have, for more",)


def test_a_restatement_is_not_told_of_code(tmp_path: Path) -> None:
    """There is no code to promote first, and none that is published to restate with."""
    root = promoted(tmp_path)
    declare(root, FEWER_DIGITS)
    asked = Request(restate=(("daily", days("2024-01-02")),))
    with pytest.raises(PlanError) as caught:
        plan_request(unsparked(root), asked)
    assert "by now" in caught.value.what and "the code says" not in caught.value.what
    assert TYPE in (caught.value.why or "")
    assert "backfill apply --select daily" in (caught.value.fix or "")
    edit_code(root, "sum(amount)", "sum(amount + 1)")
    with pytest.raises(PlanError, match="the code says"):
        plan_request(unsparked(root), asked)


def test_a_machine_that_cannot_look_into_a_python_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code is the same, and so is what it reads: the reason is the machine's; and the other way round."""
    monkeypatch.setenv("BACKFILL_CACHE", str(tmp_path / "cache"))
    root = write_project(tmp_path / "shop", {"total.py": PYTHON}, clock="2024-01-03")
    write_events(root, days=2)
    released(root)
    with monkeypatch.context() as closed:
        closed.setattr(compiled, "_ask", lambda request, seconds: b"")
        closed.setenv("BACKFILL_CACHE", str(tmp_path / "other"))
        assert planned(root).because["total"] == (WHOLE_BY_NOW,)
        with pytest.raises(PlanError) as caught:
            plan_request(unsparked(root), Request(restate=(("total", days("2024-01-02")),)))
        assert WHOLE_BY_NOW in (caught.value.why or "")
        apart = write_project(tmp_path / "apart", {"total.py": PYTHON}, clock="2024-01-03")
        write_events(apart, days=2)
        released(apart)
    assert planned(apart).because["total"] == (APART_BY_NOW,)


def test_what_of_the_code_makes_it_one_whole(tmp_path: Path) -> None:
    """The line and what is done there; also where only what it reads changed, and where the project was remembered."""
    columns = 'grain=["ds"], columns={"ds": "date", "n": "bigint"}'
    python = PYTHON.replace('grain=["ds"]', columns).replace('alias("n"))', 'alias("n")).fillna(0)')
    reader = python.replace("total", "again").replace('"raw.events"', '"total"').replace('to_date("at")', 'col("ds")')
    reader = reader.replace('F.col("at")', 'F.col("ds")')
    root = write_project(tmp_path, {"total.py": python, "again.py": reader}, clock="2024-01-03")
    write_events(root, days=2)
    released(root)
    (root / "models" / "total.py").write_text(python.replace("fillna(0)", "fillna(1)"))
    for _ in range(2):
        because = planned(root).because
        why = "its column lineage is unknown (models/total.py:9: DataFrame.fillna)"
        assert because["total"] == (OWN_CODE, f"{why}: it is compared as a whole")
        why = "its column lineage is unknown (models/again.py:9: DataFrame.fillna)"
        assert because["again"] == (f"{why}, so any change of total counts",)
